"""A whole app without its pages, to be killed: the run service on the real engine, in a process of its own.

    python -m tests.http.app_kit HOME ORDER.json [RID]

Starts the run of the order, or goes on with RID; prints the run's id, and its status once it has ended.
"""

import asyncio
import json
import sys
from pathlib import Path

from pipeline.spec import Credentials, ProviderKey, RunSpec
from runner.limits import Limits
from runner.service import RunService


async def main(home: Path, order: dict[str, object], rid: str) -> None:
    """Serve one run."""
    keys = Credentials(ProviderKey({"api_key": "canary-solver-000111"}), ProviderKey({"api_key": "canary-judge-000222"}))
    service = RunService(home, limits=Limits(visitor_runs=0, total_starts=0, free_mb=0))
    await service.open()
    if rid:
        await service.resume(rid, keys)
    else:
        rid = await service.start(RunSpec(**order["spec"]), keys, order["places"])  # type: ignore[arg-type]
    print(rid, flush=True)
    while (found := service.get(rid)) and found.key in service.host.live:
        await asyncio.sleep(0.02)
    view = await service.view(rid)
    print(view.status if view else "gone", flush=True)
    await service.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text()), "".join(sys.argv[3:])))
