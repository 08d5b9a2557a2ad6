"""Unix time that does not go back: a clock that is set back while a process runs lets no wait and no duration go wrong."""

import threading
import time

_lock = threading.Lock()
_last, _at = time.time(), time.monotonic()
FAR = 2 * 86400.0
"""Seconds: a time further ahead than this is no clock that was set back, but one that was wrong."""


def now() -> float:
    """Seconds since 1970, never less than before; set back, it goes on at its own pace from where it was."""
    global _last, _at
    with _lock:
        wall, steady = time.time(), time.monotonic()
        _last, _at = max(wall, _last + max(0.0, steady - _at)), steady
        return _last


def not_before(t: float) -> None:
    """Go on from `t`, which an earlier process has written down, where the clock was set back since."""
    global _last
    ahead = t - now()
    with _lock:
        if 0 < ahead < FAR:
            _last += ahead
