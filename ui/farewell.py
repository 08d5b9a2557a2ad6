"""Ends what streams when the server goes: each event stream gets a last word at once, so that nobody waits for the others.

Without it a server waits for its streams until its patience ends, and cuts them in mid-sentence.
"""

import asyncio
import json
import logging
from typing import Any

import uvicorn
from starlette.datastructures import Headers, QueryParams
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from runner.host import RESTARTED
from ui.gradio_door import EVENTS
from ui.words import pick_language
from ui.words.said import translated

MOMENT = 0.6  # seconds that an answer that was begun may still take


class Going:
    """Whether the server goes."""

    def __init__(self) -> None:
        self.now = asyncio.Event()


class Farewell:
    """Pure ASGI middleware around all that answers."""

    def __init__(self, app: ASGIApp, going: Going) -> None:
        self.app, self.going = app, going

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on; when the server goes, end a stream of events at once and any other answer after a moment."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        answer = _Answer(send)
        work = asyncio.ensure_future(self.app(scope, receive, answer))
        going = asyncio.ensure_future(self.going.now.wait())
        try:
            await asyncio.wait({work, going}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                streams = asyncio.ensure_future(answer.streams.wait())
                await asyncio.wait({work, streams}, timeout=MOMENT, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return await work
        except asyncio.CancelledError:
            work.cancel()
            raise
        finally:
            going.cancel()
        await answer.end(scope, work)


class _Answer:
    """`send` that knows how far the answer is. Once `cut`, what is still said is not heard."""

    def __init__(self, send: Send) -> None:
        self.send, self.streams = send, asyncio.Event()
        self.begun = self.cut = False

    async def __call__(self, message: Message) -> None:
        if self.cut:
            return
        self.begun = True
        await self.send(message)
        if message["type"] == "http.response.start" and _of_events(message):
            self.streams.set()

    async def end(self, scope: Scope, work: "asyncio.Future[None]") -> None:
        """The last word. What answers in a thread cannot be ended, and dies with the process; the others are."""
        self.cut = True
        if self.streams.is_set():
            work.cancel()
            await self.send({"type": "http.response.body", "body": last_word(scope)})
        elif not self.begun:
            await PlainTextResponse(_sentence(scope), 503, {"Retry-After": "5"})(scope, _nothing, self.send)


async def _nothing() -> Message:
    return {"type": "http.disconnect"}


def _of_events(start: Message) -> bool:
    return Headers(raw=start["headers"]).get("content-type", "").startswith("text/event-stream")


def _sentence(scope: Scope) -> str:
    lang = pick_language(Headers(scope=scope).get("accept-language"), QueryParams(scope["query_string"]).get("lang"))
    return translated(RESTARTED, lang)


def last_word(scope: Scope) -> bytes:
    """The sentence as the reader of the stream takes it: Gradio's script, or ours."""
    sentence = _sentence(scope)
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
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # an answer that is cut now is no fault
        await super().shutdown(sockets)
