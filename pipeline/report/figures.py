"""The records of a run's figures: means, rates, groups, errors, spend. They hold numbers and ids, and compute nothing."""

from pydantic import BaseModel, ConfigDict

from pipeline.data.records import Layer
from pipeline.judging.outcomes import Outcome
from pipeline.report.stats import Interval

CLIPPED_LABEL = "clipped at 0 per task, as in the published tables"


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True)


class Mean(_Record):
    """A mean over tasks on the scale where 1 is full marks. `tasks` entered it; `note` stands beside it."""

    value: float | None
    interval: Interval | None = None
    tasks: int = 0
    note: str = ""


class Rate(_Record):
    """A pass rate over verdicts; for a negative weight a pass is a penalty avoided. `tasks` gave the verdicts."""

    passed: int
    total: int
    tasks: int
    value: float | None
    interval: Interval | None = None
    note: str = ""


class Group(_Record):
    """The tasks of one competency, sub-competency or value of a context variable. `chosen` counts those in the plan."""

    name: str
    chosen: int
    scored: Mean
    attempted: Mean


class LayerRate(_Record):
    """Pass rate of one rubric layer."""

    layer: Layer
    rate: Rate


class Cell(_Record):
    """One cell of the heat map: pass rate of a competency in a layer."""

    competency: str
    layer: Layer
    rate: Rate


class Missed(_Record):
    """A universal criterion, with how often it was missed (not met, or its penalty applied)."""

    criterion: str
    weight: int
    missed: int
    rate: Rate


class Bin(_Record):
    """Tasks whose score is at least `low` and below `high` (the last bin includes 1); `low` None: below 0."""

    low: float | None
    high: float
    count: int


class EpochRow(_Record):
    """One epoch: attempts scored and attempted, and the mean over scored ones."""

    epoch: int
    scored: int
    attempted: int
    mean: float | None


class ErrorRow(_Record):
    """Attempts that ended otherwise than scored, by whose fault and at which stage.

    Attributes:
        owner: "model", "judge", "provider", "program" (this one), "cap" or "visitor".
        stage: "solver", "judge", "program", or "" where no call was at fault.
        share: of the attempts that have an outcome.
        counts: what it does to the means.
        reason: the sentence most often given.
    """

    owner: str
    stage: str
    outcome: Outcome
    count: int
    share: float
    counts: str
    reason: str = ""


class SpendLine(_Record):
    """Money, tokens and seconds. `cost` None: a call had no known price. Seconds are summed over calls, `wall` by clock."""

    cost: float | None
    solver_cost: float | None
    judge_cost: float | None
    cost_per_task: float | None
    calls: int
    input: int
    output: int
    unknown_calls: int
    seconds: float
    wall: float | None


class Summary(_Record):
    """Everything a result page says in figures.

    Attributes:
        scored: mean over scored tasks, the reference's way; attempted: the model's own failures count as 0.
        clipped: the first mean with each score raised to at least 0, None where that changes nothing.
        reweighted: of a stratified sample, the mean with each competency at its share; None where it is the same.
        sentence: both means in words.
        planned, ended, attempted_count, scored_count: attempts (a task in an epoch). Those that the end of the run cut off
            have not ended.
        cut: scored attempts whose answer was cut by length.
        lenient_only: verdicts that only the lenient rule could read.
        unread: verdicts that could not be read, by cause.
        verdict_retries: times a judge was asked again; api_retries: calls that failed and may have been sent again.
        advice: what to do about faults, "" where they are few.
    """

    status: str
    solver: str
    judge: str
    prompt: str
    differences: tuple[str, ...]
    tasks: int
    planned: int
    ended: int
    attempted_count: int
    scored_count: int
    counts: dict[str, int]
    scored: Mean
    attempted: Mean
    clipped: Mean | None
    clipped_label: str = CLIPPED_LABEL
    reweighted: Mean | None
    sentence: str
    cut: int
    by_competency: tuple[Group, ...]
    by_subcompetency: tuple[Group, ...]
    by_facet: dict[str, tuple[Group, ...]]
    by_layer: tuple[LayerRate, ...]
    heat: tuple[Cell, ...]
    missed: tuple[Missed, ...]
    distribution: tuple[Bin, ...]
    epochs: tuple[EpochRow, ...]
    epoch_spread: float | None
    verdicts: int
    lenient_only: int
    unread: dict[str, int]
    verdict_retries: int
    api_retries: int
    waits: int
    errors: tuple[ErrorRow, ...]
    advice: str
    spend: SpendLine

    @property
    def cut_short(self) -> str:
        """How far a run came that ended early, to stand beside its score: "15 of 63, stopped"; else ""."""
        early = self.ended < self.planned and self.status not in ("running", "finished")
        return f"{self.ended} of {self.planned}, {self.status}" if early else ""


def percent(value: float | None) -> str:
    """A share as text: "83.4 %", "100 %", or "–" where there is none. At most one decimal."""
    return "–" if value is None else f"{round(value * 100, 1) + 0.0:.1f}".removesuffix(".0") + " %"
