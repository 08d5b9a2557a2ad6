"""Context variables: from free text in `task_variables`, and from further columns, to facets a person may filter by.

Names and values come from the data; nothing is listed here. Text that cannot be read gives no facets, never an error.
"""

import ast
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from pipeline.core.text import safe_text
from pipeline.data.records import Task

Facets = dict[str, tuple[str, ...]]
MAX_VALUE_WORDS = 7
MAX_VALUE_CHARS = 60
MAX_KEY_WORDS = 6
MAX_KEY_CHARS = 48
MAX_DISTINCT = 40
SMALL_FILE_ROWS = 12
MAX_LITERAL_CHARS = 20_000
_NOT_A_VALUE = {"", "nan", "none", "null", "<na>", "nat", "#n/a"}
_BREAKS = re.compile(r"[\r\n;|]+")
_PAIR = re.compile(r"\s*(?:[-*•–]\s+|\d+[.)]\s+)?([^:：]+?)\s*[:：]\s*(.*)", re.DOTALL)
_BARE_WORD = re.compile(r"(?<=[:,\[(\s])(?:nan|null|true|false)(?=\s*[,}\])])", re.IGNORECASE)
_PYTHON_WORD = {"true": "True", "false": "False"}
_INLINE_PAIR = re.compile(r"\s*[\"']?[^\W\d_][\w \-/()]{0,40}[\"']?:\s+\S.*", re.DOTALL)


def parse_variables(text: str) -> Facets | None:
    """Facets of one `task_variables` cell; {} for an empty cell, None where the text cannot be read.

    Reads JSON, Python literals, and `key: value` pairs parted by line breaks, semicolons or pipes. Keys become
    lower-case and single-spaced. A value of more than 7 words or 60 characters is prose and is left out.
    """
    stripped = text.strip()
    if not stripped:
        return {}
    if re.sub(r"\s", "", stripped) in ("{}", "[]", "()"):
        return {}
    pairs = _structured(stripped) if stripped[0] in "{[(\"'" else None
    if pairs is None:
        pairs = _lines(stripped.strip("{}"))
    return _clean(pairs) if pairs else None


def _structured(text: str) -> list[tuple[str, Any]] | None:
    """Pairs of a JSON or Python literal; None where it is neither, or holds no pairs."""
    if len(text) > MAX_LITERAL_CHARS:
        return None
    for reader in (json.loads, ast.literal_eval, _mixed_literal):
        try:
            return _pairs(reader(text)) or None
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
    return None


def _mixed_literal(text: str) -> Any:
    """A Python literal with bare words of JSON or pandas in it, as a dict printed from a table has them."""
    return ast.literal_eval(_BARE_WORD.sub(lambda word: _PYTHON_WORD.get(word[0].lower(), "None"), text))


def _pairs(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        named = {str(k).lower(): v for k, v in value.items()}
        label = next((named[k] for k in ("key", "name", "variable") if isinstance(named.get(k), str)), None)
        if label is not None and "value" in named and len(named) == 2:
            return [(label, named["value"])]
        found: list[tuple[str, Any]] = []
        for key, item in value.items():
            found += _pairs(item) if isinstance(item, dict) else [(str(key), item)]
        return found
    if isinstance(value, str):
        return _lines(value)
    if isinstance(value, tuple) and _is_pair(value):
        return [(value[0], value[1])]
    if isinstance(value, list | tuple | set):
        return [pair for item in value for pair in ([tuple(item)] if isinstance(item, list) and _is_pair(item) else _pairs(item))]
    return []


def _is_pair(value: list[Any] | tuple[Any, ...]) -> bool:
    """Whether two things stand for a key and its value, rather than for two pairs or two values."""
    return len(value) == 2 and isinstance(value[0], str) and ":" not in value[0] and not isinstance(value[1], tuple | dict)


def _lines(text: str) -> list[tuple[str, Any]]:
    """`key: value` pairs; a piece without a colon is a further value of the key before it."""
    found: list[tuple[str, Any]] = []
    for piece in _pieces(text):
        match = _PAIR.fullmatch(piece)
        key = match[1].strip("*_\"' ") if match else ""
        if match and key and len(key) <= MAX_KEY_CHARS and len(key.split()) <= MAX_KEY_WORDS:
            found.append((key, _bracketed(match[2].strip("*_, \t"))))
        elif found and not match:
            found.append((found[-1][0], re.sub(r"^\s*[-*•–]\s*", "", piece)))
    return found


def _pieces(text: str) -> Iterable[str]:
    for piece in _BREAKS.split(text):
        parts = piece.split(",")
        if len(parts) > 1 and all(_INLINE_PAIR.fullmatch(part) for part in parts):
            yield from parts
        elif piece.strip():
            yield piece


def _bracketed(value: str) -> Any:
    """A value such as `[a, b]` as a list; any other text as it is, without its quotes."""
    if value.startswith("[") and value.endswith("]"):
        return [part.strip().strip("\"'") for part in value[1:-1].split(",")]
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value


def _clean(pairs: list[tuple[str, Any]]) -> Facets:
    found: dict[str, list[str]] = {}
    for key, value in pairs:
        kept = [short for item in _flat(value) if (short := category(item))]
        known = found.setdefault(normal_key(safe_text(key)), [])
        known += [item for item in dict.fromkeys(kept) if item not in known]
    return {key: tuple(values) for key, values in found.items() if key and values}


def _flat(value: Any, depth: int = 3) -> Iterable[Any]:
    """One value, or the values of a list and of the lists within it; a set's in sorted order, which never changes."""
    if not depth or not isinstance(value, list | tuple | set):
        yield value
        return
    for item in sorted(value, key=str) if isinstance(value, set) else value:
        yield from _flat(item, depth - 1)


def normal_key(key: str) -> str:
    """A context variable's name: lower-case, single-spaced."""
    return " ".join(key.lower().split())


def category(value: Any) -> str:
    """A value as short text, or "" where it is empty, nested or too long to be a category."""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str | int | float):
        return ""
    short = " ".join(safe_text(str(value)).split()).rstrip(",")
    if short.lower() in _NOT_A_VALUE or len(short) > MAX_VALUE_CHARS or len(short.split()) > MAX_VALUE_WORDS:
        return ""
    return short


def column_is_facet(cells: Sequence[str]) -> bool:
    """Whether a further column holds categories: 2 to 40 distinct short values, each used three times on average
    (twice in files of under 12 rows)."""
    filled = [cell for cell in cells if cell.strip().lower() not in _NOT_A_VALUE]
    distinct = {category(cell) for cell in filled}
    if "" in distinct or not 2 <= len(distinct) <= MAX_DISTINCT:
        return False
    return len(distinct) * (2 if len(cells) < SMALL_FILE_ROWS else 3) <= len(cells)


def one_spelling(facets: Sequence[Facets]) -> list[Facets]:
    """The same facets with values that differ only in case written as they first appear in the file."""
    first: dict[tuple[str, str], str] = {}
    return [
        {
            key: tuple(dict.fromkeys(first.setdefault((key, v.casefold()), v) for v in values))
            for key, values in item.items()
        }
        for item in facets
    ]


def counts(tasks: Iterable[Task]) -> dict[str, dict[str, int]]:
    """How many tasks have each value of each context variable; keys by name, values by count, then name."""
    found: dict[str, Counter[str]] = {}
    for task in tasks:
        for key, values in task.facets.items():
            found.setdefault(key, Counter()).update(set(values))
    return {
        key: dict(sorted(found[key].items(), key=lambda item: (-item[1], item[0].casefold()))) for key in sorted(found)
    }
