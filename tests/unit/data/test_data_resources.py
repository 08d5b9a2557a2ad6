"""A resource comes out of its folder and from nowhere else; one that is absent is named before any spend."""

import os

import pytest

from pipeline.data.resources import Shelf


@pytest.fixture
def shelf(tmp_path):
    folder = tmp_path / "resources"
    folder.mkdir()
    (folder / "note one.md").write_bytes(b"\xef\xbb\xbfone\r\ntwo\rthree")
    (folder / "a%20b.md").write_text("percent")
    (tmp_path / "secret.md").write_text("outside")
    return Shelf(folder)


@pytest.mark.parametrize(
    "link",
    [
        "note one.md",
        "  note one.md ",
        "resources_for_tasks/note one.md",
        "C:\\files\\note one.md",
        "https://example.org/files/note%20one.md?download=true#top",
        "https://example.org/files/note one.md",
        "/abs/path/note one.md/",
    ],
)
def test_a_link_counts_by_its_last_part(shelf, link):
    found = shelf.find(link)
    assert found.fault == "" and found.resource.name == "note one.md"
    assert found.resource.text == "one\ntwo\nthree"


def test_a_name_that_is_written_so_wins(shelf):
    assert shelf.find("a%20b.md").resource.text == "percent"


@pytest.mark.parametrize("link", ["../secret.md", "..%2Fsecret.md", "https://x/..%2f..%2fsecret.md", "..", ".", "/", "http://["])
def test_no_link_leads_out_of_the_folder(shelf, link):
    found = shelf.find(link)
    assert found.level == "missing_resource" and found.resource.missing and found.fault
    assert "outside" not in found.resource.text


def test_no_symlink_leads_out_of_the_folder(shelf, tmp_path):
    (shelf.folder / "escape.md").symlink_to(tmp_path / "secret.md")
    (shelf.folder / "dangling.md").symlink_to(tmp_path / "gone.md")
    (shelf.folder / "inside.md").symlink_to(shelf.folder / "note one.md")
    shelf = Shelf(shelf.folder)
    assert "link out of" in shelf.find("escape.md").fault and "outside" not in shelf.find("escape.md").resource.text
    assert shelf.find("dangling.md").resource.missing
    assert shelf.find("inside.md").resource.text.startswith("one")


def test_pipes_and_folders_are_not_read(shelf):
    os.mkfifo(shelf.folder / "pipe.md")
    (shelf.folder / "folder.md").mkdir()
    shelf = Shelf(shelf.folder)
    assert "not a file" in shelf.find("pipe.md").fault and "not a file" in shelf.find("folder.md").fault


def test_a_placeholder_names_the_file_and_is_marked(shelf):
    found = shelf.find("gone.md")
    assert found.resource.missing and "gone.md" in found.resource.text and "gone.md" in found.fault


def test_a_name_in_another_case_is_suggested(shelf):
    assert '"note one.md"' in shelf.find("Note One.md").fault


@pytest.mark.parametrize(("content", "shown"), [(b"ok\ncaf\xe9", "Line 2"), (b"a\x00b", "U+0000 NUL"), (b"a\x1b[0m", "U+001B"), (b"x" * 3_000_000, "bytes")])
def test_a_file_that_is_no_text_is_an_error(shelf, content, shown):
    (shelf.folder / "bad.md").write_bytes(content)
    found = Shelf(shelf.folder).find("bad.md")
    assert found.level == "error" and shown in found.fault


def test_names_match_in_either_unicode_form(shelf):
    (shelf.folder / "cafe\u0301.md").write_text("accent")
    assert Shelf(shelf.folder).find("caf\u00e9.md").resource.text == "accent"


def test_a_missing_resource_is_named_with_row_and_column(sheet):
    # https://github.com/Anon-Bench-123/anon-bench-123: the model was graded on a placeholder
    problems = sheet.rows({}, {"task_resource_file_link_2": "x/gone.md"}).problems()
    assert [(p.level, p.row, p.column) for p in problems] == [("missing_resource", 3, "task_resource_file_link_2")]


def test_resources_stand_in_the_task_in_the_order_of_their_columns(sheet):
    for name in ("a.md", "b.csv"):
        (sheet.resources / name).write_text(name)
    links = {"task_resource_file_link_1": "b.csv", "task_resource_file_link_2": "nan", "task_resource_file_link_3": "a.md"}
    (task,) = sheet.rows(links).tasks()
    assert [r.name for r in task.resources] == ["b.csv", "a.md"]
    blocks = "\n---\n## Resource: b.csv\n\nb.csv\n---\n## Resource: a.md\n\na.md"
    assert task.user_message == f"{task.text}\n{blocks}", "solver and judge read what the reference gives them"
