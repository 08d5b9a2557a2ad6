"""The journal that a log stands for: a run evaluated elsewhere gets the same view, files and checks as one of ours.

What the log does not say stays unknown, and the list of differences says so. No text of the log is taken over.
"""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.core.text import safe_record
from pipeline.errors import UserError
from pipeline.events import (
    Answered,
    Call,
    DataRecord,
    Event,
    PlannedCriterion,
    PlannedTask,
    PromptRecord,
    RunFinished,
    RunStarted,
    Status,
    TaskFinished,
    TaskStarted,
    VerdictGiven,
    read_journal,
    to_line,
)
from pipeline.report.comparability import differences
from pipeline.report.export.log_read import JUDGE_ROLES, Called, Sampled, read_log, settings, unix
from pipeline.spec import ModelSpec, RunSpec

REFERENCE_DATA = "OUP/l2-bench"
UNKNOWN_MODEL = "unknown/unknown"
NOT_IN_LOG = "not in the log"
STATUS: dict[str, tuple[Status, str]] = {
    "success": ("finished", ""), "cancelled": ("stopped", "The log says that the evaluation was cancelled."),
    "error": ("failed", "The log says that the evaluation ended with an error."),
    "started": ("interrupted", "The log was not finished."),
}
_VERSION = re.compile(r"v[1-4]\Z")


def journal_of_log(path: Path) -> bytes:
    """The journal of a `.eval` or `.json` log, as bytes of `events.jsonl`.

    Raises:
        UserError: the log cannot be read, or is not one of this benchmark.
    """
    if (beside := _journal_beside(path)) is not None:
        return beside
    header, samples = read_log(path)
    return "".join(to_line(safe_record(e)) + "\n" for e in _events(header, samples)).encode()


def _journal_beside(path: Path) -> bytes | None:
    """The journal of the run this log belongs to, where it lies in the same folder or above `private/`: it says more."""
    from pipeline.report.export.log_read import read_header

    folder = path.parent.parent if path.parent.name == "private" else path.parent
    journal = folder / "events.jsonl"
    if not journal.is_file():
        return None
    digest = (read_header(path).eval.metadata or {}).get("spec_digest")
    data = journal.read_bytes()
    starts = (e for e in read_journal(data.splitlines()) if isinstance(e, RunStarted))
    return data if digest and any(e.spec_digest == digest for e in starts) else None


def _events(header: Any, samples: list[Sampled]) -> Iterator[Event]:
    plan, called = _plan(header, samples), _called(samples)
    first = min((s.started for s in samples if s.started), default=0.0) or unix(header.eval.created)
    yield _start(header, samples, plan, first)
    if not any(s.calls for s in samples):  # spend that nobody recorded is unknown, not 0
        yield Call(t=first, id="log/none", role="solver")
    for s in samples:
        yield from _sample_events(s, first, called["judge"].named if "judge" in called else "")
    status, reason = STATUS.get(str(header.status), ("interrupted", "The log does not say how it ended."))
    last = max([first, unix(header.stats.completed_at), *(s.finished for s in samples)])
    yield RunFinished(t=last, status=status, reason=reason)


def _sample_events(s: Sampled, first: float, judge: str) -> Iterator[Event]:
    start, end = s.started or first, s.finished or s.started or first
    at: dict[str, Any] = {"task": s.key, "epoch": s.epoch}
    yield TaskStarted(t=start, **at)
    yield from s.calls
    if s.answered:
        yield Answered(t=end, cut=s.cut, model=s.model, **at)
    for r in s.rows:
        yield VerdictGiven(t=end, criterion=r.criterion, verdict=r.verdict, strict=r.strict, cause=r.cause,
                           model=judge, **at)
    yield TaskFinished(t=end, outcome=s.outcome, score=s.score, cut=s.cut, stage=s.stage, reason=s.reason, **at)


def _start(header: Any, samples: list[Sampled], plan: tuple[PlannedTask, ...], t: float) -> RunStarted:
    known = header.eval.metadata or {}
    data, prompt = _data(header, bool(known.get("spec_digest"))), _prompt(header)
    spec, said = _spec(header, samples, data, prompt)
    if isinstance(known.get("differences"), list) and not _by_inspect(header):
        said = [str(d) for d in known["differences"]]
    else:
        said += differences(spec, len(plan), data.available, prompt, data)
    if not isinstance(known.get("prompt"), dict):
        said.append("read from a log: the judge's prompt text and the revision of the data are not recorded there")
    if prompt.version == "unknown":
        said.append("the log does not say which judge prompt was used")
    return RunStarted(t=t, spec=spec.model_dump(mode="json"), spec_digest=spec.digest, data=data, prompt=prompt, tasks=plan,
                      versions=_versions(header), differences=tuple(dict.fromkeys(said)))


def _plan(header: Any, samples: list[Sampled]) -> tuple[PlannedTask, ...]:
    """Tasks in the log's order, with the longest rubric that any epoch shows; those never started are planned too."""
    best: dict[str, Sampled] = {}
    for s in samples:
        if s.key not in best or len(s.rows) > len(best[s.key].rows):
            best[s.key] = s
    keys = [*dict.fromkeys([*(str(i) for i in header.eval.dataset.sample_ids or []), *best])]
    return tuple(_planned(key, best.get(key)) for key in keys)


def _planned(key: str, s: Sampled | None) -> PlannedTask:
    if s is None:
        return PlannedTask(key=key, competency=NOT_IN_LOG, criteria=())
    criteria = s.planned or tuple(PlannedCriterion(id=r.criterion, layer=r.layer, weight=r.weight) for r in s.rows)
    return PlannedTask(key=key, competency=s.competency or NOT_IN_LOG, subcompetencies=s.subcompetencies, facets=s.facets,
                       criteria=criteria)


def _spec(header: Any, samples: list[Sampled], data: DataRecord, prompt: PromptRecord) -> tuple[RunSpec, list[str]]:
    """The spec that our own log carries, or one put together from what the log's header says."""
    known, found = header.eval.metadata or {}, None
    if isinstance(known.get("spec"), dict):
        with contextlib.suppress(ValueError, UserError):  # written by another version: put together below
            found = RunSpec.model_validate(known["spec"] | {"grown_from": ""})  # the log holds no earlier spec
    if found and not _by_inspect(header):
        return found, []
    solver, judge, said = _models(header, samples)
    config = header.eval.config
    epochs = max([int(config.epochs or 1), *(s.epoch for s in samples)])
    if found:
        return found.model_copy(update={"solver": solver, "judge": judge, "epochs": epochs}), said
    return RunSpec(
        source=data.kind, repo=data.name if data.kind == "hub" else "", data_digest=data.digest, epochs=min(epochs, 20),
        solver=solver, judge=judge, prompt_version=prompt.version if _VERSION.match(prompt.version) else "v1",  # type: ignore[arg-type]
        sample_limit=config.limit if isinstance(config.limit, int) else 0,
    ), said


def _by_inspect(header: Any) -> bool:
    """Whether `inspect eval` started it: its own flags for models, settings and epochs beat those in the task's spec."""
    return bool(header.eval.task_args)


def _plain(model: str) -> str:
    """A model's name without the `replay/` that a replayed batch puts before it."""
    return str(model or UNKNOWN_MODEL).removeprefix("replay/")


def _role(header: Any) -> Any:
    roles = header.eval.model_roles or {}
    named = [v for k, v in roles.items() if str(k) in JUDGE_ROLES] or list(roles.values())
    found = named[0] if named else None
    return (found[0] if found else None) if isinstance(found, list) else found


def _models(header: Any, samples: list[Sampled]) -> tuple[ModelSpec, ModelSpec, list[str]]:
    """Solver and judge: as they were called where the log keeps the calls, else as its header names them."""
    called = _called(samples)
    solver = settings(header.eval.model_generate_config) | settings(header.plan.config)
    solver |= called["solver"].config if "solver" in called else {}
    judge, said = dict(called["judge"].config) if "judge" in called else _judge_config(header), []
    if judge.get("reasoning_tokens") and judge.get("temperature") is not None:
        said.append(f"judge temperature {judge.pop('temperature')} beside a reasoning budget")
    name = called["judge"].model if "judge" in called else _judge(header)
    return ModelSpec(model=_plain(header.eval.model), config=solver), ModelSpec(model=_plain(name), config=judge), said


def _called(samples: list[Sampled]) -> dict[str, Called]:
    found: dict[str, Called] = {}
    for s in samples:
        found = s.seen | found
    return found


def _judge(header: Any) -> str:
    """The judge's name: the role's, a setting's, or the one other model that the log counts tokens of."""
    if (role := _role(header)) is not None:
        return str(role.model)
    for name, value in _arguments(header):
        if re.search(r"(judge|scorer|grader)(_model)?\Z", name) and isinstance(value, str) and "/" in value:
            return value
    others = [m for m in header.stats.model_usage or {} if m != header.eval.model and "/" in m]
    return others[0] if len(others) == 1 else UNKNOWN_MODEL


def _judge_config(header: Any) -> dict[str, Any]:
    if (role := _role(header)) is not None and (found := settings(role.config)):
        return found
    budgets = [value for name, value in _arguments(header)
               if name.endswith("reasoning_tokens") and isinstance(value, int) and not isinstance(value, bool)]
    return {"reasoning_tokens": budgets[0]} if budgets else {}


def _arguments(header: Any) -> Iterator[tuple[str, Any]]:
    """Arguments of the task and options of its scorers."""
    yield from (header.eval.task_args or {}).items()
    for scorer in getattr(header.eval, "scorers", None) or []:
        yield from (getattr(scorer, "options", None) or {}).items()


def _prompt(header: Any) -> PromptRecord:
    known = (header.eval.metadata or {}).get("prompt")
    if isinstance(known, dict):
        try:
            return PromptRecord.model_validate(known)
        except ValueError:
            pass  # written by another version
    version = next((v for n, v in _arguments(header) if "prompt" in n and isinstance(v, str) and _VERSION.match(v)), "unknown")
    return PromptRecord(version=version, source="published", digest="")


def _data(header: Any, ours: bool) -> DataRecord:
    known = (header.eval.metadata or {}).get("data")
    if isinstance(known, dict):
        try:
            return DataRecord.model_validate(known)
        except ValueError:
            pass  # written by another version
    dataset = header.eval.dataset
    name = str(dataset.location or "") if ours else REFERENCE_DATA
    kind = "demo" if name.startswith("demo") else "hub" if re.fullmatch(r"[\w.-]+/[\w.-]+", name) else "local"
    return DataRecord(kind=kind, name=Path(name).name if kind == "local" else name, gated=kind == "hub",  # type: ignore[arg-type]
                      available=int(dataset.samples or 0))


def _versions(header: Any) -> dict[str, str]:
    return {str(k).replace("_", "-"): str(v) for k, v in (header.eval.packages or {}).items()}
