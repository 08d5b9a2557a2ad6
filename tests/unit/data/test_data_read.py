"""A tasks file is read whole or its fault is named with row and column: encodings, delimiters, quotes, line ends."""

import csv
import io
import tracemalloc

import pytest

from pipeline.data.problem import Report
from pipeline.data.read import read_table
from pipeline.errors import UserError
from tests.unit.data.conftest import GOOD


def test_byte_order_mark_is_no_part_of_the_first_column(sheet):
    # https://github.com/UKGovernmentBEIS/inspect_ai/issues/5353: the mark became part of the first column's name
    (task,) = sheet.raw(b"\xef\xbb\xbf" + sheet.text().encode()).tasks()
    assert task.key == "7"


def test_keys_stay_text_exactly(sheet):
    keys = ["007", "7", "7a", "1340"]
    assert [t.key for t in sheet.rows(*({"task_key": k} for k in keys)).tasks()] == keys


@pytest.mark.parametrize(("sign", "word"), [(";", "semicolon"), ("\t", "tab"), ("|", "pipe")])
def test_another_delimiter_is_named_and_the_rest_is_still_checked(sheet, sign, word):
    # https://github.com/asafdav/ng-csv/issues/28: a spreadsheet of another locale writes semicolons
    problems = sheet.rows({"task_criteria": "01. Names an aim"}, delimiter=sign).problems()
    assert word in problems[0].found and problems[0].row == 1 and problems[0].level == "error"
    assert any(p.column == "task_criteria" and p.row == 2 and "No weight" in p.found for p in problems)


def test_a_separator_line_is_named(sheet):
    problems = sheet.raw("sep=;\r\n" + sheet.text(delimiter=";")).problems()
    assert [p.row for p in problems] == [1] and "sep=" in problems[0].found


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("sign", [",", "\t"])
def test_utf16_is_named(sheet, encoding, sign):
    problems = sheet.raw(sheet.text(delimiter=sign).encode(encoding)).problems()
    assert "UTF-16" in problems[0].found and "UTF-8" in problems[0].expected


def test_windows_bytes_are_named_with_row_and_column(sheet):
    text = sheet.text({}, {"task": "The pupil’s café"}, {"reference_answer": "naïve"})
    (problem,) = sheet.raw(text.encode("cp1252")).errors()
    assert (problem.row, problem.column) == (3, "task")
    assert "0x92" in problem.found and "cp1252" in problem.found and "1 further" in problem.found


def test_bytes_undefined_in_windows_too_do_not_break_the_check(sheet):
    assert sheet.raw(sheet.text({"task": "XX"}).encode().replace(b"XX", b"\x81\xff")).errors()[0].column == "task"


def test_text_damaged_by_an_earlier_wrong_reading_is_a_warning(sheet):
    problems = sheet.rows({"task": "the pupilâ€™s work"}, {"task": "caf\ufffd"}).problems()
    assert [(p.level, p.row, p.column) for p in problems] == [("warning", 2, "task")]


@pytest.mark.parametrize(("cells", "shown"), [(",surplus", "7 cells"), ("CUT", "5 cells")])
def test_a_ragged_row_is_named_and_not_shifted(sheet, cells, shown):
    lines = sheet.text({}, {}, {}).splitlines()
    lines[2] = lines[2].rsplit(",", 1)[0] if cells == "CUT" else lines[2] + cells
    (problem,) = sheet.raw("\n".join(lines)).errors()
    assert problem.row == 3 and shown in problem.found and "6" in problem.found


def test_empty_cells_after_the_last_column_are_no_error(sheet):
    text = "\n".join(line + ",," for line in sheet.text({}, {}).splitlines())
    assert len(sheet.raw(text).tasks()) == 2


@pytest.mark.parametrize("name", ["Task_Key", "TASK_KEY", " task_key ", "\u00a0task_key", "task key", "task_key\u200b"])
def test_a_header_in_other_case_or_with_blanks_is_understood(sheet, name):
    assert sheet.raw(sheet.text().replace("task_key", name, 1)).tasks()[0].key == "7"


def test_a_column_that_stands_twice_is_an_error(sheet):
    lines = sheet.text().splitlines()
    problem = sheet.raw(f"{lines[0]},Task\n{lines[1]},Other\n").errors()[0]
    assert (problem.row, problem.column) == (1, "task") and "twice" in problem.found


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n"])
def test_every_line_end_is_read_and_counted(sheet, end):
    text = sheet.text({}, {"task": f"One{end}Two{end}{end}Three"}, {"task_criteria": "01. X"}, end=end)
    problems = sheet.raw(text).errors()
    assert {p.row for p in problems} == {7}


def test_quotes_commas_and_line_breaks_inside_a_cell_survive(sheet):
    wanted = 'He said "stop",\nthen; | went\n\non'
    assert sheet.rows({"task": wanted}).tasks()[0].text == wanted


def test_a_row_is_named_by_its_first_line_in_the_file(sheet):
    tasks = sheet.rows({"task": "a\nb\nc"}, {}, {"reference_answer": "d\n\ne"}, {}).tasks()
    assert [t.row for t in tasks] == [2, 5, 6, 9]


def test_blank_lines_are_skipped_and_counted(sheet):
    lines = sheet.text({}, {}).splitlines()
    tasks = sheet.raw("\n".join(["", lines[0], "", lines[1], "", "", lines[2], ""])).tasks()
    assert [t.row for t in tasks] == [4, 7]


def test_an_unclosed_quote_is_named_where_it_opens(sheet):
    lines = sheet.text({}, {}, {}).splitlines()
    lines[2] = lines[2].replace("Plan a lesson.", '"Plan a lesson.')
    problems = sheet.raw("\n".join(lines)).errors()
    assert problems[0].row == 3 and "Quotation marks" in problems[0].found


def test_a_row_without_any_text_is_left_out_with_a_warning(sheet):
    text = sheet.text({}) + ",,,,,\r\n"
    assert [p.level for p in sheet.raw(text).problems()] == ["warning"]
    assert len(sheet.tasks()) == 1


def test_a_very_long_cell_is_read(sheet):
    assert len(sheet.rows({"task": "x" * 300_000}).tasks()[0].text) == 300_000


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xef\xbb\xbf\r\n",
        b"PK\x03\x04rest",
        b"%PDF-1.7",
        b"<!DOCTYPE html><p>",
        b"version https://git-lfs.github.com/spec/v1\n",
    ]
    + [b"\x00\x01\x00\x02binary\x00\x00\x00\x00" * 9, b"name,age\nA,2\n"],
)
def test_what_is_no_tasks_file_is_refused_in_words(sheet, content):
    with pytest.raises(UserError) as caught:
        sheet.raw(content).problems()
    assert "tasks.csv" in caught.value.found and caught.value.do


def test_a_missing_file_or_folder_is_refused_in_words(sheet):
    with pytest.raises(UserError, match="cannot be read"):
        sheet.problems()
    sheet.rows().resources.rmdir()
    with pytest.raises(UserError, match="There is no folder"):
        sheet.problems()


def test_missing_and_further_columns_are_no_error(sheet):
    assert sheet.rows({"my_note": "x", "is_published": "1"}).problems() == []


@pytest.mark.parametrize("column", ["task_key", "competency", "task", "task_criteria"])
def test_a_missing_column_that_is_needed_is_named_once(sheet, column):
    text = sheet.text({}, {}).replace(column + ",", column + "_old,", 1)
    found = [p for p in sheet.raw(text).errors() if p.column == column]
    assert len(found) == 1 and found[0].row == 1


def test_any_one_criteria_column_is_enough(sheet):
    text = sheet.text().replace("task_criteria", "universal_criteria")
    assert [c.id for c in sheet.raw(text).tasks()[0].criteria] == ["01", "02", "03"]


def test_only_line_ends_of_csv_end_a_row(sheet):
    (task,) = sheet.rows({"task": "One\u2028two\x85three\x0bfour\x0cfive"}).tasks()
    assert task.text == "One\u2028two\nthree\nfour\nfive"
    assert [t.row for t in sheet.raw(sheet.text({"task": "a\r\nb\nc"}, {}).replace("\r\n", "\r")).tasks()] == [2, 5]


def test_reading_takes_a_few_times_the_size_of_the_file(tmp_path):
    path = tmp_path / "tasks.csv"
    path.write_text("task_key,task\n" + "".join(f'{n},"{"Plan a lesson. " * 300}"\n' for n in range(500)), encoding="utf-8")
    tracemalloc.start()
    read_table(path, Report(path.name))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * path.stat().st_size


CONTROLS = ["\x00", "\x01", "\x07", "\x08", "\x1b", "\x1b[31m", "\x7f", "\x80", "\x9b", "\ufffe", "\uffff"]


@pytest.mark.parametrize("odd", CONTROLS, ids=repr)
@pytest.mark.parametrize("column", ["task_key", "competency", "task", "task_system_prompt", "task_criteria", "reference_answer", "task_variables"])
def test_a_control_character_in_a_cell_is_named_and_refused(sheet, column, odd):
    # R5: NUL in an ASCII cell passed every check and was sent to the model
    good = {"task_variables": "level: A2", **GOOD}[column]
    errors = sheet.rows({}, {column: good[:4] + odd + good[4:]}).errors()
    assert (3, column) in [(p.row, p.column) for p in errors if f"U+{ord(odd[0]):04X}" in p.found]


@pytest.mark.parametrize("odd", ["\x0b", "\x0c", "\x85", "\x1e", "\x1f"], ids=repr)
def test_a_rare_line_break_is_read_as_one_with_a_warning(sheet, odd):
    (problem,) = sheet.rows({"task": f"One{odd}two"}).problems()
    assert problem.level == "warning" and f"U+{ord(odd):04X}" in problem.found
    assert sheet.tasks()[0].text == ("One two" if odd == "\x1f" else "One\ntwo")


def test_one_row_with_empty_cells_too_many_is_a_warning(sheet):
    lines = sheet.text({}, {}, {}).splitlines()
    lines[2] += ","
    (problem,) = sheet.raw("\r\n".join(lines) + "\r\n").problems()
    assert (problem.row, problem.level) == (3, "warning") and "7 cells" in problem.found


COLUMNS = ("task_key", "version_at_time_of_draft", "competency", "task", "task_system_prompt", "task_variables", "task_resource_file_link_1",
           "subcompetency_1", "task_criteria", "consensus_criteria", "universal_criteria", "reference_answer", "canary_string")
FULL = {"version_at_time_of_draft": "1.0.0", "competency": "01. Planning", "task": "Plan.", "task_system_prompt": "Help.", "task_variables": "level: A2\nage: adults\ncountry: Peru",
        "task_resource_file_link_1": "notes.md", "subcompetency_1": "01a. Aims", "task_criteria": "01. Aim ==7 | 02. Time ==3", "consensus_criteria": "01a-01. Level ==2",
        "universal_criteria": "01u1. Age ==2", "reference_answer": "Begin with the aim.", "canary_string": "canary 1"}


@pytest.mark.parametrize("lost", [c for c in COLUMNS if FULL.get(c, "9")])
@pytest.mark.parametrize("gained", COLUMNS)
def test_a_row_whose_cells_are_shifted_is_named(sheet, lost, gained):
    # R4: a comma lost and one too many elsewhere: the number of cells is right, those between stand in the wrong column
    cells = {c: FULL.get(c, "9") for c in COLUMNS}
    shifted = [text for c, text in cells.items() if c != lost]
    shifted.insert(COLUMNS.index(gained), "")
    out = io.StringIO()
    csv.writer(out).writerows([COLUMNS, *([str(n), *list(cells.values())[1:]] for n in (7, 8)), shifted])
    line = 1 + len(list(csv.reader(io.StringIO(out.getvalue())))) + 2 * 2 - 1
    assert lost == gained or any(p.row == line for p in sheet.raw(out.getvalue()).problems()), shifted


def test_a_shifted_cell_is_named_with_both_readings(sheet):
    sheet.rows({}, {"reference_answer": "01u1. Suits the age ==2"}, {"task_system_prompt": "01. Planning"})
    found = {(p.row, p.column): p.found for p in sheet.errors()}
    assert "text of reference_answer, or as criteria" in found[3, "reference_answer"]
    assert "text of task_system_prompt, or as the competency" in found[4, "task_system_prompt"]
