"""CSV that a spreadsheet can open without running anything: RFC 4180, UTF-8 without a mark, formula-safe cells.

Never writes a cell that a spreadsheet would take for a formula, in any column separator it may guess.
"""

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Sequence

Cell = str | int | float | bool | None

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\Z")
_STARTS = frozenset("=+-@")
_BREAKS = ("\t", "\r", "\n")


def safe(text: str) -> str:
    """The text with an apostrophe before it where a spreadsheet would start a formula; a plain number stays as it is.

    Blanks and signs that cannot be seen before it do not help it, since some programs strip them first; nor do the
    full-width and small forms, which spreadsheets of East Asian locales read as the ASCII ones.
    """
    text = text.replace("\x00", "")
    first = next((c for c in text if unicodedata.category(c) not in ("Zs", "Zl", "Zp", "Cc", "Cf")), "")
    if text.startswith(_BREAKS) or unicodedata.normalize("NFKC", first)[:1] in _STARTS:
        return text if _NUMBER.match(text) else "'" + text
    return text


def to_csv(header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> bytes:
    """A table as bytes. Every text cell is quoted, so a separator other than the comma cannot cut a cell in two."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\r\n")
    writer.writerow([_cell(h) for h in header])
    for row in rows:
        writer.writerow([_cell(c) for c in row])
    # A lone surrogate, which JSON may carry, has no UTF-8 form.
    return out.getvalue().encode("utf-8", "replace")


def _cell(value: Cell) -> str | int | float:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return safe(value) if isinstance(value, str) else value
