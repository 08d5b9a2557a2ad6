"""Reads an inspect log of ours or of the reference pipeline into small public records, one sample at a time.

The only place of the exports that imports inspect, and only when called. Takes ids, weights, verdicts, tokens and times
out of the log, and never text: an error's message may quote an answer or a judge, so it stays behind.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pipeline.data.records import Layer
from pipeline.errors import UserError
from pipeline.events import Call, PlannedCriterion
from pipeline.judging.outcomes import Outcome

CUT = frozenset({"max_tokens", "model_length"})
JUDGE_ROLES = frozenset({"grader", "judge", "scorer"})
SETTINGS_KEPT = frozenset({"temperature", "max_tokens", "top_p", "top_k", "seed", "reasoning_effort", "reasoning_tokens",
                           "frequency_penalty", "presence_penalty"})
_NAMES = {"criterion_id": ("id", "criterion"), "weight": ("points",), "judgement": ("judgment", "verdict", "met")}
"""What a criterion's parts are called in the reference's logs, and elsewhere."""
_CODE = re.compile(r"[a-z_]{1,40}\Z")
_ID = re.compile(r"[\w.-]{1,40}\Z")
"""What may be an id: never the words of a criterion."""
_UNIVERSAL = re.compile(r"\d+u\d+\Z")


@dataclass(frozen=True)
class Row:
    """One criterion of a sample: the log's `criterion_id`, `weight`, `judgement`, and what only our logs say."""

    criterion: str
    layer: Layer
    weight: int
    verdict: bool | None
    strict: bool | None
    cause: str


@dataclass(frozen=True)
class Called:
    """A model as a log's calls show it: inspect's name, the settings it was called with, and its provider's name for it."""

    model: str
    config: dict[str, Any]
    named: str


@dataclass
class Sampled:
    """One sample of a log: a task in an epoch."""

    key: str
    epoch: int
    competency: str
    subcompetencies: tuple[str, ...] = ()
    facets: dict[str, tuple[str, ...]] = field(default_factory=dict)
    planned: tuple[PlannedCriterion, ...] = ()
    rows: tuple[Row, ...] = ()
    outcome: Outcome = Outcome.CANCELLED
    score: float | None = None
    answered: bool = False
    cut: bool = False
    stage: str = ""
    reason: str = ""
    model: str = ""
    started: float = 0.0
    finished: float = 0.0
    calls: tuple[Call, ...] = ()
    seen: dict[str, Called] = field(default_factory=dict)
    """The models that were called, by role."""


def read_log(path: Path) -> tuple[Any, list[Sampled]]:
    """Header and samples of a log.

    Raises:
        UserError: inspect is not there, it is no log, or none of its samples was judged on a rubric.
    """
    header = read_header(path)
    try:
        samples = [_sampled(s) for s in _samples(path)]
    except Exception as error:
        raise _unreadable(path) from error
    if not any(s.rows for s in samples):
        raise UserError(f"{path.name} holds no verdicts on criteria.",
                        "A log whose scores carry id, weight and verdict of each criterion: ours, or the reference's.", "")
    return header, samples


def read_header(path: Path) -> Any:
    """The header of a log.

    Raises:
        UserError: inspect is not there, or it is no log.
    """
    try:
        from inspect_ai.log import read_eval_log
    except ImportError as error:
        raise UserError("This log needs inspect-ai to be read.", "", "Install the project's requirements.") from error
    try:
        return read_eval_log(str(path), header_only=True)
    except Exception as error:
        raise _unreadable(path) from error


def _unreadable(path: Path) -> UserError:
    """Every kind of damaged file ends here; inspect's own message could quote what the file holds."""
    return UserError(f"{path.name} cannot be read as an inspect log.", "A .eval or .json log that inspect wrote.", "")


def settings(config: Any) -> dict[str, Any]:
    """Of a GenerateConfig, the plain values that decide what a model says; never headers or extra bodies."""
    found = config.model_dump(exclude_none=True) if config is not None else {}
    return {k: v for k, v in found.items() if k in SETTINGS_KEPT and isinstance(v, int | float | str)}


def unix(moment: Any) -> float:
    """Unix seconds of what a log writes as a time, 0 where there is none."""
    if isinstance(moment, str) and moment:
        try:
            moment = datetime.fromisoformat(moment)
        except ValueError:
            return 0.0
    if not isinstance(moment, datetime):
        return 0.0
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def layer_of(criterion: str, key: str) -> Layer:
    """The rubric layer by the shape of the id: `711-04` task (its own key first), `09b-02` consensus, `06u1` universal."""
    if criterion.startswith(f"{key}-"):
        return Layer.TASK
    return Layer.UNIVERSAL if _UNIVERSAL.match(criterion) else Layer.CONSENSUS


def _samples(path: Path) -> Iterator[Any]:
    from inspect_ai.log import read_eval_log, read_eval_log_samples

    if path.suffix == ".eval":  # one at a time: a full log with all its text does not fit into memory
        yield from read_eval_log_samples(str(path), all_samples_required=False)
    else:
        yield from read_eval_log(str(path)).samples or []


def _sampled(sample: Any) -> Sampled:
    known, key = sample.metadata or {}, str(sample.id)
    score, record = _score(sample)
    facets: dict[Any, Any] = known["facets"] if isinstance(known.get("facets"), dict) else {}
    found = Sampled(
        key, int(sample.epoch), str(known.get("competency") or ""), tuple(str(s) for s in known.get("subcompetencies") or ()),
        {str(k): tuple(str(x) for x in v) for k, v in facets.items()}, _criteria(known), tuple(_rows(record, key)), score=score,
        started=unix(getattr(sample, "started_at", None)), finished=unix(getattr(sample, "completed_at", None)),
    )
    found.calls = tuple(_calls(sample, key, found.seen))
    _answer(found, sample)
    _ending(found, sample, record)
    return found


def _score(sample: Any) -> tuple[float | None, dict[str, Any]]:
    for score in (sample.scores or {}).values():
        record = score.metadata or {}
        if not isinstance(record.get("scoring_results"), list):
            record = {**record, "scoring_results": _results(record)}
            if not record["scoring_results"]:
                continue
        value = score.value
        number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        return (float(value) if number else None), record
    return None, {}


def _results(metadata: dict[str, Any]) -> list[dict[str, Any]]:
    """The record of another scorer: the first list, or mapping by id, whose items have an id, a weight and a verdict."""
    for found in (*metadata.values(), metadata):
        if isinstance(found, dict):
            found = [{"id": key, **item} for key, item in found.items() if isinstance(item, dict)]
        if isinstance(found, list) and (rows := [r for item in found if isinstance(item, dict) and (r := _renamed(item))]):
            return rows
    return []


def _renamed(item: dict[str, Any]) -> dict[str, Any]:
    """One criterion under the names that `_rows` reads; empty where a part is missing."""
    row = dict(item)
    for name, others in _NAMES.items():
        found = [n for n in (name, *others) if n in item]
        if not found:
            return {}
        row[name] = item[found[0]]
    return row if _ID.match(str(row["criterion_id"])) else {}


def _criteria(known: dict[str, Any]) -> tuple[PlannedCriterion, ...]:
    """The rubric without its text, which our logs carry for tasks that were never judged too."""
    try:
        return tuple(PlannedCriterion(**c) for c in known.get("criteria") or ())
    except (TypeError, ValueError):
        return ()


def _rows(record: dict[str, Any], key: str) -> Iterator[Row]:
    for item in record.get("scoring_results") or []:
        try:
            criterion, weight, verdict = str(item["criterion_id"]), int(item["weight"]), item["judgement"]
        except (KeyError, TypeError, ValueError):
            continue
        verdict = verdict if isinstance(verdict, bool) else None  # the string "false" is no verdict
        layer = Layer(item["layer"]) if item.get("layer") in set(Layer) else layer_of(criterion, key)
        strict = item.get("strict", verdict)
        said = str(item.get("reason") or "")
        cause = "" if verdict is not None else said if _CODE.match(said) else "unreadable"
        yield Row(criterion, layer, weight, verdict, strict if isinstance(strict, bool) else None, cause)


def _answer(found: Sampled, sample: Any) -> None:
    output = sample.output
    if not output or not output.choices:
        return
    found.answered = bool((output.completion or "").strip())
    found.cut, found.model = str(output.stop_reason) in CUT, str(output.model or "")


def _ending(found: Sampled, sample: Any, record: dict[str, Any]) -> None:
    """The outcome: the log's own word, or what a log of the reference lets one say."""
    if record.get("outcome") in set(Outcome):
        found.outcome = Outcome(record["outcome"])
        found.stage, found.reason = str(record.get("stage") or ""), str(record.get("reason") or "")
        found.cut = bool(record.get("cut"))
    elif found.score is not None:
        found.outcome = Outcome.SCORED
    elif sample.output and sample.output.choices and not found.answered and not sample.output.error:
        filtered = str(sample.output.stop_reason) == "content_filter"
        found.outcome = Outcome.FILTERED if filtered else Outcome.SOLVER_CUT if found.cut else Outcome.SOLVER_EMPTY
        found.stage, found.reason = "solver", "The answer has no text."
    elif sample.error or record:
        found.outcome, found.stage = Outcome.API_ERROR, "judge" if found.answered else "solver"
        found.reason = "The log says that this sample ended with an error; all its verdicts are lost."
    if found.outcome is not Outcome.SCORED:
        found.score = None


def _calls(sample: Any, key: str, seen: dict[str, Called]) -> Iterator[Call]:
    judging, n = False, 0
    for e in sample.events or []:
        judging = judging or (e.event in ("span_begin", "step") and str(getattr(e, "type", "")) in ("scorers", "scorer"))
        if e.event == "model" and not getattr(e, "pending", None):
            n += 1
            role = "judge" if judging or str(getattr(e, "role", "")) in JUDGE_ROLES else "solver"
            seen.setdefault(role, Called(str(e.model), settings(e.config), str(getattr(e.output, "model", "") or "")))
            yield _call(f"log/{key}/{sample.epoch}/{n}", role, key, sample.epoch, e.output.usage if e.output else None,
                        unix(e.timestamp), float(getattr(e, "working_time", None) or 0), bool(e.error))
    if not n:
        for i, (model, usage) in enumerate((sample.model_usage or {}).items()):
            role = "solver" if i == 0 or model == str(sample.output.model or "") else "judge"
            yield _call(f"log/{key}/{sample.epoch}/usage/{i}", role, key, sample.epoch, usage, 0.0, 0.0, False)


def _call(name: str, role: str, key: str, epoch: int, usage: Any, t: float, seconds: float, failed: bool) -> Call:
    """A call as our journal says it. inspect counts cached input apart; here it is part of the input."""
    read, write = (getattr(usage, f"input_tokens_cache_{n}", None) or 0 for n in ("read", "write"))
    return Call(t=t, id=name, role=role, task=key, epoch=epoch, fault="error" if failed else "",  # type: ignore[arg-type]
                input=usage.input_tokens + read + write if usage else None, output=usage.output_tokens if usage else None,
                cache_read=read, cache_write=write, reasoning=getattr(usage, "reasoning_tokens", None) or 0, seconds=seconds)
