"""Run folders on disk: create, list, journal, read back, delete. Never holds a key or a secret id.

A folder is `$L2BENCH_HOME/runs/<key>/` with `meta.json`, `spec.json`, `events.jsonl`, `manifest.json` and `private/`.
"""

import json
import logging
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from pipeline.core import lock
from pipeline.core.append import Appender
from pipeline.core.clock import now
from pipeline.core.files import write_whole
from pipeline.core.machine import in_words
from pipeline.errors import UserError
from pipeline.events import RunFinished, read_journal, read_journal_file, to_line
from pipeline.ledger import hold_run
from pipeline.spec import RunSpec
from runner.folded import Folded, card
from runner.sharing import Meta, is_key

RESTARTED = "The server restarted; finished tasks are kept."
TAIL = 1 << 16
log = logging.getLogger(__name__)


class Store:
    """All run folders under one home, with their meta records in memory.

    Raises:
        UserError: another server uses the same home.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        self.runs = home / "runs"
        self.runs.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.lock = lock.take(
            home / "service.lock", "Another server uses this data folder", "Stop it, or set L2BENCH_HOME to another folder."
        )
        if self.lock.note:
            log.warning(self.lock.note)
        self.salt = _salt(home / "salt")
        self.metas: dict[str, Meta] = {}
        self._public: dict[str, str] = {}

    def close(self) -> None:
        """Let another server use the home."""
        self.lock.release()

    def folder(self, key: str) -> Path:
        """A run's folder.

        Raises:
            KeyError: `key` is no folder name of ours.
        """
        if not is_key(key):
            raise KeyError(key)
        return self.runs / key

    def scan(self) -> list[str]:
        """Read every meta record; the keys of runs that a restart cut are returned and given their last event."""
        cut = []
        for folder in self.runs.iterdir():
            if folder.name.startswith(".gone-"):
                shutil.rmtree(folder, ignore_errors=True)
            elif is_key(folder.name):
                try:
                    self._remember(_read_meta(folder))
                    if self._open_end(folder):
                        with hold_run(folder):
                            if self._seal(folder):
                                cut.append(folder.name)
                except lock.Held as error:
                    log.warning("a run is not this server's for now: %s", error)
                except OSError:
                    log.exception("a run folder cannot be read")
        return cut

    def create(self, meta: Meta, spec: RunSpec, places: dict[str, str]) -> Path:
        """Make the folder of a new run.

        Raises:
            UserError: the disk takes no more; nothing of the folder stays.
        """
        folder = self.folder(meta.key)
        try:
            with in_words():
                (folder / "private").mkdir(parents=True, mode=0o700)
                write_whole(folder / "spec.json", spec.canonical())
                write_whole(folder / "private" / "places.json", json.dumps(places))
            self.save(meta)
        except UserError:
            self.remove(meta.key)
            raise
        return folder

    def save(self, meta: Meta) -> None:
        """Write a meta record and remember it."""
        with in_words():
            write_whole(self.folder(meta.key) / "meta.json", json.dumps(meta.to_json(), sort_keys=True))
        self._remember(meta)

    def reopen(self, key: str, spec: RunSpec, places: dict[str, str], facts: dict[str, Any]) -> None:
        """A run goes on: its spec may have other caps, its manifest no longer holds."""
        folder = self.folder(key)
        with in_words():
            write_whole(folder / "spec.json", spec.canonical())
            write_whole(folder / "private" / "places.json", json.dumps(places))
            (folder / "manifest.json").unlink(missing_ok=True)
        self.save(replace(self.metas[key], ended=None, card=facts))

    def adopt(self, meta: Meta, files: dict[str, Path]) -> None:
        """Take in the public files (by name) of a run that came from the results repo, replacing an older copy."""
        folder = self.folder(meta.key)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for name, path in files.items():
            os.replace(path, folder / name)
        self.save(meta)

    def by_public(self, public_id: str) -> Meta | None:
        """The run that has this public id, shared now or not."""
        return self.metas.get(self._public.get(public_id, ""))

    def remove(self, key: str) -> None:
        """Delete a run's folder wholly; gone at once for everyone, even where deleting takes long."""
        meta = self.metas.pop(key, None)
        if meta and meta.public_id:
            self._public.pop(meta.public_id, None)
        folder = self.folder(key)
        gone = self.runs / f".gone-{secrets.token_hex(8)}"
        if folder.exists():
            folder.rename(gone)
            shutil.rmtree(gone, ignore_errors=True)

    def spec(self, key: str) -> RunSpec | None:
        """The run's spec, or None where the file is lost."""
        try:
            return RunSpec.model_validate_json((self.folder(key) / "spec.json").read_bytes())
        except (OSError, ValueError, UserError):
            return None

    def places(self, key: str) -> dict[str, str]:
        """Paths the run was started with, by name; empty where none were."""
        try:
            return dict(json.loads((self.folder(key) / "private" / "places.json").read_bytes()))
        except (OSError, ValueError):
            return {}

    def load(self, key: str) -> Folded:
        """Fold a run's journal. Takes up to a second for the largest; call it in a thread."""
        folded = Folded()
        for event in read_journal_file(self.folder(key) / "events.jsonl"):
            folded.apply(event)
        if not folded.view.spec and (spec := self.spec(key)):
            folded.view.spec, folded.view.spec_digest = spec.model_dump(mode="json"), spec.digest
        folded.wire.publish(time.time(), folded.view, final=True)
        return folded

    def _remember(self, meta: Meta) -> None:
        old = self.metas.get(meta.key)
        if old and old.public_id:
            self._public.pop(old.public_id, None)
        self.metas[meta.key] = meta
        if meta.public_id:
            self._public[meta.public_id] = meta.key

    def _open_end(self, folder: Path) -> bool:
        meta = self.metas[folder.name]
        return not (meta.pulled or (meta.ended is not None and (folder / "events.jsonl").exists()))

    def _seal(self, folder: Path) -> bool:
        """End a run that has no last event; a run that ended is only marked as ended. Whether it was cut."""
        meta, path = self.metas[folder.name], folder / "events.jsonl"
        last = next(_last_events(path), None)
        cut = not isinstance(last, RunFinished)
        if not isinstance(last, RunFinished):
            last = RunFinished(t=max(now(), last.t if last else 0.0), status="interrupted", reason=RESTARTED)
            journal = Appender(path)
            journal.add(to_line(last))
            journal.flush(sync=True)
            journal.close()
        facts = card(self.load(folder.name).view)
        self.save(replace(meta, ended=last.t, card=facts))
        return cut


def size_of(folder: Path) -> int:
    """Bytes of all files below a folder."""
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(root, name)).st_size
            except FileNotFoundError:
                continue
    return total


def _read_meta(folder: Path) -> Meta:
    try:
        meta = Meta.from_json(json.loads((folder / "meta.json").read_bytes()))
        if meta.key == folder.name:
            return meta
    except (OSError, ValueError, TypeError):
        pass
    # Whose it was is lost, so nobody but the holder of the secret link gets it back, and that without its text.
    return Meta(key=folder.name, created=folder.stat().st_mtime, source="unknown", bound=True)


def _last_events(path: Path) -> Iterator[Any]:
    if not path.exists():
        return
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - TAIL))
        lines = file.read().splitlines()
    for line in reversed(lines):
        yield from read_journal([line])


def _salt(path: Path) -> bytes:
    if not path.exists():
        write_whole(path, secrets.token_hex(32))
    return path.read_text().strip().encode()
