"""Reads a verdict from the judge's text: by the strict rule of the reference, or by a lenient one that is asked for.

Callers pass the answer text alone; reasoning is never read. Neither rule ever guesses: what is not plainly true or
false is None. The strict reading is always kept beside the lenient one.
"""

import json
import re
from dataclasses import dataclass
from typing import Any, Literal

Parser = Literal["strict", "lenient"]

_WORDS = {"true": True, "false": False}
_MARKS = " \t\u200b\ufeff*_`\"'“”‘’„«»「」『』"
_STOPS = ".。．!！"
_LABEL = r"(?:verdict|result|answer|judge?ment|decision|conclusion)"
_PREFIX = re.compile(
    rf"^#*\s*(?:the\s+|my\s+)?(?:final\s+|overall\s+)?{_LABEL}[*_`\"'”’]*\s*(?:[:：=]|[-–—]+>?|→|\bis\b\s*:?)\s*", re.IGNORECASE
)
_VERDICT_KEYS = {"verdict", "finalverdict"}
_MAX_OPENINGS = 50


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read.

    Attributes:
        verdict: by the rule asked for; None where nothing could be read.
        strict: by the strict rule.
        last_line: the line the verdict was looked for in, for the message of an unreadable one; judge text, not public.
    """

    verdict: bool | None
    strict: bool | None
    last_line: str


def read_verdict(text: str, parser: Parser = "strict") -> Reading:
    """Read the last line of `text`.

    Strict: the last line of the trimmed text, trimmed and lower-cased, is exactly `true` or `false`.
    Lenient: beside that, the same word in bold, italics, code marks or quotes, with a full stop, after a prefix such
    as "Final verdict:", or a JSON object at the end of the text with a real boolean under the key `verdict`.
    """
    lines = text.strip().splitlines()
    last = lines[-1].strip() if lines else ""
    strict = _WORDS.get(last.lower())
    if parser == "strict" or strict is not None:
        return Reading(strict, strict, last)
    return Reading(_lenient(text), None, last)


def _lenient(text: str) -> bool | None:
    body = _without_fence(text.strip())
    if body.rstrip("`").endswith("}"):
        return _from_json(body.rstrip("`"))
    lines = body.splitlines()
    return _from_line(lines[-1]) if lines else None


def _without_fence(text: str) -> str:
    """The text without the closing line of a code block, which would hide the last line."""
    lines = text.splitlines()
    if lines and lines[-1].strip() in ("```", "~~~"):
        return "\n".join(lines[:-1]).rstrip()
    return text


def _from_line(line: str) -> bool | None:
    """Peel marks, stops and prefixes until nothing changes; only then must the whole rest be the word."""
    rest, before = line.strip(), None
    while rest != before:
        before = rest
        rest = rest.strip(_MARKS).rstrip(_STOPS + _MARKS)
        rest = _PREFIX.sub("", rest, count=1)
    return _WORDS.get(rest.strip().lower())


def _from_json(text: str) -> bool | None:
    """The verdict of the JSON object that ends the text; None for strings, numbers, other keys and contradictions."""
    starts = [m.start() for m in re.finditer(r"\{", text)][-_MAX_OPENINGS:]
    for start in reversed(starts):
        try:
            pairs, end = json.JSONDecoder(object_pairs_hook=list).raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        if end == len(text):
            return _one_boolean(pairs)
    return None


def _one_boolean(pairs: list[tuple[str, Any]]) -> bool | None:
    found = [v for k, v in pairs if re.sub(r"[\s_-]", "", k).lower() in _VERDICT_KEYS]
    if len(found) == 0 or any(not isinstance(v, bool) for v in found) or len(set(found)) > 1:
        return None
    return bool(found[0])
