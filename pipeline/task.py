"""The inspect Task: `inspect eval pipeline/task.py --model ... -T competency=...`. Only names the parameters.

What it evaluates with is the same code as `python -m pipeline.eval`; see `pipeline.inspect_parts`.
"""

import sys
from pathlib import Path

if __name__ != "pipeline.task":  # `inspect eval pipeline/task.py` loads this file by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from inspect_ai import Task as InspectTask
from inspect_ai import task


@task
def l2_bench(
    competency: str | list[str] | None = None, subcompetency: str | list[str] | None = None,
    context: str | list[str] | None = None, task_ids: str | list[str] | None = None, sample_limit: int = 0,
    sampling: str = "first", seed: int = 0, source: str | None = None, csv_path: str | None = None,
    resources_dir: str | None = None, allow_missing_resources: bool = False, revision: str | None = None,
    scorer_model: str | None = None, scorer_base_url: str | None = None, scorer_temperature: float | None = None,
    scorer_reasoning_tokens: int | None = None, scorer_max_tokens: int | None = None, prompt_version: str | None = None,
    prompt_source: str | None = None, prompt_revision: str | None = None, judge_verdict_retries: int | None = None,
    judge_verdict_parser: str | None = None, max_cost: float | None = None, max_calls: int | None = None,
    max_tokens: int | None = None, max_connections: int | None = None, epochs: int = 1,
) -> InspectTask:
    """The task for `inspect eval`; the parameters are the command line's flags of the same names, with its defaults.

    The solver is inspect's `--model` with its own settings; the judge is `scorer_model`, or `--model-role grader=...`.
    """
    from pipeline.standalone import task_for_inspect

    return task_for_inspect({k: v for k, v in locals().items() if v is not None and k != "task_for_inspect"})
