"""One connection of the server, closed where no whole request comes in time. Reads and answers nothing itself.

uvicorn waits for ever for the head of a request, so that connections which never send one would fill its table.
"""

import asyncio
import socket

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 30.0
GONE_SECONDS = 60
"""After which the system gives up a peer that no longer answers, as one whose network has gone."""


class Connection(H11Protocol):
    """uvicorn's own, with a time for the head of each request."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """The time begins with the connection."""
        super().connection_made(transport)
        self._hurry()

    def data_received(self, data: bytes) -> None:
        """A part of a request does not begin the time anew."""
        super().data_received(data)
        self._hurry()

    def on_response_complete(self) -> None:
        """The next request on this connection has its own time."""
        super().on_response_complete()
        self._hurry()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for any more."""
        super().connection_lost(exc)
        self._calm()

    def _hurry(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._calm()
        elif self._late is None and not self.transport.is_closing():
            self._late = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _calm(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


def notice_the_gone(listener: socket.socket) -> None:
    """Let connections of a listening socket end where their peer has vanished without a word."""
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3), ("TCP_USER_TIMEOUT", 1000 * GONE_SECONDS)):
        if hasattr(socket, name):  # each system has its own
            listener.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
