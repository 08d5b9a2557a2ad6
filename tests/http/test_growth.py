"""A run grows: more tasks and epochs on what is paid for, recorded as a new spec that names the old one."""

import asyncio
import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import UserError
from pipeline.eval import main
from pipeline.events import RunStarted, read_journal
from pipeline.report.command import command_line, repeating
from pipeline.report.view import RunView, fold
from pipeline.verify import verify
from runner.limits import Limits
from tests.http.fake_llm import FakeLLM
from tests.http.runner_kit import ended, key, service, spec
from tests.http.runs import JUDGE, SOLVER, tasks_file

EACH = 4  # one answer and three verdicts a task


class Shell:
    """`python -m pipeline.eval` on twelve tasks of three criteria, in this process."""

    def __init__(self, fake: FakeLLM, folder: Path, capsys: Any) -> None:
        self.fake, self.logs, self.capsys = fake, folder / "logs", capsys
        csv_path, resources = tasks_file(folder, 12)
        self.first = ["--model", SOLVER, "--scorer-model", JUDGE, "--model-base-url", f"{fake.url}/v1", "--scorer-base-url",
                      f"{fake.url}/v1", "--prompt-source", "own", "--csv-path", str(csv_path), "--resources-dir", str(resources),
                      "--log-dir", str(self.logs)]

    def begin(self, *flags: str) -> dict[str, Any]:
        return self._run([*self.first, *flags])

    def grow(self, *flags: str) -> dict[str, Any]:
        return self._run(["--resume", str(self.logs), *flags])

    def _run(self, args: list[str]) -> dict[str, Any]:
        code = main([*args, "--json"])
        said = self.capsys.readouterr()
        return json.loads(said.out) if code < 2 else {"refused": said.err}

    @property
    def asked(self) -> int:
        return len(self.fake.received())

    def view(self) -> RunView:
        return fold(read_journal((self.logs / "events.jsonl").read_bytes().splitlines()))


@pytest.fixture
def shell(fake: FakeLLM, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.setenv("FAKE_API_KEY", "canary-env-000111")
    return Shell(fake, tmp_path, capsys)


def test_more_tasks_are_asked_on_top_of_those_that_are_paid_for(shell):
    # R9: 5 tasks done, then 10 wanted: refused, and the 5 were paid for again in a new run
    first = shell.begin("--sample-limit", "5")
    assert shell.asked == 5 * EACH
    more = shell.grow("--sample-limit", "10")
    assert more["counts"]["scored"] == more["planned"] == 10 and shell.asked == 10 * EACH
    whole = shell.grow("--sample-limit", "0")
    assert whole["counts"]["scored"] == 12 and shell.asked == 12 * EACH and verify(shell.logs) == []
    assert "tasks added after results were seen: 5 → 10 → 12" in whole["differences"]
    assert not [d for d in whole["differences"] if d.startswith("first ")], "it has all of the tasks now"
    assert first["spec_digest"] in {s.spec_digest for s in shell.view().grown}


def test_the_old_spec_is_named_by_the_new_one_and_kept(shell):
    first = shell.begin("--sample-limit", "2")
    second = shell.grow("--sample-limit", "3", "--max-calls", "50")
    third = shell.grow("--epochs", "2")
    manifest = json.loads((shell.logs / "manifest.json").read_text())
    assert manifest["spec"]["grown_from"] == second["spec_digest"] and manifest["spec_digest"] == third["spec_digest"]
    assert [(s["spec_digest"], s["tasks"], s["epochs"], s["ended"]) for s in manifest["grown"]] == [
        (first["spec_digest"], 2, 1, 2), (second["spec_digest"], 3, 1, 3)]
    for digest in (first["spec_digest"], second["spec_digest"]):
        assert sha256((shell.logs / "specs" / f"{digest}.json").read_bytes()).hexdigest() == digest
    starts = [e for e in read_journal((shell.logs / "events.jsonl").read_bytes().splitlines()) if isinstance(e, RunStarted)]
    assert [e.spec.get("grown_from") for e in starts] == [None, first["spec_digest"], second["spec_digest"]]
    assert verify(shell.logs) == []


def test_more_epochs_ask_only_the_new_ones(shell):
    shell.begin("--sample-limit", "3")
    grown = shell.grow("--epochs", "3")
    assert shell.asked == 3 * 3 * EACH and grown["counts"]["scored"] == 9 and verify(shell.logs) == []
    assert "epochs added after results were seen: 1 → 3" in grown["differences"] and "3 epochs" in grown["differences"]


@pytest.mark.parametrize("more", [["--task-ids", "7", "2", "5"], ["--task-ids", "2,5,7,9"]])
def test_a_wider_choice_that_holds_the_old_one_grows(shell, more):
    shell.begin("--task-ids", "2", "5")
    grown = shell.grow(*more)
    assert shell.asked == grown["planned"] * EACH == grown["counts"]["scored"] * EACH > 2 * EACH


def test_a_stratified_sample_grows_around_what_it_has(shell):
    shell.begin("--sample-limit", "3", "--sampling", "stratified", "--seed", "4", "--competency", "01", "02")
    old = {t.key for t in shell.view().tasks}
    grown = shell.grow("--sample-limit", "8", "--competency", "01", "02", "03")
    assert old < {t.key for t in shell.view().tasks} and grown["planned"] == 8 and shell.asked == 8 * EACH
    assert {t.competency[:2] for t in shell.view().tasks} == {"01", "02", "03"} and verify(shell.logs) == []
    again = repeating(shell.view())
    assert again is not None and not again.grown_from and set(again.task_ids) == {t.key for t in shell.view().tasks}
    assert "--task-ids" in command_line(again) and "--sample-limit" not in command_line(again)


@pytest.mark.parametrize("less", [["--sample-limit", "4"], ["--epochs", "1"], ["--task-ids", "1", "2", "3"], ["--competency", "01"]])
def test_a_run_never_shrinks(shell, less):
    shell.begin("--sample-limit", "5", "--epochs", "2")
    asked, written = shell.asked, (shell.logs / "spec.json").read_text()
    refused = shell.grow(*less)["refused"]
    assert "Nothing was started" in refused and ("never shrink" in refused or "holds all of them" in refused)
    assert shell.asked == asked and (shell.logs / "spec.json").read_text() == written


def test_what_asks_for_nothing_new_leaves_the_run_as_it_is(shell):
    first = shell.begin()
    assert shell.grow("--sample-limit", "12")["spec_digest"] == first["spec_digest"] and shell.asked == 12 * EACH


def test_a_stopped_run_can_grow_and_a_grown_one_can_go_on(shell):
    assert shell.begin("--sample-limit", "4", "--max-calls", "9")["status"] == "capped"
    assert shell.grow("--sample-limit", "6", "--max-calls", "13")["status"] == "capped"
    done = shell.grow("--max-calls", "500", "--api-retries", "7", "--call-timeout", "60", "--max-connections", "3")
    assert done["counts"]["scored"] == 6 and shell.asked == 6 * EACH and verify(shell.logs) == []
    assert (shell.view().spec["api_retries"], shell.view().spec["call_timeout"]) == (7, 60)


@pytest.mark.parametrize(("cap", "said"), [(["--max-calls", "7"], "7 is below the 8"), (["--max-tokens", "1"], "1 is below the"),
                                           (["--max-calls", "0"], "0 is below the 8")])
def test_a_cap_below_what_was_spent_is_said(shell, cap, said):
    shell.begin("--sample-limit", "2")
    assert said in shell.grow("--sample-limit", "3", *cap)["refused"] and shell.asked == 2 * EACH


def test_other_data_are_refused_when_a_run_grows(shell, tmp_path):
    shell.begin("--sample-limit", "2")
    tasks_file(tmp_path, 12, (5, 3, 1))
    assert "not those of this run" in shell.grow("--sample-limit", "3")["refused"] and shell.asked == 2 * EACH


def test_a_dry_run_tells_what_is_new_and_leaves_the_folder_alone(shell):
    shell.begin("--sample-limit", "2")
    before = {p: p.read_bytes() for p in shell.logs.rglob("*") if p.is_file()}
    data = shell.grow("--sample-limit", "5", "--dry-run")
    assert data["tasks"] == ["1", "2", "3", "4", "5"] and data["new_calls"] == {"solver": 3, "judge": 9}
    assert {p: p.read_bytes() for p in shell.logs.rglob("*") if p.is_file()} == before and shell.asked == 2 * EACH


@pytest.mark.parametrize("flag", [["--solver-temperature", "0"], ["--seed", "0"], ["--model-base-url", "http://127.0.0.1:1/v1"],
                                  ["--scorer-base-url", "http://127.0.0.1:1/v1"], ["--judge-verdict-retries", "0"]])
def test_what_was_measured_cannot_change_by_a_zero_or_an_address(shell, flag):
    # a flag given as 0, and an address, were passed over without a word
    shell.begin("--sample-limit", "1", "--solver-temperature", "0.7", "--seed", "3", "--judge-verdict-retries", "1")
    assert f"{flag[0].replace('model', 'solver', 1)}" in shell.grow(*flag)["refused"].replace("--model-", "--solver-")


def test_a_chain_that_was_tampered_with_is_found(shell):
    first = shell.begin("--sample-limit", "2")
    shell.grow("--sample-limit", "3")
    journal = shell.logs / "events.jsonl"
    journal.write_text(journal.read_text().replace(first["spec_digest"], "0" * 64, 1))
    assert any("grew from" in line or "spec digest" in line for line in verify(shell.logs))


def test_a_run_that_grows_keeps_its_old_spec_and_the_limits_of_a_new_one(tmp_path: Path) -> None:
    async def go() -> None:
        async with service(tmp_path, Limits(visitor_runs=0, free_mb=0, tasks=6)) as s:
            rid = await s.start(spec(tasks=3), key())
            await ended(s, rid)
            folder = s.folder(s.get(rid))
            for wrong, said in (({"sample_limit": 2}, "never shrink"), ({"sample_limit": 9, "epochs": 9}, "At most 6"), ({"seed": 4}, "--seed"),
                                ({"max_calls": 1}, "has used already"), ({"judge.model": "x/y"}, "--scorer-model")):
                with pytest.raises(UserError, match=said):
                    await s.resume(rid, key(), wrong)
            assert not (folder / "specs").exists() and (await s.view(rid)).status == "finished"
            await s.resume(rid, key(), {"epochs": 2, "call_timeout": 30, "api_retries": 9})
            await ended(s, rid)
            grown = s.store.spec(s.get(rid).key)
            assert (grown.grown_from, grown.epochs, grown.call_timeout) == ("d" * 64, 2, 30)
            assert json.loads((folder / "specs" / f"{'d' * 64}.json").read_text())["epochs"] == 1

    asyncio.run(go())


def test_what_a_filter_or_an_empty_answer_ended_is_not_asked_again(shell):
    # an answer that a content filter had stopped was sent, and paid for, anew each time that a run went on
    shell.fake.script("solver", {"text": "no", "finish": "content_filter", "match": "lesson 1,", "every": True})
    shell.fake.script("solver", {"text": "", "match": "lesson 2,", "every": True})
    first = shell.begin("--sample-limit", "3")
    assert (first["counts"]["filtered"], first["counts"]["solver_empty"], first["counts"]["scored"]) == (1, 1, 1)
    asked = shell.asked
    grown = shell.grow("--sample-limit", "4")
    assert (grown["counts"]["filtered"], grown["counts"]["solver_empty"], grown["counts"]["scored"]) == (1, 1, 2)
    assert shell.asked == asked + EACH and verify(shell.logs) == []
