"""An HTTP client for many calls at once: each call has a connection of its own, taken from a stack and put back.

The usual pool looks at every connection it has at the start and the end of each request, and with more than a hundred
of them closes each one that falls idle. All else (TLS, HTTP, timeouts) stays the client library's own. Never retries.
"""

import functools
import socket
import sys
from typing import Any
from urllib.request import getproxies

KEEP_SECONDS = 3.0
"""An idle connection is not used again after this time. Common servers close theirs after 5 seconds, and a request sent
into that moment is lost; a busy run has no idle connections."""

SDK_OF = {"openai": "openai", "openai-api": "openai", "openrouter": "openai", "hf-inference-providers": "openai",
          "anthropic": "anthropic"}
"""Inspect's providers that hand a client of ours on to their SDK, and which SDK that is."""

_PROBES = (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 60), ("TCP_KEEPCNT", 5))


def model_args(name: str) -> dict[str, Any]:
    """The argument that gives an inspect model such a client; empty where its provider takes none or a proxy is set."""
    provider, _, rest = name.partition("/")
    if provider not in SDK_OF or rest.startswith(("azure/", "bedrock/", "vertex/")) or getproxies():
        return {}  # a transport of our own would pass the proxy by
    sdk_client = __import__(SDK_OF[provider]).DefaultAsyncHttpxClient
    base = next(c for c in sdk_client.__mro__ if c.__name__ == "AsyncClient")
    return {"http_client": sdk_client(transport=_lanes(sys.modules[base.__module__.split(".")[0]]))}


def _lanes(httpx: Any) -> Any:
    """The transport, for whichever of the two libraries the SDK stands on."""
    limits = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=KEEP_SECONDS)
    context, probes, free = _context(httpx), _socket_options(), []

    class Held(httpx.AsyncByteStream):  # type: ignore[misc, name-defined]
        """A response's body; its end gives the lane back."""

        def __init__(self, inner: Any, lane: Any) -> None:
            self.inner, self.lane = inner, lane

        def __aiter__(self) -> Any:
            return self.inner.__aiter__()

        async def aclose(self) -> None:
            try:
                await self.inner.aclose()
            finally:
                lane, self.lane = self.lane, None
                if lane is not None:
                    free.append(lane)

    class Lanes(httpx.AsyncBaseTransport):  # type: ignore[misc, name-defined]
        """As many transports of one connection each as there were requests under way at once."""

        async def handle_async_request(self, request: Any) -> Any:
            lane = free.pop() if free else httpx.AsyncHTTPTransport(verify=context, limits=limits, socket_options=probes)
            try:
                response = await lane.handle_async_request(request)
            except BaseException:
                free.append(lane)
                raise
            response.stream = Held(response.stream, lane)
            return response

        async def aclose(self) -> None:
            while free:
                await free.pop().aclose()

    return Lanes()


@functools.cache
def _context(httpx: Any) -> Any:
    """One TLS context for all clients, since reading the certificates takes longer than all the rest of making one."""
    return httpx.create_ssl_context()


def _socket_options() -> list[tuple[int, int, int]]:
    """Probes on a silent connection: an answer that takes minutes must not lose its way back to an idle timer."""
    found = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    return found + [(socket.IPPROTO_TCP, getattr(socket, n), v) for n, v in _PROBES if hasattr(socket, n)]
