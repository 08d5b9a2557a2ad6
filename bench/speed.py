"""Does a run take as long as latency and connections make it take, and no longer? `python -m bench.speed`

100 tasks of 15 criteria at 1 s latency. The bound is calls x latency / connections, or a solver's and a judge's latency
one after the other where that is more. A figure is the wall time over that bound of the best of up to three runs (other
load on the machine only adds to it). A judge's call waits for its task's answer, so no order of calls reaches the bound
where there are more connections than tasks; the least that any order takes is beside the figure.
"""

import math
import sys
from collections.abc import Iterator

from bench.children import Measured, Server, interpreters, run, server
from bench.load import CRITERIA
from bench.table import Row, show

TASKS, LATENCY, RUNS = 100, 1.0, 3
CALLS = TASKS * (1 + CRITERIA)
AIMS = {50: 1.05, 200: 1.25}


def rows() -> Iterator[Row]:
    """Both connection settings, on both sets."""
    with server() as at:
        for name, python in interpreters().items():
            for connections, aim in AIMS.items():
                yield from _one(at, name, python, connections, aim)


def _one(at: Server, name: str, python: str, connections: int, aim: float) -> Iterator[Row]:
    bound = max(CALLS * LATENCY / connections, 2 * LATENCY)
    best: Measured | None = None
    for _ in range(RUNS):
        done = run("ours", python, at, TASKS, connections, LATENCY)
        if done.calls != CALLS:
            raise RuntimeError(f"{done.calls} calls came to the server in place of {CALLS}")
        best = done if best is None or done.last - done.first < best.last - best.first else best
        if best.last - best.first <= aim * bound:
            break
    assert best is not None
    wall, whole = best.last - best.first, best.last - best.figures.started
    detail = f"{wall:.2f} s over {bound:.2f} s; no order takes under {_least(connections):.0f} s"
    yield Row("speed", f"{connections} connections, first request to last answer, {name}", wall / bound, "x", aim, detail)
    detail = f"{whole:.2f} s; {best.figures.cpu * 1000 / CALLS:.1f} ms of CPU a call; at most {best.stats['most']} under way"
    yield Row("speed", f"{connections} connections, from the start of the run, {name}", whole / bound, "x", None, detail)


def _least(connections: int) -> float:
    """Seconds of the best order of all calls: the first wave can hold no more than one solver call for each task."""
    first = min(connections, TASKS)
    return LATENCY * (1 + math.ceil((CALLS - first) / connections))


if __name__ == "__main__":
    sys.exit(not show(rows()))
