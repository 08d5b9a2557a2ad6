"""The command line with names, files and terminals of any kind: a sentence or a result, never a traceback."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pipeline import check, eval, export, verify
from pipeline.core.printing import print_json, printable
from pipeline.core.written import guarded
from tests.http.fake_llm import FakeLLM
from tests.http.runs import tasks_file

ODD = os.fsdecode(b"x\xff\x1b[31m\xed\xa0\xbd")
ROOT = Path(__file__).resolve().parents[2]


def child(module: str, *args: Any, **more: str) -> subprocess.CompletedProcess[bytes]:
    """A command in a process of its own, as a shell starts it."""
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": more.pop("HOME", "/nowhere"), **more}
    return subprocess.run([sys.executable, "-m", module, *map(os.fsencode, args)], capture_output=True, timeout=120, env=env,
                          cwd="/", check=False)


def test_a_terminal_that_knows_only_ascii_gets_escapes_and_json_stays_whole(tmp_path: Path) -> None:
    # PYTHONIOENCODING=ascii: every sentence with a dash or a name in Chinese ended in a UnicodeEncodeError.
    path, resources = tasks_file(tmp_path)
    odd = tmp_path / "tâche中.csv"
    odd.write_bytes(path.read_bytes().replace(b"01. Names", "é中 no id".encode()))
    done = child("pipeline.check", "--csv-path", odd, "--resources-dir", resources, PYTHONIOENCODING="ascii")
    assert done.returncode == 1 and b"Traceback" not in done.stderr and b"t\\xe2che\\u4e2d.csv" in done.stdout
    done = child("pipeline.check", "--csv-path", odd, "--resources-dir", resources, "--json", PYTHONIOENCODING="latin-1")
    assert json.loads(done.stdout)["problems"][0]["file"] == "tâche中.csv"


def test_names_that_are_no_text_are_no_fault_and_send_nothing_to_the_terminal(tmp_path: Path) -> None:
    done = child("pipeline.eval", "--model", "demo/strong", "--judge-model", "demo/judge", "--task-ids", ODD, "--log-dir", tmp_path / ODD, "--dry-run",
                 "--source", "demo", TASKS_REPO=ODD, LANG="C", PYTHONIOENCODING="ascii")
    assert done.returncode == 2 and b"No task has the key" in done.stderr and b"Traceback" not in done.stderr and b"\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize("module", [check, verify, export])
def test_a_file_of_any_name_is_told_in_a_sentence(module: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    there = tmp_path / f"{ODD}.zip"
    there.write_bytes(b"PK no zip")
    for path in (there, tmp_path / ODD):
        arguments = {check: ["--csv-path", str(path), "--resources-dir", str(tmp_path)], verify: [str(path)], export: [str(path), "--to", "csv"]}
        assert module.main(arguments[module]) == 2
        out, err = capsys.readouterr()
        assert "\x1b" not in out + err and err.strip()
        (out + err).encode()


def test_a_run_with_names_that_are_no_text_goes_through(fake: FakeLLM, tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    path, resources = tasks_file(tmp_path, 1, (1,))
    odd = path.rename(tmp_path / f"{ODD}.csv")
    monkeypatch.setenv("FAKE_API_KEY", "canary-solver-000111")
    fake.script("solver", {"text": "A\ud83d end \x1b[31m"})
    fake.script("judge", {"text": "\ud83d\nfalse maybe"})
    arguments = ["--csv-path", str(odd), "--resources-dir", str(resources), "--model", f"openai-api/fake/solver{ODD}", "--judge-model",
                 "openai-api/fake/judge", "--model-base-url", f"{fake.url}/v1", "--scorer-base-url", f"{fake.url}/v1", "--log-dir",
                 str(tmp_path / f"run{ODD}"), "--prompt-source", "own"]
    monkeypatch.chdir(tmp_path)
    assert eval.main(arguments) == 1
    out, err = capsys.readouterr()
    assert "\x1b" not in out and "judge_unparsable" in out
    before = len(fake.received("solver"))
    assert eval.main(["--resume", str(tmp_path / f"run{ODD}"), "--json"]) == 0
    assert len(fake.received("solver")) == before == 1, "a paid answer was asked for again"
    assert json.loads(capsys.readouterr().out)["counts"]["scored"] == 1


@pytest.mark.parametrize("found", ["[1]", "[" * 5000, '{"a": 1, "a": 2}', "null", "\xff", '{"solver": "\\ud83d"}'])
def test_a_folder_of_someone_else_whose_spec_cannot_be_read_is_told(found: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "spec.json").write_text(found, encoding="latin-1")
    assert eval.main(["--resume", str(tmp_path)]) == 2 and "Nothing was started" in capsys.readouterr().err


def test_what_is_printed_fits_every_terminal() -> None:
    text = "é中\ud83d\x1b]0;title\x07\x9b31m\u202e\ttab\r\x1b[K"
    for encoding in ("ascii", "latin-1", "utf-8", "cp1252"):
        shown = printable(text, encoding)
        shown.encode(encoding)
        assert "\x1b]" not in shown and "\x07" not in shown and "\x9b" not in shown and shown.endswith("\ttab\r\x1b[K")


def test_json_is_json_in_every_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    for encoding in ("ascii", "latin-1", "utf-8"):
        raw = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding))

        @guarded
        def main() -> int:
            print_json({"é中": "\x9b\ud83d"})
            sys.stdout.flush()
            return 0

        assert main() == 0 and json.loads(raw.getvalue().decode(encoding)) == {"é中": "\x9b\ud83d"}


@pytest.mark.parametrize("value", ["[" * 5000, "{a: .nan}", "{a: 2020-01-01}", "{a: [", "\x00", "&a [*a]", "{a: &b [1], c: !!python/object:os.x }"])
def test_a_setting_that_is_no_plain_value_is_told(value: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert eval.main(["--model", "demo/strong", "--solver-extra-body", value, "--dry-run"]) == 2
    assert "Traceback" not in capsys.readouterr().err
