"""One HTTP/1.1 connection on asyncio's own transport, with h11 as its grammar; one request at a time. Never retries.

A request leaves in one write, and nothing is asked of the event loop beyond what the network needs: at hundreds of
calls at once, the usual stack's locks, checkpoints and pool cost as much as reading and writing.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from typing import Any

import h11

LARGEST_HEAD = 100 * 1024


class Broken(Exception):
    """The connection ended before the response did, or what came was no HTTP."""


class Connection(asyncio.Protocol):
    """A connection to one origin.

    Attributes:
        idle_since: the loop's time at which it fell idle.
        patience: seconds of silence after which a wait for the server raises TimeoutError, or None.
    """

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.grammar = h11.Connection(h11.CLIENT, LARGEST_HEAD)
        self.idle_since = 0.0
        self.patience: float | None = None
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._ended = False

    @classmethod
    async def open(cls, host: str, port: int, tls: ssl.SSLContext | None, name: str, options: list[Any]) -> "Connection":
        """Connect. `name` is what the certificate must be for.

        Raises:
            OSError: no connection, or TLS was refused.
        """
        loop = asyncio.get_running_loop()
        transport, made = await loop.create_connection(
            cls, host, port, ssl=tls, server_hostname=name if tls else None, happy_eyeballs_delay=0.25)
        for option in options:
            transport.get_extra_info("socket").setsockopt(*option)
        return made

    def connection_made(self, transport: Any) -> None:
        """Keep the way out."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Bytes of the response; while idle there is none, so the connection is of no use any more."""
        if self.grammar.our_state is h11.IDLE:
            self.close()
        else:
            self.grammar.receive_data(data)
            self._wake()

    def eof_received(self) -> None:
        """The other side has ended."""
        if not self._ended:
            self._ended = True
            if self.grammar.our_state is not h11.IDLE:
                self.grammar.receive_data(b"")
            self._wake()

    def connection_lost(self, error: Exception | None) -> None:
        """So have we."""
        self.eof_received()

    def usable(self, keep: float) -> bool:
        """Whether a next request may use it, after at most `keep` seconds of idleness."""
        return (not self._ended and self._transport is not None and not self._transport.is_closing()
                and self.loop is asyncio.get_running_loop() and self.loop.time() - self.idle_since < keep)

    async def send(self, method: bytes, target: bytes, headers: Any, body: bytes) -> h11.Response:
        """Send a request; the response's head.

        Raises:
            Broken: no response came.
            TimeoutError: nor did anything else for longer than `patience`.
        """
        try:
            raw = self.grammar.send(h11.Request(method=method, target=target, headers=headers)) or b""
            raw += self.grammar.send(h11.Data(body)) or b"" if body else b""
            raw += self.grammar.send(h11.EndOfMessage()) or b""
        except h11.LocalProtocolError as error:
            raise Broken(str(error)) from None
        assert self._transport is not None
        self._transport.write(raw)
        while not isinstance(event := await self._event(), h11.Response):
            if isinstance(event, h11.ConnectionClosed):
                raise Broken("the server closed the connection without a response")
        return event

    async def body(self) -> AsyncIterator[bytes]:
        """The response's body, as it comes; afterwards the connection is idle or closed.

        Raises:
            Broken: it ended early.
            TimeoutError: nothing more came for longer than `patience`.
        """
        while not isinstance(event := await self._event(), h11.EndOfMessage):
            if isinstance(event, h11.Data):
                yield bytes(event.data)
        extra, _ = self.grammar.trailing_data  # must not be taken for the next answer
        if self.grammar.our_state is h11.DONE and self.grammar.their_state is h11.DONE and not extra:
            self.grammar.start_next_cycle()
            self.idle_since = self.loop.time()
        else:
            self.close()

    async def _event(self) -> Any:
        while True:
            try:
                event = self.grammar.next_event()
            except h11.RemoteProtocolError as error:
                raise Broken(str(error)) from None
            if event is not h11.NEED_DATA:
                return event
            if self._ended:
                raise Broken("the connection was lost")
            await self._silence()

    async def _silence(self) -> None:
        self._waiter = self.loop.create_future()
        alarm = self.loop.call_later(self.patience, self._give_up) if self.patience is not None else None
        try:
            await self._waiter
        finally:
            self._waiter = None
            if alarm is not None:
                alarm.cancel()

    def _give_up(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(TimeoutError())

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def close(self) -> None:
        """End it."""
        self._ended = True
        self._wake()
        if self._transport is not None:
            self._transport.close()
