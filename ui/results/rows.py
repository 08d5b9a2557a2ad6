"""The table of tasks: one row a task, filtered, sorted and cut into pages. Never holds text of a task or an answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.data.records import Layer
from pipeline.events import PlannedCriterion, PlannedTask
from pipeline.judging.outcomes import Outcome
from pipeline.report.view import Attempt, RunView, Verdict

SHAPES = {"met": "●", "unmet": "○", "unread": "◇", "penalty": "▲", "avoided": "▽", "none": "·"}
"""One shape for each state, the same as in the live view."""
SIZES = (25, 50, 100)
MARKS = 4000
"""Most verdicts drawn in one page: a hundred tasks of forty criteria, or ten of twenty in twenty epochs."""
SORTS = ("file", "key", "competency", "outcome", "score")


def state_of(criterion: PlannedCriterion, verdict: Verdict | None) -> str:
    """What a verdict means: verdict times sign of the weight, never the sign alone.

    "met" and "unmet" for a positive weight, "penalty" and "avoided" for a negative one, "unread", or "none".
    """
    if verdict is None:
        return "none"
    if verdict.verdict is None:
        return "unread"
    if criterion.weight < 0:
        return "penalty" if verdict.verdict else "avoided"
    return "met" if verdict.verdict else "unmet"


@dataclass(frozen=True)
class Mark:
    """One criterion in a strip or an opened row."""

    id: str
    layer: Layer
    weight: int
    state: str
    cause: str = ""
    strict_differs: bool = False

    @property
    def shape(self) -> str:
        """The state as a sign."""
        return SHAPES[self.state]


@dataclass(frozen=True)
class EpochPart:
    """One task in one epoch."""

    epoch: int
    outcome: str
    score: float | None
    cut: bool
    stage: str
    reason: str
    marks: tuple[Mark, ...]

    def layers(self) -> list[tuple[str, list[Mark]]]:
        """The marks by rubric layer, layers without criteria left out."""
        parts = [(layer.value, [m for m in self.marks if m.layer is layer]) for layer in Layer]
        return [(name, marks) for name, marks in parts if marks]


@dataclass(frozen=True)
class TaskRow:
    """One task. `score` is the mean over its scored epochs; `outcome` "" while it has not ended."""

    place: int
    key: str
    competency: str
    subcompetencies: tuple[str, ...]
    facets: dict[str, tuple[str, ...]]
    outcome: str
    score: float | None
    spread: tuple[float, float] | None
    epochs: tuple[EpochPart, ...]

    @property
    def cut(self) -> bool:
        """Whether an answer was cut by length."""
        return any(e.cut for e in self.epochs)


def task_rows(view: RunView) -> list[TaskRow]:
    """All planned tasks in the order of the file."""
    return [_row(i, task, view) for i, task in enumerate(view.tasks)]


def _row(place: int, task: PlannedTask, view: RunView) -> TaskRow:
    parts = tuple(_part(task, epoch, view.attempts.get((task.key, epoch))) for epoch in range(1, view.epochs + 1))
    scores = [p.score for p in parts if p.score is not None]
    outcomes = list(dict.fromkeys(p.outcome for p in parts if p.outcome))
    worst = next((o for o in outcomes if o != Outcome.SCORED.value), outcomes[0] if outcomes else "")
    return TaskRow(place, task.key, task.competency, task.subcompetencies, task.facets, worst,
                   sum(scores) / len(scores) if scores else None, (min(scores), max(scores)) if len(scores) > 1 else None, parts)


def _part(task: PlannedTask, epoch: int, attempt: Attempt | None) -> EpochPart:
    given = attempt.verdicts if attempt else {}
    marks = tuple(_mark(c, given.get(c.id)) for c in task.criteria)
    if attempt is None:
        return EpochPart(epoch, "", None, False, "", "", marks)
    outcome = attempt.outcome.value if attempt.outcome else ""
    return EpochPart(epoch, outcome, attempt.score, attempt.cut, attempt.stage, attempt.reason, marks)


def _mark(criterion: PlannedCriterion, verdict: Verdict | None) -> Mark:
    differs = verdict is not None and verdict.verdict is not None and verdict.strict != verdict.verdict
    cause = verdict.cause if verdict else ""
    return Mark(criterion.id, criterion.layer, criterion.weight, state_of(criterion, verdict), cause, differs)


@dataclass(frozen=True)
class Wanted:
    """What a visitor asked to see of the table, read from query parameters; anything odd falls back to the default."""

    q: str = ""
    competency: str = ""
    outcome: str = ""
    state: str = ""
    sort: str = "file"
    down: bool = False
    page: int = 1
    size: int = SIZES[0]

    @classmethod
    def of(cls, query: Any) -> "Wanted":
        """From the parameters of `run_page.NAMES`."""
        size, page = _whole(query.get("size"), SIZES[0]), _whole(query.get("page"), 1)
        sort = query.get("sort", "file")
        return cls(q=query.get("q", "").strip()[:100], competency=query.get("competency", ""), outcome=query.get("outcome", ""),
                   state=query.get("state", ""), sort=sort if sort in SORTS else "file", down=query.get("dir") == "down",
                   page=max(1, page), size=size if size in SIZES else SIZES[0])


def _whole(text: str | None, default: int) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 7 else default


@dataclass(frozen=True)
class TablePage:
    """One page of the table: `rows` of `found` rows that fit, of `all` in the run."""

    rows: list[TaskRow]
    found: int
    all: int
    page: int
    pages: int


def table_page(rows: Sequence[TaskRow], wanted: Wanted) -> TablePage:
    """The rows that fit, sorted, cut to one page, a shorter one where rows have very many verdicts.

    Tasks without a score come last in either direction.
    """
    found = sorted([r for r in rows if _fits(r, wanted)], key=lambda r: _order(r, wanted.sort), reverse=wanted.down)
    if wanted.sort == "score":
        found = [r for r in found if r.score is not None] + [r for r in found if r.score is None]
    largest = max((sum(len(e.marks) for e in row.epochs) for row in found), default=0)
    size = min(wanted.size, max(1, MARKS // max(1, largest)))
    pages = max(1, -(-len(found) // size))
    page = min(wanted.page, pages)
    return TablePage(found[(page - 1) * size: page * size], len(found), len(rows), page, pages)


def _fits(row: TaskRow, w: Wanted) -> bool:
    words = [row.key, row.competency, *row.subcompetencies, *(v for values in row.facets.values() for v in values)]
    return ((not w.q or any(w.q.casefold() in word.casefold() for word in words))
            and (not w.competency or row.competency == w.competency)
            and (not w.outcome or any(e.outcome == w.outcome for e in row.epochs))
            and (not w.state or any(m.state == w.state for e in row.epochs for m in e.marks)))


def _order(row: TaskRow, sort: str) -> tuple[Any, ...]:
    number = int(row.key) if row.key.isascii() and row.key.isdigit() else 10**9
    return {"file": (row.place,), "key": (number, row.key), "competency": (row.competency, row.place),
            "outcome": (row.outcome, row.place), "score": (row.score if row.score is not None else 0.0, -row.place)}[sort]
