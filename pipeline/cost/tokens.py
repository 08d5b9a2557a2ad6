"""Token counts without a tokenizer: pieces of text times a factor of the model's family. An estimate, never a report.

Reports use the provider's own counts only. Calibrated on English prose, test items, judge prompts and LaTeX.
"""

import re
from functools import lru_cache
from typing import NamedTuple

ERROR = 0.15
"""Stated error of an estimate for English text, as a share of the true count; nothing is stated for other languages."""
UNCALIBRATED = (0.4, 2.5)
"""True count over estimate, least and most, as seen in other languages and scripts."""

FAMILIES: dict[str, float] = {
    "openai": 1.04, "llama": 1.04, "deepseek": 1.05, "qwen": 1.05, "mistral": 1.07, "gemma": 1.07, "gemini": 1.07,
    "smollm": 1.10, "claude<=4.6": 1.15, "claude>=4.7": 1.55, "unknown": 1.15,
}
"""Tokens per piece by tokenizer family."""

_NAMES: tuple[tuple[str, str], ...] = (
    ("smollm", "smollm"), ("distill-llama", "llama"), ("distill-qwen", "qwen"), ("gemma", "gemma"), ("gemini", "gemini"),
    (r"gpt|chatgpt|codex|davinci|(?:^|[/.])o[1-9](?:$|[-:@])", "openai"), ("deepseek", "deepseek"), (r"qwen|qwq|qvq", "qwen"),
    (r"mistral|mixtral|magistral|ministral|codestral|devstral|pixtral|voxtral", "mistral"), ("llama", "llama"),
)
_FAMILY_NAMES = tuple((re.compile(pattern), name) for pattern, name in _NAMES)
# `claude-sonnet-4-6`, `claude-sonnet-4.6`, `claude-3-5-haiku`, `claude-sonnet-4-20250514` (a date is no minor version).
_CLAUDE = re.compile(r"claude-(?:[a-z]+-)?(\d{1,2})(?:[.-](\d{1,2})(?!\d))?")

_PIECE = re.compile(r"[^\W\d_]+|\d|[^\w\s]|_|\n+")
_LETTERS = bytes(c if chr(c).isalpha() else 32 for c in range(128)) + b" " * 128
_NEWLINES = bytes(120 if c == 10 else 32 for c in range(256))
_SPACES = b" \t\n\r\f\v\x1c\x1d\x1e\x1f"
_SIGNS_AWAY = bytes(c for c in range(128) if chr(c).isalnum()) + _SPACES
_DIGITS_AWAY = bytes(c for c in range(256) if not 48 <= c <= 57)
_TYPOGRAPHY = str.maketrans(dict.fromkeys("‘’“”„‚«»‹›–—―‐‑…•·→←×÷±°§†‡£€©®™≤≥≠", "'") | dict.fromkeys("\u00a0\u2009\u202f", " "))
_ENGLISH = frozenset(b"the and of to is that with for it this are you or not from your their be have which".split())
_SHORT_TEXT = 20
_ENGLISH_SHARE = 0.06


class Pieces(NamedTuple):
    """Pieces of a text, and whether it is English, for which the estimate is calibrated."""

    number: float
    english: bool


def family(model: str) -> str:
    """The tokenizer family of a model by its name, "unknown" where the name tells none. A key of `FAMILIES`."""
    name = model.lower()
    if "claude" in name:
        found = _CLAUDE.search(name)
        version = (int(found[1]), int(found[2] or 0)) if found else (99, 0)
        return "claude<=4.6" if version <= (4, 6) else "claude>=4.7"
    return next((label for pattern, label in _FAMILY_NAMES if pattern.search(name)), "unknown")


def estimate_tokens(text: str, model: str) -> int:
    """Estimated tokens of a text for a model, `ERROR` either way for English; 0 for an empty text."""
    return round(pieces(text).number * FAMILIES[family(model)])


def calibrated(text: str) -> bool:
    """Whether the stated error holds: the text reads as English."""
    return pieces(text).english


def pieces(text: str) -> Pieces:
    """The pieces of a text: a word is one and a seventh more for each letter beyond nine; signs and digits count less."""
    plain = text if text.isascii() else text.translate(_TYPOGRAPHY)
    if plain.isascii():
        return _ascii_pieces(plain.encode())
    words = re.findall(r"[^\W\d_]+", plain)
    latin = sum(len(w) for w in words if w.isascii())
    mostly = latin >= 0.97 * sum(map(len, words))
    return Pieces(slow_pieces(text), mostly and _reads_english([w.encode() for w in words if w.isascii()]))


def _ascii_pieces(raw: bytes) -> Pieces:
    """The same count as `slow_pieces`, by C-speed passes over the bytes."""
    words = raw.translate(_LETTERS).split()
    long_words = sum(len(w) - 9 for w in words if len(w) > 9)
    digits = len(raw.translate(None, _DIGITS_AWAY))
    signs = len(raw.translate(None, _SIGNS_AWAY))
    lines = len(raw.translate(_NEWLINES).split())
    return Pieces(len(words) + long_words / 7 + 0.6 * digits + 0.9 * signs + 0.5 * lines, _reads_english(words))


def _reads_english(words: list[bytes]) -> bool:
    """Whether enough of the words are English function words; a text of few words is judged by its letters alone."""
    if len(words) < _SHORT_TEXT:
        return True
    head = words[:400]
    return sum(w.lower() in _ENGLISH for w in head) >= _ENGLISH_SHARE * len(head)


def slow_pieces(text: str) -> float:
    """The rule itself, piece by piece, for any script."""
    return sum(_weight(m.group()) for m in _PIECE.finditer(text))


def _weight(piece: str) -> float:
    first, length = piece[0], len(piece)
    if first.isalpha():
        if piece.isascii():
            return 1 + max(0, length - 9) / 7
        if "\u3040" <= first <= "\u9fff" or "\uac00" <= first <= "\ud7a3":
            return 0.75 * length
        return max(1.0, length / (4.2 if first < "\u0250" else 2.2))
    if first.isdigit():
        return 0.6
    return 0.5 if first == "\n" else 0.9


@lru_cache(maxsize=1024)
def factor(model: str) -> float:
    """Tokens per piece for a model."""
    return FAMILIES[family(model)]
