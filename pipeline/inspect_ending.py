"""How an `inspect eval` ends in which nothing could be scored: as an error, in inspect's log and for the shell.

Inspect itself calls an evaluation whose every score is NaN a success, and its command line exits 0 whatever came of it.
"""

import atexit
import math
import os
import sys
from typing import Any

from pipeline.judging.evaluate import Evaluator


class NothingScored(Exception):
    """Raised at the end of an evaluation; inspect writes it into its log, whose status is then "error"."""


class Ending:
    """Sits in the place of inspect's early stopping, which hears of each task and has the last word. Never stops a task."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator, self.scored = evaluator, 0

    async def start_task(self, task: Any, samples: list[Any], epochs: int) -> str:
        """The name of this place in the log."""
        return "l2-bench-live"

    async def schedule_sample(self, id: str | int, epoch: int) -> None:
        """Every task is begun."""

    async def complete_sample(self, id: str | int, epoch: int, scores: dict[str, Any]) -> None:
        """Count the tasks that have a score."""
        self.scored += any(not math.isnan(s.score.as_float()) for s in scores.values())

    async def complete_task(self) -> dict[str, Any]:
        """The last word.

        Raises:
            NothingScored: no task has a score.
        """
        lost = list(self.evaluator.lost.values())
        if not self.scored and lost:
            fail_the_shell()
            closed = self.evaluator.door.closed
            raise NothingScored(f"No task could be scored. {closed.sentence if closed else lost[0].reason}")
        return {"scored": self.scored}


def fail_the_shell() -> None:
    """Let the `inspect` command exit 1: it has no exit code of its own for an evaluation that failed."""
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    if os.path.basename(sys.argv[0]) in ("inspect", "inspect.exe") or main is not None and main.name.startswith("inspect_ai."):
        atexit.register(_exit_1)


def _exit_1() -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(1)
