"""A sign-in from its begin to its end: an address of any length comes back, a loop ends, and a copy of a cookie is worth nothing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from runner.logins import Logins
from runner.vault import Vault
from tests.http import fake_openid
from tests.http.fake_openid import FakeOpenID
from tests.http.test_gate_signin import SITE, begin, consent, sign_in
from ui import keys, signin
from ui.cookies import Partitioned
from ui.keys import KeyRing
from ui.visitor import COOKIE

LONG = "/r/SECRETRUN?" + "&".join(f"filter{i}=" + "x" * 60 for i in range(115))  # 8 kB


@pytest.fixture
def openid(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOpenID]:
    with fake_openid.running() as provider:
        for name, value in provider.environ().items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("SPACE_HOST", raising=False)
        yield provider


class Site:
    """The sign-in on a data folder, with one route that tells who asks and keeps what was asked with."""

    def __init__(self, home: Path) -> None:
        self.asked: list[Request] = []
        self.ring = KeyRing(Vault())

        async def who(request: Request) -> Response:
            self.asked.append(request)
            found = signin.account(request)
            return JSONResponse(found and found.name)

        more: dict[str, Any] = {"on_leave": keys.leaving(self.ring), "logins": Logins(home)}
        app = FastAPI(middleware=[Middleware(signin.SignIn, **more)])
        app.router.routes.append(Route("/who", who))
        signin.attach(app)
        app.add_middleware(Partitioned)
        self.app = app

    def browser(self, cookies: dict[str, str] | None = None) -> TestClient:
        return TestClient(self.app, base_url=SITE, follow_redirects=False, cookies=cookies)


def session_of(browser: TestClient) -> dict[str, str]:
    return {"session": browser.cookies["session"]}


def test_a_copy_of_the_cookie_is_dead_after_the_sign_out_and_after_a_restart(openid: FakeOpenID, tmp_path: Path) -> None:
    # The sign-out only took the cookie out of the visitor's own browser; a copy of it worked for eight hours more.
    site = Site(tmp_path)
    browser = site.browser()
    sign_in(browser)
    copy = session_of(browser)
    assert site.browser(copy).get("/who").json() == "granted"
    before = site.asked[-1]
    browser.get("/logout")
    assert site.browser(copy).get("/who").json() is None
    assert signin.account(before) is None, "a stream that was opened before ends too"
    assert Site(tmp_path).browser(copy).get("/who").json() is None
    assert browser.get("/who").json() is None
    sign_in(browser)
    assert browser.get("/who").json() == "granted", "who signed out may come back"


def test_signing_in_anew_ends_the_sign_in_before_it_and_no_other_browsers(openid: FakeOpenID, tmp_path: Path) -> None:
    site = Site(tmp_path)
    one, two = site.browser(), site.browser()
    sign_in(one)
    sign_in(two)
    copy = session_of(one)
    sign_in(one, "plain")
    assert one.get("/who").json() == "plain" and site.browser(copy).get("/who").json() is None
    one.get("/logout")
    assert two.get("/who").json() == "granted"


def test_a_session_from_before_sign_ins_had_ids_is_signed_out(openid: FakeOpenID, tmp_path: Path) -> None:
    site = Site(tmp_path)
    scope = {"session": {"oauth_info": {"access_token": "t", "userinfo": {"preferred_username": "me"}}}, signin.LOGINS: Logins()}
    assert signin.account(scope) is None
    scope["session"]["oauth_info"]["login"] = Logins.new()
    assert signin.account(scope) is not None and signin.account({"session": scope["session"]}) is None
    assert site.browser({"session": "nonsense"}).get("/who").json() is None


def test_sign_out_forgets_the_keys_of_this_browser_and_gives_it_another_session(openid: FakeOpenID, tmp_path: Path) -> None:
    site = Site(tmp_path)
    mine, other = "m" * 43, "o" * 43
    entry = keys.provider("openai")
    for session in (mine, other):
        site.ring.put(session, "solver", entry, {"api_key": "sk-canary-000000000000"})
    browser = site.browser({COOKIE: mine})
    sign_in(browser)
    assert site.ring.fields(mine, "solver", "openai")
    browser.get("/logout", headers={"sec-fetch-site": "cross-site"})
    assert site.ring.fields(mine, "solver", "openai")
    cookies = browser.get("/logout", headers={"sec-fetch-site": "same-origin"}).headers.get_list("set-cookie")
    assert all(c.endswith("; Partitioned") for c in cookies) and len(cookies) == 2
    assert site.ring.fields(mine, "solver", "openai") is None and site.ring.fields(other, "solver", "openai")
    assert browser.cookies.get(COOKIE, domain="testserver.local", path="/") != mine


@pytest.mark.parametrize("target", [LONG, "/?q=" + "%C3%A9" * 1300, "/explore?" + "a=b&" * 2000 + "z=1", "/?run=SECRET"])
def test_an_address_of_eight_kilobytes_comes_back(openid: FakeOpenID, tmp_path: Path, target: str) -> None:
    # It was kept in the cookie, which above 4,096 bytes no browser takes: the sign-in broke off.
    browser = Site(tmp_path).browser()
    started = browser.get("/login/huggingface", params={"_target_url": target})
    assert all(len(c) < 4000 for c in started.headers.get_list("set-cookie"))
    assert "filter" not in started.headers["location"] and "SECRET" not in started.headers["location"]
    answer = browser.get(consent(started.headers["location"], "granted"))
    assert answer.headers["location"] == target and len(answer.headers["set-cookie"]) < 4000
    assert browser.get("/who").json() == "granted"


def test_a_longer_one_leads_back_to_its_page(openid: FakeOpenID, tmp_path: Path) -> None:
    browser = Site(tmp_path).browser()
    assert sign_in(browser, target="/explore?q=" + "x" * 20_000).headers["location"] == "/explore"
    assert sign_in(browser, target="/" + "x" * 20_000).headers["location"] == "/"


def test_a_long_address_survives_a_refusal_and_a_second_try(openid: FakeOpenID, tmp_path: Path) -> None:
    browser = Site(tmp_path).browser()
    assert browser.get(consent(begin(browser, LONG), None)).headers["location"] == f"{LONG}&signin=refused"
    begin(browser, LONG)
    again = browser.get("/login/callback", params={"code": "x", "state": "of another tab"}).headers["location"]
    assert browser.get(consent(browser.get(again).headers["location"], "granted")).headers["location"] == LONG


def test_two_tabs_each_come_back_to_their_own_address(openid: FakeOpenID, tmp_path: Path) -> None:
    browser = Site(tmp_path).browser()
    first, second = begin(browser, "/?run=ONE"), begin(browser, "/?run=TWO")
    again = browser.get(consent(first, "granted")).headers["location"]  # only the login begun last is still known to the library
    assert browser.get(consent(browser.get(again).headers["location"], "granted")).headers["location"] == "/?run=ONE"
    second = begin(browser, "/?run=TWO")
    assert browser.get(consent(second, "granted")).headers["location"] == "/?run=TWO"


def test_another_browsers_login_does_not_tell_where_it_leads(openid: FakeOpenID, tmp_path: Path) -> None:
    site = Site(tmp_path)
    back = consent(begin(site.browser(), "/?run=SECRET"), "plain")
    assert "SECRET" not in site.browser().get(back).headers["location"]


def test_a_browser_that_keeps_no_cookie_is_told_so_after_the_second_consent(openid: FakeOpenID, tmp_path: Path) -> None:
    # In a frame with third-party cookies blocked the consent page came again and again.
    site = Site(tmp_path)
    first = site.browser().get(consent(begin(site.browser(), "/?run=x"), "granted")).headers["location"]
    assert first == "/login/huggingface?_nb_redirects=1&_target_url=%2F"
    second = consent(site.browser().get(first).headers["location"], "granted")
    assert site.browser().get(second).headers["location"] == "/?signin=blocked"
    for count in ("2", "3", "9", "99"):
        at = f"/login/callback?code=a&state=b&_nb_redirects={count}"
        assert site.browser().get(at).headers["location"] == "/?signin=blocked" or count > "2"
