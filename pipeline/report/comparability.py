"""What makes a score not comparable: every difference of a run from the reference settings, one short sentence each.

Walks the one table of settings, so that a setting added there cannot be forgotten here. Never says "the same as".
"""

import json
import re
from collections.abc import Callable
from typing import Any

from pipeline.cost.bounds import UNBOUNDED_OUTPUT
from pipeline.events import DataRecord, PromptRecord
from pipeline.settings import SETTINGS, Setting
from pipeline.spec import REFERENCE_JUDGE, RunSpec

REFERENCE_DATA = "OUP/l2-bench"
OWN_PROMPT = "prompt text is ours, not the reference's"
_UNSHOWN = ("header", "extra_body", "system_message", "key", "token_", "secret")
_SHOWN_NAMES = 3

_REGION = re.compile(r"^(?:us-gov|us|eu|apac|jp|au|ca|sa|me|af|global)\.")
_SUFFIX = re.compile(r"(?:[-@](?:20\d{6}|latest|default)|-v\d+(?::\d+)?|:\d+|:(?:nitro|floor|exacto))$")


def differences(spec: RunSpec, chosen: int, available: int, prompt: PromptRecord, data: DataRecord) -> tuple[str, ...]:
    """The differences known before a run, in the order in which they matter to a reader.

    Args:
        chosen: number of tasks of the run.
        available: number of tasks of the whole set.
        prompt: the prompt that is in use, whatever was asked for.
        data: where the tasks came from.
    """
    said = [_data(data), _size(spec, chosen, available)]
    for row in SETTINGS:
        if row.compared:
            said.append(_ROWS[row.name](spec) if row.name in _ROWS else _plain(row, spec))
    said.append(OWN_PROMPT if prompt.source == "own" or spec.prompt_source == "own" else "")
    said += _extra("solver", spec.solver.config)
    said += _extra("judge", spec.judge.config)
    return tuple(dict.fromkeys(text for text in said if text))


def cap_differences(spec: RunSpec) -> tuple[str, ...]:
    """What a cap changes: it needs a worst case, so the door bounds a judge that has no limit of its own."""
    if spec.judge.config.get("max_tokens") is not None or (spec.max_cost, spec.max_calls, spec.max_tokens) == (None, None, None):
        return ()
    limit = (spec.judge.config.get("reasoning_tokens") or 0) + UNBOUNDED_OUTPUT
    return (f"judge answers limited to {limit} tokens beside its reasoning, for the cap",)


def same_model(name: str, other: str = REFERENCE_JUDGE) -> bool:
    """Whether two names mean one model by different routes: provider, router, region, date and dots set aside.

    Only names that say the vendor are taken for the vendor's model: `openrouter/anthropic/claude-sonnet-4.6`, not
    `somewhere/claude-sonnet-4.6`.
    """
    known = _vendor_and_model(name)
    return known is not None and known == _vendor_and_model(other)


def _vendor_and_model(name: str) -> tuple[str, str] | None:
    parts = name.lower().split("/")
    last = _REGION.sub("", parts[-1])
    vendor, _, model = last.partition(".")
    if not model or not vendor.isalpha():
        vendor, model = next((p for p in reversed(parts[:-1]) if p in _VENDORS), ""), last
    while (shorter := _SUFFIX.sub("", model)) != model:
        model = shorter
    return (vendor, model.replace(".", "-")) if vendor else None


_VENDORS = frozenset({"anthropic", "openai", "google", "mistral", "mistralai", "deepseek", "deepseek-ai", "meta", "meta-llama",
                      "moonshotai", "qwen", "alibaba", "cohere", "amazon", "x-ai", "z-ai", "zai-org", "minimax"})


def _data(data: DataRecord) -> str:
    if data.kind == "demo":
        return "demo tasks"
    if data.kind == "local":
        return "tasks from a local file"
    return "" if data.name == REFERENCE_DATA else f"tasks from another data set: {data.name}"


def _size(spec: RunSpec, chosen: int, available: int) -> str:
    if chosen >= available:
        return ""
    of = f"{chosen:,} of {available:,} tasks"
    if not spec.sample_limit or spec.sample_limit > chosen:
        return of
    stratified = spec.sampling == "stratified"
    if spec.competency or spec.subcompetency or spec.context or spec.task_ids:
        return f"{of}, " + (f"a stratified sample of the subset, seed {spec.seed}" if stratified else "the first of the subset")
    return f"stratified sample of {of}, seed {spec.seed}" if stratified else f"first {of}"


def _names(values: tuple[str, ...], what: str) -> str:
    if not values:
        return ""
    more = f" and {len(values) - _SHOWN_NAMES} more" if len(values) > _SHOWN_NAMES else ""
    return f"subset by {what}: {', '.join(values[:_SHOWN_NAMES])}{more}"


def _task_ids(spec: RunSpec) -> str:
    n = len(spec.task_ids)
    return _names(spec.task_ids, "task") if n <= _SHOWN_NAMES else f"subset by task: {n:,} tasks chosen by id"


def _judge(spec: RunSpec) -> str:
    name = spec.judge.model
    if spec.judge.base_url:
        return f"judge at an address of its own: {name}"
    if name == REFERENCE_JUDGE:
        return ""
    if same_model(name):
        return f"judge through another provider: {name}"
    return f"another judge: {name}"


def _reasoning(spec: RunSpec) -> str:
    value = spec.judge.config.get("reasoning_tokens")
    if value == 1024:
        return ""
    if value is None:
        return "judge without a reasoning budget"
    return f"judge reasoning budget {value:,} tokens" if value else "judge without reasoning"


def _temperature(spec: RunSpec) -> str:
    value = spec.solver.config.get("temperature")
    return "solver temperature not set" if value is None else "" if value == 0 else f"solver temperature {value:g}"


def _max_tokens(spec: RunSpec) -> str:
    value = spec.solver.config.get("max_tokens")
    return "solver output limit not set" if value is None else "" if value == 4096 else f"solver output limit {value:,} tokens"


def _judge_temperature(spec: RunSpec) -> str:
    value = spec.judge.config.get("temperature")
    return "" if value is None else f"judge temperature {value:g}"


def _retries(spec: RunSpec) -> str:
    n = spec.verdict_retries
    return f"unreadable verdicts asked for again up to {n} {'time' if n == 1 else 'times'}" if n else ""


def _limit(spec: RunSpec) -> str:
    """Said by `_size`, which knows how many tasks there are."""
    return ""


_ROWS: dict[str, Callable[[RunSpec], str]] = {
    "judge.model": _judge,
    "competency": lambda s: _names(s.competency, "competency"),
    "subcompetency": lambda s: _names(s.subcompetency, "sub-competency"),
    "context": lambda s: _names(tuple(f"{k} = {v}" for k, v in s.context), "context"),
    "task_ids": _task_ids,
    "sample_limit": _limit,
    "epochs": lambda s: "" if s.epochs == 1 else f"{s.epochs} epochs",
    "solver.temperature": _temperature,
    "solver.max_tokens": _max_tokens,
    "judge.reasoning_tokens": _reasoning,
    "judge.temperature": _judge_temperature,
    "prompt_version": lambda s: "" if s.prompt_version == "v1" else f"judge prompt {s.prompt_version}",
    "prompt_source": lambda s: OWN_PROMPT if s.prompt_source == "own" else "",
    "verdict_retries": _retries,
    "verdict_parser": lambda s: "" if s.verdict_parser == "strict" else f"{s.verdict_parser} verdict parser",
    "allow_missing_resources": lambda s: "missing resource files were allowed" if s.allow_missing_resources else "",
}


def _plain(row: Setting, spec: RunSpec) -> str:
    """For a setting that has no words of its own yet."""
    role, _, name = row.name.rpartition(".")
    value = getattr(spec, role).config.get(name, row.default) if role else getattr(spec, name, row.default)
    return "" if value == row.reference else f"{row.name.replace('_', ' ').replace('.', ' ')}: {_short(value)}"


def _extra(role: str, config: dict[str, Any]) -> list[str]:
    """Generation settings that the reference leaves unset, by the names inspect gives them."""
    known = {row.name.partition(".")[2] for row in SETTINGS if row.name.startswith(f"{role}.")}
    rows = [(name, value) for name, value in sorted(config.items()) if name not in known and value is not None]
    return [f"{role} {name}" + (" is set" if any(w in name for w in _UNSHOWN) else f" {_short(value)}") for name, value in rows]


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."
