"""No address makes work: whatever the path and the query, an answer is small, cheap and made off the event loop."""

import asyncio
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.service import RunService
from tests.http.runner_kit import ENGINE
from tests.made_runs import Made
from tests.made_site import public, put_run, secret
from ui import explore, gallery
from ui.address import LONGEST
from ui.compare import NAMES as COMPARE
from ui.downloads import NAMES as DOWNLOADS
from ui.explore import NAMES as EXPLORE
from ui.query import HOME
from ui.results import run_page
from ui.site import build_app

MOST_BYTES, MOST_CPU, MOST_LAG = 1_000_000, 0.3, 0.05
STREAMS = re.compile(r"/(events|queue/data|heartbeat/[^/]*|dev/reload|profiling/.*)$")
LARGE = {"run.zip", "run.eval", "charts.html", "events.jsonl", "view.json", "verdicts.csv", "eee.json"}
"""Files of a run, and no pages: they grow with the run, and for no address."""
NAMES = sorted({*HOME, *EXPLORE, *gallery.NAMES, *COMPARE, *run_page.NAMES, "lang", "code", "v", "after", "brief", "poll", "means",
                "deep_link", "view", "__theme", "session_hash", "_target_url", "state"})


class Site:
    """The whole app in a loop of its own, asked without a socket, so that processor time is the app's alone."""

    def __init__(self, home: Path) -> None:
        for i, name in enumerate("abcdef"):
            put_run(home, name, Made(seed=1, tasks=40, solver=f"openrouter/acme/{name}", skill=0.5 + i / 20))
        put_run(home, "t", Made(seed=3, tasks=200, epochs=3))
        self.app = build_app(home, RunService(home, ENGINE))
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.life = self.app.router.lifespan_context(self.app)
        self.run(self.life.__aenter__())

    def run(self, work: Any) -> Any:
        """The result of a coroutine in the app's loop."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)

    def close(self) -> None:
        """End the app."""
        self.run(self.life.__aexit__(None, None, None))
        self.loop.call_soon_threadsafe(self.loop.stop)

    def paths(self) -> list[str]:
        """An address of every GET route, of Gradio's too, with ids that open something and ids that do not."""
        fills = {"rid": [public("t"), secret("a"), "x" * 26], "name": [*DOWNLOADS, "nothing.csv"], "path": ["js/page.js", "x/y"]}
        found = ["/nothing", "/r", "/static/none.css"]
        for template in _templates(self.app.routes):
            made = [template]
            while any("{" in path for path in made):
                field = next(re.search(r"{(\w+)[^}]*}", path) for path in made if "{" in path)
                values = [secret("a")] if "/download/" in template and field[1] == "rid" else fills.get(field[1], ["x"])
                made = [path.replace(field[0], value, 1) for path in made for value in values]
            found += made
        return sorted({path for path in found if not STREAMS.search(path)})

    async def ask(self, path: str, query: bytes, accept: str = "text/html") -> tuple[int, int, float]:
        """Status, bytes of the answer, and the longest stretch that the loop's thread worked without a pause (its processor
        time, so that a busy machine is no fault)."""
        scope = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": query, "root_path": "",
                 "scheme": "http", "http_version": "1.1", "server": ("127.0.0.1", 80), "client": ("127.0.0.1", 9),
                 "asgi": {"version": "3.0", "spec_version": "2.3"}, "extensions": {},
                 "headers": [(b"host", b"localhost"), (b"accept", accept.encode())]}
        told = {"status": 0, "bytes": 0}
        forever = asyncio.Event()
        asked = False

        async def receive() -> Any:
            nonlocal asked
            if asked:
                await forever.wait()
            asked = True
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            told["status"] = message.get("status", told["status"])
            told["bytes"] += len(message.get("body", b""))

        slowest = 0.0

        async def watch() -> None:
            nonlocal slowest
            while True:
                before = time.thread_time()
                await asyncio.sleep(0.002)
                slowest = max(slowest, time.thread_time() - before)

        watching = asyncio.ensure_future(watch())
        await asyncio.sleep(0)
        try:
            await self.app(scope, receive, send)
            await asyncio.sleep(0.003)
        finally:
            watching.cancel()
        return told["status"], told["bytes"], slowest


def _templates(routes: Any, before: str = "") -> Iterator[str]:
    for route in routes:
        path = before + getattr(route, "path", "")
        if inner := getattr(getattr(route, "app", None), "routes", None) or (getattr(route, "routes", None) or None):
            yield from _templates(inner, path.rstrip("/"))
        elif "GET" in (getattr(route, "methods", None) or ()):
            yield path


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = Site(tmp_path_factory.mktemp("addresses"))
    for path in made.paths():  # what a run costs to be read the first time is no address's work
        made.run(made.ask(path, b""))
    yield made
    made.close()


pieces = st.one_of(
    st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="&#"), max_size=30),
    st.sampled_from(["%C3%A9" * 40, "%F0%9F%98%80" * 90, "%", "%00", "%ED%A0%80", "a" * 199, "=", "[]", "level%3DA2", "02.%20Planning",
                     "9" * 8, "demo/strong", "/r/" + secret("a"), "../" * 60, "tasks", "task", "top", "<b>" * 60, "1", "101"]))
pairs = st.tuples(st.sampled_from(NAMES) | pieces, pieces).map("=".join)
queries = st.tuples(st.lists(pairs, min_size=1, max_size=30), st.booleans()).map(lambda drawn: _filled(*drawn))


def _filled(drawn: list[str], numbered: bool) -> bytes:
    """The pairs again and again, each a little different where `numbered`, up to the longest address."""
    out, size, n = [], 0, 0
    while size < 32_000:
        pair = drawn[n % len(drawn)] + (str(n) if numbered else "")
        out.append(pair)
        size, n = size + len(pair) + 1, n + 1
    return "&".join(out).encode()[:32_000]


@settings(max_examples=60)
@given(st.data())
def test_no_address_makes_work(site: Site, data: st.DataObject) -> None:
    # /explore turned 33 kB of address into 7 MB; so did each page that repeats its query in its links.
    path = data.draw(st.sampled_from(site.paths()))
    _hold(site, path, data.draw(queries))


@pytest.mark.parametrize("name", [*NAMES, "unknown", "%C3%A9"])
@pytest.mark.parametrize("path", ["/explore", "/gallery", "/compare", f"/r/{public('t')}", "/"])
def test_no_parameter_repeated_or_long_makes_a_page_larger(site: Site, path: str, name: str) -> None:
    many = b"&".join(f"{name}=v{i}%C3%A9".encode() for i in range(4000))[:32_000]
    _hold(site, path, many)


def _hold(site: Site, path: str, query: bytes) -> None:
    begun = time.process_time()
    status, size, lag = site.run(site.ask(path, query))
    spent = time.process_time() - begun
    told = (path, query[:200], status, size, spent, lag)
    assert status < 500 and status != 421, told
    file = path.rpartition("/download/")[2] in LARGE if "/download/" in path else path.startswith("/static/plotly")
    assert size <= MOST_BYTES or file, told
    if spent > MOST_CPU or lag > MOST_LAG:  # once more: the collector of garbage runs in any thread
        begun = time.process_time()
        lag = site.run(site.ask(path, query))[2]
        spent = time.process_time() - begun
    assert spent <= MOST_CPU and lag <= MOST_LAG, told


def test_every_filter_at_once_is_still_a_small_page(site: Site) -> None:
    html = site.run(site.ask("/explore", b""))[1]
    tasks = explore.Explore().sources.offer("demo", {"lang": "en", "source_demo_why": ""}).tasks.tasks
    values = {("competency", t.competency) for t in tasks} | {("subcompetency", s) for t in tasks for s in t.subcompetencies}
    values |= {("context", f"{k}={v}") for t in tasks for k, vs in t.facets.items() for v in vs}
    from urllib.parse import urlencode

    status, size, _ = site.run(site.ask("/explore", urlencode(sorted(values)).encode()))
    assert status == 200 and size < 2 * html


@pytest.mark.parametrize("path", ["/", "/explore", "/gallery", "/r/x", "/nothing", "/gradio_api/info", "/static/js/page.js"])
def test_an_address_that_is_too_long_is_refused(site: Site, path: str) -> None:
    assert site.run(site.ask(path, b"a" * LONGEST))[0] == 414
    assert site.run(site.ask(path + "/" + "a" * LONGEST, b""))[0] == 414


def test_a_page_holds_a_bounded_part_of_a_large_run(site: Site) -> None:
    for query in (b"size=100", b"size=100&page=9", b"open=101&size=100", b"size=100&sort=score&dir=down"):
        status, size, _ = site.run(site.ask(f"/r/{public('t')}", query))
        assert status == 200 and size < 600_000
