"""The records of the benchmark's data: task, criterion, resource, task set. Never reads a file.

Every record is frozen; a task carries its own rubric, so no reader of rubrics can remember an older file.
"""

from dataclasses import dataclass, field
from enum import StrEnum

NO_FACETS: dict[str, tuple[str, ...]] = {}


class Layer(StrEnum):
    """The three rubric layers, in the order in which the reference joins them."""

    TASK = "task"
    CONSENSUS = "consensus"
    UNIVERSAL = "universal"


@dataclass(frozen=True, slots=True)
class Criterion:
    """One criterion of a rubric.

    Attributes:
        id: as written in the score record: task-specific ids carry the prefix `<task_key>-`.
        layer: which of the three layers it belongs to.
        description: what the judge is asked about; gated text.
        weight: integer; a negative weight is a penalty that applies when the criterion is judged true.
    """

    id: str
    layer: Layer
    description: str
    weight: int


@dataclass(frozen=True, slots=True)
class Resource:
    """A file whose text goes to the solver with the task. `missing` marks the placeholder of an absent file."""

    name: str
    text: str
    missing: bool = False


def heading(resource: str) -> str:
    """What stands above the text of a resource, by its name."""
    return f"---\n## Resource: {resource}"


@dataclass(frozen=True, slots=True)
class Task:
    """One teaching task, whole: what the solver sees, what the judge sees, and how it may be filtered.

    Attributes:
        facets: context variables read from `task_variables` and from further columns with few distinct values;
            each maps to one or more short values. Empty where nothing could be read.
        row: 1-based line of the row in the tasks file, the header being line 1.
    """

    key: str
    competency: str
    text: str
    system_prompt: str
    criteria: tuple[Criterion, ...]
    reference_answer: str
    subcompetencies: tuple[str, ...] = ()
    facets: dict[str, tuple[str, ...]] = field(default_factory=lambda: NO_FACETS)
    resources: tuple[Resource, ...] = ()
    version: str = ""
    canary: str = ""
    row: int = 0

    @property
    def maximum(self) -> int:
        """Sum of the positive weights: the denominator of the task's score."""
        return sum(c.weight for c in self.criteria if c.weight > 0)

    @property
    def user_message(self) -> str:
        """The user message of the solver, and `task_text` of the judge: the task, then each resource, laid out as the
        reference does it."""
        blocks = [f"{heading(r.name)}\n\n{r.text}" for r in self.resources]
        return "\n".join([self.text, "", *blocks]) if blocks else self.text


@dataclass(frozen=True, slots=True)
class DataSource:
    """Where a task set came from, as it is recorded in the manifest.

    Attributes:
        kind: "demo", "hub" or "local".
        name: repo id for the Hub, "demo tasks" for the demo, the file's own name for a local file.
        revision: the commit the Hub resolved to; "" elsewhere.
        digest: sha256 of the tasks file and of each resource used, hex.
        gated: True where text of the set must not be published.
    """

    kind: str
    name: str
    revision: str = ""
    digest: str = ""
    gated: bool = False


@dataclass(frozen=True, slots=True)
class TaskSet:
    """All tasks of one source, in file order, with what was noticed while reading."""

    tasks: tuple[Task, ...]
    source: DataSource
    notices: tuple[str, ...] = ()

    def by_key(self) -> dict[str, Task]:
        """Tasks by `task_key`."""
        return {t.key: t for t in self.tasks}
