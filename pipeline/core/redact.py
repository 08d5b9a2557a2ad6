"""Takes secrets out of a text: every run of 8 or more characters of one, in each form that it may come back in.

The one redactor, for all that is written, printed, kept or shown. Never needs more than one pass over a text without
a secret: 4 characters at every fourth place are looked up, so that no run of 8 is passed by.

A run that stands in ordinary text by chance stays: a whole word of letters that is a whole word of the key too
("password" for the key "my-password-is-long"), digits inside a longer number, and stand-ins for a key ("none").
"""

import base64
import html
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any
from urllib.parse import quote

MARK = "[key]"
RUN = 8
"""Characters of a secret in a row that are a secret."""
SHORTEST = 6
"""Characters: below, a secret cannot be told from a word; up to `RUN`, it is taken out where it stands alone."""
STAND_INS = frozenset({"no-key", "not-needed", "lm-studio", "ollama", "sk-no-key-required", "placeholder", "unused"})
"""Sent in place of a key to servers that ask for none."""
SHAPES = re.compile(
    r"\b(?:sk|pk|rk|gsk|hf|xai|key|fw|tgp|r8)[-_][A-Za-z0-9_\-*]{6,}|\bAIza[\w-]{10,}|\b(?:AKIA|ASIA)[A-Z0-9]{12,}"
    r"|(?i:bearer)\s+(?!\[key|(?:token|auth\w*|key|is|or|and|not|scheme|in|was)\b)[^\s\"',;}\]]+|(?<=://)[^\s/@:\"']*:[^\s/@\"']+(?=@)"
    r"|(?i:(?<=[?&])(?:(?:api|access|auth|x-goog)?[-_]?key|\w*token|x-amz-(?:signature|credential)|sig|signature|secret|password|code)=)"
    r"[^\s&#\"'\[\]]+"
)
_MARKS = ("sk", "pk", "rk", "hf", "xai", "key", "fw", "tgp", "r8")
_SIGNS = (*(m + j for m in _MARKS for j in "-_"), "aiza", "akia", "asia", "bearer", "@",
          *(f"{m}=" for m in ("key", "token", "sig", "signature", "credential", "secret", "password", "code")))
"""One of these stands, in small letters, in all that `SHAPES` finds; to look for them first is ten times as fast."""
_RANDOM = re.compile(r"(?=[A-Za-z]*\d)[A-Za-z0-9]{8,}")
_NOT_ALNUM = bytes(b for b in range(256) if not chr(b).isascii() or not chr(b).isalnum())
_ODD_PAIR = re.compile(
    "q[^u]|[jv][^aeiouy]|x[^aceiopty]|z[^aeiouyzl]|b[cdfghkmnpqvwxz]|c[bdfgjmnpvwxz]|dx|f[bcdghjkmnpqvwxz]|g[bcdfjkpqtvwxz]"
    "|h[bcdfghjkpqvxz]|k[bcdgjkpqtvxz]|l[xz]|m[cdghjkqrtvxz]|p[bcdfgjkqvxz]|r[xz]|s[jxz]|t[bdgjkpqvx]|w[bcdfgjkmpqtvwxz]"
    "|[^aeiouy]{5}")
_COMMON = frozenset({"password", "passphrase", "anthropic", "openrouter", "fireworks", "together", "deepseek", "huggingface"})
_MOST_PLACES = 6
LONG = 256
"""Characters: of longer secrets, twice as much of their base64 must stand in a row; they would else be found by chance."""


def looks_like_key(text: str) -> bool:
    """Whether the text holds a key in the shape of a known provider's; names such as "hf-inference" are none."""
    return any(_RANDOM.search(found[0]) for found in SHAPES.finditer(text))


@dataclass(frozen=True)
class _Form:
    """One way a secret may be written: as given, and in lower case as it is compared.

    Attributes:
        least: characters in a row that count. words: whether such a run may be words that stand there by chance.
    """

    text: str
    low: bytes
    least: int
    words: bool


class _Forms:
    """The forms of all secrets, found by runs of `size` characters at every `size`th place of a text.

    Args:
        size: 4 or 8; no form may count a run that is shorter than twice the size less one.
    """

    def __init__(self, forms: Iterable[_Form], size: int = 4) -> None:
        self.size, self.kind = size, {4: "I", 8: "Q"}[size]
        self.grams: dict[int, list[tuple[_Form, int]]] = {}
        for form in forms:
            for at in range(len(form.low) - size + 1):
                places = self.grams.setdefault(int.from_bytes(form.low[at : at + size], sys.byteorder), [])
                if len(places) < _MOST_PLACES:
                    places.append((form, at))

    def runs(self, raw: bytes) -> Iterator[tuple[int, int, _Form, int]]:
        """Start, end, form and place in the form of every run that is long enough."""
        grams, size, done = self.grams, self.size, 0
        if not grams:
            return
        words = memoryview(raw)[: len(raw) - len(raw) % size].cast(self.kind)  # type: ignore[call-overload]
        for word in [n for n, gram in enumerate(words) if gram in grams]:
            at = word * size
            if at < done:
                continue
            for form, place in grams[words[word]]:
                start, end, first = _widened(raw, at, form.low, place, size)
                if end - start >= form.least:
                    done = max(done, end - size + 1)
                    yield start, end, form, first


def _widened(raw: bytes, at: int, low: bytes, place: int, size: int) -> tuple[int, int, int]:
    back = 0
    while back < at and back < place and raw[at - back - 1] == low[place - back - 1]:
        back += 1
    on, most = size, min(len(raw) - at, len(low) - place)
    while on < most and raw[at + on] == low[place + on]:
        on += 1
    return at - back, at + on, place - back


class Redactor:
    """Takes secrets, and on a call also whatever has the shape of a key, out of a text."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = sorted({s for s in secrets if len(s) >= SHORTEST and s.lower() not in STAND_INS and not s.isspace()})
        long = [s for s in known if len(s) >= RUN]
        coded = [*_coded(long)]
        self._whole = _Forms(_written(long))
        self._squeezed = (_Forms(f for f in coded if f.least < 15), _Forms((f for f in coded if f.least >= 15), size=8))
        short = [re.escape(s) for s in known if len(s) < RUN and not s.isalpha()]
        self._short = re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(short)})(?![A-Za-z0-9])") if short else None
        self.empty = not known

    def __call__(self, text: str) -> str:
        text = self.secrets(text)
        low = text.lower()
        return SHAPES.sub(MARK, text) if any(sign in low for sign in _SIGNS) else text

    def secrets(self, text: str) -> str:
        """The text without the secrets themselves; what only looks like a key stays."""
        if self.empty or len(text) < SHORTEST:
            return text
        if self._short is not None:
            text = self._short.sub(MARK, text)
        spans = sorted(self._spans(text))
        if not spans:
            return text
        parts: list[str] = []
        done = 0
        for start, end in spans:
            if start > done or not parts:
                parts += [text[done:start], MARK]
            done = max(done, end)
        return "".join(parts) + text[done:]

    def value(self, value: Any, shapes: bool = False) -> Any:
        """A value of JSON's kinds without secrets in any of its texts, names of fields included; the same value where
        there are none.

        Args:
            shapes: whether what only looks like a key is taken out too.
        """
        take_out = self if shapes else self.secrets
        if isinstance(value, str):
            return take_out(value)
        if isinstance(value, Mapping):
            made = {take_out(k) if isinstance(k, str) else k: self.value(v, shapes) for k, v in value.items()}
            return made if made != value else value
        if isinstance(value, list | tuple):
            rows = [self.value(v, shapes) for v in value]
            return type(value)(rows) if rows != list(value) else value
        return value

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        raw = text.encode("ascii", "replace").lower()  # one byte a character
        for start, end, form, first in self._whole.runs(raw):
            if not (form.words and _by_chance(raw, start, end, form.text, first)):
                yield start, end
        squeezed, places = raw.translate(None, _NOT_ALNUM), None
        for start, end, form, first in chain.from_iterable(forms.runs(squeezed) for forms in self._squeezed):
            if form.words and _few_words(form.text[first : first + end - start]):
                continue
            places = places or [i for i, byte in enumerate(raw) if byte not in _NOT_ALNUM]
            last = places[end - 1] + 1
            while text[last : last + 1] == "=":  # what fills base64 up
                last += 1
            yield places[start], last


def _written(secrets: list[str]) -> Iterator[_Form]:
    """The secrets as they are, and with their signs in the codes of addresses, HTML and JSON."""
    for secret in secrets:
        coded = "".join(c if c.isalnum() or c in "-_.~ " else f"\\u{ord(c):04x}" for c in secret)
        html_hex = "".join(c if c.isalnum() or c in "-_.~ " else f"&#x{ord(c):x};" for c in secret)
        html_dec = "".join(c if c.isalnum() or c in "-_.~ " else f"&#{ord(c)};" for c in secret)
        for text in dict.fromkeys((secret, quote(secret, safe=""), html.escape(secret), secret.replace("/", "\\/"), coded,
                                   html_hex, html_dec)):
            yield _Form(text, _low(text), RUN, words=True)


def _coded(secrets: list[str]) -> Iterator[_Form]:
    """What is compared by letters and digits alone: split secrets, turned round, base64, hexadecimal, character codes."""
    for secret in secrets:
        raw, plain = secret.encode(), _squeeze(secret)
        for text in dict.fromkeys((plain, plain[::-1], _squeeze(quote(secret, safe="")))):
            yield _Form(text, _low(text), RUN, words=True)
        for shift in range(3):
            # Its first signs depend on what stood before the secret in the text that was encoded.
            text = _squeeze(base64.b64encode(b"\0" * shift + raw).decode()[(0, 2, 3)[shift] :])
            yield _Form(text, _low(text), RUN + 1 if len(raw) <= LONG else 2 * RUN, words=False)
        for code, least in (("%02x", 16), ("u%04x", 38), ("x%02x", 22), ("%d", 16)):
            text = "".join(code % b for b in raw)
            yield _Form(text, text.encode(), least, words=False)


def _squeeze(text: str) -> str:
    return "".join(c for c in text if c.isascii() and c.isalnum())


def _low(text: str) -> bytes:
    return text.encode("ascii", "replace").lower()


def _by_chance(raw: bytes, start: int, end: int, secret: str, first: int) -> bool:
    """Whether a run of a secret may stand in a text by chance: one repeated sign, digits of another number, a word."""
    last = first + end - start
    run, whole = secret[first:last], end - start == len(secret)
    if len(set(run.lower())) < 3 and not whole:
        return True
    around = (raw[start - 1 : start] + raw[end : end + 1] if start else raw[end : end + 1]).decode("ascii")
    beside = (secret[first - 1] if first else "") + secret[last : last + 1]
    if run.isdigit():
        return any(c.isdigit() for c in around) and not any(c.isdigit() for c in beside)
    if not run.isalpha() or any(c.isalpha() for c in around):
        return False
    alone = run.lower() in _COMMON or not any(c.isalpha() for c in beside)
    return alone and _is_word(run.lower()) and (len(run) < RUN + 2 or not whole)


def _is_word(low: str) -> bool:
    return not _ODD_PAIR.search(low) and 0.2 < sum(c in "aeiouy" for c in low) / len(low) < 0.7


def _few_words(run: str) -> bool:
    """Whether letters and digits that only signs and blanks keep apart may be a few words and numbers."""
    parts = re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", run)
    return len(parts) <= 3 + len(run) // 12 and all(p.isdigit() or len(p) > 2 and _is_word(p.lower()) for p in parts)
