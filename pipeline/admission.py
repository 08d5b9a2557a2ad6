"""Which tasks may start under the cap: one whose worst case no longer fits is not begun, so that money is not spent on halves.

The worst case of a task is its solver call and all its judge calls. Once some judge calls were seen, their dearest,
with half as much again, stands in for the theoretical worst case; each single call still reserves its true one.
"""

import asyncio
from dataclasses import dataclass

from pipeline.cost.meter import Meter, Worst
from pipeline.cost.tokens import upper_bound_text
from pipeline.data.records import Task
from pipeline.door import Door, RoleModel
from pipeline.judging.prompts import JudgePrompt

SEEN_BEFORE_LEARNING = 5
MARGIN = 1.5


@dataclass
class Need:
    """What a task may still cost at the worst: US dollars (None where unpriced), calls and tokens."""

    cost: float | None
    calls: int
    tokens: int


class Admission:
    """Admits tasks of one run, first come, first served."""

    def __init__(self, meter: Meter, door: Door) -> None:
        self.meter, self.door = meter, door
        self._active: dict[tuple[str, int], Need] = {}
        self._turn = asyncio.Lock()

    async def admit(self, task: Task, epoch: int, solver: RoleModel, judge: RoleModel, prompt: JudgePrompt) -> None:
        """Return when the task may start.

        Raises:
            pipeline.door.Stopped: the run was closed, or this task no longer fits and nothing can make room for it.
        """
        if self.door.closed is not None:
            raise self.door.closed
        if not self.meter.capped or self.door.ledger.resumed:
            return
        async with self._turn:
            while not self._fits(need := self._need(task, solver, judge, prompt)):
                if self.door.closed is not None:
                    raise self.door.closed
                if not self._active:
                    self.door.close("capped", "The cap was reached: the next task could have passed it.")
                    raise self.door.closed  # type: ignore[misc]
                await self.door.settled()
            self._active[task.key, epoch] = need

    def ended(self, task: Task, epoch: int) -> None:
        """The task needs no more."""
        self._active.pop((task.key, epoch), None)
        self.door.something_settled()
