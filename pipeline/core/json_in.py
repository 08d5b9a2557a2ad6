"""The one reader for JSON that comes from outside: a browser, a provider, a file of someone else.

Says no, in a sentence, to what could mean two things or cost without end. Never recurses, whatever it is given.
"""

import json
import math
from dataclasses import dataclass
from typing import Any, NoReturn

from pipeline.core.text import safe_text, safe_value


class BadJson(ValueError):
    """What came cannot be read; the text is one public sentence and quotes nothing of it."""


@dataclass(frozen=True)
class Bounds:
    """How much is read.

    Attributes:
        size: bytes. depth: brackets within brackets. values: names and values in all.
        mend: whether lone halves of surrogate pairs and control characters are replaced instead of refused.
    """

    size: int
    depth: int
    values: int
    mend: bool = False


FROM_BROWSER = Bounds(size=1_000_000, depth=32, values=20_000)
FROM_PROVIDER = Bounds(size=8_000_000, depth=64, values=500_000, mend=True)
FROM_FILE = Bounds(size=64_000_000, depth=64, values=5_000_000, mend=True)


def read_json(raw: bytes | str, bounds: Bounds) -> Any:
    """The value of a JSON text.

    Raises:
        BadJson: too large, too deep, too many values, a name given twice in one object, a number that is none, text
            that is not UTF-8, or no JSON at all; and half a character where `bounds` does not mend it.
    """
    if len(raw) > bounds.size:
        raise BadJson(f"What was sent is too large: at most {bounds.size:,} bytes.")
    try:
        text = raw if isinstance(raw, str) else raw.decode("utf-8-sig")
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_no_number, parse_float=_float, parse_int=_int)
    except BadJson:
        raise
    except RecursionError:
        raise BadJson(f"What was sent is nested too deeply: at most {bounds.depth} levels.") from None
    except ValueError:
        raise BadJson("What was sent is not readable JSON.") from None
    _measure(value, bounds)
    if "\\u" not in text and safe_text(text) is text:
        return value
    mended = safe_value(value)
    if mended != value and not bounds.mend:
        raise BadJson("What was sent holds half a character or a control character.")
    return mended


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise BadJson("What was sent names a field twice.")
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


def _measure(value: Any, bounds: Bounds) -> None:
    level, count = [value], 0
    for depth in range(bounds.depth + 1):
        count += len(level)
        if count > bounds.values:
            raise BadJson(f"What was sent holds too much: at most {bounds.values:,} values.")
        level = [inner for v in level if isinstance(v, dict | list) for inner in (v.values() if isinstance(v, dict) else v)]
        if not level:
            return
        if depth == bounds.depth:
            break
    raise BadJson(f"What was sent is nested too deeply: at most {bounds.depth} levels.")
