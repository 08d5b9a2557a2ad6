"""A small provider on a loopback socket: answers what a test scripts, in order, and keeps every request it saw.

It knows no key and no rule of its own; a test says what a path answers.
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Seen:
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw)


@dataclass(frozen=True)
class Say:
    """One answer: JSON, or bytes as they are."""

    status: int = 200
    body: Any = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)


Answer = Say | Callable[[Seen], Say]


class _Quiet(ThreadingHTTPServer):
    """Says nothing where a client goes away in the middle of an answer, as some tests want it to."""

    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        pass


class FakeProvider:
    """Scripted answers by path (without its query); the last one of a path is given again and again."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self._script: dict[str, list[Answer]] = {}
        self._server: ThreadingHTTPServer | None = None

    def on(self, path: str, *answers: Answer) -> "FakeProvider":
        self._script[path] = list(answers)
        return self

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.server_port}"

    def everything(self) -> bytes:
        """All that arrived, as bytes, for a search in it."""
        return b"\n".join(f"{s.method} {s.path} {s.headers}".encode() + s.raw for s in self.seen)

    def answer(self, seen: Seen) -> Say:
        self.seen.append(seen)
        answers = self._script.get(seen.path.split("?")[0])
        if not answers:
            return Say(404, {"error": {"message": "no such route"}})
        found = answers.pop(0) if len(answers) > 1 else answers[0]
        return found(seen) if callable(found) else found

    def start(self) -> "FakeProvider":
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                pass

            def handle_any(self) -> None:
                raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                say = fake.answer(Seen(self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, raw))
                data = say.body if isinstance(say.body, bytes) else json.dumps(say.body).encode()
                self.send_response(say.status)
                for name, value in {"Content-Type": "application/json", "Content-Length": str(len(data)),
                                    "Connection": "close", **say.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = handle_any

        self._server = _Quiet(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def stop(self) -> None:
        if self._server:
            self._server.shutdown()
            self._server.server_close()


@contextmanager
def fake_provider() -> Iterator[FakeProvider]:
    """One running fake."""
    fake = FakeProvider().start()
    try:
        yield fake
    finally:
        fake.stop()
