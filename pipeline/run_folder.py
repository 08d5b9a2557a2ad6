"""The folder of a run as the command line makes and holds it: its name, its lock, where its tasks were found.

Never removes anything.
"""

import itertools
import json
import os
import sys
import time
from pathlib import Path

from pipeline.core.files import write_whole
from pipeline.core.json_in import FROM_FILE, read_json
from pipeline.core.lock import Lock
from pipeline.errors import UserError
from pipeline.ledger import hold_run
from pipeline.spec import Places, RunSpec

OURS = ("spec.json", "manifest.json", "events.jsonl", "private", "specs")
"""What a run writes into its folder, beside the `.eval` log, whose name no other file has."""
PLACES = "private/places.json"
"""In a run's folder: paths of a local tasks file and of its resources, so that the run can go on by its folder alone."""


def fresh_dir(spec: RunSpec) -> Path:
    """A folder that is not there yet: two runs that start in one second get two."""
    name = "".join(c if c.isalnum() or c in "-._" else "_" for c in spec.solver.model)
    first = Path("logs") / f"{time.strftime('%Y%m%d-%H%M%S')}-{name}"
    return next(p for n in itertools.count(1) if not (p := first if n == 1 else first.with_name(f"{first.name}-{n}")).exists())


def make(run_dir: Path) -> bool:
    """Whether the folder was made here and now: only then may it be taken away again.

    Raises:
        UserError: it cannot be made.
    """
    try:
        run_dir.parent.mkdir(parents=True, exist_ok=True)
        run_dir.mkdir()
    except FileExistsError:
        return False
    except OSError as error:
        raise UserError(f"{run_dir} cannot be made: {error.strerror}.", "", "Name another --log-dir.") from None
    return True


def refuse_foreign(run_dir: Path) -> None:
    """Refuse a folder with files of somebody's own under the names that a run's files have.

    Raises:
        UserError: they are named; none was touched.
    """
    found, private = [name for name in OURS if os.path.lexists(run_dir / name)], run_dir / "private"
    if found == ["private"] and private.is_dir() and ((private / "run.lock").exists() or not any(private.iterdir())):
        return  # a run that was killed before it had written its settings
    if found and not _is_run(run_dir):
        raise UserError(f"{run_dir} is no run's folder and holds {', '.join(found)}, which a run would replace.", "",
                        "Name another --log-dir.")


def _is_run(run_dir: Path) -> bool:
    try:
        RunSpec.model_validate(read_json((run_dir / "spec.json").read_bytes(), FROM_FILE))
    except (OSError, ValueError, UserError):
        return False
    return True


def hold(run_dir: Path) -> Lock:
    """The lock of the run's folder; that the file system keeps no locks is said on standard error.

    Raises:
        UserError: another process works on the run, or the folder cannot be written.
    """
    try:
        held = hold_run(run_dir)
    except OSError as error:
        raise UserError(f"{run_dir} cannot be written: {error.strerror}.", "", "Name another --log-dir.") from None
    if held.note:
        print(f"Note: {held.note}", file=sys.stderr)
    return held


def kept_places(run_dir: Path) -> dict[str, str]:
    """The paths that a run was started with, by name; empty where none are kept."""
    try:
        found = json.loads((run_dir / PLACES).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if isinstance(found, list):  # as the command line wrote it before the page and it wrote it alike
        found = dict(zip(("csv_path", "resources_dir"), found, strict=False))
    return {n: p for n, p in found.items() if isinstance(p, str)} if isinstance(found, dict) else {}


def keep_places(places: Places) -> None:
    """Write down where the tasks are, beside what the page has written there.

    Raises:
        OSError: the folder cannot be written.
    """
    paths = {n: str(p.absolute()) for n in ("csv_path", "resources_dir") if (p := getattr(places, n))}
    write_whole(places.run_dir / PLACES, json.dumps(kept_places(places.run_dir) | paths))
