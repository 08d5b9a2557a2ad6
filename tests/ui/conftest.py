"""A real server in a process of its own and a real Chromium for the page tests. Everything stays on the loopback."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Frame, Page, expect, sync_playwright

from tests.browser import CHROMIUM, FLAGS, PATIENCE, patient

ROOT = Path(__file__).resolve().parents[2]


class Served:
    """A running app: its address, its data folder, its log."""

    def __init__(self, url: str, home: Path, log: Path) -> None:
        self.url, self.home, self.log = url, home, log


@contextmanager
def serving(folder: Path, **env: str) -> Iterator[Served]:
    """`python app.py` on a free port; ended by its own pid."""
    home, log = folder / "home", folder / "app.log"
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("L2BENCH_", "SPACE_", "HF_", "GRADIO_"))}
    settings = {"L2BENCH_HOME": str(home), "L2BENCH_PORT": "0", "HF_HUB_OFFLINE": "1", "PYTHONUNBUFFERED": "1", **env}
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "app.py"], cwd=ROOT, env={**clean, **settings}, stdout=subprocess.PIPE, stderr=out
        )
    try:
        assert process.stdout is not None
        line = process.stdout.readline().decode()
        found = re.search(r"http://[\d.]+:\d+", line)
        assert found, f"no address in {line!r}: {log.read_text()[-2000:]}"
        yield Served(found[0], home, log)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()


@pytest.fixture(scope="session")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The app on the demo tasks, each scripted call taking 20 ms so that a run can be watched."""
    with serving(tmp_path_factory.mktemp("app"), L2BENCH_DEMO_DELAY="0.02") as served:
        yield served


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for the session."""
    with sync_playwright() as playwright:
        expect.set_options(timeout=PATIENCE)
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def open_page(browser: Browser, app: Served) -> Iterator[Callable[..., Page]]:
    """Opens a page in a context of its own; a fault in the page, or a request elsewhere, fails the test at its end."""
    contexts, faults = [], []

    def opened(path: str = "/", **context: Any) -> Page:
        made = patient(browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **context}))
        contexts.append(made)
        page = made.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on(
            "request",
            lambda r: None if r.url.startswith((app.url, "data:", "blob:")) else faults.append(f"request to {r.url}"),
        )
        page.goto(app.url + path)
        return page

    yield opened
    for made in contexts:
        made.close()
    assert not faults


def ready(page: Page) -> None:
    """Wait until the form can start a run."""
    page.wait_for_selector("#run-button:not([disabled])")


def press_run(page: Page) -> str:
    """Press Run and give back the run's secret id, taken from the address."""
    ready(page)
    page.click("#run-button")
    page.wait_for_url(re.compile(r"[?&]run="))  # the first start waits for the engine
    return page.url.split("run=")[1]


def choose(frame: Page | Frame, where: str, text: str) -> None:
    """Pick, or type, a value in one of the form's lists, in place of the one that is there."""
    page = frame if isinstance(frame, Page) else frame.page
    frame.click(f"{where} input")
    page.wait_for_timeout(80)
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.type(text)
    page.wait_for_timeout(150)
    page.keyboard.press("Enter")
    page.wait_for_timeout(300)
