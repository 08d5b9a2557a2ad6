"""Counting the task set: how many tasks each name would leave, and two variables crossed. Pure; holds no text."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipeline.data.records import Layer, Task


@dataclass(frozen=True)
class Filters:
    """What is asked for. Values of one variable are alternatives; variables all apply, as in a run."""

    competency: tuple[str, ...] = ()
    subcompetency: tuple[str, ...] = ()
    context: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, query: Any) -> "Filters":
        """From Starlette's query parameters; `context` holds KEY=VALUE."""
        pairs = [text.partition("=") for text in query.getlist("context")]
        return cls(
            tuple(dict.fromkeys(query.getlist("competency"))),
            tuple(dict.fromkeys(query.getlist("subcompetency"))),
            tuple(dict.fromkeys((k.strip(), v.strip()) for k, mark, v in pairs if mark)),
        )

    def params(self) -> list[tuple[str, str]]:
        """The same as query parameters."""
        return (
            [("competency", c) for c in self.competency]
            + [("subcompetency", c) for c in self.subcompetency]
            + [("context", f"{k}={v}") for k, v in self.context]
        )

    def variables(self) -> dict[str, set[str]]:
        """Wanted values by variable; "competency" and "subcompetency" are variables as well."""
        found: dict[str, set[str]] = {}
        for variable, names in (("\0competency", self.competency), ("\0subcompetency", self.subcompetency)):
            if names:
                found[variable] = set(names)
        for key, value in self.context:
            found.setdefault(key, set()).add(value)
        return found


COMPETENCY, SUBCOMPETENCY = "\0competency", "\0subcompetency"
"""Names no context variable of a file can have, for the two that are columns of their own."""


def values_of(task: Task, variable: str) -> tuple[str, ...]:
    """The task's values of a variable."""
    if variable == COMPETENCY:
        return (task.competency,)
    return task.subcompetencies if variable == SUBCOMPETENCY else task.facets.get(variable, ())


def fits(task: Task, wanted: dict[str, set[str]], without: str = "") -> bool:
    """Whether a task passes all filters, one of them left out where named."""
    return all(variable == without or not names.isdisjoint(values_of(task, variable)) for variable, names in wanted.items())


@dataclass(frozen=True)
class Choice:
    """One value to click on: `n` tasks would have it under the other filters; `on` where it is asked for."""

    name: str
    n: int
    on: bool


@dataclass(frozen=True)
class Overview:
    """The filtered set in numbers. `choices` by variable; `layers` are criteria by rubric layer, with penalties among them."""

    all: int
    tasks: list[Task]
    choices: dict[str, list[Choice]]
    layers: dict[str, int]
    penalties: int
    resources: int
    with_resources: int
    variables: list[str] = field(default_factory=list)


def overview(tasks: Sequence[Task], filters: Filters) -> Overview:
    """Counts of every value, each under all filters but those on its own variable."""
    wanted = filters.variables()
    names = [COMPETENCY, SUBCOMPETENCY, *sorted({key for task in tasks for key in task.facets})]
    choices = {variable: _choices(tasks, variable, wanted) for variable in names}
    kept = [task for task in tasks if fits(task, wanted)]
    layers = Counter(c.layer.value for task in kept for c in task.criteria)
    files = {r.name for task in kept for r in task.resources}
    return Overview(
        len(tasks),
        kept,
        choices,
        {layer.value: layers[layer.value] for layer in Layer},
        sum(c.weight < 0 for task in kept for c in task.criteria),
        len(files),
        sum(bool(t.resources) for t in kept),
        names,
    )


def _choices(tasks: Iterable[Task], variable: str, wanted: dict[str, set[str]]) -> list[Choice]:
    every: dict[str, int] = {}
    for task in tasks:
        counted = fits(task, wanted, without=variable)
        for name in set(values_of(task, variable)):
            every[name] = every.get(name, 0) + counted
    on = wanted.get(variable, set())
    ordered = (
        sorted(every, key=str.casefold) if variable.startswith("\0") else sorted(every, key=lambda n: (-every[n], n.casefold()))
    )
    return [Choice(name, every[name], name in on) for name in ordered]


@dataclass(frozen=True)
class Crossed:
    """Counts of tasks by two variables; a task with several values counts once in each of its cells."""

    rows: list[str]
    columns: list[str]
    counts: list[list[int]]
    left_out: int = 0


def cross(tasks: Sequence[Task], row: str, column: str, most: int = 12) -> Crossed:
    """Two variables crossed, each at its `most` commonest values; `left_out` counts values that are not shown."""
    cells = Counter((a, b) for task in tasks for a in set(values_of(task, row)) for b in set(values_of(task, column)))
    rows, more_rows = _commonest(Counter(v for task in tasks for v in set(values_of(task, row))), most, row)
    columns, more_columns = _commonest(Counter(v for task in tasks for v in set(values_of(task, column))), most, column)
    return Crossed(rows, columns, [[cells[a, b] for b in columns] for a in rows], more_rows + more_columns)


def _commonest(counts: Counter[str], most: int, variable: str) -> tuple[list[str], int]:
    kept = [name for name, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0].casefold()))[:most]]
    return sorted(kept, key=str.casefold) if variable.startswith("\0") else kept, len(counts) - len(kept)
