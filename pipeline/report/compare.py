"""Two to six runs side by side, on the tasks that all of them scored. Never ranks what cannot be told apart.

Pure, like the summary. Values are task means over epochs; differences are paired by task.
"""

import json
from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from pydantic import BaseModel, ConfigDict

from pipeline.data.records import Layer
from pipeline.errors import UserError
from pipeline.report.figures import Mean, SpendLine
from pipeline.report.stats import ONE_TASK, Difference, Rank, mean_interval, paired_differences
from pipeline.report.summary import model_of, spend_line, summarise
from pipeline.report.tally import Floats, Tally
from pipeline.report.view import RunView

LEAST, MOST = 2, 6
SHOWN = 20


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True)


class RunColumn(_Record):
    """One run of the comparison: its mean on the common tasks, its place among the others, what it cost.

    `rank.best` to `rank.worst` are the places that the paired differences leave open.
    """

    name: str
    solver: str
    judge: str
    prompt: str
    differences: tuple[str, ...]
    mean: Mean
    rank: Rank
    own_tasks: int
    spend: SpendLine


class Pair(_Record):
    """Difference of two runs, by their positions: `first` minus `second`."""

    first: int
    second: int
    difference: Difference


class GroupRow(_Record):
    """A competency or context value: mean of each run over its `tasks` common tasks, and every paired difference."""

    variable: str
    name: str
    tasks: int
    means: tuple[float, ...]
    pairs: tuple[Pair, ...]
    separable: bool


class TaskSplit(_Record):
    """A task on which the runs' scores lie far apart (`spread`: highest minus lowest)."""

    task: str
    competency: str
    scores: tuple[float, ...]
    spread: float


class CriterionSplit(_Record):
    """A criterion on whose verdict the runs differ: in `split` of `compared` common tasks and epochs."""

    criterion: str
    layer: Layer
    weight: int
    split: int
    compared: int
    met: tuple[int, ...]


class Comparison(_Record):
    """Two to six runs on the tasks all of them scored.

    Attributes:
        common: number of those tasks; `left_out` counts planned tasks of any run that are not among them.
        notes: what makes the runs differ otherwise than by the model (judge, prompt, data).
    """

    runs: tuple[RunColumn, ...]
    common: int
    left_out: int
    pairs: tuple[Pair, ...]
    by_competency: tuple[GroupRow, ...]
    by_facet: dict[str, tuple[GroupRow, ...]]
    tasks: tuple[TaskSplit, ...]
    criteria: tuple[CriterionSplit, ...]
    notes: tuple[str, ...]


def compare(views: Sequence[RunView], names: Sequence[str] = (), seed: int = 0) -> Comparison:
    """Compare runs on their common tasks.

    Args:
        names: what to call the runs; default: the solver, and the judge where the solvers are alike.

    Raises:
        UserError: fewer than two runs or more than six.
    """
    if not LEAST <= len(views) <= MOST:
        raise UserError(f"{len(views)} runs were given to compare.", f"Between {LEAST} and {MOST}.", "Add or remove runs.")
    tallies = [Tally(v) for v in views]
    keys = _common(tallies)
    table = np.array([[t.scored[t.index[k]] for k in keys] for t in tallies]).reshape(len(views), len(keys))
    pairs = _pairs(table, seed)
    competency, facets = _by_group(tallies[0], keys, table, seed)
    everything = {k for t in tallies for k in t.index}
    return Comparison(
        runs=_columns(views, tallies, names, table, pairs, seed), common=len(keys), left_out=len(everything) - len(keys),
        pairs=pairs, by_competency=competency, by_facet=facets, tasks=_task_splits(tallies[0], keys, table),
        criteria=_criterion_splits(views, set(keys)), notes=_notes(views),
    )


def _common(tallies: Sequence[Tally]) -> list[str]:
    """Keys of the tasks every run scored, in the first run's order."""
    scored = [{k for k, i in t.index.items() if not np.isnan(t.scored[i])} for t in tallies]
    both = set.intersection(*scored)
    return [k for k in tallies[0].index if k in both]


def _pairs(table: Floats, seed: int) -> tuple[Pair, ...]:
    places = list(combinations(range(len(table)), 2))
    found = paired_differences(np.stack([table[i] - table[j] for i, j in places], axis=1), seed=seed)
    return tuple(Pair(first=i, second=j, difference=d) for (i, j), d in zip(places, found, strict=True))


def _columns(
    views: Sequence[RunView], tallies: Sequence[Tally], names: Sequence[str], table: Floats, pairs: Sequence[Pair], seed: int
) -> tuple[RunColumn, ...]:
    places = _places(len(views), pairs)
    labels = names or _labels(views)
    columns = []
    for i, (view, tally) in enumerate(zip(views, tallies, strict=True)):
        have = table[i]
        mean = Mean(value=float(have.mean()) if len(have) else None, interval=mean_interval(have, seed=seed), tasks=len(have),
                    note="" if len(have) > 1 else ONE_TASK if len(have) else "no task in common")
        columns.append(RunColumn(name=labels[i], solver=model_of(view, "solver"), judge=model_of(view, "judge"), mean=mean,
                                 prompt=view.prompt.version if view.prompt else "", differences=tuple(view.differences),
                                 rank=places[i], own_tasks=int((~np.isnan(tally.scored)).sum()), spend=spend_line(view)))
    return tuple(columns)


def _places(n: int, pairs: Sequence[Pair]) -> list[Rank]:
    """Places by the paired differences, which separate runs that their own intervals would not."""
    better, worse = [0] * n, [0] * n
    for p in pairs:
        if p.difference.separable and p.difference.value:
            up, down = (p.first, p.second) if p.difference.value > 0 else (p.second, p.first)
            better[down] += 1
            worse[up] += 1
    return [Rank(best=1 + better[i], worst=n - worse[i]) for i in range(n)]


def _labels(views: Sequence[RunView]) -> list[str]:
    models = [model_of(v, "solver") for v in views]
    if len(set(models)) == len(models):
        return models
    labels = [f"{m}, judged by {model_of(v, 'judge')}" for m, v in zip(models, views, strict=True)]
    return [f"{label} ({i})" if labels.count(label) > 1 else label for i, label in enumerate(labels, 1)]


def _by_group(
    tally: Tally, keys: Sequence[str], table: Floats, seed: int
) -> tuple[tuple[GroupRow, ...], dict[str, tuple[GroupRow, ...]]]:
    members: dict[tuple[str, str], list[int]] = defaultdict(list)
    for column, key in enumerate(keys):
        task = tally.tasks[tally.index[key]]
        members["", task.competency].append(column)
        for variable, values in task.facets.items():
            for value in dict.fromkeys(values):
                members[variable, value].append(column)
    rows: dict[str, list[GroupRow]] = defaultdict(list)
    for (variable, name), columns in sorted(members.items()):
        part = table[:, columns]
        pairs = _pairs(part, seed)
        rows[variable].append(GroupRow(variable=variable, name=name, tasks=len(columns), means=tuple(map(float, part.mean(1))),
                                       pairs=pairs, separable=any(p.difference.separable for p in pairs)))
    return tuple(rows.pop("", [])), {variable: tuple(found) for variable, found in rows.items()}


def _task_splits(tally: Tally, keys: Sequence[str], table: Floats) -> tuple[TaskSplit, ...]:
    if not len(keys):
        return ()
    spread = np.ptp(table, axis=0)
    order = sorted(range(len(keys)), key=lambda c: (-spread[c], c))[:SHOWN]
    return tuple(TaskSplit(task=keys[c], competency=tally.tasks[tally.index[keys[c]]].competency,
                           scores=tuple(map(float, table[:, c])), spread=float(spread[c])) for c in order if spread[c] > 0)


def _criterion_splits(views: Sequence[RunView], keys: set[str]) -> tuple[CriterionSplit, ...]:
    """Criteria by how often the runs' verdicts differ; one that several tasks share is counted over all of them."""
    plan = {(t.key, c.id): c for v in views for t in v.tasks if t.key in keys for c in t.criteria}
    found: dict[str, list[tuple[bool, ...]]] = defaultdict(list)
    kind = {}
    for (task, epoch), attempt in views[0].attempts.items():
        for cid in attempt.verdicts if task in keys else ():
            given = [v.attempts[task, epoch].verdicts.get(cid) if (task, epoch) in v.attempts else None for v in views]
            verdicts = tuple(g.verdict for g in given if g is not None and g.verdict is not None)
            if len(verdicts) == len(views) and (task, cid) in plan:
                found[cid].append(verdicts)
                kind[cid] = plan[task, cid]
    rows = [CriterionSplit(criterion=cid, layer=kind[cid].layer, weight=kind[cid].weight, compared=len(all_),
                           split=sum(len(set(v)) > 1 for v in all_), met=tuple(sum(c) for c in zip(*all_, strict=True)))
            for cid, all_ in found.items()]
    rows.sort(key=lambda r: (-r.split, -r.split / r.compared, r.criterion))
    return tuple(r for r in rows if r.split)[:SHOWN]


def _notes(views: Sequence[RunView]) -> tuple[str, ...]:
    said = []
    if len({model_of(v, "judge") for v in views}) > 1:
        said.append("The runs have different judges.")
    elif len({json.dumps((v.spec.get("judge") or {}).get("config") or {}, sort_keys=True) for v in views}) > 1:
        said.append("The runs have the same judge with different settings.")
    if len({(v.prompt.version, v.prompt.digest) if v.prompt else ("", "") for v in views}) > 1:
        said.append("The runs have different judge prompts.")
    if len({(v.data.kind, v.data.digest or v.data.revision) if v.data else ("", "") for v in views}) > 1:
        said.append("The runs used different task files; tasks were matched by their key.")
    if len({v.spec.get("verdict_parser") for v in views}) > 1:
        said.append("The runs read verdicts by different rules.")
    if len({v.spec.get("verdict_retries") for v in views}) > 1:
        said.append("The runs may ask for an unreadable verdict again a different number of times.")
    if len({v.epochs for v in views}) > 1:
        said.append("The runs have different numbers of epochs.")
    if any(v.status != "finished" for v in views):
        said.append("Not every run has finished.")
    return tuple(said)


class GridCell(_Record):
    """The run of one model and judge: the latest where there are several. `run` is its position among the views."""

    model: str
    judge: str
    run: int
    mean: Mean
    differences: tuple[str, ...]


class Grid(_Record):
    """A matrix of models by judges; pairs that were not run are absent. Each column is comparable only within itself."""

    models: tuple[str, ...]
    judges: tuple[str, ...]
    cells: tuple[GridCell, ...]

    def cell(self, model: str, judge: str) -> GridCell | None:
        """The cell of one model and judge, or None."""
        return next((c for c in self.cells if c.model == model and c.judge == judge), None)


def grid(views: Sequence[RunView], seed: int = 0) -> Grid:
    """Any number of runs as a matrix of model by judge."""
    latest: dict[tuple[str, str], int] = {}
    for i, view in enumerate(views):
        key = (model_of(view, "solver"), model_of(view, "judge"))
        if key not in latest or view.started >= views[latest[key]].started:
            latest[key] = i
    cells = []
    for (model, judge), i in sorted(latest.items()):
        s = summarise(views[i], seed)
        cells.append(GridCell(model=model, judge=judge, run=i, mean=s.scored, differences=s.differences))
    return Grid(models=tuple(dict.fromkeys(m for m, _ in sorted(latest))), judges=tuple(sorted({j for _, j in latest})),
                cells=tuple(cells))
