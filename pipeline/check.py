"""The file check as a command: `python -m pipeline.check [--csv-path F --resources-dir D] [--json]`.

Reads, reports, changes nothing and sends nothing (with --hub it downloads the dataset).
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pipeline.core.printing import print_json
from pipeline.core.written import guarded
from pipeline.data import hub
from pipeline.data.check import Checked, read_files
from pipeline.data.problem import Problem
from pipeline.data.sources import DEMO_CSV, DEMO_RESOURCES
from pipeline.errors import UserError

EPILOG = """exit codes: 0 nothing that would refuse a run (warnings are printed and do not fail), 1 problems,
2 the files cannot be read at all"""


@dataclass(frozen=True)
class _Files:
    csv_path: Path
    resources_dir: Path
    inside: Path | None = None
    revision: str = ""
    notices: tuple[str, ...] = ()


@guarded
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code 0, 1 or 2."""
    options = _parser().parse_args(argv)
    try:
        files = _files(options)
        checked = read_files(files.csv_path, files.resources_dir, inside=files.inside)
    except UserError as error:
        if options.json:
            print_json({"ok": False, "unreadable": str(error), "problems": []})
        else:
            print(error, file=sys.stderr)
        return 2
    refused = [p for p in checked.built.problems if _refuses(p, options.allow_missing_resources)]
    if options.json:
        print_json(_record(files, checked, not refused), indent=2)
    else:
        _print(files, checked, len(refused))
    return 1 if refused else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pipeline.check",
        description="Check a tasks file and its resources before any money is spent. Without options: the demo tasks.",
        epilog=EPILOG,
    )
    parser.add_argument("--csv-path", type=Path, help="a local tasks file; with --resources-dir")
    parser.add_argument("--resources-dir", type=Path, help="the folder with its resource files; with --csv-path")
    parser.add_argument("--hub", action="store_true", help="check the dataset on the Hugging Face Hub (TASKS_REPO)")
    parser.add_argument("--revision", default="", help="with --hub: branch, tag or commit (default: main)")
    parser.add_argument("--allow-missing-resources", action="store_true", help="do not fail on missing resource files")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    return parser


def _files(options: argparse.Namespace) -> _Files:
    if (options.csv_path is None) != (options.resources_dir is None):
        missing = "--csv-path" if options.csv_path is None else "--resources-dir"
        raise UserError(f"{missing} is not given.", "Both, or neither for the demo tasks.", f"Add {missing}.")
    if options.csv_path is not None:
        return _Files(options.csv_path, options.resources_dir)
    if options.hub:
        got = hub.fetch("", options.revision, None, None)
        return _Files(got.csv_path, got.resources_dir, got.inside, got.commit, got.notices)
    return _Files(DEMO_CSV, DEMO_RESOURCES)


def _refuses(problem: Problem, allow_missing: bool) -> bool:
    return problem.level == "error" or (problem.level == "missing_resource" and not allow_missing)


def _record(files: _Files, checked: Checked, ok: bool) -> dict[str, Any]:
    tasks = checked.built.tasks
    return {
        "ok": ok,
        "file": files.csv_path.name,
        "revision": files.revision,
        "digest": checked.digest,
        "tasks": len(tasks),
        "criteria": sum(len(t.criteria) for t in tasks),
        "notices": [*files.notices, *checked.built.notices],
        "problems": [asdict(p) for p in checked.built.problems],
    }


def _print(files: _Files, checked: Checked, refused: int) -> None:
    for notice in (*files.notices, *checked.built.notices):
        print(f"{files.csv_path.name}: notice: {notice}")
    for problem in checked.built.problems:
        print(problem.line)
    tasks = checked.built.tasks
    warnings = len(checked.built.problems) - refused
    print(
        f"{files.csv_path.name}: {len(tasks)} tasks and {sum(len(t.criteria) for t in tasks)} criteria can be used, "
        f"{refused} problems, {warnings} warnings"
    )


if __name__ == "__main__":
    # a terminal that cannot show a character must not end the check
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(main())
