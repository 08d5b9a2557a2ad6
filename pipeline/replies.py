"""Reads error replies of providers: their own words, the codes they carry, the wait they ask for. Decides nothing.

Quotes only what a JSON body gives as its message; a page of text or HTML is never passed on.
"""

import math
import re
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from time import time
from typing import Any

from pipeline.core.json_in import FROM_PROVIDER, BadJson, read_json

LONGEST = 366 * 86400.0
"""Seconds: a longer wait than a year is told as a year."""

_CODE_KEYS = frozenset({"code", "type", "param", "status", "reason", "reasons", "quotaId", "quotaMetric", "msg", "message",
                        "detail", "raw", "__type"})
ECHO = 20
"""Letters and digits in a row, about four words, that make a provider's words a copy of the request."""
_SIGN = re.compile(r"\\u([0-9a-fA-F]{4})|\\[nrtbf]|.", re.S)
_WAIT = re.compile(r"(?:try again|retry)(?: in| after)? ((?:\d+(?:\.\d+)? ?(?:ms|[smhd])[a-z]*[ ,]*(?:and )?)+)", re.I)


def without_request(words: str, request: str) -> str:
    """Public words up to where they begin to repeat the request: what a provider quotes of it may be gated text.

    Letters and digits alone are compared, so that line breaks, quotes and JSON's escapes between them do not hide a copy.
    """
    signs, asked = _letters(words), "".join(c for c, _ in _letters(request))
    text = "".join(c for c, _ in signs)
    for i in range(len(text) - ECHO + 1):
        if text[i : i + ECHO] in asked:
            return words[: signs[i][1]].rstrip(" :;,'\"([{") + " […]"
    return words


def _letters(text: str) -> list[tuple[str, int]]:
    """Every letter and digit of a text, lower-cased, with its place in it."""
    found = []
    for sign in _SIGN.finditer(text):
        plain = chr(int(sign[1], 16)) if sign[1] else "" if len(sign[0]) > 1 else sign[0]
        found += [(c, sign.start()) for c in plain.lower() if c.isalnum()]
    return found


def parse_body(raw: bytes) -> Any:
    """JSON of a response body with its text made safe, or None where it is none that our reader takes."""
    try:
        return read_json(raw, FROM_PROVIDER)
    except BadJson:
        return None


def provider_words(body: Any, text: str = "") -> str:
    """The provider's own message in a response body, on one line; "" where there is none.

    Args:
        text: a message found elsewhere, taken where the body has none.
    """
    return re.sub(r"\s+", " ", _message(body) or (text if isinstance(text, str) else "")).strip()


def _message(body: Any) -> str:
    found = body
    for name in ("error", "message", "Message", "detail"):
        if isinstance(found, list) and found:
            found = found[0]
        if isinstance(found, Mapping) and name in found:
            if name == "message" and (inner := _relayed(found)):
                return inner
            found = found[name]
    if isinstance(found, list) and found:
        found = found[0]
    if isinstance(found, Mapping):
        if "msg" in found:  # how FastAPI servers, vLLM and Mistral among them, refuse a field
            place = ".".join(map(str, where)) if isinstance(where := found.get("loc"), list) else ""
            return f"{place}: {found['msg']}" if place else str(found["msg"] or "")
        found = found.get("message") or found.get("type") or found.get("code") or ""
    return found if isinstance(found, str) else ""


def _relayed(error: Mapping[str, Any]) -> str:
    """What stands behind a router's "Provider returned error": the upstream's own message."""
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    if not isinstance(raw, str) or not raw.strip():
        return ""
    inner = parse_body(raw.encode())
    return _message(inner) if inner is not None else raw[:300]


def signs(body: Any, headers: Mapping[str, str] | None = None) -> str:
    """All codes, types and messages of a body, at any depth, as one text to search in; never the echoed request."""
    found: list[str] = [v for k, v in (headers or {}).items() if k.lower() == "x-amzn-errortype"]

    def walk(value: Any, key: str) -> None:
        if isinstance(value, Mapping):
            for k, inner in value.items():
                walk(inner, str(k))
        elif isinstance(value, list):
            for inner in value:
                walk(inner, key)
        elif key in _CODE_KEYS and isinstance(value, str | int):
            found.append(str(value)[:2000])

    walk(body, "")
    return " | ".join(found)[:8000]


def wait_asked(headers: Mapping[str, str], words: str = "", body: Any = None) -> float | None:
    """Seconds the provider asks to wait, at most `LONGEST`; from headers (also those a router relays in the body),
    details or words. A header that cannot be read, or asks for less than nothing, says nothing.
    """
    low = {k.lower(): v for k, v in {**_relayed_headers(body), **headers}.items()}
    now = time()
    ms = _number(low.get("retry-after-ms"))
    said = _WAIT.search(words)
    found = (
        ms / 1000 if ms is not None and ms >= 0 else None, _duration(low.get("retry-after"), now), _google_delay(body),
        _reset(low, now), _duration(said[1].lower(), now) if said else None,
    )
    return next((min(wait, LONGEST) for wait in found if wait is not None), None)


def _reset(low: Mapping[str, str], now: float) -> float | None:
    """From the reset headers: the longest of the limits that are used up, or the shortest where none is said to be."""
    spent: list[float] = []
    others: list[float] = []
    for name, value in low.items():
        if "ratelimit" not in name or (wait := _reset_of(name, value, now)) is None:
            continue
        left = _number(low.get(name.replace("reset", "remaining"))) if "reset" in name else _field(value, "r|remaining")
        (spent if left is not None and left <= 0 else others).append(wait)
    return max(spent) if spent else min(others, default=None)


def _reset_of(name: str, value: str, now: float) -> float | None:
    """Vendors write `x-ratelimit-reset-tokens: 6m0s`, `anthropic-ratelimit-...-reset: 2026-01-01T00:00:00Z` and the like;
    the draft standard writes `ratelimit: "default";r=0;t=30`.
    """
    return _duration(value, now) if "reset" in name else _field(value, "t|reset") if name == "ratelimit" else None


def _field(value: str, names: str) -> float | None:
    found = re.search(rf"\b(?:{names})=(\d+)", value)
    return float(found[1]) if found else None


def _relayed_headers(body: Any) -> dict[str, str]:
    """OpenRouter puts its own limit's headers into the body: error.metadata.headers."""
    error = body.get("error") if isinstance(body, Mapping) else None
    metadata = error.get("metadata") if isinstance(error, Mapping) else None
    found = metadata.get("headers") if isinstance(metadata, Mapping) else None
    return {str(k): str(v) for k, v in found.items()} if isinstance(found, Mapping) else {}


def _google_delay(body: Any) -> float | None:
    error = body.get("error") if isinstance(body, Mapping) else None
    details = error.get("details") if isinstance(error, Mapping) else None
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, Mapping) and isinstance(delay := detail.get("retryDelay"), str):
            return _duration(delay, 0.0)
    return None


def _number(raw: str | None) -> float | None:
    try:
        found = float(raw) if raw is not None else math.nan
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def _duration(raw: str | None, now: float) -> float | None:
    """`12s`, `1m30s`, `250ms`, `20 seconds`, plain seconds, a Unix time in seconds or milliseconds, or a date.

    A time that has passed is no wait; less than nothing is not readable.
    """
    if not raw:
        return None
    if (n := _number(raw)) is not None:
        if n > 1e9:
            return max(0.0, (n / 1000 if n > 1e12 else n) - now)
        return n if n >= 0 else None
    if (when := _date(raw)) is not None:
        return max(0.0, when - now)
    parts = re.findall(r"(\d+(?:\.\d+)?) ?(ms|milli|[smhd])", raw)
    units = {"ms": 0.001, "milli": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
    return sum(float(n) * units[u] for n, u in parts) if parts else None


def _date(raw: str) -> float | None:
    """Unix time of an HTTP date or an RFC 3339 one."""
    for read in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            return read(raw.strip()).timestamp()
        except (TypeError, ValueError, OverflowError):
            continue
    return None
