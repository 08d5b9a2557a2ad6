"""`/explore`: the task set by competency, sub-competency and context, what a run on it would cost, and the way there.

Shows the demo's text to everyone. Of a set that the visitor may not see it shows counts at most, and never a text.
"""

import asyncio
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from pipeline.cost.estimate import Estimate, estimate
from pipeline.cost.prices import price_for
from pipeline.data.choose import choose
from pipeline.data.records import Task
from pipeline.errors import UserError
from pipeline.settings import setting
from pipeline.spec import JUDGE_DEFAULTS, REFERENCE_JUDGE, SOLVER_DEFAULTS, ModelSpec, RunSpec
from runner.gated_counts import public_counts
from runner.requests import form_fields
from ui.query import NUMBER, Name, Names, Query
from ui.results import figures
from ui.results.charts import Cell, Chart
from ui.results.crossing import COMPETENCY, SUBCOMPETENCY, Crossed, Filters, cross, overview
from ui.results.frame import Page, money

PAGE = 20
MODELS = Path(__file__).resolve().parents[1] / "assets" / "models.json"
FILTERS = ("competency", "subcompetency", "context")
NAMES: Names = {
    "source": Name(longest=20),
    **{name: Name(most=200, longest=300) for name in FILTERS},
    "x": Name(),
    "y": Name(),
    "solver": Name(),
    "judge": Name(),
    "sample_limit": NUMBER,
    "page": NUMBER,
}
DEMO_MODELS = ("demo/strong", "demo/weak")
T = Callable[..., str]


class Explore:
    """The page's handlers.

    Args:
        sources: a `ui.sources.Sources`; None means one of its own, which offers what this machine may.
    """

    def __init__(self, sources: Any = None) -> None:
        self._sources = sources

    async def page(self, request: Request) -> Response:
        """The set under the filters of the query, as a page that works without scripts."""
        page = Page(request, NAMES)
        offer = await asyncio.to_thread(self._offer, page)
        if offer.tasks is None:
            return page.respond("explore_counts.html", why=offer.why, counts=gated_counts(page.t), kinds=self._kinds())
        if page.query.get("source") == "hub" and offer.kind != "hub":
            return page.respond(
                "explore_counts.html", why=page.t("explore.gated"), counts=gated_counts(page.t), kinds=self._kinds()
            )
        return await page.answer("explore.html", **await asyncio.to_thread(self._values, page, offer))

    def _kinds(self) -> list[str]:
        return list(dict.fromkeys([*self.sources.kinds(), "hub"]))

    @property
    def sources(self) -> Any:
        """The task sets on offer."""
        if self._sources is None:
            from ui.sources import Sources

            self._sources = Sources()
        return self._sources

    def _offer(self, page: Page) -> Any:
        return self.sources.offer(page.query.get("source", "demo"), page.table, page.request)

    def _values(self, page: Page, offer: Any) -> dict[str, Any]:
        query, tasks = page.query, offer.tasks.tasks
        filters = Filters.of(query)
        seen = overview(tasks, filters)
        row, column = _axes(query, seen.variables)
        crossed = cross(seen.tasks, row, column)
        number = _whole(query.get("page"), 1)
        pages = max(1, -(-len(seen.tasks) // PAGE))
        number = min(max(1, number), pages)
        names = {COMPETENCY: page.t("col_competency"), SUBCOMPETENCY: page.t("subcompetency")}
        made, problem, spec = _estimate_of(query, tasks, offer, filters)
        return {
            "seen": seen,
            "filters": filters,
            "names": names,
            "row": row,
            "column": column,
            "offer": offer,
            "kinds": self._kinds(),
            "chart": cross_chart(crossed, names.get(row, row), names.get(column, column), page.t),
            "page_tasks": seen.tasks[(number - 1) * PAGE : number * PAGE],
            "number": number,
            "pages": pages,
            "show_text": True,
            "run_link": f"/?{urlencode([('source', offer.kind), *filters.params()])}",
            "made": made,
            "problem": problem,
            "spec": spec,
            "models": model_names(),
            "money_text": estimate_text(made, page.t) if made else "",
            "choice": _choice,
            "asked": query.get("solver", ""),
            "judge": query.get("judge", REFERENCE_JUDGE),
            "limit": query.get("sample_limit", ""),
            "chart_query": urlencode([*query.without("lang", "page"), ("lang", page.lang)]),
            "hidden": [(k, v) for k, v in query.items if k in ("source", *FILTERS, "lang")],
            "others": query.without(*FILTERS, "page"),
        }

    async def charts(self, request: Request) -> Response:
        """The crossing as a figure, for Plotly."""
        page = Page(request, NAMES)
        offer = await asyncio.to_thread(self._offer, page)
        if offer.tasks is None:
            return JSONResponse({}, 404)
        return JSONResponse(await asyncio.to_thread(self._chart, page, offer))

    def _chart(self, page: Page, offer: Any) -> dict[str, Any]:
        seen = overview(offer.tasks.tasks, Filters.of(page.query))
        row, column = _axes(page.query, seen.variables)
        names = {COMPETENCY: page.t("col_competency"), SUBCOMPETENCY: page.t("subcompetency")}
        chart = cross_chart(cross(seen.tasks, row, column), names.get(row, row), names.get(column, column), page.t)
        return {chart.id: chart.spec} if chart.spec else {}

    async def estimate(self, request: Request) -> Response:
        """What a run on the filtered set would cost, as JSON. GET with query parameters, or POST with a form."""
        page = Page(request, NAMES)
        if request.method == "POST":
            try:
                page.query = Query(NAMES, (await form_fields(request)).multi_items())
            except UserError as error:
                return JSONResponse({"error": str(error)}, 400)
        offer = await asyncio.to_thread(self._offer, page)
        if offer.tasks is None:
            return JSONResponse({"error": offer.why}, 404)
        filters = Filters.of(page.query)
        made, problem, _ = await asyncio.to_thread(_estimate_of, page.query, offer.tasks.tasks, offer, filters)
        if made is None:
            return JSONResponse({"error": problem or page.t("why_no_model")}, 400)
        return JSONResponse(made.model_dump(mode="json"))


def _axes(query: Query, variables: list[str]) -> tuple[str, str]:
    """The two variables to cross; by default competency and the first context variable."""
    short = {"competency": COMPETENCY, "subcompetency": SUBCOMPETENCY}
    asked = [short.get(query.get(k, ""), query.get(k, "")) for k in ("x", "y")]
    column = asked[0] if asked[0] in variables else next((v for v in ("level", *variables[2:]) if v in variables), SUBCOMPETENCY)
    return (asked[1] if asked[1] in variables else COMPETENCY), column


def _choice(variable: str, name: str) -> tuple[str, str]:
    """The parameter that asks for one value of a variable."""
    return {COMPETENCY: ("competency", name), SUBCOMPETENCY: ("subcompetency", name)}.get(
        variable, ("context", f"{variable}={name}")
    )


def cross_chart(crossed: Crossed, row: str, column: str, t: T) -> Chart:
    """Counts of tasks by two variables."""
    most = max(
        (
            (n, a, b)
            for a, line in zip(crossed.rows, crossed.counts, strict=True)
            for b, n in zip(crossed.columns, line, strict=True)
        ),
        default=None,
    )
    alt = t("result.alt.none") if most is None else t("explore.cross_alt", row=most[1], column=most[2], n=most[0])
    if crossed.left_out:
        alt += " " + t("explore.cross_more", n=crossed.left_out)
    texts = [[str(n) if n else "" for n in line] for line in crossed.counts]
    values: list[list[float | None]] = [[float(n) if n else None for n in line] for line in crossed.counts]
    rows = [
        [Cell(a), *(Cell(str(n), num=True, quiet=not n) for n in line)]
        for a, line in zip(crossed.rows, crossed.counts, strict=True)
    ]
    return Chart(
        "cross",
        t("explore.cross_title", row=row, column=column),
        alt,
        (row, *crossed.columns),
        rows,
        figures.heat(crossed.rows, crossed.columns, values, texts, counts=True) if most else None,
        wide=True,
    )


def _estimate_of(
    query: Query, tasks: tuple[Task, ...], offer: Any, filters: Filters
) -> tuple[Estimate | None, str, RunSpec | None]:
    """The estimate for the models of the query, or why there is none; nothing at all where no model was named."""
    solver = query.get("solver").strip()
    judge = query.get("judge").strip() or ("demo/judge" if solver.startswith("demo/") else REFERENCE_JUDGE)
    if not solver:
        return None, "", None
    try:
        spec = RunSpec(
            source=offer.kind,
            competency=filters.competency,
            subcompetency=filters.subcompetency,
            context=filters.context,
            sample_limit=_whole(query.get("sample_limit"), 0),
            sampling="stratified",
            solver=ModelSpec(model=solver, config=SOLVER_DEFAULTS),
            judge=ModelSpec(model=judge, config=JUDGE_DEFAULTS),
        )
        prices = {"solver": price_for(solver), "judge": price_for(judge)}
        return estimate(choose(tasks, spec), spec, prices, available=len(tasks)), "", spec
    except (UserError, ValueError) as error:
        return None, str(error) if isinstance(error, UserError) else f"{setting('sample_limit').help}", None


def _whole(text: str | None, default: int) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 7 else default


@cache
def model_names() -> tuple[str, ...]:
    """Models to suggest, as provider/model, from the bundled list; the demo's alone where it cannot be read."""
    try:
        models = json.loads(MODELS.read_text(encoding="utf-8"))["models"]
        return (*DEMO_MODELS, *(f"{provider}/{name}" for provider, names in models.items() for name in names))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return DEMO_MODELS


def gated_counts(t: T) -> dict[str, Any] | None:
    """What everyone may know of the gated set: the counts the owner of this server supplied, or None."""
    found = public_counts()
    if found is None:
        return None
    groups = found["groups"]
    first = {t("col_competency"): groups["competency"]} if "competency" in groups else {}
    return {"total": found["total"], "groups": first | {name: v for name, v in groups.items() if name != "competency"}}


def estimate_text(made: Estimate, t: T) -> str:
    """The money of an estimate in one line; unknown stays unknown."""
    if made.solver.free and made.judge.free:
        return t("est_free")
    if made.total is None:
        return t("spend_unpriced")
    return f"{money(made.total.low)} – {money(made.total.expected)} – {money(made.total.high)}"
