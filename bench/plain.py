"""The plain way, measured: an inspect task whose scorer gathers all criteria, with inspect's and the SDK's defaults.

    python -m bench.plain ORDER.json        prints one JSON line of figures

Same tasks, prompts, server and connections as `bench.ours`; everything else is what inspect does when nothing is set.
"""

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageSystem, ChatMessageUser, GenerateConfig, get_model
from inspect_ai.scorer import Score, mean, scorer, stderr
from inspect_ai.solver import generate

from bench.measure import Figures, figures
from pipeline.engine import preload
from pipeline.judging.prompts import load_prompt
from pipeline.spec import ModelSpec, Places, RunSpec


def gather_all(tasks: dict[str, Any], template: Any) -> Any:
    """One judge call per criterion, all at once; the last line is the verdict.

    The tasks are not arguments of the scorer itself: inspect would write all of them into the log of each sample.
    """

    @scorer(metrics=[mean(), stderr()])
    def rubric() -> Any:
        async def score(state: Any, target: Any) -> Score:
            return await _score(tasks[str(state.sample_id)], template, state.output.completion)

        return score

    return rubric()


async def _score(task: Any, template: Any, answer: str) -> Score:
    judge = get_model(role="grader", required=True)

    async def one(criterion: Any) -> bool:
        prompt = template.fill(task_text=task.user_message, reference_answer=task.reference_answer,
                               ai_response=answer, criterion_description=criterion.description)
        output = await judge.generate(prompt)
        return output.completion.strip().splitlines()[-1].lower() == "true"

    verdicts = await asyncio.gather(*(one(c) for c in task.criteria))
    earned = sum(c.weight for c, v in zip(task.criteria, verdicts, strict=True) if v)
    return Score(value=earned / task.maximum, metadata={"verdicts": list(verdicts)})


def run(told: dict[str, Any], folder: Path) -> Figures:
    """Load the same tasks and evaluate them the plain way."""
    from pipeline.data.sources import load_tasks

    preload()
    spec, given = RunSpec(**told["spec"]), told["places"]
    with figures(folder / "plain") as found:
        tasks = load_tasks(spec, Places(folder, Path(given["csv_path"]), Path(given["resources_dir"]))).tasks
        samples = [Sample(id=t.key, input=[ChatMessageSystem(content=t.system_prompt), ChatMessageUser(content=t.user_message)],
                          target=t.reference_answer) for t in tasks]
        task = Task(dataset=MemoryDataset(samples), solver=generate(), name="plain",
                    scorer=gather_all({t.key: t for t in tasks}, load_prompt(spec.prompt_version, "own")))
        found.started = time.time()
        eval(task, model=_model(spec.solver), model_roles={"grader": _model(spec.judge)}, display="none",
             log_dir=str(folder / "plain"), max_connections=spec.max_connections)
    return found


def _model(spec: ModelSpec) -> Any:
    return get_model(spec.model, base_url=spec.base_url, api_key="bench-key-000", config=GenerateConfig(**spec.config))


if __name__ == "__main__":
    told = json.loads(Path(sys.argv[1]).read_text())
    print(run(told, Path(told["places"]["run_dir"]).parent).line(), flush=True)
    os._exit(0)
