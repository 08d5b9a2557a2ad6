"""The manifest: written last, it makes a run folder complete and lets a stranger check the score.

Holds digests, ids, settings, counts and both means. Never text of a task, an answer or a judge, and never a secret id.
"""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pipeline.core.files import write_whole
from pipeline.report.summary import summarise
from pipeline.report.view import RunView
from pipeline.spec import Places

FORMAT = 2
"""1: a task that the end of the run cut off counted as ended, in `summary.ended` and in the cost of a task."""


def journal_digest(path: Path) -> str:
    """Hex sha256 of the journal's bytes, or "" where there is none."""
    if not path.exists():
        return ""
    digest = hashlib.sha256()
    with path.open("rb") as f:
        for chunk in iter(lambda: f.read(1 << 20), b""):
            digest.update(chunk)
    return digest.hexdigest()


def build_manifest(view: RunView, journal: str = "") -> dict[str, Any]:
    """The manifest of a run as plain JSON data. `journal` is the digest of its journal."""
    summary = summarise(view)
    return {
        "format": FORMAT, "status": view.status, "reason": view.reason, "started": view.started, "finished": view.finished,
        "spec": view.spec, "spec_digest": view.spec_digest, "versions": view.versions,
        "data": view.data.model_dump(mode="json") if view.data else None,
        "prompt": view.prompt.model_dump(mode="json") if view.prompt else None,
        "models": view.models, "differences": view.differences,
        "task_ids": [t.key for t in view.tasks], "counts": view.counts(), "planned": view.planned,
        "summary": summary.model_dump(mode="json"),
        "spend": {role: vars(s) for role, s in view.spend.items()}, "cost": view.cost, "estimate": view.estimate,
        "journal_sha256": journal,
        **({"grown": [asdict(stage) for stage in view.grown]} if view.grown else {}),
    }


def write_manifest(view: RunView, places: Places) -> None:
    """Write `manifest.json` by a temporary file and a rename; the journal must be complete."""
    manifest = build_manifest(view, journal_digest(places.journal))
    write_whole(places.manifest, json.dumps(manifest, ensure_ascii=False, indent=1, allow_nan=False))
