"""A file of lines that only grows: whole lines or none, and what the disk refused stays in memory until it is taken.

One writer at a time. A last line that a crash cut is ended before the first new one. Never raises where lines only wait.
"""

import contextlib
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path


class Appender:
    """Lines for one file; its descriptor stays open, so that too many open files elsewhere do not stop it.

    Args:
        room: called where the disk is full, to make room; whether it made any.

    Raises:
        OSError: the file cannot be opened.
    """

    def __init__(self, path: Path, room: Callable[[], bool] = lambda: False) -> None:
        self.path, self.room = path, room
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        self._lines: list[bytes] = []
        self._lock = threading.Lock()
        self.bytes = os.fstat(self._fd).st_size
        if self.bytes and os.pread(self._fd, 1, self.bytes - 1) != b"\n":
            self._lines.append(b"\n")

    @property
    def waiting(self) -> int:
        """Lines that are not in the file yet."""
        return len(self._lines)

    def add(self, line: str) -> None:
        """Take one line, without its newline."""
        self._lines.append(line.encode("utf-8", "backslashreplace") + b"\n")

    def write(self, line: str) -> OSError | None:
        """Take one line and write all that waits; the reason where the disk refused."""
        self.add(line)
        return self.try_flush()

    def drop_last(self) -> None:
        """Forget the line that was taken last and waits: what it was to say has not happened."""
        with self._lock:
            if self._lines:
                del self._lines[-1]

    def try_flush(self) -> OSError | None:
        """As `flush`, giving back the reason in place of raising it."""
        try:
            self.flush()
        except OSError as error:
            return error
        return None

    def flush(self, sync: bool = False) -> None:
        """Write what waits, and with `sync` make it last through a power cut. May run in a thread.

        Raises:
            OSError: the disk refused, or the file has gone; the lines stay.
        """
        with self._lock:
            count = len(self._lines)
            data = b"".join(self._lines[:count])
            if data:
                if os.fstat(self._fd).st_nlink == 0:
                    raise FileNotFoundError(2, "the file was removed", str(self.path))
                self._put(data)
                del self._lines[:count]
                self.bytes += len(data)
            if sync:
                os.fsync(self._fd)

    def _put(self, data: bytes) -> None:
        start, view = os.fstat(self._fd).st_size, memoryview(data)
        while view:
            try:
                view = view[os.write(self._fd, view):]
            except OSError:
                if not self.room():
                    with contextlib.suppress(OSError):
                        os.ftruncate(self._fd, start)  # a line must not be half there when it is written again
                    raise

    def close(self, patience: float = 0.0) -> None:
        """Write what waits, trying for `patience` seconds where the disk refuses, and close. A second call does nothing."""
        if self._fd >= 0:
            end = time.monotonic() + patience
            while self.try_flush() is not None and time.monotonic() < end:
                time.sleep(0.5)
            os.close(self._fd)
            self._fd = -1


def free_bytes(folder: Path) -> float:
    """Bytes that this user may still write to the disk of `folder`; without end where the system does not tell."""
    try:
        found = os.statvfs(folder)
    except (OSError, AttributeError):
        return float("inf")
    return found.f_bavail * found.f_frsize if found.f_blocks else float("inf")


class Room:
    """Bytes kept free beside a run's files, given back when the disk is full: what was paid for by then still fits."""

    def __init__(self, path: Path, size: int) -> None:
        self._path = path
        try:
            with open(path, "wb") as file:
                os.posix_fallocate(file.fileno(), 0, size)
        except (AttributeError, OSError):  # no such room, or no such call: then lines wait in memory alone
            self.give()

    def give(self) -> bool:
        """Give the bytes back; whether there were any."""
        try:
            size = self._path.stat().st_size
            self._path.unlink()
        except OSError:
            return False
        return size > 0
