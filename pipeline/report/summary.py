"""Summary = summarise(RunView): every figure of a result page, with its interval and what must be said beside it.

Pure: no clock, no disk, no text of the benchmark. A task's value is the mean over its epochs, so a task is one cluster.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.data.records import Layer
from pipeline.judging.outcomes import ATTEMPTED, MODEL_FAILURES, PROGRAM, Outcome
from pipeline.report import stats
from pipeline.report.figures import (
    Bin,
    Cell,
    EpochRow,
    ErrorRow,
    Group,
    LayerRate,
    Mean,
    Missed,
    Rate,
    SpendLine,
    Summary,
    percent,
)
from pipeline.report.stats import Interval
from pipeline.report.tally import Floats, JudgedCriterion, Tally
from pipeline.report.view import RunView

FEW = 5
RERUN_SHARE = 0.05
"""Share of ended tasks lost to judge or provider above which a rerun is advised."""


def summarise(view: RunView, seed: int | None = None, population: Mapping[str, int] | None = None) -> Summary:
    """All figures of a run, finished or not.

    Args:
        seed: of the intervals; the one of the run where None, so that pages, manifest and exports agree.
        population: number of tasks of each competency that a stratified sample was drawn from; where absent, the
            size of the whole set is used if the run filtered nothing.
    """
    tally = Tally(view)
    design = _Design(tally, int(view.spec.get("seed", 0)) if seed is None else seed, population)
    counts = view.counts()
    mean = design.mean(tally.scored)
    clipped = None if np.array_equal(tally.scored, tally.clipped, equal_nan=True) else design.mean(tally.clipped)
    same = np.array_equal(tally.scored, tally.attempted, equal_nan=True)
    attempted = mean if same else design.mean(tally.attempted)
    competency, subcompetency, facets = _groups(tally, design, same)
    errors = _errors(view)
    return Summary(
        status=view.status, solver=model_of(view, "solver"), judge=model_of(view, "judge"),
        prompt=view.prompt.version if view.prompt else "", differences=tuple(view.differences),
        tasks=len(view.tasks), planned=view.planned, ended=view.done,
        attempted_count=sum(counts[o.value] for o in ATTEMPTED), scored_count=counts[Outcome.SCORED.value], counts=counts,
        scored=mean, attempted=attempted, clipped=clipped, reweighted=design.reweighted(tally.scored),
        sentence=_sentence(mean, attempted),
        cut=sum(1 for a in view.attempts.values() if a.cut and a.outcome is Outcome.SCORED),
        by_competency=competency, by_subcompetency=subcompetency, by_facet=facets,
        by_layer=_layers(tally), heat=_heat(tally), missed=_missed(tally), distribution=_distribution(tally.scored),
        epochs=_epochs(view, tally), epoch_spread=tally.epoch_spread(), **_verdict_counts(view),
        api_retries=sum(s.faults for s in view.spend.values()), waits=view.waits,
        errors=errors, advice=_advice(errors, view.done), spend=spend_line(view),
    )


class _Design:
    """How the tasks were drawn, which decides how their mean varies."""

    def __init__(self, tally: Tally, seed: int, population: Mapping[str, int] | None) -> None:
        spec, view = tally.view.spec, tally.view
        self.seed = seed
        self.competency = [t.competency for t in tally.tasks]
        filtered = any(spec.get(name) for name in ("competency", "subcompetency", "context", "task_ids"))
        whole = view.data.available if view.data else 0
        size = sum(population.values()) if population else 0 if filtered else whole
        self.stratified = spec.get("sampling") == "stratified" and 0 < len(tally.tasks) != size and bool(spec.get("sample_limit"))
        self.size = size if self.stratified and size > len(tally.tasks) else None
        known = population if population and self.stratified else Counter(self.competency)
        self.shares: dict[Hashable, float] = {name: n / max(sum(known.values()), 1) for name, n in known.items()}

    def mean(self, values: Floats, shares: dict[Hashable, float] | None = None) -> Mean:
        """Mean of the values there are, with its interval."""
        have = np.flatnonzero(~np.isnan(values))
        if not len(have):
            return Mean(value=None, note="no task scored")
        x, strata = values[have], [self.competency[i] for i in have]
        interval = stats.mean_interval(x, strata=strata if self.stratified else None, shares=shares,
                                       population=self.size, seed=self.seed)
        value = float(x.mean())
        if shares:
            present = {s: shares.get(s, 0.0) for s in dict.fromkeys(strata)}  # a set's order changes with the process
            means = {s: float(np.mean([v for v, o in zip(x, strata, strict=True) if o == s])) for s in present}
            value = sum(present[s] * means[s] for s in present) / sum(present.values())
        return Mean(value=value, interval=interval, tasks=len(x), note=_note(len(x), interval))

    def reweighted(self, values: Floats) -> Mean | None:
        """The mean with every competency at its share, where losses or rounding of the shares changed the balance."""
        if not self.stratified or np.isnan(values).all():
            return None
        result = self.mean(values, self.shares)
        plain = float(np.nanmean(values))
        return result if result.value is not None and abs(result.value - plain) >= 0.0005 else None

    def groups(self, values: Floats, members: NDArray[np.bool_]) -> list[Mean]:
        """Mean and interval of each column of `members`."""
        have = ~np.isnan(values)
        x, inside = values[have], members[have]
        fraction = len(x) / self.size if self.size else 0.0
        intervals = stats.group_intervals(x, inside, fraction=fraction, seed=self.seed) if len(x) else [None] * members.shape[1]
        sizes, sums = inside.sum(0), (inside * x[:, None]).sum(0)
        return [Mean(value=float(s / n) if n else None, interval=i, tasks=int(n), note=_note(int(n), i) if n else "no task scored")
                for n, s, i in zip(sizes, sums, intervals, strict=True)]


def _note(n: int, interval: Interval | None) -> str:
    if n == 1:
        return stats.ONE_TASK
    notes = [stats.FEW_TASKS] if n < FEW else []
    if interval and interval.note and interval.note not in notes:
        notes.append(interval.note)
    return "; ".join(notes)


def _groups(tally: Tally, design: _Design, same: bool) -> tuple[tuple[Group, ...], tuple[Group, ...], dict[str, tuple[Group, ...]]]:
    """Competencies, sub-competencies and context values, all from one set of resamples."""
    members: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for i, task in enumerate(tally.tasks):
        members["competency", "", task.competency].append(i)
        for name in dict.fromkeys(task.subcompetencies):
            members["subcompetency", "", name].append(i)
        for key, values in task.facets.items():
            for value in dict.fromkeys(values):
                members["facet", key, value].append(i)
    names = sorted(members)
    matrix = np.zeros((len(tally.tasks), len(names)), dtype=bool)
    for column, triple in enumerate(names):
        matrix[members[triple], column] = True
    scored = design.groups(tally.scored, matrix)
    attempted = scored if same else design.groups(tally.attempted, matrix)
    found: dict[tuple[str, str], list[Group]] = defaultdict(list)
    for (kind, key, name), s, a in zip(names, scored, attempted, strict=True):
        found[kind, key].append(Group(name=name, chosen=len(members[kind, key, name]), scored=s, attempted=a))
    facets = {key: tuple(rows) for (kind, key), rows in found.items() if kind == "facet"}
    return tuple(found["competency", ""]), tuple(found["subcompetency", ""]), facets


def _rates(verdicts: Sequence[JudgedCriterion], key: Callable[[JudgedCriterion], Any]) -> dict[Any, Rate]:
    """Pass rate by `key`, clustered by task; in sorted order of the key."""
    found: dict[Any, dict[int, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for v in verdicts:
        cell = found[key(v)][v.task]
        cell[0] += v.passed
        cell[1] += 1
    rates = {}
    for name in sorted(found):
        pairs = np.array(list(found[name].values()))
        passed, total, tasks = int(pairs[:, 0].sum()), int(pairs[:, 1].sum()), len(pairs)
        interval = stats.rate_interval(pairs[:, 0], pairs[:, 1])
        rates[name] = Rate(passed=passed, total=total, tasks=tasks, value=passed / total, interval=interval,
                           note=_note(tasks, interval))
    return rates


_ORDER = {layer: i for i, layer in enumerate(Layer)}


def _layers(tally: Tally) -> tuple[LayerRate, ...]:
    rates = _rates(tally.verdicts, lambda v: v.layer)
    return tuple(LayerRate(layer=layer, rate=rates[layer]) for layer in Layer if layer in rates)


def _heat(tally: Tally) -> tuple[Cell, ...]:
    rates = _rates(tally.verdicts, lambda v: (v.competency, _ORDER[v.layer]))
    layers = list(Layer)
    return tuple(Cell(competency=name, layer=layers[i], rate=rate) for (name, i), rate in rates.items())


def _missed(tally: Tally) -> tuple[Missed, ...]:
    """Universal criteria, those missed by the largest share of verdicts first; ties by how often, then by id."""
    universal = [v for v in tally.verdicts if v.layer is Layer.UNIVERSAL]
    weights = {v.criterion: v.weight for v in universal}
    rows = [Missed(criterion=name, weight=weights[name], missed=rate.total - rate.passed, rate=rate)
            for name, rate in _rates(universal, lambda v: v.criterion).items()]
    return tuple(sorted(rows, key=lambda r: (-r.missed / r.rate.total, -r.missed, r.criterion)))


def _distribution(scores: Floats) -> tuple[Bin, ...]:
    x = scores[~np.isnan(scores)]
    # 0.3 * 10 is 2.999...: the small step keeps a score in the bin its printed figure names
    tenths = np.clip(np.floor(x * 10 + 1e-9).astype(int), -1, 9)
    bins = [Bin(low=None, high=0.0, count=int((tenths == -1).sum()))] if (tenths == -1).any() else []
    return (*bins, *(Bin(low=i / 10, high=(i + 1) / 10, count=int((tenths == i).sum())) for i in range(10)))


def _epochs(view: RunView, tally: Tally) -> tuple[EpochRow, ...]:
    rows = []
    for epoch in range(1, view.epochs + 1):
        scores = tally.epoch_scores(epoch)
        attempted = sum(1 for a in view.attempts.values() if a.epoch == epoch and a.outcome in ATTEMPTED)
        rows.append(EpochRow(epoch=epoch, scored=len(scores), attempted=attempted, mean=float(np.mean(scores)) if scores else None))
    return tuple(rows)


_NO_ANSWER = frozenset({"", "no_verdict", "unreadable", "judge_empty", "judge_token_budget", "judge_filtered"})


def _verdict_counts(view: RunView) -> dict[str, Any]:
    given = [v for a in view.attempts.values() for v in a.verdicts.values()]
    judge = view.spend["judge"]
    # A judge call that was answered beyond one a verdict is a verdict asked for again: the journal keeps no own count.
    answered = sum(1 for v in given if v.verdict is not None or v.cause in _NO_ANSWER)
    return {
        "verdicts": sum(1 for v in given if v.verdict is not None),
        "lenient_only": sum(1 for v in given if v.verdict is not None and v.strict is None),
        "unread": dict(sorted(Counter(v.cause or "unreadable" for v in given if v.verdict is None).items())),
        "verdict_retries": max(0, judge.calls - judge.faults - answered) if given else 0,
    }


_OWNER = {Outcome.JUDGE_UNPARSABLE: "judge", Outcome.API_ERROR: "provider", Outcome.SKIPPED_BY_CAP: "cap",
          Outcome.CANCELLED: "visitor"}


def _errors(view: RunView) -> tuple[ErrorRow, ...]:
    reasons: dict[tuple[Outcome, str], Counter[str]] = defaultdict(Counter)
    for a in view.attempts.values():
        if a.outcome and a.outcome is not Outcome.SCORED:
            reasons[a.outcome, _stage(a.outcome, a.stage)][a.reason] += 1
    order, total = {o: i for i, o in enumerate(Outcome)}, sum(view.counts().values())
    rows = []
    for (outcome, stage), said in sorted(reasons.items(), key=lambda item: (order[item[0][0]], item[0][1])):
        counts = "0 in the mean over attempted tasks" if outcome in MODEL_FAILURES else "in neither mean"
        owner = PROGRAM if stage == PROGRAM else _OWNER.get(outcome, "model")
        rows.append(ErrorRow(owner=owner, stage=stage, outcome=outcome, count=said.total(),
                             share=said.total() / total, counts=counts, reason=said.most_common(1)[0][0]))
    return tuple(rows)


def _stage(outcome: Outcome, stage: str) -> str:
    if outcome in MODEL_FAILURES:
        return "solver"
    return "judge" if outcome is Outcome.JUDGE_UNPARSABLE else stage


def _advice(errors: Sequence[ErrorRow], ended: int) -> str:
    lost = sum(row.count for row in errors if row.owner in ("judge", "provider"))
    if not ended or lost / ended <= RERUN_SHARE:
        return ""
    return (f"{lost} of {ended} tasks ({percent(lost / ended)}) were lost to faults of the judge or the provider, "
            f"more than {percent(RERUN_SHARE)}: run them again before you rely on the score.")


def _sentence(scored: Mean, attempted: Mean) -> str:
    """Both means with what they are made of: "9 of 9 scored = 100 %, 9 of 10 attempted = 90 %"."""
    if attempted.value is None:
        return "no task attempted yet"
    first = _share(scored, "scored") if scored.value is not None else "0 scored"
    return f"{first}, {_share(attempted, 'attempted')}"


def _share(mean: Mean, word: str) -> str:
    points = f"{round((mean.value or 0) * mean.tasks, 2) + 0.0:.2f}".rstrip("0").rstrip(".")
    return f"{points} of {mean.tasks} {word} = {percent(mean.value)}"


def model_of(view: RunView, role: str) -> str:
    """The model of "solver" or "judge" as the run asked for it, else as the provider named it."""
    return str((view.spec.get(role) or {}).get("model") or view.models.get(role, ""))


def spend_line(view: RunView) -> SpendLine:
    """Money, tokens and time of a run so far."""
    solver, judge = view.spend["solver"], view.spend["judge"]
    cost, parts = view.cost, (solver, judge)
    return SpendLine(
        cost=cost, solver_cost=solver.cost if solver.priced else None, judge_cost=judge.cost if judge.priced else None,
        cost_per_task=cost / view.done if cost is not None and view.done else None,
        calls=sum(p.calls for p in parts), input=sum(p.input for p in parts), output=sum(p.output for p in parts),
        unknown_calls=sum(p.unknown for p in parts), seconds=sum(p.seconds for p in parts),
        wall=view.finished - view.started if view.finished and view.started else None,
    )
