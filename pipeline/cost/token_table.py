"""Pieces of text of a task set, counted once: after that an estimate for any model is arithmetic.

Keeps numbers by the hash of each text, never a text.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.cost.tokens import Pieces, pieces
from pipeline.data.records import Task

_KEPT_TASKS = 20_000


@dataclass(frozen=True, slots=True)
class Count:
    """Pieces of some text: all of them, and those in text that is not English, for which nothing is calibrated."""

    all: float = 0.0
    foreign: float = 0.0

    def __add__(self, other: "Count") -> "Count":
        return Count(self.all + other.all, self.foreign + other.foreign)

    def times(self, number: float) -> "Count":
        """So many copies."""
        return Count(self.all * number, self.foreign * number)


@dataclass(frozen=True, slots=True)
class Row:
    """One task: system prompt, user message, reference answer, all criteria together, and their number."""

    system: Count
    user: Count
    reference: Count
    criteria: Count
    calls: int
    longest_criterion: float


@dataclass(frozen=True, slots=True)
class TokenTable:
    """Sums over a task set, each task once.

    Attributes:
        solver: system prompts and user messages, one call a task.
        judged, references: user messages and reference answers, once for each criterion of their task.
        reference: pieces of one reference answer, on average.
        longest_solver, longest_judged: pieces of the longest single prompt, without template and answer.
    """

    tasks: int
    judge_calls: int
    solver: Count
    judged: Count
    references: Count
    criteria: Count
    reference: float
    longest_solver: float
    longest_judged: float


_rows: dict[int, Row] = {}


def token_table(tasks: Sequence[Task]) -> TokenTable:
    """The table of these tasks; quick where they were counted before in this process."""
    rows = [_row(task) for task in tasks]
    nothing = Count()
    return TokenTable(
        len(rows), sum(r.calls for r in rows),
        sum((r.system + r.user for r in rows), nothing), sum((r.user.times(r.calls) for r in rows), nothing),
        sum((r.reference.times(r.calls) for r in rows), nothing), sum((r.criteria for r in rows), nothing),
        sum(r.reference.all for r in rows) / max(len(rows), 1),
        max((r.system.all + r.user.all for r in rows), default=0.0),
        max((r.user.all + r.reference.all + r.longest_criterion for r in rows), default=0.0),
    )


def _row(task: Task) -> Row:
    key = _key(task)
    if (row := _rows.get(key)) is None:
        if len(_rows) >= _KEPT_TASKS:
            _rows.clear()
        row = _rows[key] = _count(task)
    return row


def _key(task: Task) -> int:
    return hash((task.text, task.system_prompt, task.reference_answer, *(c.description for c in task.criteria),
                 *((r.name, r.text) for r in task.resources)))


def _count(task: Task) -> Row:
    criteria = [pieces(c.description) for c in task.criteria]
    user = [pieces(task.text), *(p for r in task.resources for p in (pieces(f"## Resource: {r.name}"), pieces(r.text)))]
    return Row(_sum([pieces(task.system_prompt)]), _sum(user), _sum([pieces(task.reference_answer)]), _sum(criteria),
               len(criteria), max((p.number for p in criteria), default=0.0))


def _sum(parts: Sequence[Pieces]) -> Count:
    return Count(sum(p.number for p in parts), sum(p.number for p in parts if not p.english))
