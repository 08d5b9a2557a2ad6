"""How the pages look and behave for everyone: no axe violation in either theme, 390 px, keyboard, languages, no outside request."""

import gzip
import json
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser import patient
from tests.ui.conftest import Served, press_run, ready
from ui.words import LANGUAGES, words
from ui.words.said import translated


def violations(page: Page) -> list[tuple[str, Any]]:
    """Rules that axe finds broken, with the places."""
    found = Axe().run(page).response["violations"]
    return [(v["id"], [n["target"] for n in v["nodes"]][:4]) for v in found]


def settled(page: Page) -> None:
    """Wait for the end of the run."""
    expect(page.locator("[data-done]")).to_contain_text("20 of 20 ")
    expect(page.locator("[data-status]")).to_have_attribute("data-status", "finished")


@pytest.fixture(scope="module")
def finished_run(browser: Any, app: Served) -> str:
    """A finished demo run's id."""
    context = patient(browser.new_context())
    page = context.new_page()
    page.goto(app.url)
    run = press_run(page)
    settled(page)
    context.close()
    return run


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_form_has_no_axe_violation(open_page: Callable[..., Page], scheme: str) -> None:
    page = open_page(color_scheme=scheme)
    ready(page)
    page.click("#advanced > button")
    page.click("#solver-provider input")
    page.wait_for_timeout(100)
    page.keyboard.type("OpenRouter")
    page.wait_for_timeout(150)
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-card]")
    page.wait_for_timeout(300)
    assert violations(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_live_view_and_the_list_of_runs_have_no_axe_violation(
    open_page: Callable[..., Page], finished_run: str, scheme: str
) -> None:
    page = open_page(f"/?run={finished_run}", color_scheme=scheme)
    settled(page)
    assert violations(page) == []
    page.get_by_role("tab", name="My runs").click()
    expect(page.locator("[data-mine] [data-state]").first).to_contain_text("finished")
    assert violations(page) == []


@pytest.mark.parametrize("lang", sorted(LANGUAGES))
def test_a_result_with_an_open_task_has_no_axe_violation(open_page: Callable[..., Page], finished_run: str, lang: str) -> None:
    # A text box that scrolls could not be reached by keyboard.
    page = open_page(f"/r/{finished_run}?open=101&lang={lang}", viewport={"width": 390, "height": 844}, color_scheme="dark")
    assert page.locator("details.text pre").first.is_visible()
    assert violations(page) == []
    page.goto(page.url.split("/r/")[0] + f"/?lang={lang}&run={finished_run}")
    expect(page.locator("[data-status]")).to_have_attribute("data-status", "finished")
    page.wait_for_function("window.l2live?.model?.done === 20")
    assert violations(page) == []
    page.click("[data-open]")
    page.wait_for_url(f"**/r/{finished_run}?lang={lang}")
    assert page.locator(f"html[lang='{lang}'] .meaning").is_visible()


def test_the_first_screen_has_the_button_on_a_desk_and_on_a_phone(open_page: Callable[..., Page]) -> None:
    for width, height in ((1280, 800), (390, 844)):
        page = open_page(viewport={"width": width, "height": height})
        ready(page)
        box = page.locator("#run-button").bounding_box()
        assert box and box["y"] >= 0 and box["y"] + box["height"] <= height, box


def test_an_address_that_leads_nowhere_is_a_page(open_page: Callable[..., Page], app: Served) -> None:
    page = open_page("/no-such-page?lang=es")
    expect(page.locator("h1")).to_have_text(words("es")["lost"])
    assert fetch(f"{app.url}/no-such-page", Accept="application/json")[0] == 404
    assert b"<html" not in fetch(f"{app.url}/no-such-page", Accept="application/json")[2]


def test_another_language_keeps_the_run_that_is_open(open_page: Callable[..., Page], finished_run: str) -> None:
    page = open_page(f"/?run={finished_run}")
    settled(page)
    page.click(".langs a[hreflang=es]")
    page.wait_for_url(f"**/?run={finished_run}&lang=es")
    expect(page.locator("[data-differences-line]")).to_contain_text("tareas de demostración")
    expect(page.locator("[data-about]")).to_contain_text("tareas de demostración (20 / 63)")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_privacy_page_has_no_axe_violation(open_page: Callable[..., Page], scheme: str) -> None:
    page = open_page("/privacy", color_scheme=scheme)
    assert "hour after its last use" in page.inner_text("main")
    assert violations(page) == []


@pytest.mark.parametrize("lang", sorted(LANGUAGES))
def test_nothing_scrolls_sideways_on_a_phone(open_page: Callable[..., Page], finished_run: str, lang: str) -> None:
    page = open_page(f"/?lang={lang}", viewport={"width": 390, "height": 844})
    ready(page)
    page.click("#advanced > button")
    page.wait_for_timeout(300)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.goto(page.url.split("/?")[0] + f"/?lang={lang}&run={finished_run}")
    expect(page.locator("[data-status]")).to_have_attribute("data-status", "finished")
    page.wait_for_function("window.l2live?.model?.done === 20")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_whole_way_goes_by_keyboard_with_visible_focus(open_page: Callable[..., Page]) -> None:
    page = open_page()
    ready(page)
    reached: list[str] = []
    for _ in range(80):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("(document.activeElement.closest('[id]') || {}).id || ''"))
        if page.evaluate("document.activeElement.id") == "run-button":
            break
    assert page.evaluate("document.activeElement.id") == "run-button", reached
    outline = page.evaluate(
        "getComputedStyle(document.activeElement).outlineStyle + getComputedStyle(document.activeElement).outlineWidth"
    )
    assert outline == "solid3px"
    page.keyboard.press("Enter")
    settled(page)
    page.focus("[data-map]")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect(page.locator("[data-tip]")).to_contain_text("criterion")


@pytest.mark.parametrize("lang", ["es", "zh-CN"])
def test_the_page_speaks_the_language_asked_for(open_page: Callable[..., Page], lang: str) -> None:
    page = open_page(f"/?lang={lang}")
    ready(page)
    w = words(lang)
    expect(page.locator("#run-button")).to_have_text(w["run"])
    expect(page.locator("#estimate-details")).to_contain_text(w["est_tokens_in"])
    expect(page.locator("#source-why")).to_contain_text(w["source_demo_why"].split("{n}")[0].strip())
    expect(page.locator("#tasks h2").first).to_have_text(w["section_tasks"])
    page.get_by_role("tab", name=w["nav_live"]).click()
    expect(page.locator("[data-empty]")).to_contain_text(w["live_none"])


def test_a_browser_in_spanish_gets_spanish_without_asking(open_page: Callable[..., Page]) -> None:
    page = open_page(locale="es-MX")
    ready(page)
    expect(page.locator("#run-button")).to_have_text(words("es")["run"])
    expect(page.locator("#why")).to_have_text(words("es")["why_ready"])


def test_the_map_draws_with_motion_reduced_and_names_itself(open_page: Callable[..., Page], finished_run: str) -> None:
    page = open_page(f"/?run={finished_run}", reduced_motion="reduce")
    settled(page)
    label = page.get_attribute("[data-map]", "aria-label") or ""
    assert "20 tasks" in label and "criteria met" in label
    assert page.locator("[data-bars] .bar-row").count() == 12
    page.click(".bars summary")
    assert page.locator("[data-bars-table] tbody tr").count() == 12


def fetch(url: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    """One GET."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as reply:
            return reply.status, {k.lower(): v for k, v in reply.headers.items()}, reply.read()
    except urllib.error.HTTPError as error:
        return error.code, {k.lower(): v for k, v in error.headers.items()}, error.read()


def test_scripts_are_compressed_and_plotly_is_kept_for_ever(app: Served) -> None:
    from ui.assets import plotly_path

    status, headers, body = fetch(app.url + plotly_path(), **{"Accept-Encoding": "gzip"})
    assert status == 200 and "immutable" in headers["cache-control"]
    assert headers["content-encoding"] == "gzip" and len(body) < 2_000_000 and len(gzip.decompress(body)) > 3_000_000
    status, headers, _ = fetch(f"{app.url}/static/js/live.js")
    assert status == 200 and "javascript" in headers["content-type"]
    assert fetch(f"{app.url}/static/js/live.js", **{"If-None-Match": headers["etag"]})[0] == 304


def test_no_file_outside_the_lists_is_served(app: Served) -> None:
    for path in (
        "/static/../app.py",
        "/static/js/..%2f..%2fapp.py",
        "/static/words/__init__.py",
        "/static/fonts/",
        "/static/js/none.js",
    ):
        assert fetch(app.url + path)[0] in (403, 404), path


def test_the_guard_closes_gradios_odd_routes_and_other_sites_writes(app: Served) -> None:
    for path in (
        "/gradio_api/deep_link?session_hash=x",
        "/monitoring/summary",
        "/gradio_api/file=https://example.org",
        "/gradio_api/upload",
    ):
        assert fetch(app.url + path)[0] == 404, path
    request = urllib.request.Request(
        f"{app.url}/keys/solver/openai",
        json.dumps({"api_key": "sk-x"}).encode(),
        method="POST",
        headers={"Origin": "https://evil.example", "Content-Type": "application/json"},
    )
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request)
    assert refused.value.code == 403


def test_our_own_pages_carry_their_security_headers(app: Served) -> None:
    _, headers, _ = fetch(f"{app.url}/privacy")
    assert (
        "default-src 'none'" in headers["content-security-policy"]
        and "unsafe-inline" not in headers["content-security-policy"]
    )
    assert headers["referrer-policy"] == "no-referrer" and headers["x-content-type-options"] == "nosniff"
    assert "noindex" in fetch(f"{app.url}/r/nothing")[1]["x-robots-tag"]


@pytest.mark.parametrize("lang", ["es", "zh-CN"])
def test_what_a_run_says_of_itself_is_in_the_language_of_the_page(open_page: Callable[..., Page], lang: str) -> None:
    said = [translated(text, lang) for text in ("demo tasks", "another judge: demo/judge", "prompt text is ours, not the reference's")]
    page = open_page(f"/?lang={lang}")
    ready(page)
    for text in (*said, translated("One judge call for each criterion.", lang)):
        expect(page.locator("#estimate-details")).to_contain_text(text)
    run = press_run(page)
    expect(page.locator("[data-status]")).to_have_attribute("data-status", "finished")
    for text in said:
        expect(page.locator("[data-differences-list]")).to_contain_text(text)
    page.goto(f"{page.url.split('/?')[0]}/r/{run.split('&')[0]}?lang={lang}")
    for text in said:
        expect(page.locator(".not-comparable").first).to_contain_text(text)
