"""`/gallery`: listed runs and published results. Never ranks runs together that differ in judge, prompt or tasks.

Published scores have no intervals, so they have no rank either; the page says so.
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from pipeline.report.figures import Summary
from pipeline.report.stats import Interval, Rank, ranks
from pipeline.report.view import RunView
from ui.query import Name, Names, one_of
from ui.results.frame import Page, day
from ui.results.published import Published, published

SORTS = ("score", "model", "date", "cost")
MOST = 100
NAMES: Names = {
    **{name: Name() for name in ("judge", "prompt", "subset")},
    "q": Name(longest=100),
    "sort": one_of(*SORTS),
    "dir": one_of("up", "down"),
}


@dataclass(frozen=True)
class Entry:
    """One line of the gallery: `tasks` of `chosen` were scored.

    `id` is the run's public id, "" for a published result; `kind` "run" or as published.
    """

    id: str
    kind: str
    model: str
    judge: str
    prompt: str
    subset: str
    score: float | None
    interval: Interval | None
    attempted: float | None
    tasks: int
    date: str
    cost: float | None
    differences: tuple[str, ...]
    status: str = ""
    published: Published | None = None
    alike: tuple[Any, ...] = ()
    rank: Rank | None = None
    note: str = ""
    chosen: int = 0

    @property
    def plain_judge(self) -> str:
        """The judge without the route it was reached by, so that a filter shows one judge once."""
        return plain(self.judge)


def plain(model: str) -> str:
    """A model's name without provider prefixes: the last part of its path."""
    return model.rsplit("/", 1)[-1]


@dataclass(frozen=True)
class Ranking:
    """Entries that may be compared: same judge, same prompt text, same tasks. `ranked` False: a list without places."""

    judge: str
    prompt: str
    subset: str
    entries: list[Entry] = field(default_factory=list)
    ranked: bool = True


Record = dict[str, Any]
"""The facts of a run as its manifest tells them: status, started, spec, data, prompt, models, task_ids."""


def record_of(view: RunView) -> Record:
    """The same facts of a run that has no manifest yet."""
    return {
        "status": view.status,
        "started": view.started,
        "spec": view.spec,
        "models": view.models,
        "task_ids": [task.key for task in view.tasks],
        "data": view.data.model_dump(mode="json") if view.data else None,
        "prompt": view.prompt.model_dump(mode="json") if view.prompt else None,
    }


def entry_of(row_id: str, record: Record, summary: Summary) -> Entry:
    """A listed run's line."""
    own, data = summary.scored, record.get("data") or {}
    subset = f"{len(record['task_ids'])} / {data.get('available') or '?'} {data.get('name', '')}".strip()
    return Entry(
        row_id,
        "run",
        summary.solver,
        summary.judge,
        summary.prompt,
        subset,
        own.value,
        own.interval,
        summary.attempted.value,
        own.tasks,
        day(record["started"]),
        summary.spend.cost_per_task,
        summary.differences,
        str(record["status"]),
        alike=_alike(record),
        note=own.note,
        chosen=len(record["task_ids"]),
    )


def _alike(record: Record) -> tuple[Any, ...]:
    """What must be equal before two runs may stand in one ranking: judge with its settings, prompt text, tasks, rules."""
    spec, data, prompt = record["spec"], record.get("data") or {}, record.get("prompt") or {}
    judge = spec.get("judge") or {}
    named = (str(judge.get("model", "")), json.dumps(judge.get("config") or {}, sort_keys=True), record["models"].get("judge", ""))
    text = (prompt.get("version", ""), prompt.get("digest", ""))
    tasks = (data.get("digest", ""), frozenset(record["task_ids"]))
    return (*named, *text, *tasks, spec.get("epochs"), spec.get("verdict_parser"), spec.get("verdict_retries"))


def published_entries() -> list[Entry]:
    """The published results as lines."""
    return [
        Entry("", p.kind, p.model, p.judge, p.prompt, p.subset, p.score, None, None, 0, p.date, None, (), "", p, (p.kind, p.source))
        for p in published()
    ]


def rankings(entries: Sequence[Entry]) -> list[Ranking]:
    """Groups of entries that may stand in one list, the largest first. Places show ties where intervals overlap.

    A run that did not finish has no place: the tasks it did not come to are not a sample.
    """
    groups: dict[tuple[Any, ...], list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.alike, []).append(entry)
    found = []
    for items in groups.values():
        first = items[0]
        scored = [e for e in items if e.kind == "run" and e.score is not None and e.status == "finished"]
        ranked = len(scored) > 1
        if ranked:
            places = dict(zip(map(id, scored), ranks([e.interval for e in scored]), strict=True))
            items = [replace(e, rank=places.get(id(e))) for e in items]
        found.append(Ranking(first.judge, first.prompt, first.subset, items, ranked))
    return sorted(found, key=lambda g: -len(g.entries))


def ordered(entries: Sequence[Entry], sort: str, down: bool) -> list[Entry]:
    """Entries in the asked order; what has no score or no cost comes last in either direction."""
    if sort in ("score", "cost"):
        have = [e for e in entries if getattr(e, sort) is not None]
        have.sort(key=lambda e: getattr(e, sort), reverse=down)
        return have + [e for e in entries if getattr(e, sort) is None]
    return sorted(entries, key=lambda e: (getattr(e, sort).casefold(), e.model), reverse=down)


class Gallery:
    """The page's handler over a `runner.service.RunService`."""

    def __init__(self, service: Any) -> None:
        self.service = service
        self._kept: dict[str, tuple[int, Entry]] = {}

    async def page(self, request: Request) -> Response:
        """The gallery, filtered and sorted by query parameters; works without scripts."""
        page, runs = Page(request, NAMES), await self._runs()
        return await asyncio.to_thread(self._respond, page, runs)

    def _respond(self, page: Page, runs: list[Entry]) -> Response:
        every = [*runs, *published_entries()]
        known = {
            "judge": sorted({e.plain_judge for e in every}),
            "prompt": sorted({e.prompt for e in every if e.prompt}),
            "subset": sorted({e.subset for e in every}),
        }
        query = page.query = page.query.narrowed(known)
        wanted = {k: query.get(k) for k in ("judge", "prompt", "subset", "q")}
        sort = query.get("sort", "score")
        down = query.get("dir", "down" if sort == "score" else "up") == "down"
        shown = [e for e in every if _fits(e, wanted)]
        groups = [Ranking(g.judge, g.prompt, g.subset, ordered(g.entries, sort, down), g.ranked) for g in rankings(shown)]
        return page.respond(
            "gallery.html",
            runs=[g for g in groups if g.entries[0].kind == "run"],
            others=[g for g in groups if g.entries[0].kind != "run"],
            judges=known["judge"],
            prompts=known["prompt"],
            subsets=known["subset"],
            wanted=wanted,
            sort=sort,
            down=down,
            sorts=SORTS,
            shown=len(shown),
            every=len(every),
            mirror=self.service.mirror_status,
            newest=len(runs) if len(runs) >= MOST else 0,
        )

    async def _runs(self) -> list[Entry]:
        await self.service.open()
        found = [await self._entry(row.id) for row in self.service.recent(MOST)]
        return [entry for entry in found if entry is not None]

    async def _entry(self, rid: str) -> Entry | None:
        """One run's line, from its manifest where it has ended: folding a whole journal for a list would take seconds."""
        access = self.service.get(rid)
        if access is None:
            return None
        path = self.service.folder(access) / "manifest.json"
        if access.meta.ended and (kept := await asyncio.to_thread(self._from_manifest, rid, path)):
            return kept
        view, summary = await self.service.view(rid), await self.service.summary(rid)
        return entry_of(rid, record_of(view), summary) if view is not None and summary is not None else None

    def _from_manifest(self, rid: str, path: Path) -> Entry | None:
        try:
            stamp = path.stat().st_mtime_ns
            if (kept := self._kept.get(rid)) and kept[0] == stamp:
                return kept[1]
            record = json.loads(path.read_text(encoding="utf-8"))
            entry = entry_of(rid, record, Summary.model_validate(record["summary"]))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None
        if len(self._kept) > 4 * MOST:
            self._kept.clear()
        self._kept[rid] = stamp, entry
        return entry


def _fits(entry: Entry, wanted: dict[str, str]) -> bool:
    return (
        wanted["judge"] in ("", entry.plain_judge)
        and wanted["prompt"] in ("", entry.prompt)
        and wanted["subset"] in ("", entry.subset)
        and wanted["q"].casefold() in f"{entry.model} {entry.judge}".casefold()
    )
