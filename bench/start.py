"""From the click to the first request, in a server that is warm: `python -m bench.start`

The run service with its engine, as the page uses it; the time from `start` to the first request at the provider, for
one run (the median of five) and for four at once (the last of them).
"""

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.children import Server, server
from bench.table import Row, show
from pipeline.spec import Credentials, ModelSpec, ProviderKey, RunSpec
from runner.limits import Limits
from runner.service import RunService

ALONE_AIM, FOUR_AIM, REPEATS, LATENCY = 0.5, 2.0, 5, 0.02
NO_LIMITS = Limits(visitor_runs=0, free_mb=0)


def rows() -> Iterator[Row]:
    """One run, and four at once."""
    with server() as at, tempfile.TemporaryDirectory(prefix="l2bench-bench-") as home:
        alone, four = asyncio.run(_measure(at, Path(home)))
    each = " ".join(f"{t * 1000:.0f}" for t in alone)
    yield Row("start", "click to first request, one run", statistics.median(alone), "s", ALONE_AIM, f"ms: {each}")
    each = " ".join(f"{t * 1000:.0f}" for t in sorted(four))
    yield Row("start", "click to first request, four runs at once, the last", max(four), "s", FOUR_AIM, f"ms: {each}")


async def _measure(at: Server, home: Path) -> tuple[list[float], list[float]]:
    service = RunService(home, None, NO_LIMITS)
    await service.open()
    try:
        await service.host.engine.ensure()
        await _runs(service, at, 1)  # the first run of an engine's life
        alone = [(await _runs(service, at, 1))[0] for _ in range(REPEATS)]
        return alone, await _runs(service, at, 4)
    finally:
        await service.close()


async def _runs(service: RunService, at: Server, count: int) -> list[float]:
    """Start so many runs at once, wait for their end; seconds to the first request of each."""
    await asyncio.to_thread(at.reset, LATENCY)
    names = [f"solver-{n}" for n in range(count)]
    clicked = time.time()
    await asyncio.gather(*(service.start(_spec(at, name), _keys()) for name in names))
    while service.running():
        await asyncio.sleep(0.05)
    seen = (await asyncio.to_thread(at.stats))["models"]
    return [seen[name]["first"] - clicked for name in names]


def _spec(at: Server, solver: str) -> RunSpec:
    made = [ModelSpec(model=f"openai-api/bench/{name}", base_url=at.url, config={}) for name in (solver, "judge")]
    return RunSpec(source="demo", solver=made[0], judge=made[1], prompt_source="own", sample_limit=5, max_connections=10)


def _keys() -> Credentials:
    key = ProviderKey({"api_key": "bench-key-000"})
    return Credentials(key, key)


if __name__ == "__main__":
    sys.exit(not show(rows()))
