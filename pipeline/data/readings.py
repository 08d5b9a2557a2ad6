"""Whether one entry of a rubric could be read in two ways: a lost separator, a second weight, an id in the middle.

A wrong reading changes the denominator of a score without a trace, so each doubt is said with both readings.
"""

import re
import unicodedata
from typing import NamedTuple

from pipeline.data.problem import Level, character

_WEIGHT = re.compile(r"={2,}\s*([-+\u2212\u2013\u2014]?\s*\d+)|=\s+=\s*([-+\u2212\u2013]?\s*\d+)")
_ID = r"(?:[A-Za-z]{0,2}\d{1,3}[a-z]?(?:[-_.]?[A-Za-z]?\d{1,3}[a-z]?)?|[A-Za-z])"
_NEXT = re.compile(rf"(?:<[^<>]{{1,12}}>|&\w{{2,6}};|\b(?:and|or|then|plus)\b|[^\w<=])*({_ID})(?:[.):\]]|\s)\s*\S", re.I)
_NOTHING = re.compile(r"(?:<[^<>]{1,12}>|&\w{2,6};|[^\w<])*")
_INNER = re.compile(
    rf"(?:^|[^\w.])({_ID})[.)]\s+\S|"
    rf"(?:[;,/|\n\t*]|<[^<>]{{1,12}}>|\s{{2,}}|[^\w\s.,:;!?()'\"-])\s*({_ID})(?:[.):]\s*|\s+)[^\W\d_]"
)
_LIKE_PIPE = re.compile("[\u00a6\u01c0\u01c1\u2016\u2223\u2225\u2758\u275a\u2502\u2503\uff5c\uffe8]")
_SOON = 3 * 27  # steps of `_place`: three ids further on
_RUN = re.compile(r"\s{3,}|={4,}")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")


class Doubt(NamedTuple):
    """What could be read otherwise. An "error" where the other reading is as likely."""

    found: str
    level: Level


def doubt(name: str, body: str, weight: int) -> Doubt | None:
    """The doubt about an entry with this id, this text between id and last ==, and this weight; None where there is none."""
    plain = _RUN.sub(_shortened, _INVISIBLE.sub("", unicodedata.normalize("NFKC", body)))
    weights = list(_WEIGHT.finditer(plain))
    for found in weights:
        inner = "".join((found[1] or found[2]).split())
        rest = plain[found.end() :]
        if _NOTHING.fullmatch(rest):
            return Doubt(f"Two weights stand together: {inner} and {weight}; either could be meant.", "error")
        if second := _NEXT.match(rest):
            two = f"or as two, {_named(name)}with weight {inner} and {second[1]} with weight {weight}"
            one = f"it reads as one criterion with weight {weight}"
            return Doubt(f"A second id and weight stand in this entry: {one}, {two}.", "error")
    if weights:
        inner = "".join((weights[0][1] or weights[0][2]).split())
        two = f"it could also be two criteria with the weights {inner} and {weight}"
        return Doubt(f"A weight stands inside the description: read as one criterion with weight {weight}; {two}.", "warning")
    if other := _second_id(name, plain):
        two = f"it could also be two criteria, {_named(name)}without a weight and {other} with weight {weight}"
        return Doubt(f"The id {other} stands inside the description: read as one criterion with weight {weight}; {two}.", "warning")
    if like := _LIKE_PIPE.search(body):
        two = "it could also be two criteria, one on each side of it"
        one = f"read as one criterion with weight {weight}"
        return Doubt(f"{character(like[0])} stands in the description: {one}; {two}.", "warning")
    return None


def _shortened(run: re.Match[str]) -> str:
    """A run of blanks or equals signs, short: the patterns above would take the square of its length."""
    return "===" if run[0][0] == "=" else "\n" if "\n" in run[0] else "  "


def _named(name: str) -> str:
    return f"{name} " if len(name) <= 24 else "the first "


def _second_id(name: str, text: str) -> str:
    """An id inside the text that has the form of the entry's own and comes soon after it in order; other numbers are prose."""
    for found in _INNER.finditer(text):
        second = found[1] or found[2]
        if _shape(second) == _shape(name) and 0 < _place(second) - _place(name) <= _SOON:
            return second
    return ""


def _place(name: str) -> int:
    """Where an id stands in its order: by its last number and the letter after it, or by its one letter."""
    number = re.search(r"(\d+)([a-z]?)\D*$", name.lower())
    return int(number[1]) * 27 + (ord(number[2]) - 96 if number[2] else 0) if number else ord(name[-1].lower()) * 27 if name else 0


def _shape(name: str) -> str:
    return re.sub(r"[a-z]", "a", re.sub(r"\d", "0", name.lower()))
