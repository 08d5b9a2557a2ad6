"""The charts of a run: each a title, a sentence in words, a table, and a figure. Computes no statistic of its own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipeline.data.records import Layer
from pipeline.judging.outcomes import ATTEMPTED, Outcome
from pipeline.report.figures import Group, Rate, Summary
from ui.results import figures
from ui.results.figures import FEW, Bar, Mark, Spec
from ui.results.frame import interval_text, money, percent
from ui.results.published import authors
from ui.words.said import translated

T = Callable[..., str]
MISSED_SHOWN = 10
VALUES_SHOWN = 8
MISSED_LEAST = 3
"""Fewest verdicts for a universal criterion to be drawn among the most missed; the table has all."""


@dataclass(frozen=True)
class Cell:
    """One cell of a table. `bar`: (low, value, high) of a share, drawn as a small picture beside the number."""

    text: str
    num: bool = False
    quiet: bool = False
    bar: tuple[float, float, float] | None = None


@dataclass(frozen=True)
class Chart:
    """One picture with its words and its table. `spec` is a Plotly figure, None where there is nothing to draw."""

    id: str
    title: str
    alt: str
    head: tuple[str, ...]
    rows: list[list[Cell]]
    spec: Spec | None
    help: str = ""
    wide: bool = False
    group: str = ""
    parts: list["Chart"] = field(default_factory=list)


def charts(summary: Summary, t: T, texts: dict[str, str] | None = None) -> list[Chart]:
    """All charts of a run, in the order of the page; empty ones keep their table and say that nothing is there.

    Args:
        t: words under a key, filled. texts: descriptions of criteria by id, for those who may see them.
    """
    return [
        competencies(summary, t),
        heat_map(summary, t),
        missed(summary, t, texts or {}),
        distribution(summary, t),
        cost(summary, t),
        outcomes(summary, t),
        *contexts(summary, t),
    ]


def figure_specs(summary: Summary, t: T) -> dict[str, Spec]:
    """Every figure there is to draw, by chart id; colours are names of CSS variables (see `figures.themed`)."""
    return {c.id: c.spec for c in charts(summary, t) if c.spec}


def _bar(group: Group) -> Bar:
    return Bar(group.name, group.scored.tasks, group.scored.value, group.scored.interval, group.scored.note)


def _group_head(t: T, first: str) -> tuple[str, ...]:
    return (first, t("col_n"), t("col_mean"), t("col_interval"), t("result.col_attempted"), t("result.col_note"))


def _group_row(group: Group, t: T) -> list[Cell]:
    few = group.scored.tasks < FEW
    return [
        Cell(group.name),
        Cell(str(group.scored.tasks), num=True, quiet=few),
        Cell(percent(group.scored.value), num=True, quiet=few, bar=_ends(_bar(group))),
        Cell(interval_text(group.scored.interval), num=True, quiet=few),
        Cell(percent(group.attempted.value), num=True, quiet=few),
        Cell(note(group.scored.note, t), quiet=True),
    ]


def _ends(bar: Bar) -> tuple[float, float, float] | None:
    if bar.value is None:
        return None
    span = (bar.interval.low, bar.interval.high) if bar.interval else (bar.value, bar.value)
    low, high = (min(1.0, max(0.0, e)) for e in span)
    return low, min(1.0, max(0.0, bar.value)), high


NOTES = {
    "one task: no interval": "result.note.one",
    "no spread seen": "result.note.flat",
    "fewer than 5 tasks": "result.note.few",
    "no task scored": "result.note.none",
    "not separable": "compare.tie",
    "no task in common": "compare.no_common",
}


def note(text: str, t: T) -> str:
    """The statistics' notes in the page's language; what is unknown stays as it is."""
    return "; ".join(t(NOTES[part]) if part in NOTES else part for part in text.split("; ") if part)


def _extremes(items: Sequence[Bar], t: T) -> str:
    """Highest and lowest in words; the reader of the picture's place. Small groups count only where there are no others."""
    drawn = sorted((b for b in items if b.value is not None), key=lambda b: -(b.value or 0))
    known = [b for b in drawn if b.n >= FEW] or drawn
    few = sum(1 for b in items if b.n < FEW)
    said = (
        t("result.alt.none")
        if not known
        else t("result.alt.one", name=known[0].name, value=percent(known[0].value))
        if len(known) == 1
        else t(
            "result.alt.range",
            high=known[0].name,
            high_value=percent(known[0].value),
            low=known[-1].name,
            low_value=percent(known[-1].value),
            n=len(items),
        )
    )
    if len(known) > 1 and known[0].interval and known[-1].interval and known[0].interval.low <= known[-1].interval.high:
        said += " " + t("result.alt.overlap")
    return said + (" " + t("result.alt.few", n=few, of=len(items)) if few else "")


def competencies(summary: Summary, t: T) -> Chart:
    """Mean of each competency with its interval."""
    items = [_bar(g) for g in summary.by_competency]
    return Chart(
        "competency",
        t("result.chart.competency"),
        _extremes(items, t),
        _group_head(t, t("col_competency")),
        [_group_row(g, t) for g in summary.by_competency],
        figures.bars(items, grey=True) if items else None,
        t("result.chart.competency_help"),
        wide=True,
    )


def contexts(summary: Summary, t: T) -> list[Chart]:
    """One small chart for each context variable with at least two values; the largest groups are drawn, all are listed."""
    found = []
    for i, (name, groups) in enumerate(summary.by_facet.items()):
        if len(groups) < 2:
            continue
        largest = sorted(groups, key=lambda g: -g.chosen)[:VALUES_SHOWN]
        drawn = [g for g in groups if g in largest]
        items = [Bar(f"{b.name} (n\u00a0{b.n})", b.n, b.value, b.interval, b.note) for b in map(_bar, drawn)]
        alt = _extremes([_bar(g) for g in groups], t)
        if len(drawn) < len(groups):
            alt += " " + t("result.alt.largest", n=len(drawn), of=len(groups))
        found.append(
            Chart(
                f"context-{i}",
                name,
                alt,
                _group_head(t, name),
                [_group_row(g, t) for g in groups],
                figures.bars(items, width=20, grey=True),
                group="context",
            )
        )
    return found


def heat_map(summary: Summary, t: T) -> Chart:
    """Pass rate of each competency in each rubric layer."""
    names = [g.name for g in summary.by_competency]
    rates: dict[tuple[str, Layer], Rate] = {(c.competency, c.layer): c.rate for c in summary.heat}
    layers = list(Layer)
    values = [[_value(rates.get((n, layer))) for layer in layers] for n in names]
    texts = [[percent(v, 0) if v is not None else "" for v in row] for row in values]
    heads = [t(f"layer_{layer.value}") for layer in layers]
    known = [(v, n, h) for n, row in zip(names, values, strict=True) for h, v in zip(heads, row, strict=True) if v is not None]
    low = min(known) if known else None
    alt = t("result.alt.heat", name=low[1], layer=low[2], value=percent(low[0], 0)) if low else t("result.alt.none")
    rows = [[Cell(n), *(_rate_cell(rates.get((n, layer))) for layer in layers)] for n in names]
    return Chart(
        "heat",
        t("result.chart.heat"),
        alt,
        (t("col_competency"), *heads),
        rows,
        figures.heat(names, heads, values, texts) if known else None,
        t("result.chart.heat_help"),
        wide=True,
    )


def _value(rate: Rate | None) -> float | None:
    return rate.value if rate else None


def _rate_cell(rate: Rate | None) -> Cell:
    if rate is None or rate.value is None:
        return Cell("–", num=True, quiet=True)
    return Cell(f"{percent(rate.value)} ({rate.passed}/{rate.total})", num=True)


def missed(summary: Summary, t: T, texts: dict[str, str]) -> Chart:
    """Universal criteria by how often they were missed, with Wilson intervals."""
    drawn = [m for m in summary.missed if m.missed and m.rate.total >= MISSED_LEAST][:MISSED_SHOWN]
    items = [Bar(f"{m.criterion} (n\u00a0{m.rate.total})", m.rate.total, m.missed / m.rate.total, _flipped(m.rate)) for m in drawn]
    head = [
        t("result.col_criterion"),
        t("result.col_weight"),
        t("result.col_missed"),
        t("result.col_of"),
        t("result.col_share"),
        t("col_interval"),
    ]
    rows = [
        [
            Cell(m.criterion + (f": {texts[m.criterion]}" if m.criterion in texts else "")),
            Cell(signed(m.weight), num=True),
            Cell(str(m.missed), num=True),
            Cell(str(m.rate.total), num=True),
            Cell(percent(m.missed / m.rate.total), num=True),
            Cell(interval_text(_flipped(m.rate)), num=True),
        ]
        for m in summary.missed
    ]
    worst = drawn[0].criterion if drawn else ""
    name = f"{worst} ({texts[worst].rstrip('.')})" if worst in texts else worst
    alt = t("result.alt.missed", name=name, value=percent(items[0].value, 0)) if items else t("result.alt.no_missed")
    return Chart(
        "missed",
        t("result.chart.missed"),
        alt,
        tuple(head),
        rows,
        figures.bars(items, 16) if items else None,
        t("result.chart.missed_help"),
    )


def _flipped(rate: Rate) -> Any:
    """The interval of the share missed: one minus that of the share passed."""
    i = rate.interval
    return i.model_copy(update={"low": 1 - i.high, "high": 1 - i.low}) if i else None


def signed(weight: int) -> str:
    """A weight with its sign, with a real minus."""
    return f"{weight:+d}".replace("-", "−")


def distribution(summary: Summary, t: T) -> Chart:
    """How many tasks have which score."""
    bins = summary.distribution
    total = sum(b.count for b in bins)
    names = [t("result.below_zero") if b.low is None else f"{b.low:.0%}–{b.high:.0%}" for b in bins]
    edges = [b.high - 0.1 if b.low is None else b.low for b in bins] + [1.0]
    top = max(bins, key=lambda b: b.count, default=None)
    alt = (
        t("result.alt.none")
        if not total or top is None
        else t("result.alt.distribution", name=names[bins.index(top)], n=top.count, of=total)
    )
    spec = figures.histogram(edges, [b.count for b in bins], t("col_score"), t("result.tasks")) if total else None
    return Chart(
        "distribution",
        t("result.chart.distribution"),
        alt,
        (t("col_score"), t("result.tasks")),
        [[Cell(n), Cell(str(b.count), num=True)] for n, b in zip(names, bins, strict=True)],
        spec,
        t("result.chart.distribution_help"),
    )


def cost(summary: Summary, t: T) -> Chart:
    """This run's cost per task against its score; published scores, which have no cost, as lines across."""
    context = [Mark(p.model, p.score) for p in authors()]
    own = summary.scored.value
    per_task = summary.spend.cost_per_task
    marks = [Mark(t("result.this_run"), own, per_task, summary.scored.interval)] if own is not None and per_task is not None else []
    rows = (
        [
            [
                Cell(summary.solver),
                Cell(percent(own), num=True),
                Cell(money(per_task) if per_task is not None else t("est_unknown"), num=True),
                Cell(t("result.this_run")),
            ]
        ]
        if own is not None
        else []
    )
    rows += [
        [
            Cell(m.name),
            Cell(percent(m.score), num=True),
            Cell(t("result.not_published"), num=True, quiet=True),
            Cell(t("result.published")),
        ]
        for m in context
    ]
    alt = t("result.alt.no_cost") if not marks else t("result.alt.cost", cost=money(per_task), score=percent(own), n=len(context))
    lines = [*marks, *context] if marks or own is None else [Mark(t("result.this_run"), own), *context]
    spec = figures.cost_chart(lines, t("result.cost_axis"), t("col_score")) if own is not None else None
    return Chart(
        "cost",
        t("result.chart.cost"),
        alt,
        (t("result.col_model"), t("col_score"), t("result.cost_per_task"), ""),
        rows,
        spec,
        t("result.chart.cost_help"),
    )


def outcomes(summary: Summary, t: T) -> Chart:
    """How the tasks ended, by stage, with what each does to the means."""
    ended = [o for o in Outcome if summary.counts.get(o.value)]
    colours = ["var(--bar)" if o is Outcome.SCORED else "var(--fail)" if o in ATTEMPTED else "var(--skip)" for o in ended]
    names = [t(f"outcome_{o.value}") for o in ended]
    counts = [summary.counts[o.value] for o in ended]
    said = ", ".join(f"{n} {name}" for n, name in zip(counts, names, strict=True))
    alt = t("result.alt.outcomes", list=said, cut=summary.cut) if said else t("result.alt.none")
    rows = [[Cell(t("outcome_scored")), Cell(str(summary.counts.get("scored", 0)), num=True), *[Cell("")] * 4]]
    stages = {"solver": t("est_solver"), "judge": t("est_judge"), "program": t("result.owner.program")}
    rows += [
        [
            Cell(t(f"outcome_{e.outcome.value}")),
            Cell(str(e.count), num=True),
            Cell(stages.get(e.stage, "")),
            Cell(t(f"result.owner.{e.owner}")),
            Cell(t("result.counts.zero" if e.outcome in ATTEMPTED else "result.counts.neither")),
            Cell(translated(e.reason, t("lang"))),
        ]
        for e in summary.errors
    ]
    named = ("col_stage", "col_owner", "col_counts", "col_reason")
    head = (t("col_outcome"), t("result.tasks"), *(t(f"result.{name}") for name in named))
    return Chart(
        "outcomes",
        t("result.chart.outcomes"),
        alt,
        head,
        rows,
        figures.count_bars(names, counts, colours) if said else None,
        t("result.chart.outcomes_help"),
    )
