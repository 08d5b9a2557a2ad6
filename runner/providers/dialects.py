"""The smallest question in each provider's own form, with a run's settings in it. Never sends anything."""

from collections.abc import Mapping
from typing import Any

from runner.providers.entry import Provider

QUESTION = "Reply with the one word: true"
SMALL = 16
"""Most tokens of the answer; a reasoning budget is added to it."""

_OPENAI_NAMES = ("temperature", "top_p", "seed", "frequency_penalty", "presence_penalty", "reasoning_effort")

Settings = Mapping[str, Any]


def ask(entry: Provider, model: str, settings: Settings, limit_name: str = "max_tokens") -> dict[str, Any]:
    """The body of one small request.

    Args:
        settings: fields of inspect's GenerateConfig; only those that providers refuse are used.
        limit_name: what an OpenAI-compatible model calls the limit of the answer.
    """
    builders = {"openai": _openai, "anthropic": _anthropic, "google": _google, "bedrock": _bedrock}
    body = builders[entry.dialect](entry, model, settings)
    if limit_name != "max_tokens" and "max_tokens" in body:
        body[limit_name] = body.pop("max_tokens")
    return body


def thinking(entry: Provider, model: str, settings: Settings) -> int:
    """The reasoning budget that is really sent, in tokens; 0 where there is none or it cannot be sent."""
    budget = settings.get("reasoning_tokens") or 0
    if not entry.reasoning or (entry.dialect == "bedrock" and "claude" not in model):
        return 0
    return int(budget)


def _sampling(settings: Settings, names: Mapping[str, str]) -> dict[str, Any]:
    return {sent: settings[name] for name, sent in names.items() if settings.get(name) is not None}


def _openai(entry: Provider, model: str, settings: Settings) -> dict[str, Any]:
    budget = thinking(entry, model, settings)
    names = {n: n for n in _OPENAI_NAMES}
    body: dict[str, Any] = {"model": model, "messages": [{"role": "user", "content": QUESTION}],
                            "max_tokens": SMALL + budget, **_sampling(settings, names)}
    if budget:
        body["reasoning"] = {"max_tokens": budget}
    return body


def _anthropic(entry: Provider, model: str, settings: Settings) -> dict[str, Any]:
    budget = thinking(entry, model, settings)
    names = {n: n for n in ("temperature", "top_p", "top_k")}
    body: dict[str, Any] = {"model": model, "max_tokens": SMALL + budget,
                            "messages": [{"role": "user", "content": QUESTION}], **_sampling(settings, names)}
    if budget:
        body["thinking"] = {"type": "enabled", "budget_tokens": budget}
    return body


def _google(entry: Provider, model: str, settings: Settings) -> dict[str, Any]:
    budget = thinking(entry, model, settings)
    names = {"temperature": "temperature", "top_p": "topP", "top_k": "topK", "seed": "seed"}
    config: dict[str, Any] = {"maxOutputTokens": SMALL + budget, **_sampling(settings, names)}
    if budget:
        config["thinkingConfig"] = {"thinkingBudget": budget, "includeThoughts": False}
    return {"contents": [{"role": "user", "parts": [{"text": QUESTION}]}], "generationConfig": config}


def _bedrock(entry: Provider, model: str, settings: Settings) -> dict[str, Any]:
    budget = thinking(entry, model, settings)
    names = {"temperature": "temperature", "top_p": "topP"}
    body: dict[str, Any] = {"messages": [{"role": "user", "content": [{"text": QUESTION}]}],
                            "inferenceConfig": {"maxTokens": SMALL + budget, **_sampling(settings, names)}}
    if budget:
        body["additionalModelRequestFields"] = {"reasoning_config": {"type": "enabled", "budget_tokens": budget}}
    return body
