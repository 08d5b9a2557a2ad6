"""The result pages over made runs: run folders as the service leaves them, and an app that serves them. No engine runs."""

import contextlib
import json
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware

from pipeline.report.manifest import write_manifest
from pipeline.report.view import fold
from pipeline.spec import Places
from runner.folded import card
from runner.gate import Gate, Texts
from runner.service import RunService
from runner.sharing import Meta, key_of
from tests.made_runs import Made, write_run
from ui import assets, signin
from ui.guard import Guard
from ui.policy import Policy
from ui.results import routes

IDLE = [sys.executable, "-c", "import sys; sys.stdin.read()"]


def secret(name: str) -> str:
    """A made run's secret id."""
    return (name * 26)[:26]


def public(name: str) -> str:
    """A made run's public id."""
    return "p-" + (name * 20)[:20]


def put_run(home: Path, name: str, made: Made, level: str = "listed", answer: str = "A made answer.", **meta: Any) -> Path:
    """Write the folder of a run with the ids `secret(name)` and `public(name)`."""
    key = key_of(secret(name))
    folder = home / "runs" / key
    view = fold(write_run(folder, made, answer))
    record = Meta(key=key, created=made.start, source=made.kind, level=level, ended=view.finished, card=card(view),  # type: ignore[arg-type]
                  public_id=public(name) if level != "private" else "", **meta)
    (folder / "meta.json").write_text(json.dumps(record.to_json()), encoding="utf-8")
    if view.finished:
        write_manifest(view, Places(folder))
    return folder


def made_app(home: Path, **more: Any) -> Starlette:
    """The result pages on a data folder, behind the app's own guard."""
    service = RunService(home, engine_command=IDLE)

    @contextlib.asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        await service.open()
        yield
        await service.close()

    more = {"texts": Texts(Gate(home), signin.account), "kept_tasks": lambda *_: None, **more}
    app = Starlette(routes=[*assets.routes, *routes(service, **more)], middleware=[Middleware(Policy), Middleware(Guard)], lifespan=life)
    app.state.service = service
    return app


@contextlib.contextmanager
def serving(app: Starlette) -> Iterator[str]:
    """The app on a free loopback port, in a thread of this process; gives its address."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        thread.join(0.02)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
