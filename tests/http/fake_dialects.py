"""The five dialects of the fake LLM server: error bodies, answers and streams, each in its vendor's own shape."""

import json
from typing import Any

Step = dict[str, Any]


def error_body(dialect: str, status: int, message: str, code: Any = None) -> dict[str, Any]:
    """An error in the dialect's own shape."""
    if dialect == "anthropic":
        kinds = {429: "rate_limit_error", 529: "overloaded_error", 400: "invalid_request_error", 401: "authentication_error"}
        return {"type": "error", "error": {"type": kinds.get(status, "api_error"), "message": message}}
    if dialect == "gemini":
        return {"error": {"code": status, "message": message, "status": "RESOURCE_EXHAUSTED" if status == 429 else "INTERNAL"}}
    if dialect in ("bedrock", "mistral"):
        return {"message": message}
    return {"error": {"message": message, "type": "error", "code": code, "param": None}}


def spoiled(body: dict[str, Any], step: Step) -> str:
    """The body as JSON in ASCII, with a step's "spoil" behind its first bracket."""
    return "{" + step.get("spoil", "") + json.dumps(body)[1:]


def openai_body(n: int, model: str, step: Step, text: str, u: dict[str, Any] | None) -> dict[str, Any]:
    """A chat completion."""
    message: dict[str, Any] = {"role": "assistant", "content": step.get("content", text)}
    if step.get("reasoning"):
        message[step.get("reasoning_field", "reasoning_content")] = step["reasoning"]
    body: dict[str, Any] = {
        "id": f"chatcmpl-{n}", "object": "chat.completion", "created": 0, "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": step.get("finish", "stop")}],
    }
    if u:
        body["usage"] = {
            "prompt_tokens": u["in"], "completion_tokens": u["out"], "total_tokens": u["in"] + u["out"],
            "prompt_tokens_details": {"cached_tokens": u["cached"]},
            "completion_tokens_details": {"reasoning_tokens": u["reasoning"]},
            **{k: v for k, v in u.items() if k in ("cost", "is_byok", "cost_details")},
        }
    return body


def responses_body(n: int, model: str, step: Step, text: str, u: dict[str, Any] | None) -> dict[str, Any]:
    """A response of OpenAI's Responses API."""
    out: list[dict[str, Any]] = []
    if step.get("reasoning"):
        out.append({"id": f"rs_{n}", "type": "reasoning", "summary": [{"type": "summary_text", "text": step["reasoning"]}]})
    if text:
        content = [{"type": "output_text", "text": text, "annotations": []}]
        out.append({"id": f"msg_{n}", "type": "message", "role": "assistant", "status": "completed", "content": content})
    cut = step.get("finish") == "length"
    body: dict[str, Any] = {
        "id": f"resp_{n}", "object": "response", "created_at": 0, "model": model, "status": "incomplete" if cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None, "output": out, "parallel_tool_calls": True,
        "tool_choice": "auto", "tools": [], "usage": None,
    }
    if u:
        body["usage"] = {
            "input_tokens": u["in"], "output_tokens": u["out"], "total_tokens": u["in"] + u["out"],
            "input_tokens_details": {"cached_tokens": u["cached"]}, "output_tokens_details": {"reasoning_tokens": u["reasoning"]},
        }
    return body


def anthropic_body(n: int, model: str, step: Step, text: str, u: dict[str, Any] | None) -> dict[str, Any]:
    """A message of the Anthropic API."""
    content = [{"type": "thinking", "thinking": step["reasoning"], "signature": "x"}] if step.get("reasoning") else []
    content += [{"type": "text", "text": text}] if text else []
    stops = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}
    finish = step.get("finish", "stop")
    body: dict[str, Any] = {"id": f"msg_{n}", "type": "message", "role": "assistant", "model": model, "content": content,
                            "stop_reason": stops.get(finish, finish), "stop_sequence": None}
    if u:
        body["usage"] = {"input_tokens": u["in"] - u["cached"], "output_tokens": u["out"],
                         "cache_read_input_tokens": u["cached"], "cache_creation_input_tokens": 0}
    return body


def gemini_body(n: int, model: str, step: Step, text: str, u: dict[str, Any] | None) -> dict[str, Any]:
    """A generateContent answer."""
    parts = [{"text": step["reasoning"], "thought": True}] if step.get("reasoning") else []
    parts += [{"text": text}] if text else []
    stops = {"stop": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}
    if step.get("blocked"):
        return {"promptFeedback": {"blockReason": "SAFETY"}, "modelVersion": model, "usageMetadata": {"promptTokenCount": 9}}
    candidate: dict[str, Any] = {"finishReason": stops[step.get("finish", "stop")], "index": 0}
    if parts or not step.get("no_parts"):
        candidate["content"] = {"role": "model", "parts": parts}
    body: dict[str, Any] = {"candidates": [candidate], "modelVersion": model}
    if u:
        body["usageMetadata"] = {
            "promptTokenCount": u["in"], "candidatesTokenCount": u["out"] - u["reasoning"], "thoughtsTokenCount": u["reasoning"],
            "cachedContentTokenCount": u["cached"], "totalTokenCount": u["in"] + u["out"],
        }
    return body


def bedrock_body(n: int, model: str, step: Step, text: str, u: dict[str, Any] | None) -> dict[str, Any]:
    """A Converse answer."""
    content: list[dict[str, Any]] = []
    if step.get("reasoning"):
        content.append({"reasoningContent": {"reasoningText": {"text": step["reasoning"]}}})
    content += [{"text": text}] if text else []
    stops = {"stop": "end_turn", "length": "max_tokens", "content_filter": "guardrail_intervened"}
    body: dict[str, Any] = {"output": {"message": {"role": "assistant", "content": content}},
                            "stopReason": stops[step.get("finish", "stop")], "metrics": {"latencyMs": 1}}
    if u:
        body["usage"] = {"inputTokens": u["in"] - u["cached"], "outputTokens": u["out"], "totalTokens": u["in"] + u["out"],
                         "cacheReadInputTokens": u["cached"], "cacheWriteInputTokens": 0}
    return body


def mistral_body(n: int, model: str, step: Step, text: str, u: dict[str, Any] | None) -> dict[str, Any]:
    """An answer of Mistral's conversations."""
    content: Any = text
    if step.get("reasoning"):
        content = [{"type": "thinking", "thinking": [{"type": "text", "text": step["reasoning"]}]}]
        content += [{"type": "text", "text": text}] if text else []
    body: dict[str, Any] = {
        "object": "conversation.response", "conversation_id": f"conv_{n}",
        "outputs": [{"object": "entry", "type": "message.output", "id": f"msg_{n}", "role": "assistant", "model": model,
                     "content": content, "created_at": "2026-01-01T00:00:00Z", "completed_at": "2026-01-01T00:00:01Z"}],
    }
    used = u or {}
    body["usage"] = {"prompt_tokens": used.get("in", 0), "completion_tokens": used.get("out", 0),
                     "total_tokens": used.get("in", 0) + used.get("out", 0)}
    return body


def anthropic_events(body: dict[str, Any], step: Step) -> bytes:
    """The same message as a stream of events; a step's "stream_error" breaks it off with an error event."""
    usage = body.pop("usage", None)
    content, stop = body["content"], body["stop_reason"]
    start = {**body, "content": [], "stop_reason": None, "usage": {**(usage or {"input_tokens": 0}), "output_tokens": 1}}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": start}]
    for i, block in enumerate(content):
        kind = "thinking" if block["type"] == "thinking" else "text"
        empty = {**block, kind: "", **({"signature": ""} if kind == "thinking" else {})}
        events.append({"type": "content_block_start", "index": i, "content_block": empty})
        events.append({"type": "content_block_delta", "index": i, "delta": {"type": f"{kind}_delta", kind: block[kind]}})
        if kind == "thinking":
            events.append({"type": "content_block_delta", "index": i,
                           "delta": {"type": "signature_delta", "signature": block["signature"]}})
        events.append({"type": "content_block_stop", "index": i})
    if kind := step.get("stream_error"):
        events.append({"type": "error", "error": {"type": kind, "message": step.get("error", "Overloaded")}})
    else:
        events.append({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None},
                       "usage": {"output_tokens": (usage or {}).get("output_tokens", 0)}})
        events.append({"type": "message_stop"})
    return b"".join(f"event: {e['type']}\ndata: {spoiled(e, step)}\n\n".encode() for e in events)


BODIES = {"openai": openai_body, "responses": responses_body, "anthropic": anthropic_body, "gemini": gemini_body,
          "bedrock": bedrock_body, "mistral": mistral_body}
