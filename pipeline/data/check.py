"""Every check before any spend, over one tasks file and its resources. Never sends anything, never repairs a file.

`python -m pipeline.check` prints what this finds; `sources.load_tasks` refuses a run on it.
"""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from pipeline.core.text import safe_text
from pipeline.data.build import Built, build
from pipeline.data.problem import Level, Problem, Report
from pipeline.data.read import read_table
from pipeline.data.resources import Shelf
from pipeline.data.shifted import name_shifted_rows
from pipeline.errors import UserError

__all__ = ["Checked", "Level", "Problem", "check_files", "read_files"]


@dataclass
class Checked:
    """A tasks file that was read whole. `digest` as in `digest_of`."""

    built: Built
    digest: str


def check_files(csv_path: Path, resources_dir: Path, needs_reference: bool = True) -> list[Problem]:
    """All problems of a tasks file and its resources, in the order in which they were met.

    Raises:
        UserError: the tasks file or the folder cannot be read at all.
    """
    return read_files(csv_path, resources_dir, needs_reference=needs_reference).built.problems


def read_files(
    csv_path: Path, resources_dir: Path, *, inside: Path | None = None, needs_reference: bool = True
) -> Checked:
    """Tasks and problems of a tasks file; `inside` as in `Shelf` (where given, an absent folder is allowed).

    Raises:
        UserError: the tasks file or the folder cannot be read at all.
    """
    if inside is None and not resources_dir.is_dir():
        raise UserError(
            f"There is no folder {resources_dir}.",
            "The folder with the resource files (resources_for_tasks in the dataset).",
            "Give it with --resources-dir.",
        )
    report = Report(safe_text(csv_path.name))
    table = read_table(csv_path, report)
    name_shifted_rows(table, report)
    shelf = Shelf(resources_dir, inside)
    built = build(table, shelf, report, needs_reference)
    return Checked(built, digest_of(table.raw, shelf.used))


def digest_of(raw: bytes, resources: dict[str, str]) -> str:
    """Hex sha256 over the tasks file's own sha256 and then, by name, each resource that a task links to: name and
    sha256, or the word "missing"."""
    lines = [sha256(raw).hexdigest()]
    lines += [f"{name}\t{digest or 'missing'}" for name, digest in sorted(resources.items())]
    return sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()
