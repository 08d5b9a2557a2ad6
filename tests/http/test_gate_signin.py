"""Sign-in and sign-out as routes, against a provider on a real socket: what is kept, what is refused, where it leads."""

import os
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest
from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from runner.gate import Account
from tests.http import fake_openid
from tests.http.fake_openid import FakeOpenID
from ui import signin

SITE, TARGET = "https://testserver", "_target_url"


@pytest.fixture
def openid(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOpenID]:
    with fake_openid.running() as provider:
        for name, value in provider.environ().items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("SPACE_HOST", raising=False)
        yield provider


class Site:
    """An app with the sign-in and one route that tells who asks, and a browser of it."""

    def __init__(self) -> None:
        self.out: list[Account] = []

        async def who(request: Request) -> JSONResponse:
            found = signin.account(request)
            return JSONResponse({"name": found and found.name, "id": found and found.id, "token": signin.token_of(request)})

        app = FastAPI(middleware=[Middleware(signin.SignIn, on_out=self.out.append)])
        app.router.routes.append(Route("/who", who))
        self.attached = signin.attach(app)
        self.app = app

    def browser(self) -> TestClient:
        return TestClient(self.app, base_url=SITE, follow_redirects=False)


def begin(browser: TestClient, target: str = "") -> str:
    """Go to the provider; the address it is asked at."""
    answer = browser.get("/login/huggingface", params={"_target_url": target} if target else {})
    assert answer.status_code == 302, answer.text
    return answer.headers["location"]


def consent(address: str, who: str | None) -> str:
    """Answer the consent page; the path of the way back."""
    query = {k: v[0] for k, v in parse_qs(urlsplit(address).query).items()}
    asked = {k: query[k] for k in ("redirect_uri", "state", "nonce")}
    host = "{0.scheme}://{0.netloc}".format(urlsplit(address))
    answer = httpx.get(f"{host}/oauth/answer", params={**asked, **({"who": who} if who else {})})
    parts = urlsplit(answer.headers["location"])
    assert f"{parts.scheme}://{parts.netloc}" in (SITE, "http://testserver")
    return f"{parts.path}?{parts.query}"


def sign_in(browser: TestClient, who: str = "granted", target: str = "") -> httpx.Response:
    return browser.get(consent(begin(browser, target), who))


def test_a_visitor_signs_in_and_every_route_sees_the_account(openid: FakeOpenID) -> None:
    browser = Site().browser()
    answer = sign_in(browser, target="/?run=SECRET-RUN")
    assert (answer.status_code, answer.headers["location"]) == (307, "/?run=SECRET-RUN")
    assert browser.get("/who").json() == {"name": "granted", "id": "id-of-granted", "token": "hf_granted_token"}


def test_only_the_two_scopes_are_asked_for_whatever_the_space_sets(openid: FakeOpenID) -> None:
    begin_at = begin(Site().browser())
    assert parse_qs(urlsplit(begin_at).query)["scope"] == ["openid profile gated-repos inference-api"]


def test_a_runs_secret_link_does_not_reach_the_provider(openid: FakeOpenID) -> None:
    assert "SECRET" not in begin(Site().browser(), "/?run=SECRET-RUN")


# https://github.com/gradio-app/gradio/issues/13593: after the login the link's own target led to another site.
@pytest.mark.parametrize("target", [
    "https://evil.example", "//evil.example", "////evil.example", "/\\evil.example", "\\\\evil.example", "https:evil.example",
    "javascript:alert(1)", "/%0d%0aLocation:https://evil.example", "/\t/evil.example", " //evil.example", "/login/huggingface",
    "http://testserver@evil.example/", "/.//evil.example", "///evil.example/%2f..",
])
def test_the_way_back_stays_on_the_site(openid: FakeOpenID, target: str) -> None:
    site = Site()
    browser = site.browser()
    started = begin(browser, target)
    assert "evil" not in started
    callback = consent(started, "granted")
    back = browser.get(f"{callback}&{urlencode({TARGET: target})}").headers["location"]
    assert back.startswith("/") and not back.startswith(("//", "/\\")), back
    assert urlsplit(str(httpx.URL(SITE).join(back))).netloc == "testserver"
    out = browser.get("/logout", params={"_target_url": target}).headers["location"]
    assert urlsplit(str(httpx.URL(SITE).join(out))).netloc == "testserver"


def test_refusing_consent_brings_the_visitor_back_signed_out(openid: FakeOpenID) -> None:
    browser = Site().browser()
    answer = browser.get(consent(begin(browser, "/?competency=x"), None))
    assert (answer.status_code, answer.headers["location"]) == (303, "/?competency=x&signin=refused")
    assert browser.get("/who").json()["name"] is None


def test_a_provider_that_does_not_answer_is_a_sentence_not_a_fault(openid: FakeOpenID) -> None:
    browser = Site().browser()
    openid.down = True
    answer = browser.get("/login/huggingface")
    assert (answer.status_code, answer.headers["location"]) == (303, "/?signin=unreachable")
    openid.down = False
    back = consent(begin(browser), "granted")
    openid.down = True
    assert browser.get(back).headers["location"] == "/?signin=failed"
    assert browser.get("/who").json()["name"] is None


def test_a_code_that_was_used_or_a_state_of_another_browser_signs_nobody_in(openid: FakeOpenID) -> None:
    site = Site()
    victim, attacker = site.browser(), site.browser()
    back = consent(begin(attacker), "plain")
    assert victim.get(back).headers["location"].startswith("/login/huggingface")
    assert victim.get("/who").json()["name"] is None
    attacker.get(back)
    assert site.browser().get(back).status_code in (302, 303, 307)


@pytest.mark.parametrize("missing", ["id_token", "access_token"])
def test_an_answer_without_a_token_or_a_name_is_said_to_have_failed(
    openid: FakeOpenID, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    whole = openid.token
    monkeypatch.setattr(openid, "token", lambda code, redirect: {k: v for k, v in (whole(code, redirect) or {}).items() if k != missing})
    browser = Site().browser()
    assert sign_in(browser, target="/?run=SECRET").headers["location"] == "/?run=SECRET&signin=failed"
    assert browser.get("/who").json()["name"] is None


def test_a_second_try_of_a_login_leads_where_the_first_would_have(openid: FakeOpenID) -> None:
    browser = Site().browser()
    begin(browser, "/?run=SECRET")
    again = browser.get("/login/callback", params={"code": "x", "state": "of another tab"}).headers["location"]
    assert again.startswith("/login/huggingface?_nb_redirects=")
    back = consent(browser.get(again).headers["location"], "granted")
    assert browser.get(back).headers["location"] == "/?run=SECRET"


def test_an_expired_session_is_signed_out(openid: FakeOpenID) -> None:
    openid.life = 1
    browser = Site().browser()
    sign_in(browser)
    assert browser.get("/who").json()["name"] == "granted"
    time.sleep(1.05)
    assert browser.get("/who").json() == {"name": None, "id": None, "token": None}


def test_sign_out_forgets_and_tells_and_another_site_cannot_do_it(openid: FakeOpenID) -> None:
    site = Site()
    browser = site.browser()
    sign_in(browser)
    browser.get("/logout", headers={"sec-fetch-site": "cross-site"})
    assert browser.get("/who").json()["name"] == "granted" and not site.out
    assert browser.get("/logout").headers["location"] == "/"
    assert browser.get("/who").json()["name"] is None
    assert [a.name for a in site.out] == ["granted"]


def test_the_cookie_stays_below_what_a_browser_keeps(openid: FakeOpenID) -> None:
    # https://github.com/lepture/authlib/issues/622: states of unfinished logins filled the cookie until it was cut.
    openid.organisations = 60
    browser = Site().browser()
    for _ in range(12):
        begin(browser)
    answer = sign_in(browser)
    cookie = answer.headers["set-cookie"]
    assert len(cookie) < 2000 and "httponly" in cookie.lower() and "secure" in cookie.lower()
    assert browser.get("/who").json()["name"] == "granted"


def test_two_accounts_at_once_are_told_apart(openid: FakeOpenID) -> None:
    site = Site()
    one, two = site.browser(), site.browser()
    sign_in(one, "granted")
    sign_in(two, "plain")
    assert [b.get("/who").json()["token"] for b in (one, two)] == ["hf_granted_token", "hf_plain_token"]


@pytest.mark.parametrize("missing", ["SPACE_ID", "OAUTH_CLIENT_ID", "OAUTH_CLIENT_SECRET", "OAUTH_SCOPES", "OPENID_PROVIDER_URL"])
def test_without_the_settings_there_is_no_sign_in_and_no_stand_in(openid: FakeOpenID, monkeypatch: Any, missing: str) -> None:
    # https://github.com/advisories/GHSA-h3h8-3v2v-rg7m: a mocked login signed everyone in as the owner, with their token.
    monkeypatch.setenv("HF_TOKEN", "hf_owner_token")
    monkeypatch.delenv(missing)
    site = Site()
    assert not site.attached
    browser = site.browser()
    for path in ("/login/huggingface", "/login/callback", "/logout"):
        assert browser.get(path).status_code == 404
    assert browser.get("/who").json()["name"] is None


def test_the_mocked_login_is_off_even_where_the_host_names_no_system(openid: FakeOpenID, monkeypatch: Any) -> None:
    monkeypatch.delenv("SYSTEM")
    browser = Site().browser()
    assert begin(browser).startswith(openid.url)
    assert "SYSTEM" not in os.environ




def test_the_owners_tokens_leave_the_environment_of_a_hosted_page(monkeypatch: pytest.MonkeyPatch) -> None:
    # https://github.com/advisories/GHSA-h3h8-3v2v-rg7m
    environ = {"SPACE_ID": "me/x", "HF_TOKEN": "hf_owner", "L2BENCH_RESULTS_TOKEN": "hf_results",
               "HUGGING_FACE_HUB_TOKEN": "hf_old"}
    monkeypatch.setenv("SPACE_ID", "me/x")
    owner = signin.Owner(environ)
    assert environ == {"SPACE_ID": "me/x"} and owner.mirror is None and owner.local_token() is None
    environ = {"HF_TOKEN": "hf_owner", "L2BENCH_RESULTS_REPO": "me/results"}
    owner = signin.Owner(environ)
    assert owner.mirror is not None and owner.mirror.token == "hf_owner"
    assert owner.local_token() is None and "hf_owner" not in repr(owner)


def test_on_ones_own_machine_the_machines_token_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPACE_ID", raising=False)
    monkeypatch.setenv("HF_TOKEN", "hf_mine")
    monkeypatch.setattr(signin, "_owner", None)
    signin.take_owner_tokens()
    assert "HF_TOKEN" not in os.environ
    assert signin.token_of(object()) == "hf_mine"
