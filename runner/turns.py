"""Turns at work: of one visitor's requests only some are worked on at the same time, the others stand in line.

Threads and the processor are shared by all; without turns, one visitor's hundred requests would be worked on first.
For one event loop.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator


class Line:
    """One visitor's requests: those at work and those in line."""

    def __init__(self, at_work: int) -> None:
        self.turn = asyncio.Semaphore(at_work)
        self.present = 0


class Turns:
    """The lines of all visitors. Keeps nothing of a visitor without a request.

    Args:
        at_work: requests of one visitor worked on at the same time. waiting: most that stand in line behind them.
    """

    def __init__(self, at_work: int, waiting: int) -> None:
        self.at_work, self.most = at_work, at_work + waiting
        self.lines: dict[str, Line] = {}

    @contextlib.asynccontextmanager
    async def turn(self, visitor: str) -> AsyncIterator[bool]:
        """Wait for a turn and hold it; False at once, and no turn, where the line is full."""
        line = self.lines.setdefault(visitor, Line(self.at_work))
        if line.present >= self.most:
            yield False
            return
        line.present += 1
        try:
            async with line.turn:
                yield True
        finally:
            line.present -= 1
            if not line.present:
                self.lines.pop(visitor, None)
