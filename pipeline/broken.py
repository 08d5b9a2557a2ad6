"""Keeps the traces of this program's own faults in `private/error.txt` of the run, without keys. Never raises."""

import contextlib
import traceback
from collections.abc import Callable
from pathlib import Path

MOST = 200_000
"""Bytes: a fault that comes with every task is not written a thousand times."""


def keep_trace(run_dir: Path, error: BaseException, redact: Callable[[str], str]) -> None:
    """Add the trace of `error`."""
    path = run_dir / "private" / "error.txt"
    with contextlib.suppress(Exception):
        if not path.exists() or path.stat().st_size < MOST:
            text = redact("".join(traceback.format_exception(error)))
            with path.open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text + "\n")
