"""A run as an Every Eval Ever record (schema 0.3.0): aggregate figures, judge, counts and differences.

Never carries a row per task, a prompt text or any text of the data. The same journal gives the same record and path.
Schema and path rules: https://github.com/evaleval/every_eval_ever
"""

import hashlib
import uuid
from collections.abc import Iterator
from typing import Any

from pipeline.errors import UserError
from pipeline.report.command import command_line, repeating
from pipeline.report.export.names import OWN, ModelName, model_name
from pipeline.report.export.record import dumps, view_json
from pipeline.report.export.tables import prompt_line
from pipeline.report.figures import Mean, Summary
from pipeline.report.stats import DRAWS
from pipeline.report.summary import summarise
from pipeline.report.view import RunView
from pipeline.spec import RunSpec

SCHEMA = "0.3.0"
NAME = "l2-bench"
"""Collection and evaluation name: one name whatever the model, so that all results of the benchmark meet."""
UNSENT = ("extra_body", "extra_headers")
"""Generation settings that could carry what is not meant for others."""
ORGANISATION = "L2-Bench Live user"
GROUP_DRAWS = 1000


def eee_record(view: RunView, organisation: str = ORGANISATION, relationship: str = "third_party") -> dict[str, Any]:
    """The aggregate record of a run.

    Args:
        organisation: who ran it, as it will stand in the record.
        relationship: "first_party", "third_party", "collaborative" or "other", seen from the model's maker.

    Raises:
        UserError: no task was attempted, so there is no figure to record.
    """
    summary = summarise(view)
    results = list(_results(view, summary))
    if not results:
        raise UserError("No task of this run has been scored.", "A record needs at least one score.",
                        "Export it when tasks have ended.")
    model = model_of(view, "solver")
    stamp = str(int(view.finished or view.started))
    return {
        "schema_version": SCHEMA,
        # Two judges at the same second are two evaluations: the time alone does not tell them apart.
        "evaluation_id": f"{NAME}/{model.id}/{stamp}-{run_digest(view)[:12]}",
        "evaluation_timestamp": str(int(view.started)),
        "retrieved_timestamp": stamp,
        "source_metadata": {
            "source_name": "L2-Bench Live", "source_type": "evaluation_run", "source_organization_name": organisation,
            "evaluator_relationship": relationship,
            "additional_details": {"run_status": view.status, "spec_sha256": view.spec_digest, "run_sha256": run_digest(view)},
        },
        "eval_library": _library(view), "model_info": _model_info(view, model, "solver"), "evaluation_results": results,
    }


def eee_path(view: RunView) -> str:
    """Where the record belongs: `data/l2-bench/<developer>/<model>/<uuid>.json`, the uuid made from the run's digests."""
    developer, _, name = model_of(view, "solver").id.partition("/")
    # The datastore takes only names of the form of a version 4 uuid.
    made = uuid.UUID(bytes=hashlib.sha256(f"{NAME}:{run_digest(view)}".encode()).digest()[:16], version=4)
    return f"data/{NAME}/{developer.replace(':', '_')}/{name.replace('/', '_').replace(':', '_')}/{made}.json"


def run_digest(view: RunView) -> str:
    """Hex sha256 over everything the journal says; differs with judge, prompt, tasks, verdicts and times."""
    return hashlib.sha256(dumps(view_json(view))).hexdigest()


def model_of(view: RunView, role: str) -> ModelName:
    """The solver or the judge of a run, read from its spec."""
    spec = view.spec.get(role) or {}
    return model_name(str(spec.get("model") or "unknown"), spec.get("base_url"))


def _model_info(view: RunView, model: ModelName, role: str) -> dict[str, Any]:
    details = {"deployment_type": model.deployment, "model_availability": model.availability, "requested_model": model.requested}
    if view.models.get(role):
        details["model_named_by_provider"] = view.models[role]
    if model.developer == OWN:
        details["note"] = "scripted demo model; its scores mean nothing"
    info: dict[str, Any] = {"name": model.name, "id": model.id, "developer": model.developer, "additional_details": details}
    if model.platform:
        info["inference_platform"] = model.platform
    if model.engine:
        info["inference_engine"] = {"name": model.engine}
    return info


def _library(view: RunView) -> dict[str, Any]:
    versions = {k: str(v) for k, v in view.versions.items()}
    return {"name": "inspect_ai", "version": versions.pop("inspect-ai", "unknown"), "additional_details": versions}


def _results(view: RunView, s: Summary) -> Iterator[dict[str, Any]]:
    """Both means first, then the clipped one where it differs, then one result for each competency that has a score."""
    generation, scoring = _generation(view), _scoring(view)
    rows: list[tuple[str, str, Mean | None, dict[str, Any]]] = [
        ("mean", "Mean score over scored tasks", s.scored, {}),
        ("mean_attempted", "Mean score over attempted tasks, the model's own failures counting as 0", s.attempted, {}),
        ("mean_clipped", f"Mean score over scored tasks, {s.clipped_label}", s.clipped, {}),
        ("mean_reweighted", "Mean score over scored tasks, each competency at its share of the set", s.reweighted, {}),
    ]
    rows += [("competency_mean", f"Mean score over scored tasks of {g.name}", g.scored, {"competency": g.name})
             for g in s.by_competency]
    for metric, words, mean, parameters in rows:
        if mean is None or mean.value is None:
            continue
        suffix = "".join(f":{v}" for v in parameters.values())
        config = _metric(f"{NAME}.{metric}", words, mean.value) | {"metric_parameters": parameters, "llm_scoring": scoring}
        yield {
            "evaluation_result_id": f"{NAME}.{metric}{suffix}", "evaluation_name": NAME,
            "source_data": _source(view, parameters.get("competency")), "generation_config": generation,
            "evaluation_timestamp": str(int(view.started)), "metric_config": config,
            "score_details": {"score": mean.value, "details": _details(view, s, mean), **_uncertainty(mean, bool(parameters))},
        }


def _metric(metric: str, words: str, score: float) -> dict[str, Any]:
    config: dict[str, Any] = {
        "evaluation_description": "L2-Bench: tasks of second language teaching, each judged on a weighted rubric; a task's "
                                  "score is the sum of the weights judged true over the sum of the positive weights.",
        "metric_id": metric, "metric_name": words, "metric_kind": "mean_score", "metric_unit": "proportion",
        "lower_is_better": False,
    }
    if 0 <= score <= 1:
        config |= {"score_type": "continuous", "min_score": 0.0, "max_score": 1.0}
    else:  # penalties can carry a mean below 0, where the bounds would be untrue
        config["additional_details"] = {"bounds": "at most 1; negative where penalties outweigh what was met"}
    return config


def _uncertainty(mean: Mean, group: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"num_samples": mean.tasks}
    if (i := mean.interval) is not None:
        found["confidence_interval"] = {"lower": i.low, "upper": i.high, "confidence_level": i.level,
                                        "method": "; ".join(p for p in (i.method, i.note) if p)}
        if "bootstrap" in i.method:
            found["num_bootstrap_samples"] = GROUP_DRAWS if group else DRAWS
    return {"uncertainty": found}


def _details(view: RunView, s: Summary, mean: Mean) -> dict[str, str]:
    """Strings only, as the schema asks. The differences stand beside the score."""
    found = {
        "differences_from_reference_settings": "; ".join(view.differences) or "none",
        "tasks_in_this_figure": str(mean.tasks), "tasks_chosen": str(s.tasks), "epochs": str(view.epochs),
        "attempts_planned": str(s.planned), "attempts_attempted": str(s.attempted_count), "attempts_scored": str(s.scored_count),
        "attempts_scored_although_cut": str(s.cut), "verdicts": str(s.verdicts),
        "verdicts_only_the_lenient_rule_read": str(s.lenient_only), "verdicts_unread": str(sum(s.unread.values())),
        "spec_sha256": view.spec_digest, "judge_prompt": prompt_line(view), "run_status": view.status,
    }
    found |= {"ended_early": s.cut_short} if s.cut_short else {}
    found |= {f"outcome_{name}": str(n) for name, n in s.counts.items()}
    found |= {k: v for k, v in (("note", mean.note), ("cost_usd", "" if view.cost is None else f"{view.cost:.6f}")) if v}
    return found


def _scoring(view: RunView) -> dict[str, Any]:
    judge, p = view.spec.get("judge") or {}, view.prompt
    config = judge.get("config") or {}
    rules = {name: str(view.spec.get(name, "")) for name in ("verdict_retries", "verdict_parser")}
    entry: dict[str, Any] = {"model_info": _model_info(view, model_of(view, "judge"), "judge"),
                             "additional_details": _strings(config) | rules}
    if _number(config.get("temperature")):
        entry["temperature"] = config["temperature"]
    said = (f"L2-Bench judge prompt {p.version}, {p.source} text, sha256 {p.digest or 'not recorded'}; "
            "the text is not reproduced here" if p else "not recorded")
    details = {"calls": "one a criterion", "prompt_version": p.version if p else "", "prompt_sha256": p.digest if p else "",
               "prompt_revision": p.revision if p else ""}
    return {"judges": [entry], "input_prompt": said, "additional_details": details}


def _source(view: RunView, competency: str | None) -> dict[str, Any]:
    d, keys = view.data, [t.key for t in view.tasks if competency in (None, t.competency)]
    details = {"tasks_available": str(d.available) if d else "", "tasks_chosen": str(len(keys)),
               "revision": d.revision if d else "", "data_sha256": d.digest if d else ""}
    if d and d.kind == "hub":
        return {"dataset_name": NAME, "source_type": "hf_dataset", "hf_repo": d.name or "OUP/l2-bench",
                "samples_number": len(keys), "sample_ids": keys, "additional_details": details}
    demo = d is not None and d.kind == "demo"
    name = "L2-Bench Live demo tasks (not the published set)" if demo else f"local file {d.name if d else ''}".strip()
    return {"dataset_name": name, "source_type": "other", "additional_details": details | {"task_ids": ",".join(keys)}}


def _generation(view: RunView) -> dict[str, Any]:
    config = dict((view.spec.get("solver") or {}).get("config") or {})
    unsent = any(d.startswith("temperature not sent") for d in view.differences)
    arguments: dict[str, Any] = {"temperature": None if unsent or not _number(config.get("temperature")) else config["temperature"]}
    arguments |= {name: config[name] for name in ("top_p", "top_k") if _number(config.get(name))}
    if _number(config.get("max_tokens")) and config["max_tokens"] >= 1:
        arguments["max_tokens"] = int(config["max_tokens"])
    if config.get("reasoning_effort") or config.get("reasoning_tokens"):
        arguments["reasoning"] = config.get("reasoning_effort") != "none"
    if command := _command(view):
        arguments["execution_command"] = command
    rest = {k: v for k, v in config.items() if k not in ("temperature", "top_p", "top_k", "max_tokens")}
    return {"generation_args": arguments, "additional_details": _strings(rest) | {"epochs": str(view.epochs)}}


def _command(view: RunView) -> str:
    spec = repeating(view)
    whole = spec is not None and RunSpec.model_validate(view.spec).digest == view.spec_digest
    return command_line(spec) if spec and whole else ""


def _strings(config: dict[str, Any]) -> dict[str, str]:
    return {k: str(v) for k, v in config.items() if v is not None and k not in UNSENT}


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
