"""Makes the session's cookie one that a browser keeps in Hugging Face's frame, and answers whether it came back.

A Space is shown in a frame of huggingface.co. There a browser that blocks third-party cookies keeps only partitioned
ones; Gradio's sign-in sets its cookie without that word: https://github.com/gradio-app/gradio/issues/13634.
"""

import secrets

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

FRAMED = "SameSite=None; Secure; Partitioned"
PROBE = "l2_probe"
NO_STORE = {"Cache-Control": "no-store"}


def partitioned(value: bytes) -> bytes:
    """A Set-Cookie with `Partitioned` where other sites' frames get the cookie at all; deleting ones too, or they miss it."""
    words = {part.strip().lower() for part in value.split(b";")[1:]}
    return value + b"; Partitioned" if b"samesite=none" in words and b"partitioned" not in words else value


class Partitioned:
    """Pure ASGI middleware, outside the session's layer."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, with every cookie for frames partitioned."""

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [(k, partitioned(v) if k.lower() == b"set-cookie" else v)
                                      for k, v in message.get("headers", ())]
            await send(message)

        await self.app(scope, receive, sending)


async def give(request: Request) -> Response:
    """Set a cookie as a sign-in's is set; the page asks for it back before it sends anyone to Hugging Face."""
    value = secrets.token_urlsafe(9)
    cookie = f"{PROBE}={value}; Path=/login; Max-Age=60; HttpOnly; {FRAMED}"
    return JSONResponse({"value": value}, headers={**NO_STORE, "Set-Cookie": cookie})


async def back(request: Request) -> Response:
    """Whether the cookie with this value came back."""
    value = request.query_params.get("value", "")
    return JSONResponse({"back": bool(value) and request.cookies.get(PROBE) == value}, headers=NO_STORE)


routes = [Route("/login/cookie", give, methods=["GET"]), Route("/login/cookie/back", back, methods=["GET"])]
