"""From the bytes of a tasks file to rows of text, each with the line it starts on. Never interprets a cell.

Files that a spreadsheet saved in another way (semicolons, UTF-16, Windows-1252) are still split into rows, so
that every other problem can be named in the same pass, but they carry an error: a run refuses them.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.core.text import REPLACEMENT, safe_text
from pipeline.data.problem import Report, character, quoted
from pipeline.errors import UserError

LINK_COLUMNS = tuple(f"task_resource_file_link_{n}" for n in range(1, 4))
SUBCOMPETENCY_COLUMNS = tuple(f"subcompetency_{n}" for n in range(1, 7))
CRITERIA_COLUMNS = ("task_criteria", "consensus_criteria", "universal_criteria")
KNOWN_COLUMNS = (
    "task_key",
    "version_at_time_of_draft",
    "competency",
    "task",
    "task_system_prompt",
    "task_variables",
    *LINK_COLUMNS,
    *SUBCOMPETENCY_COLUMNS,
    *CRITERIA_COLUMNS,
    "reference_answer",
    "canary_string",
)
CSV_EXPECTED = "A CSV file with commas between cells, saved as UTF-8."
DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "pipes"}
INVISIBLE = "\ufeff\u200b\u200c\u200d\u2060"
MAX_CELL_CHARS = 16 * 1024 * 1024
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_ESCAPED_BYTE = re.compile("[\udc80-\udcff]")
_BROKEN_TEXT = re.compile("\ufffd|â€[™œ\u009d\u0153\u2122“”]|Ã[©¨¼¶¤±]")
_SIGNATURES = {
    b"PK\x03\x04": "a spreadsheet or ZIP archive",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
    b"\x1f\x8b": "a gzip archive",
    b"%PDF": "a PDF document",
    b"PAR1": "a Parquet file",
    b"version https://git-lfs": "a Git LFS pointer, not the file itself",
    b"<!doctype": "a web page",
    b"<html": "a web page",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One row: `line` is where it starts in the file, `cells` maps canonical column names to text as written."""

    line: int
    cells: dict[str, str]


@dataclass
class Table:
    """A tasks file as text. `extra` are the columns that the benchmark's form does not know, in file order."""

    file: str
    header_line: int = 1
    columns: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    rows: list[Row] = field(default_factory=list)
    raw: bytes = b""


def read_table(path: Path, report: Report) -> Table:
    """Read a tasks file; what is wrong with its form goes into `report`.

    Raises:
        UserError: the file cannot be opened, is empty, is another kind of file or has no known column.
    """
    raw = _bytes(path)
    text = _decode(raw, path.name, report)
    delimiter, skipped = _delimiter(text, report)
    records = _records(text, delimiter, report)[skipped:]
    if not records:
        raise UserError(f"The tasks file {path.name} is empty.", CSV_EXPECTED, "Choose another file.")
    header_line, header = records[0]
    columns = _columns(header, header_line, report)
    if not set(columns) & set(KNOWN_COLUMNS):
        raise UserError(
            f"The first row of {path.name} names none of the benchmark's columns: {quoted(','.join(header))}.",
            "A header with task_key, competency, task and task_criteria.",
            "Choose the tasks file of the dataset, or add the header.",
        )
    table = Table(safe_text(path.name), header_line, tuple(c for c in columns if c), raw=raw)
    table.extra = tuple(c for c in table.columns if c not in KNOWN_COLUMNS)
    table.rows = _rows(records[1:], columns, report)
    _name_bad_bytes(table, report)
    _name_control_characters(table, report)
    return table


def _bytes(path: Path) -> bytes:
    try:
        raw = path.read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UserError(
            f"The tasks file {path} cannot be read: {reason}.", CSV_EXPECTED, "Check the path and its permissions."
        ) from None
    if not raw.strip(b"\xef\xbb\xbf\xff\xfe\x00\r\n\t ,;"):
        raise UserError(f"The tasks file {path.name} is empty.", CSV_EXPECTED, "Choose another file.")
    start = raw[:64].lstrip().lower()
    for signature, kind in _SIGNATURES.items():
        if start.startswith(signature.lower()):
            raise UserError(f"{path.name} is {kind}.", CSV_EXPECTED, "Save or download it again as CSV.")
    return raw


def _decode(raw: bytes, name: str, report: Report) -> str:
    """Text of the file. Bytes that are not UTF-8 are kept as lone surrogates until their cell is known."""
    wide = _wide_encoding(raw)
    if wide:
        report.add(1, "", "The file is saved as UTF-16 (a spreadsheet's Unicode text).", "UTF-8, with or without BOM.")
        try:
            return raw.decode(wide).lstrip("\ufeff")
        except UnicodeDecodeError:
            raise UserError(
                f"{name} looks like UTF-16 but cannot be decoded.", CSV_EXPECTED, "Save it again as CSV UTF-8."
            ) from None
    if raw[:4096].count(0) > 4:
        raise UserError(f"{name} is a binary file.", CSV_EXPECTED, "Choose the tasks file of the dataset.")
    return raw.decode("utf-8-sig", errors="surrogateescape")


def _wide_encoding(raw: bytes) -> str:
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    head = raw[:200]
    if len(head) >= 8 and head[1::2].count(0) > len(head) // 4:
        return "utf-16-le"
    if len(head) >= 8 and head[0::2].count(0) > len(head) // 4:
        return "utf-16-be"
    return ""


def _delimiter(text: str, report: Report) -> tuple[str, int]:
    """The sign between cells, by how many known columns it yields; and how many records stand before the header."""
    first = text.lstrip("\r\n").splitlines()[0] if text.strip("\r\n") else ""
    sep_line = re.fullmatch(r'"?sep=(.)"?,*', first.strip(), re.IGNORECASE)
    if sep_line:
        report.add(1, "", "The first line is a spreadsheet's separator line (sep=).", "The header in the first line.")
        return sep_line[1], 1
    yields = {sign: _known(next(csv.reader([first], delimiter=sign), [])) for sign in DELIMITERS}
    best = max(DELIMITERS, key=lambda sign: yields[sign])
    if yields[best] <= yields[","]:
        return ",", 0
    report.add(
        1, "", f"Cells are separated by {DELIMITERS[best]} ({_shown(best)}), as a spreadsheet saves them.", CSV_EXPECTED
    )
    return best, 0


def _shown(sign: str) -> str:
    return "tab" if sign == "\t" else f"'{sign}'"


def _known(header: list[str]) -> int:
    return sum(canonical(cell) in KNOWN_COLUMNS for cell in header)


def canonical(name: str) -> str:
    """A column's name as the benchmark writes it: trimmed, lower-case, spaces and hyphens as underscores; other
    names are only trimmed and single-spaced."""
    plain = " ".join(name.strip().strip(INVISIBLE).split())
    folded = re.sub(r"[\s-]+", "_", plain.lower())
    return folded if folded in KNOWN_COLUMNS else plain


def _records(text: str, delimiter: str, report: Report) -> list[tuple[int, list[str]]]:
    """All non-empty records with the line each starts on."""
    # csv keeps its limit for the whole process; 128 KiB, the default, is less than one long cell may hold
    csv.field_size_limit(max(csv.field_size_limit(), MAX_CELL_CHARS))
    records: list[tuple[int, list[str]]] = []
    try:
        _read_into(records, text, delimiter, strict=True)
    except csv.Error as error:
        line = records[-1][0] if records else 1
        records.clear()
        if "field larger" in str(error):
            raise UserError(
                f"{report.file} has a cell of more than {MAX_CELL_CHARS:,} characters.",
                CSV_EXPECTED,
                "Look for a quotation mark that is never closed.",
            ) from None
        report.add(line, "", f"Quotation marks do not match ({error}).", 'Every " inside a quoted cell written twice.')
        _read_into(records, text, delimiter, strict=False)
    return [(line, cells) for line, cells in records if cells]


def _read_into(records: list[tuple[int, list[str]]], text: str, delimiter: str, strict: bool) -> None:
    """Append (line, cells) for each record; on a csv.Error the last entry is the line of the faulty record."""
    reader = csv.reader(_lines(text), delimiter=delimiter, strict=strict)
    while True:
        line = reader.line_num + 1
        records.append((line, []))
        try:
            cells = next(reader)
        except StopIteration:
            records.pop()
            return
        records[-1] = (line, cells)


def _lines(text: str) -> Iterator[str]:
    """The lines, ends included. A `StringIO` would hold the file once more, at four bytes a character."""
    return (found[0] for found in _LINE.finditer(text))


def _columns(header: list[str], line: int, report: Report) -> list[str]:
    """Canonical names by position; "" for a column without a name and for the repeat of a name."""
    names: list[str] = []
    seen: Counter[str] = Counter()
    for position, cell in enumerate(header, 1):
        cell = safe_text(_ESCAPED_BYTE.sub(_as_windows, cell))
        name = canonical(cell)
        seen[name] += 1
        if name and seen[name] > 1:
            known = name in KNOWN_COLUMNS
            report.add(
                line,
                name,
                f"The column {name} stands twice, the second time as column {position}.",
                "Each column once.",
                level="error" if known else "warning",
            )
        elif name in KNOWN_COLUMNS and cell != name:
            report.add(line, name, f"The column name is written {quoted(cell)}.", name, level="warning")
        names.append(name if seen[name] == 1 else "")
    return names


def _rows(records: list[tuple[int, list[str]]], columns: list[str], report: Report) -> list[Row]:
    rows = []
    width = len(columns)
    usual = Counter(len(cells) for _, cells in records).most_common(1)[0][0] if records else width
    for line, cells in records:
        if not any(cell.strip() for cell in cells):
            report.add(line, "", "The row has no text in any cell; it is left out.", "A task.", level="warning")
            continue
        surplus = [cell for cell in cells[width:] if cell.strip()]
        if len(cells) < width or surplus:
            report.add(
                line,
                "",
                f"The row has {len(cells)} cells; the header has {width}.",
                "One cell for each column; a cell with a comma, a quotation mark or a line break in quotes.",
            )
            continue
        if len(cells) > width and len(cells) != usual:
            found = f"The row has {len(cells)} cells, the last ones empty; other rows have {usual}, the header has {width}."
            expected = "As many as the other rows: the last ones are too many, or a comma without quotes has shifted the row."
            report.add(line, "", found, expected, level="warning")
        rows.append(Row(line, {name: cell for name, cell in zip(columns, cells, strict=False) if name}))
    return rows


def _name_bad_bytes(table: Table, report: Report) -> None:
    """Name the first cell that is not UTF-8, and the first that was damaged by an earlier wrong reading."""
    bad: list[tuple[int, str, str]] = []
    broken: list[tuple[int, str, str]] = []
    for row in table.rows:
        for column, cell in row.cells.items():
            if cell.isascii():
                continue
            if hit := _ESCAPED_BYTE.search(cell):
                bad.append((row.line, column, hit[0]))
                row.cells[column] = _ESCAPED_BYTE.sub(_as_windows, cell)
            elif hit := _BROKEN_TEXT.search(cell):
                broken.append((row.line, column, hit[0]))
    if bad:
        line, column, mark = bad[0]
        byte = ord(mark) - 0xDC00
        char = bytes([byte]).decode("cp1252", errors="replace")
        report.add(
            line,
            column,
            f"Byte 0x{byte:02X} is not UTF-8; in Windows-1252 (cp1252) it would be {char!r}{_more(bad)}.",
            "The file saved as CSV UTF-8.",
        )
    if broken:
        line, column, mark = broken[0]
        what = character(mark) if len(mark) == 1 else f"the letters {mark!r}"
        report.add(
            line,
            column,
            f"Holds {what}, which is left when text is read in the wrong encoding{_more(broken)}.",
            "The original characters.",
            level="warning",
        )


def _name_control_characters(table: Table, report: Report) -> None:
    """Name every cell with a character that no text has; rare line breaks are read as line breaks, with a warning."""
    for row in table.rows:
        for column, cell in row.cells.items():
            if (safe := safe_text(cell)) is cell:
                continue
            odd = [c for c in dict.fromkeys(cell) if safe_text(c) == REPLACEMENT and c != REPLACEMENT]
            if odd:
                more = f" and {len(odd) - 1} more" if len(odd) > 1 else ""
                report.add(row.line, column, f"The cell holds the control character {character(odd[0])}{more}.", "Text.")
            else:
                char = next(c for c in cell if safe_text(c) != c)
                read_as = "a blank" if safe_text(char) == " " else "a line break"
                found = f"The cell holds {character(char)}; it is read as {read_as}."
                report.add(row.line, column, found, "Text with plain blanks and line breaks.", level="warning")
            row.cells[column] = safe


def _more(cells: list[tuple[int, str, str]]) -> str:
    return f" (and {len(cells) - 1} further cells)" if len(cells) > 1 else ""


def _as_windows(match: re.Match[str]) -> str:
    return bytes([ord(match[0]) - 0xDC00]).decode("cp1252", errors="replace")
