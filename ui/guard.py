"""Stands in front of the whole app: refuses writes from other sites, bodies without end and sockets. Gradio's own routes
are closed by `ui.gradio_door`.

Counts the bytes of a body and reads none; never buffers an answer, so that event streams pass untouched.
"""

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ui.hosts import Hosts, foreign

NOBODY = Hosts()
LARGEST = 1_000_000  # bytes of a body; Gradio's own routes would take any number into memory


class _TooLarge(Exception):
    """More came than a body may have."""


class Guard:
    """Pure ASGI middleware. The pages of `hosts` may write, whatever name a proxy passes on."""

    def __init__(self, app: ASGIApp, hosts: Hosts = NOBODY) -> None:
        self.app, self.hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 404 or 403 in its place."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        if scope["type"] == "websocket":
            await PlainTextResponse("not found", 404)(scope, receive, send)
        elif foreign(scope, self.hosts):
            await PlainTextResponse("cross-origin request refused", 403)(scope, receive, send)
        else:
            await self._bounded(scope, receive, send)

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
