"""Sentences of a run's record in the visitor's language. The record itself stays English, so that all can compare it.

Each language has one file of templates, the English sentence first; what no template fits is shown as it was said.
`assets/js/said.js` does the same in the page.
"""

import json
import re
from functools import cache, lru_cache

from ui.words import HERE

_ENDS = re.compile(r"(?<=[.!?:])(\s+)")
_SLOT = re.compile(r"\{(\w+)\}")
_SHAPES = dict.fromkeys(("n", "of", "seed"), r"[\d.,]+")
"""A slot with one of these names holds a number only."""
Template = tuple[re.Pattern[str], str]


@lru_cache(maxsize=4096)
def translated(text: str, lang: str) -> str:
    """The text in a shipped language, sentence by sentence; what a template leaves open is looked up the same way."""
    known, templates = _book(lang)
    if not known:
        return text
    if (whole := _one(text, lang, known, templates)) is not None:
        return whole
    parts, found, at = _ENDS.split(text), "", 0
    while at < len(parts):
        for end in range(at + 1, len(parts) + 1, 2):
            if (one := _one("".join(parts[at:end]), lang, known, templates)) is not None:
                break
        else:
            one, end = parts[at], at + 1
        gap = parts[end] if end < len(parts) else ""
        found += one + ("" if one.endswith("。") else gap)
        at = end + 1
    return found


def _one(text: str, lang: str, known: dict[str, str], templates: tuple[Template, ...]) -> str | None:
    if (exact := known.get(text)) is not None:
        return exact
    for pattern, words in templates:
        if match := pattern.fullmatch(text):
            return _fill(words, match.groupdict(), lang)
    return None


def _fill(words: str, values: dict[str, str], lang: str) -> str:
    return _SLOT.sub(lambda slot: translated(values[slot[1]], lang), words)


@cache
def _book(lang: str) -> tuple[dict[str, str], tuple[Template, ...]]:
    """Whole sentences, and templates with the ones that say most themselves first."""
    path = HERE / f"said.{lang}.json"
    rows: dict[str, str] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    open_rows = sorted((k for k in rows if "{" in k), key=lambda k: -len(_SLOT.sub("", k)))
    return rows, tuple((re.compile(_pattern(k), re.DOTALL), rows[k]) for k in open_rows)


def _pattern(template: str) -> str:
    parts = _SLOT.split(template)
    return "".join((f"(?P<{p}>{_SHAPES.get(p, '.+?')})" if n % 2 else re.escape(p)) for n, p in enumerate(parts))
