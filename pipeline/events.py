"""What a run says while it runs: one frozen record a line, the public journal `events.jsonl`.

Holds ids, layers, weights, verdicts, outcomes, tokens, money and times. Never holds text of a task, resource,
reference, rubric, answer or judge: what may be shown to anyone is decided here, once.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from pydantic.dataclasses import dataclass

from pipeline.data.records import Layer
from pipeline.judging.outcomes import Outcome

Role = Literal["solver", "judge"]
CostSource = Literal["reported", "table", "reserve", "free", "none"]
Status = Literal["running", "finished", "stopped", "capped", "paused", "interrupted", "failed"]


class _Event(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)
    t: float = Field(default=0.0, ge=0.0, le=1e11)  # Unix seconds, up to the year 5138


@dataclass(frozen=True, slots=True)
class PlannedCriterion:
    """A criterion without its text. No model: a run has thousands, and each would be six times as large."""

    id: str
    layer: Layer
    weight: int


class PlannedTask(BaseModel):
    """A chosen task without its text. Facet values are short category names (see `pipeline.data.facets`)."""

    model_config = ConfigDict(frozen=True)
    key: str
    competency: str
    subcompetencies: tuple[str, ...] = ()
    facets: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    criteria: tuple[PlannedCriterion, ...]


class PromptRecord(BaseModel):
    """Which judge prompt is in use. `source` is "published" or "own"; `revision` the commit it resolved to."""

    model_config = ConfigDict(frozen=True)
    version: str
    source: Literal["published", "own"]
    digest: str
    retry_digest: str = ""
    revision: str = ""
    notice: str = ""


class DataRecord(BaseModel):
    """Where the tasks came from; the public part of `DataSource`, with the size of the whole set."""

    model_config = ConfigDict(frozen=True)
    kind: Literal["demo", "hub", "local"]
    name: str
    revision: str = ""
    digest: str = ""
    gated: bool = False
    available: int = 0


class RunStarted(_Event):
    """First event, said again by each resume (`resumed` true); the later one replaces the earlier.

    A run that grew names in its spec (`grown_from`) the digest of the spec before; `outgrown` are differences of that one
    that hold no more.
    """

    kind: Literal["run_started"] = "run_started"
    spec: dict[str, Any]
    spec_digest: str
    data: DataRecord
    prompt: PromptRecord
    versions: dict[str, str]
    differences: tuple[str, ...]
    tasks: tuple[PlannedTask, ...]
    estimate: dict[str, Any] | None = None
    resumed: bool = False
    outgrown: tuple[str, ...] = ()


class TaskStarted(_Event):
    """The solver's first call for this task and epoch is about to leave."""

    kind: Literal["task_started"] = "task_started"
    task: str
    epoch: int = 1


class Call(_Event):
    """One request that left, after it came back or was given up. `id` is unique in the run, and each is said
    once; journals of earlier versions repeat them at every resume.

    Attributes:
        fault: kind of fault ("rate_limit", "overloaded", "timeout", ...; see `pipeline.faults`) or "" for an answer.
        cost: US dollars charged against the cap, or None where no price is known.
        cost_source: what `cost` rests on; "reserve" means usage was unknown and the worst case was charged.
    """

    kind: Literal["call"] = "call"
    id: str
    role: Role
    task: str = ""
    epoch: int = 1
    criterion: str = ""
    fault: str = ""
    status: int | None = None
    input: int | None = None
    output: int | None = None
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0
    cost: float | None = None
    cost_source: CostSource = "none"
    seconds: float = 0.0


class Waiting(_Event):
    """A call waits before it is sent again. `seconds` is the wait; `attempt` counts from 1."""

    kind: Literal["waiting"] = "waiting"
    role: Role
    reason: str
    seconds: float
    attempt: int = 1


class Answered(_Event):
    """The solver's answer is there. `cut` means cut by length though it has text; `model` as the provider named it."""

    kind: Literal["answered"] = "answered"
    task: str
    epoch: int = 1
    cut: bool = False
    model: str = ""


class VerdictGiven(_Event):
    """One criterion judged, or not.

    Attributes:
        verdict: None where none could be read; `cause` then says why, as a code.
        strict: what the strict rule read, where a lenient one was used; else equal to `verdict`.
        model: the judge as the provider named it.
    """

    kind: Literal["verdict"] = "verdict"
    task: str
    epoch: int = 1
    criterion: str
    verdict: bool | None = None
    strict: bool | None = None
    cause: str = ""
    model: str = ""


class TaskFinished(_Event):
    """The one outcome of a task and epoch. `score` is unclipped, None unless scored.

    `stage` is "solver", "judge", "program" (a fault of this one) or ""; `reason` one public sentence, "" when scored.
    """

    kind: Literal["task_finished"] = "task_finished"
    task: str
    epoch: int = 1
    outcome: Outcome
    score: float | None = None
    cut: bool = False
    stage: str = ""
    reason: str = ""


class DifferenceFound(_Event):
    """A difference from the reference settings that showed up in the run ("temperature not sent")."""

    kind: Literal["difference"] = "difference"
    text: str


class Connections(_Event):
    """The number of calls now allowed at the same time, after it changed."""

    kind: Literal["connections"] = "connections"
    limit: int


class Reestimated(_Event):
    """A new estimate from what was seen in `after_tasks` tasks; the first one stays in RunStarted."""

    kind: Literal["reestimated"] = "reestimated"
    after_tasks: int
    estimate: dict[str, Any]


class RunFinished(_Event):
    """Last event of this stretch of the run. `reason` is a public sentence for every status but "finished"."""

    kind: Literal["run_finished"] = "run_finished"
    status: Status
    reason: str = ""


Event = Annotated[
    RunStarted | TaskStarted | Call | Waiting | Answered | VerdictGiven | TaskFinished
    | DifferenceFound | Connections | Reestimated | RunFinished,
    Field(discriminator="kind"),
]
_EVENT: TypeAdapter[Event] = TypeAdapter(Event)


FREE = ("reason", "text", "model")
"""Fields that hold a sentence, or a name as a provider gave it; all others hold ids, codes and numbers of ours."""


def redacted(event: Any, take_out: Callable[[str], str]) -> Any:
    """The event, its free texts without what `take_out` takes out."""
    texts = {name: text for name in FREE if isinstance(text := getattr(event, name, None), str)}
    changed = {name: clean for name, text in texts.items() if (clean := take_out(text)) != text}
    return event.model_copy(update=changed) if changed else event


def to_line(event: _Event) -> str:
    """The event as one JSON line without its newline."""
    return event.model_dump_json(exclude_defaults=False, exclude_none=True)


def from_line(line: str | bytes) -> Event:
    """The reverse of `to_line`.

    Raises:
        pydantic.ValidationError: the line is no event.
    """
    return _EVENT.validate_json(line)


def from_value(value: Any) -> Event:
    """The event of a JSON value.

    Raises:
        pydantic.ValidationError: it is no event.
    """
    return _EVENT.validate_python(value)


def read_journal(lines: Iterable[str | bytes]) -> Iterator[Event]:
    """The events of a journal; a last line that was cut by a crash, and lines of an unknown kind, are passed over."""
    for line in lines:
        if line.strip():
            try:
                yield from_line(line)
            except ValueError:
                continue


def read_journal_file(path: Path) -> Iterator[Event]:
    """The events of the journal at `path`; none where there is no such file."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        yield from read_journal(file)
