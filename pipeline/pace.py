"""How many calls may be under way at once: up to the visitor's setting, fewer where the provider asks for it.

First come, first served. Closing it wakes everyone who waits, so that a stop takes hold at once.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

COOLDOWN = 5.0
"""Seconds after a cut in which further rate limits (of calls sent before it) do not cut again."""


PREPARING = 8
"""Calls that are made ready at once. Were it as many as have room, the requests of all would leave together at the end of
everybody's preparation, their answers would come back together, and the network and this process would wait in turns."""
LONGEST_PREPARATION = 0.05
"""Seconds."""


class Closed(Exception):
    """No further call may leave."""


class Pace:
    """A limit that halves on a rate limit and grows by one per `limit` answers, between 1 and `most`.

    Args:
        most: the visitor's setting, 1 or more.
        changed: told the new limit whenever it changes.
    """

    def __init__(self, most: int, changed: Callable[[int], None]) -> None:
        self.most = self.limit = max(1, most)
        self.busy = self.preparing = 0
        self._changed, self._closed = changed, False
        self._queue: deque[asyncio.Future[None]] = deque()
        self._clean, self._cut_at, self._hold_until = 0, -COOLDOWN, 0.0

    def slot(self) -> "Slot":
        """Hold one of the places: `async with pace.slot()`.

        Raises:
            Closed: the pace was closed before or while waiting.
        """
        return Slot(self)

    def leave(self) -> None:
        """Give a place back."""
        self.busy -= 1
        self._wake()

    def prepared(self) -> None:
        """A request has left: the next call may be made ready."""
        self.preparing -= 1
        self._wake()

    def _has_room(self) -> bool:
        return self.busy < self.limit and self.preparing < PREPARING

    def _take(self) -> None:
        self.busy += 1
        self.preparing += 1

    async def enter(self) -> None:
        """Take a place; `Slot` gives it back."""
        if self._closed:
            raise Closed
        if not self._queue and self._has_room():
            self._take()
        else:
            place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._queue.append(place)
            try:
                await place
            except asyncio.CancelledError:
                if place.done() and not place.cancelled() and place.exception() is None:
                    self.prepared()
                    self.leave()
                raise
        hold = self._hold_until - asyncio.get_running_loop().time()
        if hold > 0:
            try:
                await self.pause(hold)
            except BaseException:
                self.prepared()
                self.leave()
                raise

    async def pause(self, seconds: float) -> None:
        """Sleep, but end at once with `Closed` when the pace is closed."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while (left := end - loop.time()) > 0:
            if self._closed:
                raise Closed
            await asyncio.sleep(min(left, 0.2))
        if self._closed:
            raise Closed

    def answered(self) -> None:
        """An answer came back without a complaint."""
        self._clean += 1
        if self.limit < self.most and self._clean >= self.limit:
            self._clean = 0
            self._set(self.limit + max(1, self.limit // 10))

    def limited(self, wait: float | None) -> None:
        """The provider complained about the rate; `wait` is what it asked for, in seconds."""
        now = asyncio.get_running_loop().time()
        self._clean = 0
        self._hold_until = max(self._hold_until, now + min(wait or 0.0, COOLDOWN))
        if now - self._cut_at >= COOLDOWN:
            self._cut_at = now
            self._set(max(1, self.limit // 2))

    def close(self) -> None:
        """Let nobody else in; everyone who waits gets `Closed`."""
        self._closed = True
        while self._queue:
            place = self._queue.popleft()
            if not place.done():
                place.set_exception(Closed())

    def _set(self, limit: int) -> None:
        limit = min(limit, self.most)
        if limit != self.limit:
            self.limit = limit
            self._changed(limit)
            self._wake()

    def _wake(self) -> None:
        while self._queue and self._has_room():
            place = self._queue.popleft()
            if not place.done():
                self._take()
                place.set_result(None)


class Slot:
    """One place, held inside `async with`."""

    __slots__ = ("_pace", "_preparing")

    def __init__(self, pace: Pace) -> None:
        self._pace, self._preparing = pace, False

    def left(self) -> None:
        """Its request leaves. Said once or more; for a provider that does not say it, a moment decides."""
        if self._preparing:
            self._preparing = False
            self._pace.prepared()

    async def __aenter__(self) -> "Slot":
        await self._pace.enter()
        self._preparing = True
        asyncio.get_running_loop().call_later(LONGEST_PREPARATION, self.left)
        return self

    async def __aexit__(self, *_: Any) -> None:
        self.left()
        self._pace.leave()
