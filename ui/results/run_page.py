"""`/r/ID`: one run's page, its card and its owner's controls. Text is shown only where `runner.gate.Texts` says so.

Revoked, expired, deleted and never existing runs get one and the same answer.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from pipeline.data.records import Task
from pipeline.errors import UserError
from pipeline.judging.outcomes import Outcome
from pipeline.report.figures import Summary
from pipeline.report.texts import TaskTexts, task_texts
from pipeline.report.view import RunView
from runner.addresses import hosted
from runner.gate import Texts
from runner.requests import form_fields
from ui.query import NUMBER, Name, Names, one_of
from ui.results import access, card
from ui.results.charts import charts, figure_specs, signed
from ui.results.frame import NO_INDEX, Page
from ui.results.head import head
from ui.results.methods import methods
from ui.results.rows import SHAPES, SIZES, SORTS, TablePage, Wanted, table_page, task_rows
from ui.results.strip import strips
from ui.words import DEFAULT, say, words

PARTS = {"tasks": "tasks.html", "task": "opened.html", "top": "top.html"}
STATES = ("met", "unmet", "unread", "penalty", "avoided")
DAYS = (1, 7, 30, 90)
NAMES: Names = {
    "q": Name(longest=100),
    "competency": Name(),
    "outcome": one_of(*(o.value for o in Outcome)),
    "state": one_of(*STATES),
    "sort": one_of(*SORTS),
    "dir": one_of("up", "down"),
    "size": one_of(*map(str, SIZES)),
    "page": NUMBER,
    "open": Name(),
    "part": one_of(*PARTS),
    "delete": one_of("ask"),
}


class RunPage:
    """Handlers of one run's routes.

    Args:
        service: a `runner.service.RunService`.
        texts: who may see the text of a run.
        viewer: request -> Hugging Face user name, or None.
        kept_tasks: see `ui.results.routes`.
    """

    def __init__(
        self,
        service: Any,
        texts: Texts,
        viewer: Callable[[Request], str | None],
        kept_tasks: access.KeptTasks,
    ) -> None:
        self.service, self.texts, self.viewer, self.kept_tasks = service, texts, viewer, kept_tasks

    async def page(self, request: Request) -> Response:
        """The whole page, or with `?part=` one piece of it for the page's script."""
        page = Page(request, NAMES, noindex=True)
        opened = await self._open(request)
        if opened is None:
            return gone(page)
        found, view, summary = opened
        page.query = page.query.narrowed(
            {"open": [task.key for task in view.tasks], "competency": {task.competency for task in view.tasks}}
        )
        part = page.query.get("part")
        show_text, take_log = [await self.texts.allows(kind, request, found) for kind in ("page", "log")]
        loaded = await asyncio.to_thread(self._texts, page, found, view) if show_text and part != "top" else (None, {})
        values = await asyncio.to_thread(self._values, page, found, view, summary, *loaded, show_text, take_log)
        return await page.answer(PARTS.get(part, "run.html"), **values)

    async def _open(self, request: Request) -> tuple[Any, RunView, Summary] | None:
        rid, user = request.path_params["rid"], self.viewer(request)
        await self.service.open()
        found = self.service.get(rid, user)
        view = await self.service.view(rid, user) if found else None
        if found is None or view is None:
            return None
        summary = await self.service.summary(rid, user)
        if summary is None:  # before the plan is known there is nothing to summarise but the spec
            from pipeline.report.summary import summarise

            summary = await asyncio.to_thread(summarise, view)
        return found, view, summary

    def _texts(self, page: Page, found: Any, view: RunView) -> tuple[dict[str, Task] | None, dict[int, TaskTexts]]:
        """Task texts of the whole run and, for the one opened row, answers and judge's words."""
        tasks = access.tasks_of(page.request, found, view, self.service.store.places(found.key), self.kept_tasks)
        if tasks is None and found.meta.source == "hub" and hosted():
            return None, {}  # the viewer's token no longer opens the data set: nothing of it is shown
        opened = page.query.get("open")
        ledger = self.service.folder(found) / "private" / "ledger.jsonl"
        return tasks, task_texts(ledger, opened) if opened else {}

    def _values(
        self,
        page: Page,
        found: Any,
        view: RunView,
        summary: Summary,
        tasks: dict[str, Task] | None,
        texts: dict[int, TaskTexts],
        show_text: bool,
        take_log: bool,
    ) -> dict[str, Any]:
        t, query = page.t, page.query
        wanted, rows = Wanted.of(query), task_rows(view)
        table = table_page(rows, wanted)
        described = {c.id: c.description for task in (tasks or {}).values() for c in task.criteria}
        opened = next((r for r in rows if r.key == query.get("open")), None)
        return {
            "rid": page.request.path_params["rid"],
            "found": found,
            "view": view,
            "summary": summary,
            "head": head(view, summary, t),
            "charts": charts(summary, t, described),
            "methods": methods(view, t, self._journal(found)),
            "table": table,
            "wanted": wanted,
            "opened": opened,
            "opened_task": (tasks or {}).get(opened.key) if opened else None,
            "texts": texts,
            "described": described,
            "show_text": show_text,
            "take_log": take_log,
            "tasks_missing": tasks is None,
            "competencies": sorted({r.competency for r in rows}),
            "outcomes": [k for k, n in view.counts().items() if n],
            "states": STATES,
            "shapes": SHAPES,
            "strip": strips(t),
            "sizes": SIZES,
            "sorts": SORTS,
            "pages": pages(table),
            "days": DAYS,
            "signed": signed,
            "live": view.status == "running",
            "base": base_url(page.request),
            "expires": _expires(found.meta.expires),
            "mirror": self.service.mirror_status if found.owner and found.meta.level != "private" else "",
            "asked": query.get("delete") == "ask",
        }

    def _journal(self, found: Any) -> str:
        """The journal's digest as the manifest tells it; "" while there is none."""
        try:
            data = json.loads((self.service.folder(found) / "manifest.json").read_text(encoding="utf-8"))
            return str(data.get("journal_sha256", ""))
        except (OSError, ValueError, AttributeError):
            return ""

    async def charts(self, request: Request) -> Response:
        """The figures of the run as JSON, for Plotly."""
        opened = await self._open(request)
        if opened is None:
            return JSONResponse({"error": "not available"}, 404, NO_INDEX)
        specs = await asyncio.to_thread(figure_specs, opened[2], Page(request).t)
        return JSONResponse(specs, headers=NO_INDEX | {"Cache-Control": "no-store"})

    async def card(self, request: Request) -> Response:
        """The picture that a link's preview shows."""
        opened = await self._open(request)
        if opened is None:
            return gone(Page(request, noindex=True))
        _, view, summary = opened
        image = await asyncio.to_thread(_picture, view, summary)
        return Response(image, media_type="image/png", headers=NO_INDEX | {"Cache-Control": "private, max-age=60"})

    async def share(self, request: Request) -> Response:
        """Set the sharing level, from the owner's form."""

        async def act(rid: str, user: str | None, form: Mapping[str, str]) -> None:
            days = form.get("days", "").strip()
            await self.service.share(rid, form.get("level", ""), float(days) if days else None, hf_user=user)

        return await self._change(request, "share", act)

    async def delete(self, request: Request) -> Response:
        """Delete the run, after the owner ticked the box."""

        async def act(rid: str, user: str | None, form: Mapping[str, str]) -> bool:
            if form.get("sure") != "yes":
                return False
            await self.service.delete(rid, hf_user=user)
            return True

        return await self._change(request, "", act)

    async def _change(
        self, request: Request, back: str, act: Callable[[str, str | None, Mapping[str, str]], Awaitable[Any]]
    ) -> Response:
        """Do what the owner asked; where `act` says False, ask once more. Whoever is not the owner gets the page of a run
        that is not there."""
        page, rid, user = Page(request, noindex=True), request.path_params["rid"], self.viewer(request)
        await self.service.open()
        found = self.service.get(rid, user)
        if found is None or not found.owner:
            return gone(page)
        try:
            done = await act(rid, user, await form_fields(request))
        except (UserError, ValueError) as error:
            text = str(error) if isinstance(error, UserError) else page.t("result.share_days_wrong")
            return page.respond("message.html", 400, title=page.t("result.share_failed"), text=text, back=f"/r/{rid}")
        if done is False:
            return RedirectResponse(f"/r/{rid}?delete=ask#share", 303, NO_INDEX)
        if back:
            return RedirectResponse(f"/r/{rid}#{back}", 303, NO_INDEX)
        return page.respond("message.html", title=page.t("result.deleted"), text=page.t("result.deleted_help"), back="")


def gone(page: Page) -> Response:
    """The one answer for runs that are revoked, expired, deleted or never were."""
    page.noindex = True
    return page.respond("message.html", 404, title=page.t("live_gone"), text=page.t("live_gone_help"), back="")


def base_url(request: Request) -> str:
    """Scheme and host as the visitor's browser sees them; a Space's proxy tells the scheme in a header."""
    scheme = request.headers.get("x-forwarded-proto", request.url.scheme).split(",")[0].strip()
    return f"{scheme if scheme in ('http', 'https') else 'https'}://{request.url.netloc}"


def _picture(view: RunView, summary: Summary) -> bytes:
    t = partial(say, words(DEFAULT))
    return card.draw(head(view, summary, t), t)


def pages(table: TablePage) -> list[int]:
    """Page numbers to offer: the first, the last and those around the current one."""
    near = {1, table.pages, *range(table.page - 2, table.page + 3)}
    return sorted(n for n in near if 1 <= n <= table.pages)


def _expires(unix: float | None) -> str:
    return datetime.fromtimestamp(unix, UTC).strftime("%Y-%m-%d %H:%M UTC") if unix else ""
