"""Which tasks of a run are no longer as it began: digests of its tasks, kept in the run's private folder. Holds no text."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from pipeline.data.records import Task

FILE = "tasks.json"
_SHOWN = 5


def remember(tasks: Iterable[Task], private: Path) -> None:
    """Keep the digests of the tasks beside a run, unless they are kept already.

    Raises:
        OSError: the folder cannot be written.
    """
    path = private / FILE
    if not path.exists():
        path.write_text(json.dumps(_digests(tasks), separators=(",", ":")), encoding="utf-8")


def what_changed(tasks: Iterable[Task], private: Path) -> str:
    """One sentence on the tasks that differ from those that were remembered; "" where nothing was remembered."""
    try:
        old = json.loads((private / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    new = _digests(tasks)
    groups = {
        "changed": [k for k in old if k in new and new[k] != old[k]],
        "gone": [k for k in old if k not in new],
        "new": [k for k in new if k not in old],
    }
    said = [f"{_listed(keys)} {'is' if len(keys) == 1 else 'are'} {what}" for what, keys in groups.items() if keys]
    return f"Since the run began, {'; '.join(said)}." if said else "Since the run began, only the order of the tasks has changed."


def _listed(keys: list[str]) -> str:
    more = f" and {len(keys) - _SHOWN} more" if len(keys) > _SHOWN else ""
    return f"{'task' if len(keys) == 1 else 'tasks'} {', '.join(keys[:_SHOWN])}{more}"


def _digests(tasks: Iterable[Task]) -> dict[str, str]:
    return {t.key: hashlib.sha256(repr(replace(t, row=0)).encode("utf-8", "backslashreplace")).hexdigest()[:16] for t in tasks}
