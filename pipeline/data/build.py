"""Rows of a tasks file -> tasks, with every problem on the way. Never opens the tasks file, never sends anything.

A task that has an error is still named in every respect, but is not built.
"""

import re
from collections import Counter
from dataclasses import dataclass, field

from pipeline.data import facets, rubric
from pipeline.data.problem import Problem, Report, quoted
from pipeline.data.read import CRITERIA_COLUMNS, INVISIBLE, LINK_COLUMNS, SUBCOMPETENCY_COLUMNS, Row, Table
from pipeline.data.records import Criterion, Layer, Resource, Task
from pipeline.data.resources import EXPECTED, Shelf

REQUIRED_COLUMNS = ("task_key", "competency", "task")
LAYERS = dict(zip(CRITERIA_COLUMNS, Layer, strict=True))
_NO_TEXT = {"", "nan", "<na>", "nat", "#n/a", "n/a", "na", "null", "none"}
_SPREADSHEET_NUMBER = re.compile(r"[0-9]+\.0+|[0-9](?:\.[0-9]+)?[eE]\+?[0-9]+|[0-9]{1,3}(?:,[0-9]{3})+")


@dataclass
class Built:
    """Tasks in file order, what is wrong, and what is only worth a word."""

    tasks: tuple[Task, ...]
    problems: list[Problem] = field(default_factory=list)
    notices: tuple[str, ...] = ()


def build(table: Table, shelf: Shelf, report: Report, needs_reference: bool = True) -> Built:
    """Build every task of the table.

    Args:
        needs_reference: whether an empty reference answer is an error (judge prompts v1 and v2 show it).
    """
    _check_columns(table, report)
    if not table.rows:
        report.add(table.header_line, "", "There is no task below the header.", "At least one task.")
    variables, notices = _facets(table)
    builder = _Builder(shelf, report, needs_reference and "reference_answer" in table.columns)
    tasks = [builder.task(row, found) for row, found in zip(table.rows, variables, strict=True)]
    return Built(tuple(t for t in tasks if t), report.problems, notices)


def _check_columns(table: Table, report: Report) -> None:
    line, have = table.header_line, ", ".join(table.columns[:8]) + (", …" if len(table.columns) > 8 else "")
    for name in REQUIRED_COLUMNS:
        if name not in table.columns:
            report.add(line, name, f"The column {name} is missing; there are {have}.", f"A column named {name}.")
    if not set(CRITERIA_COLUMNS) & set(table.columns):
        found = f"No criteria column; there are {have}."
        report.add(line, "task_criteria", found, f"At least one of {', '.join(CRITERIA_COLUMNS)}.")
    if "reference_answer" not in table.columns:
        found = "The column reference_answer is missing; judge prompts v1 and v2 would show an empty reference."
        report.add(line, "reference_answer", found, "A reference answer for each task.", level="warning")


def text_of(cell: str) -> str:
    """The cell as written, or "" where it holds nothing but blanks or a spreadsheet's or pandas' word for nothing."""
    return "" if cell.strip(INVISIBLE + " \t\r\n\u00a0").lower() in _NO_TEXT else cell


def name_of(cell: str) -> str:
    """A name (competency, sub-competency): without invisible characters, single-spaced."""
    return " ".join(text_of(cell).strip().strip(INVISIBLE).split())


def _facets(table: Table) -> tuple[list[facets.Facets], tuple[str, ...]]:
    """Facets of each row, and at most one notice about cells that could not be read."""
    cells = [text_of(row.cells.get("task_variables", "")) for row in table.rows]
    read = [facets.parse_variables(cell) for cell in cells]
    unread = [row.line for row, found in zip(table.rows, read, strict=True) if found is None]
    found = [dict(item or {}) for item in read]
    for column in table.extra:
        values = [row.cells.get(column, "") for row in table.rows]
        if not facets.column_is_facet(values):
            continue
        key = facets.normal_key(column)
        for item, value in zip(found, values, strict=True):
            if short := facets.category(value):
                item[key] = tuple(dict.fromkeys((*item.get(key, ()), short)))
    notices: tuple[str, ...] = ()
    if unread:
        notices = (
            f"task_variables could not be read in {len(unread)} of {len(cells)} rows (first in row {unread[0]}); "
            "those tasks have no context variables from it.",
        )
    return facets.one_spelling(found), notices


class _Builder:
    """Builds tasks row by row and remembers the keys it has met."""

    def __init__(self, shelf: Shelf, report: Report, needs_reference: bool) -> None:
        self.shelf, self.report, self.needs_reference = shelf, report, needs_reference
        self.lines: dict[str, int] = {}

    def task(self, row: Row, found: facets.Facets) -> Task | None:
        """The task of one row, or None where it cannot be built."""
        before = len(self.report.problems)
        key = self._key(row)
        competency = self._filled(row, "competency")
        text = self._filled(row, "task")
        system_prompt = self._optional(row, "task_system_prompt", "The task is sent without a system prompt.")
        reference = text_of(row.cells.get("reference_answer", ""))
        if self.needs_reference and not reference:
            self._empty(row, "reference_answer")
        criteria = self._criteria(row, key)
        resources = self._resources(row)
        if any(p.level == "error" for p in self.report.problems[before:]):
            return None
        subs = (name_of(row.cells.get(column, "")) for column in SUBCOMPETENCY_COLUMNS)
        return Task(
            key=key,
            competency=name_of(competency),
            text=text,
            system_prompt=system_prompt,
            criteria=criteria,
            reference_answer=reference,
            subcompetencies=tuple(dict.fromkeys(sub for sub in subs if sub)),
            facets=found,
            resources=resources,
            version=text_of(row.cells.get("version_at_time_of_draft", "")).strip(),
            canary=text_of(row.cells.get("canary_string", "")).strip(),
            row=row.line,
        )

    def _key(self, row: Row) -> str:
        cell = self._filled(row, "task_key")
        key = cell.strip().strip(INVISIBLE).strip()
        if key != cell:
            found = f"The key {quoted(key)} has blanks or invisible characters around it; they are left out."
            self.report.add(row.line, "task_key", found, "The key alone.", level="warning")
        if _SPREADSHEET_NUMBER.fullmatch(key):
            found = f"The key {quoted(key)} looks like a number that a spreadsheet has rewritten."
            self.report.add(row.line, "task_key", found, "The key as the dataset writes it.", level="warning")
        if not key:
            return ""
        first = self.lines.setdefault(key, row.line)
        if first != row.line:
            found = f"The key {quoted(key)} stands in row {first} and again in row {row.line}."
            self.report.add(row.line, "task_key", found, "Each key once.")
        return key

    def _filled(self, row: Row, column: str) -> str:
        text = text_of(row.cells.get(column, ""))
        if not text and column in row.cells:
            self._empty(row, column)
        return text

    def _empty(self, row: Row, column: str) -> None:
        cell = row.cells.get(column, "").strip()
        found = f"The cell holds {quoted(cell)}, which stands for nothing." if cell else "The cell is empty."
        self.report.add(row.line, column, found, "Text.")

    def _optional(self, row: Row, column: str, consequence: str) -> str:
        text = text_of(row.cells.get(column, ""))
        if not text and column in row.cells:
            self.report.add(row.line, column, f"The cell is empty. {consequence}", "Text.", level="warning")
        return text

    def _criteria(self, row: Row, key: str) -> tuple[Criterion, ...]:
        criteria: list[Criterion] = []
        readable = True
        present = [column for column in CRITERIA_COLUMNS if column in row.cells]
        for column in present:
            found, faults = rubric.parse(text_of(row.cells[column]), LAYERS[column], key)
            readable = readable and not any(f.level == "error" for f in faults)
            for fault in faults:
                self.report.add(
                    row.line, column, fault.found, fault.expected, criterion=fault.criterion, level=fault.level
                )
            self._check_ids(row, column, found, criteria)
            criteria += found
        if readable and present:
            self._check_weights(row, present[0], criteria)
        return tuple(criteria)

    def _check_ids(self, row: Row, column: str, found: list[Criterion], before: list[Criterion]) -> None:
        times = Counter(c.id for c in [*before, *found])
        for name in dict.fromkeys(c.id for c in found):
            if times[name] > 1:
                text = f"The criterion id {quoted(name)} stands {times[name]} times in this task."
                self.report.add(row.line, column, text, "Each id once in a task.", criterion=name)

    def _check_weights(self, row: Row, column: str, criteria: list[Criterion]) -> None:
        if not criteria:
            self.report.add(row.line, column, "The task has no criterion.", "At least one criterion.")
        elif not any(c.weight > 0 for c in criteria):
            found = f"No criterion of the task has a positive weight (weights {_weights(criteria)})."
            expected = "At least one positive weight: the score is divided by their sum."
            self.report.add(row.line, column, found, expected, criterion=", ".join(c.id for c in criteria[:3]))
        elif not text_of(row.cells.get("task_criteria", "-")):
            found = "The cell is empty: the task has no criteria of its own."
            self.report.add(row.line, "task_criteria", found, "Criteria.", level="warning")

    def _resources(self, row: Row) -> tuple[Resource, ...]:
        resources: dict[str, Resource] = {}
        for column in LINK_COLUMNS:
            link = text_of(row.cells.get(column, "")).strip()
            if not link:
                continue
            found = self.shelf.find(link)
            resources.setdefault(found.resource.name, found.resource)
            if found.fault:
                self.report.add(row.line, column, found.fault, EXPECTED, level=found.level)
        return tuple(resources.values())


def _weights(criteria: list[Criterion]) -> str:
    shown = ", ".join(str(c.weight) for c in criteria[:5])
    return shown + (", …" if len(criteria) > 5 else "")
