"""The two tables of a run: one row for each task and epoch, one row for each verdict. Never holds text of the data.

A plan without an attempt yet has a row too, so that the rows are the denominator.
"""

from collections.abc import Iterator

from pipeline.events import PlannedCriterion, PlannedTask
from pipeline.report.export.cells import Cell, to_csv
from pipeline.report.view import Attempt, RunView, Verdict

TASK_HEAD = ("task", "epoch", "competency", "subcompetencies", "outcome", "score", "cut", "stage", "reason", "weight_met",
             "weight_maximum", "criteria", "met", "not_met", "unread", "seconds", "model", "judge", "prompt", "not_comparable")
VERDICT_HEAD = ("task", "epoch", "competency", "criterion", "layer", "weight", "verdict", "effect", "strict", "cause")


def tasks_csv(view: RunView) -> bytes:
    """Tasks by epoch, in the order of the plan; `score` is unclipped, empty where there is none.

    The last columns repeat, on every line that has a score, what makes the run not comparable with the reference.
    """
    facets = sorted({name for t in view.tasks for name in t.facets})
    run = (_model(view, "solver"), _model(view, "judge"), prompt_line(view), "; ".join(view.differences))
    rows = ((*_task_row(t, epoch, a, run), *("; ".join(t.facets.get(f, ())) for f in facets)) for t, epoch, a in _planned(view))
    return to_csv((*TASK_HEAD, *(f"context: {f}" for f in facets)), rows)


def verdicts_csv(view: RunView) -> bytes:
    """Verdicts of every criterion that was judged, in the order of the plan; an unread one has a cause and no verdict."""
    return to_csv(VERDICT_HEAD, _verdict_rows(view))


def effect(weight: int, verdict: bool | None) -> str:
    """What a verdict does to the score, in words; follows verdict times sign of the weight."""
    if verdict is None:
        return "not read"
    if weight < 0:
        return "penalty applied" if verdict else "penalty avoided"
    return "met" if verdict else "not met"


def prompt_line(view: RunView) -> str:
    """The judge prompt in a few words: version, whose text, start of its digest."""
    p = view.prompt
    return f"{p.version} ({p.source} text{', sha256 ' + p.digest[:12] if p.digest else ''})" if p else ""


def _model(view: RunView, role: str) -> str:
    return str((view.spec.get(role) or {}).get("model", ""))


def _planned(view: RunView) -> Iterator[tuple[PlannedTask, int, Attempt]]:
    for epoch in range(1, view.epochs + 1):
        for t in view.tasks:
            yield t, epoch, view.attempts.get((t.key, epoch)) or Attempt(t.key, epoch)


def _task_row(t: PlannedTask, epoch: int, a: Attempt, run: tuple[str, ...]) -> tuple[Cell, ...]:
    read = [v for v in a.verdicts.values() if v.verdict is not None]
    met = sum(bool(v.verdict) for v in read)
    return (
        t.key, epoch, t.competency, "; ".join(t.subcompetencies), a.outcome.value if a.outcome else "", a.score, a.cut,
        a.stage, a.reason, sum(c.weight for c in t.criteria if _verdict(a, c).verdict),
        sum(c.weight for c in t.criteria if c.weight > 0), len(t.criteria), met, len(read) - met, len(a.verdicts) - len(read),
        round(a.finished - a.started, 3) if a.finished and a.started else None, *run,
    )


def _verdict(a: Attempt, c: PlannedCriterion) -> Verdict:
    return a.verdicts.get(c.id) or Verdict(None, None)


def _verdict_rows(view: RunView) -> Iterator[tuple[Cell, ...]]:
    for t, epoch, a in _planned(view):
        for c in t.criteria:
            if (v := a.verdicts.get(c.id)) is not None:
                yield (t.key, epoch, t.competency, c.id, c.layer.value, c.weight, v.verdict, effect(c.weight, v.verdict),
                       v.strict, v.cause)
