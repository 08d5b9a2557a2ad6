"""Does a run take as long as latency and connections make it take, and no longer? `python -m bench.speed`

100 tasks of 15 criteria at 1 s latency. The bound is calls x latency / connections, or a solver's and a judge's latency
one after the other where that is more. Each figure is one run's wall time over that bound.
"""

import sys
from collections.abc import Iterator

from bench.children import Server, interpreters, run, server
from bench.load import CRITERIA
from bench.table import Row, show

TASKS, LATENCY = 100, 1.0
AIMS = {50: 1.05, 200: 1.25}


def rows() -> Iterator[Row]:
    """Both connection settings, on both sets."""
    with server() as at:
        for name, python in interpreters().items():
            for connections, aim in AIMS.items():
                yield from _one(at, name, python, connections, aim)


def _one(at: Server, name: str, python: str, connections: int, aim: float) -> Iterator[Row]:
    done = run("ours", python, at, TASKS, connections, LATENCY)
    calls = TASKS * (1 + CRITERIA)
    if done.calls != calls:
        raise RuntimeError(f"{done.calls} calls came to the server in place of {calls}")
    bound = max(calls * LATENCY / connections, 2 * LATENCY)
    wall = done.last - done.first
    detail = f"{wall:.2f} s over {bound:.2f} s; at most {done.stats['most']} under way"
    yield Row("speed", f"{connections} connections, first request to last answer, {name}", wall / bound, "x", aim, detail)
    whole = done.last - done.figures.started
    yield Row("speed", f"{connections} connections, from the start of the run, {name}", whole / bound, "x", aim, f"{whole:.2f} s")


if __name__ == "__main__":
    sys.exit(not show(rows()))
