"""One thing that is wrong in a tasks file or its resources, and how it is said. Never reads a file.

A problem quotes at most a few words of a cell, so that gated text does not travel in a message.
"""

import unicodedata
from dataclasses import dataclass, field
from typing import Literal

Level = Literal["error", "warning", "missing_resource"]
QUOTED_CHARS = 40
QUOTED_WORDS = 6
_CONTROLS = {"\x00": "NUL", "\x07": "BELL", "\x08": "BACKSPACE", "\x0b": "LINE TABULATION",
             "\x0c": "FORM FEED", "\x1b": "ESCAPE", "\x7f": "DELETE"}
"""Control characters have no name in Unicode's table."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding of the file check.

    Attributes:
        file: name of the file it is about, without its folder.
        row: line of the file on which the row starts, the first line being 1; 0 where no row applies.
        column: name of the column, or "".
        criterion: id of the criterion, or its first words, or "".
        level: "error" and "missing_resource" refuse a run (the latter may be accepted); "warning" does not.
    """

    file: str
    row: int
    column: str
    criterion: str
    found: str
    expected: str
    level: Level = "error"

    @property
    def line(self) -> str:
        """The problem on one line, for a terminal."""
        where = [self.file]
        where += [f"row {self.row}"] if self.row else []
        where += [f"column {self.column}"] if self.column else []
        where += [f"criterion {self.criterion}"] if self.criterion else []
        text = f"{', '.join(where)}: {self.level.replace('_', ' ')}: {self.found}"
        if self.expected:
            text += f" Expected: {self.expected}"
        return " ".join(text.split())


@dataclass
class Report:
    """Problems of one tasks file, gathered while it is read."""

    file: str
    problems: list[Problem] = field(default_factory=list)

    def add(
        self,
        row: int,
        column: str,
        found: str,
        expected: str,
        *,
        criterion: str = "",
        level: Level = "error",
        file: str = "",
    ) -> None:
        """Note one problem; `file` where it is about another file than the tasks file."""
        self.problems.append(Problem(file or self.file, row, column, criterion, found, expected, level))


def quoted(text: str) -> str:
    """The start of `text` in double quotes: at most six words and 40 characters, control characters made visible."""
    words = text.split()
    short = " ".join(words[:QUOTED_WORDS])
    cut = len(words) > QUOTED_WORDS or len(short) > QUOTED_CHARS
    visible = "".join(c if c.isprintable() else f"<U+{ord(c):04X}>" for c in short[:QUOTED_CHARS])
    return f'"{visible}…"' if cut else f'"{visible}"'


def character(char: str) -> str:
    """Code point and name of a character, for one that cannot be seen: `U+2212 MINUS SIGN`."""
    return f"U+{ord(char):04X} {unicodedata.name(char, _CONTROLS.get(char, 'unnamed character'))}"
