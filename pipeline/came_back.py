"""Reads what came back of a call: its fault, its usage, its texts, and the public event of it. Sends nothing, charges nothing."""

import time
from dataclasses import replace
from typing import Any

from inspect_ai.model import ChatMessage, ModelOutput

from pipeline import events, wire
from pipeline.core import machine
from pipeline.core.redact import Redactor
from pipeline.cost.usage import Usage
from pipeline.faults import Exchange, Fault, classify
from pipeline.ledger import Entry
from pipeline.replies import without_request
from pipeline.reported import reported_cost, reported_usage
from pipeline.unsent import departed, unsent

FILTERED = "The answer was stopped by a content filter."


def call_event(entry: Entry) -> events.Call:
    """The public event of a ledger entry."""
    u = entry.usage or Usage()
    return events.Call(
        t=time.time(), id=entry.id.text(entry.attempt), role=entry.id.role, task=entry.id.task, epoch=entry.id.epoch,  # type: ignore[arg-type]
        criterion=entry.id.criterion, fault=entry.fault, status=entry.status, input=u.input, output=u.output,
        cache_read=u.cache_read, cache_write=u.cache_write, reasoning=u.reasoning, cost=entry.cost,
        cost_source=entry.cost_source, seconds=entry.seconds,  # type: ignore[arg-type]
    )


def fault_in(
    exchange: Exchange, output: ModelOutput | None, error: BaseException | None, redact: Redactor, sent: list[ChatMessage]
) -> Fault | None:
    def public(words: str) -> str:
        return without_request(words, "\n".join(message.text for message in sent))

    if exchange.status is None and (trouble := machine.words_at_a_call(exchange.error or error)):
        return Fault("machine", trouble)
    if not departed(exchange, error):
        return unsent(exchange, error, redact, public)
    if output is not None and output.choices and output.stop_reason == "content_filter":
        return Fault("filtered", FILTERED, exchange.status)
    if exchange.status is not None and exchange.status >= 400:
        return classify(exchange, error, redact, public)  # inspect makes an answer of some refusals, with the error as its text
    if error is None and output is not None and output.choices:
        return None if not _error_stop(exchange) else Fault(
            "server_error", "The provider ended the answer with an error.", exchange.status, again=True)
    return classify(exchange, error, redact, public)


def _error_stop(exchange: Exchange) -> bool:
    """A choice whose finish reason is "error", or an error body in place of an answer, under status 200."""
    body = exchange.body
    if not isinstance(body, dict):
        return False
    choices = body.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        return choices[0].get("finish_reason") == "error" or bool(choices[0].get("error"))
    return bool(body.get("error"))


def usage_of(output: ModelOutput | None, exchange: Exchange) -> Usage | None:
    """Usage as reported; None where it is missing, less than nothing, or zero beside text."""
    cost = reported_cost(exchange.body)
    seen = reported_usage(exchange.body) or _usage_of_output(output)
    if seen is None or not seen.output and output is not None and output.completion.strip():
        return Usage(cost=cost) if cost else None
    return replace(seen, cost=cost)


def _usage_of_output(output: ModelOutput | None) -> Usage | None:
    """For a dialect that `pipeline.reported` does not know: what inspect made of it."""
    u = output.usage if output is not None else None
    if u is None or min(u.input_tokens, u.output_tokens) < 0 or not (u.input_tokens or u.output_tokens):
        return None
    read, write = u.input_tokens_cache_read or 0, u.input_tokens_cache_write or 0
    return Usage(u.input_tokens + read + write, u.output_tokens, read, write, u.reasoning_tokens or 0)


def texts(output: ModelOutput, exchange: Exchange, role: events.Role) -> dict[str, Any]:
    """Answer text, reasoning text and stop reason of an output; reasoning is kept apart and never read for a verdict."""
    content = output.message.content
    parts = [] if isinstance(content, str) else content
    thought = "\n".join(str(getattr(p, "reasoning", "") or "") for p in parts if p.type == "reasoning")
    text = output.completion
    if role == "judge" and (raw := wire.content_with_think(exchange.body)) is not None:
        text = raw  # inspect takes <think> out of the text, and with it the line break that the strict rule asks for
    return {"text": text, "reasoning": thought, "stop": str(output.stop_reason), "model": output.model}


def output_of(entry: Entry) -> ModelOutput:
    stop: Any = entry.stop or "stop"
    return ModelOutput.from_content(entry.model or "replayed", entry.text, stop_reason=stop)
