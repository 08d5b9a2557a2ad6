"""What a call costs this machine, beside the plain way to write the same evaluation: `python -m bench.cost`

1,000 tasks of 15 criteria at 20 ms latency over 50 connections: CPU of the evaluating process for each call, its memory,
the log. The plain way does such calls with a scorer that gathers all criteria and with inspect's defaults; it is
measured on the first 250 tasks, and on all with `--full`: a call of it costs no less among more.
"""

import sys
from collections.abc import Iterator

from bench.children import Measured, interpreters, run, server
from bench.table import Row, show

FEW, MANY, LATENCY, CONNECTIONS = 250, 1000, 0.02, 50
CPU_AIM, GROWTH_AIM = 0.65, 1.25


def rows(full: bool = False) -> Iterator[Row]:
    """CPU, memory and log on both sets."""
    with server() as at:
        for name, python in interpreters().items():
            few, many = (run("ours", python, at, tasks, CONNECTIONS, LATENCY) for tasks in (FEW, MANY))
            tasks = MANY if full else FEW
            yield from _beside(name, many, run("plain", python, at, tasks, CONNECTIONS, LATENCY), tasks)
            peaks = few.figures.peak, many.figures.peak
            yield Row("cost", f"peak memory, {MANY} tasks over {FEW}, {name}", peaks[1] / peaks[0], "x", GROWTH_AIM,
                      f"{peaks[0]:.0f} MB, then {peaks[1]:.0f} MB")


def _beside(name: str, ours: Measured, plain: Measured, tasks: int) -> Iterator[Row]:
    detail = f"{_cpu(ours):.2f} ms over {_cpu(plain):.2f} ms a call; {ours.calls:,} and {plain.calls:,} calls"
    yield Row("cost", f"CPU of a call over the plain way's, {name}", _cpu(ours) / _cpu(plain), "x", CPU_AIM, detail)
    detail = f"{ours.figures.before:.0f} MB before; the plain way {plain.figures.peak:.0f} MB at {tasks} tasks"
    yield Row("cost", f"peak memory, {name}", ours.figures.peak, "MB", None, detail)
    detail = f"the plain way {plain.figures.log / tasks / 1000:.0f} kB"
    yield Row("cost", f"log of a task, {name}", ours.figures.log / MANY / 1000, "kB", None, detail)


def _cpu(done: Measured) -> float:
    """Milliseconds of CPU for each call."""
    return done.figures.cpu * 1000 / done.calls


if __name__ == "__main__":
    sys.exit(not show(rows("--full" in sys.argv)))
