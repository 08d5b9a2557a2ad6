"""The texts of a run's tasks for its page. Never decides who may see them: that is `runner.gate.Texts`.

On a hosted server gated text comes only out of the copy that the visitor's own token has opened: nobody's token but
theirs is ever used for it.
"""

from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.requests import Request

from pipeline.data.records import Task, TaskSet
from pipeline.errors import UserError
from pipeline.report.view import RunView
from pipeline.spec import ModelSpec, Places, RunSpec
from runner.addresses import hosted
from ui.signin import token_of

KeptTasks = Callable[[Request, str], TaskSet | None]
KEPT = 4
_tasks: OrderedDict[str, dict[str, Task]] = OrderedDict()


def tasks_of(request: Request, found: Any, view: RunView, places: dict[str, str],
             kept: KeptTasks) -> dict[str, Task] | None:
    """The run's tasks with their text, by key. Ask `Texts` first; may take seconds, so call it in a thread.

    None where the data cannot be had, is no longer the run's, or the viewer's token does not open it.
    """
    from pipeline.data.sources import load_tasks

    source = found.meta.source
    token = token_of(request) if source == "hub" else None
    if source == "hub" and hosted():
        own = kept(request, view.data.digest if view.data else "") if token else None
        return own.by_key() if own else None
    key = f"{source}-{view.data.digest if view.data else ''}" if source == "demo" else found.key
    if source != "hub" and key in _tasks:
        _tasks.move_to_end(key)
        return _tasks[key]
    try:
        loaded = load_tasks(_data_spec(view, source), _places(places), token).by_key()
    except (UserError, OSError, ValueError):
        return None
    if source != "hub":
        _tasks[key] = loaded
        while len(_tasks) > KEPT:
            _tasks.popitem(last=False)
    return loaded


def _data_spec(view: RunView, source: Any) -> RunSpec:
    data = view.data
    return RunSpec(source=source, repo=str(view.spec.get("repo", "")), revision=data.revision if data else "",
                   data_digest=data.digest if data else "", solver=ModelSpec(model="none/none"),
                   allow_missing_resources=True, prompt_version="v3")


def _places(places: dict[str, str]) -> Places:
    paths = {k: Path(v) for k, v in places.items() if k in ("csv_path", "resources_dir", "cache_dir")}
    return Places(run_dir=Path(), **paths)
