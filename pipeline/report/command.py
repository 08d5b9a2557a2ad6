"""The shell command that repeats a run: a RunSpec turned back into the flags of `python -m pipeline.eval`.

Pure. Never holds a key, and never writes a flag whose value is the default.
"""

import json
import shlex
from typing import Any

from pipeline.errors import UserError
from pipeline.report.view import RunView
from pipeline.settings import SETTINGS, Setting
from pipeline.spec import ModelSpec, RunSpec

PROGRAM = ("python", "-m", "pipeline.eval")
LOCAL_FILES = ("--csv-path=TASKS.csv", "--resources-dir=RESOURCES")
"""A spec holds no path, so local files stand as names to fill in."""
PREFIX = {"solver": "solver", "judge": "scorer"}
DEMO_JUDGE = "demo/judge"
BOOL_OR_MORE = frozenset({"adaptive_connections", "batch", "cache", "cache_prompt"})
"""Fields of GenerateConfig that take true, false or something else; their flag wants the word."""
TEXT_LISTS = frozenset({"fallback_models", "stop_seqs"})


def repeating(view: RunView) -> RunSpec | None:
    """The spec that repeats a run: with the revisions that names such as `main` had resolved to, and the prompt text that was used.

    None where the view's spec was written by another version.
    """
    try:
        spec = RunSpec.model_validate(view.spec)
    except (ValueError, UserError):
        return None
    pinned: dict[str, Any] = {}
    if spec.source == "hub" and view.data and view.data.revision:
        pinned["revision"] = view.data.revision
    if view.prompt and view.prompt.source == "published" and view.prompt.revision:
        pinned["prompt_revision"] = view.prompt.revision
    elif view.prompt and view.prompt.source == "own" and spec.source != "demo":  # the demo never asks for a published text
        pinned["prompt_source"] = "own"
    if spec.grown_from:  # which tasks came first is part of its choice, so the chosen ones are named
        whole = view.data is not None and len(view.tasks) == view.data.available
        pinned |= {"grown_from": "", "sample_limit": 0, "sampling": "first", "competency": (), "subcompetency": (), "context": (),
                   "task_ids": () if whole else tuple(t.key for t in view.tasks)}
    return spec.model_copy(update=pinned)


def command_line(spec: RunSpec) -> str:
    """One shell line that starts the same run, quoted, with only the flags that differ from the defaults."""
    words = list(PROGRAM)
    for row in SETTINGS:
        words += _row(spec, row)
    for role, prefix in PREFIX.items():
        words += _config(getattr(spec, role), role, prefix)
    if spec.source == "local":
        words += LOCAL_FILES
    line = " ".join(shlex.quote(w) for w in words)
    return f"TASKS_REPO={shlex.quote(spec.repo)} {line}" if spec.source == "hub" and spec.repo else line


def not_repeated(spec: RunSpec) -> tuple[str, ...]:
    """What of the spec no flag can say, as settings' names; empty where the command gives exactly this spec.

    The command line always sends a solver temperature, an answer length and a reasoning budget of the judge.
    """
    missing = [name for name in ("temperature", "max_tokens") if spec.solver.config.get(name) is None]
    found = [f"solver.{name}" for name in missing]
    if spec.judge.config.get("reasoning_tokens") is None and spec.judge.config.get("temperature") is None:
        found.append("judge.reasoning_tokens")
    return tuple(found)


def _row(spec: RunSpec, row: Setting) -> list[str]:
    value = value_of(spec, row)
    if row.name == "judge.model":
        default = DEMO_JUDGE if spec.solver.model.startswith("demo/") else row.default
    elif row.name == "judge.reasoning_tokens":
        # A judge's temperature switches the default budget off; without one the command must say so itself.
        default = None if spec.judge.config.get("temperature") is not None else row.default
        value = 0 if value is None and default is not None else value
    else:
        default = row.default
    if value is None or value is False or (value == default and value is not True):
        return []
    if row.kind is bool:
        return [row.flag]
    values = value if row.many else (value,)
    return [w for v in values for w in _pair(row.flag, v)]


def value_of(spec: RunSpec, row: Setting) -> Any:
    """What the spec says of one setting; a context variable as KEY=VALUE."""
    role, dot, name = row.name.partition(".")
    if not dot:
        value = getattr(spec, row.name)
        return tuple(f"{k}={v}" for k, v in value) if row.name == "context" else value
    model: ModelSpec = getattr(spec, role)
    return model.model if name == "model" else model.config.get(name)


def _config(model: ModelSpec, role: str, prefix: str) -> list[str]:
    """Generation settings that the table does not list, and the endpoint's address."""
    listed = {row.name for row in SETTINGS}
    words = [w for name, value in sorted(model.config.items()) if f"{role}.{name}" not in listed and value is not None
             for w in _field(prefix, name, value)]
    if model.base_url:
        words += ["--model-base-url" if role == "solver" else "--scorer-base-url", model.base_url]
    return words


def _field(prefix: str, name: str, value: Any) -> list[str]:
    flag = f"--{prefix}-{name.replace('_', '-')}"
    if isinstance(value, bool) and name not in BOOL_OR_MORE:
        return [flag if value else f"--no-{flag[2:]}"]
    if name in TEXT_LISTS and isinstance(value, list | tuple):
        return [flag, *map(str, value)] if value else []
    if isinstance(value, dict | list | tuple | bool):
        value = json.dumps(value, ensure_ascii=False)
    return _pair(flag, value)


def _pair(flag: str, value: Any) -> list[str]:
    """A flag and its value; joined by `=` where the value would look like a flag itself."""
    text = str(value)
    return [f"{flag}={text}"] if text.startswith("-") else [flag, text]
