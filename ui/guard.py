"""Stands in front of the whole app: refuses writes from other sites, bodies without end and sockets. Gradio's own routes
are closed by `ui.gradio_door`.

Counts the bytes of a body and reads none; never buffers an answer, so that event streams pass untouched.
"""

import os
import re
from collections.abc import Iterable, Mapping
from urllib.parse import unquote

from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

PLAIN_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'"
)
OWN = re.compile(r"^/(r/|gallery|compare|explore|privacy|keys|static/|api/)")
UNLISTED = re.compile(r"^/(r/|compare|api/|keys)")
RUN = re.compile(rb"(?:^|&)run=")
LARGEST = 1_000_000  # bytes of a body; Gradio's own routes would take any number into memory


class _TooLarge(Exception):
    """More came than a body may have."""


def allowed_hosts(environ: Mapping[str, str] = os.environ) -> frozenset[str]:
    """Public names of a Space, for when its proxy does not pass the public Host on."""
    return frozenset(h.strip().lower() for h in environ.get("SPACE_HOST", "").split(",") if h.strip())


class Guard:
    """Pure ASGI middleware. `hosts` are further host names whose pages may write."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str] = ()) -> None:
        self.app, self.hosts = app, frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 404 or 403 in its place."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        path = unquote(scope["path"])
        if scope["type"] == "websocket":
            await PlainTextResponse("not found", 404)(scope, receive, send)
        elif self._foreign(scope):
            await PlainTextResponse("cross-origin request refused", 403)(scope, receive, send)
        else:
            await self._bounded(scope, receive, _with_headers(path, bool(RUN.search(scope["query_string"])), send))

    async def _bounded(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, unless more comes, or is announced, than a body may have."""
        announced = dict(scope["headers"]).get(b"content-length", b"")
        came, begun = int(announced) if announced.isdigit() else 0, False

        async def counting() -> Message:
            nonlocal came
            message = await receive()
            came += len(message.get("body", b"")) if not announced else 0
            if came > LARGEST:
                raise _TooLarge
            return message

        async def noting(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            if came > LARGEST:
                raise _TooLarge
            await self.app(scope, counting, noting)
        except _TooLarge:
            if not begun:
                await PlainTextResponse(f"too large: at most {LARGEST:,} bytes", 413)(scope, receive, send)

    def _foreign(self, scope: Scope) -> bool:
        """Whether another site's page sends this write. Requests without an Origin are no browser's cross-site ones."""
        if scope["method"] in ("GET", "HEAD", "OPTIONS"):
            return False
        headers = dict(scope["headers"])
        if headers.get(b"sec-fetch-site") in (b"cross-site", b"same-site"):
            return self._origin(headers) not in self.hosts
        origin = self._origin(headers)
        own = headers.get(b"host", b"").decode("latin-1").lower()
        return bool(origin) and origin != own and origin not in self.hosts

    @staticmethod
    def _origin(headers: Mapping[bytes, bytes]) -> str:
        return headers.get(b"origin", b"").decode("latin-1").lower().split("://", 1)[-1]


def _with_headers(path: str, of_run: bool, send: Send) -> Send:
    """`send`, with the security headers of the page added to its answer; `of_run` where the query names a run."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["X-Content-Type-Options"] = "nosniff"
            headers["Referrer-Policy"] = "no-referrer"
            if OWN.match(path):
                headers.setdefault("Content-Security-Policy", PLAIN_POLICY)
            if of_run or UNLISTED.match(path):
                headers["X-Robots-Tag"] = "noindex, nofollow"
        await send(message)

    return sending
