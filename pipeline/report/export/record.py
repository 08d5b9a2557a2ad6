"""The RunView as plain JSON, and how JSON is written in every export. Never holds text of tasks, answers or judges."""

import json
from typing import Any

from pipeline.report.view import Attempt, RunView, Spend

FORMAT = 1


def view_json(view: RunView) -> dict[str, Any]:
    """The whole view as JSON data; attempts are a list in the order of the plan, then of the journal."""
    order = {t.key: i for i, t in enumerate(view.tasks)}
    attempts = sorted(view.attempts.values(), key=lambda a: (a.epoch, order.get(a.task, len(order))))
    return {
        "format": FORMAT, "status": view.status, "reason": view.reason, "started": view.started, "finished": view.finished,
        "spec": view.spec, "spec_digest": view.spec_digest, "versions": view.versions, "models": view.models,
        "data": view.data.model_dump(mode="json") if view.data else None,
        "prompt": view.prompt.model_dump(mode="json") if view.prompt else None,
        "differences": view.differences, "planned": view.planned, "done": view.done, "counts": view.counts(),
        "tasks": [t.model_dump(mode="json") for t in view.tasks], "attempts": [_attempt(a) for a in attempts],
        "spend": {role: _spend(s) for role, s in view.spend.items()}, "cost": view.cost, "estimate": view.estimate,
        "reestimates": [{"after_tasks": r.after_tasks, "estimate": r.estimate} for r in view.reestimates],
        "waits": view.waits, "connections": view.connections, "resumes": view.resumes,
    }


def dumps(data: Any) -> bytes:
    """JSON as UTF-8 bytes with a newline at the end; the same data gives the same bytes.

    Raises:
        ValueError: a number is not finite.
    """
    text = json.dumps(data, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    return text.encode("utf-8", "replace")


def _attempt(a: Attempt) -> dict[str, Any]:
    return {
        "task": a.task, "epoch": a.epoch, "outcome": a.outcome.value if a.outcome else None, "score": a.score, "cut": a.cut,
        "answered": a.answered, "stage": a.stage, "reason": a.reason, "started": a.started, "finished": a.finished,
        "verdicts": {c: {"verdict": v.verdict, "strict": v.strict, "cause": v.cause} for c, v in a.verdicts.items()},
    }


def _spend(s: Spend) -> dict[str, Any]:
    return vars(s) | {"cost": s.cost if s.priced else None, "known_cost": s.cost}
