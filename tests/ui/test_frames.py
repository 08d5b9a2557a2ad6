"""The Space in a frame of huggingface.co, in a real browser over TLS, with third-party cookies blocked and allowed."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Frame, Page, expect

from tests.ui.conftest import choose, ready
from tests.ui.framing import HUB, SPACE, Proxy, browsing
from tests.ui.test_signin import World, world

KEY = "sk-proj-canary0123456789abcdefghijklmnopqrstuv"


@dataclass
class Framed:
    """The world with the proxy in front of it."""

    at: World
    proxy: Proxy


@pytest.fixture(scope="module")
def framed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Framed]:
    folder = tmp_path_factory.mktemp("framed")
    with world(folder, SPACE_HOST=SPACE) as at:
        proxy = Proxy(folder, urlsplit(at.app.url).port or 0, urlsplit(at.openid.url).port or 0)
        at.openid.front = f"https://{HUB}"
        yield Framed(at, proxy)
        proxy.close()


@pytest.fixture(params=[False, True], ids=["blocked", "allowed"])
def context(request: pytest.FixtureRequest, browser: Browser, framed: Framed, tmp_path: Path) -> Iterator[BrowserContext]:
    framed.proxy.unpartitioned = False
    faults: list[str] = []
    with browsing(browser.browser_type, tmp_path, framed.proxy.port, request.param) as made:
        made.on("page", lambda page: page.on("pageerror", lambda error: faults.append(str(error))))
        made.on("console", lambda m: faults.append(m.text) if "Content Security Policy" in m.text else None)
        made.on("request", lambda r: None if r.url.startswith((f"https://{HUB}/", f"https://{SPACE}/", "data:", "blob:"))
                else faults.append(f"request to {r.url}"))
        assert third_party_cookies_work(made) is request.param, "the browser does not do what this test is about"
        yield made
    assert not faults


def third_party_cookies_work(context: BrowserContext) -> bool:
    page, frame = show(context)
    said = frame.evaluate("fetch('/set-plain').then(() => fetch('/get-plain')).then((r) => r.text())")
    page.close()
    return said == "yes"


def show(context: BrowserContext) -> tuple[Page, Frame]:
    page = context.new_page()
    page.goto(f"https://{HUB}/spaces")
    return page, space(page)


def space(page: Page) -> Frame:
    frame = page.frame("space")
    assert frame is not None
    frame.wait_for_selector("#account a")
    return frame


def again(page: Page) -> Frame:
    """The frame after the whole page was loaded anew."""
    page.reload()
    return space(page)


def test_a_whole_visit_in_hugging_faces_frame(framed: Framed, context: BrowserContext) -> None:
    # With third-party cookies blocked the consent page came again and again: https://github.com/gradio-app/gradio/issues/13634
    page, frame = show(context)
    expect(frame.locator("a.own-tab")).to_be_visible()
    expect(frame.locator(".no-cookie")).to_be_hidden()
    asked = len(framed.at.openid.authorize)
    frame.click("#sign-in")
    frame.click("#accept-granted")
    expect(frame.locator("#signed-in")).to_contain_text("granted")
    assert len(framed.at.openid.authorize) == asked + 1
    frame = again(page)
    expect(frame.locator("#signed-in")).to_contain_text("granted")
    expect(frame.locator("#source-why")).to_contain_text("6 tasks")

    ready(frame)  # type: ignore[arg-type]
    choose(frame, "#solver-provider", "OpenAI")
    frame.fill("#key-solver-openai-api_key", KEY)
    frame.click("[data-card='solver/openai'] button[type=submit]")
    expect(frame.locator("[data-card='solver/openai'] [data-said]")).to_contain_text(KEY[-4:])
    assert frame.evaluate("fetch('/keys').then((r) => r.json())")["held"]

    frame = again(page)
    frame.get_by_label("Demo tasks").check()
    ready(frame)  # type: ignore[arg-type]
    frame.click("#run-button")
    frame.wait_for_url(re.compile(r"[?&]run="))
    run = frame.url.split("run=")[1]
    expect(frame.locator("[data-status]")).to_have_attribute("data-status", "finished")
    copy = {c["name"]: c["value"] for c in context.cookies(f"https://{SPACE}")}
    assert httpx.get(f"{framed.at.app.url}/api/runs/{run}", cookies=copy).json()["text"] is True
    frame = again(page)
    frame.get_by_role("tab", name="My runs").click()  # a frame that is given no storage forgot them
    frame.click(f"#mine a[href*='{run}']")
    frame.wait_for_url(re.compile(r"[?&]run="))
    expect(frame.locator("[data-status]")).to_have_attribute("data-status", "finished")

    frame.click("#sign-out")
    expect(frame.locator("#sign-in")).to_be_visible()
    expect(again(page).locator("#sign-in")).to_be_visible()
    held = page.frame("space").evaluate("fetch('/keys').then((r) => r.json())")["held"]  # type: ignore[union-attr]
    assert held == {}, "signing out forgets the keys of this browser"
    with httpx.Client(base_url=framed.at.app.url, cookies=copy) as thief:
        assert "session" in copy and thief.get(f"/api/runs/{run}").json()["text"] is False, "a copy of the cookie is worth nothing"


@pytest.mark.parametrize("context", [False], ids=["blocked"], indirect=True)
def test_where_no_cookie_is_kept_nobody_is_sent_away_and_all_else_works(framed: Framed, context: BrowserContext) -> None:
    framed.proxy.unpartitioned = True
    page, frame = show(context)
    asked = len(framed.at.openid.authorize)
    frame.click("#sign-in")
    expect(frame.locator(".no-cookie")).to_be_visible()
    expect(frame.locator("#sign-in")).to_be_hidden()
    assert len(framed.at.openid.authorize) == asked
    with context.expect_page() as opened:
        frame.click("a.own-tab")
    tab = opened.value
    tab.click("#sign-in")
    tab.click("#accept-granted")
    expect(tab.locator("#signed-in")).to_contain_text("granted")
    expect(tab.locator("a.own-tab")).to_have_count(0)
    expect(again(page).locator("#sign-in")).to_be_visible()
    frame = space(page)
    ready(frame)  # type: ignore[arg-type]
    frame.click("#run-button")
    expect(frame.locator("[data-status]")).to_have_attribute("data-status", "finished")


def test_no_other_site_may_frame_it(framed: Framed, browser: Browser) -> None:
    page = browser.new_page()
    page.set_content(f'<iframe name="space" src="{framed.at.app.url}/"></iframe>')
    page.wait_for_timeout(1500)
    frame = page.frame("space")
    assert frame is not None and frame.locator("gradio-app").count() == 0, "another site showed the page in its frame"
    policy = httpx.get(f"{framed.at.app.url}/").headers["content-security-policy"]
    assert policy.endswith(f"frame-ancestors 'self' https://{HUB}")
    page.close()
