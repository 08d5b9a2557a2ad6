"""Which tasks the form can offer to whom, loaded once and kept. Never shows a gated text and never decides about access.

The demo is for everyone, a local file and the Hub for whoever starts the app on their own machine. On a hosted Space the
gated set is added by `ui.gated`. `Offer.url` is where the visitor can do something about what `why` says.
"""

import contextlib
import os
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.data.records import TaskSet
from pipeline.data.sources import load_tasks
from pipeline.errors import UserError
from pipeline.spec import ModelSpec, Places, RunSpec
from runner.addresses import hosted
from ui import signin
from ui.words import say
from ui.words.said import translated

NOWHERE = Path(os.devnull)


@dataclass(frozen=True)
class Offer:
    """One source as the form shows it. `why` is the sentence on which tasks the run uses and why."""

    kind: str
    tasks: TaskSet | None
    why: str
    places: dict[str, Any]
    repo: str = ""
    url: str = ""


class Sources:
    """The task sets of this server. `gate` (a `ui.gated.Gated`) adds the gated set on a hosted page."""

    def __init__(self, gate: Any = None) -> None:
        self._gate = gate
        self._kept: dict[str, TaskSet] = {}
        self._seen: dict[str, Any] = {}
        self._lock = threading.Lock()

    def kinds(self) -> list[str]:
        """What the form offers on this machine."""
        if hosted():
            return self._gate.kinds() if self._gate else ["demo"]
        return ["demo", "hub", *(["local"] if _local_places() else [])]

    def offer(self, kind: str, w: dict[str, str], request: Any = None) -> Offer:
        """The source, loaded; `tasks` is None where it cannot be had, and `why` then says the reason."""
        if self._gate and hosted() and request is not None:
            return self._gate.offer(kind, request, w, self._offer("demo", w))
        return self._offer(kind if kind in self.kinds() and not (hosted() and kind == "hub") else "demo", w)

    def default(self, request: Any) -> str:
        """The source this visitor's form starts with. May ask the Hub: call it in a thread."""
        return self._gate.default(request) if self._gate and hosted() else "demo"

    def _offer(self, kind: str, w: dict[str, str]) -> Offer:
        places = _local_places() if kind == "local" else {}
        try:
            tasks = self._load(kind, places)
        except UserError as error:
            return Offer(kind, None, f"{w['source_failed']} {translated(str(error), w['lang'])}", places)
        why = say(w, f"source_{kind}_why", n=len(tasks.tasks), name=tasks.source.name)
        return Offer(kind, tasks, " ".join([why, *tasks.notices]), places, tasks.source.name if kind == "hub" else "")

    def _load(self, kind: str, places: dict[str, Any]) -> TaskSet:
        with self._lock:
            seen = _fingerprint(places)
            if kind not in self._kept or self._seen.get(kind) != seen:
                self._kept.pop(kind, None)
                spec = RunSpec(source=kind, solver=ModelSpec(model="demo/strong"))  # type: ignore[arg-type]
                token = signin.token_of(None) if kind == "hub" else None
                self._kept[kind] = load_tasks(spec, Places(run_dir=NOWHERE, **places), token)
                self._seen[kind] = seen
            return self._kept[kind]


def _fingerprint(places: dict[str, Any]) -> list[tuple[str, int, int, int]]:
    """Tells whether a file of one's own was saved again, without reading it: name, time, size and inode of each."""
    if not places:
        return []
    folder = places["resources_dir"]
    files = [places["csv_path"], *(sorted(folder.iterdir()) if folder.is_dir() else [])]
    found = []
    for path in files:
        with contextlib.suppress(OSError):
            info = path.stat()
            found.append((path.name, max(info.st_mtime_ns, info.st_ctime_ns), info.st_size, info.st_ino))
    return found


def _local_places() -> dict[str, Any]:
    csv_path, resources = os.environ.get("L2BENCH_CSV_PATH"), os.environ.get("L2BENCH_RESOURCES_DIR")
    return {"csv_path": Path(csv_path), "resources_dir": Path(resources)} if csv_path and resources else {}
