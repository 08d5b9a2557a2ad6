"""Looks at what providers send back, under the SDKs: status, headers, error bodies, and costs that inspect does not read.

One response hook on the SDK's own httpx client fills the `Exchange` of the call that is under way. Requests are never kept.
"""

from contextvars import ContextVar
from typing import Any

from pipeline.faults import Exchange, parse_body

current: ContextVar[Exchange | None] = ContextVar("exchange", default=None)
"""The exchange of the call that this task is making; set by the door around each call."""

_KEPT = ("retry-after", "retry-after-ms", "x-request-id", "request-id")
_MARKS = (b'"error"', b'"cost"', b"<think>")
_LARGEST = 2_000_000


async def _on_response(response: Any) -> None:
    exchange = current.get()
    if exchange is None:
        return
    exchange.status = response.status_code
    exchange.headers = {k.lower(): v for k, v in response.headers.items() if k.lower() in _KEPT or "ratelimit" in k.lower()}
    if "text/event-stream" in response.headers.get("content-type", ""):
        return
    await response.aread()
    raw = response.content
    if len(raw) <= _LARGEST and (response.status_code >= 400 or any(m in raw for m in _MARKS)):
        exchange.body = parse_body(raw)
        if exchange.body is None:
            exchange.text = raw[:300].decode("utf-8", "replace")


def watch(model: Any) -> bool:
    """Hang the hook on the httpx client of an inspect Model, once. False where the provider has no such client.

    Providers without one (Bedrock, Google) report status and headers through their exceptions instead.
    """
    client = _httpx_client(getattr(model, "api", None))
    if client is None:
        return False
    hooks = client.event_hooks
    if _on_response not in hooks["response"]:
        hooks["response"].append(_on_response)
        client.event_hooks = hooks
    return True


def _httpx_client(api: Any) -> Any:
    client = getattr(api, "client", None) or getattr(api, "_client", None)
    inner = getattr(client, "_client", None)
    found = inner if inner is not None and hasattr(inner, "event_hooks") else None
    return found or (client if hasattr(client, "event_hooks") else None)


def reported_cost(body: Any) -> float | None:
    """US dollars a router reports for the call: `usage.cost`, plus the upstream cost where an own key is used there."""
    usage = body.get("usage") if isinstance(body, dict) else None
    cost = usage.get("cost") if isinstance(usage, dict) else None
    if isinstance(cost, bool) or not isinstance(cost, int | float):
        return None
    details = usage.get("cost_details") or {}
    upstream = details.get("upstream_inference_cost") if isinstance(details, dict) else None
    own_key = bool(usage.get("is_byok"))
    extra = float(upstream) if own_key and isinstance(upstream, int | float) else 0.0
    return float(cost) + extra


def content_with_think(body: Any) -> str | None:
    """The content of a chat completion as it was sent, where it holds a <think> block in its text; else None."""
    try:
        content = body["choices"][0]["message"]["content"]
    except (TypeError, KeyError, IndexError):
        return None
    return content if isinstance(content, str) and "<think>" in content else None
