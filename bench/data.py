"""How long a full-size tasks file takes: `python -m bench.data`. Sends nothing; the set is invented.

1,000 tasks of 15 criteria with 200 resources: load and check (aim under 2 s), then a filter (aim under 50 ms).
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pipeline.data.choose import choose
from pipeline.data.sources import load_tasks
from pipeline.spec import ModelSpec, Places, RunSpec
from tests import synthetic

REPEATS = 5
LOAD_AIM_MS = 2000
FILTER_AIM_MS = 50


def main() -> None:
    """Make the set, load it, filter it, print a table in milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        csv_path, resources_dir = synthetic.write(Path(folder))
        places = Places(Path(folder), csv_path, resources_dir)
        spec = RunSpec(source="local", solver=ModelSpec(model="demo/strong"))
        tasks = load_tasks(spec, places).tasks
        narrow = {
            "competency": tuple(synthetic.COMPETENCIES[:6]),
            "context": (("Learner Age", "TEENAGERS"), ("level", "a2"), ("level", "B1")),
            "sample_limit": 20,
            "sampling": "stratified",
        }
        filtered = spec.model_copy(update=narrow)
        size = csv_path.stat().st_size / 1e6
        criteria = sum(len(t.criteria) for t in tasks)
        print(f"{len(tasks)} tasks, {criteria} criteria, {size:.1f} MB, median of {REPEATS}")
        print(f"{'load and check':<26}{_median(lambda: load_tasks(spec, places)):>10.1f} ms   aim {LOAD_AIM_MS}")
        print(f"{'filter and sample':<26}{_median(lambda: choose(tasks, filtered)):>10.1f} ms   aim {FILTER_AIM_MS}")


def _median(call: Callable[[], Any]) -> float:
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


if __name__ == "__main__":
    main()
