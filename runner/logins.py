"""Which sign-ins have ended before their token did. A cookie is a copy that anyone may have kept; its sign-in's id is in it,
and an id that is listed here opens nothing, also after a restart. Keeps digests only, and drops them when the token ends.
"""

import hashlib
import json
import logging
import os
import secrets
import threading
import time
from collections.abc import Callable
from pathlib import Path

LONGEST = 14 * 86400.0  # seconds; an older cookie is not taken any more
NAME = "signed-out.jsonl"
log = logging.getLogger(__name__)


class Logins:
    """Ids of sign-ins, thread-safe.

    Args:
        home: data folder of the app; None keeps the list in memory alone.
        clock: Unix seconds.
    """

    def __init__(self, home: Path | None = None, clock: Callable[[], float] = time.time) -> None:
        self._path, self._clock = home / NAME if home else None, clock
        self._ended: dict[str, float] = {}
        self._lock = threading.Lock()
        self._read()

    @staticmethod
    def new() -> str:
        """The id of a new sign-in, 128 random bits."""
        return secrets.token_urlsafe(16)

    def live(self, login: object) -> bool:
        """Whether this is a sign-in's id, and nobody has signed out of it."""
        return isinstance(login, str) and len(login) >= 20 and _digest(login) not in self._ended

    def end(self, login: object, until: float | None = None) -> None:
        """Sign out: the id opens nothing from now on.

        Args:
            until: Unix seconds at which the token ends and the id need not be remembered, where that is known.
        """
        if not isinstance(login, str) or not self.live(login):
            return
        latest = self._clock() + LONGEST
        with self._lock:
            self._ended[_digest(login)] = min(until or latest, latest)
            self._write([_digest(login)])

    def sweep(self) -> int:
        """Drop what has ended anyway; how many were dropped."""
        now = self._clock()
        with self._lock:
            gone = [d for d, until in self._ended.items() if until <= now]
            for digest in gone:
                del self._ended[digest]
        return len(gone)

    def _read(self) -> None:
        """Take what an earlier process wrote, and write it anew without what has ended."""
        if self._path is None or not self._path.exists():
            return
        for line in self._path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                row = json.loads(line)
                self._ended[str(row["login"])] = float(row["until"])
            except (ValueError, TypeError, KeyError):  # a line that a crash cut
                continue
        if self.sweep():
            part = self._path.with_suffix(".part")
            part.unlink(missing_ok=True)
            if self._write(list(self._ended), part):
                os.replace(part, self._path)

    def _write(self, digests: list[str], path: Path | None = None) -> bool:
        """Append and make it last. Where the disk refuses, the sign-out holds until a restart, and the log says so."""
        path = path or self._path
        if path is None:
            return False
        rows = [json.dumps({"login": d, "until": self._ended[d]}) + "\n" for d in digests]
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(path, "a", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)) as out:
                # A line that a crash cut ends here.
                out.write("".join(rows) if out.tell() == 0 else "\n" + "".join(rows))
                out.flush()
                os.fsync(out.fileno())
        except OSError as error:
            log.warning("a sign-out could not be written (%s): it is forgotten at a restart", error.strerror)
            return False
        return True


def _digest(login: str) -> str:
    return hashlib.sha256(login.encode()).hexdigest()
