"""Text from outside, made safe once, where it enters: afterwards it can be written, printed, kept and shown anywhere.

Changes no character that a person could have meant; the line breaks that Python knows stay line breaks, so that no
rule that reads lines reads it differently afterwards.
"""

import re
from typing import Any

_ODD = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_BREAKS = frozenset("\x0b\x0c\x1c\x1d\x1e\x85")  # str.splitlines and str.strip treat these as breaks
REPLACEMENT = "\ufffd"


def safe_text(text: str) -> str:
    """The text without lone halves of a surrogate pair, control characters and non-characters, each one as U+FFFD.

    Rare line breaks become line feeds and the unit separator a space. A text without any of them is returned as it is.
    """
    return _ODD.sub(_safe, text) if _ODD.search(text) else text


def _safe(found: re.Match[str]) -> str:
    if found[0] in _BREAKS and found.string[found.start() - 1 : found.start()] == "\r":
        return "\u2028"  # a line feed would make one break of two
    return "\n" if found[0] in _BREAKS else " " if found[0] == "\x1f" else REPLACEMENT


def safe_value(value: Any) -> Any:
    """A value of JSON's kinds with every text in it, names of fields included, made safe. Does not recurse."""
    if isinstance(value, str):
        return safe_text(value)
    if not isinstance(value, dict | list):
        return value
    top: Any = {} if isinstance(value, dict) else []
    todo = [(value, top)]
    while todo:
        source, target = todo.pop()
        pairs = source.items() if isinstance(source, dict) else enumerate(source)
        for name, inner in pairs:
            made: Any = inner
            if isinstance(inner, str):
                made = safe_text(inner)
            elif isinstance(inner, dict | list):
                made = {} if isinstance(inner, dict) else []
                todo.append((inner, made))
            if isinstance(target, dict):
                target[safe_text(name) if isinstance(name, str) else name] = made
            else:
                target.append(made)
    return top


def safe_record(record: Any) -> Any:
    """A pydantic record with every text in it made safe; the record itself where there is nothing to mend."""
    data = record.model_dump()
    mended = safe_value(data)
    return record if mended == data else type(record).model_validate(mended)
