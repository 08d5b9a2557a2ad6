"""The HTTP client under the SDKs: every call gets its own answer, connections are used again, and a broken one harms no other."""

import asyncio
import importlib.util
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pipeline import lanes

FLAVOURS = [name for name in ("httpx", "httpx2") if importlib.util.find_spec(name)]
Serve = Callable[["Server", bytes, asyncio.StreamWriter], Awaitable[None]]


class Server:
    """A loopback server that hands each request's path to `serve`; counts connections and requests."""

    def __init__(self, serve: Serve) -> None:
        self.serve, self.connections, self.paths = serve, 0, []

    async def __aenter__(self) -> "Server":
        self._server = await asyncio.start_server(self._client, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: Any) -> None:
        self._server.close()

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while not writer.is_closing():
                head = await reader.readuntil(b"\r\n\r\n")
                for line in head.lower().split(b"\r\n"):
                    if line.startswith(b"content-length:"):
                        await reader.readexactly(int(line.split(b":")[1]))
                self.paths.append(head.split()[1])
                await self.serve(self, self.paths[-1], writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.close()


def reply(body: bytes, *headers: bytes) -> bytes:
    return b"\r\n".join([b"HTTP/1.1 200 OK", b"Content-Length: %d" % len(body), *headers, b"", body])


def run(name: str, serve: Serve, calls: Callable[..., Awaitable[Any]]) -> Any:
    """What `calls(get, server, httpx)` gives, with a client of this flavour over lanes."""
    httpx = importlib.import_module(name)

    async def main() -> Any:
        async with Server(serve) as server, httpx.AsyncClient(transport=lanes._lanes(httpx), timeout=5.0) as client:
            address = f"http://127.0.0.1:{server.port}"
            return await calls(lambda path, **more: client.post(address + path, content=b"asked", **more), server, httpx)

    return asyncio.run(asyncio.wait_for(main(), 20))


async def echo(server: Server, path: bytes, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(0.01)
    writer.write(reply(path))


@pytest.fixture(params=FLAVOURS)
def flavour(request: pytest.FixtureRequest) -> str:
    return request.param


def test_every_call_gets_its_own_answer_and_connections_are_used_again(flavour):
    async def calls(get, server, httpx):
        for _ in range(3):
            answers = await asyncio.gather(*(get(f"/{n}") for n in range(20)))
            assert [a.text for a in answers] == [f"/{n}" for n in range(20)]
        return server.connections, len(server.paths)

    assert run(flavour, echo, calls) == (20, 60)


def test_a_connection_the_server_has_closed_is_not_used_again(flavour):
    async def serve(server, path, writer):
        writer.write(reply(path, b"Connection: close") if path == b"/said" else reply(path))
        if path == b"/unsaid":
            writer.close()

    async def calls(get, server, httpx):
        for path in ("/said", "/unsaid", "/said", "/kept", "/kept"):
            assert (await get(path)).text == path
            await asyncio.sleep(0.02)
        return server.connections

    assert run(flavour, serve, calls) == 4


def test_a_cancelled_call_takes_its_connection_with_it(flavour):
    async def serve(server, path, writer):
        await asyncio.sleep(0.1 if path == b"/slow" else 0)
        writer.write(reply(path))

    async def calls(get, server, httpx):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.03):
                await get("/slow")
        answers = [(await get("/next")).text for _ in range(2)]
        return answers, server.connections

    assert run(flavour, serve, calls) == (["/next", "/next"], 2)


def test_a_broken_answer_harms_no_later_call(flavour):
    async def serve(server, path, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf" if path == b"/half" else reply(path))
        if path == b"/half":
            writer.close()

    async def calls(get, server, httpx):
        for _ in range(3):
            with pytest.raises(httpx.RemoteProtocolError):
                await get("/half")
            assert (await get("/good")).text == "/good"

    run(flavour, serve, calls)


def test_a_proxy_of_the_environment_is_never_passed_by(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    assert "http_client" in lanes.model_args("openai-api/x/y")
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    assert lanes.model_args("openai-api/x/y") == {}
    assert lanes.model_args("google/gemini") == {}
