"""How much of one thing (open streams, places in a queue, requests at work) each visitor and all together hold now.

Only counts; who takes a share gives it back. Keeps nothing of a visitor who holds none. For one event loop.
"""

from collections import Counter
from typing import Literal

Refusal = Literal["visitor", "all"]


class Shares:
    """The shares of one thing.

    Args:
        each: most that one visitor holds; all: most that all hold together. 0 means no limit.
    """

    def __init__(self, each: int, all: int) -> None:
        self.each, self.all = each, all
        self.held: Counter[str] = Counter()
        self.total = 0

    def refusal(self, visitor: str, more: int = 0) -> Refusal | None:
        """Whose limit one more share would pass, or None.

        Args:
            visitor: "" where visitors are not told apart. more: shares of this visitor that are counted elsewhere.
        """
        if visitor and self.each and self.held[visitor] + more >= self.each:
            return "visitor"
        return "all" if self.all and self.total >= self.all else None

    def take(self, visitor: str) -> None:
        """Count one share."""
        self.total += 1
        if visitor:
            self.held[visitor] += 1

    def give_back(self, visitor: str) -> None:
        """Count one share less."""
        self.total -= 1
        if visitor:
            self.held[visitor] -= 1
            if self.held[visitor] <= 0:
                del self.held[visitor]
