"""What everyone may know of the gated set: how many tasks each competency and each context value has. Never any text.

Computed once by the owner's own build (`python -m runner.gate counts --source hub`) and read from its file.
"""

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.core.files import write_files
from pipeline.core.json_in import FROM_FILE, read_json
from pipeline.core.written import guarded
from pipeline.data.facets import counts
from pipeline.data.records import Task, TaskSet
from pipeline.errors import UserError
from pipeline.spec import ModelSpec, Places, RunSpec

SETTING = "L2BENCH_GATED_COUNTS"
DEFAULT = Path(__file__).resolve().parents[1] / "assets" / "gated_counts.json"
LONGEST = 60  # characters of a context value; longer ones are prose
FEWEST = 2  # tasks that share a value; a value of one task would describe that task


def public_counts(environ: Mapping[str, str] = os.environ) -> dict[str, Any] | None:
    """The counts the owner supplied, or None where they did not or the file cannot be read."""
    path = Path(environ.get(SETTING, "").strip() or DEFAULT)
    try:
        found = read_json(path.read_bytes(), FROM_FILE)
    except (OSError, ValueError):
        return None
    groups = found.get("groups") if isinstance(found, dict) else None
    if not isinstance(groups, dict) or not isinstance(found.get("total"), int):
        return None
    shown = {str(name): _numbers(values) for name, values in groups.items()}
    return {"name": str(found.get("name", "")), "total": found["total"], "groups": {k: v for k, v in shown.items() if v}}


def count(tasks: TaskSet) -> dict[str, Any]:
    """The counts of a task set: `{"name", "revision", "total", "groups": {"competency": {name: n}, variable: {value: n}}}`.

    Values that are long, or belong to one task alone, are left out.
    """
    competency = Counter(t.competency for t in tasks.tasks)
    groups = {**_contexts(tasks.tasks), "competency": dict(competency)}
    return {"name": tasks.source.name, "revision": tasks.source.revision, "total": len(tasks.tasks), "groups": groups}


def _contexts(tasks: Sequence[Task]) -> dict[str, dict[str, int]]:
    shown = {
        key: {v: n for v, n in values.items() if n >= FEWEST and len(v) <= LONGEST}
        for key, values in counts(tasks).items() if len(key) <= LONGEST
    }
    return {key: values for key, values in shown.items() if values}


def _numbers(found: Any) -> dict[str, int]:
    if not isinstance(found, dict):
        return {}
    return {str(k): v for k, v in found.items() if isinstance(v, int) and not isinstance(v, bool)}


@guarded
def main(argv: Sequence[str] | None = None) -> int:
    """The command; exit 0 written, 2 the tasks cannot be had."""
    from pipeline.data.sources import load_tasks

    parser = argparse.ArgumentParser(prog="python -m runner.gate")
    counting = parser.add_subparsers(required=True).add_parser("counts", help="write the public counts of a task set")
    counting.add_argument("--source", choices=("hub", "demo", "local"), default="hub")
    counting.add_argument("--csv-path", type=Path)
    counting.add_argument("--resources-dir", type=Path)
    counting.add_argument("--out", type=Path, default=DEFAULT)
    counting.add_argument("--force", action="store_true", help="replace a file that is there")
    args = parser.parse_args(argv)
    spec = RunSpec(source=args.source, solver=ModelSpec(model="demo/strong"), allow_missing_resources=True)
    try:
        tasks = load_tasks(spec, Places(Path(os.devnull), args.csv_path, args.resources_dir))
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    found = count(tasks)
    text = json.dumps(found, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    try:
        write_files({args.out: text.encode()}, force=args.force or args.out == DEFAULT)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{found['total']} tasks counted in {args.out}; it holds names and numbers, no text of a task.")
    return 0
