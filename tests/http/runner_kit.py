"""What the runner's tests share: a service on a scripted engine, its routes on a real socket, and a reader of streams."""

import asyncio
import contextlib
import json
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from starlette.applications import Starlette

from pipeline.spec import Credentials, ModelSpec, ProviderKey, RunSpec
from runner.api import routes
from runner.limits import Limits
from runner.mirror import Mirror
from runner.service import RunService

ENGINE = [sys.executable, str(Path(__file__).with_name("scripted_engine.py"))]
NO_LIMITS = Limits(visitor_runs=0, free_mb=0)


def spec(name: str = "a", source: str = "demo", **script: Any) -> RunSpec:
    """A spec whose solver config is the scripted engine's script."""
    return RunSpec(source=source, solver=ModelSpec(model=f"script/{name}", config=script))  # type: ignore[arg-type]


def key(secret: str = "canary-key-000000", token: str | None = None) -> Credentials:
    """Credentials with one key for the solver."""
    return Credentials(ProviderKey({"api_key": secret}), hf_token=token)


@contextlib.asynccontextmanager
async def service(home: Path, limits: Limits = NO_LIMITS, mirror: Mirror | None = None) -> AsyncIterator[RunService]:
    """An open service on the scripted engine."""
    made = RunService(home, ENGINE, limits, mirror)
    await made.open()
    try:
        yield made
    finally:
        await made.close()


@contextlib.asynccontextmanager
async def served(app: Starlette) -> AsyncIterator[httpx.AsyncClient]:
    """An app on a loopback socket of its own, and a client of it."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
    task = asyncio.ensure_future(server.serve(sockets=[listener]))
    try:
        while not server.started:
            await asyncio.sleep(0.01)
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=20) as client:
            yield client
    finally:
        server.should_exit = True
        await task


def site(made: RunService) -> contextlib.AbstractAsyncContextManager[httpx.AsyncClient]:
    """The service's routes on a loopback socket; `X-Test-User` signs a request in."""
    return served(Starlette(routes=routes(made, lambda request: request.headers.get("x-test-user"))))


async def until(condition: Any, seconds: float = 60.0) -> None:
    """Wait until a condition (a function, or one that gives an awaitable) holds.

    Raises:
        AssertionError: it did not come to hold.
    """
    for _ in range(int(seconds / 0.02)):
        held = condition()
        if asyncio.iscoroutine(held):
            held = await held
        if held:
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it did not come to hold in time")


async def ended(made: RunService, rid: str) -> None:
    """Wait until a run has exited."""
    await until(lambda: made.get(rid) is not None and made.get(rid).key not in made.host.live)  # type: ignore[union-attr]


class Reader:
    """Reads an event stream as a browser does: folds items into the state a page would show."""

    def __init__(self) -> None:
        self.position = "0"
        self.finished: dict[int, list[Any]] = {}
        self.states: dict[str, list[Any]] = {}
        self.items: list[list[Any]] = []
        self.bytes = 0
        self.messages = 0
        self.done: dict[str, Any] | None = None

    async def read(self, client: httpx.AsyncClient, rid: str, drop_after: int | None = None) -> None:
        """Read until the stream ends, or drop the connection after some messages."""
        headers = {"Last-Event-ID": self.position} if self.position != "0" else {}
        seen = 0
        async with client.stream("GET", f"/api/runs/{rid}/events", headers=headers) as response:
            assert response.status_code == 200, response.status_code
            rest = ""
            async for chunk in response.aiter_raw():
                self.bytes += len(chunk)
                *blocks, rest = (rest + chunk.decode()).split("\n\n")
                for block in blocks:
                    seen += self._take(dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":")))
                if drop_after is not None and seen >= drop_after:
                    return

    def _take(self, fields: dict[str, str]) -> int:
        if fields.get("event") == "done":
            self.done = json.loads(fields["data"])
            return 0
        if "data" not in fields:
            return 0
        self.position = fields.get("id", self.position)
        self.messages += 1
        for item in json.loads(fields["data"]):
            self.items.append(item)
            if isinstance(item[0], int):
                self.finished[item[0]] = item
            else:
                self.states[item[0]] = item
        return 1
