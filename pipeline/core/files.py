"""Files written whole: as before or as new, never half. Those that commands leave for a person never take the place of one
that is there, unless asked for.
"""

import contextlib
import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from pipeline.errors import UserError

_SHOWN = 3


def write_files(files: Mapping[Path, bytes], force: bool = False) -> list[Path]:
    """Write all of the files, each by a temporary file and a rename; a file that holds these very bytes is left as it is.

    Args:
        force: replace what is there.

    Raises:
        UserError: something else stands at one of the paths; then none is written.
        OSError: a folder or a file cannot be written.
    """
    todo = {path: data for path, data in files.items() if not _same(path, data)}
    taken = [path for path in todo if os.path.lexists(path)]
    if taken and not force:
        more = f" and {len(taken) - _SHOWN} more" if len(taken) > _SHOWN else ""
        raise UserError(
            f"{', '.join(map(str, taken[:_SHOWN]))}{more} would be replaced; nothing was written.",
            "",
            "Name another folder with --out, or add --force to replace.",
        )
    for path, data in todo.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, data, force)
    return list(files)


def _same(path: Path, data: bytes) -> bool:
    try:
        return path.is_file() and path.stat().st_size == len(data) and path.read_bytes() == data
    except OSError:
        return False


def _write(path: Path, data: bytes, force: bool) -> None:
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with temporary.open("xb") as file:
            file.write(data)
        if not force and os.path.lexists(path):  # it came while the others were being made
            raise FileExistsError(17, "a file has appeared there", str(path))
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Write a file by a temporary one beside it and a rename, readable by this user alone.

    Raises:
        OSError: the disk refused; the file is as before.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
