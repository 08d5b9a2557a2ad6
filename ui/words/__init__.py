"""Every word a page shows, in one flat table per language with the same keys. Never holds text of tasks or models.

English is the language of last resort. A placeholder such as `{n}` stands in all languages or in none.
"""

import json
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
LANGUAGES: dict[str, str] = {"en": "English", "es": "Español", "zh-CN": "简体中文"}
DEFAULT = "en"


@cache
def words(lang: str = DEFAULT) -> dict[str, str]:
    """The table of one language; English where the language is not shipped."""
    code = lang if lang in LANGUAGES else DEFAULT
    return json.loads((HERE / f"{code}.json").read_text(encoding="utf-8"))


def say(table: dict[str, str], key: str, **values: object) -> str:
    """The words under `key` with their placeholders filled. A value is never read as a format itself."""
    text = table[key]
    for name, value in values.items():
        text = text.replace("{" + name + "}", str(value))
    return text


def pick_language(accept_language: str | None = None, lang: str | None = None) -> str:
    """The shipped language that fits best: `?lang=` first, then the browser's list by its weights, then English."""
    wanted = [lang] if lang else []
    wanted += [tag for tag, _ in sorted(_weighted(accept_language or ""), key=lambda pair: -pair[1])]
    for tag in wanted:
        if found := _match(tag):
            return found
    return DEFAULT


def _weighted(header: str) -> list[tuple[str, float]]:
    pairs = []
    for part in header[:500].split(","):
        tag, _, rest = part.strip().partition(";")
        try:
            weight = float(rest.strip().removeprefix("q=")) if rest else 1.0
        except ValueError:
            weight = 0.0
        if tag and weight > 0:
            pairs.append((tag, weight))
    return pairs


def _match(tag: str) -> str | None:
    """`es-MX` is Spanish; every Chinese tag but the traditional ones is Simplified Chinese."""
    low = tag.strip().lower().replace("_", "-")
    if low.startswith("zh"):
        return None if any(part in low.split("-") for part in ("tw", "hk", "mo", "hant")) else "zh-CN"
    base = low.split("-")[0]
    return base if base in LANGUAGES else None
