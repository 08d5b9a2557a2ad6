"""Where a visitor wanted to go when they set out to sign in. Kept in memory: an address of some kilobytes has no room in a
cookie of 4,096 bytes, and none in the address that goes to Hugging Face, since it may hold a run's secret link.
"""

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

LONGEST = 16_000  # characters; above it the way back leads to the page without its query
SECONDS = 1800.0
MOST = 2000


class Targets:
    """Targets by ticket; the ticket stands in the signed session. Thread-safe, bounded, forgets after half an hour."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: OrderedDict[str, tuple[str, float]] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, target: str) -> str:
        """A ticket for the target, or for its page alone where it is too long; "" for the start, which needs none."""
        if len(target) > LONGEST:
            target = target.partition("?")[0]
        if target == "/" or len(target) > LONGEST:
            return ""
        ticket, now = secrets.token_urlsafe(12), self._clock()
        with self._lock:
            while self._kept and (len(self._kept) >= MOST or next(iter(self._kept.values()))[1] <= now):
                self._kept.popitem(last=False)
            self._kept[ticket] = target, now + SECONDS
        return ticket

    def get(self, ticket: object) -> str:
        """The target of a ticket; "/" where it is unknown or too old."""
        with self._lock:
            target, until = self._kept.get(ticket, ("/", 0.0)) if isinstance(ticket, str) else ("/", 0.0)
        return target if until > self._clock() else "/"

    def drop(self, ticket: object) -> None:
        """The target is not needed any more."""
        if isinstance(ticket, str):
            with self._lock:
                self._kept.pop(ticket, None)
