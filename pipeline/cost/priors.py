"""How long answers and verdicts are likely to be before a run has seen any: ranges by kind of model, with their basis.

Text length of a prompt does not tell the length of an answer. Read from `assets/priors.json`; never learnt here.
"""

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.cost.tokens import FAMILIES, factor
from pipeline.errors import UserError
from pipeline.spec import ModelSpec

WIDER = 1.645 / 1.282
FILE = Path(__file__).parents[2] / "assets" / "priors.json"


class Range(NamedTuple):
    """Low, expected and high of one figure."""

    low: float
    expected: float
    high: float

    def map(self, change: Callable[[float], float]) -> "Range":
        """Each of the three changed alike."""
        return Range(change(self.low), change(self.expected), change(self.high))

    def times(self, other: "Range | float") -> "Range":
        """Low times low, expected times expected, high times high."""
        o = other if isinstance(other, Range) else Range(other, other, other)
        return Range(self.low * o.low, self.expected * o.expected, self.high * o.high)

    def plus(self, other: "Range | float") -> "Range":
        """Low plus low, expected plus expected, high plus high."""
        o = other if isinstance(other, Range) else Range(other, other, other)
        return Range(self.low + o.low, self.expected + o.expected, self.high + o.high)


ZERO = Range(0, 0, 0)


@cache
def priors() -> dict[str, Any]:
    """The priors file.

    Raises:
        UserError: it is missing or no JSON.
    """
    try:
        found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise UserError("The file assets/priors.json cannot be read.", "A JSON object.", "Restore the file.") from None
    return found


def _prior(name: str, kind: str) -> Range:
    """A prior, its 10th and 90th percentile moved out to the 5th and 95th as for a lognormal spread."""
    row = priors()[name][kind]
    middle = row["expected"]
    return Range(middle * (row["low"] / middle) ** WIDER, middle, middle * (row["high"] / middle) ** WIDER)


@cache
def _matcher(name: str) -> re.Pattern[str]:
    return re.compile(priors()[name])


def scripted(model: str) -> bool:
    """Whether the model is one of the demo's, which answer by code."""
    return model.startswith(("demo/", "mockllm/"))


def reasons(spec: ModelSpec) -> bool:
    """Whether the model is likely to think in hidden tokens: it is told to, or its family does unless told not to."""
    config = spec.config
    if scripted(spec.model) or config.get("reasoning_effort") == "none":
        return False
    if config.get("reasoning_tokens") is not None:
        return bool(config["reasoning_tokens"])
    return bool(config.get("reasoning_effort")) or bool(_matcher("reasoning_models").search(spec.model.lower()))


def in_family(tokens: Range, model: str) -> Range:
    """Tokens of an OpenAI-like tokenizer as tokens of the model's own."""
    return tokens.times(factor(model) / FAMILIES["openai"])


def answer_text(model: str, reference: float) -> Range:
    """Visible tokens of one answer, OpenAI-like; `reference` is the mean length of the reference answers.

    A scripted model gives back parts of the reference answer.
    """
    if scripted(model):
        return Range(0.1 * reference, 0.8 * reference + 10, 1.2 * reference + 40)
    return _prior("solver_text", "small" if _matcher("small_models").search(model.lower()) else "default")


def answer_reasoning(spec: ModelSpec) -> Range:
    """Hidden tokens of one answer, at most its reasoning budget."""
    return _capped(_prior("solver_reasoning", "default"), spec.config.get("reasoning_tokens")) if reasons(spec) else ZERO


def verdict_output(spec: ModelSpec, critique: bool) -> Range:
    """Output tokens of one judge call: reasoning within its budget, then one word or a critique with it."""
    text = in_family(_prior("judge_text", "critique" if critique else "word"), spec.model)
    if scripted(spec.model):
        text = Range(1, 10, 60)
    thought = _capped(_prior("judge_reasoning", "default"), spec.config.get("reasoning_tokens")) if reasons(spec) else ZERO
    return _capped(text.plus(thought), spec.config.get("max_tokens"))


def capped_output(tokens: Range, spec: ModelSpec) -> Range:
    """Output tokens under the model's answer limit, where one is set."""
    return _capped(tokens, spec.config.get("max_tokens"))


def _capped(tokens: Range, limit: Any) -> Range:
    return tokens if not limit else tokens.map(lambda n: min(n, float(limit)))


def call_seconds(spec: ModelSpec, output: Range) -> Range:
    """Seconds of one call by the length of its answer."""
    if scripted(spec.model):
        return Range(0.0, 0.005, 0.02)
    speed, first = priors()["speed"]["tokens_per_second"], priors()["speed"]["first_token_seconds"]
    return Range(first["fast"] + output.low / speed["fast"], first["usual"] + output.expected / speed["usual"],
                 first["slow"] + output.high / speed["slow"])
