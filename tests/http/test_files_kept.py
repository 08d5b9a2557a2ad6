"""No file of the user is ever replaced without being asked for."""

from pathlib import Path

import pytest

from pipeline.core import files
from pipeline.eval import main as evaluate
from pipeline.export import FORMATS, main
from tests.http.test_export_from_log import made_folder, made_zip

NAMES = ("tasks.csv", "verdicts.csv", "competency.csv", "view.json", "manifest.json", "hf.yaml", "model-index.yaml", "competency.svg", "run.zip")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    made_folder(tmp_path / "run", tasks=4)
    return tmp_path / "run"


def everything(folder: Path) -> dict[Path, bytes]:
    return {p: p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.mark.parametrize("to", FORMATS)
def test_an_export_replaces_nothing_where_it_was_called(run: Path, tmp_path: Path, monkeypatch, to: str) -> None:
    # C2: `pipeline.export LOG --to csv` overwrote the user's tasks.csv and ended with 0
    monkeypatch.chdir(tmp_path)
    for name in NAMES:
        (tmp_path / name).write_text("mine")
    before = everything(tmp_path)
    assert main([str(run), "--to", to]) == 0
    after = everything(tmp_path)
    assert {p: after[p] for p in before} == before
    assert {p.relative_to(run).parts[0] for p in after.keys() - before.keys()} == {"exports"}


@pytest.mark.parametrize("kind", ["file", "link", "dangling", "folder"])
def test_what_stands_in_the_way_of_one_file_keeps_all_from_being_written(run: Path, tmp_path: Path, capsys, kind: str) -> None:
    out = tmp_path / "out"
    out.mkdir()
    there = out / "verdicts.csv"
    if kind == "file":
        there.write_text("mine")
    elif kind == "folder":
        there.mkdir()
    else:
        there.symlink_to(run / "events.jsonl" if kind == "link" else tmp_path / "gone")
    before = everything(tmp_path)
    assert main([str(run), "--to", "csv", "json", "--out", str(out)]) == 2
    assert everything(tmp_path) == before
    assert "verdicts.csv would be replaced" in (said := capsys.readouterr().err) and "--force" in said


def test_force_replaces_and_the_same_bytes_need_no_force(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert [main([str(run), "--to", "csv", "--out", str(out)]) for _ in range(2)] == [0, 0]
    made = everything(out)
    (out / "tasks.csv").write_text("mine")
    assert main([str(run), "--to", "csv", "--out", str(out)]) == 2 and (out / "tasks.csv").read_text() == "mine"
    assert main([str(run), "--to", "csv", "--out", str(out), "--force"]) == 0 and everything(out) == made


def test_a_zip_and_a_log_have_a_folder_of_their_own_beside_them(run: Path, tmp_path: Path) -> None:
    path = made_zip(tmp_path / "zips", tasks=4)
    (path.parent / "tasks.csv").write_text("mine")
    assert main([str(path), "--to", "csv"]) == 0
    assert (path.parent / "tasks.csv").read_text() == "mine"
    assert (path.parent / f"{path.stem}-exports" / "tasks.csv").exists()


def test_a_file_that_appears_meanwhile_is_kept(tmp_path: Path, monkeypatch) -> None:
    target = tmp_path / "a.txt"
    monkeypatch.setattr(files.secrets, "token_hex", lambda n: target.write_text("mine") and "x")
    with pytest.raises(FileExistsError):
        files.write_files({target: b"ours"})
    assert target.read_text() == "mine" and [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_nothing_half_is_left_where_the_disk_refuses(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(files.os, "replace", lambda a, b: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space"):
        files.write_files({tmp_path / "a.txt": b"ours"})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("names", [["spec.json"], ["manifest.json"], ["events.jsonl"], ["private/places.json"], ["private"], ["specs/a.json"],
                                   ["spec.json", "events.jsonl"]])
def test_a_run_is_not_put_into_a_folder_with_files_of_those_names(tmp_path: Path, capsys, names: list[str]) -> None:
    for name in names:
        (tmp_path / "mine" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "mine" / name).write_text('{"name": "my-extension"}')
    before = everything(tmp_path)
    assert evaluate(["--model", "demo/strong", "--sample-limit", "1", "--log-dir", str(tmp_path / "mine")]) == 2
    assert everything(tmp_path) == before and names[0].partition("/")[0] in capsys.readouterr().err


def test_a_run_goes_into_a_folder_with_other_files_and_leaves_them(tmp_path: Path) -> None:
    (tmp_path / "tasks.csv").write_text("mine")
    assert evaluate(["--model", "demo/strong", "--sample-limit", "1", "--log-dir", str(tmp_path)]) == 0
    assert (tmp_path / "tasks.csv").read_text() == "mine"
    assert evaluate(["--model", "demo/strong", "--sample-limit", "1", "--log-dir", str(tmp_path)]) == 0
