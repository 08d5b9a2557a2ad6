"""What every export is made from: a journal, its view and its manifest, whatever they were read from.

Reads run folders, `run.zip` and logs; never reads `private/` of a run folder.
"""

import contextlib
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.core.json_in import FROM_FILE, BadJson, NotJson, read_json
from pipeline.errors import UserError
from pipeline.events import Event, from_value
from pipeline.report.export.bounded import MOST_BYTES, MOST_SMALL, Archive, bad
from pipeline.report.manifest import build_manifest
from pipeline.report.view import RunView, fold

MOST_LINE = 32 << 20
"""Bytes of one journal line; the longest is the plan."""
MOST_EPOCHS = 1000


@dataclass(frozen=True)
class Run:
    """A run as it is exported.

    Attributes:
        journal: bytes of `events.jsonl`.
        manifest: as written when the run ended; made anew for a run that went on since, or has none.
    """

    journal: bytes
    view: RunView
    manifest: dict[str, Any]


def run_of(journal: bytes, manifest: dict[str, Any] | None = None) -> Run:
    """The run behind a journal.

    Args:
        manifest: the one that was written, kept if it belongs to the state the journal is in.

    Raises:
        UserError: the journal holds no start of a run.
    """
    view = fold(events_of([journal]))
    check_start(view)
    if manifest is None or view.status == "running" or manifest.get("finished") != view.finished:
        manifest = build_manifest(view, hashlib.sha256(journal).hexdigest())
    return Run(journal, view, manifest)


def check_start(view: RunView) -> None:
    """A view that exports can be made of.

    Raises:
        UserError: the journal held no start of a run, or one that no run could have.
    """
    if not view.spec:
        raise UserError("The journal holds no start of a run.", "A journal that begins with the run's plan.",
                        "Try again when the run has started.")
    try:
        sane = 1 <= view.epochs <= MOST_EPOCHS
    except (TypeError, ValueError):
        sane = False
    if not sane:
        raise UserError("The journal names no possible number of epochs.", f"1 to {MOST_EPOCHS}.", "Download it again.")


def run_from_folder(folder: Path) -> Run:
    """The run in a run folder (`events.jsonl`, and `manifest.json` where it ended); a damaged manifest is made anew.

    Raises:
        UserError: there is no run that can be read.
    """
    journal = folder / "events.jsonl"
    try:
        if journal.stat().st_size > MOST_BYTES:
            raise bad("its journal is too large", folder)
        manifest = None
        with contextlib.suppress(UserError):
            manifest = read_manifest(folder)
        return run_of(journal.read_bytes(), manifest)
    except OSError as error:
        raise bad("it holds no events.jsonl", folder) from error


def run_from_zip(path: Path) -> Run:
    """The run in a `run.zip`.

    Raises:
        UserError: it is not one, or a damaged one.
    """
    with Archive(path) as archive:
        manifest = json_object(archive.read("manifest.json"), path) if "manifest.json" in archive.members else None
        return run_of(archive.read("events.jsonl", MOST_BYTES), manifest)


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """`manifest.json` of a run folder, or None where there is none.

    Raises:
        UserError: it is no JSON object, or far too large.
    """
    path = folder / "manifest.json"
    if not path.exists():
        return None
    if path.stat().st_size > MOST_SMALL:
        raise bad("its manifest is too large", folder)
    return json_object(path.read_bytes(), folder)


def json_object(data: bytes, path: Path) -> dict[str, Any]:
    """A JSON object from bytes.

    Raises:
        UserError: it is something else.
    """
    try:
        found = read_json(data, FROM_FILE)
    except BadJson as error:
        raise bad(f"its manifest is no JSON that can be read ({str(error).rstrip('.')})", path) from None
    if not isinstance(found, dict):
        raise bad("its manifest is no JSON object", path)
    return found


def lines_of(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a file that comes in pieces.

    Raises:
        UserError: a line is longer than any event.
    """
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        yield from whole
        if len(rest) > MOST_LINE:
            raise UserError("The journal has a line that is too long.", "One event a line.", "Download it again.")
    yield rest


def events_of(chunks: Iterable[bytes]) -> Iterator[Event]:
    """The events of a journal that comes in pieces. Lines cut by a crash and lines of an unknown kind are passed over.

    Raises:
        UserError: a line could mean two things, or costs without end to read.
    """
    for number, line in enumerate(lines_of(chunks), 1):
        try:
            if line.strip():
                yield from_value(read_json(line, FROM_FILE))
        except BadJson as error:
            if not isinstance(error, NotJson):
                raise UserError(f"Line {number} of the journal cannot be read ({str(error).rstrip('.')}).",
                                "A journal as a run wrote it.", "Download it again.") from None
        except ValueError:
            continue
