"""Ends what streams when the server goes: each event stream gets a last word at once, so that nobody waits for the others.

Without it a server waits for its streams until its patience ends, and cuts them in mid-sentence.
"""

import asyncio
import json
from typing import Any

import uvicorn
from starlette.datastructures import Headers, QueryParams
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from runner.host import RESTARTED
from ui.gradio_door import EVENTS
from ui.words import pick_language
from ui.words.said import translated


class Going:
    """Whether the server goes."""

    def __init__(self) -> None:
        self.now = asyncio.Event()


class Farewell:
    """Pure ASGI middleware around all that may stream."""

    def __init__(self, app: ASGIApp, going: Going) -> None:
        self.app, self.going = app, going

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on; end the answer early where it is a stream of events and the server goes."""
        if scope["type"] != "http" or scope["method"] != "GET":
            await self.app(scope, receive, send)
            return
        stream = _Stream(send)
        work = asyncio.ensure_future(self.app(scope, receive, stream))
        going = asyncio.ensure_future(self._gone(stream))
        try:
            await asyncio.wait({work, going}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return await work
            stream.cut = True
            work.cancel()
            await asyncio.wait({work})
            await send({"type": "http.response.body", "body": last_word(scope)})
        finally:
            going.cancel()
            work.cancel()

    async def _gone(self, stream: "_Stream") -> None:
        await self.going.now.wait()
        await stream.begun.wait()


class _Stream:
    """`send` that notices a stream of events. `cut`: what it still says is not heard."""

    def __init__(self, send: Send) -> None:
        self.send, self.begun, self.cut = send, asyncio.Event(), False

    async def __call__(self, message: Message) -> None:
        if self.cut:
            return
        await self.send(message)
        if message["type"] == "http.response.start" and _of_events(message):
            self.begun.set()


def _of_events(start: Message) -> bool:
    return Headers(raw=start["headers"]).get("content-type", "").startswith("text/event-stream")


def last_word(scope: Scope) -> bytes:
    """The sentence as the reader of the stream takes it: Gradio's script, or ours."""
    lang = pick_language(Headers(scope=scope).get("accept-language"), QueryParams(scope["query_string"]).get("lang"))
    sentence = translated(RESTARTED, lang)
    if scope["path"] != EVENTS:
        return f"event: bye\ndata: {json.dumps(sentence)}\n\n".encode()
    told = {"msg": "unexpected_error", "message": sentence, "success": False, "session_not_found": False}
    return b"".join(f"data: {json.dumps(one)}\n\n".encode() for one in (told, {"msg": "close_stream"}))


class Server(uvicorn.Server):
    """uvicorn's, which says its last words before it waits for its connections."""

    def __init__(self, config: uvicorn.Config, going: Going) -> None:
        super().__init__(config)
        self.going = going

    async def shutdown(self, sockets: list[Any] | None = None) -> None:
        """Called once, on the first signal."""
        self.going.now.set()
        await super().shutdown(sockets)
