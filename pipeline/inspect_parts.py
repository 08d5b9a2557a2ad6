"""The inspect Task's parts: solver and scorer, both thin, both handing over to `pipeline.judging.evaluate`.

Page, command line and inspect run the same code. A task that was not scored has the score NaN, which inspect leaves
out of its mean and counts.
"""

import re
from collections.abc import Sequence
from typing import Any

from inspect_ai import Epochs
from inspect_ai import Task as InspectTask
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver

from pipeline.data.records import Task
from pipeline.judging.evaluate import Evaluator, messages_of

NAME = "l2-bench-eval"
DATASET = "l2-bench"


def keep_origin_clean() -> None:
    """Let no password into the log with the address of the git remote, which inspect records of wherever it is started.

    A hook into a private name: inspect has no setting for it. Without that name nothing is changed.
    """
    from inspect_ai._eval.task import log

    known = getattr(log, "resolve_revision", None)
    if known is None or getattr(known, "l2bench", False):
        return

    def resolve() -> Any:
        found = known()
        if found is not None:
            found.origin = re.sub(r"(?<=://)[^/]*@", "", found.origin)
        return found

    resolve.l2bench = True  # type: ignore[attr-defined]
    log.resolve_revision = resolve


def build_task(evaluator: Evaluator, tasks: Sequence[Task], epochs: int, source: str) -> InspectTask:
    """The inspect Task for these tasks. `source` is recorded as the dataset's location."""
    keep_origin_clean()
    by_key = {t.key: t for t in tasks}
    samples = [Sample(id=t.key, input=messages_of(t), target=t.reference_answer, metadata=_metadata(t)) for t in tasks]
    return InspectTask(
        dataset=MemoryDataset(samples, name=DATASET, location=source), solver=_answer(evaluator, by_key)(),
        scorer=_rubric(evaluator, by_key)(), epochs=Epochs(epochs, "mean"), name=NAME, version=1,
        metadata={"benchmark": "l2-bench", "purpose": "response_evaluation"},
    )


def _metadata(t: Task) -> dict[str, Any]:
    criteria = [{"id": c.id, "layer": c.layer.value, "weight": c.weight} for c in t.criteria]
    return {"competency": t.competency, "version": t.version, "subcompetencies": list(t.subcompetencies),
            "facets": {k: list(v) for k, v in t.facets.items()}, "criteria": criteria}


def _answer(evaluator: Evaluator, tasks: dict[str, Task]) -> Any:
    @solver
    def l2_bench_solver() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            item = tasks[str(state.sample_id)]
            output = await evaluator.answer(item, state.epoch, state.messages)
            state.output = output or ModelOutput.from_content(str(state.model), "")
            state.messages.append(state.output.message)
            return state

        return solve

    return l2_bench_solver


def _rubric(evaluator: Evaluator, tasks: dict[str, Task]) -> Any:
    @scorer(metrics=[mean(), stderr()])
    def l2_bench_scorer() -> Scorer:
        async def score(state: TaskState, target: Target) -> Score:
            result = await evaluator.judge_answer(tasks[str(state.sample_id)], state.epoch, state.output)
            value = float("nan") if result.score is None else result.score
            return Score(value=value, explanation=result.reason or None, metadata=result.record())

        return score

    return l2_bench_scorer
