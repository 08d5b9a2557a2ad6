"""Which tasks the form can offer to whom, loaded once and kept. Never shows a gated text and never decides about access.

The demo is for everyone, a local file and the Hub for whoever starts the app on their own machine. On a hosted Space the
gated set is added by `runner.gate` where it is present.
"""

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.data.records import TaskSet
from pipeline.data.sources import load_tasks
from pipeline.errors import UserError
from pipeline.spec import ModelSpec, Places, RunSpec
from runner.addresses import hosted
from ui.words import say

NOWHERE = Path(os.devnull)


@dataclass(frozen=True)
class Offer:
    """One source as the form shows it. `why` is the sentence on which tasks the run uses and why."""

    kind: str
    tasks: TaskSet | None
    why: str
    places: dict[str, Any]
    repo: str = ""


class Sources:
    """The task sets of this server. `gate(kind, request)` may add a source for a signed-in visitor."""

    def __init__(self, gate: Callable[[str, Any], Offer | None] | None = None) -> None:
        self._gate = gate
        self._kept: dict[str, TaskSet] = {}
        self._lock = threading.Lock()

    def kinds(self) -> list[str]:
        """What the form offers on this machine."""
        if hosted():
            return ["demo"]
        return ["demo", "hub", *(["local"] if _local_places() else [])]

    def offer(self, kind: str, w: dict[str, str], request: Any = None) -> Offer:
        """The source, loaded; `tasks` is None where it cannot be had, and `why` then says the reason."""
        if self._gate and (found := self._gate(kind, request)):
            return found
        if kind not in self.kinds():
            kind = "demo"
        places = _local_places() if kind == "local" else {}
        try:
            tasks = self._load(kind, places)
        except UserError as error:
            return Offer(kind, None, f"{w['source_failed']} {error}", places)
        why = say(w, f"source_{kind}_why", n=len(tasks.tasks), name=tasks.source.name)
        return Offer(kind, tasks, " ".join([why, *tasks.notices]), places, tasks.source.name if kind == "hub" else "")

    def _load(self, kind: str, places: dict[str, Any]) -> TaskSet:
        with self._lock:
            if kind not in self._kept:
                spec = RunSpec(source=kind, solver=ModelSpec(model="demo/strong"))  # type: ignore[arg-type]
                self._kept[kind] = load_tasks(spec, Places(run_dir=NOWHERE, **places))
            return self._kept[kind]


def _local_places() -> dict[str, Any]:
    csv_path, resources = os.environ.get("L2BENCH_CSV_PATH"), os.environ.get("L2BENCH_RESOURCES_DIR")
    return {"csv_path": Path(csv_path), "resources_dir": Path(resources)} if csv_path and resources else {}
