"""What looks like a key, wherever it stands. Never needs to know the key."""

import re

SHAPES = re.compile(
    r"\b(?:sk|pk|rk|gsk|hf|xai|key|fw|tgp|r8)[-_][A-Za-z0-9_\-*]{6,}|\bAIza[\w-]{10,}|\b(?:AKIA|ASIA)[A-Z0-9]{12,}"
    r"|(?i:bearer)\s+[^\s\"',;}\]]+"
)


_RANDOM = re.compile(r"(?=[A-Za-z]*\d)[A-Za-z0-9]{8,}")


def looks_like_key(text: str) -> bool:
    """Whether the text holds a key in the shape of a known provider's; names such as "hf-inference" are none."""
    return any(_RANDOM.search(found[0]) for found in SHAPES.finditer(text))
