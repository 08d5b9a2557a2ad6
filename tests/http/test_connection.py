"""Connections that send nothing, or take nothing, are given up; and the page's memory is shared out by visitor."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route

from runner.limits import Limits
from runner.turns import Turns
from ui import connection, fair
from ui.connection import Connection, notice_the_gone
from ui.fair import Fair
from ui.sessions import Sessions


async def _endless(_: Any) -> StreamingResponse:
    async def parts() -> Any:
        while True:
            yield b"x" * 100_000

    return StreamingResponse(parts(), media_type="text/event-stream")


async def _echo(request: Any) -> PlainTextResponse:
    return PlainTextResponse(str(len(await request.body())))


class _Page:
    """As much of a Gradio page as `Sessions` asks for."""

    def __init__(self) -> None:
        class Holder:
            session_data: dict[str, Any] = {}
            time_last_used: dict[str, Any] = {}

        class Queue:
            event_queue_per_concurrency_id: dict[str, Any] = {}
            active_jobs: list[Any] = [None]
            pending_event_ids_session: dict[str, set[str]] = {}
            pending_messages_per_session: dict[str, Any] = {}

        self.state_holder, self._queue = Holder(), Queue()


@contextmanager
def served() -> Iterator[tuple[int, Fair]]:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    notice_the_gone(listener)
    inner = Starlette(routes=[Route("/gradio_api/queue/data", _endless), Route("/echo", _echo, methods=["POST"])])
    app = Fair(inner, Limits(), lambda: Sessions(_Page()))
    server = uvicorn.Server(uvicorn.Config(app, http=Connection, log_level="critical", lifespan="off", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield listener.getsockname()[1], app
    server.should_exit = True
    thread.join(10)


def _ends(sock: socket.socket) -> bytes:
    sock.settimeout(10)
    out = b""
    try:
        while part := sock.recv(65536):
            out += part
    except ConnectionResetError:
        pass
    return out


def test_a_connection_without_a_whole_request_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    # uvicorn waited for ever for the head of a request.
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.5)
    with served() as (port, _):
        for sent in (b"", b"GET / HTTP/1.1\r\nhost: x\r\n", b"POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\nokGET"):
            with socket.create_connection(("127.0.0.1", port)) as sock:
                sock.sendall(sent)
                assert _ends(sock).count(b"HTTP/1.1") == sent.count(b"ok")


def test_a_body_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPACE_ID", "me/space")
    monkeypatch.setattr(fair, "BODY_SECONDS", 0.3)
    with served() as (port, app), socket.create_connection(("127.0.0.1", port)) as sock:
        sock.sendall(b"POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nok")
        sock.settimeout(10)
        assert b" 408 " in sock.recv(1000)
        assert not app.work.lines


def test_a_stream_that_nobody_reads_frees_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    # A connection that is only half open held a watcher's place until the system gave it up, a quarter of an hour later.
    monkeypatch.setenv("SPACE_ID", "me/space")
    monkeypatch.setattr(fair, "SEND_SECONDS", 0.3)
    with served() as (port, app), socket.create_connection(("127.0.0.1", port)) as sock:
        sock.sendall(b"GET /gradio_api/queue/data HTTP/1.1\r\nhost: x\r\nx-forwarded-for: 192.0.2.1\r\n\r\n")
        sock.recv(10)
        assert dict(app.told.held) == {"192.0.2.1": 1}
        until = time.monotonic() + 10
        while app.told.held and time.monotonic() < until:
            time.sleep(0.05)
        assert not app.told.held and app.told.total == 0


def test_a_visitor_with_many_sessions_loses_their_own() -> None:
    # Gradio keeps the state of the newest thousand sessions: one visitor who made a thousand took the state of all others.
    page: Any = _Page()
    now = 0.0
    sessions = Sessions(page, each=3, clock=lambda: now)
    for name, session in [("you", "yours"), *(("me", f"mine{i}") for i in range(50))]:
        page.state_holder.session_data[session] = object()
        page._queue.pending_messages_per_session[session] = object()
        sessions.seen(name, session)
    left = {"yours", "mine47", "mine48", "mine49"}
    assert set(page.state_holder.session_data) == set(page._queue.pending_messages_per_session) == left
    now = 3601.0
    sessions.seen("other", "o")
    assert list(sessions.made) == ["other"]


def test_one_visitors_requests_stand_in_line_and_nobody_elses() -> None:
    async def go() -> None:
        turns, at_work, most = Turns(2, 3), 0, 0

        async def request(name: str) -> bool:
            nonlocal at_work, most
            async with turns.turn(name) as mine:
                if mine:
                    at_work += 1
                    most = max(most, at_work)
                    await asyncio.sleep(0.02)
                    at_work -= 1
                return mine

        assert sorted(await asyncio.gather(*(request("me") for _ in range(9)))) == [False] * 4 + [True] * 5
        assert most == 2 and not turns.lines
        waiting = asyncio.gather(*(request("me") for _ in range(5)))
        await asyncio.sleep(0)
        assert await asyncio.wait_for(request("you"), 1)
        await waiting

    asyncio.run(go())
