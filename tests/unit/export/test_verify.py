"""verify: an untouched run agrees, every kind of change is found, and a hostile zip does no harm."""

import hashlib
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import UserError
from pipeline.events import from_line
from pipeline.report.export import bounded
from pipeline.verify import check_journal, main, spec_digest, verify
from tests.made_runs import Made, made_spec
from tests.unit.export.kit import journal, lines, made_folder, made_zip, packed, unpacked


@pytest.mark.parametrize("changes", [{}, {"epochs": 3, "tasks": 8}, {"tasks": 1}, {"faults": 1.0}, {"skill": 0.0},
                                     {"status": "stopped", "done": 7}, {"priced": False}, {"kind": "hub", "seed": 3}])
def test_an_untouched_run_agrees_as_folder_and_as_zip(
    tmp_path: Path, changes: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    changes = {"tasks": 15, **changes}
    assert verify(made_folder(tmp_path / "folder", **changes)) == []
    assert main([str(made_zip(tmp_path, **changes))]) == 0
    assert capsys.readouterr().out == "run.zip: agrees\n"


def first(events: list[dict[str, Any]], kind: str, **like: Any) -> dict[str, Any]:
    return next(e for e in events if e["kind"] == kind and all(e.get(k) == v for k, v in like.items()))


def flip(events: list[dict[str, Any]]) -> None:
    done = {e["task"] for e in events if e["kind"] == "task_finished" and e["outcome"] == "scored"}
    next(e for e in events if e["kind"] == "verdict" and e["task"] in done)["verdict"] ^= True


def raise_score(events: list[dict[str, Any]]) -> None:
    first(events, "task_finished", outcome="scored")["score"] += 0.01


def hide_failure(events: list[dict[str, Any]]) -> None:
    first(events, "task_finished", outcome="solver_empty")["outcome"] = "api_error"


def other_weight(events: list[dict[str, Any]]) -> None:
    done = first(events, "task_finished", outcome="scored")["task"]
    next(t for t in events[0]["tasks"] if t["key"] == done)["criteria"][0]["weight"] += 2


def drop_task(events: list[dict[str, Any]]) -> None:
    gone = events[0]["tasks"].pop()["key"]
    events[:] = [e for e in events if e.get("task") != gone]


def other_judge(events: list[dict[str, Any]]) -> None:
    events[0]["spec"]["judge"]["model"] = "demo/judge"


def drop_difference(events: list[dict[str, Any]]) -> None:
    events[0]["differences"] = []


def cheaper(events: list[dict[str, Any]]) -> None:
    first(events, "call")["cost"] = 0.0


def lost_verdict(events: list[dict[str, Any]]) -> None:
    task = first(events, "task_finished", outcome="scored")["task"]
    events.remove(first(events, "verdict", task=task))


def lenient(events: list[dict[str, Any]]) -> None:
    verdict = first(events, "verdict", verdict=True)
    verdict["strict"] = False


def two_verdicts(events: list[dict[str, Any]]) -> None:
    at = events.index(verdict := first(events, "verdict", verdict=False))
    events.insert(at, {**verdict, "verdict": True, "strict": True})


def two_ends(events: list[dict[str, Any]]) -> None:
    at = events.index(end := first(events, "task_finished", outcome="scored"))
    events.insert(at, {**end, "score": end["score"] + 0.5})


def other_verdict_after_a_resume_that_ran_beside(events: list[dict[str, Any]]) -> None:
    verdict = first(events, "verdict", verdict=True)
    events[1:1] = [{**events[0], "resumed": True}, {**verdict, "verdict": False, "strict": False}]


JOURNAL_CHANGES: dict[str, tuple[Callable[[list[dict[str, Any]]], None], str]] = {
    "a verdict": (flip, "recomputed from weights and verdicts"), "a score": (raise_score, "recomputed from weights and verdicts"),
    "an outcome": (hide_failure, "counts.solver_empty"), "a weight": (other_weight, "recomputed from weights and verdicts"),
    "a task less": (drop_task, "task_ids"), "the judge": (other_judge, "spec digest"),
    "a difference": (drop_difference, "differences"),
    "the spend": (cheaper, "spend.solver.cost"), "a verdict less": (lost_verdict, "verdicts are missing"),
    "the strict reading": (lenient, "the strict rule read"),
    # R1: two processes on one folder left contradicting verdicts and two means, and verify agreed with the later ones.
    "two verdicts": (two_verdicts, "the verdict on"), "two ends of a task": (two_ends, "ended twice in one stretch"),
    "a second process": (other_verdict_after_a_resume_that_ran_beside, "two processes wrote it at once"),
}


@pytest.mark.parametrize("name", JOURNAL_CHANGES)
def test_a_change_in_the_journal_is_found_and_named(tmp_path: Path, name: str) -> None:
    change, words = JOURNAL_CHANGES[name]
    members = unpacked(made_zip(tmp_path, tasks=30, faults=0.4))
    events = journal(members["events.jsonl"])
    change(events)
    members["events.jsonl"] = lines(events)
    # whoever changes a journal mends its digest too
    manifest = json.loads(members["manifest.json"])
    manifest["journal_sha256"] = hashlib.sha256(members["events.jsonl"]).hexdigest()
    members["manifest.json"] = json.dumps(manifest).encode()
    path = tmp_path / "changed.zip"
    path.write_bytes(packed(members))
    found = verify(path)
    assert any(words in line for line in found), found


def test_a_resume_may_replace_the_verdict_of_a_call_whose_record_was_lost(tmp_path: Path) -> None:
    folder = made_folder(tmp_path, tasks=1, faults=0.0)
    events = journal((folder / "events.jsonl").read_bytes())
    other = {**first(events, "verdict"), "verdict": not first(events, "verdict")["verdict"]}
    events[1:1] = [{**other, "strict": other["verdict"]}, {"kind": "run_finished", "status": "interrupted"},
                   {**events[0], "resumed": True}]
    view, found = check_journal([from_line(json.dumps(e)) for e in events])
    assert not found and view.resumes == 1


def test_a_journal_with_one_byte_more_is_found(tmp_path: Path) -> None:
    folder = made_folder(tmp_path, tasks=5)
    with (folder / "events.jsonl").open("ab") as f:
        f.write(b"\n")
    assert [line.partition(":")[0] for line in verify(folder)] == ["journal_sha256"]


@pytest.mark.parametrize("path", [
    "spec_digest", "task_ids.0", "counts.scored", "planned", "journal_sha256", "status", "cost", "differences.0", "prompt.digest",
    "data.digest", "models.solver", "spend.judge.calls", "summary.scored.value", "summary.scored.interval.low",
    "summary.attempted.value", "summary.attempted.interval.high", "summary.attempted.tasks", "summary.scored_count",
    "summary.by_competency.0.scored.value", "summary.counts.api_error", "spec.sample_limit", "versions.inspect-ai"])
def test_a_change_of_any_figure_of_the_manifest_is_found(tmp_path: Path, path: str) -> None:
    folder = made_folder(tmp_path, tasks=20)
    manifest = json.loads((folder / "manifest.json").read_text())
    *way, last = [int(p) if p.isdigit() else p for p in path.split(".")]
    at = manifest
    for step in way:
        at = at[step]
    at[last] = at[last] + 0.001 if isinstance(at[last], int | float) else f"{at[last]}x"
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert any(str(last) in line or str(way[-1] if way else last) in line for line in verify(folder))


def test_a_changed_table_and_a_missing_part_are_found(tmp_path: Path) -> None:
    members = unpacked(made_zip(tmp_path, tasks=5))
    members["tasks.csv"] = members["tasks.csv"].replace(b"scored", b"SCORED", 1)
    manifest = json.loads(members["manifest.json"])
    del manifest["summary"]["attempted"]
    members["manifest.json"] = json.dumps(manifest).encode()
    (tmp_path / "x.zip").write_bytes(packed(members))
    assert verify(tmp_path / "x.zip") == ["summary.attempted: missing in the manifest",
                                          "tasks.csv: differs from what the journal gives"]


def test_a_changed_readme_and_a_file_that_was_put_in_are_found(tmp_path: Path) -> None:
    members = unpacked(made_zip(tmp_path, tasks=5))
    members["README.txt"] = members["README.txt"].replace(b"Score    ", b"Score    99.9 % not ", 1)
    (tmp_path / "x.zip").write_bytes(packed({**members, "scores.csv": b"99.9"}))
    assert verify(tmp_path / "x.zip") == ["README.txt: differs from what the journal gives",
                                          "scores.csv: no run.zip holds such a file"]


def test_what_a_file_manager_adds_when_a_folder_is_packed_by_hand_is_passed_over(tmp_path: Path) -> None:
    members = {f"run/{name}": data for name, data in unpacked(made_zip(tmp_path, tasks=5)).items()}
    (tmp_path / "x.zip").write_bytes(packed({**members, "__MACOSX/run/._tasks.csv": b"x", "run/.DS_Store": b"x"}))
    assert verify(tmp_path / "x.zip") == []


def test_the_command_says_each_difference_and_exits_with_1(tmp_path: Path) -> None:
    folder = made_folder(tmp_path, tasks=5)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["counts"]["scored"] = 99
    (folder / "manifest.json").write_text(json.dumps(manifest))
    done = subprocess.run([sys.executable, "-m", "pipeline.verify", str(folder)], capture_output=True, text=True)
    assert done.returncode == 1 and "counts.scored: 99 in the manifest" in done.stdout and "1 difference" in done.stdout


def test_the_spec_digest_is_the_specs_own() -> None:
    spec = made_spec(Made(seed=4))
    assert spec_digest(json.loads(spec.model_dump_json())) == spec.digest


def bomb(path: Path, name: str = "events.jsonl") -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", "{}")
        with archive.open(name, "w") as member:
            for _ in range(64):
                member.write(b"0" * (1 << 20))
    return path


@pytest.mark.parametrize("make", [
    lambda p: p.write_bytes(b"no zip"), lambda p: p.write_bytes(packed({"events.jsonl": b""})),
    lambda p: p.write_bytes(packed({"manifest.json": b"{}"})),
    lambda p: p.write_bytes(packed({"manifest.json": b"[1]", "events.jsonl": b""})),
    lambda p: p.write_bytes(packed({"manifest.json": b"{" * 100000, "events.jsonl": b""})),
    lambda p: p.write_bytes(packed({"manifest.json": b"{}", "events.jsonl": b"\x00\xff{\n"})),
    lambda p: p.write_bytes(packed({"manifest.json": b"{}", "events.jsonl": b"", "../../etc/x": b""})),
    lambda p: p.write_bytes(packed({"manifest.json": b"{}", "events.jsonl": b"", "/etc/x": b""})),
    lambda p: p.write_bytes(packed({"manifest.json": b"{}", "events.jsonl": b"", "C:\\x": b""})),
    lambda p: p.write_bytes(packed({f"f{i}": b"" for i in range(500)})), lambda p: p.mkdir(), lambda p: None])
def test_what_is_no_run_is_refused_in_words(
    tmp_path: Path, make: Callable[[Path], Any], capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "odd.zip"
    make(path)
    assert main([str(path)]) == 2
    said = capsys.readouterr()
    assert not said.out and said.err.strip() and "Traceback" not in said.err
    assert sorted(p.name for p in tmp_path.rglob("*")) in ([], ["odd.zip"])


def test_a_bomb_is_stopped_by_what_comes_out_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded, "MOST_BYTES", 8 << 20)
    assert bomb(tmp_path / "b.zip").stat().st_size < 1 << 20
    with pytest.raises(UserError, match="unpacks to more"), bounded.Archive(tmp_path / "b.zip") as archive:
        list(archive.chunks("events.jsonl"))


def test_a_line_without_end_is_stopped(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="too long"):
        verify(bomb(tmp_path / "b.zip"))


def test_the_same_name_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "twice.zip"
    with zipfile.ZipFile(path, "w") as archive, pytest.warns(UserWarning):
        archive.writestr("manifest.json", "{}")
        archive.writestr("manifest.json", "{}")
    assert main([str(path)]) == 2


def test_a_journal_that_no_run_could_write_is_refused(tmp_path: Path) -> None:
    members = unpacked(made_zip(tmp_path, tasks=3))
    for epochs in ("many", 10**9, None):
        events = journal(members["events.jsonl"])
        events[0]["spec"]["epochs"] = epochs
        (tmp_path / "x.zip").write_bytes(packed({**members, "events.jsonl": lines(events)}))
        with pytest.raises(UserError):
            verify(tmp_path / "x.zip")
