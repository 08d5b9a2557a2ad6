"""Cells of exported tables: no formula in any spreadsheet, nothing lost, RFC 4180."""

import csv
import io

import pytest

from pipeline.report.export.cells import safe, to_csv

FORMULAS = ["=1+1", "+1+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "=HYPERLINK(\"http://x\")", "  =1+1",
            "\ufeff=1", "\u200b=1", "\u00a0@x", "＝1+1", "＋1", "－x", "＠x", "-", "+", "=", "-1e", "+31 20 123", "\x00=1+1",
            "\u3000=1", "\u2003@x", "\x0b=1", "\x1f=1", "\u202a=1", "\u2066=1", "\ufe62" + "1", "\ufe63x", "\ufe66" + "1", "\ufe6bx"]


def read(data: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(data.decode("utf-8"), newline="")))


@pytest.mark.parametrize("text", FORMULAS)
def test_no_cell_can_start_a_formula(text: str) -> None:
    assert safe(text).startswith("'")
    assert safe(text)[1:] == text.replace("\x00", "")


@pytest.mark.parametrize("text", [
    "-4", "+0.5", "-0.25", "-1e-3", ".5", "-.5", "-4.", "plain", "a=b", "x-y", "'=1", "", "01. Planning", "ação", "é"])
def test_plain_numbers_and_plain_text_stay_as_they_are(text: str) -> None:
    assert safe(text) == text


def test_a_table_reads_back_as_it_was_and_has_no_mark_before_it() -> None:
    rows = [("a,b", 'say "x"', "two\nlines", -4, 0.5, None, True), ("semi;=1+1", "tab\there", "中文", 0, -0.25, "", False)]
    data = to_csv(("one", "=two", "three", "four", "five", "six", "seven"), rows)
    assert not data.startswith(b"\xef\xbb\xbf") and data.count(b"\r\n") == 3
    head, first, second = read(data)
    assert head[1] == "'=two"
    assert first == ["a,b", 'say "x"', "two\nlines", "-4", "0.5", "", "true"]
    assert second == ["semi;=1+1", "tab\there", "中文", "0", "-0.25", "", "false"]


def test_a_semicolon_or_a_tab_in_a_cell_does_not_open_a_new_one_in_another_locale() -> None:
    line = to_csv(("a",), [("x;=1+1",), ("x\t=1+1",)]).decode().splitlines()
    assert line[1:] == ['"x;=1+1"', '"x\t=1+1"']


def test_a_lone_surrogate_does_not_stop_an_export() -> None:
    assert b"?" in to_csv(("a",), [("\ud800",)])
