"""What a run looks like to a reader: snapshot, summary, JSON of `GET /api/runs/ID`. Never holds text or a secret id."""

import asyncio
import time
from collections import OrderedDict
from dataclasses import asdict, dataclass, replace
from typing import Any

from pipeline.report.view import RunView
from runner.folded import Folded
from runner.sharing import Access
from runner.wire import letters

LIVE_SECONDS = 2.0


@dataclass(frozen=True)
class Row:
    """A run in a list. `id` opens it for whoever asked; `card` holds the public facts of `runner.folded.card`."""

    id: str
    created: float
    owner: bool
    level: str
    public_id: str
    resumable: bool
    card: dict[str, Any]


def snapshot(view: RunView) -> RunView:
    """A copy that later events do not change; plans and records, which are frozen, are shared."""
    return replace(
        view,
        differences=list(view.differences),
        models=dict(view.models),
        reestimates=list(view.reestimates),
        grown=list(view.grown),
        spend={role: replace(s) for role, s in view.spend.items()},
        attempts={at: replace(a, verdicts=dict(a.verdicts)) for at, a in view.attempts.items()},
    )


class Summaries:
    """Summaries of runs, computed in a thread and kept; that of a live run for two seconds."""

    def __init__(self, most: int = 64) -> None:
        self._most = most
        self._kept: OrderedDict[str, tuple[int, float, Any]] = OrderedDict()
        self._busy: dict[str, asyncio.Lock] = {}

    async def get(self, key: str, folded: Folded, fresh: bool) -> Any:
        """The summary of a folded run, or None before its plan is known.

        Args:
            fresh: whether it must hold every event, as of a run that has ended.
        """
        if not folded.view.tasks:
            return None
        async with self._busy.setdefault(key, asyncio.Lock()):
            events, made, summary = self._kept.get(key, (-1, 0.0, None))
            if events == folded.events or (events >= 0 and not fresh and time.monotonic() - made < LIVE_SECONDS):
                return summary
            events = folded.events
            summary = await asyncio.to_thread(_summarise, snapshot(folded.view))
            self._kept[key] = (events, time.monotonic(), summary)
            self._kept.move_to_end(key)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        self._busy.pop(key, None)
        return summary

    def drop(self, key: str) -> None:
        """Forget a run."""
        self._kept.pop(key, None)


def _summarise(view: RunView) -> Any:
    from pipeline.report.summary import summarise  # numpy: not needed before the first reader

    return summarise(view, seed=int(view.spec.get("seed", 0)))


def run_json(view: RunView, found: Access, summary: Any, position: int, settled: bool, now: float) -> dict[str, Any]:
    """The answer of `GET /api/runs/ID`.

    Args:
        position: where a stream that goes on from this answer starts (`?after=`).
        settled: nothing more comes in this stretch of the run.
        now: Unix seconds.
    """
    meta = found.meta
    sharing = {"level": meta.level, "public_id": meta.public_id, "expires": meta.expires} if found.owner else None
    return {
        "status": view.status,
        "reason": view.reason,
        "started": view.started or meta.created,
        "finished": view.finished,
        "settled": settled,
        "position": position,
        "owner": found.owner,
        "text": found.text,
        "sharing": sharing,
        "planned": view.planned,
        "done": view.done,
        "epochs": view.epochs,
        "counts": view.counts(),
        "summary": summary.model_dump(mode="json") if summary is not None else None,
        "spec": view.spec,
        "spec_digest": view.spec_digest,
        "data": view.data.model_dump(mode="json") if view.data else None,
        "prompt": view.prompt.model_dump(mode="json") if view.prompt else None,
        "versions": view.versions,
        "models": view.models,
        "differences": view.differences,
        "spend": {role: asdict(s) for role, s in view.spend.items()},
        "cost": view.cost,
        "cap": view.spec.get("max_cost"),
        "waiting": waiting_json(view, now),
        "connections": view.connections,
        "estimate": view.estimate,
        "reestimates": [r.model_dump(mode="json") for r in view.reestimates],
        "resumes": view.resumes,
        "grown": [asdict(stage) for stage in view.grown],
        "tasks": _tasks(view),
    }


def waiting_json(view: RunView, now: float) -> dict[str, Any] | None:
    """What the run waits for, or None. `seconds` is the time that is left."""
    wait = view.waiting
    if wait is None or wait.t + wait.seconds <= now:
        return None
    left = round(wait.t + wait.seconds - now, 1)
    return {
        "role": wait.role,
        "reason": wait.reason,
        "attempt": wait.attempt,
        "seconds": left,
        "text": f"waiting on provider, next try in {max(1, round(left))} s",
    }


def _tasks(view: RunView) -> list[dict[str, Any]]:
    rows = []
    for epoch in range(1, view.epochs + 1):
        for task in view.tasks:
            a = view.attempts.get((task.key, epoch))
            row: dict[str, Any] = {
                "key": task.key,
                "competency": task.competency,
                "epoch": epoch,
                "outcome": None,
                "score": None,
            }
            if a:
                row |= {
                    "outcome": a.outcome,
                    "score": a.score,
                    "cut": a.cut,
                    "verdicts": letters(task, a),
                    "stage": a.stage,
                    "reason": a.reason,
                }
            rows.append(row)
    return rows
