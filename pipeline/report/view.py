"""RunView = fold(events): the state of a run, for the live page, the result page and every export.

Pure: no clock, no disk. A journal says each call once; folding an old one, in which every resume repeated what stood
before, gives the same view all the same (calls have ids, verdicts and outcomes are keyed): nothing is counted twice.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pipeline.events import (
    Answered,
    Call,
    Connections,
    DataRecord,
    DifferenceFound,
    Event,
    PlannedTask,
    PromptRecord,
    Reestimated,
    RunFinished,
    RunStarted,
    Status,
    TaskFinished,
    TaskStarted,
    VerdictGiven,
    Waiting,
)
from pipeline.judging.outcomes import CUT_OFF, PROGRAM, Outcome


@dataclass(slots=True)
class Verdict:
    """One criterion's verdict in one epoch; `verdict` None with a `cause` where none could be read."""

    verdict: bool | None
    strict: bool | None
    cause: str = ""


@dataclass(slots=True)
class Attempt:
    """One task in one epoch. `outcome` is None until it has ended."""

    task: str
    epoch: int
    started: float = 0.0
    answered: bool = False
    cut: bool = False
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    outcome: Outcome | None = None
    score: float | None = None
    stage: str = ""
    reason: str = ""
    finished: float = 0.0


@dataclass
class Spend:
    """Calls, tokens and money of one role. `cost` is the known sum in US dollars; `unknown` calls told no usage.

    `priced` is False as soon as one call had no price, so that a sum is never taken for the whole.
    """

    calls: int = 0
    faults: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    reasoning: int = 0
    cost: float = 0.0
    unknown: int = 0
    priced: bool = True
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Stage:
    """What a run was before it grew: digest of its spec, tasks, epochs, and how many attempts had ended."""

    spec_digest: str
    tasks: int
    epochs: int
    ended: int


@dataclass
class RunView:
    """Everything public about a run. Attempts are keyed by (task, epoch). `probes` is the part of `spend` that went to the
    small questions before the run."""

    status: Status = "running"
    reason: str = ""
    started: float = 0.0
    finished: float | None = None
    spec: dict[str, Any] = field(default_factory=dict)
    spec_digest: str = ""
    data: DataRecord | None = None
    prompt: PromptRecord | None = None
    versions: dict[str, str] = field(default_factory=dict)
    differences: list[str] = field(default_factory=list)
    tasks: list[PlannedTask] = field(default_factory=list)
    attempts: dict[tuple[str, int], Attempt] = field(default_factory=dict)
    spend: dict[str, Spend] = field(default_factory=lambda: {"solver": Spend(), "judge": Spend()})
    probes: dict[str, Spend] = field(default_factory=lambda: {"solver": Spend(), "judge": Spend()})
    models: dict[str, str] = field(default_factory=dict)
    waiting: Waiting | None = None
    waits: int = 0
    connections: int | None = None
    estimate: dict[str, Any] | None = None
    reestimates: list[Reestimated] = field(default_factory=list)
    resumes: int = 0
    grown: list[Stage] = field(default_factory=list)

    @property
    def epochs(self) -> int:
        """Planned epochs."""
        return int(self.spec.get("epochs", 1))

    @property
    def planned(self) -> int:
        """Number of (task, epoch) attempts planned."""
        return len(self.tasks) * self.epochs

    def counts(self) -> dict[str, int]:
        """Attempts by outcome, every outcome present, in the order of design."""
        seen = Counter(a.outcome for a in self.attempts.values() if a.outcome)
        return {o.value: seen.get(o, 0) for o in Outcome}

    @property
    def program_faults(self) -> int:
        """How many of the `api_error` are faults of this program: no provider's and no judge's."""
        return sum(1 for a in self.attempts.values() if a.outcome is Outcome.API_ERROR and a.stage == PROGRAM)

    @property
    def done(self) -> int:
        """Attempts that have ended: scored, or lost. Not those that the end of the run cut off, where it ended early."""
        open_ = frozenset[Outcome]() if self.status == "finished" else CUT_OFF
        return sum(1 for a in self.attempts.values() if a.outcome and a.outcome not in open_)

    @property
    def cost(self) -> float | None:
        """US dollars over both roles, or None where a call had no price."""
        parts = self.spend.values()
        return sum(s.cost for s in parts) if all(s.priced for s in parts) else None


class Fold:
    """Applies events one by one; `view` is current after each, `calls` holds the ids of the calls that were told."""

    def __init__(self) -> None:
        self.view = RunView()
        self.calls: set[str] = set()

    def apply(self, event: Event) -> None:
        """Take one event in. Unknown tasks and repeated calls change nothing."""
        v = self.view
        match event:
            case RunStarted():
                self._start(event)
            case TaskStarted():
                a = self._attempt(event.task, event.epoch)
                a.started = a.started or event.t
                a.outcome = None
            case Answered():
                a = self._attempt(event.task, event.epoch)
                a.answered, a.cut, v.waiting = True, event.cut, None
                if event.model:
                    v.models["solver"] = event.model
            case VerdictGiven():
                a = self._attempt(event.task, event.epoch)
                a.verdicts[event.criterion] = Verdict(event.verdict, event.strict, event.cause)
                v.waiting = None
                if event.model:
                    v.models["judge"] = event.model
            case TaskFinished():
                a = self._attempt(event.task, event.epoch)
                a.outcome, a.score, a.cut = event.outcome, event.score, event.cut or a.cut
                a.stage, a.reason, a.finished = event.stage, event.reason, event.t
            case Call():
                self._call(event)
            case Waiting():
                v.waiting, v.waits = event, v.waits + 1
            case Connections():
                v.connections = event.limit
            case DifferenceFound():
                if event.text not in v.differences:
                    v.differences.append(event.text)
            case Reestimated():
                v.reestimates.append(event)
            case RunFinished():
                v.status, v.reason, v.finished, v.waiting = event.status, event.reason, event.t, None

    def _start(self, e: RunStarted) -> None:
        v = self.view
        v.resumes += int(e.resumed)
        v.started = v.started or e.t
        v.status, v.reason, v.finished = "running", "", None
        if v.spec_digest and e.spec_digest != v.spec_digest == e.spec.get("grown_from"):
            v.grown.append(Stage(v.spec_digest, len(v.tasks), v.epochs, v.done))
            v.estimate, v.reestimates = None, []
        v.spec, v.spec_digest, v.data, v.prompt, v.versions = e.spec, e.spec_digest, e.data, e.prompt, dict(e.versions)
        v.differences = list(dict.fromkeys([*e.differences, *(d for d in v.differences if d not in e.outgrown)]))
        v.tasks = list(e.tasks)
        v.estimate = v.estimate or e.estimate

    def _attempt(self, task: str, epoch: int) -> Attempt:
        return self.view.attempts.setdefault((task, epoch), Attempt(task, epoch))

    def _call(self, e: Call) -> None:
        if e.id in self.calls:
            return
        self.calls.add(e.id)
        _add(self.view.spend[e.role], e)
        if not e.task:
            _add(self.view.probes[e.role], e)


def _add(s: Spend, e: Call) -> None:
    s.calls += 1
    s.faults += bool(e.fault)
    s.input += e.input or 0
    s.output += e.output or 0
    s.cache_read += e.cache_read
    s.reasoning += e.reasoning
    s.seconds += e.seconds
    s.unknown += e.cost_source == "reserve" or (e.input is None and (e.cost is None or not e.fault))
    if e.cost is not None:
        s.cost += e.cost
    else:
        s.priced = False


def fold(events: Iterable[Event]) -> RunView:
    """The view after all of `events`, in their order."""
    f = Fold()
    for event in events:
        f.apply(event)
    return f.view
