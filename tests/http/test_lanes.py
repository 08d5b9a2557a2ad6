"""The HTTP client under the SDKs: answers whole and in their place, connections used again, faults by the library's own names."""

import asyncio
import datetime
import gzip
import importlib.util
import ipaddress
import ssl
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pipeline import lanes

FLAVOURS = [name for name in ("httpx", "httpx2") if importlib.util.find_spec(name)]
Serve = Callable[["Server", bytes, asyncio.StreamWriter], Awaitable[None]]


class Server:
    """A loopback server that hands each request's path to `serve`; counts connections and requests."""

    def __init__(self, serve: Serve, tls: ssl.SSLContext | None = None) -> None:
        self.serve, self.tls, self.connections, self.paths = serve, tls, 0, []

    async def __aenter__(self) -> "Server":
        self._server = await asyncio.start_server(self._client, "127.0.0.1", 0, ssl=self.tls)
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


def run(name: str, serve: Serve, calls: Callable[..., Awaitable[Any]], tls: ssl.SSLContext | None = None, timeout: Any = 5.0) -> Any:
    """What `calls(get, server, httpx)` gives, with a client of this flavour over lanes."""
    httpx = importlib.import_module(name)

    async def main() -> Any:
        async with Server(serve, tls) as server, httpx.AsyncClient(transport=lanes.transport(httpx), timeout=timeout) as client:
            address = f"http{'s' if tls else ''}://127.0.0.1:{server.port}"
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


def test_bodies_are_read_in_every_form_a_server_may_send(flavour):
    async def serve(server, path, writer):
        chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n6;x=1\r\n, two \r\n0\r\nx-trailer: 1\r\n\r\n"
        writer.write({
            b"/chunked": chunked,
            b"/gzip": reply(gzip.compress(b"packed"), b"Content-Encoding: gzip"),
            b"/early": b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + reply(b"late"),
            b"/none": b"HTTP/1.1 204 No Content\r\n\r\n",
            b"/open": b"HTTP/1.0 200 OK\r\n\r\nuntil the end",
        }[path])
        if path == b"/open":
            writer.close()

    async def calls(get, server, httpx):
        return [(await get(path)).text for path in ("/chunked", "/gzip", "/early", "/none", "/open", "/chunked")]

    assert run(flavour, serve, calls) == ["one, two ", "packed", "late", "", "until the end", "one, two "]


def test_a_stream_arrives_piece_by_piece(flavour):
    async def serve(server, path, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for n in range(3):
            writer.write(b"9\r\ndata: %d\n\n\r\n" % n)
            await writer.drain()
            await asyncio.sleep(0.05)
        writer.write(b"0\r\n\r\n")

    async def calls(get, server, httpx):
        loop, times = asyncio.get_running_loop(), []
        address = f"http://127.0.0.1:{server.port}/"
        async with httpx.AsyncClient(transport=lanes.transport(httpx)) as client, client.stream("GET", address) as response:
            async for _ in response.aiter_lines():
                times.append(loop.time())
        return times[-1] - times[0]

    assert run(flavour, serve, calls) >= 0.08


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


def test_bytes_after_an_answer_never_become_the_next_answer(flavour):
    async def serve(server, path, writer):
        writer.write(reply(path) + (reply(b"smuggled") if path == b"/first" else b""))

    async def calls(get, server, httpx):
        return [(await get(path)).text for path in ("/first", "/second", "/third")]

    assert run(flavour, serve, calls) == ["/first", "/second", "/third"]


def test_faults_have_the_librarys_own_names_and_harm_no_later_call(flavour):
    async def serve(server, path, writer):
        writer.write({b"/half": b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", b"/empty": b"",
                      b"/noise": b"SSH-2.0-x\r\n\r\n", b"/good": reply(b"good")}.get(path, b""))
        if path == b"/slow":
            await asyncio.sleep(0.5)
        elif path != b"/good":
            writer.close()

    async def calls(get, server, httpx):
        found = []
        for path in ("/half", "/empty", "/noise", "/slow"):
            with pytest.raises(httpx.TransportError) as caught:
                await get(path)
            found.append(type(caught.value).__name__)
            assert (await get("/good")).text == "good"
        server._server.close()
        async with httpx.AsyncClient(transport=lanes.transport(httpx)) as client:
            with pytest.raises(httpx.ConnectError):
                await client.get("http://127.0.0.1:1/")
        return found

    expected = ["RemoteProtocolError", "RemoteProtocolError", "RemoteProtocolError", "ReadTimeout"]
    assert run(flavour, serve, calls, timeout=0.2) == expected


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


def test_certificates_are_checked(flavour, tmp_path, monkeypatch):
    right, wrong = (_certificate(tmp_path, address) for address in ("127.0.0.1", "127.0.0.2"))

    async def calls(get, server, httpx):
        return (await get("/over-tls")).text

    httpx = importlib.import_module(flavour)
    lanes._context.cache_clear()
    with pytest.raises(httpx.ConnectError):
        run(flavour, echo, calls, right)  # nobody has vouched for it
    try:
        for server in (right, wrong):
            trusting = ssl.create_default_context(cafile=tmp_path / "127.0.0.1.pem")
            trusting.load_verify_locations(tmp_path / "127.0.0.2.pem")
            monkeypatch.setattr(httpx, "create_ssl_context", lambda trusting=trusting: trusting)
            lanes._context.cache_clear()
            if server is right:
                assert run(flavour, echo, calls, server) == "/over-tls"
            else:
                with pytest.raises(httpx.ConnectError):
                    run(flavour, echo, calls, server)
    finally:
        lanes._context.cache_clear()


def _certificate(folder: Any, address: str) -> ssl.SSLContext:
    """A server's context with a certificate of its own for this address; written to `<address>.pem`."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, address)])
    now = datetime.datetime.now(datetime.UTC)
    made = (x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
            .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))]), False)
            .sign(key, hashes.SHA256()))
    pem = folder / f"{address}.pem"
    secret = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    pem.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / f"{address}.key").write_bytes(secret)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem, folder / f"{address}.key")
    return context


def test_a_proxy_of_the_environment_is_never_passed_by(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    assert "http_client" in lanes.model_args("openai-api/x/y")
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    assert lanes.model_args("openai-api/x/y") == {}
    assert lanes.model_args("google/gemini") == {}
