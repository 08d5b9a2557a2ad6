"""The JSON routes of a run for scripts and for the live page (Starlette). Never serves text, a key or a secret id.

Reading takes the secret or the public id; an id that is unknown, revoked, expired or deleted gets one and the same
answer. Changing takes ownership; the check that a request comes from our own page is the guard's, before these routes.
"""

import asyncio
import contextlib
import gzip
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from pipeline.errors import UserError
from runner.requests import json_object
from runner.service import RunService
from runner.shares import Refusal, Shares
from runner.sharing import Access
from runner.views import run_json, snapshot
from runner.wire import dumps

PING_SECONDS = 15.0
STREAM_SECONDS = 1800.0  # then the page opens another stream, where it still stands
HEADERS = {
    "Cache-Control": "no-store",
    "X-Robots-Tag": "noindex, nofollow",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
Viewer = Callable[[Request], str | None]


def nobody(_: Request) -> str | None:
    """The viewer where there is no sign-in."""
    return None


def routes(
    service: RunService, viewer: Viewer = nobody, visitor: Callable[[Request], str] = lambda _: ""
) -> list[Route]:
    """The routes under `/api/runs/`.

    Args:
        viewer: tells the Hugging Face user name of a signed-in visitor from the request, or None.
        visitor: the name that limits count whoever asks under, "" where visitors are not told apart.
    """
    api = _Api(service, viewer, visitor)
    return [
        Route("/api/runs/{rid}", api.run, methods=["GET"]),
        Route("/api/runs/{rid}/plan", api.plan, methods=["GET"]),
        Route("/api/runs/{rid}/events", api.events, methods=["GET"]),
        Route("/api/runs/{rid}/stop", api.stop, methods=["POST"]),
        Route("/api/runs/{rid}/share", api.share, methods=["POST"]),
        Route("/api/runs/{rid}/delete", api.delete, methods=["POST"]),
    ]


def not_available() -> Response:
    """The one answer for every id that opens nothing."""
    return JSONResponse({"error": "This run is not available."}, 404, HEADERS)


class _Watching(StreamingResponse):
    """An event stream that counts as long as it is open. Counted here and not in its generator, which never runs where the
    browser has gone before the first message."""

    def __init__(self, watchers: Shares, visitor: str, stream: AsyncIterator[str]) -> None:
        super().__init__(stream, 200, {**HEADERS, "X-Accel-Buffering": "no"}, "text/event-stream")
        self.watchers, self.visitor = watchers, visitor

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if whose := self.watchers.refusal(self.visitor):
            await _too_many(whose, self.watchers)(scope, receive, send)
            return
        self.watchers.take(self.visitor)
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.watchers.give_back(self.visitor)


def _too_many(whose: Refusal, watchers: Shares) -> Response:
    """The answer to a watcher above the limit; `?poll=1` still tells the news."""
    headers = {**HEADERS, "Retry-After": "60"}
    if whose == "all":
        return JSONResponse({"error": "Too many watch at the moment; reload in a minute."}, 503, headers)
    sentence = f"You watch runs in {watchers.each} places at the moment, which is the limit; close one, or reload in a minute."
    return JSONResponse({"error": sentence}, 429, headers)


class _Api:
    def __init__(self, service: RunService, viewer: Viewer, visitor: Callable[[Request], str]) -> None:
        self.service, self.viewer, self.visitor = service, viewer, visitor
        self.watchers = Shares(service.limits.visitor_watchers, service.limits.watchers)

    async def run(self, request: Request) -> Response:
        found = await self._find(request)
        if found is None:
            return not_available()
        watched = await self.service.watch(found.key)
        summary = await self.service.summary_of(found.key)
        folded = watched.folded
        at, settled, now = folded.wire.published, watched.settled, time.time()
        view = snapshot(folded.view)
        body = await asyncio.to_thread(lambda: dumps(run_json(view, found, summary, at, settled, now)))
        return Response(body, 200, HEADERS, "application/json")

    async def plan(self, request: Request) -> Response:
        found = await self._find(request)
        if found is None:
            return not_available()
        wire = (await self.service.watch(found.key)).folded.wire
        if not wire.plan:
            return JSONResponse({"tasks": [], "ready": False}, 200, HEADERS)
        brief = bool(request.query_params.get("brief"))
        plan, tag = (wire.brief, f'"{wire.digest}-brief"') if brief else (wire.plan, f'"{wire.digest}"')
        fixed = request.query_params.get("v") == wire.digest
        headers = {
            **HEADERS,
            "ETag": tag,
            "Vary": "Accept-Encoding",
            "Cache-Control": "private, max-age=86400, immutable" if fixed else "private, no-cache",
        }
        if tag in request.headers.get("if-none-match", ""):
            return Response(None, 304, headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            return Response(plan, 200, {**headers, "Content-Encoding": "gzip"}, "application/json")
        return Response(gzip.decompress(plan), 200, headers, "application/json")

    async def events(self, request: Request) -> Response:
        found = await self._find(request)
        if found is None:
            return not_available()
        if request.method == "HEAD":
            return Response(None, 200, HEADERS, "text/event-stream")
        position = _position(request)
        if request.query_params.get("poll"):
            return await self._news(found, position)
        return _Watching(self.watchers, self.visitor(request), self._stream(request, found, position))

    async def _news(self, found: Access, position: int) -> Response:
        """What a stream that begins here would send first, for a page that has no stream and asks now and then."""
        watched = await self.service.watch(found.key)
        settled = watched.settled
        batch = watched.folded.wire.since(position, 0, time.time())
        state = dumps({"position": batch.position, "settled": settled})
        return Response(f'{state[:-1]},"items":{batch.data}}}', 200, HEADERS, "application/json")

    async def _stream(self, request: Request, found: Access, position: int) -> AsyncIterator[str]:
        version, until = 0, time.monotonic() + STREAM_SECONDS
        yield "retry: 2000\n\n"
        watched = await self.service.watch(found.key)
        while self.service.streaming and time.monotonic() < until and self._find_now(request) is not None:
            news, settled = watched.news, watched.settled
            batch = watched.folded.wire.since(position, version, time.time())
            if batch.items:
                yield f"id: {batch.position}\ndata: {batch.data}\n\n"
            position, version = batch.position, batch.version
            if settled:
                yield f"event: done\ndata: {dumps({'status': watched.folded.view.status})}\n\n"
                return
            if not await _within(news, PING_SECONDS):
                yield ": ping\n\n"

    async def stop(self, request: Request) -> Response:
        return await self._change(request, lambda rid, user, _: self.service.stop(rid, user), holder=True)

    async def delete(self, request: Request) -> Response:
        return await self._change(request, lambda rid, user, _: self.service.delete(rid, user))

    async def share(self, request: Request) -> Response:
        async def act(rid: str, user: str | None, body: dict[str, Any]) -> dict[str, Any]:
            meta = await self.service.share(rid, body.get("level", ""), _days(body.get("days")), user)
            return {"level": meta.level, "public_id": meta.public_id, "expires": meta.expires}

        return await self._change(request, act)

    async def _change(
        self, request: Request, act: Callable[[str, str | None, dict[str, Any]], Any], holder: bool = False
    ) -> Response:
        """Only for owners, or for who holds the secret link; to anyone else the run looks as one that does not exist."""
        found = await self._find(request)
        if found is None or not (found.holder if holder else found.owner):
            return not_available()
        # A form of another site cannot send this type without asking first.
        if request.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
            return JSONResponse({"error": "Send JSON."}, 415, HEADERS)
        try:
            body = await json_object(request)
            answer = await act(request.path_params["rid"], self.viewer(request), body)
        except UserError as error:
            return JSONResponse({"error": str(error)}, 400, HEADERS)
        return JSONResponse({"ok": True, **(answer or {})}, 200, HEADERS)

    async def _find(self, request: Request) -> Access | None:
        await self.service.open()
        return self._find_now(request)

    def _find_now(self, request: Request) -> Access | None:
        return self.service.get(request.path_params["rid"], self.viewer(request))


def _position(request: Request) -> int:
    given = request.headers.get("last-event-id") or request.query_params.get("after") or "0"
    return int(given) if given.isascii() and given.isdigit() and len(given) < 10 else 0


def _days(value: Any) -> float | None:
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise UserError("The link's life is not a number of days.", "", "Leave it empty for a link without end.")
    try:
        return float(value)
    except ValueError:
        raise UserError(
            "The link's life is not a number of days.", "", "Leave it empty for a link without end."
        ) from None


async def _within(event: asyncio.Event, seconds: float) -> bool:
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
    return event.is_set()
