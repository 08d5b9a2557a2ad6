"""What can go wrong with one call, told apart once: kind, whether to send again, whether the whole run must stop.

Reads status, headers and body of the exchange; never quotes a request, and never a key.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

LONGEST_WAIT = 60.0
"""Seconds: a provider that asks for more than `QUOTA_WAIT` is not waited for; between the two we try at this pace."""
QUOTA_WAIT = 300.0


@dataclass
class Exchange:
    """What came back over the wire for one request: filled by `pipeline.wire`, read here. Never the request."""

    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    text: str = ""


@dataclass(frozen=True)
class Fault:
    """One failed call.

    Attributes:
        kind: a short code, the same for every provider.
        sentence: what happened and what to do, in public words.
        again: whether sending the same request again can help.
        stops_run: whether no further call can succeed (credit, key, quota of days, model not there).
        wait: seconds the provider asked for, or None.
        parameter: the setting the provider refused, or "".
    """

    kind: str
    sentence: str
    status: int | None = None
    again: bool = False
    stops_run: bool = False
    wait: float | None = None
    parameter: str = ""


class CallFailed(Exception):
    """A call that ended without an answer, after all that could be tried."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.sentence)
        self.fault = fault


class Redactor:
    """Takes the run's secrets, and anything that looks like a key, out of a text."""

    _SHAPES = re.compile(
        r"\b(?:sk|pk|rk|gsk|hf|xai|key|fw|tgp|r8)[-_][A-Za-z0-9_\-*]{6,}|\bAIza[\w-]{10,}|\b(?:AKIA|ASIA)[A-Z0-9]{12,}"
        r"|(?i:bearer)\s+\S+"
    )

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = [s for s in secrets if len(s) >= 6]

    def __call__(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "[key]")
        return self._SHAPES.sub("[key]", text)


def provider_words(body: Any, text: str = "") -> str:
    """The provider's own message in a response body, at most 300 characters on one line; "" where there is none."""
    found = body
    for name in ("error", "message"):
        if isinstance(found, list) and found:
            found = found[0]
        if isinstance(found, Mapping) and name in found:
            found = found[name]
    if isinstance(found, Mapping):
        found = found.get("message") or found.get("type") or found.get("code") or ""
    words = found if isinstance(found, str) else (text if isinstance(text, str) else "")
    return re.sub(r"\s+", " ", words).strip()[:300]


def wait_asked(headers: Mapping[str, str], words: str = "") -> float | None:
    """Seconds the provider asks to wait: Retry-After (seconds or date), retry-after-ms, or a reset header."""
    from email.utils import parsedate_to_datetime
    from time import time

    low = {k.lower(): v for k, v in headers.items()}
    if (ms := _number(low.get("retry-after-ms"))) is not None:
        return ms / 1000
    if raw := low.get("retry-after"):
        if (seconds := _number(raw)) is not None:
            return max(0.0, seconds)
        try:
            return max(0.0, parsedate_to_datetime(raw).timestamp() - time())
        except (TypeError, ValueError):
            return None
    for name in ("x-ratelimit-reset-requests", "x-ratelimit-reset-tokens", "x-ratelimit-reset", "ratelimit-reset"):
        if (wait := _duration(low.get(name), time())) is not None:
            return wait
    if m := re.search(r"(?:try again|retry) in (\d+(?:\.\d+)?) ?(ms|s|m|h)", words, re.I):
        return float(m[1]) * {"ms": 0.001, "s": 1, "m": 60, "h": 3600}[m[2].lower()]
    return None


def _number(raw: str | None) -> float | None:
    try:
        return float(raw) if raw is not None else None
    except ValueError:
        return None


def _duration(raw: str | None, now: float) -> float | None:
    """`12s`, `1m30s`, `250ms`, a Unix time in seconds or milliseconds, or plain seconds."""
    if not raw:
        return None
    if (n := _number(raw)) is not None:
        if n > 1e12:
            return max(0.0, n / 1000 - now)
        return max(0.0, n - now) if n > 1e9 else n
    parts = re.findall(r"(\d+(?:\.\d+)?)(ms|[smhd])", raw)
    units = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
    return sum(float(n) * units[u] for n, u in parts) if parts else None


_CREDIT = re.compile(
    r"insufficient[_ ](?:quota|credit|balance|funds)|out of credits?|exceeded your current quota|can only afford"
    r"|credit balance is too low|billing|payment required|exceeded your monthly|monthly included credits|prepaid", re.I)
_KEY_LIMIT = re.compile(r"key (?:total |monthly |weekly |daily )?limit|spend(?:ing)? limit|budget (?:has been )?exceeded", re.I)
_DAYS = re.compile(r"per[- ]?day|daily|tokens per day|requests per day|free-models-per-day|resets? (?:on|at|in \d+ days)", re.I)
_FILTER = re.compile(r"content[_ -]?(?:filter|policy|management)|responsible ai|safety system|moderation|flagged|blocked by", re.I)
_CONTEXT = re.compile(r"context[_ ](?:length|size|window)|maximum context|too many (?:input )?tokens|prompt is too long", re.I)
_REFUSES = re.compile(
    r"unsupported|not supported|does not support|deprecated|unknown|unexpected|not permitted|not allowed|invalid"
    r"|unrecognized|only the default|may only be set|must be", re.I)
_NO_PROVIDER = re.compile(r"not supported by (?:any|an)[\w ]*provider|no (?:allowed )?providers? (?:are )?available|enabled provider", re.I)
_PROFILE = re.compile(r"inference profile|on-demand throughput", re.I)


def refused_parameter(words: str) -> str:
    """Which of the settings that we can leave out or rename the message refuses, or ""."""
    if not _REFUSES.search(words):
        return ""
    if "max_completion_tokens" in words and "max_tokens" in words:
        return "max_tokens"
    for name in ("temperature", "top_p", "top_k", "seed", "frequency_penalty", "presence_penalty", "reasoning_effort"):
        if re.search(rf"\b{name}\b", words, re.I):
            return name
    return "reasoning_tokens" if re.search(r"\bthinking\b|\breasoning\b|budget_tokens", words, re.I) else ""


def classify(exchange: Exchange, error: BaseException | None, redact: Redactor) -> Fault:
    """The fault behind an exchange without a usable answer, or behind an exception of an SDK."""
    status = exchange.status if exchange.status is not None else _status_of(error)
    body = exchange.body
    code = _body_code(body)
    if status is None or status < 400:
        status = code or status
    words = redact(provider_words(body, exchange.text) or _message_of(error))
    wait = wait_asked(exchange.headers, words)
    if status is not None and status >= 400:
        return replace(_by_status(status, words, wait), status=status, wait=wait)
    return _without_status(exchange, error, words)


def _by_status(status: int, words: str, wait: float | None) -> Fault:
    says = f" The provider says: {words}" if words else ""
    if status == 499:
        return Fault("cancelled", "The call was cancelled while it was under way.")
    if status in (402, 403, 429) and _KEY_LIMIT.search(words):
        return Fault("key_limit", f"The key's own spending limit is reached.{says} Raise it at the provider, then go on.")
    if status == 402 or (status in (400, 403, 429) and _CREDIT.search(words)):
        return Fault("no_credit", f"The provider's credit is used up or too small for this call.{says} "
                     "Add credit, or lower the most tokens in one answer, then go on with the run.", stops_run=True)
    if status == 401:
        return Fault("key_refused", "The provider refused the key. Check that it is whole and still valid.", stops_run=True)
    if status == 429:
        if (wait is not None and wait > QUOTA_WAIT) or (wait is None and _DAYS.search(words)):
            return Fault("quota", f"The provider's quota is used up{_until(wait)}.{says} Finished tasks are kept; go on then.",
                         stops_run=True)
        return Fault("rate_limit", "The provider limits the rate of calls (429).", again=True)
    if status in (408, 409, 425) or status >= 500:
        kind = {408: "timeout", 504: "timeout", 529: "overloaded", 503: "overloaded"}.get(status, "server_error")
        return Fault(kind, f"The provider answered with an error of its own ({status}).", again=True)
    if _FILTER.search(words):
        return Fault("filtered", "The provider's content filter refused the request.")
    if _NO_PROVIDER.search(words):
        return Fault("model_missing", "No inference provider that your account has enabled serves this model. Enable one in "
                     f"your account's inference provider settings, or choose another model.{says}", stops_run=True)
    if _PROFILE.search(words):
        return Fault("model_missing", "This Bedrock model is called through an inference profile: put the region's prefix "
                     "before its id, for example us. or eu.", stops_run=True)
    if status == 403:
        return Fault("no_access", f"This key may not use the model.{says} Ask for access, or choose another model.", stops_run=True)
    if _CONTEXT.search(words) or status == 413:
        return Fault("too_long", "The request is longer than the model can take.")
    if parameter := refused_parameter(words):
        return Fault("setting_refused", f"The model refuses the setting {parameter}.", parameter=parameter)
    if status == 404:
        return Fault("model_missing", "The provider does not know this model or address (404). Check the model's name.",
                     stops_run=True)
    return Fault("bad_request", f"The provider refused the request ({status}).{says}")


def _without_status(exchange: Exchange, error: BaseException | None, words: str) -> Fault:
    names = " ".join(type(e).__name__ for e in _chain(error))
    if "Timeout" in names and "ConnectTimeout" not in names:
        return Fault("timeout", "The provider did not answer in time.", again=True)
    if isinstance(exchange.body, Mapping) and exchange.body.get("error"):
        if _CREDIT.search(words):
            return replace(_by_status(402, words, None), status=exchange.status)
        return Fault("server_error", "The provider answered with an error in place of an answer.", exchange.status, again=True)
    if exchange.status is None and re.search(r"Connect|Connection|Network|Protocol|Read|Write|EndOfStream|Socket", names):
        if re.search(r"ConnectError|ConnectTimeout|ConnectionRefused|ClientConnector|EndpointConnection", names):
            return Fault("unreachable", "The provider could not be reached.", again=True)
        return Fault("broken", "The connection to the provider broke before the whole answer was there.", again=True)
    if re.search(r"NoCredentials|PartialCredentials|CredentialRetrieval", names):
        return Fault("key_refused", "No usable credentials were given for this provider.", stops_run=True)
    if re.search(r"Prerequisite|ImportError|ModuleNotFound", names):
        return Fault("setup", f"The provider cannot be used here: {words}", stops_run=True)
    return Fault("bad_answer", "The provider's answer could not be read.", exchange.status, again=True)


def _until(wait: float | None) -> str:
    if wait is None:
        return " for today"
    from datetime import UTC, datetime, timedelta

    when = datetime.now(UTC) + timedelta(seconds=wait)
    return f" until {when:%Y-%m-%d %H:%M} UTC"


def _chain(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None and error not in found and len(found) < 10:
        found.append(error)
        last = getattr(error, "last_attempt", None)
        inner = last.exception() if last is not None and last.failed else None
        error = inner or error.__cause__ or error.__context__
    return found


def _status_of(error: BaseException | None) -> int | None:
    for e in _chain(error):
        response = getattr(e, "response", None)
        if isinstance(response, Mapping):  # botocore
            status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        else:
            status = getattr(e, "status_code", None) or getattr(e, "code", None)
        if isinstance(status, int) and 100 <= status < 600:
            return status
    return None


def _message_of(error: BaseException | None) -> str:
    """The vendor's message, without the request that inspect adds behind it."""
    for e in reversed(_chain(error)):
        response = getattr(e, "response", None)
        if isinstance(response, Mapping):
            return str(response.get("Error", {}).get("Message", ""))[:300]
        for name in ("provider_message", "message"):
            if isinstance(text := getattr(e, name, None), str) and text:
                return re.sub(r"\s+", " ", text.split("\nRequest")[0])[:300]
    return ""


def headers_of(error: BaseException | None) -> dict[str, str]:
    """Response headers that an SDK's exception carries, for providers whose exchange is not seen on the wire."""
    for e in _chain(error):
        response = getattr(e, "response", None) or getattr(e, "raw_response", None)
        if isinstance(response, Mapping):
            return dict(response.get("ResponseMetadata", {}).get("HTTPHeaders", {}))
        headers = getattr(response, "headers", None) or getattr(e, "headers", None)
        if headers is not None:
            try:
                return {str(k).lower(): str(v) for k, v in dict(headers).items()}
            except (TypeError, ValueError):
                continue
    return {}


def _body_code(body: Any) -> int | None:
    error = body.get("error") if isinstance(body, Mapping) else None
    code = error.get("code") if isinstance(error, Mapping) else None
    try:
        number = int(code) if code is not None else None
    except (TypeError, ValueError):
        return None
    return number if number is not None and 400 <= number < 600 else None


def parse_body(raw: bytes) -> Any:
    """JSON of a response body, or None."""
    try:
        return json.loads(raw)
    except ValueError:
        return None
