"""Scores for a model card on the Hugging Face Hub: an `.eval_results` file, and the older `model-index` of a README.

Never marks a score as verified, and never names the published set for a run on other tasks.
Formats: https://huggingface.co/docs/hub/eval-results and the classes of huggingface_hub with these names.
"""

from datetime import UTC, datetime
from typing import Any

import yaml

from pipeline.errors import UserError
from pipeline.report.export.eee import NAME, model_of
from pipeline.report.export.tables import prompt_line
from pipeline.report.summary import Mean, Summary, percent, summarise
from pipeline.report.view import RunView

REPO = "OUP/l2-bench"
HEAD = """\
# L2-Bench score, not verified by anyone. For a model repository: save it as .eval_results/l2-bench.yaml.
# %s
"""
INDEX_HEAD = """\
# For the metadata block of a model card (README.md); the newer form is in hf.yaml.
# %s
"""


def eval_results_yaml(view: RunView, source_url: str = "") -> bytes:
    """A list with one entry for each of the two means, value between 0 and 1 (below 0 where penalties prevail).

    Args:
        source_url: link to the run's public page, where there is one.

    Raises:
        UserError: nothing was scored.
    """
    s = summarise(view)
    entries = [_entry(view, s, task, mean, source_url) for task, mean in _means(s)]
    return _dump(HEAD, s, entries)


def model_index_yaml(view: RunView, source_url: str = "") -> bytes:
    """The same two means as a `model-index`, with `verified: false`.

    Raises:
        UserError: nothing was scored.
    """
    s = summarise(view)
    dataset_id, _ = _dataset(view)
    dataset: dict[str, Any] = {"name": "L2-Bench" if dataset_id == REPO else dataset_id, "type": dataset_id}
    if view.data and view.data.revision:
        dataset["revision"] = view.data.revision
    metrics = [{"type": f"{NAME}.{task}", "value": _round(mean), "name": f"L2-Bench {words(task)}",
                "args": {"notes": _notes(view, s, mean)}, "verified": False} for task, mean in _means(s)]
    result = {"task": {"type": "text-generation", "name": "Text Generation"}, "dataset": dataset, "metrics": metrics,
              "source": _source(view, source_url)}
    return _dump(INDEX_HEAD, s, {"model-index": [{"name": model_of(view, "solver").name, "results": [result]}]})


def words(task: str) -> str:
    """The name of one of the two means, in words."""
    return "mean over scored tasks" if task == "mean" else "mean over attempted tasks"


def _means(s: Summary) -> list[tuple[str, Mean]]:
    found = [(n, m) for n, m in (("mean", s.scored), ("mean_attempted", s.attempted)) if m.value is not None]
    if not found:
        raise UserError("No task of this run has been scored.", "A model card needs at least one score.",
                        "Export it when tasks have ended.")
    return found


def _entry(view: RunView, s: Summary, task: str, mean: Mean, source_url: str) -> dict[str, Any]:
    dataset_id, revision = _dataset(view)
    dataset = {"id": dataset_id, "task_id": task} | ({"revision": revision} if revision else {})
    date = datetime.fromtimestamp(view.finished or view.started, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"dataset": dataset, "value": _round(mean), "date": date, "source": _source(view, source_url),
            "notes": _notes(view, s, mean)}


def _dataset(view: RunView) -> tuple[str, str]:
    d = view.data
    if d and d.kind == "hub":
        return d.name or REPO, d.revision
    return (f"{NAME}-live/demo-tasks" if d and d.kind == "demo" else f"local/{d.name if d else 'tasks'}"), ""


def _source(view: RunView, source_url: str) -> dict[str, str]:
    if source_url:
        return {"url": source_url, "name": "L2-Bench Live run"}
    return {"url": f"https://huggingface.co/datasets/{REPO}", "name": "L2-Bench (the benchmark; the run itself is not public)"}


def _notes(view: RunView, s: Summary, mean: Mean) -> str:
    i = mean.interval
    interval = f"{i.level:.0%} interval {percent(i.low)} to {percent(i.high)} ({i.method})" if i else mean.note
    parts = (
        "not verified", "scripted demo, the score means nothing" if view.data and view.data.kind == "demo" else "",
        f"not comparable with the reference settings: {'; '.join(view.differences)}" if view.differences else "",
        f"judge {(view.spec.get('judge') or {}).get('model', 'unknown')}", f"prompt {prompt_line(view)}", interval,
        f"{s.scored_count} of {s.planned} scored, {s.attempted_count} attempted",
        f"the run ended early: {s.cut_short}" if s.cut_short else "", f"spec sha256 {view.spec_digest}",
    )
    return ". ".join(p for p in parts if p)


def _round(mean: Mean) -> float:
    return round(mean.value or 0.0, 6) + 0.0


def _dump(head: str, s: Summary, data: Any) -> bytes:
    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120)
    return (head % " ".join(f"{s.sentence} {s.cut_short}".split()) + text).encode("utf-8", "replace")
