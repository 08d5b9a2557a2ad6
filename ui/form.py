"""From the form's values to a RunSpec and its credentials, and the sentence why a run cannot start. No components here.

Never invents a setting: names, kinds and defaults come from `pipeline.settings`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.core.json_in import FROM_BROWSER, read_json
from pipeline.core.text import safe_text
from pipeline.errors import UserError
from pipeline.settings import SETTINGS, Setting
from pipeline.spec import Credentials, ModelSpec, RunSpec
from runner.providers.catalogue import model_base_url, provider
from runner.providers.names import credentials_for, inspect_model_name
from ui.words import say

DEFAULT_CAP_TASKS = 20
# What has a place of its own on the form; every other row with "form" stands in the advanced panel.
OUTSIDE_ADVANCED = frozenset(
    {
        "solver.model",
        "judge.model",
        "competency",
        "subcompetency",
        "context",
        "sample_limit",
        "sampling",
        "seed",
        "max_cost",
    }
)
ADVANCED: tuple[Setting, ...] = tuple(s for s in SETTINGS if "form" in s.where and s.name not in OUTSIDE_ADVANCED)
BASIC: tuple[str, ...] = (
    "source",
    "solver_provider",
    "solver_model",
    "judge_provider",
    "judge_model",
    "competency",
    "subcompetency",
    "context",
    "sample_limit",
    "sampling",
    "seed",
    "max_cost",
    "cap_auto",
)
LISTS = frozenset({"competency", "subcompetency", "context"})
FIELDS: tuple[str, ...] = BASIC + tuple(s.name for s in ADVANCED)

Fields = Mapping[str, str] | None


@dataclass(frozen=True)
class Keys:
    """The secret fields of both roles for as long as one request lasts; None where none is held."""

    solver: Fields = None
    judge: Fields = None

    def __repr__(self) -> str:
        return "Keys(...)"


def values_of(given: tuple[Any, ...]) -> dict[str, Any]:
    """The components' values by name, in the order of `FIELDS`: text made safe, and nothing but plain values and lists
    of text, whatever was sent in their place.
    """
    return {name: _plain(name, value) for name, value in zip(FIELDS, given, strict=True)}


def _plain(name: str, value: Any) -> Any:
    if name in LISTS:
        return [safe_text(text) for text in (value if isinstance(value, list | tuple) else [value]) if isinstance(text, str)]
    if isinstance(value, str):
        return safe_text(value)
    return value if isinstance(value, bool | int | float) else None


def context_value(key: str, value: str) -> str:
    """How one context choice travels; both parts may hold any character."""
    return json.dumps([key, value], ensure_ascii=False)


def context_pair(text: str) -> tuple[str, str]:
    """The reverse of `context_value`; `KEY=VALUE` as in links is read too.

    Raises:
        UserError: neither form.
    """
    try:
        key, value = read_json(text, FROM_BROWSER)
        if isinstance(key, str) and isinstance(value, str):
            return key, value
    except (ValueError, TypeError):
        key, sign, value = text.partition("=")
        if sign and key.strip() and value.strip():
            return key.strip(), value.strip()
    raise UserError(f"The context variable {text[:60]!r} cannot be read.", "KEY=VALUE.")


def why_not(values: Mapping[str, Any], keys: Keys, w: dict[str, str]) -> str:
    """The first sentence why Run is off, as far as the form alone tells; "" where nothing is missing."""
    for role in ("solver", "judge"):
        if not str(values[f"{role}_model"] or "").strip():
            return w["why_no_model"] if role == "solver" else w["why_no_judge"]
    for role, held in (("solver", keys.solver), ("judge", keys.judge)):
        entry = provider(str(values[f"{role}_provider"]))
        if entry.needs_key and held is None:
            return say(w, "why_no_key", provider=entry.name)
    return ""


def spec_of(values: Mapping[str, Any], keys: Keys, repo: str = "", pilot: bool = False) -> RunSpec:
    """The run that the form describes.

    Raises:
        UserError: a value that cannot be used; the sentence names it.
    """
    own = {s.name: _advanced(s, values[s.name]) for s in ADVANCED if "." not in s.name}
    own = {name: value for name, value in own.items() if value is not None}
    return RunSpec(
        source=values["source"] or "demo",
        repo=repo,
        competency=tuple(values["competency"] or ()),
        subcompetency=tuple(values["subcompetency"] or ()),
        context=tuple(context_pair(c) for c in values["context"] or ()),
        sample_limit=_whole("sample_limit", values["sample_limit"] or 0),
        sampling=values["sampling"] or "stratified",
        seed=_whole("seed", values["seed"] or 0),
        max_cost=_money(values["max_cost"]),
        solver=_model("solver", values, keys.solver),
        judge=_model("judge", values, keys.judge),
        pilot=pilot,
        **own,
    )


def credentials_of(values: Mapping[str, Any], keys: Keys, hf_token: str | None = None) -> Credentials:
    """All secrets of the run, for the engine's pipe.

    Raises:
        UserError: a key is missing or cannot be one.
    """
    solver = credentials_for(str(values["solver_provider"]), keys.solver or {})
    judge = credentials_for(str(values["judge_provider"]), keys.judge or {})
    return Credentials(solver, judge, hf_token)


def _model(role: str, values: Mapping[str, Any], fields: Fields) -> ModelSpec:
    provider_id = str(values[f"{role}_provider"])
    config = {s.name.partition(".")[2]: _advanced(s, values[s.name]) for s in ADVANCED if s.name.startswith(f"{role}.")}
    entry = provider(provider_id)
    needs_address = any(f.name == "base_url" for f in entry.fields)
    return ModelSpec(
        model=inspect_model_name(provider_id, str(values[f"{role}_model"] or "")),
        # A field given as 0 is set; an empty one is not sent.
        config={name: value for name, value in config.items() if value is not None},
        base_url=model_base_url(provider_id, fields or {}) if fields or not needs_address else None,
    )


def _advanced(row: Setting, value: Any) -> Any:
    """The value of one row in its own kind; None where it is empty and may be."""
    if row.many:
        return tuple(part.strip() for part in str(value or "").replace("\n", ",").split(",") if part.strip())
    if value is None or str(value).strip() == "":
        return None
    if row.kind is int:
        return _whole(row.name, value)
    if row.kind is float:
        return _number(row.name, value)
    return bool(value) if row.kind is bool else str(value)


def _number(name: str, value: Any) -> float:
    text = str(value).strip().removeprefix("$").strip()
    if "," in text and "." not in text and text.count(",") == 1:
        text = text.replace(",", ".")  # half a dollar is 0,5 in much of the world
    try:
        number = float(text)
    except (TypeError, ValueError):
        number = float("nan")
    if not -1e12 < number < 1e12:
        raise UserError(f"{_shown(name)}: {str(value)[:40]!r} is no number.", "", "Correct it in the form.")
    return number


def _shown(name: str) -> str:
    """A setting's name for the eye: `solver.max_tokens` is `Solver max tokens`."""
    return "Spending limit" if name == "max_cost" else name.replace(".", " ").replace("_", " ").capitalize()


def _whole(name: str, value: Any) -> int:
    number = _number(name, value)
    if number != int(number) or number < 0:
        raise UserError(f"{_shown(name)}: {value} is no whole number of 0 or more.", "", "Correct it in the form.")
    return int(number)


def _money(value: Any) -> float | None:
    if value is None or str(value).strip() == "":
        return None
    number = _number("max_cost", value)
    if number < 0:
        raise UserError("The spending limit is below 0.", "An amount of US dollars.", "Correct it in the form.")
    return number
