"""Counts a RunView into arrays: one value per task, one row per verdict. Never formats, never draws an interval."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pipeline.data.records import Layer
from pipeline.events import PlannedTask
from pipeline.judging.outcomes import ATTEMPTED, MODEL_FAILURES, Outcome
from pipeline.report.view import Attempt, RunView

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class JudgedCriterion:
    """A verdict with what the plan says of its criterion. `passed`: met, or for a negative weight, penalty avoided."""

    task: int
    competency: str
    criterion: str
    layer: Layer
    weight: int
    passed: bool


class Tally:
    """The numbers of one run. Arrays have one entry per planned task, NaN where the task has no such value."""

    def __init__(self, view: RunView) -> None:
        self.view = view
        self.tasks: list[PlannedTask] = view.tasks
        self.index = {t.key: i for i, t in enumerate(view.tasks)}

    @cached_property
    def scored(self) -> Floats:
        """Mean score of each task over its scored epochs, unclipped."""
        return self._means([(a.task, a.score) for a in self._ended({Outcome.SCORED})])

    @cached_property
    def clipped(self) -> Floats:
        """As `scored`, each epoch's score raised to 0 where it is negative."""
        return self._means([(a.task, max(a.score or 0.0, 0.0)) for a in self._ended({Outcome.SCORED})])

    @cached_property
    def attempted(self) -> Floats:
        """Mean score of each task over its attempted epochs; the model's own failures count as 0."""
        return self._means([(a.task, 0.0 if a.outcome in MODEL_FAILURES else a.score) for a in self._ended(ATTEMPTED)])

    def epoch_scores(self, epoch: int) -> list[float]:
        """Scores of one epoch, in no particular order."""
        return [a.score for a in self._ended({Outcome.SCORED}) if a.epoch == epoch and a.score is not None]

    def epoch_spread(self) -> float | None:
        """Standard deviation between the epochs of a task, root mean square over tasks with two or more; else None."""
        by_task: dict[str, list[float]] = {}
        for a in self._ended({Outcome.SCORED}):
            if a.score is not None:
                by_task.setdefault(a.task, []).append(a.score)
        variances = [float(np.var(s, ddof=1)) for s in by_task.values() if len(s) > 1]
        return float(np.sqrt(np.mean(variances))) if variances else None

    @cached_property
    def verdicts(self) -> list[JudgedCriterion]:
        """Every verdict that was read, whatever became of its task."""
        found = []
        rubric = {t.key: {c.id: c for c in t.criteria} for t in self.tasks}
        for a in self.view.attempts.values():
            criteria = rubric.get(a.task)
            if criteria is None:
                continue
            i = self.index[a.task]
            for cid, v in a.verdicts.items():
                c = criteria.get(cid)
                if c is not None and v.verdict is not None:
                    passed = v.verdict if c.weight >= 0 else not v.verdict
                    found.append(JudgedCriterion(i, self.tasks[i].competency, cid, c.layer, c.weight, passed))
        return found

    def _ended(self, outcomes: Collection[Outcome]) -> list[Attempt]:
        return [a for a in self.view.attempts.values() if a.outcome in outcomes and a.task in self.index]

    def _means(self, pairs: list[tuple[str, float | None]]) -> Floats:
        rows = [(self.index[key], score) for key, score in pairs if score is not None]
        total, count = np.zeros(len(self.tasks)), np.zeros(len(self.tasks))
        if rows:
            where = np.array([i for i, _ in rows])
            np.add.at(total, where, np.array([s for _, s in rows], dtype=float))
            np.add.at(count, where, 1)
        return np.divide(total, count, out=np.full(len(self.tasks), np.nan), where=count > 0)
