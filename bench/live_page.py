"""The live page while 1,000 tasks of 20 criteria arrive at 50 a second: main-thread time and bytes, in a real Chromium.

Run: `python -m bench.live_page`. Aims: under 3 s of main-thread work for the whole run, 60 KB on the wire.
"""

import asyncio
import json
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.browser import CHROMIUM, FLAGS

AIM_SECONDS, AIM_BYTES = 3.0, 60_000


@contextmanager
def served(home: Path) -> Iterator[tuple[str, Any, asyncio.AbstractEventLoop]]:
    """The whole app with the scripted engine, in a thread; its address, its service and its loop."""
    import uvicorn

    from app import listen
    from runner.service import RunService
    from ui.site import build_app

    engine = [sys.executable, str(Path(__file__).with_name("scripted_run.py"))]
    service = RunService(home, engine_command=engine)
    bound, loops = listen("127.0.0.1", 0), []
    server = uvicorn.Server(uvicorn.Config(build_app(home, service), log_level="warning", timeout_graceful_shutdown=2))

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        await server.serve(sockets=[bound])

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{bound.getsockname()[1]}", service, loops[0]
    finally:
        server.should_exit = True
        thread.join(10)


def begin(service: Any, loop: asyncio.AbstractEventLoop, tasks: int, criteria: int, rate: float, before: float) -> str:
    """Start the scripted run; its secret id."""
    from pipeline.spec import Credentials, ModelSpec, RunSpec

    config = {"tasks": tasks, "criteria": criteria, "rate": rate, "before": before}
    spec = RunSpec(
        solver=ModelSpec(model="demo/strong", config=config), judge=ModelSpec(model="demo/judge"), max_cost=1000
    )
    return asyncio.run_coroutine_threadsafe(service.start(spec, Credentials()), loop).result(20)


def watch(url: str, run: str, tasks: int, seconds: float) -> dict[str, float]:
    """Follow the run in a browser to its end; what it cost the page."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")
        session.send("Network.enable")
        kinds: dict[str, str] = {}
        received = {"stream": 0, "plan": 0}
        session.on("Network.requestWillBeSent", lambda e: kinds.__setitem__(e["requestId"], e["request"]["url"]))
        session.on("Network.dataReceived", lambda e: _stream(received, kinds.get(e["requestId"], ""), e))
        session.on("Network.loadingFinished", lambda e: _whole(received, kinds.get(e["requestId"], ""), e))
        page.goto(f"{url}/?run={run}")
        page.wait_for_function("window.l2live?.model", timeout=30_000)
        at_start, begun = _metrics(session), time.monotonic()
        page.wait_for_function(f"window.l2live.model.done === {tasks}", timeout=(seconds + 60) * 1000, polling=500)
        page.wait_for_function("window.l2live.over && window.l2live.final", timeout=20_000, polling=500)
        took, at_end = time.monotonic() - begun, _metrics(session)
        nodes = page.evaluate("document.querySelectorAll('*').length")
        reading = {"mean": page.inner_text("[data-mean]"), "done": page.inner_text("[data-done]")}
        browser.close()
    busy = at_end["TaskDuration"] - at_start["TaskDuration"]
    return {
        "seconds": round(took, 1),
        "main_thread_seconds": round(busy, 2),
        "script_seconds": round(at_end["ScriptDuration"] - at_start["ScriptDuration"], 2),
        "stream_bytes": received["stream"],
        "plan_bytes": received["plan"],
        "layout_seconds": round(
            at_end["LayoutDuration"]
            + at_end["RecalcStyleDuration"]
            - at_start["LayoutDuration"]
            - at_start["RecalcStyleDuration"],
            2,
        ),
        "nodes": nodes,
        **reading,
    }


def _stream(received: dict[str, int], url: str, event: dict[str, Any]) -> None:
    """The stream is never compressed, so that its length is its bytes."""
    if "/events" in url:
        received["stream"] += event["dataLength"]


def _whole(received: dict[str, int], url: str, event: dict[str, Any]) -> None:
    if ("/api/runs/" in url or "/live/" in url) and "/events" not in url:
        received["plan"] += int(event["encodedDataLength"])


def _metrics(session: Any) -> dict[str, float]:
    return {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}


def measure(tasks: int = 1000, criteria: int = 20, rate: float = 50.0) -> dict[str, Any]:
    """One measured run.

    Args:
        rate: tasks a second.
    """
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as (url, service, loop):
        run = begin(service, loop, tasks, criteria, rate, before=4.0)
        found: dict[str, Any] = watch(url, run, tasks, tasks / rate)
    return {"tasks": tasks, "criteria": criteria, **found}


def main() -> int:
    """Print the measurement beside its aims."""
    found = measure()
    print(json.dumps(found, ensure_ascii=False, indent=2))
    print(f"main thread {found['main_thread_seconds']} s, aim under {AIM_SECONDS}")
    wire = found["stream_bytes"] + found["plan_bytes"]
    print(f"on the wire {wire:,} bytes, aim {AIM_BYTES:,}: stream {found['stream_bytes']:,}, plan and head {found['plan_bytes']:,}")
    return 0 if found["main_thread_seconds"] < AIM_SECONDS and wire <= AIM_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
