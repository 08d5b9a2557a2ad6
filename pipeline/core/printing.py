"""What a command prints can be printed on any terminal and holds no terminal commands, whatever a file or model is called.

Everything is written as it is where the terminal can show it; what it cannot show stands as an escape such as `\\u4e2d`.
"""

import json
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, TextIO

# A line's own return and erasing (`\r`, `\x1b[K`) are what the progress line is made of.
_COMMANDS = re.compile("(?!\x1b\\[K)[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufffe\uffff]")


class Printer:
    """A text stream before another one; takes over all that the other one can.

    Args:
        take_out: takes secrets out of a text.
    """

    def __init__(self, stream: TextIO, take_out: Callable[[str], str] = str) -> None:
        self._stream, self._take_out = stream, take_out

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write what the stream can show."""
        self._stream.write(printable(self._take_out(text), getattr(self._stream, "encoding", None) or "utf-8"))
        return len(text)

    def writelines(self, lines: Sequence[str]) -> None:
        """Write each of them."""
        for line in lines:
            self.write(line)


def printable(text: str, encoding: str = "utf-8") -> str:
    """The text with terminal commands, and what the encoding cannot say, as escapes."""
    shown = _COMMANDS.sub(lambda c: c[0].encode("unicode_escape").decode(), text)
    return shown.encode(encoding, "backslashreplace").decode(encoding)


def print_json(data: Any, indent: int | None = None) -> None:
    """One JSON value on standard output."""
    print(json_text(data, indent))


def json_text(data: Any, indent: int | None = None) -> str:
    """The value as JSON for standard output; in ASCII where the terminal, or a name in it, allows nothing else."""
    text = json.dumps(data, ensure_ascii=False, indent=indent)
    plain = printable(text, getattr(sys.stdout, "encoding", None) or "utf-8") == text
    return text if plain else json.dumps(data, indent=indent)
