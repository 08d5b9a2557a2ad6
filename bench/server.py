"""A chat-completions server of fixed answers after a fixed delay, in a process of its own; loopback only.

    python -m bench.server        prints its port

Raw asyncio, so that it is never the bottleneck: what is measured is the client. `GET /stats` tells, for each model's
name, how many requests came and when the first came and the last was answered; `GET /reset?latency=SECONDS` forgets.
"""

import asyncio
import json
import sys
import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

from bench.load import ANSWER, VERDICT


class Seen:
    """What the server was asked since the last reset. Times are Unix seconds."""

    def __init__(self, latency: float = 0.0) -> None:
        self.latency, self.busy, self.most, self.cpu = latency, 0, 0, time.process_time()
        self.models: dict[str, dict[str, Any]] = {}

    def came(self, model: str) -> None:
        """A request is whole."""
        self.busy += 1
        self.most = max(self.most, self.busy)
        seen = self.models.setdefault(model, {"count": 0, "first": time.time(), "last": 0.0})
        seen["count"] += 1

    def answered(self, model: str) -> None:
        """Its answer leaves."""
        self.busy -= 1
        if model in self.models:
            self.models[model]["last"] = time.time()

    def stats(self) -> bytes:
        """All of it as JSON; `cpu` in seconds, `most` the requests that were under way at once."""
        return json.dumps({"models": self.models, "most": self.most, "cpu": time.process_time() - self.cpu}).encode()


def _response(body: bytes, kind: bytes = b"application/json") -> bytes:
    return b"HTTP/1.1 200 OK\r\ncontent-type: " + kind + b"\r\ncontent-length: %d\r\n\r\n" % len(body) + body


def _completion(model: str) -> bytes:
    judge = "judge" in model
    usage = {"prompt_tokens": 3200 if judge else 1100, "completion_tokens": 160 if judge else 700}
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": VERDICT if judge else ANSWER}}
    body = {"id": "chatcmpl-bench", "object": "chat.completion", "created": 1, "model": model, "choices": [choice],
            "usage": {**usage, "total_tokens": sum(usage.values())}}
    return _response(json.dumps(body).encode())


class Connection(asyncio.Protocol):
    """One client connection; requests come one after the other on it."""

    seen = Seen()
    answers: dict[str, bytes] = {}

    def __init__(self) -> None:
        self.raw = bytearray()

    def connection_made(self, transport: Any) -> None:
        """Keep the way back."""
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Take requests out of the stream as they become whole."""
        self.raw += data
        while (end := self.raw.find(b"\r\n\r\n")) >= 0:
            head = bytes(self.raw[:end])
            size = _length(head)
            if len(self.raw) < end + 4 + size:
                return
            body = bytes(self.raw[end + 4:end + 4 + size])
            del self.raw[:end + 4 + size]
            self._request(head.split(b" ", 2)[1].decode(), body)

    def _request(self, path: str, body: bytes) -> None:
        if path.startswith("/stats"):
            return self.transport.write(_response(Connection.seen.stats()))
        if path.startswith("/reset"):
            Connection.seen = Seen(float(parse_qs(urlsplit(path).query)["latency"][0]))
            return self.transport.write(_response(b"{}"))
        model, seen = _model(body), Connection.seen
        if model not in self.answers:
            self.answers[model] = _completion(model)
        seen.came(model)
        asyncio.get_running_loop().call_later(seen.latency, self._answer, seen, model)

    def _answer(self, seen: Seen, model: str) -> None:
        seen.answered(model)
        if not self.transport.is_closing():
            self.transport.write(self.answers[model])


def _length(head: bytes) -> int:
    lower = head.lower()
    at = lower.find(b"content-length:")
    return int(lower[at + 15:].split(b"\r\n", 1)[0]) if at >= 0 else 0


def _model(body: bytes) -> str:
    """The request's model; inside a prompt the same words would have their quotes escaped."""
    rest = body[body.rfind(b'"model"') + 7:].lstrip(b' :"')
    return rest[:rest.find(b'"')].decode()


async def main() -> None:
    """Serve until standard input ends."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Connection, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
