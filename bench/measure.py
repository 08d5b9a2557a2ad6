"""What one process used: CPU, memory, log bytes. For the children that are measured; imports nothing heavy."""

import json
import re
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass
class Figures:
    """CPU in seconds of user and system time of this process, memory in megabytes, times in Unix seconds.

    Attributes:
        before, peak: resident memory after all imports, and at its most.
        log: bytes of the `.eval` log.
        started: when the evaluation itself began, after data and prompts were read.
    """

    cpu: float = 0.0
    wall: float = 0.0
    before: float = 0.0
    peak: float = 0.0
    log: int = 0
    started: float = 0.0

    def line(self) -> str:
        """As one JSON line."""
        return json.dumps(asdict(self))


@contextmanager
def figures(logs: Path) -> Iterator[Figures]:
    """Measure what is done inside; `logs` is where the `.eval` log will be."""
    found = Figures(before=_resident("VmRSS"))
    cpu, wall = _cpu(), time.monotonic()
    yield found
    found.cpu, found.wall = _cpu() - cpu, time.monotonic() - wall
    found.peak = _resident("VmHWM")
    found.log = sum(p.stat().st_size for p in logs.glob("*.eval"))


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _resident(name: str) -> float:
    """`VmRSS` or `VmHWM` of this process in megabytes; the highest ever where the system has no /proc."""
    try:
        found = re.search(rf"{name}:\s+(\d+)", Path("/proc/self/status").read_text())
    except OSError:
        found = None
    if found:
        return int(found[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
