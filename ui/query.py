"""What a page reads of its address: the names it declares, so many values of each, so long, and nothing else.

Links are built from what was read, so that no address makes a page that repeats it. Pure.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl, urlencode

LONGEST = 12_000
"""Bytes of the address that what was read makes again; every filter of the full set together is shorter."""
PAIRS = 2000
"""Pairs looked at; an address of 32 kB can hold 16,000, and no page reads a hundredth of that."""


@dataclass(frozen=True)
class Name:
    """One parameter.

    Attributes:
        most: values read of it; further ones are dropped. longest: characters of a value; a longer one is dropped.
        allowed: the values there are, where they are known.
    """

    most: int = 1
    longest: int = 200
    allowed: frozenset[str] | None = None

    def reads(self, value: str) -> bool:
        """Whether this could be a value."""
        return len(value) <= self.longest and (self.allowed is None or value in self.allowed)


def one_of(*values: str) -> Name:
    """A parameter with one of these values."""
    return Name(allowed=frozenset(values))


NUMBER = Name(longest=9)
LANG = Name(longest=35)
Names = Mapping[str, Name]


class Query:
    """The parameters that were read, by name. Of a name with one value the first that can be one counts.

    Args:
        names: what is read; `lang` is read everywhere.
    """

    def __init__(self, names: Names, given: Iterable[tuple[str, str]] = ()) -> None:
        self.names = {"lang": LANG, **names}
        self._read: dict[str, list[str]] = {}
        left = LONGEST
        for name, value in given:
            rule = self.names.get(name)
            if rule is None or len(value) > rule.longest:
                continue
            values = self._read.setdefault(name, [])
            size = len(urlencode([(name, value)])) + 1
            if len(values) < rule.most and size <= left and rule.reads(value) and value not in values:
                values.append(value)
                left -= size

    @classmethod
    def of(cls, query_string: bytes, names: Names) -> "Query":
        """From the query of an address, as it came."""
        cut = b"&".join(query_string.split(b"&", PAIRS)[:PAIRS])
        return cls(names, parse_qsl(cut.decode("latin-1"), keep_blank_values=True))

    def get(self, name: str, default: str = "") -> str:
        """The value of a name, or the default where there is none that could be one."""
        return next(iter(self._read.get(name, ())), default)

    def getlist(self, name: str) -> list[str]:
        """All values of a name, in their order."""
        return list(self._read.get(name, ()))

    def __contains__(self, name: str) -> bool:
        return bool(self._read.get(name))

    @cached_property
    def items(self) -> tuple[tuple[str, str], ...]:
        """Every pair that was read, in the order in which the page declares the names."""
        return tuple((name, value) for name in self.names for value in self._read.get(name, ()))

    def without(self, *names: str) -> list[tuple[str, str]]:
        """The pairs of all other names."""
        return [(name, value) for name, value in self.items if name not in names]

    def narrowed(self, allowed: Mapping[str, Iterable[str]]) -> "Query":
        """The same, with only those values of some names that there are."""
        known = {name: frozenset(values) for name, values in allowed.items()}
        return Query(self.names, [(n, v) for n, v in self.items if n not in known or v in known[n]])

    def link(self, path: str = "", **changes: Any) -> str:
        """An address with these parameters, some of them set anew, or removed by None."""
        pairs = self.without(*changes)
        for name, value in changes.items():
            values = value if isinstance(value, list | tuple) else [value]
            pairs += [(name, str(v)) for v in values if v is not None and v != ""]
        return f"{path}?{urlencode(pairs)}" if pairs or not path else path


HOME: Names = {
    "source": Name(longest=20),
    **{name: Name(most=200, longest=300) for name in ("competency", "subcompetency", "context")},
    "task_ids": Name(longest=8000),
    "run": Name(longest=64),
    "connected": Name(longest=40),
    "signin": Name(longest=40),
}
"""What the page with the form reads."""


def home_query(request: Any) -> Query:
    """The parameters of the page with the form, from one of Gradio's requests."""
    given = getattr(request, "query_params", None) or {}
    return Query(HOME, given.multi_items() if hasattr(given, "multi_items") else dict(given).items())
