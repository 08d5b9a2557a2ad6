"""Stands between an SDK and the network: sees every response, keeps keys out of it, and lets one request leave per attempt.

Fills the `Exchange` of the call that is under way. Requests are never kept, only the names of the settings in them.
"""

import functools
import json
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Any
from urllib.request import getproxies

from pipeline import incoming
from pipeline.core.redact import Redactor
from pipeline.core.text import safe_record, safe_text
from pipeline.faults import Exchange
from pipeline.incoming import UnreadableAnswer

current: ContextVar[Exchange | None] = ContextVar("exchange", default=None)
"""The exchange of the call that this task is making; set by the door around each call."""

_KEPT = ("retry-after", "retry-after-ms", "x-request-id", "request-id", "x-amzn-errortype", "location")
_TEXTS = ("messages", "contents", "content", "input", "inputs", "system", "systemInstruction", "instructions", "prompt")


class SecondRequest(Exception):
    """An SDK tried to send again, or to follow a redirect, within one attempt. Waiting and retrying is the door's."""


class CallError(Exception):
    """Stands in for an SDK's exception: its text without keys, and nothing behind it.

    Inspect formats what it is given for its log; a vendor's long chain of exceptions costs it seconds of CPU each time.
    """


class Tap:
    """The hooks on one model's HTTP client. `pinned` is the IP to connect to in place of asking for the name again."""

    def __init__(self, redact: Redactor, pinned: str = "") -> None:
        self.redact, self.pinned = redact, pinned

    async def on_request(self, request: Any) -> None:
        """An httpx request is about to leave. Its Host header, and the name that TLS checks, stay the endpoint's own."""
        self._leaves(lambda: request.content)
        request.extensions = {**request.extensions, "trace": self._traced(request.extensions.get("trace"))}
        if self.pinned:
            request.extensions = {**request.extensions, "sni_hostname": request.url.host}
            request.url = request.url.copy_with(host=self.pinned)

    async def on_response(self, response: Any) -> None:
        """An httpx response is there. Its text is read and loses any key before the SDK, and inspect's log, get it.

        Raises:
            UnreadableAnswer: it is no answer that our reader takes; the SDK is not given it.
        """
        exchange = current.get()
        if exchange is None:
            return
        self._headers(exchange, response.status_code, response.headers)
        if "text/event-stream" in response.headers.get("content-type", ""):
            incoming.clean_stream(response, partial(self._clean, response.status_code), exchange.refuse)
            return
        raw = b"?"
        try:
            raw = await incoming.whole_body(response)
            incoming.put_body(response, raw)
            self._body(exchange, raw)
            incoming.put_json(response, without_odd_usage(exchange.body))
        except UnreadableAnswer as error:
            exchange.refuse(str(error))
            if 200 <= response.status_code < 300:
                raise
            if raw:
                incoming.put_json(response, {})  # the status tells enough; a page of text is for nobody to parse

    @staticmethod
    def _traced(other: Any) -> Any:
        """Notes whether bytes of the request were written, as httpx's connections tell it; `other` hears it too.

        A question to a proxy for its way through (CONNECT) holds nothing of the request.
        """
        exchange = current.get()

        async def trace(event: str, info: dict[str, Any]) -> None:
            if exchange is not None:
                exchange.traced = True
                if event.endswith(".send_request_headers.started"):
                    exchange.went = exchange.went or getattr(info.get("request"), "method", b"") != b"CONNECT"
                elif event.endswith(".send_request_headers.failed") and "LocalProtocol" in type(info.get("exception")).__name__:
                    exchange.went = False  # refused by the client's own rules for a header, so never written
            if other is not None:
                await other(event, info)

        return trace

    def aws_request(self, request: Any, **_: Any) -> None:
        """A request of botocore is about to leave."""
        self._leaves(lambda: request.body)

    def aws_arrives(self, response_dict: dict[str, Any] | None = None, **_: Any) -> None:
        """A response of botocore is there, and not parsed yet.

        Raises:
            UnreadableAnswer: it is no answer that our reader takes.
        """
        exchange = current.get()
        if exchange is None or response_dict is None:
            return
        self._headers(exchange, response_dict.get("status_code", 0), response_dict.get("headers", {}))
        raw = response_dict.get("body")
        if not isinstance(raw, bytes):
            return
        try:
            self._body(exchange, raw)
            response_dict["body"] = incoming.as_json(exchange.body)
        except UnreadableAnswer as error:
            exchange.refuse(str(error))
            if exchange.status and 200 <= exchange.status < 300:
                raise
            response_dict["body"] = b"{}"

    def _leaves(self, content: Callable[[], Any]) -> None:
        exchange = current.get()
        if exchange is None:
            return
        exchange.requests += 1
        if exchange.requests > 1:
            raise SecondRequest("one request per attempt")
        if exchange.look:
            exchange.sent = settings_in(content())
        exchange.left()

    def _headers(self, exchange: Exchange, status: int, headers: Any) -> None:
        exchange.status = status
        for name, value in list(headers.items()):  # the SDK and inspect read them after us; newer ones log request ids
            if (clean := self.redact.secrets(str(value))) != str(value):
                headers[name] = clean
        exchange.headers = {k.lower(): safe_text(self.redact(str(v))) for k, v in headers.items()
                            if k.lower() in _KEPT or "ratelimit" in k.lower()}

    def _clean(self, status: int, value: Any, raw: bytes) -> Any:
        """A value of an answer, text by text, since JSON may write any sign of a key as an escape."""
        # In an answer only the keys themselves are taken out: what merely looks like one may be part of it.
        return self.redact.value(value, shapes=status >= 400 or b'"error"' in raw)

    def _body(self, exchange: Exchange, raw: bytes) -> None:
        """Take a body into the exchange.

        Raises:
            UnreadableAnswer: it cannot be read.
        """
        exchange.text = safe_text(self.redact(raw[:1000].decode("utf-8", "replace"))[:300])
        body = incoming.read_answer(raw, (exchange.status or 0) < 300)
        exchange.body = self._clean(exchange.status or 0, body, raw)
        exchange.text = ""


def without_odd_usage(body: Any) -> Any:
    """A chat completion without a usage that its SDK or inspect cannot read: they would throw the paid answer away.

    What can be read of that usage is read by `pipeline.reported`, from the body as it came.
    """
    if not isinstance(body, dict) or "choices" not in body or body.get("usage") is None or _plain_usage(body["usage"]):
        return body
    return {**body, "usage": None}


def _plain_usage(usage: Any) -> bool:
    counts = ("prompt_tokens", "completion_tokens", "total_tokens")
    return isinstance(usage, dict) and all(type(usage.get(k)) is int for k in counts) and all(
        details is None or isinstance(details, dict) and all(n is None or type(n) is int for n in details.values())
        for details in (usage.get("prompt_tokens_details"), usage.get("completion_tokens_details")))


def watch(model: Any, redact: Redactor, pinned: str = "") -> None:
    """Hang the hooks on the client of an inspect Model, once, and keep keys out of whatever its provider raises."""
    api, tap = model.api, Tap(redact, pinned)
    if getattr(api, "l2bench_watched", False):
        return
    api.l2bench_watched = True
    hooked = True
    if (client := _httpx_client(api)) is not None:
        _hook(client, tap)
    elif (session := _aws_session(api)) is not None:
        for service in ("bedrock-runtime", "sagemaker-runtime"):
            session.register(f"before-send.{service}", tap.aws_request)
            session.register(f"before-parse.{service}", tap.aws_arrives)
    elif hasattr(api, "model_client"):
        _lend_google(api, tap)
    else:
        hooked = False
    lend = _lend_mistral(api, tap) if type(api).__module__.endswith("mistral") else None
    api.generate = _guarded(api, redact, lend, hooked or lend is not None)


def _guarded(api: Any, redact: Redactor, lend: Callable[[], Any] | None, hooked: bool) -> Any:
    """`api.generate` with keys kept out of what it raises, and its answer made safe where no hook has seen it."""
    generate = api.generate

    @functools.wraps(generate)
    async def guarded(*args: Any, **kwargs: Any) -> Any:
        if (exchange := current.get()) is not None:
            exchange.hooked = hooked
        if lend is not None:  # Mistral's provider makes its client anew for each call, from these arguments
            api.model_args["async_client"] = lend()
        try:
            result = await generate(*args, **kwargs)
        except Exception as raised:
            result = raised
        output = result[0] if isinstance(result, tuple) else result
        if not isinstance(output, Exception):
            if not isinstance(result, tuple):
                return _safe(output, redact, hooked)
            return _safe(output, redact, hooked), *map(partial(_call_without_keys, redact), result[1:])
        if exchange is not None:
            exchange.error = output
        return CallError(safe_text(redact(str(output)))[:2000]), None  # inspect takes a returned exception for a raised one

    return guarded


def _safe(output: Any, redact: Redactor, hooked: bool) -> Any:
    """An answer without keys in any of its texts, whole ones of a stream included; made safe where no hook has seen it."""
    made = output.model_dump()
    clean = redact.value(made)
    output = output if clean is made else type(output).model_validate(clean)
    return output if hooked else safe_record(output)


def _call_without_keys(redact: Redactor, call: Any) -> Any:
    """Inspect's record of a call, its response without keys; a request of ours holds none."""
    for name in ("response", "error"):
        if (found := getattr(call, name, None)) is not None and (clean := redact.value(found)) is not found:
            setattr(call, name, clean)
    return call


def _aws_session(api: Any) -> Any:
    session = getattr(api, "session", None)
    session = getattr(session, "_session", session)
    return session if hasattr(session, "register") else None


def _httpx_client(api: Any) -> Any:
    client = getattr(api, "client", None) or getattr(api, "_client", None)
    inner = getattr(client, "_client", None)
    found = inner if inner is not None and hasattr(inner, "event_hooks") else None
    return found or (client if hasattr(client, "event_hooks") else None)


def _hook(client: Any, tap: Tap) -> None:
    hooks = client.event_hooks
    hooks["request"].append(tap.on_request)
    hooks["response"].insert(0, tap.on_response)
    client.event_hooks = hooks


def _lender(httpx: Any, tap: Tap) -> Callable[[], Any]:
    """Makes a client for each call, as Google's and Mistral's providers want it, over one pool of connections.

    A client of its own per call, because inspect adds two hooks to whatever client it is given, call after call.
    """

    class Shared(httpx.AsyncBaseTransport):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            self.inner = httpx.AsyncHTTPTransport(limits=httpx.Limits(max_connections=None, max_keepalive_connections=200))

        async def handle_async_request(self, request: Any) -> Any:
            return await self.inner.handle_async_request(request)

        async def aclose(self) -> None:
            """The pool outlives the client."""

    # A transport of our own would pass a proxy by.
    pool = {} if getproxies() else {"transport": Shared()}

    def lend() -> Any:
        client = httpx.AsyncClient(timeout=httpx.Timeout(None, connect=60.0), **pool)
        _hook(client, tap)
        return client

    return lend


def _lend_google(api: Any, tap: Tap) -> None:
    import httpx

    lend, unused, model_client = _lender(httpx, tap), httpx.Client(), api.model_client

    def with_ours(http_options: Any = None) -> Any:
        from google.genai.types import HttpOptions

        options = http_options or HttpOptions(base_url=api.base_url, api_version=api.api_version)
        # Both are given, since the SDK else builds two TLS contexts for every single call.
        options.httpx_client, options.httpx_async_client = unused, lend()
        return model_client(options)

    api.model_client = with_ours


def _lend_mistral(api: Any, tap: Tap) -> Callable[[], Any]:
    from mistralai.client import sdk  # its httpx may be a fork under another name

    api.model_args.setdefault("client", sdk.httpx.Client())
    return _lender(sdk.httpx, tap)


def settings_in(raw: Any) -> frozenset[str]:
    """Names of all settings in a JSON request, also as parent.child; texts are passed over. Empty where it is no JSON."""
    found: set[str] = set()

    def walk(value: Any, parent: str) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                if key not in _TEXTS and inner is not None:
                    found.update((key, f"{parent}.{key}"))
                    walk(inner, key)

    try:
        walk(json.loads(raw), "")
    except (TypeError, ValueError):
        return frozenset()
    return frozenset(found)


_NAMES: dict[str, tuple[str, ...]] = {
    "temperature": ("temperature",), "top_p": ("top_p", "topP"), "top_k": ("top_k", "topK"),
    "max_tokens": ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens", "maxTokens"),
    "seed": ("seed", "random_seed"), "frequency_penalty": ("frequency_penalty", "frequencyPenalty"),
    "presence_penalty": ("presence_penalty", "presencePenalty"), "stop_seqs": ("stop", "stop_sequences", "stopSequences"),
    "reasoning_tokens": ("budget_tokens", "thinking_budget", "thinkingBudget", "thinkingLevel", "thinking_level",
                         "reasoning.max_tokens", "reasoning.effort", "reasoning_effort", "output_config.effort"),
    "reasoning_effort": ("reasoning_effort", "reasoning.effort", "effort", "maxReasoningEffort", "thinkingLevel",
                         "thinking_level", "budget_tokens", "thinking_budget", "thinkingBudget", "reasoning.max_tokens"),
}
"""A generation setting, and what vendors call it in their requests."""


def unsent(config: Any, sent: frozenset[str]) -> list[str]:
    """Settings of a GenerateConfig that the request did not hold under any of their names."""
    return [name for name, keys in _NAMES.items()
            if getattr(config, name, None) is not None and sent and not sent.intersection(keys)]


def content_with_think(body: Any) -> str | None:
    """The content of a chat completion as it was sent, where it holds a <think> block in its text; else None."""
    try:
        content = body["choices"][0]["message"]["content"]
    except (TypeError, KeyError, IndexError):
        return None
    return content if isinstance(content, str) and "<think>" in content else None
