"""Shares the server out between visitors: turns at work, streams, places in Gradio's queue, patience.

Pure ASGI middleware, inside the guard. What it refuses is told with 429, a sentence, and when to try again. On a
visitor's own machine visitors are not told apart, and nothing is refused.
"""

import asyncio
import re
from collections.abc import Callable
from urllib.parse import unquote

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from runner.limits import Limits
from runner.shares import Refusal, Shares
from runner.turns import Turns
from ui import visitor
from ui.sessions import Sessions
from ui.words import pick_language, say, words

BODY_SECONDS = 30.0  # for a whole body to come
SEND_SECONDS = 30.0  # for one piece of an answer to be taken
SLASHES = re.compile("/{2,}")
ASSET = re.compile(r"^/(static|assets|favicon\.ico|theme\.css|robots\.txt)", re.I)
HEAVY = re.compile(r"^/(compare|r/[^/]+/(download/|charts\.json|card\.png))", re.I)
WATCH = re.compile(r"^/api/runs/[^/]+/events/?$", re.I)  # counted by `runner.api`
TOLD = re.compile(r"^/gradio_api/queue/data", re.I)
JOIN = re.compile(r"^/gradio_api/queue/join", re.I)


class Fair:
    """The middleware.

    Args:
        sessions: the page's sessions, asked for at each request, since the page is made after the middleware.
    """

    def __init__(self, app: ASGIApp, limits: Limits, sessions: Callable[[], Sessions]) -> None:
        self.app, self.sessions = app, sessions
        self.work, self.heavy, self.assets = Turns(4, 100), Turns(1, 20), Turns(32, 500)
        # A page opens one stream for the events it has joined, and may still hold the one of the event before.
        self.told = Shares(2 * limits.visitor_queue, limits.watchers)
        self.joining = Shares(limits.visitor_queue, 0)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on in its visitor's turn, or refuse it."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        name = visitor.counted_as(Request(scope))
        if not name:
            return await self.app(scope, receive, send)
        patient = _Patient(receive, send)
        try:
            await self._shared(name, SLASHES.sub("/", unquote(scope["path"])), scope, patient)
        except Exception:
            if not patient.over:  # else it is what the apps within make of a request that breaks off
                raise
        if patient.over and not patient.begun:
            await PlainTextResponse("What was sent came too slowly.", 408)(scope, receive, send)

    async def _shared(self, name: str, path: str, scope: Scope, patient: "_Patient") -> None:
        if WATCH.match(path):
            return await self.app(scope, patient.receive, patient.send)
        if TOLD.match(path):
            return await self._held(self.told, 0, name, scope, patient)
        if JOIN.match(path) and self._full(name):  # before it is read, or hundreds would stand in line for a refusal
            return await self._busy(self.joining, "visitor", scope, patient)
        turns = self.assets if ASSET.match(path) else self.heavy if HEAVY.match(path) else self.work
        async with turns.turn(name) as mine:
            if not mine:
                await refuse(scope, "busy_requests", 2)(scope, patient.receive, patient.send)
            elif JOIN.match(path):
                await self._held(self.joining, self.sessions().queued(name), name, scope, patient)
            else:
                await self.app(scope, patient.receive, patient.send)

    async def _held(self, shares: Shares, more: int, name: str, scope: Scope, patient: "_Patient") -> None:
        """Pass on while a share is held, or refuse where there is none to be had."""
        if whose := shares.refusal(name, more):
            return await self._busy(shares, whose, scope, patient)
        shares.take(name)
        try:
            await self.app(scope, patient.receive, patient.send)
        finally:
            shares.give_back(name)

    def _full(self, name: str) -> bool:
        """Whether a visitor has all the places in the queue that one may have."""
        return self.joining.refusal(name, self.sessions().queued(name)) is not None

    async def _busy(self, shares: Shares, whose: Refusal, scope: Scope, patient: "_Patient") -> None:
        mine = whose == "visitor"
        answer = refuse(scope, "busy_queue" if mine else "busy_all", 5, 429 if mine else 503, n=shares.each)
        await answer(scope, patient.receive, patient.send)


def refuse(scope: Scope, key: str, seconds: int, status: int = 429, **values: object) -> JSONResponse:
    """The answer to what is too much, in the visitor's language. Gradio's script shows `detail`, ours `error`."""
    sentence = say(words(pick_language(Headers(scope=scope).get("accept-language"))), key, **values)
    headers = {"Retry-After": str(seconds), "Cache-Control": "no-store"}
    return JSONResponse({"error": sentence, "detail": sentence}, status, headers)


class _Impatient(Exception):
    """The other side took too long."""


class _Patient:
    """`receive` and `send` of one request, given up where the other side takes too long: a connection that is only half
    open holds no turn and no stream for ever."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self._until = asyncio.get_running_loop().time() + BODY_SECONDS
        self._whole = self.begun = self.over = False

    async def receive(self) -> Message:
        """The next message; after the body there is no hurry."""
        if self._whole:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._until):
                message = await self._receive()
        except TimeoutError:
            self.over = True
            raise _Impatient from None
        self._whole = not message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        """Send one message; nothing any more once the time is over."""
        if self.over:
            return
        self.begun = True
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await self._send(message)
        except TimeoutError:
            self.over = True
            raise _Impatient from None
