"""Small tasks files for the tests of pipeline.data; every row is good unless a test spoils it."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from pipeline.data.check import Problem, check_files, read_files
from pipeline.data.records import Task

GOOD = {
    "task_key": "7",
    "competency": "01. Planning",
    "task": "Plan a lesson.",
    "task_system_prompt": "You help teachers.",
    "task_criteria": "01. Names an aim ==7 | 02. Sets a time ==3 | 03. Lectures ==-4",
    "reference_answer": "Start with the aim.",
}


class Sheet:
    """Writes tasks files into a folder of the test's own and checks them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.csv_path = folder / "tasks.csv"
        self.resources = folder / "resources"
        self.resources.mkdir()

    def text(self, *rows: dict[str, str], delimiter: str = ",", end: str = "\r\n", **every: str) -> str:
        """A tasks file as text: one row for each dict, laid over a good row; `every` lies over all of them."""
        full = [GOOD | {"task_key": str(n)} | every | row for n, row in enumerate(rows or ({},), 7)]
        columns = list(dict.fromkeys(name for row in full for name in row))
        file = io.StringIO(newline="")
        writer = csv.DictWriter(file, columns, delimiter=delimiter, lineterminator=end, restval="")
        writer.writeheader()
        writer.writerows(full)
        return file.getvalue()

    def raw(self, content: str | bytes) -> "Sheet":
        """Put these bytes into the tasks file."""
        self.csv_path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return self

    def rows(self, *rows: dict[str, str], **every: Any) -> "Sheet":
        """Write a tasks file as `text` makes it."""
        return self.raw(self.text(*rows, **every))

    def problems(self, **options: Any) -> list[Problem]:
        return check_files(self.csv_path, self.resources, **options)

    def errors(self) -> list[Problem]:
        return [p for p in self.problems() if p.level == "error"]

    def tasks(self) -> tuple[Task, ...]:
        """The tasks of a file that must have no error."""
        checked = read_files(self.csv_path, self.resources)
        assert [p.line for p in checked.built.problems if p.level == "error"] == []
        return checked.built.tasks

    def notices(self) -> tuple[str, ...]:
        return read_files(self.csv_path, self.resources).built.notices


@pytest.fixture
def sheet(tmp_path: Path) -> Sheet:
    return Sheet(tmp_path)
