"""What can go wrong with one call, told apart once: kind, whether to send again, whether the whole run must stop.

Reads status, headers and body of the exchange; never quotes a request, and never a key.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pipeline.core.redact import Redactor
from pipeline.replies import parse_body, provider_words, signs, wait_asked

__all__ = ["CallFailed", "Exchange", "Fault", "classify", "headers_of", "parse_body", "provider_words",
           "refused_parameter", "wait_asked"]

LONGEST_WAIT = 60.0
"""Seconds: a provider that asks for more than `QUOTA_WAIT` is not waited for; between the two we try at this pace."""
QUOTA_WAIT = 300.0


@dataclass
class Exchange:
    """What came back over the wire for one request: filled by `pipeline.wire`, read here. Never the request.

    Attributes:
        requests: how many requests left or tried to; the wire lets only the first go.
        hooked: whether the wire sees this client's requests, so that none seen means none made.
        traced, went: whether the wire sees the bytes themselves, and whether any of the request were written.
        look: whether the names of the settings in the request are wanted; `sent` then holds them.
        left: called when the request leaves.
        error: the SDK's own exception, in whose place inspect was given one without keys.
        unreadable: why our reader refused the body, which the SDK was then not given; "" where it was read.
    """

    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    text: str = ""
    requests: int = 0
    hooked: bool = True
    traced: bool = False
    went: bool = False
    look: bool = False
    sent: frozenset[str] | None = None
    error: BaseException | None = None
    left: Callable[[], None] = lambda: None
    unreadable: str = ""

    def refuse(self, why: str) -> None:
        """Note why the body cannot be read."""
        self.unreadable = why


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


_CREDIT = re.compile(
    r"insufficient[_ ](?:quota|credit|balance|funds)|out of credits?|can only afford|credit balance is too low"
    r"|payment required|exceeded your monthly|monthly included credits|prepaid"
    r"|credits? (?:are|is|have been) (?:depleted|exhausted|used up)|failure to pay", re.I)
_QUOTA_OR_CREDIT = re.compile(r"exceeded your current quota|\bbilling\b", re.I)
"""OpenAI says this where the credit is gone, Google where any limit, also that of a minute, is reached."""
_REGAIN = re.compile(r"usage limits?\b.{0,80}regain access", re.I)
_KEY_LIMIT = re.compile(r"key (?:total |monthly |weekly |daily )?limit|spend(?:ing)? limit|budget (?:has been )?exceeded", re.I)
_DAYS = re.compile(r"per[- ]?day|daily|tokens per day|requests per day|free-models-per-day|resets? (?:on|at|in \d+ days)", re.I)
_FILTER = re.compile(
    r"content[_ -]?(?:filter|policy|management)|responsible ?ai|safety system|moderation|flagged"
    r"|blocked by .{0,40}(?:filter|polic|safety|guardrail)", re.I)
_KEY = re.compile(
    r"api[_ -]?key[_ ](?:is )?(?:not valid|invalid|expired)|key was reported as leaked"
    r"|invalid[_ ]api[_ ]key|incorrect api key|API_KEY_INVALID|UnrecognizedClient|InvalidSignature|ExpiredToken"
    r"|InvalidClientToken|IncompleteSignature|MissingAuthenticationToken|security token .{0,30}(?:invalid|expired)"
    r"|signature we calculated", re.I)
_CLOSED = re.compile(
    r"(?:organization|account|consumer).{0,60}(?:disabled|suspended|deactivated)|(?:location|country|region).{0,40}not supported"
    r"|insufficient permissions|missing scopes|requires terms acceptance|use case details", re.I)
"""What only the account's owner can change, under whatever status it comes."""
_NO_MODEL = re.compile(
    r"model_not_found|model_decommissioned|invalid_model|\bmodel\b.{0,80}(?:does not exist|not exist|not found|decommissioned)"
    r"|not a valid model|invalid model|model identifier is invalid|end of its life", re.I)
_CONTEXT = re.compile(
    r"request too large|tokens must be reduced|`inputs` tokens|context[_ ](?:length|size|window)"
    r"|maximum context|too many (?:input )?tokens|(?:prompt|input) is too long"
    r"|maximum number of tokens|reduce the length|input too large", re.I)
_REFUSES = re.compile(
    r"unsupported|not supported|does not support|deprecated|unknown|unexpected|not permitted|not allowed|invalid"
    r"|unrecognized|only the default|may only be set|must be|extra inputs|strictly positive", re.I)
_NO_PROVIDER = re.compile(
    r"not supported by (?:any|an)[\w ]*provider|no (?:allowed )?providers? (?:are )?available|enabled provider"
    r"|model_not_supported", re.I)
_PRIVACY = re.compile(r"data policy|privacy settings?", re.I)
_PROFILE = re.compile(r"inference profile|on-demand throughput", re.I)
_BY_TYPE = {"overloaded_error": 529, "rate_limit_error": 429, "api_error": 500, "timeout_error": 504, "billing_error": 402,
            "authentication_error": 401, "permission_error": 403, "not_found_error": 404, "invalid_request_error": 400,
            "rate_limit_exceeded": 429, "insufficient_quota": 429, "invalid_api_key": 401, "model_not_found": 404}
"""Statuses of the errors that come under a status of 200: those of Anthropic in the middle of a stream, and routers'."""
_PASSING = {408: "timeout", 504: "timeout", 524: "timeout", 498: "overloaded", 503: "overloaded", 529: "overloaded"}
"""Faults that pass by kind; every other status of 500 and above, and of `_PASSING_TOO`, is a "server_error"."""
_PASSING_TOO = (409, 424, 425)


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


def classify(exchange: Exchange, error: BaseException | None, redact: Redactor, public: Callable[[str], str] = str) -> Fault:
    """The fault behind an exchange without a usable answer, or behind an exception of an SDK.

    Args:
        redact: takes keys out of what the provider said.
        public: takes out of its words what no public page may show, such as what they repeat of the request.
    """
    error = exchange.error or error
    status, body = exchange.status, exchange.body
    if status is None or status < 400:
        status = _body_code(body) or _status_of(error, at_least=400) or status
    # An SDK's own message would quote a page of HTML or text; such a page is searched and never quoted.
    words = public(redact(provider_words(body, "" if exchange.text else _message_of(error))))[:300]
    found = redact(signs(body, exchange.headers)) or words or redact(exchange.text)
    wait = wait_asked(exchange.headers, words, body)
    if status is not None and status >= 400:
        return replace(_by_status(status, words, found if words in found else f"{words} | {found}", wait), status=status, wait=wait)
    if status is not None and 300 <= status < 400:
        return Fault("redirected", "The provider's address sends requests on to another one; give the final address.",
                     status, stops_run=True)
    if exchange.unreadable:
        return Fault("bad_answer", f"The provider's answer could not be read. {exchange.unreadable}", status, again=True)
    return _without_status(exchange, error, words)


def _by_status(status: int, words: str, found: str, wait: float | None) -> Fault:
    """`words` are the provider's message; `found` holds its codes too."""
    says = f" The provider says: {words.rstrip('. ')}." if words else ""
    if status == 499:
        return Fault("cancelled", "The call was cancelled while it was under way.")
    if _REGAIN.search(found):
        return Fault("quota", f"The account's usage limit is reached.{says} Finished tasks are kept; go on then.", stops_run=True)
    if status in (402, 403, 429) and _KEY_LIMIT.search(found):
        return Fault("key_limit", f"The key's own spending limit is reached.{says} Raise it at the provider, then go on.")
    if _out_of_credit(status, found, wait):
        return Fault("no_credit", f"The provider's credit is used up or too small for this call.{says} "
                     "Add credit, or lower the most tokens in one answer, then go on with the run.", stops_run=True)
    if status < 500 and status != 429 and not _FILTER.search(found) and _CLOSED.search(found):
        return _no_access(says)
    if status == 401 or (status in (400, 403) and _KEY.search(found)):
        return Fault("key_refused", "The provider refused the key. Check that it is whole and still valid.", stops_run=True)
    if status == 429:
        return _too_many(found, wait, says)
    if status in _PASSING or status in _PASSING_TOO or status >= 500:
        kind = _PASSING.get(status, "server_error")
        return Fault(kind, f"The provider answered with an error of its own ({status}).", again=True)
    return _refused(status, words, found, says)


def _out_of_credit(status: int, found: str, wait: float | None) -> bool:
    if status == 402:
        return True
    if status not in (400, 403, 412, 429):
        return False
    return bool(_CREDIT.search(found) or (_QUOTA_OR_CREDIT.search(found) and wait is None and not _DAYS.search(found)
                                          and "RESOURCE_EXHAUSTED" not in found))


def _too_many(found: str, wait: float | None, says: str) -> Fault:
    if re.search(r"limit: 0\b", found):
        return Fault("quota", f"The account's quota for this model is 0.{says} Choose another model, or change the plan.",
                     stops_run=True)
    if re.search(r"request too large|tokens must be reduced", found, re.I):
        return _too_long(says)
    by_day = "PerDay" in found  # Google names a wait of seconds even where the day's quota is gone
    if by_day or (wait is not None and wait > QUOTA_WAIT) or (wait is None and _DAYS.search(found)):
        until = _until(None if by_day else wait)
        return Fault("quota", f"The provider's quota is used up{until}.{says} Finished tasks are kept; go on then.", stops_run=True)
    return Fault("rate_limit", "The provider limits the rate of calls (429).", again=True)


def _refused(status: int, words: str, found: str, says: str) -> Fault:
    if _FILTER.search(found):
        return Fault("filtered", "The provider's content filter refused the request.")
    if _PRIVACY.search(found) and status in (403, 404):
        return Fault("model_missing", f"Your account's privacy settings leave no provider for this model.{says}", stops_run=True)
    if _NO_PROVIDER.search(found):
        return Fault("model_missing", "No inference provider that your account has enabled serves this model. Enable one in "
                     f"your account's inference provider settings, or choose another model.{says}", stops_run=True)
    if _PROFILE.search(found):
        return Fault("model_missing", "This Bedrock model is called through an inference profile: put the region's prefix "
                     'before its id, for example "us." or "eu.".', stops_run=True)
    if _CONTEXT.search(found) or status == 413:
        return _too_long(says)
    if status == 403:
        return _no_access(says)
    if _NO_MODEL.search(found) or status in (404, 410):
        return Fault("model_missing", f"The provider does not know this model or address ({status}). Check the model's name.",
                     stops_run=True)
    if parameter := refused_parameter(words) or refused_parameter(found):
        return Fault("setting_refused", f"The model refuses the setting {parameter}.", parameter=parameter)
    return Fault("bad_request", f"The provider refused the request ({status}).{says}")


def _no_access(says: str) -> Fault:
    if says:
        return Fault("no_access", f"This key may not use the model.{says} Ask for access, or choose another model.", stops_run=True)
    return Fault("no_access", "Access was refused without a reason (403): the key may not use this model, or a network in "
                 "between blocks the call. Ask for access, or choose another model.", stops_run=True)


def _too_long(says: str) -> Fault:
    return Fault("too_long", f"The request is longer than the model, or the account's limit, can take.{says}")


def _without_status(exchange: Exchange, error: BaseException | None, words: str) -> Fault:
    names = " ".join(type(e).__name__ for e in chain(error))
    if "Timeout" in names and "ConnectTimeout" not in names:
        return Fault("timeout", "The provider did not answer in time.", again=True)
    if isinstance(exchange.body, Mapping) and exchange.body.get("error"):
        if _CREDIT.search(words):
            return replace(_by_status(402, words, words, None), status=exchange.status)
        return Fault("server_error", "The provider answered with an error in place of an answer.", exchange.status, again=True)
    if exchange.body is None and re.search(r"Connect|Network|Protocol|Read|Write|EndOfStream|Socket|Payload", names):
        return Fault("broken", "The connection to the provider broke before the whole answer was there.", again=True)
    return Fault("bad_answer", "The provider's answer could not be read.", exchange.status, again=True)


def _until(wait: float | None) -> str:
    if wait is None:
        return " for today"
    from datetime import UTC, datetime, timedelta

    when = datetime.now(UTC) + timedelta(seconds=wait)
    return f" until {when:%Y-%m-%d %H:%M} UTC"


def chain(error: BaseException | None) -> list[BaseException]:
    """An exception and those behind it, also behind tenacity's; at most 10."""
    found: list[BaseException] = []
    while error is not None and error not in found and len(found) < 10:
        found.append(error)
        last = getattr(error, "last_attempt", None)
        inner = last.exception() if last is not None and last.failed else None
        error = inner or error.__cause__ or error.__context__
    return found


def _status_of(error: BaseException | None, at_least: int = 100) -> int | None:
    for e in chain(error):
        response = getattr(e, "response", None)
        if isinstance(response, Mapping):  # botocore
            status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        else:
            status = getattr(e, "status_code", None)
            if status is None and not type(e).__module__.startswith("aiohttp"):  # where 400 means a broken body
                status = getattr(e, "code", None)
        if isinstance(status, int) and at_least <= status < 600:
            return status
        body = getattr(e, "body", None)
        inner = body.get("error") if isinstance(body, Mapping) else None
        if isinstance(inner, Mapping) and (status := _BY_TYPE.get(str(inner.get("type")))):
            return status
    return None


def _message_of(error: BaseException | None) -> str:
    """The vendor's message, without the request that inspect adds behind it."""
    for e in reversed(chain(error)):
        response = getattr(e, "response", None)
        if isinstance(response, Mapping):
            return str(response.get("Error", {}).get("Message", ""))[:5000]
        for name in ("provider_message", "message"):
            if isinstance(text := getattr(e, name, None), str) and text:
                return re.sub(r"\s+", " ", text.split("\nRequest")[0])[:5000]
    return ""


def headers_of(error: BaseException | None) -> dict[str, str]:
    """Response headers that an SDK's exception carries, for providers whose exchange is not seen on the wire."""
    for e in chain(error):
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
    if isinstance(error, Mapping) and (named := _BY_TYPE.get(str(code)) or _BY_TYPE.get(str(error.get("type")))):
        return named
    try:
        number = int(code) if code is not None else None
    except (TypeError, ValueError):
        return None
    return number if number is not None and 400 <= number < 600 else None
