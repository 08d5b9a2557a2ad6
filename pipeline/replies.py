"""Reads error replies of providers: their own words, the codes they carry, the wait they ask for. Decides nothing.

Quotes only what a JSON body gives as its message; a page of text or HTML is never passed on.
"""

import base64
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

_CODE_KEYS = frozenset({"code", "type", "param", "status", "reason", "reasons", "quotaId", "quotaMetric", "msg", "message",
                        "detail", "raw", "__type"})
_WAIT = re.compile(r"(?:try again|retry)(?: in| after)? ((?:\d+(?:\.\d+)? ?(?:ms|[smhd])[a-z]*[ ,]*(?:and )?)+)", re.I)

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|[nrt])")
SHARED = 16


class Redactor:
    """Takes the run's secrets, and anything that looks like a key, out of a text."""

    _SHAPES = re.compile(
        r"\b(?:sk|pk|rk|gsk|hf|xai|key|fw|tgp|r8)[-_][A-Za-z0-9_\-*]{6,}|\bAIza[\w-]{10,}|\b(?:AKIA|ASIA)[A-Z0-9]{12,}"
        r"|(?i:bearer)\s+[^\s\"',;}\]]+"
    )

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        found: set[str] = set()
        for secret in (s for s in secrets if len(s) >= 6):
            found |= {secret, quote(secret, safe=""), json.dumps(secret)[1:-1], base64.b64encode(secret.encode()).decode()}
        # A provider may cut the key it echoes: a long beginning goes with whatever is left of the key behind it.
        starts = [re.escape(s[: max(10, len(s) // 2)]) + r"[\w\-.+/=*…]*" for s in found if len(s) >= 16]
        whole = [re.escape(s) for s in found]
        self._secrets = re.compile("|".join(sorted(whole, key=len, reverse=True) + starts)) if found else None

    def __call__(self, text: str) -> str:
        if self._secrets is not None:
            text = self._secrets.sub("[key]", text)
        return self._SHAPES.sub("[key]", text)


def unquoted(text: str, sent: str) -> str:
    """`text` without what it repeats of the request `sent`: an error that echoes it would carry gated text to the public record.

    Every run of `SHARED` letters and digits that both have, whatever stands between them, becomes "[…]".
    """
    text = _ESCAPE.sub(lambda m: chr(int(m[1], 16)) if m[1] else " ", text)
    at = [i for i, c in enumerate(text) if c.isalnum()]
    own, plain = _letters(sent), "".join(text[i].lower()[0] for i in at)
    spans: list[list[int]] = []
    for i in range(len(at) - SHARED + 1):
        if plain[i : i + SHARED] in own:
            first, end = at[i], at[i + SHARED - 1] + 1
            if spans and first <= spans[-1][1]:
                spans[-1][1] = end
            else:
                spans.append([first, end])
    for first, end in reversed(spans):
        text = f"{text[:first]}[…]{text[end:]}"
    return text


def _letters(text: str) -> str:
    return "".join(c.lower()[0] for c in text if c.isalnum())


def parse_body(raw: bytes) -> Any:
    """JSON of a response body, or None."""
    try:
        return json.loads(raw)
    except ValueError:
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
            return f"{'.'.join(map(str, found.get('loc', ())))}: {found['msg']}"
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
    """Seconds the provider asks to wait, from headers (also those a router relays in the body), details or words."""
    from email.utils import parsedate_to_datetime
    from time import time

    low = {k.lower(): v for k, v in {**_relayed_headers(body), **headers}.items()}
    if (ms := _number(low.get("retry-after-ms"))) is not None:
        return max(0.0, ms / 1000)
    if raw := low.get("retry-after"):
        if (seconds := _number(raw)) is not None:
            return max(0.0, seconds)
        try:
            return max(0.0, parsedate_to_datetime(raw).timestamp() - time())
        except (TypeError, ValueError):
            return None
    if (wait := _google_delay(body)) is not None:
        return wait
    if (wait := _reset(low, time())) is not None:
        return wait
    said = _WAIT.search(words)
    return _duration(said[1].lower(), time()) if said else None


def _reset(low: Mapping[str, str], now: float) -> float | None:
    """From the reset headers: the longest of the limits that are used up, or the shortest where none is said to be."""
    spent: list[float] = []
    others: list[float] = []
    for name in ("x-ratelimit-reset-requests", "x-ratelimit-reset-tokens", "x-ratelimit-reset", "ratelimit-reset"):
        if (wait := _duration(low.get(name), now)) is not None:
            left = _number(low.get(name.replace("reset", "remaining")))
            (spent if left is not None and left <= 0 else others).append(wait)
    return max(spent) if spent else min(others, default=None)


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
        return float(raw) if raw is not None else None
    except ValueError:
        return None


def _duration(raw: str | None, now: float) -> float | None:
    """`12s`, `1m30s`, `250ms`, `20 seconds`, a Unix time in seconds or milliseconds, or plain seconds."""
    if not raw:
        return None
    if (n := _number(raw)) is not None:
        if n > 1e12:
            return max(0.0, n / 1000 - now)
        return max(0.0, n - now) if n > 1e9 else max(0.0, n)
    parts = re.findall(r"(\d+(?:\.\d+)?) ?(ms|milli|[smhd])", raw)
    units = {"ms": 0.001, "milli": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
    return sum(float(n) * units[u] for n, u in parts) if parts else None
