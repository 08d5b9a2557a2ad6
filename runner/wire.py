"""The compact live stream of a run, for `GET /api/runs/ID/events`. Pure: no clock, network or disk; holds no text.

Each message of the stream carries `id: <position>` and `data: <JSON array of items>`. An item is an array:

- `[index, letters, outcome, score]`  a task ended. `index` = (epoch - 1) * number of tasks + place in the plan.
  `letters` holds one letter a criterion, in the plan's order: `P` judged true, `F` judged false, `x` unreadable,
  `-` none. `outcome` is a place in `OUTCOMES`. `score` has 4 decimals, null unless scored. A later item with the
  same index replaces an earlier one.
- `["p", tasks, epochs, digest]`  the plan is known, or another one: fetch `/plan?v=<digest>`, or its tenth part that a
  picture needs with `&brief=1`; the items after it belong to that plan alone.
- `["t", index, 0]` a task's solver call is about to leave, `["t", index, 1]` its answer is there,
  `["v", index, place, letter]` one verdict; the first two leave letters that are already there as they are.
  These three only where at most 3,000 verdicts are planned.
- `["d", text]`  one more difference from the reference settings.
- `["s", status, reason]`  the run's status.
- `["w", seconds, reason, role, attempt]`  waiting on the provider, next try in that many seconds; `["w"]` no longer.
- `["$", spent, reserved, cap, solver, judge]`  US dollars, null where unknown; a role is
  `[calls, faults, input tokens, output tokens, known cost, calls of unknown usage]`.
- `["e", after_tasks, estimate]`  a new estimate.  `["c", n]`  calls now allowed at the same time.

The first five kinds count as positions and are sent again to whoever reconnects with an older position. The others
are states: only the newest is sent, always on connecting, then after a change, money at most once a second. The
stream ends with `event: done`, `data: {"status": ...}`.
"""

import gzip
import hashlib
import json
from dataclasses import dataclass
from typing import Any

from pipeline.data.records import Layer
from pipeline.events import (
    Answered,
    Connections,
    DifferenceFound,
    Event,
    PlannedCriterion,
    PlannedTask,
    Reestimated,
    RunFinished,
    RunStarted,
    TaskFinished,
    TaskStarted,
    VerdictGiven,
    Waiting,
)
from pipeline.judging.outcomes import Outcome
from pipeline.report.view import Attempt, RunView, Spend, Verdict

OUTCOMES = (*(o.value for o in Outcome), "scored_cut")
PARTIAL_UP_TO = 3000
LAYERS = tuple(layer.value for layer in Layer)


@dataclass(frozen=True)
class Batch:
    """What one watcher is sent next. `items` are JSON texts; `position` and `version` are where it then stands."""

    items: list[str]
    position: int
    version: int

    @property
    def data(self) -> str:
        """The message's `data`."""
        return "[" + ",".join(self.items) + "]"


def dumps(value: Any) -> str:
    """JSON without spaces."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def letter(verdict: Verdict | None) -> str:
    """The letter of one criterion."""
    if verdict is None:
        return "-"
    return "x" if verdict.verdict is None else "P" if verdict.verdict else "F"


def letters(task: PlannedTask, attempt: Attempt) -> str:
    """One letter a criterion, in the plan's order."""
    return "".join(letter(attempt.verdicts.get(c.id)) for c in task.criteria)


def task_item(index: int, task: PlannedTask, attempt: Attempt) -> str:
    """The item of a task that has ended."""
    outcome = attempt.outcome or Outcome.CANCELLED
    code = OUTCOMES.index("scored_cut" if outcome is Outcome.SCORED and attempt.cut else outcome.value)
    score = None if attempt.score is None else round(attempt.score, 4)
    return dumps([index, letters(task, attempt), code, score])


def plan_json(tasks: list[PlannedTask], epochs: int) -> bytes:
    """The part of a run that does not change while it runs, for `/plan`: no text, competencies named once.

    `tasks` are `[key, competency's place, [sub-competencies], {facet: [values]}, [[criterion id, layer's place,
    weight], ...]]`.
    """
    names = list(dict.fromkeys(t.competency for t in tasks))
    place = {name: i for i, name in enumerate(names)}
    rows = [
        [
            t.key,
            place[t.competency],
            t.subcompetencies,
            t.facets,
            [[c.id, LAYERS.index(c.layer.value), c.weight] for c in t.criteria],
        ]
        for t in tasks
    ]
    plan = {"epochs": epochs, "outcomes": OUTCOMES, "layers": LAYERS, "competencies": names, "tasks": rows}
    return dumps(plan).encode()


def brief_json(tasks: list[PlannedTask], epochs: int) -> bytes:
    """The plan as far as a picture needs it, for `/plan?brief=1`: 1,000 tasks of 20 criteria in some 7 KB when compressed.

    `tasks` are `[key, competency's place, marks]`, one mark a criterion: `a`, `b` or `c` by its layer's place, as a
    capital where its weight is negative.
    """
    names = list(dict.fromkeys(t.competency for t in tasks))
    place = {name: i for i, name in enumerate(names)}
    rows = [[t.key, place[t.competency], "".join(_mark(c) for c in t.criteria)] for t in tasks]
    return dumps({"epochs": epochs, "outcomes": OUTCOMES, "layers": LAYERS, "competencies": names, "tasks": rows}).encode()


def _mark(criterion: PlannedCriterion) -> str:
    mark = "abc"[LAYERS.index(criterion.layer.value)]
    return mark.upper() if criterion.weight < 0 else mark


class Wire:
    """Builds the stream of one run, event by event. What is not yet published, watchers do not see."""

    def __init__(self) -> None:
        self.plan = self.brief = b""  # gzip of plan_json and of brief_json, empty before the first event
        self.digest = ""
        self.reserved: float | None = None
        self.published = 0
        self.version = 0
        self._log: list[str] = []
        self._last: dict[int, str] = {}
        self._seen: dict[tuple[int, int], str] = {}
        self._tasks: list[PlannedTask] = []
        self._index: dict[str, int] = {}
        self._epochs = 1
        self._partial = False
        self._states: dict[str, tuple[int, str]] = {}
        self._wait: tuple[float, Waiting] | None = None
        self._wait_version = 0
        self._sent_at: dict[str, float] = {}
        self._started = 0.0
        self._changed = True

    def take(self, event: Event, view: RunView) -> None:
        """Take one event in; `view` is the run's state after it."""
        self._changed = True
        match event:
            case RunStarted():
                self._plan(view)
            case TaskStarted():
                self._mark(event.task, event.epoch, 0)
            case Answered():
                self._mark(event.task, event.epoch, 1)
            case VerdictGiven():
                self._verdict(event)
            case TaskFinished():
                self._finish(event.task, event.epoch, view)
            case DifferenceFound():
                self._once(dumps(["d", event.text]))
            case Connections():
                self._state("c", dumps(["c", event.limit]))
            case Reestimated():
                self._state("e", dumps(["e", event.after_tasks, event.estimate]))
            case RunFinished():
                self.reserved = None

    def reserve(self, amount: float) -> None:
        """Say how much money (US dollars) is held for calls in flight."""
        self.reserved, self._changed = amount, True

    def touch(self) -> None:
        """Say that the view changed without an event."""
        self._changed = True

    def publish(self, now: float, view: RunView, final: bool = False) -> bool:
        """Let watchers see what is there; whether there is anything new. `now` is Unix seconds.

        Money is held back to one item a second, more seldom in a long run, so that an hour costs no more bytes than
        its tasks; `final` lets it all go.
        """
        if not self._changed and not self._wait:
            return False
        before = (self.published, self.version)
        self.published = len(self._log)
        self._started = self._started or now
        self._state("s", dumps(["s", view.status, view.reason]))
        self._waiting(view, now, final)
        due = self._due("$", now, 10.0)
        if final or due:
            self._state("$", money(view, self.reserved), now)
        self._changed = not (final or due)
        return (self.published, self.version) != before

    def since(self, position: int, version: int, now: float) -> Batch:
        """What a watcher at `position` who has seen states up to `version` is to be sent.

        A position this stream never reached belongs to another life of the run: everything is sent.
        """
        start = position if 0 <= position <= self.published else 0
        states = [text for stamp, text in self._states.values() if stamp > version]
        if self._wait_version > version and (self._wait or version):
            states.append(self._wait_item(now))
        return Batch(self._log[start : self.published] + states, self.published, self.version)

    def _plan(self, view: RunView) -> None:
        text = plan_json(view.tasks, view.epochs)
        digest = hashlib.sha256(text).hexdigest()[:16]
        if digest == self.digest:
            return
        self.plan, self.digest = gzip.compress(text, 5, mtime=0), digest
        self.brief = gzip.compress(brief_json(view.tasks, view.epochs), 9, mtime=0)
        self._tasks, self._epochs = view.tasks, view.epochs
        self._index = {t.key: i for i, t in enumerate(view.tasks)}
        self._partial = sum(len(t.criteria) for t in view.tasks) * view.epochs <= PARTIAL_UP_TO
        self._last, self._seen = {}, {}
        self._log.append(dumps(["p", len(view.tasks), view.epochs, digest]))
        for (task, epoch), attempt in view.attempts.items():
            if attempt.outcome:
                self._finish(task, epoch, view)

    def _at(self, task: str, epoch: int) -> int | None:
        if task not in self._index or not 1 <= epoch <= self._epochs:
            return None
        return (epoch - 1) * len(self._tasks) + self._index[task]

    def _mark(self, task: str, epoch: int, stage: int) -> None:
        index = self._at(task, epoch)
        if self._partial and index is not None:
            self._last.pop(index, None)
            self._log.append(dumps(["t", index, stage]))

    def _verdict(self, event: VerdictGiven) -> None:
        index = self._at(event.task, event.epoch)
        if not self._partial or index is None:
            return
        criteria = self._tasks[self._index[event.task]].criteria
        place = next((i for i, c in enumerate(criteria) if c.id == event.criterion), None)
        mark = letter(Verdict(event.verdict, event.strict))
        if place is not None and self._seen.get((index, place)) != mark:
            self._seen[index, place] = mark
            self._log.append(dumps(["v", index, place, mark]))

    def _finish(self, task: str, epoch: int, view: RunView) -> None:
        index = self._at(task, epoch)
        if index is None:
            return
        item = task_item(index, self._tasks[self._index[task]], view.attempts[task, epoch])
        if self._last.get(index) != item:  # a resumed run says again what it replays
            self._last[index] = item
            self._log.append(item)

    def _once(self, item: str) -> None:
        if item not in self._log:
            self._log.append(item)

    def _state(self, name: str, text: str, now: float = 0.0) -> None:
        if self._states.get(name, (0, ""))[1] != text:
            self.version += 1
            self._states[name] = (self.version, text)
            self._sent_at[name] = now

    def _due(self, name: str, now: float, most: float) -> bool:
        gap = min(most, max(1.0, (now - self._started) / 60))
        return now - self._sent_at.get(name, -most) >= gap

    def _waiting(self, view: RunView, now: float, final: bool) -> None:
        wait = view.waiting
        until = (wait.t + wait.seconds) if wait else 0.0
        current = (until, wait) if wait and until > now and not final else None
        if (current or (None, None))[1] is (self._wait or (None, None))[1]:
            return
        if final or self._due("w", now, 2.0):
            self._wait, self._sent_at["w"] = current, now
            self.version += 1
            self._wait_version = self.version

    def _wait_item(self, now: float) -> str:
        if not self._wait:
            return '["w"]'
        until, wait = self._wait
        return dumps(["w", round(min(wait.seconds, max(0.0, until - now)), 1), wait.reason, wait.role, wait.attempt])


def money(view: RunView, reserved: float | None) -> str:
    """The item of what was spent."""
    cap = view.spec.get("max_cost")
    return dumps(
        ["$", _dollars(view.cost), _dollars(reserved), cap, _role(view.spend["solver"]), _role(view.spend["judge"])]
    )


def _role(s: Spend) -> list[Any]:
    return [s.calls, s.faults, s.input, s.output, _dollars(s.cost), s.unknown]


def _dollars(amount: float | None) -> float | None:
    return None if amount is None else round(amount, 6)
