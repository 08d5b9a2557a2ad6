"""What a pasted key may look like, for page and command line alike: trimmed, or refused with what to take out.

Never sends anything, and never puts any part of a key into a message.
"""

import re
import unicodedata

from pipeline.errors import UserError

LONGEST = 8192
"""Characters; session tokens of AWS run to some two thousand."""

DEEPEST = 10
"""Wrappings that are taken off one after the other to tell what they are."""

_UNSEEN = "\u115f\u1160\u3164\u2800\ufe0f"
_QUOTES = "\"'`\u00b4\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\u2032\u2033\u2039\u203a\u00ab\u00bb\uff02\uff07\u300c\u300d"
_NAMED = r"(?:api|key|token|secret|auth|password|passwd|credential|bearer|access|session|region)"
_PREFIX = r"(?:sk|pk|rk|ant|or|proj|svcacct|admin|api\d*|v\d|gsk|hf|xai|key|fw|tgp|r8|csk|pplx|nvapi|org)"
_WORDS = r"(?:[a-z0-9]+[-_ ]){0,4}"


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE | re.DOTALL)


_IN_PLACE: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("A reference to a variable stands in its place.", _any(
        r"\$?\{\{", r"\$[{(]", r"\$env:\w+$", r"\$(?-i:[A-Z_][A-Z0-9_]*)$", r"\$\w*(?:key|token|secret)\w*$", r"%\w+%$", r"<%",
        r"arn:aws:secretsmanager", r"os\.(?:environ|getenv)", r"process\.env", r"import\.meta", r"getenv", r"env\[", r"env\.\w+$",
        r"secrets\.")),
    ("A JSON object stands in its place.", _any(r"\{.*:", r"\[.*[\"'{]")),
    ("A certificate or a private key file stands in its place.", _any(r"-----BEGIN")),
    ("A web address stands in its place.", _any(r".*://")),
    ("The name of a variable or field stands in its place.", _any(
        r"(?:export\s+)?(?-i:[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?:KEY|KEY_ID|TOKEN|SECRET|PASSWORD|CREDENTIALS))\s*[=:]?$",
        r"(?:x-)?(?:api|access|secret)[-_ ]?(?:api[-_ ]?)?(?:key|token)\s*[=:]?$", r"authorization\s*[=:]?$")),
    ("A placeholder, or a key with its characters covered, stands in its place.", _any(
        r".*(?:\*{3}|\.{3}|\u2026|[\u2022\u25cf\u2219\u00b7\u2217\u25aa\u2588]|(?-i:x{6}|X{6}))",
        rf"(?:(?:{_PREFIX}|x{{3,}})[-_])*x{{3,}}$", rf"(?:{_PREFIX}[-_])+$", r"(?:AKIA|ASIA|AIza)x{3,}$",
        rf".*(?:\b|_)your[-_ ]?{_WORDS}(?:api|key|token|secret|password)", r".*(?:key|token|secret)[-_ ]?(?:goes[-_ ]?)?here\b",
        rf".*(?:insert|enter|paste|put|add|replace)[-_ ]{_WORDS}(?:key|token|secret|me|this)\b",
        r".*\b(?:change|replace)[-_ ]?me\b",
        r"(?:<?placeholder>?|todo|fixme|undefined|null|nan|\[object object\]|n/?a)$",
        r"<[^<>]*(?:key|token|secret|here)[^<>]*>$")),
)
"""What stands where a key should be, each with its patterns, which begin at the first character."""
_AROUND: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("Take out the quotation marks.", _any(rf"^[{_QUOTES}]+", rf"[{_QUOTES}]+$")),
    ("Take out the command in front of it.", _any(
        r"^(?:export|setx?|env|let|const|var|curl|-H|--header)\s+", r"^\$env:", r"^--?[a-z][a-z-]*(?:\s+|=)")),
    ("Take out the name in front of it, with the sign behind the name.", _any(
        rf"^[?&]?[\w .\[\]-]{{0,60}}{_NAMED}[\w .\]-]{{0,40}}[{_QUOTES}]?\s*(?::=|=>|[=:])\s*(?=[^\s=])",
        r"^(?-i:[A-Z][A-Z0-9_]{0,60})\s*=\s*(?=[^\s=])")),
    ("Take out the word in front of it, such as Bearer.", _any(
        r"^bearer(?:[\s:=+_-]|%20|%3a)*", r"^(?:basic|token|apikey|api-key|key|digest|negotiate)(?:[\s:=]|%20|%3a)+")),
    ("Take out the brackets.", _any(r"^[<(\[{](?=.*[>)\]}]$)", r"(?<=.)[>)\]}]$")),
    ("Take out the punctuation in front of it or behind it.", _any(r"^[,;:=|>]+\s*", r"\s*(?<!=)[,;:.|!?]+$", r"\s*[,;|]+$")),
    ("It holds a sign in coded form, such as %2F or &quot; or a backslash.", _any(
        r"\\[nrtu\"'/\\].*", r"\\$", r"&(?:quot|amp|apos|nbsp|lt|gt|#\w+);.*", r"%[0-9a-f]{2}.*")),
)
"""What is no part of a key and stands around it or in it."""


def clean_key(text: str | None, what: str = "key") -> str:
    """The key without the blanks, line ends and invisible characters that copying leaves at its ends.

    Args:
        what: what is told of it in a refusal: "key", "session token", "variable OPENAI_API_KEY".

    Raises:
        UserError: nothing is left, something else stands in its place or around it, or a character inside cannot
            belong to a key. What to take out is named, the key never.
    """
    key = trimmed(text)
    if not key:
        raise UserError("Enter a key." if what == "key" else f"Enter the {what}.")
    if len(key) > LONGEST:
        raise UserError(f"The {what} is {len(key)} characters long.", f"At most {LONGEST}.", "Copy only the key.")
    rest, out = _peeled(key)
    if (instead := _in_place(rest)) is not None:
        raise UserError(f"The {what} cannot be used.", instead, "Paste the value itself. It was not sent.")
    if out:
        raise UserError(f"The {what} has something around it or in it that is no part of it.", " ".join(out), "It was not sent.")
    for place, char in enumerate(key, 1):
        if not "!" <= char <= "~" or char in _QUOTES:
            raise UserError(f"The {what} has {_kind(char)} at position {place} of {len(key)}.",
                            "A key holds letters, digits and signs of plain ASCII.", "It was not sent. Copy it again.")
    half = len(key) // 2
    if len(key) >= 32 and key[:half] == key[half:] and len(set(key)) > 2:
        raise UserError(f"The {what} was pasted twice.", "", "It was not sent. Copy it again.")
    return key


def trimmed(text: str | None) -> str:
    """The text without what cannot be seen at its two ends; "" where there is no text."""
    text = text if isinstance(text, str) else ""
    start, end = 0, len(text)
    while start < end and _invisible(text[start]):
        start += 1
    while end > start and _invisible(text[end - 1]):
        end -= 1
    return text[start:end]


def bare_key(text: str | None) -> str:
    """What is left of a key where all that stands around it is taken off; "" where something else stands in its place."""
    rest, _ = _peeled(trimmed(text))
    return "" if _in_place(rest) else rest


def _peeled(key: str) -> tuple[str, list[str]]:
    """What is left where all that stands around a key is taken off, and a sentence for each kind of it."""
    out: list[str] = []
    for _ in range(DEEPEST):
        found = next(((words, p) for words, p in _AROUND if p.search(key)), None)
        if found is None or _in_place(key) is not None:
            break
        words, pattern = found
        if words not in out:
            out.append(words)
        key = trimmed(pattern.sub("", key, count=1))
    return key, out


def _in_place(key: str) -> str | None:
    return next((words for words, pattern in _IN_PLACE if pattern.match(key)), None)


def _invisible(char: str) -> bool:
    return char.isspace() or unicodedata.category(char) in ("Cf", "Cc", "Zs", "Zl", "Zp") or char in _UNSEEN


def _kind(char: str) -> str:
    if char == " ":
        return "a blank"
    if char in "\r\n\u2028\u2029":
        return "a line break"
    if char == "\t":
        return "a tab"
    if char in _QUOTES:
        return "a quotation mark"
    if _invisible(char):
        name = unicodedata.name(char, "control character").lower()
        return f"an invisible character ({name}, U+{ord(char):04X})"
    return "a character outside plain ASCII"
