"""Going on after a crash, an interrupt or a stop: what was answered is never paid twice, and nothing of it is lost.

Twenty crashes of the engine's worker: test_engine.py.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.log import read_eval_log

from pipeline.events import read_journal
from pipeline.ledger import read_ledger
from pipeline.report.view import RunView, fold
from pipeline.verify import verify
from tests.http.fake_llm import FakeLLM
from tests.http.runs import JUDGE, SOLVER, evaluate, tasks_file

ROOT = Path(__file__).resolve().parents[2]
PLANNED = 12 * 4


class CommandLine:
    """`python -m pipeline.eval` on twelve tasks of three criteria against a fake, three calls at a time."""

    def __init__(self, fake: FakeLLM, folder: Path) -> None:
        self.fake, self.folder, self.logs = fake, folder, folder / "logs"
        csv_path, resources = tasks_file(folder, 12)
        self.data = ["--csv-path", str(csv_path), "--resources-dir", str(resources)]
        self.first = ["--model", SOLVER, "--scorer-model", JUDGE, "--model-base-url", f"{fake.url}/v1", "--scorer-base-url",
                      f"{fake.url}/v1", "--prompt-source", "own", "--max-connections", "3", "--log-dir", str(self.logs)]
        self.env = {**os.environ, "FAKE_API_KEY": "canary-env-000111"}

    def start(self, resume: bool = False, *more: str) -> subprocess.Popen[str]:
        args = ["--resume", str(self.logs)] if resume else self.first
        return subprocess.Popen([sys.executable, "-m", "pipeline.eval", *args, *self.data, *more], cwd=ROOT, env=self.env, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def wait_for(self, process: subprocess.Popen[str], requests: int) -> None:
        """Until that many requests have arrived."""
        end = time.monotonic() + 60
        while len(self.fake.received()) < requests and process.poll() is None and time.monotonic() < end:
            time.sleep(0.01)

    def view(self) -> RunView:
        return fold(list(read_journal((self.logs / "events.jsonl").open("rb"))))

    def answered(self) -> set[str]:
        return {e.id.text(0) for e in read_ledger(self.logs / "private" / "ledger.jsonl") if not e.fault}


@pytest.fixture
def cli(fake: FakeLLM, tmp_path: Path) -> CommandLine:
    for role in ("solver", "judge"):
        fake.script(role, {"delay": 0.03, "every": True})
    return CommandLine(fake, tmp_path)


def test_a_killed_command_goes_on_without_paying_twice_and_keeps_every_verdict(cli):
    chance, verdicts, kept = random.Random(11), set(), set()
    for n, requests in enumerate((chance.randint(4, 14), chance.randint(20, 34))):
        process = cli.start(resume=n > 0)
        cli.wait_for(process, requests)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        verdicts |= {(a.task, c) for a in cli.view().attempts.values() for c, v in a.verdicts.items() if v.verdict is not None}
        kept |= cli.answered()
    out, _ = (last := cli.start(True, "--json")).communicate(timeout=90)
    assert last.returncode == 0 and kept <= cli.answered()
    assert PLANNED <= len(cli.fake.received()) <= PLANNED + 2 * 3
    assert cli.view().counts()["scored"] == 12 and cli.view().status == "finished" and len(verdicts) >= 3
    assert verify(cli.logs) == [], "the manifest tells the whole run, not its last stretch"
    assert verdicts <= {(a.task, c) for a in cli.view().attempts.values() for c, v in a.verdicts.items() if v.verdict is not None}
    assert json.loads(out)["exit_code"] == 0 and json.loads(out)["counts"]["scored"] == 12


def test_an_interrupted_command_exits_130_with_a_readable_log_and_goes_on(cli):
    process = cli.start()
    cli.wait_for(process, 10)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in err
    (log,) = cli.logs.rglob("*.eval")
    assert read_eval_log(str(log)).samples and (cli.logs / "manifest.json").exists()
    before = len(cli.fake.received())
    assert len(cli.answered()) == before, "an answer that was under way was thrown away"
    again = cli.start(True)
    again.communicate(timeout=90)
    assert again.returncode == 0 and len(cli.fake.received()) == PLANNED and cli.view().counts()["scored"] == 12


def test_a_journal_that_was_cut_in_the_middle_of_a_line_still_serves(cli):
    cli.start().communicate(timeout=90)
    journal = cli.logs / "events.jsonl"
    whole = journal.read_bytes()
    journal.write_bytes(whole[: len(whole) - 40])
    out, _ = cli.start(True, "--json").communicate(timeout=90)
    assert cli.view().resumes == 1, "the start of the second stretch was glued to the cut line"
    assert verify(cli.logs) == [] and json.loads(out)["counts"]["scored"] == 12 and len(cli.fake.received()) == PLANNED


def test_a_ledger_that_was_cut_in_the_middle_of_a_line_still_serves(fake, tmp_path):
    first = evaluate(fake, tmp_path, count=2)
    ledger = first.places.ledger
    raw = ledger.read_bytes()
    ledger.write_bytes(raw[: len(raw) - 40])
    again = evaluate(fake, tmp_path, count=2)
    assert again.view.counts()["scored"] == 2 and len(fake.received()) == 8 + 1


def test_money_and_tokens_of_earlier_stretches_count_against_the_cap(fake, tmp_path):
    first = evaluate(fake, tmp_path, count=4, max_calls=5)
    assert first.view.status == "capped" and len(fake.received()) <= 5
    again = evaluate(fake, tmp_path, count=4, max_calls=5)
    assert again.view.status == "capped" and len(fake.received()) <= 5
    more: Any = evaluate(fake, tmp_path, count=4, max_calls=16)
    assert more.view.counts()["scored"] == 4 and len(fake.received()) == 16


def test_a_fault_that_ended_a_task_is_tried_anew_on_resume_and_only_that(fake, tmp_path):
    fake.script("judge", {"status": 500, "every": True, "match": "point 2 of task 1"})
    first = evaluate(fake, tmp_path, count=2, api_retries=0)
    assert first.view.counts()["api_error"] == 1
    fake.state.queue["judge"].clear()
    before = len(fake.received())
    assert evaluate(fake, tmp_path, count=2, api_retries=0).view.counts()["scored"] == 2
    assert len(fake.received()) == before + 1
