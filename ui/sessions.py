"""Gradio's memory of its pages, shared out by visitor: sessions with their state, and places in the queue.

Gradio keeps the state of the newest sessions and forgets the oldest, whoever made them. Here a visitor who makes many
loses their own. Keeps names of visitors and of their sessions for an hour, and no state.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ui import visitor

EACH = 50
"""Sessions of one visitor: pages open at the same time, of everyone behind one address."""
HOUR = 3600.0


class Sessions:
    """Which visitor made which session.

    Args:
        blocks: the page (`gradio.Blocks`). each: sessions kept of one visitor. clock: monotonic seconds.
    """

    def __init__(self, blocks: Any, each: int = EACH, clock: Callable[[], float] = time.monotonic) -> None:
        self.blocks, self.each, self.clock = blocks, each, clock
        self.made: OrderedDict[str, OrderedDict[str, float]] = OrderedDict()

    def seen(self, name: str, session: str) -> None:
        """A visitor's page asked for something; the visitor's oldest sessions make room where there are too many."""
        own, now = self.made.setdefault(name, OrderedDict()), self.clock()
        own[session] = now
        own.move_to_end(session)
        self.made.move_to_end(name)
        while len(own) > self.each:
            self._forget(own.popitem(last=False)[0])
        while max(next(iter(self.made.values())).values()) < now - HOUR:
            self.made.popitem(last=False)

    def queued(self, name: str) -> int:
        """Events of a visitor that wait in the queue or are worked on; asked of Gradio, so that none counts for ever."""
        queue = self.blocks._queue
        lines = [*(line.queue for line in queue.event_queue_per_concurrency_id.values()), *filter(None, queue.active_jobs)]
        return sum(visitor.counted_as(event.request) == name for line in lines for event in line)

    def _forget(self, session: str) -> None:
        holder, queue = self.blocks.state_holder, self.blocks._queue
        holder.session_data.pop(session, None)
        holder.time_last_used.pop(session, None)
        if not queue.pending_event_ids_session.get(session):
            queue.pending_event_ids_session.pop(session, None)
            queue.pending_messages_per_session.pop(session, None)
