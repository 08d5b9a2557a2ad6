"""How many tokens a text can have at the very most, fast enough to be asked before every call. Never an estimate.

No tokenizer measured so far needs more than one token for two ASCII characters of running text (formulas come nearest,
1.7 to 2.3 characters a token), or more than one token for each further byte of other scripts.
"""

from collections.abc import Iterable
from typing import Any

OVERHEAD = 64
"""Tokens of roles, separators and provider-side wrapping."""


def upper_bound_text(*texts: str) -> int:
    """Most tokens that these texts together can have in any of the tokenizers we know."""
    return sum(_most(text) for text in texts) + OVERHEAD


def upper_bound(messages: Iterable[Any]) -> int:
    """Most input tokens of a list of inspect messages."""
    return upper_bound_text(*(m.text for m in messages))


def _most(text: str) -> int:
    return (len(text) * 5 + 7) // 8 + (len(text.encode("utf-8", "replace")) - len(text))
