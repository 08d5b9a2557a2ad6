"""The only way to the mounted Gradio: a list of what the page needs; anything else is not found, in a new version too.

Reads every body that goes to a handler, and gives each visitor a session of their own whatever name a page gave it.
"""

import gzip
import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlencode

import brotli
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import Message, Receive, Scope, Send

from ui import visitor
from ui.gradio_calls import Refused, read_call, session_in
from ui.sessions import Sessions
from ui.whole import Whole

PAGE, ALIVE = "/", "/gradio_api/app_id"
EVENTS, JOIN, CALL = "/gradio_api/queue/data", "/gradio_api/queue/join", "/gradio_api/run/predict"
# The page itself, what it says of itself, its colours, what every browser and crawler asks for unasked, and the one
# question that Gradio's script asks after a lost connection: is this still the same server?
OPEN = frozenset({PAGE, "/config", "/theme.css", "/favicon.ico", "/robots.txt", ALIVE})
METHODS: dict[str, tuple[str, ...]] = {path: ("GET",) for path in OPEN} | {
    PAGE: ("GET", "HEAD"),
    EVENTS: ("GET",),
    JOIN: ("POST",),
    CALL: ("POST",),
}


class GradioDoor:
    """Pure ASGI, in place of the app that Gradio mounted.

    Args:
        inner: Gradio's app. files: addresses of its own scripts and styles.

    Attributes:
        sessions: which visitor's page made which of Gradio's sessions.
    """

    def __init__(self, inner: Any, files: frozenset[str]) -> None:
        self.inner, self.files = inner, files
        self.sessions = Sessions(inner.blocks)
        self._secret = secrets.token_bytes(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request of the page on; refuse any other."""
        path = scope["path"]
        # A prefix that Gradio would take off could make another address of a listed one.
        known = scope["type"] == "http" and not scope.get("root_path") and (path in METHODS or path in self.files)
        if not known:
            return await PlainTextResponse("not found", 404)(scope, receive, send)
        methods = METHODS.get(path, ("GET",))
        if scope["method"] not in methods:
            refused = PlainTextResponse("method not allowed", 405, {"Allow": ", ".join(methods)})
            return await refused(scope, receive, send)
        try:
            await self._pass(path, scope, receive, send)
        except ClientDisconnect:  # while the body was read
            return
        except Refused as error:
            await JSONResponse({"error": str(error), "detail": str(error)}, error.status)(scope, receive, send)

    async def _pass(self, path: str, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        if path == EVENTS:
            await self._events(request, send)
        elif path in (JOIN, CALL):
            await self._call(request, path == CALL, send)
        else:
            # None of these takes a parameter of ours; Gradio's own would name a page or a file that there is not.
            asked = {**scope, "query_string": b""}
            await self.inner(asked, receive, _with_session(request, send) if path == PAGE else send)

    async def _events(self, request: Request, send: Send) -> None:
        given = parse_qs(request.scope["query_string"].decode("latin-1")).get("session_hash", [])
        session = self._own(session_in(given[0] if len(given) == 1 else None), request)
        # Of a session that began nothing Gradio makes a stream that ends in a fault.
        if session not in self.inner.blocks._queue.pending_messages_per_session:
            raise Refused(404, "There is no such session.")
        await self.inner({**request.scope, "query_string": urlencode({"session_hash": session}).encode()}, request.receive, send)

    async def _call(self, request: Request, answered_at_once: bool, send: Send) -> None:
        call = read_call(await request.body(), self.inner.blocks.fns)
        call["session_hash"] = session = self._own(call["session_hash"], request)
        if name := visitor.counted_as(request):
            self.sessions.seen(name, session)
        raw = json.dumps(call).encode()
        scope = {**request.scope, "headers": _headers_for(raw, request.scope["headers"])}
        await self.inner(scope, _giving(raw, request.receive), _Sentence(send) if answered_at_once else send)

    def _own(self, session: str, request: Request) -> str:
        """The session of this name of this visitor: whoever else learns the name gets another one by it."""
        of = f"{visitor.mark(request)}\n{session}".encode()
        return hmac.new(self._secret, of, hashlib.sha256).hexdigest()[:32]


class _Sentence(Whole):
    """Makes a 400 of Gradio's 500 where it refused a value with a sentence; a fault of the program stays a 500."""

    def wanted(self, start: Message) -> bool:
        return bool(start["status"] == 500)

    async def finish(self, start: Message) -> None:
        said = _said(self.body, Headers(raw=start["headers"]).get("content-encoding", ""))
        await self.send({**start, "status": 400 if said.get("error") else 500})
        await self.send({"type": "http.response.body", "body": self.body})


def _said(body: bytes, encoding: str) -> Mapping[str, Any]:
    try:
        found = json.loads(brotli.decompress(body) if encoding == "br" else gzip.decompress(body) if encoding else body)
    except (ValueError, OSError, brotli.error):
        return {}
    return found if isinstance(found, dict) else {}


def _headers_for(raw: bytes, headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Headers for a body of our own making."""
    about = (b"content-length", b"transfer-encoding", b"content-encoding", b"content-type")
    kept = [(name, value) for name, value in headers if name.lower() not in about]
    return [*kept, (b"content-type", b"application/json"), (b"content-length", str(len(raw)).encode())]


def _giving(raw: bytes, receive: Receive) -> Receive:
    """`receive` that gives the whole body once, then whatever comes after it (that the visitor has gone)."""
    given = False

    async def receiving() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": raw, "more_body": False}

    return receiving


def _with_session(request: Request, send: Send) -> Send:
    """`send` that gives a first visitor their cookie with the page, so that all the page asks for comes with it."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            made = Response()
            visitor.ensure_session(request.cookies, made)
            headers = MutableHeaders(scope=message)
            for name, value in made.raw_headers:
                if name == b"set-cookie":
                    headers.append("set-cookie", value.decode("latin-1"))
        await send(message)

    return sending
