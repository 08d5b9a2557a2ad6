"""An HTTP client for many calls at once: each call has a connection of its own, taken from a stack and put back.

The usual pool looks at every connection it has at the start and the end of each request, and with more than a hundred
of them closes each one that falls idle. Redirects, decoding and timeouts stay the client library's own. Never retries.
"""

import asyncio
import functools
import socket
import sys
from typing import Any
from urllib.request import getproxies

from pipeline.http1 import Broken, Connection

KEEP_SECONDS = 3.0
"""An idle connection is not used again after this time. Common servers close theirs after 5 seconds, and a request sent
into that moment is lost; a busy run has no idle connections."""

SDK_OF = {"openai": "openai", "openai-api": "openai", "openrouter": "openai", "hf-inference-providers": "openai",
          "anthropic": "anthropic"}
"""Inspect's providers that hand a client of ours on to their SDK, and which SDK that is."""

_PROBES = (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 60), ("TCP_KEEPCNT", 5))
_PORTS = {"http": 80, "https": 443}


def model_args(name: str) -> dict[str, Any]:
    """The argument that gives an inspect model such a client; empty where its provider takes none or a proxy is set."""
    provider, _, rest = name.partition("/")
    if provider not in SDK_OF or rest.startswith(("azure/", "bedrock/", "vertex/")) or getproxies():
        return {}  # a transport of our own would pass the proxy by
    sdk_client = __import__(SDK_OF[provider]).DefaultAsyncHttpxClient
    base = next(c for c in sdk_client.__mro__ if c.__name__ == "AsyncClient")
    return {"http_client": sdk_client(transport=transport(sys.modules[base.__module__.split(".")[0]]))}


def transport(httpx: Any) -> Any:
    """The transport, for whichever of the two libraries the SDK stands on (`httpx` or `httpx2`)."""
    context, options = _context(httpx), _socket_options()
    free: dict[tuple[str, str, int], list[Connection]] = {}

    class Body(httpx.AsyncByteStream):  # type: ignore[misc, name-defined]
        """A response's body; its end puts the connection back, if it can be used again."""

        def __init__(self, held: Connection, origin: tuple[str, str, int], request: Any) -> None:
            self.held, self.origin, self.request, self.whole = held, origin, request, False

        async def __aiter__(self) -> Any:
            try:
                async for part in self.held.body():
                    yield part
            except Broken as error:
                raise httpx.RemoteProtocolError(str(error), request=self.request) from None
            except TimeoutError:
                raise httpx.ReadTimeout("", request=self.request) from None
            self.whole = True

        async def aclose(self) -> None:
            if self.whole and self.held.usable(KEEP_SECONDS):
                free.setdefault(self.origin, []).append(self.held)
            else:
                self.held.close()

    class Lanes(httpx.AsyncBaseTransport):  # type: ignore[misc, name-defined]
        """As many connections as there were requests under way at once."""

        async def handle_async_request(self, request: Any) -> Any:
            url, timeouts = request.url, request.extensions.get("timeout", {})
            origin = (url.scheme, url.host, url.port or _PORTS[url.scheme])
            body = b"".join([part async for part in request.stream])
            lane = await self._lane(origin, request, timeouts.get("connect"))
            lane.patience = timeouts.get("read")
            try:
                head = await lane.send(request.method.encode(), url.raw_path, request.headers.raw, body)
            except Broken as error:
                lane.close()
                raise httpx.RemoteProtocolError(str(error), request=request) from None
            except TimeoutError:
                lane.close()
                raise httpx.ReadTimeout("", request=request) from None
            except BaseException:
                lane.close()
                raise
            return httpx.Response(
                head.status_code, headers=head.headers.raw_items(), stream=Body(lane, origin, request),
                extensions={"http_version": b"HTTP/" + head.http_version, "reason_phrase": bytes(head.reason)})

        async def _lane(self, origin: tuple[str, str, int], request: Any, patience: float | None) -> Connection:
            stack = free.get(origin, [])
            while stack:
                if (lane := stack.pop()).usable(KEEP_SECONDS):
                    return lane
                lane.close()
            scheme, host, port = origin
            name = request.extensions.get("sni_hostname") or request.url.raw_host.decode("ascii")
            try:
                async with asyncio.timeout(patience):
                    return await Connection.open(host, port, context if scheme == "https" else None, name, options)
            except TimeoutError:
                raise httpx.ConnectTimeout("", request=request) from None
            except OSError as error:
                raise httpx.ConnectError(str(error), request=request) from error

        async def aclose(self) -> None:
            for stack in free.values():
                while stack:
                    stack.pop().close()

    return Lanes()


@functools.cache
def _context(httpx: Any) -> Any:
    """One TLS context for all clients, since reading the certificates takes longer than all the rest of making one."""
    context = httpx.create_ssl_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


def _socket_options() -> list[tuple[int, int, int]]:
    """Probes on a silent connection: an answer that takes minutes must not lose its way back to an idle timer."""
    found = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    return found + [(socket.IPPROTO_TCP, getattr(socket, n), v) for n, v in _PROBES if hasattr(socket, n)]
