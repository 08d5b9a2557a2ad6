"""What the command line says: a progress line, the closing lines, the dry run, and the same as one JSON object.

Never prints a key; prints what a judge wrote only here, to the person who ran it.
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TextIO

from pipeline.cost.estimate import estimate_summary_lines
from pipeline.cost.meter import dollars
from pipeline.events import RunFinished, RunStarted, TaskFinished, Waiting
from pipeline.judging.outcomes import ATTEMPTED, CUT_OFF, RETRIABLE
from pipeline.report.summary import summarise
from pipeline.report.view import RunView
from pipeline.spec import Places

SHOWN_REASONS = 10
PLAIN_EVERY = 2.0
"""Seconds between two plain progress lines where standard error is no terminal."""


class Progress:
    """One line that rewrites itself on a terminal, plain lines elsewhere."""

    def __init__(self, out: TextIO) -> None:
        self.out, self.terminal = out, out.isatty()
        self.done, self.planned, self.total, self.scored = 0, 0, 0.0, 0
        self._last, self._wait, self._seen = 0.0, "", set[tuple[str, int]]()
        self.earlier = RunView()
        """The run so far; what it holds of tasks that are not taken up again is not told a second time."""

    def event(self, event: Any) -> None:
        """Take in what the run said."""
        match event:
            case RunStarted():
                self.planned = len(event.tasks) * int(event.spec.get("epochs", 1))
                for a in self.earlier.attempts.values():
                    if a.outcome is not None and a.outcome not in RETRIABLE:
                        self._ended(a.task, a.epoch, a.score)
                if self.done:
                    self._show(self.done == self.planned)
            case TaskFinished() if event.outcome not in CUT_OFF and (event.task, event.epoch) not in self._seen:
                self._ended(event.task, event.epoch, event.score)
                self._wait = ""
                self._show(self.done == self.planned)
            case Waiting():
                self._wait = f" · waiting on the provider ({event.reason.replace('_', ' ')}), next try in {event.seconds:.0f} s"
                self._show(False)
            case RunFinished():
                self._wait = ""

    def _ended(self, task: str, epoch: int, score: float | None) -> None:
        self._seen.add((task, epoch))
        self.done += 1
        if score is not None:
            self.scored, self.total = self.scored + 1, self.total + score

    def _show(self, always: bool) -> None:
        mean = f" · mean {100 * self.total / self.scored:.1f} %" if self.scored else ""
        line = f"{self.done}/{self.planned} tasks{mean}{self._wait}"
        now = time.monotonic()
        with suppress(OSError):  # a progress that nobody can read stops no run
            if self.terminal:
                print(f"\r\x1b[K{line}", end="", file=self.out, flush=True)
            elif always or now - self._last >= PLAIN_EVERY:
                self._last = now
                print(line, file=self.out, flush=True)

    def end(self) -> None:
        """Leave the line."""
        if self.terminal and self.done:
            with suppress(OSError):
                print(file=self.out)


def mean_line(name: str, mean: Any, of: str) -> str:
    """`mean over scored tasks  81.2 %  [77.0, 85.1]  (18 tasks)`, with the note where there is no interval."""
    if mean is None or mean.value is None:
        return f"{name}: none ({mean.note if mean is not None else 'no task'})"
    interval = f"  [{100 * mean.interval.low:.1f}, {100 * mean.interval.high:.1f}] 95 %" if mean.interval else ""
    note = f"  ({mean.note})" if mean.note else ""
    return f"{name}: {100 * mean.value:.1f} %{interval}  {of}{note}"


def result_lines(view: RunView, places: Places, lost: Sequence[Any]) -> list[str]:
    """The last lines of a run; `lost` are the results of the tasks that were not scored."""
    s = summarise(view)
    differences = "; ".join(view.differences) or "none"
    lines, short = ["", *_not_scored(lost)], f"; {s.cut_short}" if s.cut_short else ""
    lines += [mean_line("Mean over scored tasks", s.scored, f"{s.scored_count} of {view.planned}{short}")]
    lines += [mean_line("Mean over attempted tasks", s.attempted, f"{s.attempted_count} of {view.planned}{short}")]
    if s.clipped is not None:
        lines.append(mean_line("Mean clipped at 0 per task, as in the published tables", s.clipped, ""))
    counts = ", ".join(f"{name} {n}" for name, n in view.counts().items() if n) or "none"
    program = f" (of the api_error, {view.program_faults} by faults of this program)" if view.program_faults else ""
    lines += [f"Outcomes: {counts}{program}" + (f" (of the scored, {s.cut} cut)" if s.cut else "")]
    lines += [f"Differences from the reference settings: {differences}", f"Spend: {spend_words(view)}"]
    if view.status != "finished":
        lines.append(f"The run is {view.status}: {view.reason} Go on with --resume {places.run_dir}")
    lines += [f"Log: {log_path(places) or places.logs}", f"View it: inspect view --log-dir {places.logs}"]
    return lines


def _not_scored(lost: Sequence[Any]) -> list[str]:
    """Why tasks were not scored, the judge's last line quoted."""
    lines = []
    for r in lost[:SHOWN_REASONS]:
        unread = next((j for j in r.judged if j.verdict is None), None)
        quoted = f" {unread.criterion.id}: {unread.reason}" if unread is not None and unread.reason else ""
        lines.append(f"Task {r.task.key}: {r.outcome.value} ({r.stage or 'run'}). {r.reason}{quoted}")
    if len(lost) > SHOWN_REASONS:
        lines.append(f"... and {len(lost) - SHOWN_REASONS} more tasks that were not scored.")
    return lines


def spend_words(view: RunView) -> str:
    """Money and calls of a run; an unknown price is never shown as $0."""
    calls = sum(s.calls for s in view.spend.values())
    unknown = sum(s.unknown for s in view.spend.values())
    money = "price unknown" if view.cost is None else f"${view.cost:.4f}"
    return f"{money}, {calls} calls" + (f", {unknown} of them without usage and charged at their reserve" if unknown else "")


def log_path(places: Places) -> str | None:
    """The newest `.eval` of the run."""
    found = sorted(places.logs.glob("*.eval"), key=lambda p: p.stat().st_mtime)
    return str(found[-1]) if found else None


def result_data(view: RunView, places: Places, code: int) -> dict[str, Any]:
    """The closing lines as data; keys are stable."""
    s = summarise(view)
    return {
        "status": view.status, "reason": view.reason, "exit_code": code, "model": view.spec["solver"]["model"],
        "judge": view.spec["judge"]["model"], "scored": _mean(s.scored), "attempted": _mean(s.attempted),
        "clipped": _mean(s.clipped) if s.clipped is not None else None, "counts": view.counts(), "planned": view.planned,
        "done": view.done, "program_faults": view.program_faults, "cut": s.cut, "differences": view.differences,
        "prompt": view.prompt.model_dump(mode="json") if view.prompt else None,
        "data": view.data.model_dump(mode="json") if view.data else None, "spec_digest": view.spec_digest,
        "cost": view.cost, "calls": {role: x.calls for role, x in view.spend.items()},
        "spend": {role: vars(x) for role, x in view.spend.items()}, "estimate": view.estimate,
        "tasks": [{"task": a.task, "epoch": a.epoch, "outcome": a.outcome.value if a.outcome else None, "score": a.score,
                   "cut": a.cut, "stage": a.stage, "reason": a.reason} for a in view.attempts.values()],
        "log": log_path(places), "run_dir": str(places.run_dir), "view": f"inspect view --log-dir {places.logs}",
    }


def _mean(mean: Any) -> dict[str, Any]:
    i = mean.interval
    return {"mean": mean.value, "interval": [i.low, i.high] if i else None, "tasks": mean.tasks, "note": mean.note}


def _notices(plan: Any) -> tuple[str, ...]:
    return (*plan.data.notices, *([plan.prompt.notice] if plan.prompt.notice else []), *plan.estimate.cautions)


def note_lines(plan: Any) -> list[str]:
    """What was noticed while tasks and judge prompt were read: a cached copy, an accepted placeholder, a changed prompt."""
    return [f"Note: {notice}" for notice in _notices(plan)]


def new_calls(plan: Any, view: RunView) -> dict[str, int]:
    """Calls that a run that goes on would still make, without any retry; a task that lost a verdict counts whole."""
    ended = {at for at, a in view.attempts.items() if a.outcome in ATTEMPTED}
    left = [t for t in plan.chosen for epoch in range(1, plan.spec.epochs + 1) if (t.key, epoch) not in ended]
    return {"solver": len(left), "judge": sum(len(t.criteria) for t in left)}


def _new_lines(plan: Any, view: RunView | None) -> list[str]:
    if view is None:
        return []
    new, total = new_calls(plan, view), plan.estimate.total
    share = sum(new.values()) / max(sum(plan.calls.values()), 1)
    money = f", about {dollars(total.expected * share)} of the cost below" if total is not None else ""
    return [f"Still to be asked: {new['solver']} solver, {new['judge']} judge calls{money}; the rest is paid for already."]


def dry_run_lines(plan: Any, because: Sequence[str], view: RunView | None = None) -> list[str]:
    """What a run would do, in words.

    Args:
        because: why it could not start, empty where it could. view: the run so far, where one would go on.
    """
    calls = plan.calls
    return [
        f"{len(plan.chosen)} of {len(plan.data.tasks)} tasks ({plan.data.source.name}): {', '.join(t.key for t in plan.chosen)}",
        f"Calls: {calls['solver']} solver, {calls['judge']} judge, {sum(calls.values())} in all",
        *_new_lines(plan, view), *estimate_summary_lines(plan.estimate), *_cap_lines(plan),
        f"Differences from the reference settings: {'; '.join(plan.differences) or 'none'}",
        *note_lines(plan), f"Could start: no, because {' '.join(because)}" if because else "Could start: yes", "Nothing was sent.",
    ]


def _cap_lines(plan: Any) -> list[str]:
    """The caps, and that nothing would start where the first task needs more."""
    spec, e = plan.spec, plan.estimate
    if spec.max_cost is None and spec.max_calls is None and spec.max_tokens is None:
        return ["Cap       none"]
    parts = [] if spec.max_cost is None else [dollars(spec.max_cost)]
    parts += [f"{n:,} {name}" for n, name in ((spec.max_calls, "calls"), (spec.max_tokens, "tokens")) if n is not None]
    lines = [f"Cap       {', '.join(parts)}"]
    if spec.max_cost is not None and e.start_cost is not None and spec.max_cost < e.start_cost:
        lines.append(f"Note: one task may cost {dollars(e.start_cost)}, so nothing would start under this cap. Raise it.")
    if spec.max_calls is not None and spec.max_calls < e.start_calls:
        lines.append(f"Note: the first task needs {e.start_calls} calls, so nothing would start under this cap. Raise it.")
    return lines


def dry_run_data(plan: Any, because: Sequence[str], view: RunView | None = None) -> dict[str, Any]:
    """What a run would do, as data; the arguments as those of `dry_run_lines`."""
    return {
        "could_start": not because, "because": list(because),
        "tasks": [t.key for t in plan.chosen], "available": len(plan.data.tasks), "calls": plan.calls,
        "estimate": plan.estimate.model_dump(mode="json"), "differences": list(plan.differences),
        "spec": plan.spec.model_dump(mode="json"), "spec_digest": plan.spec.digest,
        "prompt": plan.prompt.record().model_dump(mode="json"), "data": plan.record.model_dump(mode="json"),
        "notices": list(_notices(plan)), **({"new_calls": new_calls(plan, view)} if view is not None else {}),
    }
