"""What a provider itself reports for a call: tokens and money, read from the response's own body, in every dialect.

Inspect drops cached or hidden tokens of some vendors, and differs between its versions; one reader here serves all.
Never guesses: what is absent, negative or no number stays unknown.
"""

import math
from collections.abc import Mapping
from typing import Any

from pipeline.cost.usage import Usage


def reported_cost(body: Any) -> float | None:
    """US dollars a router reports for the call: `usage.cost`, plus the upstream cost where an own key is used there."""
    usage = _mapping(body, "usage")
    cost = _money(usage.get("cost"))
    if cost is None:
        return None
    own_key = bool(usage.get("is_byok"))
    return cost + ((_money(_mapping(usage, "cost_details").get("upstream_inference_cost")) or 0.0) if own_key else 0.0)


def reported_usage(body: Any) -> Usage | None:
    """Tokens of a response body; general units include the specific ones. None where the dialect is not known or
    the counts are missing or all zero.
    """
    usage = _mapping(body, "usage")
    if meta := _mapping(body, "usageMetadata"):
        found = _google(meta)
    elif "inputTokens" in usage:
        found = _apart(usage, "inputTokens", "outputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
    elif "cache_read_input_tokens" in usage or "cache_creation_input_tokens" in usage:
        found = _apart(usage, "input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    elif "prompt_tokens" in usage:
        found = _chat(usage)
    elif "input_tokens" in usage:
        found = _responses(usage)
    else:
        return None
    return found if found is not None and (found.input or found.output) else None


def _google(meta: Mapping[str, Any]) -> Usage | None:
    """Google counts thoughts beside the candidates' tokens, and cached ones inside the prompt's."""
    prompt, answer, thoughts = (_count(meta.get(k)) for k in ("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount"))
    if prompt is None:
        return None
    return Usage(prompt, (answer or 0) + (thoughts or 0), _count(meta.get("cachedContentTokenCount")) or 0, 0, thoughts or 0)


def _apart(usage: Mapping[str, Any], fresh: str, out: str, read: str, write: str) -> Usage | None:
    """Anthropic and Bedrock count cached input beside fresh input."""
    given, answer = _count(usage.get(fresh)), _count(usage.get(out))
    if given is None or answer is None:
        return None
    cached, written = _count(usage.get(read)) or 0, _count(usage.get(write)) or 0
    thinking = _count(_mapping(usage, "output_tokens_details").get("thinking_tokens")) or 0
    return Usage(given + cached + written, answer, cached, written, min(thinking, answer))


def _chat(usage: Mapping[str, Any]) -> Usage | None:
    """Chat completions, with the places where OpenAI, DeepSeek, Moonshot and Mistral say what was cached."""
    given, answer = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    total = _count(usage.get("total_tokens"))
    if answer is None and total is not None and given is not None:
        answer = max(0, total - given)
    if given is None or answer is None:
        return None
    details = _mapping(usage, "prompt_tokens_details")
    places = (details.get("cached_tokens"), usage.get("prompt_cache_hit_tokens"), usage.get("cached_tokens"),
              usage.get("num_cached_tokens"))
    cached = next((n for n in map(_count, places) if n), 0)
    written = _count(details.get("cache_write_tokens")) or 0
    thinking = _count(_mapping(usage, "completion_tokens_details").get("reasoning_tokens")) or 0
    if total is not None and thinking > answer and total >= given + answer + thinking:
        answer += thinking  # some servers count hidden reasoning beside the answer
    cached = min(cached, given)
    return Usage(given, answer, cached, min(written, given - cached), min(thinking, answer))


def _responses(usage: Mapping[str, Any]) -> Usage | None:
    given, answer = _count(usage.get("input_tokens")), _count(usage.get("output_tokens"))
    if given is None or answer is None:
        return None
    cached = _count(_mapping(usage, "input_tokens_details").get("cached_tokens")) or 0
    thinking = _count(_mapping(usage, "output_tokens_details").get("reasoning_tokens")) or 0
    return Usage(given, answer, min(cached, given), 0, min(thinking, answer))


def _mapping(value: Any, key: str) -> Mapping[str, Any]:
    found = value.get(key) if isinstance(value, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _count(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        return None
    return int(value)


def _money(value: Any) -> float | None:
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        return None
    return float(value)
