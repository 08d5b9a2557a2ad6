"""Made runs for tests: realistic journals, views and run folders by seed. Holds no text of the benchmark.

`made_view(seed=3)` is the quick way; `made_events` gives the journal and `write_run` a run folder with a ledger.
"""

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.data.records import Layer
from pipeline.events import (
    Answered,
    Call,
    DataRecord,
    Event,
    PlannedCriterion,
    PlannedTask,
    PromptRecord,
    RunFinished,
    RunStarted,
    Status,
    TaskFinished,
    TaskStarted,
    VerdictGiven,
    to_line,
)
from pipeline.judging.outcomes import Outcome
from pipeline.ledger import CallId, Entry, Ledger
from pipeline.report.view import RunView, fold
from pipeline.spec import ModelSpec, RunSpec

COMPETENCIES = tuple(f"{n:02d}. {name}" for n, name in enumerate((
    "Planning courses", "Planning lessons", "Choosing materials", "Explaining language", "Teaching listening",
    "Practising conversation", "Assessing learner work", "Giving feedback on writing and on speaking",
    "Using assessment data", "Managing classes", "Developing reading", "Working as a teacher"), 1))
FACETS: dict[str, tuple[str, ...]] = {
    "learner age": ("young learners (6-11)", "teenagers (12-17)", "young adults (18-25)", "adults (26+)"),
    "level": ("A1", "A2", "B1", "B2", "C1"),
    "setting": ("state school", "university", "workplace", "one-to-one"),
    "first language": ("Spanish", "Arabic", "Vietnamese", "Ukrainian", "Swahili", "Polish", "Thai"),
}
FAULTS: dict[Outcome, tuple[str, str]] = {
    Outcome.SOLVER_EMPTY: ("solver", "The answer is empty."),
    Outcome.SOLVER_CUT: ("solver", "Cut by length before any answer text."),
    Outcome.FILTERED: ("solver", "The provider's content filter stopped the answer."),
    Outcome.JUDGE_UNPARSABLE: ("judge", "One verdict could not be read."),
    Outcome.API_ERROR: ("solver", "The provider answered with status 503."),
    Outcome.SKIPPED_BY_CAP: ("", "Not started: the spend cap was reached."),
    Outcome.CANCELLED: ("", "Stopped by the visitor."),
}


@dataclass(frozen=True)
class Made:
    """What a made run is like.

    Attributes:
        skill: chance that a criterion of positive weight is judged true (0 to 1).
        faults: share of tasks that end otherwise than scored (0 to 1).
        done: how many tasks have ended; None means all. `status` "running" leaves out the last event.
        priced: whether calls have a known price.
    """

    seed: int = 0
    tasks: int = 40
    competencies: int = 12
    skill: float = 0.78
    faults: float = 0.1
    epochs: int = 1
    done: int | None = None
    status: Status = "finished"
    solver: str = "openrouter/acme/teacher-large"
    judge: str = "bedrock/us.anthropic.claude-sonnet-4-6"
    prompt: str = "v1"
    kind: str = "demo"
    priced: bool = True
    differences: tuple[str, ...] = ("demo tasks, not the published set", "prompt text is ours, not the reference's")
    start: float = 1_790_000_000.0


def made_plan(made: Made) -> tuple[PlannedTask, ...]:
    """The tasks of a made run; equal seeds and sizes give equal tasks, whatever the models."""
    rng = random.Random(f"plan-{made.seed}-{made.tasks}-{made.competencies}")
    return tuple(_planned(str(101 + 3 * i), COMPETENCIES[i % made.competencies], rng) for i in range(made.tasks))


def _planned(key: str, competency: str, rng: random.Random) -> PlannedTask:
    number = competency[:2]
    criteria = [PlannedCriterion(id=f"{key}-{n:02d}", layer=Layer.TASK, weight=rng.choice((3, 5, 7, 9)))
                for n in range(1, rng.randint(4, 9))]
    if rng.random() < 0.4:
        criteria.append(PlannedCriterion(id=f"{key}-99", layer=Layer.TASK, weight=-rng.choice((2, 4))))
    criteria += [PlannedCriterion(id=f"{number}a-{n:02d}", layer=Layer.CONSENSUS, weight=5) for n in (1, 2)]
    universal = sorted(rng.sample(range(1, 9), 4))
    criteria += [PlannedCriterion(id=f"{n:02d}u{rng.randint(1, 2)}", layer=Layer.UNIVERSAL, weight=4) for n in universal]
    return PlannedTask(key=key, competency=competency, subcompetencies=(f"{number}a. First part",),
                       facets={k: (rng.choice(v),) for k, v in FACETS.items()}, criteria=tuple(criteria))


def made_spec(made: Made) -> RunSpec:
    """The spec of a made run."""
    return RunSpec(source=made.kind, solver=ModelSpec(model=made.solver, config={"temperature": 0.0, "max_tokens": 4096}),  # type: ignore[arg-type]
                   judge=ModelSpec(model=made.judge, config={"reasoning_tokens": 1024}), epochs=made.epochs,
                   prompt_version=made.prompt, sample_limit=made.tasks, sampling="stratified", seed=made.seed, max_cost=5.0)  # type: ignore[arg-type]


def made_events(made: Made | None = None, **changes: Any) -> list[Event]:
    """The journal of a made run; keyword arguments are fields of `Made`."""
    made = made or Made(**changes)
    plan, spec = made_plan(made), made_spec(made)
    rng = random.Random(f"run-{made.seed}-{made.solver}-{made.judge}-{made.skill}")
    data = DataRecord(kind=made.kind, name="demo tasks" if made.kind == "demo" else "OUP/l2-bench", digest="d" * 64,  # type: ignore[arg-type]
                      gated=made.kind == "hub", available=63 if made.kind == "demo" else 1000)
    events: list[Event] = [RunStarted(
        t=made.start, spec=spec.model_dump(mode="json"), spec_digest=spec.digest, data=data, tasks=plan,
        prompt=PromptRecord(version=made.prompt, source="own", digest="a" * 64), differences=made.differences,
        versions={"l2-bench-live": "0.1.0", "inspect-ai": "0.3.205", "python": "3.11.7"})]
    attempts = [(task, epoch) for task in plan for epoch in range(1, made.epochs + 1)]
    t = made.start
    for task, epoch in attempts[: made.done]:
        t += 2.5
        events += _attempt(made, task, epoch, t, rng)
    if made.status != "running":
        reason = "" if made.status == "finished" else "Stopped by the visitor."
        events.append(RunFinished(t=t + 1, status=made.status, reason=reason))
    return events


def _attempt(made: Made, task: PlannedTask, epoch: int, t: float, rng: random.Random) -> list[Event]:
    outcome = rng.choice(list(FAULTS)) if rng.random() < made.faults else Outcome.SCORED
    events: list[Event] = [TaskStarted(t=t, task=task.key, epoch=epoch)]
    if outcome not in (Outcome.SKIPPED_BY_CAP, Outcome.CANCELLED):
        events.append(_call(made, task, epoch, "", t, 0.002))
    if outcome not in (Outcome.SCORED, Outcome.JUDGE_UNPARSABLE):
        stage, reason = FAULTS[outcome]
        return [*events, TaskFinished(t=t, task=task.key, epoch=epoch, outcome=outcome, stage=stage, reason=reason)]
    cut = rng.random() < 0.05
    events.append(Answered(t=t, task=task.key, epoch=epoch, cut=cut, model=made.solver.split("/")[-1]))
    lost = rng.choice(task.criteria).id if outcome is Outcome.JUDGE_UNPARSABLE else ""
    earned = 0
    for c in task.criteria:
        chance = made.skill - (0.2 if c.layer is Layer.UNIVERSAL and c.id < "04" else 0)
        met = None if c.id == lost else rng.random() < (chance if c.weight > 0 else 1 - made.skill)
        earned += c.weight if met else 0
        events.append(_call(made, task, epoch, c.id, t, 0.004))
        events.append(VerdictGiven(t=t, task=task.key, epoch=epoch, criterion=c.id, verdict=met, strict=met,
                                   cause="no_verdict" if met is None else "", model=made.judge.rsplit("/", 1)[-1]))
    maximum = sum(c.weight for c in task.criteria if c.weight > 0)
    stage, reason = FAULTS.get(outcome, ("", ""))
    events.append(TaskFinished(t=t, task=task.key, epoch=epoch, outcome=outcome, cut=cut, stage=stage, reason=reason,
                               score=earned / maximum if outcome is Outcome.SCORED else None))
    return events


def _call(made: Made, task: PlannedTask, epoch: int, criterion: str, t: float, cost: float) -> Call:
    role = "judge" if criterion else "solver"
    call = CallId(role, task.key, epoch, criterion)
    return Call(t=t, id=call.text(1), role=role, task=task.key, epoch=epoch, criterion=criterion, input=900, output=300,  # type: ignore[arg-type]
                cost=cost if made.priced else None, cost_source="table" if made.priced else "none", seconds=1.5)


def made_view(made: Made | None = None, **changes: Any) -> RunView:
    """The folded view of a made run; keyword arguments are fields of `Made`."""
    return fold(made_events(made, **changes))


def write_run(folder: Path, made: Made | None = None, answer: str = "A made answer.", **changes: Any) -> list[Event]:
    """Write `spec.json`, `events.jsonl` and `private/ledger.jsonl` of a made run; gives back its events."""
    made = made or Made(**changes)
    events = made_events(made)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "spec.json").write_text(made_spec(made).canonical(), encoding="utf-8")
    (folder / "events.jsonl").write_text("".join(to_line(e) + "\n" for e in events), encoding="utf-8")
    ledger = Ledger(folder / "private" / "ledger.jsonl")
    for e in events:
        if isinstance(e, Answered):
            ledger.came_back(Entry(CallId("solver", e.task, e.epoch), 1, text=f"{answer} (task {e.task})", stop="stop"))
        elif isinstance(e, VerdictGiven):
            word = "perhaps" if e.verdict is None else json.dumps(e.verdict)
            ledger.came_back(Entry(CallId("judge", e.task, e.epoch, e.criterion), 1, text=f"It was judged.\n{word}"))
    ledger.close()
    return events
