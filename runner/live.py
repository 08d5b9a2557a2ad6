"""A run that is going on: its journal, its folded state, those who watch it. Lives outside any page or request.

Never starts or ends a process. What watchers see has been written to the journal before, so that a position in the
stream still means the same after a restart.
"""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pipeline.core.append import Appender
from pipeline.core.clock import now
from pipeline.core.lock import Lock
from pipeline.core.redact import Redactor
from pipeline.events import Event, RunFinished, Status, redacted, to_line
from pipeline.report.view import RunView
from runner.folded import Folded
from runner.store import size_of

TICK = 0.2  # at most five messages a second to a watcher
MEASURE = 5.0  # seconds between two looks at a folder's size
log = logging.getLogger(__name__)


class Watched:
    """A folded run and the watchers waiting for news of it. `settled` means that nothing more comes."""

    def __init__(self, folded: Folded, settled: bool) -> None:
        self.folded = folded
        self.settled = settled
        self._news = asyncio.Event()

    def wake(self) -> None:
        """Tell all watchers that there is something new."""
        news, self._news = self._news, asyncio.Event()
        news.set()

    @property
    def news(self) -> asyncio.Event:
        """Set at the next `wake`; take it before looking, then wait for it."""
        return self._news


class LiveRun(Watched):
    """One stretch of a run, from its start or resume to its exit.

    Attributes:
        held: the lock of the run's folder.
        names, demo: what limits count it under, and in which class.
        token: names the stretch on the engine's pipe.
        redact: takes this run's keys out of a text; forgets them at the exit.
        why: (status, reason) that replaces the worker's own last word, where this side stopped the run.
        gone: set once the worker has exited and everything is written.
    """

    def __init__(
        self, key: str, token: str, folder: Path, folded: Folded, names: tuple[str, ...], demo: bool, secrets: list[str],
        held: Lock,
    ) -> None:
        super().__init__(folded, settled=False)
        self.held = held
        self.key, self.token, self.folder, self.names, self.demo = key, token, folder, names, demo
        self.redact = Redactor(secrets)
        self.journal = Appender(folder / "events.jsonl")
        self.why: tuple[Status, str] | None = None
        self.stopping = False
        self.ended = False
        self.settling = False
        self.gone = asyncio.Event()
        self._writing = asyncio.Lock()
        self._measured = 0.0

    @property
    def view(self) -> RunView:
        """The state now."""
        return self.folded.view

    def take(self, event: Event) -> None:
        """Write an event to the journal and fold it. After the last event of the stretch nothing is taken."""
        if self.ended:
            return
        if isinstance(event, RunFinished):
            self.ended = True
            if self.why:
                event = event.model_copy(update={"status": self.why[0], "reason": self.why[1]})
        event = redacted(event, self.redact)
        self.journal.add(to_line(event))
        self.folded.apply(event)

    def forget_keys(self) -> None:
        """The run has exited: nothing more of it can come."""
        self.redact = Redactor()

    def end(self, status: Status, reason: str) -> None:
        """Say how the stretch ended, if it has not been said."""
        self.take(RunFinished(t=now(), status=status, reason=self.redact(reason)))

    async def flush(self, final: bool = False) -> None:
        """Write what waits, then let watchers see it.

        Raises:
            OSError: the disk refused.
        """
        async with self._writing:
            if self.journal.waiting or final:
                await asyncio.to_thread(self.journal.flush, final)
        if self.folded.wire.publish(now(), self.view, final) or final:
            self.wake()

    async def size(self, at: float) -> int | None:
        """Bytes of the run's folder, or None where it was measured a moment ago."""
        if at - self._measured < MEASURE:
            return None
        self._measured = at
        return await asyncio.to_thread(size_of, self.folder)


async def beat(
    runs: Callable[[], list[LiveRun]], trouble: Callable[[LiveRun, OSError], Any], weigh: Callable[[LiveRun, int], Any]
) -> None:
    """Until cancelled: five times a second, flush every live run and wake its watchers.

    Args:
        trouble: told where a journal could not be written. weigh: told the size of a folder now and then, in bytes.
    """
    while True:
        await asyncio.sleep(TICK)
        for run in runs():
            try:
                await run.flush()
                size = await run.size(now())
                if size is not None:
                    weigh(run, size)
            except OSError as error:
                trouble(run, error)
            except Exception:
                log.exception("a live run could not be flushed")
