"""Rows whose cells stand in the wrong column although their number is right: a lost comma and one too many elsewhere.

Looks for text that can only belong to another column; never moves a cell.
"""

import re
from collections import Counter

from pipeline.data import facets, rubric
from pipeline.data.problem import Report, quoted
from pipeline.data.read import CRITERIA_COLUMNS, LINK_COLUMNS, SUBCOMPETENCY_COLUMNS, Row, Table
from pipeline.data.records import Layer

_ENTRY_ID = re.compile(r"(?:^|\|)\s*([^|.=]{1,24})\.\s")
_FILE = re.compile(r"[\w.-]+\.(?:md|csv|txt|tsv|json)")
_NUMBERED = re.compile(r"\d{1,3}[a-z]?[.)]\s")
_NO_CRITERIA = ("task_key", "version_at_time_of_draft", "competency", "task_variables", *LINK_COLUMNS, *SUBCOMPETENCY_COLUMNS,
                "reference_answer", "canary_string")
_NO_COMPETENCY = ("task_key", "version_at_time_of_draft", "task", "task_system_prompt", "task_variables", *LINK_COLUMNS,
                  *SUBCOMPETENCY_COLUMNS, *CRITERIA_COLUMNS, "reference_answer", "canary_string")
EXPECTED = "Each text in its own column; look for a comma that is missing or stands without quotes earlier in the row."
MOST_PAIRS = 3


def name_shifted_rows(table: Table, report: Report) -> None:
    """Name every cell that reads as the text of another column, with both readings."""
    competencies = _repeated(table, "competency")
    lone = {"the canary": _repeated(table, "canary_string"), "the version": _repeated(table, "version_at_time_of_draft")}
    layers = [_ids(row) for row in table.rows]
    numbered = [row for row in table.rows if _NUMBERED.match(row.cells.get("competency", ""))]
    for row in table.rows:
        for column, what in _misplaced(row, competencies, lone):
            found = f"The cell reads as text of {column}, or as {what} of a row whose cells are shifted."
            report.add(row.line, column, found, EXPECTED)
        name = row.cells.get("competency", "").strip()
        if name and len(numbered) * 2 > len(table.rows) and not _NUMBERED.match(name) and name not in competencies:
            found = f"{quoted(name)} has no number as the other competencies have: a name of its own, or a shifted row."
            report.add(row.line, "competency", found, EXPECTED, level="warning")
    _name_wrong_layers(table, layers, report)


def _repeated(table: Table, column: str) -> frozenset[str]:
    """Texts that stand in this column of two rows or more."""
    counts = Counter(row.cells.get(column, "").strip() for row in table.rows)
    return frozenset(text for text, n in counts.items() if text and n > 1)


def _misplaced(row: Row, competencies: frozenset[str], lone: dict[str, frozenset[str]]) -> list[tuple[str, str]]:
    """Columns of the row whose cell reads as the text of another one, and what it reads as."""
    cells = {column: cell.strip() for column, cell in row.cells.items() if cell.strip()}
    found = [(c, "criteria") for c in _NO_CRITERIA if c in cells and _is_rubric(cells[c])]
    found += [(c, "the competency") for c in _NO_COMPETENCY if cells.get(c) in competencies]
    homes = {"the canary": "canary_string", "the version": "version_at_time_of_draft"}
    found += [(c, what) for what, texts in lone.items() for c in cells if c != homes[what] and cells[c] in texts]
    found += [(c, "a resource file") for c in cells if c not in LINK_COLUMNS and _FILE.fullmatch(cells[c])]
    prompt, variables = cells.get("task_system_prompt", ""), cells.get("task_variables", "")
    if len(facets.parse_variables(prompt) or {}) >= MOST_PAIRS and not facets.parse_variables(variables):
        found.append(("task_system_prompt", "the context variables"))
    return found


def _is_rubric(text: str) -> bool:
    if "==" not in text:
        return False
    criteria, faults = rubric.parse(text, Layer.TASK, "")
    return bool(criteria) and not faults


def _ids(row: Row) -> dict[str, frozenset[str]]:
    """Ids of the criteria of each layer's cell, as written."""
    return {c: frozenset(_ENTRY_ID.findall(row.cells.get(c, ""))) for c in CRITERIA_COLUMNS}


def _name_wrong_layers(table: Table, layers: list[dict[str, frozenset[str]]], report: Report) -> None:
    """Name a cell whose criteria are those of another layer in the other rows, and of its own layer in none."""
    counts = {c: Counter(i for ids in layers for i in ids[c]) for c in CRITERIA_COLUMNS}
    for row, ids in zip(table.rows, layers, strict=True):
        for own in CRITERIA_COLUMNS:
            for other in CRITERIA_COLUMNS:
                if ids[own] and own != other and all(counts[own][i] == 1 and counts[other][i] > 1 for i in ids[own]):
                    found = f"Other rows have these ids in {other}: criteria of {own}, or a row whose cells are shifted."
                    report.add(row.line, own, found, EXPECTED, level="warning")
