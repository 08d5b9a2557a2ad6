"""Visitors of a whole hosted app, over sockets: each sends the header that a Space's proxy sets, and does what a page does."""

import asyncio
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def hosted_app(folder: Path, **env: str) -> Iterator[str]:
    """`python app.py` as on a Space, in a process of its own; gives its address."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("L2BENCH_", "SPACE_", "HF_", "GRADIO_", "OAUTH_"))}
    settings = {"L2BENCH_HOME": str(folder / "home"), "L2BENCH_HOST": "127.0.0.1", "L2BENCH_PORT": "0", "SPACE_ID": "me/space",
                "SPACE_HOST": "me-space.hf.space", "HF_HUB_OFFLINE": "1", "PYTHONUNBUFFERED": "1", **env}
    with (folder / "app.log").open("wb") as log:
        process = subprocess.Popen([sys.executable, "app.py"], cwd=ROOT, env={**clean, **settings}, stdout=subprocess.PIPE, stderr=log)
    try:
        assert process.stdout is not None
        found = re.search(r"http://[\d.]+:\d+", process.stdout.readline().decode())
        assert found, (folder / "app.log").read_text()[-2000:]
        yield found[0]
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()


class Visitor:
    """One visitor of the app, at one address unless another is named."""

    def __init__(self, url: str, address: str) -> None:
        self.url, self.address = url, address
        split = urlsplit(url)
        self.host, self.port = split.hostname or "", split.port or 0
        self.client = httpx.AsyncClient(base_url=url, timeout=60, headers=self.headers(), limits=httpx.Limits(max_connections=200, keepalive_expiry=1))
        self.form: tuple[int, list[Any]] | None = None

    def headers(self, address: str = "") -> dict[str, str]:
        """The header as the proxy writes it: what the visitor invented stands before the address it saw."""
        return {"x-forwarded-for": f"198.51.100.1, {address or self.address}", "host": "me-space.hf.space"}

    async def run_form(self, **values: Any) -> tuple[int, list[Any]]:
        """The number of the Run button's handler, and the form's values with some changed by the fields' element ids."""
        config = (await self.client.get("/config")).json()
        parts = {c["id"]: c for c in config["components"]}
        button = next(i for i, c in parts.items() if c["props"].get("elem_id") == "run-button")
        handler = next(d for d in config["dependencies"] if [button, "click"] in [list(t) for t in d["targets"]])
        given = [parts[i]["props"] for i in handler["inputs"]]
        return handler["id"], [values.get(p.get("elem_id"), p.get("value")) for p in given]

    async def join(self, session: str, **values: Any) -> int:
        """Press Run; the status of the answer."""
        body = await self.joining(session, **values)
        return (await self.client.post("/gradio_api/queue/join", content=body, headers={"content-type": "application/json"})).status_code

    async def joining(self, session: str, **values: Any) -> bytes:
        """What pressing Run sends."""
        if self.form is None:
            self.form = await self.run_form(**values)
        number, data = self.form
        return json.dumps({"data": data, "fn_index": number, "session_hash": session}).encode()

    async def started(self, session: str) -> str:
        """What the page shows once the event is done: the run's id, or the sentence why there is none."""
        async with self.client.stream("GET", "/gradio_api/queue/data", params={"session_hash": session}) as stream:
            async for line in stream.aiter_lines():
                message = json.loads(line[6:]) if line.startswith("data: ") else {}
                if message.get("msg") == "process_completed":
                    run, why, *_ = message["output"]["data"]
                    return str(run or why)
        return f"stream ended with {stream.status_code}"

    async def watched(self, run: str) -> str:
        """Watch a run to its end; its status."""
        async with self.client.stream("GET", f"/api/runs/{run}/events") as stream:
            lines = [line async for line in stream.aiter_lines()]
        return str(json.loads(lines[lines.index("event: done") + 1][6:])["status"])

    async def whole(self, session: str, **values: Any) -> tuple[float, str]:
        """Open the page, start a run, watch it to its end: seconds, and the run's last status."""
        begun = time.perf_counter()
        await self.client.get("/")
        assert await self.join(session, **values) == 200
        run = await self.started(session)
        assert re.fullmatch(r"[A-Za-z0-9]{26}", run), run
        return time.perf_counter() - begun, await self.watched(run)

    async def raw(self, path: str, address: str = "", body: bytes = b"") -> tuple[int, asyncio.StreamWriter]:
        """A request on a socket of its own, which stays open: the status and the socket. Cheap, so that hundreds are sent at
        once without the sender being the slow one."""
        reader, writer = await asyncio.open_connection(self.host, self.port)
        sent = self.headers(address) | ({"content-type": "application/json", "content-length": str(len(body))} if body else {})
        lines = "".join(f"{k}: {v}\r\n" for k, v in sent.items())
        writer.write(f"{'POST' if body else 'GET'} {path} HTTP/1.1\r\n{lines}\r\n".encode() + body)
        await writer.drain()
        status = await asyncio.wait_for(reader.readline(), 60)
        return int(status.split()[1]), writer
