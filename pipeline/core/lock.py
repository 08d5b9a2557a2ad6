"""One folder, one process: a lock that names its holder and is free once the holder is dead.

The kernel's flock where the file system keeps it; a kill and a reboot free it. Where it may not hold (a mounted bucket,
a network disk) the record in the file counts: a holder on this machine is looked up by its pid and start time, one on
another machine by its heartbeat. Never waits for a holder to end, and never writes a command's arguments.
"""

import contextlib
import json
import os
import platform
import secrets
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from pipeline.errors import UserError

try:
    import fcntl
except ImportError:  # no such locks on this system
    fcntl = None  # type: ignore[assignment]

BEAT = 5.0
"""Seconds between two heartbeats, where flock alone is not enough."""
STALE = 60.0
"""Seconds without a heartbeat after which a holder on another machine is taken for dead at once."""
WATCH = 16.0
"""Seconds to look for a heartbeat where the file's time does not tell: clocks of two machines differ."""
SETTLE = 1.0
"""Seconds until a record is read back, where two processes might both have written theirs."""
LOCAL = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "ramfs", "overlay", "aufs", "zfs", "f2fs", "jfs", "bcachefs"})
"""File systems of this machine alone, where flock decides by itself."""


@dataclass(frozen=True)
class Holder:
    """Who holds a lock. `started` is the process's start as the kernel counts it; `space` its pid namespace."""

    who: str = ""
    pid: int = 0
    started: str = ""
    host: str = ""
    boot: str = ""
    space: str = ""
    since: float = 0.0
    id: str = ""
    beat: int = 0

    @property
    def words(self) -> str:
        """`python -m pipeline.eval, process 4711 on host, since 2026-01-01 10:00 UTC`."""
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(self.since))
        return f"{self.who or 'unknown'}, process {self.pid} on {self.host or 'this machine'}, since {when} UTC"

    @property
    def here(self) -> bool:
        """Whether its process can be looked up from this one."""
        me = _me()
        return (self.boot, self.space, self.host if not me.boot else "") == (me.boot, me.space, me.host if not me.boot else "")


class Held(UserError):
    """Another living process holds the lock; the sentence names it."""


class Lock:
    """A lock that is held until `release`, or until this process ends in whatever way.

    Attributes:
        note: what the person must know where the file system keeps no locks, else "".
        lost: called where another process has taken the lock over all the same.
    """

    def __init__(self, path: Path, descriptor: int, me: Holder) -> None:
        self.path, self._fd, self._me = path, descriptor, me
        self.note = ""
        self.lost: Callable[[], None] = lambda: None
        self._over = threading.Event()

    def __enter__(self) -> "Lock":
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        """Let others have it. A second call does nothing."""
        if self._fd < 0:
            return
        self._over.set()
        with contextlib.suppress(OSError):
            if (found := _read(self._fd)) is None or found.id == self._me.id:
                os.ftruncate(self._fd, 0)
        with contextlib.suppress(OSError):
            os.close(self._fd)
        self._fd = -1

    def _write(self) -> None:
        raw = json.dumps(asdict(self._me)).encode()
        os.pwrite(self._fd, raw, 0)
        os.ftruncate(self._fd, len(raw))

    def _keep(self) -> None:
        """Write the record and stand by it by heartbeats.

        Raises:
            Held: another process wrote its own in the same moment.
        """
        self._write()
        time.sleep(SETTLE)
        found = _read_path(self.path)
        if found is not None and found.id != self._me.id:
            raise Held(f"{found.words} was quicker.")
        if found is None:
            raise OSError("the record does not come back")
        threading.Thread(target=self._pulse, daemon=True).start()

    def _pulse(self) -> None:
        while not self._over.wait(BEAT):
            with contextlib.suppress(OSError):
                found = _read_path(self.path)
                if found is not None and found.id != self._me.id:
                    return self.lost()
                self._me = replace(self._me, beat=self._me.beat + 1)
                if not self._over.is_set():
                    self._write()


def take(path: Path, busy: str, do: str = "Wait until it has ended, or stop it.", who: str = "") -> Lock:
    """The lock at `path`, held by this process. May take 20 seconds where a holder on another machine must be watched.

    Args:
        busy: what the sentence says where it is held, for example "Another process works on this run".
        who: what this process is, without arguments; the program's own name where empty.

    Raises:
        Held: a living process holds it.
        OSError: the folder cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    lock = Lock(path, descriptor, replace(_me(), who=who or program(), since=time.time(), id=secrets.token_hex(8)))
    try:
        sure = _flock(descriptor) and is_local(path)
        if not sure and (holder := _living(path)) is not None:
            raise Held(f"{busy}: {holder.words}.", "One process at a time.", do)
        _settle(lock, sure)
    except BlockingIOError:
        holder = _read(descriptor)
        os.close(descriptor)
        raise Held(f"{busy}{': ' + holder.words if holder else ''}.", "One process at a time.", do) from None
    except Held as error:
        os.close(descriptor)
        raise error if error.do else Held(f"{busy}: {error.found}", "One process at a time.", do) from None
    return lock


def _settle(lock: Lock, sure: bool) -> None:
    try:
        lock._write() if sure else lock._keep()
    except OSError:
        if not sure:
            lock.note = (f"The file system of {lock.path.parent} keeps no locks, so a second process on the same folder would not "
                         "be noticed. Start only one.")


def program() -> str:
    """What this process was started as, without any argument: `python -m pipeline.eval`, `app.py`."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    if spec is not None and spec.name:
        return f"python -m {spec.name.removesuffix('.__main__')}"
    return os.path.basename(sys.argv[0] if sys.argv else "") or "python"


def _flock(descriptor: int) -> bool:
    """Whether the kernel's lock is ours now; False where the file system knows none.

    Raises:
        BlockingIOError: somebody else has it.
    """
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        return False
    return True


def is_local(path: Path) -> bool:
    """Whether no other machine can hold the same file; where the system does not tell, its flock is believed."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return True
    place, best, kind = os.path.realpath(path), -1, ""
    for line in mounts:
        left, _, right = line.partition(" - ")
        point = left.split(" ")[4].encode().decode("unicode_escape") if left.count(" ") > 4 else ""
        inside = point == "/" or place == point or place.startswith(point + "/")
        if point and inside and len(point) >= best:
            best, kind = len(point), right.split(" ")[0]
    return kind in LOCAL


def _living(path: Path) -> Holder | None:
    """The holder that the record names, if it lives."""
    found = _read_path(path)
    if found is None:
        return None
    if found.here:
        return found if _start_of(found.pid) == found.started else None
    with contextlib.suppress(OSError):
        if time.time() - path.stat().st_mtime > STALE:
            return None
    end = time.monotonic() + WATCH
    while time.monotonic() < end:
        time.sleep(min(1.0, WATCH / 4))
        now = _read_path(path)
        if now is None:
            return None
        if (now.id, now.beat) != (found.id, found.beat):
            return now
    return None


def _me() -> Holder:
    boot = _line("/proc/sys/kernel/random/boot_id")
    pid, space = os.getpid(), _link("/proc/self/ns/pid")
    return Holder(pid=pid, started=_start_of(pid), host=platform.node(), boot=boot, space=space)


def _start_of(pid: int) -> str:
    """When a process began, "" where there is none: a pid that another process has by now begins at another time."""
    if not os.path.isdir("/proc/self"):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return ""
        except OSError:
            pass
        return "alive"
    text = _line(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return text[19] if len(text) > 19 and text[0] not in "ZX" else ""


def _line(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _read(descriptor: int) -> Holder | None:
    return _parse(os.pread(descriptor, 4096, 0))


def _read_path(path: Path) -> Holder | None:
    try:
        with path.open("rb") as file:
            return _parse(file.read(4096))
    except OSError:
        return None


def _parse(raw: bytes) -> Holder | None:
    try:
        data: Any = json.loads(raw)
        found = Holder(**{f.name: data[f.name] for f in fields(Holder)})
        return found if isinstance(found.pid, int) and isinstance(found.since, int | float) and found.id else None
    except (ValueError, TypeError, KeyError):
        return None
