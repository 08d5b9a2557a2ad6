"""How many tokens a text can have at the very most, fast enough to be asked before every call. Never an estimate.

Digits, signs, stray white space and every byte beyond ASCII count as one token each, which no byte-level tokenizer
passes. Letters count as two a token: running text has three to five, formulas and code about two between their signs.
"""

from collections.abc import Iterable
from typing import Any

OVERHEAD = 256
"""Tokens of roles, separators and a vendor's own preamble, counted for every message."""

UNBOUNDED_OUTPUT = 1024
"""Tokens beyond the reasoning budget that one judge call may produce where the run has a cap and no limit was set."""

_ONLY_LETTERS = bytes(97 if c < 128 and chr(c).isalpha() else 32 for c in range(256))
_GAPS = bytes(97 if c < 128 and chr(c).isalpha() else 32 if c == 32 else 46 for c in range(256))
_LETTERS = bytes(c for c in range(128) if chr(c).isalpha())


def upper_bound_text(*texts: str) -> int:
    """Most tokens that these texts together can have as one message, in any of the tokenizers we know."""
    return sum(_most(text) for text in texts) + OVERHEAD


def upper_bound(messages: Iterable[Any]) -> int:
    """Most input tokens of a request: a list of inspect messages, or of plain texts."""
    return sum(upper_bound_text(m if isinstance(m, str) else m.text) for m in messages)


def most_output(max_tokens: int | None, reasoning_tokens: int | None) -> int:
    """Most output tokens that one call can be billed for under a cap: some vendors count reasoning beside the limit."""
    reasoning = reasoning_tokens or 0
    return (max_tokens or reasoning + UNBOUNDED_OUTPUT) + reasoning


def _most(text: str) -> int:
    raw = text.encode("utf-8", "surrogatepass")
    words = sum((len(word) + 1) // 2 for word in raw.translate(_ONLY_LETTERS).split())
    # A single space before a word is part of that word's token.
    return words + len(raw.translate(None, _LETTERS)) - raw.translate(_GAPS).count(b" a")
