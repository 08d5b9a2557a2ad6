"""The one reader for JSON that comes from outside: a browser, a provider, a file of someone else.

Says no, in a sentence, to what could mean two things or cost without end. Never recurses, whatever it is given.
"""

import json
import math
import re
from dataclasses import dataclass
from typing import Any, NoReturn

from pipeline.core.text import safe_text, safe_value


class BadJson(ValueError):
    """What came cannot be read; the text is one public sentence and quotes nothing of it."""


class NotJson(BadJson):
    """It is no JSON at all, as a line is that was cut while it was written."""


@dataclass(frozen=True)
class Bounds:
    """How much is read.

    Attributes:
        size: bytes. depth: brackets within brackets. values: names and values in all.
        mend: whether bytes that are not UTF-8, lone halves of surrogate pairs and control characters are replaced
            instead of refused.
    """

    size: int
    depth: int
    values: int
    mend: bool = False


FROM_BROWSER = Bounds(size=1_000_000, depth=32, values=20_000)
FROM_PROVIDER = Bounds(size=8_000_000, depth=64, values=500_000, mend=True)
FROM_FILE = Bounds(size=64_000_000, depth=64, values=5_000_000, mend=True)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"', re.DOTALL)


def read_json(raw: bytes | str, bounds: Bounds) -> Any:
    """The value of a JSON text.

    Raises:
        BadJson: too large, too deep, too many values, a name given twice in one object, a number that is none, or no
            JSON at all; and bytes that are not UTF-8, half a character or a control character where `bounds` does not
            mend them.
    """
    if len(raw) > bounds.size:
        raise BadJson(f"What was sent is too large: at most {bounds.size:,} bytes.")
    try:
        text = raw if isinstance(raw, str) else raw.decode("utf-8-sig", "replace" if bounds.mend else "strict")
        _count_signs(text, bounds)
        value = json.loads(text, strict=not bounds.mend, object_pairs_hook=_object, parse_constant=_no_number,
                           parse_float=_float, parse_int=_int)
    except BadJson:
        raise
    except RecursionError:
        raise _too_deep(bounds) from None
    except ValueError:
        raise NotJson("What was sent is not readable JSON.") from None
    count = _measure(value, bounds)
    if "\\u" not in text and safe_text(text) is text:
        return value
    mended = safe_value(value)
    if mended != value and not bounds.mend:
        raise BadJson("What was sent holds half a character or a control character.")
    if _measure(mended, bounds) != count:  # two names became one
        raise _twice()
    return mended


def _twice() -> BadJson:
    return BadJson("What was sent names a field twice.")


def _too_deep(bounds: Bounds) -> BadJson:
    return BadJson(f"What was sent is nested too deeply: at most {bounds.depth} levels.")


def _too_many(bounds: Bounds) -> BadJson:
    return BadJson(f"What was sent holds too much: at most {bounds.values:,} values.")


def _count_signs(text: str, bounds: Bounds) -> None:
    """Refuse by its brackets and commas what would unfold to more values than may be: lists are dear before they are counted."""
    if text.count(",") + text.count("[") + text.count("{") > 2 * bounds.values:
        bare = _STRING.sub("", text)
        if bare.count(",") + bare.count("[") + bare.count("{") > 2 * bounds.values:
            raise _too_many(bounds)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _twice()
    return found


def _no_number(word: str) -> NoReturn:
    raise BadJson(f"What was sent holds {word}, which is no number.")


def _float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise BadJson("What was sent holds a number without bounds.")
    return value


def _int(digits: str) -> int:
    if len(digits) > 64:
        raise BadJson("What was sent holds a number without bounds.")
    return int(digits)


def _measure(value: Any, bounds: Bounds) -> int:
    """How many values there are, level by level."""
    level, count = [value], 0
    for _ in range(bounds.depth + 1):
        count += len(level)
        if count > bounds.values:
            raise _too_many(bounds)
        level = [inner for v in level if isinstance(v, dict | list) for inner in (v.values() if isinstance(v, dict) else v)]
        if not level:
            return count
    raise _too_deep(bounds)
