"""Logs of ours and of the reference give the same files: scores, layers, faults and calls come over, and no text."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.core.files import write_files
from pipeline.data.records import Layer
from pipeline.errors import UserError
from pipeline.export import export, open_run
from pipeline.judging.outcomes import Outcome
from pipeline.report.export.archive import run_zip
from pipeline.report.export.log_read import _rows, _score, layer_of
from pipeline.report.export.source import Run
from pipeline.report.summary import summarise
from pipeline.verify import verify
from tests.unit.export.kit import made_folder, made_zip

ROOT = Path(__file__).parents[2]


def run(*words: str, code: int = 0) -> str:
    """Run a module of the project in a process of its own: inspect evaluates once a process."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "INSPECT_LOG_LEVEL": "critical"}
    done = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, cwd=ROOT, env=environment, timeout=120)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of the reference's form."""
    folder = tmp_path_factory.mktemp("reference")
    run("tests.unit.export.made_log", str(folder))
    (path,) = folder.glob("*.eval")
    return path


@pytest.fixture(scope="module")
def read(reference: Path) -> Run:
    """The run behind it."""
    return open_run(reference)


def test_scores_layers_and_epochs_of_a_reference_log_come_over(read: Run) -> None:
    view = read.view
    assert [t.key for t in view.tasks] == ["12", "15", "18"] and view.epochs == 2
    assert [c.layer for c in view.tasks[0].criteria] == [Layer.TASK, Layer.TASK, Layer.CONSENSUS, Layer.UNIVERSAL, Layer.TASK]
    first = view.attempts["12", 1]
    assert first.outcome is Outcome.SCORED and first.score == pytest.approx((7 + 5 - 4) / 19)
    assert [v.verdict for v in first.verdicts.values()] == [True, False, True, False, True]


def test_an_error_of_a_sample_is_no_fault_of_the_model_and_an_empty_answer_is(read: Run) -> None:
    view = read.view
    assert (view.attempts["15", 2].outcome, view.attempts["15", 2].stage) == (Outcome.API_ERROR, "judge")
    assert view.attempts["18", 1].outcome is Outcome.SOLVER_EMPTY
    s = summarise(view)
    assert (s.scored_count, s.attempted_count, s.planned) == (3, 5, 6)
    assert s.scored.value is not None and s.attempted.value is not None and s.attempted.value < s.scored.value


def test_what_the_log_says_of_models_and_calls_is_taken_and_what_it_does_not_say_is_unknown(read: Run) -> None:
    view = read.view
    assert view.spec["solver"] == {"model": "mockllm/solver", "config": {"max_tokens": 4096, "temperature": 0.0}, "base_url": None}
    assert view.spec["judge"] == {"model": "mockllm/judge", "config": {"reasoning_tokens": 1024}, "base_url": None}
    assert view.spend["solver"].calls == 6 and view.spend["judge"].calls == 5 + 5 + 3
    assert view.spend["solver"].input == 6 * 130  # cached input is part of the input
    assert view.cost is None and read.manifest["cost"] is None
    assert view.prompt is not None and view.prompt.digest == ""
    assert any("not recorded" in d for d in view.differences) and any("another judge" in d for d in view.differences)


def test_every_format_of_a_reference_log_holds_no_text_and_verifies(read: Run, tmp_path: Path) -> None:
    for to in ("csv", "json", "eee", "hf", "svg", "zip"):
        write_files({tmp_path / n: d for n, d in export(read, to).items()})
    assert verify(tmp_path / "run.zip") == []
    names = {p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_file()}
    assert {"tasks.csv", "verdicts.csv", "competency.csv", "view.json", "manifest.json", "hf.yaml", "model-index.yaml",
            "run.zip"} < names
    assert len([n for n in names if n.startswith("data/l2-bench/mockllm/solver/")]) == 1
    for data in [*(p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()), read.journal]:
        assert b"CANARY" not in data


def test_our_own_log_gives_what_its_journal_gives(tmp_path: Path) -> None:
    run("pipeline.eval", "--model", "demo/faulty", "--sample-limit", "10", "--log-dir", str(tmp_path / "run"), code=1)
    folder = next(tmp_path.rglob("events.jsonl")).parent
    (log,) = tmp_path.rglob("*.eval")
    assert verify(folder) == []
    whole, beside = open_run(folder), open_run(log)
    assert run_zip(beside) == run_zip(whole)
    alone = tmp_path / "alone" / "run.eval"
    alone.parent.mkdir()
    log.rename(alone)
    lone = open_run(alone)
    assert lone.view.counts() == whole.view.counts()
    for at, attempt in whole.view.attempts.items():
        other = lone.view.attempts[at]
        assert (other.outcome, other.score, other.cut) == (attempt.outcome, attempt.score, attempt.cut)
        assert {k: v.verdict for k, v in other.verdicts.items()} == {k: v.verdict for k, v in attempt.verdicts.items()}
    assert lone.view.differences == whole.view.differences
    write_files({tmp_path / n: d for n, d in export(lone, "zip").items()})
    assert verify(tmp_path / "run.zip") == []


def test_a_log_of_inspect_eval_says_what_inspects_own_flags_made_of_the_run(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    run("inspect_ai", "eval", "pipeline/task.py", "--model", "demo/strong", "-T", "sample_limit=2", "--limit", "1", "--epochs", "2",
        "--temperature", "0.7", "--log-dir", str(logs), "--display", "none")
    found = open_run(logs)  # a folder with one log stands for the log
    assert [a.outcome for a in found.view.attempts.values()] == [Outcome.SCORED] * 2 and found.view.epochs == 2
    assert found.view.spec["solver"]["config"]["temperature"] == 0.7 and found.view.data.kind == "demo"
    said = "; ".join(found.view.differences)
    assert "1 of 63 tasks" in said and "2 epochs" in said and "solver temperature 0.7" in said and "ours" in said
    (logs / "second.eval").write_bytes(next(logs.glob("*.eval")).read_bytes())
    with pytest.raises(UserError, match="2 logs"):
        open_run(logs)


@pytest.mark.parametrize("metadata", [
    {"criteria": [{"id": "7-01", "weight": 5, "verdict": True}, {"id": "06u1", "weight": -2, "verdict": False}]},
    {"judge": "x", "by_criterion": {"7-01": {"weight": 5, "judgment": True}, "06u1": {"weight": -2, "judgment": False}}},
    {"7-01": {"weight": "5", "judgement": True}, "06u1": {"weight": -2, "judgement": False}}])
def test_a_record_by_criterion_under_other_names_is_read_too(metadata: dict[str, Any]) -> None:
    value, record = _score(SimpleNamespace(scores={"x": SimpleNamespace(value=1.0, metadata=metadata)}))
    assert value == 1.0
    assert [(r.criterion, r.weight, r.verdict, r.layer) for r in _rows(record, "7")] == [
        ("7-01", 5, True, Layer.TASK), ("06u1", -2, False, Layer.UNIVERSAL)]


def test_the_words_of_a_criterion_are_never_taken_for_its_id() -> None:
    metadata = {"criteria": [{"criterion": "Names every point of the lesson", "weight": 5, "verdict": True}], "note": {"a": 1}}
    assert _score(SimpleNamespace(scores={"x": SimpleNamespace(value=1.0, metadata=metadata)})) == (None, {})


@pytest.mark.parametrize(("criterion", "layer"), [
    ("711-04", Layer.TASK), ("09b-02", Layer.CONSENSUS), ("06u1", Layer.UNIVERSAL), ("12u10", Layer.UNIVERSAL),
    ("7111-04", Layer.CONSENSUS)])
def test_the_layer_is_read_from_the_shape_of_the_id(criterion: str, layer: Layer) -> None:
    assert layer_of(criterion, "711") is layer


def test_a_folder_and_a_zip_give_the_same_files_at_the_command_line(tmp_path: Path) -> None:
    made_folder(tmp_path / "folder", tasks=6)
    path = made_zip(tmp_path, tasks=6)
    for name, source in (("a", tmp_path / "folder"), ("b", path)):
        printed = run("pipeline.export", str(source), "--to", "csv", "json", "eee", "--out", str(tmp_path / name))
        assert len(printed.splitlines()) == 6
    files = sorted(p.relative_to(tmp_path / "a") for p in (tmp_path / "a").rglob("*") if p.is_file())
    assert len(files) == 6 and all((tmp_path / "a" / f).read_bytes() == (tmp_path / "b" / f).read_bytes() for f in files)


@pytest.mark.parametrize("name", ["x.eval", "x.json", "x.zip", "x.txt"])
def test_a_file_that_is_no_log_is_refused_in_words(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(json.dumps({"CANARY": 1}))
    with pytest.raises(UserError) as error:
        open_run(tmp_path / name)
    assert "CANARY" not in str(error.value)


def test_reading_a_run_folder_imports_no_inspect(tmp_path: Path) -> None:
    made_folder(tmp_path / "run", tasks=3)
    code = ("import sys; from pathlib import Path; from pipeline.export import export, open_run, FORMATS; import pipeline.verify\n"
            f"r = open_run(Path({str(tmp_path / 'run')!r})); [export(r, f) for f in FORMATS]\n"
            "assert 'inspect_ai' not in sys.modules and 'gradio' not in sys.modules")
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=60).returncode == 0
