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

from pipeline.errors import UserError
from runner.requests import json_object
from runner.service import RunService
from runner.sharing import Access
from runner.views import run_json
from runner.wire import dumps

PING_SECONDS = 15.0
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


def routes(service: RunService, viewer: Viewer = nobody) -> list[Route]:
    """The routes under `/api/runs/`.

    Args:
        viewer: tells the Hugging Face user name of a signed-in visitor from the request, or None.
    """
    api = _Api(service, viewer)
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


class _Api:
    def __init__(self, service: RunService, viewer: Viewer) -> None:
        self.service, self.viewer = service, viewer
        self.streams = 0

    async def run(self, request: Request) -> Response:
        found = await self._find(request)
        if found is None:
            return not_available()
        watched = await self.service.watch(found.key)
        summary = await self.service.summary_of(found.key)
        folded = watched.folded
        body = run_json(folded.view, found, summary, folded.wire.published, watched.settled, time.time())
        return Response(dumps(body), 200, HEADERS, "application/json")

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
        most = self.service.limits.watchers
        if most and self.streams >= most:
            return JSONResponse(
                {"error": "Too many watch at the moment; reload in a minute."}, 503, {**HEADERS, "Retry-After": "60"}
            )
        position = _position(request)
        return StreamingResponse(
            self._stream(request, found, position), 200, {**HEADERS, "X-Accel-Buffering": "no"}, "text/event-stream"
        )

    async def _stream(self, request: Request, found: Access, position: int) -> AsyncIterator[str]:
        self.streams += 1
        version = 0
        try:
            yield "retry: 2000\n\n"
            watched = await self.service.watch(found.key)
            while self.service.streaming and self._find_now(request) is not None:
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
        finally:
            self.streams -= 1

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
