"""What the export tests share: made runs as folders with a manifest and as zips, and zips taken apart and put together."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

from pipeline.report.export.archive import run_zip
from pipeline.report.export.source import Run, run_from_folder
from pipeline.report.manifest import write_manifest
from pipeline.spec import Places
from tests.made_runs import write_run


def made_folder(folder: Path, **changes: Any) -> Path:
    """A whole run folder: journal, private ledger, manifest."""
    write_run(folder, **changes)
    write_manifest(run_from_folder(folder).view, Places(folder))
    return folder


def made_run(folder: Path, **changes: Any) -> Run:
    """A made run as exports see it."""
    return run_from_folder(made_folder(folder, **changes))


def made_zip(folder: Path, **changes: Any) -> Path:
    """The `run.zip` of a made run."""
    path = folder / "run.zip"
    path.write_bytes(run_zip(made_run(folder / "run", **changes)))
    return path


def unpacked(path: Path) -> dict[str, bytes]:
    """The members of a zip."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(members: dict[str, bytes]) -> bytes:
    """A zip of these members."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def journal(data: bytes) -> list[dict[str, Any]]:
    """The lines of a journal as JSON."""
    return [json.loads(line) for line in data.splitlines()]


def lines(events: list[dict[str, Any]]) -> bytes:
    """The reverse of `journal`."""
    return "".join(json.dumps(e) + "\n" for e in events).encode()
