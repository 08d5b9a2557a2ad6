"""One run of this pipeline in the worker that the engine forks, measured: `python -m bench.ours ORDER.json`.

Prints one JSON line of figures. The same code path as a visitor's run, the events and their pipe included.
"""

import json
import os
import sys
import threading
import time
from pathlib import Path

from bench.measure import Figures, figures
from pipeline.engine import preload
from pipeline.spec import ModelSpec, RunSpec


def order(folder: Path, csv_path: Path, resources: Path, url: str, connections: int) -> dict[str, object]:
    """What the web app would send to the engine for this run."""
    solver, judge = (ModelSpec(model=f"openai-api/bench/{role}", base_url=url, config=config)
                     for role, config in (("solver", {"temperature": 0.0, "max_tokens": 4096}), ("judge", {})))
    spec = RunSpec(source="local", solver=solver, judge=judge, prompt_source="own", max_connections=connections)
    key = {"api_key": "bench-key-000"}
    places = {"run_dir": str(folder / "run"), "csv_path": str(csv_path), "resources_dir": str(resources)}
    return {"spec": spec.model_dump(mode="json"), "credentials": {"solver": key, "judge": key}, "places": places}


def run(told: dict[str, object], folder: Path) -> Figures:
    """Do the run; the events go through a pipe to a reader that counts them, as the engine's would."""
    from pipeline.worker import work

    preload()
    events_in, events_out = os.pipe()
    orders_in, _ = os.pipe()
    started: list[float] = []
    reader = threading.Thread(target=_read, args=(events_in, started), daemon=True)
    reader.start()
    with figures(folder / "run" / "private") as found:
        code = work(told, events_out, orders_in)
    if code:
        raise SystemExit(f"the run ended with code {code}")
    found.started = started[0]
    return found


def _read(fd: int, started: list[float]) -> None:
    while chunk := os.read(fd, 1 << 16):
        if not started and b'"kind":"run_started"' in chunk:
            started.append(time.time())


if __name__ == "__main__":
    told = json.loads(Path(sys.argv[1]).read_text())
    print(run(told, Path(told["places"]["run_dir"]).parent).line(), flush=True)
    os._exit(0)
