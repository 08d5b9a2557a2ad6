"""A page whose stream is refused, as where too many watch: it says so, asks now and then, and shows the run to its end."""

from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.browser import patient
from tests.ui.conftest import press_run, serving


def test_a_page_without_a_stream_asks_instead(browser: Browser, tmp_path: Path) -> None:
    # A refused stream is not opened again by the browser: the page said "Trying again" for ever and showed nothing.
    with serving(tmp_path, L2BENCH_DEMO_DELAY="0.25", L2BENCH_MAX_WATCHERS="1") as app:
        context = patient(browser.new_context())
        first, second = context.new_page(), context.new_page()
        first.goto(app.url)
        run = press_run(first)
        expect(first.locator("[data-status]")).to_have_attribute("data-status", "running")
        second.goto(f"{app.url}/?run={run}")
        expect(second.locator("[data-problem]")).to_contain_text("asks every few seconds")
        expect(second.locator("[data-model]")).to_contain_text("strong")
        expect(second.locator("[data-status]")).to_have_attribute("data-status", "finished")
        expect(second.locator("[data-problem]")).to_be_hidden()
        context.close()
