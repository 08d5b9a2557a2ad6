"""Reading a zip that a stranger made: member by member, in memory, within limits. Never writes a file, never trusts a header.

Guards against bombs (real bytes are counted while they unpack), names that climb out, doubles and encryption.
"""

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from pipeline.errors import UserError

MOST_MEMBERS = 200
MOST_BYTES = 512 << 20
"""Unpacked bytes of a whole archive: far above the journal of 1,000 tasks in 20 epochs."""
MOST_SMALL = 64 << 20
"""Unpacked bytes of one file that is read whole, the journal apart."""
CHUNK = 1 << 20
_ADDED = re.compile(r"__MACOSX/|(.*/)?(\.DS_Store|Thumbs\.db|desktop\.ini)\Z")
"""What file managers add when a folder is packed by hand."""


def bad(found: str, path: Path) -> UserError:
    """The error for a file that is no export of a run."""
    return UserError(f"{path.name} cannot be read: {found}.", "The run.zip of a run, or its folder, unchanged.",
                     "Download it again.")


class Archive:
    """The members of a zip by name. A context manager.

    Raises:
        UserError: it is no zip, holds too much, or a name or member is not what an export holds.
    """

    def __init__(self, path: Path) -> None:
        self.path, self._left = path, MOST_BYTES
        try:
            self._zip = zipfile.ZipFile(path)
        except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise bad("it is no zip file" if path.exists() else "there is no such file", path) from error
        try:
            self.members = self._index()
        except UserError:
            self._zip.close()
            raise

    def __enter__(self) -> "Archive":
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def read(self, name: str, most: int = MOST_SMALL) -> bytes:
        """One member whole.

        Raises:
            UserError: it is missing, damaged, or unpacks to more than `most` bytes.
        """
        return b"".join(self.chunks(name, most))

    def chunks(self, name: str, most: int = MOST_BYTES) -> Iterator[bytes]:
        """One member in pieces; the bytes that come out are counted, whatever its header says."""
        if name not in self.members:
            raise bad(f"it holds no {name}", self.path)
        with self._open(name) as member:
            while data := self._read(member):
                most -= len(data)
                self._left -= len(data)
                if most < 0 or self._left < 0:
                    raise bad(f"{name} unpacks to more than it may", self.path)
                yield data

    def _open(self, name: str) -> IO[bytes]:
        try:
            return self._zip.open(self.members[name])
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, ValueError) as error:
            raise bad(f"{name} is damaged", self.path) from error

    def _read(self, member: IO[bytes]) -> bytes:
        try:
            return member.read(CHUNK)
        except Exception as error:  # zlib, CRC and format errors have no common class
            raise bad(f"{member.name} is damaged", self.path) from error

    def _index(self) -> dict[str, zipfile.ZipInfo]:
        infos = [i for i in self._zip.infolist() if not i.is_dir() and not _ADDED.match(i.filename)]
        if len(infos) > MOST_MEMBERS:
            raise bad(f"it holds {len(infos)} files", self.path)
        found: dict[str, zipfile.ZipInfo] = {}
        for info in infos:
            name = info.filename
            if name.startswith("/") or "\\" in name or ":" in name or ".." in name.split("/") or not name.isprintable():
                raise bad(f"it holds a file with the name {name[:60]!r}", self.path)
            if name in found:
                raise bad(f"it holds {name!r} twice", self.path)
            if info.flag_bits & 1:
                raise bad(f"{name!r} is encrypted", self.path)
            found[name] = info
        return _without_folder(found)


def _without_folder(found: dict[str, zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
    """The members without the one folder around them that some programs add when a run folder is packed by hand."""
    tops = {name.partition("/")[0] for name in found}
    if "events.jsonl" in found or "manifest.json" in found or len(tops) != 1:
        return found
    return {name.partition("/")[2]: info for name, info in found.items()}
