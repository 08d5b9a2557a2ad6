"""`/compare?runs=A,B`: two to six runs on their common tasks, and a model by judge matrix. Computes no statistic.

Any of a run's ids may be given; an id that opens nothing is said to be not available, whatever the reason.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from pipeline.report.agreement import agreement
from pipeline.report.compare import Comparison, GroupRow, compare, grid
from pipeline.report.stats import Difference
from pipeline.report.view import RunView
from ui.query import Name, Names, Query
from ui.results import figures
from ui.results.charts import Cell, Chart, note, signed
from ui.results.frame import NO_INDEX, Page, interval_text, money, percent, points

LEAST, MOST = 2, 6
MOST_READ = 50
NAMES: Names = {"runs": Name(most=10, longest=6000), "run": Name(most=MOST_READ, longest=500)}
T = Callable[..., str]
LETTERS = "ABCDEF"


class Compare:
    """The page's handlers over a `runner.service.RunService`."""

    def __init__(self, service: Any, viewer: Callable[[Request], str | None]) -> None:
        self.service, self.viewer = service, viewer
        self._kept: dict[Any, tuple[Comparison, list[tuple[int, int, Any]]]] = {}
        self._turn: asyncio.Lock | None = None

    async def page(self, request: Request) -> Response:
        """The comparison; with fewer than two runs, the form that asks for them."""
        page = Page(request, NAMES, noindex=True)
        asked = run_ids(page.query)
        ids = asked[:MOST]
        known, views, missing = await self._views(request, ids)
        said = [page.plural("compare.missing", len(missing))] if missing else []
        if len(asked) > MOST:
            said.append(page.t("compare.too_many", n=len(asked)))
        if len(known) + len(missing) < len(ids):
            said.append(page.t("compare.twice"))
        if len(views) < LEAST:
            return page.respond(
                "compare.html",
                404 if missing and len(ids) >= LEAST else 200,
                result=None,
                said=said,
                ids=ids,
                problem=page.t("compare.too_few") if ids else "",
            )
        result, pairs = await self._compared(views)
        return await page.answer(
            "compare.html",
            result=result,
            said=said,
            ids=known,
            problem="",
            letters=LETTERS,
            charts=await asyncio.to_thread(compare_charts, result, page.t),
            pairs=pairs,
            matrix=await asyncio.to_thread(grid, views) if len({r.judge for r in result.runs}) > 1 else None,
            difference=lambda d: difference_text(d, page.t),
            signed=signed,
            rows=_rows,
        )

    async def charts(self, request: Request) -> Response:
        """The figures as JSON, for Plotly."""
        page = Page(request, NAMES)
        _, views, _ = await self._views(request, run_ids(page.query)[:MOST])
        if len(views) < LEAST:
            return JSONResponse({"error": "not available"}, 404, NO_INDEX)
        result, _ = await self._compared(views)
        found = await asyncio.to_thread(compare_charts, result, page.t)
        return JSONResponse({c.id: c.spec for c in found if c.spec}, headers=NO_INDEX)

    async def _compared(self, views: list[RunView]) -> tuple[Comparison, list[tuple[int, int, Any]]]:
        """The comparison, kept for the figures that the page asks for next; one at a time, since six large runs take seconds."""
        key = tuple((v.spec_digest, v.started, v.done, v.finished) for v in views)
        self._turn = self._turn or asyncio.Lock()
        async with self._turn:
            if key not in self._kept:
                self._kept = {key: await asyncio.to_thread(_compare, views), **dict(list(self._kept.items())[:7])}
        return self._kept[key]

    async def _views(self, request: Request, ids: list[str]) -> tuple[list[str], list[RunView], list[str]]:
        """Ids that open a run with its plan, their views, and the ids that open none. A run under two ids counts once."""
        await self.service.open()
        known: dict[str, str] = {}
        views, missing = [], []
        for rid in ids:
            found, view = self.service.get(rid, self.viewer(request)), await self.service.view(rid, self.viewer(request))
            if found is None or view is None or not view.tasks:
                missing.append(rid)
            elif found.key not in known:
                known[found.key] = rid
                views.append(view)
        return list(known.values()), views, missing


def run_ids(query: Query) -> list[str]:
    """Ids as they were given: `?runs=A,B` and repeated `?run=`; a whole link counts as the id at its end."""
    parts = [p for text in query.getlist("runs") for p in text.replace("\n", ",").split(",")]
    parts += query.getlist("run")
    ids = [p.strip().split("?")[0].split("#")[0].rstrip("/").rsplit("/", 1)[-1] for p in parts]
    return [i for i in ids if i][:MOST_READ]


def _compare(views: list[RunView]) -> tuple[Comparison, list[tuple[int, int, Any]]]:
    """The comparison, and how far the judges agree for pairs of runs of one solver under two judges."""
    result = compare(views)
    pairs = []
    for p in result.pairs:
        a, b = result.runs[p.first], result.runs[p.second]
        if a.solver == b.solver and a.judge != b.judge:
            pairs.append((p.first, p.second, agreement(views[p.first], views[p.second])))
    return result, pairs


def difference_text(d: Difference, t: T) -> str:
    """A paired difference in points with its interval, and "not separable" where the interval holds 0."""
    if d.value is None:
        return note(d.note, t)
    span = f" [{points(d.interval.low)}, {points(d.interval.high)}]" if d.interval else ""
    said = "" if d.separable else f", {note(d.note, t) or t('compare.tie')}"
    return f"{points(d.value)}{span}{said}"


def _rows(rows: tuple[GroupRow, ...]) -> list[GroupRow]:
    return sorted(rows, key=lambda r: r.name)


def compare_charts(result: Comparison, t: T) -> list[Chart]:
    """Differences with their intervals, means by competency, and cost against score."""
    return [c for c in (_forest(result, t), _by_competency(result, t), _cost(result, t)) if c]


def _forest(result: Comparison, t: T) -> Chart:
    names = [f"{LETTERS[p.first]} − {LETTERS[p.second]}" for p in result.pairs]
    known = [(n, p.difference) for n, p in zip(names, result.pairs, strict=True) if p.difference.value is not None]
    values = [100 * (d.value or 0.0) for _, d in known]
    ends = [
        (100 * d.interval.low, 100 * d.interval.high) if d.interval else (v, v) for v, (_, d) in zip(values, known, strict=True)
    ]
    trace = {
        "type": "scatter",
        "mode": "markers",
        "x": values,
        "y": list(range(len(known))),
        "hoverinfo": "text",
        "hovertext": [f"{figures.label(n)}: {difference_text(d, t)}" for n, d in known],
        "marker": {
            "color": ["var(--accent)" if d.separable else "var(--skip)" for _, d in known],
            "size": 10,
            "symbol": ["circle" if d.separable else "circle-open" for _, d in known],
        },
        "error_x": {
            "type": "data",
            "symmetric": False,
            "color": "var(--ink-2)",
            "thickness": 1.6,
            "width": 5,
            "array": [e[1] - v for e, v in zip(ends, values, strict=True)],
            "arrayminus": [v - e[0] for e, v in zip(ends, values, strict=True)],
        },
    }
    most = max([5.0, *(abs(x) for e in ends for x in e)]) * 1.1
    spec = {
        "data": [trace],
        "layout": figures.layout(
            70 + 34 * len(known),
            xaxis=figures.axis(range=[-most, most], tickformat="+d", title={"text": t("compare.points")}, zeroline=True),
            yaxis=figures.axis(
                autorange="reversed",
                tickvals=list(range(len(known))),
                ticktext=[figures.label(n) for n, _ in known],
                zeroline=False,
            ),
        ),
    }
    rows = [[Cell(n), Cell(difference_text(p.difference, t))] for n, p in zip(names, result.pairs, strict=True)]
    return Chart(
        "forest",
        t("compare.forest"),
        _apart(known, t),
        (t("compare.pair"), t("compare.difference")),
        rows,
        spec if known else None,
        t("compare.forest_help"),
        wide=True,
    )


def _apart(known: list[tuple[str, Difference]], t: T) -> str:
    """The one difference there is, or how many of several pairs can be told apart."""
    if len(known) == 1:
        return f"{known[0][0]}: {difference_text(known[0][1], t)}."
    return t("compare.forest_alt", n=len(known), apart=sum(d.separable for _, d in known))


COLOURS = ("var(--c-1)", "var(--c-2)", "var(--c-3)", "var(--c-4)", "var(--c-5)", "var(--c-6)")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x")


def _by_competency(result: Comparison, t: T) -> Chart:
    """Dots of every run in each competency, by colour and by shape."""
    groups = list(result.by_competency)
    data = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": LETTERS[i],
            "x": [g.means[i] for g in groups],
            "y": list(range(len(groups))),
            "marker": {"color": COLOURS[i], "symbol": SYMBOLS[i], "size": 11, "opacity": 0.9},
            "hoverinfo": "text",
            "hovertext": [f"{LETTERS[i]} {figures.label(g.name, 40)}: {percent(g.means[i])}, n = {g.tasks}" for g in groups],
        }
        for i in range(len(result.runs))
    ]
    names = [figures.label(f"{g.name} (n\u00a0{g.tasks})") for g in groups]
    lines = max((n.count("<br>") + 1 for n in names), default=1)
    low = min([0.0, *(m for g in groups for m in g.means)])
    spec: figures.Spec = {
        "data": data,
        "layout": figures.layout(
            90 + len(groups) * max(26, 15 * lines + 6),
            xaxis=figures.share_axis(low),
            yaxis=figures.axis(autorange="reversed", tickvals=list(range(len(groups))), ticktext=names, zeroline=False),
        ),
    }
    spec["layout"] |= {"showlegend": True, "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}}
    told = sum(1 for g in groups if g.separable)
    head = (t("col_competency"), t("col_n"), *(LETTERS[i] for i in range(len(result.runs))), t("compare.separable"))
    rows = [
        [Cell(g.name), Cell(str(g.tasks), num=True), *(Cell(percent(m), num=True) for m in g.means), Cell(separable_text(g, t))]
        for g in groups
    ]
    return Chart(
        "groups",
        t("result.chart.competency"),
        t("compare.groups_alt", n=told, of=len(groups)),
        head,
        rows,
        spec if groups else None,
        wide=True,
    )


def separable_text(group: GroupRow, t: T) -> str:
    """Which runs can be told apart in a group, as "A > B", or "not separable"."""
    said = []
    for p in group.pairs:
        if p.difference.separable and p.difference.value:
            high, low = (p.first, p.second) if p.difference.value > 0 else (p.second, p.first)
            said.append(f"{LETTERS[high]} > {LETTERS[low]}")
    return ", ".join(said) or t("compare.tie")


def _cost(result: Comparison, t: T) -> Chart:
    marks = [
        figures.Mark(LETTERS[i], r.mean.value, r.spend.cost_per_task, r.mean.interval)
        for i, r in enumerate(result.runs)
        if r.mean.value is not None
    ]
    rows = [
        [
            Cell(f"{LETTERS[i]}: {r.name}"),
            Cell(percent(r.mean.value), num=True),
            Cell(interval_text(r.mean.interval), num=True),
            Cell(money(r.spend.cost_per_task) if r.spend.cost_per_task is not None else t("est_unknown"), num=True),
            Cell(money(r.spend.cost) if r.spend.cost is not None else t("est_unknown"), num=True),
            Cell(f"{r.spend.wall / 60:.1f}" if r.spend.wall else "–", num=True),
            Cell(f"{r.spend.seconds / r.spend.calls:.1f}" if r.spend.calls else "–", num=True),
        ]
        for i, r in enumerate(result.runs)
    ]
    head = (
        t("col_run"),
        t("col_score"),
        t("col_interval"),
        t("result.cost_per_task"),
        t("result.fact.spend"),
        t("compare.minutes"),
        t("compare.seconds"),
    )
    priced = [m for m in marks if m.cost is not None]
    spec = figures.cost_chart(marks, t("result.cost_axis"), t("col_score")) if priced else None
    return Chart("cost", t("compare.cost"), t("compare.cost_alt", n=len(priced), of=len(result.runs)), head, rows, spec, wide=True)
