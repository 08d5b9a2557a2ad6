"""What a run's page offers to take along: `/r/ID/download/NAME` (Starlette). Evaluates nothing, keeps no file.

All names but `run.eval` are made from the public journal, for anyone who may see the run. `run.eval` holds all text and
goes only to the owner who may see that text. Every id that opens nothing, and every unknown name, gets one answer.
"""

import asyncio
import re
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route

from pipeline.errors import UserError
from runner.gate import Texts

Viewer = Callable[[Request], str | None]

HEADERS = {
    "Cache-Control": "private, no-store", "X-Robots-Tag": "noindex, nofollow", "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox; default-src 'none'",
}
KINDS = {
    "csv": "text/csv; charset=utf-8", "json": "application/json", "jsonl": "application/x-ndjson", "zip": "application/zip",
    "yaml": "application/yaml", "svg": "image/svg+xml", "png": "image/png", "html": "text/html; charset=utf-8",
}
ALSO = {"zip": "run.zip", "run.json": "view.json", "eval": "run.eval"}
"""Other names of the same files, as older links write them."""
NAMES = ("tasks.csv", "verdicts.csv", "competency.csv", "view.json", "manifest.json", "events.jsonl", "run.zip", "eee.json",
         "hf.yaml", "model-index.yaml", "competency.svg", "competency.png", "charts.html", "run.eval")
AT_ONCE = 2
KEPT_BYTES = 32 << 20


def routes(service: Any, viewer: Viewer, texts: Texts) -> list[Route]:
    """The download routes.

    Args:
        service: the `runner.service.RunService`.
        viewer: tells the Hugging Face user name of a signed-in visitor from the request, or None.
        texts: who may see the text of a run, and so take its `run.eval`.
    """
    room = _Downloads(service, viewer, texts)
    return [Route("/r/{rid}/download/{name}", room.download, methods=["GET"])]


def not_available() -> Response:
    """The one answer for every id that opens nothing and every file that is not there for the one who asks."""
    return PlainTextResponse("This run is not available.", 404, HEADERS)


class _Downloads:
    def __init__(self, service: Any, viewer: Viewer, texts: Texts) -> None:
        self.service, self.viewer, self.texts = service, viewer, texts
        self.made = _Made()
        self._turns: asyncio.Semaphore | None = None

    async def download(self, request: Request) -> Response:
        """Serve one file, as an attachment."""
        await self.service.open()
        rid, asked = request.path_params["rid"], request.path_params["name"]
        name = ALSO.get(asked, asked)
        found = self.service.get(rid, self.viewer(request)) if name in NAMES else None
        if found is None:
            return not_available()
        folder = self.service.folder(found)
        if name == "run.eval":
            return await self._log(request, found, folder)
        link = self._public_link(request, found)
        self._turns = self._turns or asyncio.Semaphore(AT_ONCE)
        async with self._turns:  # a large run takes a second of work; many readers must not take the machine
            try:
                data, label = await asyncio.to_thread(self.made.get, folder, name, link)
            except UserError as error:
                return PlainTextResponse(str(error), 409, HEADERS)
        return Response(data, 200, {**HEADERS, **_attachment(f"{label}-{name}")}, KINDS[name.rsplit(".", 1)[-1]])

    async def _log(self, request: Request, found: Any, folder: Path) -> Response:
        path = newest_log(folder) if await self.texts.allows("log", request, found) else None
        if path is None:
            return not_available()
        return FileResponse(path, 200, {**HEADERS, **_attachment("run.eval")}, "application/octet-stream")

    def _public_link(self, request: Request, found: Any) -> str:
        """The run's public page, where it is shared; never the secret link."""
        import time

        meta = found.meta
        return str(request.base_url.replace(path=f"/r/{meta.public_id}", query="")) if meta.shared(time.time()) else ""


class _Made:
    """The files made last, by the state of the journal they were made from."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[Any, ...], tuple[bytes, str]] = OrderedDict()

    def get(self, folder: Path, name: str, link: str) -> tuple[bytes, str]:
        """The file and a label for its name. Runs in a thread.

        Raises:
            UserError: the run has no plan or no score yet.
        """
        at = (folder.name, name, link, *_state(folder / "events.jsonl"), *_state(folder / "manifest.json"))
        if (found := self._kept.get(at)) is None:
            found = make(folder, name, link)
            self._kept[at] = found
            while len(self._kept) > 1 and sum(len(data) for data, _ in self._kept.values()) > KEPT_BYTES:
                self._kept.popitem(last=False)
        return found


def make(folder: Path, name: str, link: str = "") -> tuple[bytes, str]:
    """One file of a run folder, and a label made of model and digest for its name.

    Raises:
        UserError: it cannot be made yet.
    """
    from pipeline.report.export.archive import MAKERS, run_zip
    from pipeline.report.export.hf import eval_results_yaml, model_index_yaml
    from pipeline.report.export.source import run_from_folder

    if not (folder / "events.jsonl").exists():
        raise UserError("The run has not started yet.", "", "Try again in a moment.")
    run = run_from_folder(folder)
    more: dict[str, Callable[[], bytes]] = {
        "run.zip": lambda: run_zip(run), "hf.yaml": lambda: eval_results_yaml(run.view, link),
        "model-index.yaml": lambda: model_index_yaml(run.view, link), "competency.png": lambda: _png(run.view),
        "charts.html": lambda: _charts(run.view),
    }
    data = more[name]() if name in more else MAKERS[name](run)
    model = str((run.view.spec.get("solver") or {}).get("model", "run"))
    return data, f"l2-bench-{re.sub(r'[^A-Za-z0-9.]+', '-', model).strip('-.')[:60]}-{run.view.spec_digest[:8]}"


def newest_log(folder: Path) -> Path | None:
    """The `.eval` log of the run's last stretch, or None where there is none."""
    logs = [p for p in (folder / "private").glob("*.eval") if p.is_file() and p.stat().st_size]
    return max(logs, key=lambda p: (p.stat().st_mtime_ns, p.name), default=None)


def _png(view: Any) -> bytes:
    from pipeline.report.export.png import competency_png
    from pipeline.report.summary import summarise

    return competency_png(summarise(view))


def _charts(view: Any) -> bytes:
    from ui.charts_file import charts_html

    return charts_html(view)


def _state(path: Path) -> tuple[int, int]:
    try:
        stat = path.stat()
    except OSError:
        return 0, 0
    return stat.st_size, stat.st_mtime_ns


def _attachment(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}
