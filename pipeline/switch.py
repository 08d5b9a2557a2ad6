"""The switch that stops a run from another thread or from a signal handler."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from pipeline.door import Door


class Switch:
    """Stops a run from another thread or from a signal handler. The first request stands."""

    def __init__(self) -> None:
        self.asked: tuple[str, str] | None = None
        self._act: Callable[[str, str], Any] | None = None
        self._lock = threading.Lock()

    def stop(self, sentence: str = "The run was stopped.", cause: str = "stopped") -> None:
        """Ask for the stop; it takes hold in the run's own loop at once."""
        with self._lock:
            if self.asked is None:
                self.asked = (cause, sentence)
                if self._act is not None:
                    with suppress(RuntimeError):  # the run's loop has ended
                        self._act(cause, sentence)

    def attach(self, door: Door) -> None:
        """Called once inside the run's loop."""
        loop = asyncio.get_running_loop()
        with self._lock:
            self._act = partial(loop.call_soon_threadsafe, door.close)  # type: ignore[arg-type]
            if self.asked is not None:
                door.close(*self.asked)
