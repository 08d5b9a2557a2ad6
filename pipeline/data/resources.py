"""Resource files by name, out of one folder and no other place. Never follows a path or a symlink out of it.

A link in the tasks file may be a bare name, a path or a URL; only its last part counts.
"""

import hashlib
import stat
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pipeline.core.text import REPLACEMENT, safe_text
from pipeline.data.problem import Level, character, quoted
from pipeline.data.records import Resource

MAX_BYTES = 2 * 1024 * 1024
EXPECTED = "A UTF-8 text file of that name in the resources folder."


@dataclass(frozen=True, slots=True)
class Found:
    """What a link led to: a resource, or why not. `digest` is the hex sha256 of the file's bytes, "" where absent."""

    resource: Resource
    fault: str = ""
    level: Level = "error"
    digest: str = ""


class Shelf:
    """The resources folder, read lazily; each file is read once.

    Args:
        folder: where the files stand; a folder that is absent holds no file.
        inside: files must lie inside this folder after symlinks are followed; by default `folder`. The Hub's cache
            keeps its files beside the snapshot and links to them, so there it is the cache.
    """

    def __init__(self, folder: Path, inside: Path | None = None) -> None:
        self.folder = folder
        self._inside = (inside or folder).resolve()
        self._names = {_normal(p.name): p for p in folder.iterdir()} if folder.is_dir() else {}
        self._read: dict[str, Found] = {}

    def find(self, link: str) -> Found:
        """The resource that a link names; a placeholder with the reason where it cannot be had."""
        name = self._name(link)
        if name not in self._read:
            self._read[name] = self._open(name, link)
        return self._read[name]

    @property
    def used(self) -> dict[str, str]:
        """Digest by name of every file that was asked for; "" for those that are absent."""
        return {name: found.digest for name, found in sorted(self._read.items())}

    def _name(self, link: str) -> str:
        """File name in a link: as written where there is such a file, else without query and percent signs."""
        written = _last_part(link)
        decoded = _last_part(unquote(urlsplit(link.strip()).path)) if _splits(link) else written
        found = next((n for n in (written, decoded, unquote(written)) if _normal(n) in self._names), decoded)
        return found if _normal(found) in self._names else safe_text(found)

    def _open(self, name: str, link: str) -> Found:
        path = self._names.get(_normal(name))
        if not name or name in (".", ".."):
            return _absent(name, f"The link {quoted(link)} names no file.")
        if path is None:
            near = next((p.name for n, p in self._names.items() if n.casefold() == _normal(name).casefold()), "")
            hint = f" There is {quoted(near)}, which differs in case." if near else ""
            return _absent(name, f"There is no file {quoted(name)} in the resources folder.{hint}")
        try:
            return self._text(name, path)
        except OSError as error:
            return _absent(name, f"The file {quoted(name)} cannot be read: {error.strerror or type(error).__name__}.")

    def _text(self, name: str, path: Path) -> Found:
        real = path.resolve(strict=True)
        if not real.is_relative_to(self._inside):
            return _absent(name, f"The file {quoted(name)} is a link out of the resources folder.")
        info = real.stat()
        if not stat.S_ISREG(info.st_mode):
            return _absent(name, f"{quoted(name)} is not a file.")
        if info.st_size > MAX_BYTES:
            return _faulty(name, f"The file {quoted(name)} has {info.st_size:,} bytes; at most {MAX_BYTES:,} are read.")
        raw = real.read_bytes()
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = raw[: error.start].count(b"\n") + 1
            return _faulty(name, f"Line {line} of {quoted(name)} is not UTF-8 (byte 0x{raw[error.start]:02X}).")
        safe = safe_text(text)
        if odd := "" if safe is text else next((c for c in text if c != REPLACEMENT and safe_text(c) == REPLACEMENT), ""):
            return _faulty(name, f"{quoted(name)} is not text: it holds the control character {character(odd)}.")
        text = safe.replace("\r\n", "\n").replace("\r", "\n")
        fault = "" if text.strip() else f"The file {quoted(name)} is empty."
        return Found(Resource(safe_text(name), text), fault, "warning", hashlib.sha256(raw).hexdigest())


def placeholder(name: str) -> str:
    """What stands in a task in place of a resource that is absent, as in the reference pipeline."""
    return f"[Resource not available: {name}]"


def _absent(name: str, fault: str) -> Found:
    return Found(Resource(name, placeholder(name), missing=True), fault, "missing_resource")


def _faulty(name: str, fault: str) -> Found:
    return Found(Resource(name, placeholder(name), missing=True), fault)


def _last_part(link: str) -> str:
    return link.strip().replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]


def _splits(link: str) -> bool:
    try:
        return bool(urlsplit(link.strip()).path)
    except ValueError:
        return False


def _normal(name: str) -> str:
    return unicodedata.normalize("NFC", name)
