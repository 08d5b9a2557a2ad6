"""Small runs against the fake LLM server, in this process: a tasks file with given weights, a spec, the finished view."""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.ledger import Entry, read_ledger
from pipeline.plan import prepare
from pipeline.report.view import RunView
from pipeline.run import Session, execute
from pipeline.spec import Credentials, ModelSpec, Places, ProviderKey, RunSpec
from pipeline.switch import Switch
from tests.http.fake_llm import FakeLLM

SOLVER, JUDGE = "openai-api/fake/solver", "openai-api/fake/judge"
WEIGHTS = (5, 3, 2)


@dataclass
class Done:
    """A finished run with what it left."""

    view: RunView
    places: Places
    session: Session
    events: list[Any]

    @property
    def ledger(self) -> list[Entry]:
        return list(read_ledger(self.places.ledger))

    def only(self) -> Any:
        """The one attempt of a run of one task."""
        (attempt,) = self.view.attempts.values()
        return attempt

    def record(self) -> dict[str, Any]:
        """The score record of that task, as the log has it."""
        from inspect_ai.log import list_eval_logs, read_eval_log

        (info,) = list_eval_logs(str(self.places.logs))
        (sample,) = read_eval_log(info).samples
        (score,) = sample.scores.values()
        return score.metadata


def tasks_file(folder: Path, count: int = 1, weights: tuple[int, ...] = WEIGHTS) -> tuple[Path, Path]:
    """A tasks file of `count` tasks, each with one criterion for each weight, and an empty resources folder."""
    path = folder / "tasks.csv"
    (folder / "resources").mkdir(parents=True, exist_ok=True)
    columns = ["task_key", "competency", "task", "task_system_prompt", "task_criteria", "reference_answer",
               "task_resource_file_link_1", "task_resource_file_link_2", "task_resource_file_link_3"]
    with path.open("w", encoding="utf-8-sig", newline="") as f:
        writer = csv.DictWriter(f, columns)
        writer.writeheader()
        for n in range(1, count + 1):
            criteria = " | ".join(f"{i:02d}. Names point {i} of task {n} clearly =={w}" for i, w in enumerate(weights, 1))
            writer.writerow({"task_key": str(n), "competency": f"0{n % 3 + 1}. Competency", "task": f"Plan lesson {n}, please.",
                             "task_system_prompt": "You help teachers.", "task_criteria": criteria,
                             "reference_answer": f"A good plan for lesson {n}."})
    return path, folder / "resources"


def key(value: str = "canary-solver-000111") -> ProviderKey:
    """An api key for the fake."""
    return ProviderKey({"api_key": value})


def evaluate(fake: FakeLLM, folder: Path, *, count: int = 1, weights: tuple[int, ...] = WEIGHTS, switch: Switch | None = None,
             sink: Any = None, stop_grace: float = 1.0, credentials: Credentials | None = None, live: Any = None,
             solver: ModelSpec | None = None, judge: ModelSpec | None = None, run_dir: Path | None = None, **spec: Any) -> Done:
    """Run `count` tasks against the fake and return what came of it."""
    csv_path, resources = tasks_file(folder, count, weights)
    places = Places(run_dir or folder / "run", csv_path, resources)
    base = {"base_url": f"{fake.url}/v1"}
    whole = RunSpec(
        source="local", prompt_source="own", solver=solver or ModelSpec(model=SOLVER, config={"temperature": 0.0, "max_tokens": 4096}, **base),
        judge=judge or ModelSpec(model=JUDGE, config={"reasoning_tokens": 1024}, **base), **spec)
    events: list[Any] = []

    def both(event: Any) -> None:
        events.append(event)
        if sink:
            sink(event)

    plan = prepare(whole, places, live=live)
    session = Session(plan, places, credentials or Credentials(key(), key("canary-judge-000222")), both, switch or Switch(),
                      stop_grace=stop_grace)
    return Done(execute(session), places, session, events)
