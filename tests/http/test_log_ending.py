"""The `.eval` log says how it ended, as inspect means it, to inspect's own readers."""

import math
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.log import list_eval_logs, read_eval_log, read_eval_log_sample_summaries, recompute_metrics

from pipeline.switch import Switch
from tests.http.fake_llm import FakeLLM
from tests.http.runs import JUDGE, SOLVER, Done, evaluate, tasks_file
from tests.http.test_resume import ROOT, CommandLine


def log_of(folder: Path, header_only: bool = False) -> Any:
    """The newest log of a folder."""
    newest = max(list_eval_logs(str(folder)), key=lambda info: info.mtime)
    return read_eval_log(newest, header_only=header_only)


def log(done: Done) -> Any:
    return log_of(done.places.logs)


def stop_after(switch: Switch, tasks: int) -> Any:
    """A sink that asks for the stop when so many tasks were scored."""
    ended: list[str] = []

    def sink(event: Any) -> None:
        if event.kind == "task_finished" and event.outcome == "scored":
            ended.append(event.task)
            if len(ended) == tasks:
                threading.Thread(target=switch.stop).start()

    return sink


def test_a_run_that_finished_is_a_success_also_where_single_tasks_were_lost(fake, tmp_path):
    fake.script("judge", {"text": "perhaps", "match": "point 2 of task 2", "every": True})
    fake.script("solver", {"text": "", "match": "lesson 3", "every": True})
    found = log(evaluate(fake, tmp_path, count=4))
    errors = {s.id: s.error.message if s.error else "" for s in found.samples}
    assert found.status == "success" and found.error is None and errors["2"].startswith("judge_unparsable: ")
    assert errors["1"] == errors["3"] == errors["4"] == "", "the model's own failure is final: eval-retry must not ask again"
    assert found.results.completed_samples == 3 and found.results.scores[0].metrics["mean"].value == 1.0
    (score,) = found.samples[1].scores.values()
    assert math.isnan(score.value) and len(score.metadata["scoring_results"]) == 3, "verdicts that there are stay"


def test_a_stopped_run_is_cancelled(fake, tmp_path):
    # C3: always "success", also with 13 of 20 cancelled
    for role in ("solver", "judge"):
        fake.script(role, {"delay": 0.02, "every": True})
    switch = Switch()
    done = evaluate(fake, tmp_path, count=20, max_connections=3, switch=switch, sink=stop_after(switch, 7))
    found, lost = log(done), done.view.counts()["cancelled"]
    assert found.status == "cancelled" and 7 <= done.view.counts()["scored"] < 20 and lost
    scored = [s for s in found.samples if s.error is None]
    assert len(scored) == done.view.counts()["scored"] and all(not math.isnan(s.scores["l2_bench_scorer"].value) for s in scored)
    assert all(s.error for s in found.samples if s not in scored)


@pytest.mark.parametrize("count", [3, 40])
def test_a_run_that_was_cut_at_its_cap_is_cancelled(fake, tmp_path, count):
    done = evaluate(fake, tmp_path, count=count, max_calls=9)
    found = log(done)
    assert done.view.status == "capped" and found.status == "cancelled"
    assert all(s.error.message.startswith(("skipped_by_cap: ", "CancelledError(")) for s in found.samples if s.error)


@pytest.mark.parametrize("reply", [{"status": 401, "raw": '{"error": {"message": "Incorrect API key provided"}}'},
                                   {"status": 402, "raw": '{"error": {"message": "Insufficient credits"}}'}])
@pytest.mark.parametrize("after", [0, 4])
def test_a_run_whose_key_gave_out_ended_with_an_error_that_says_so(fake, tmp_path, reply, after):
    for _ in range(after):
        fake.script("solver", {})
    fake.script("solver", {**reply, "every": True})
    done = evaluate(fake, tmp_path, count=20, max_connections=1)
    found = log(done)
    assert done.view.status == "failed" and done.view.counts()["scored"] < 20
    assert found.status == "error" and found.error.message == done.view.reason != ""


def test_a_run_in_which_nothing_was_scored_ended_with_an_error(fake, tmp_path):
    fake.script("solver", {"status": 500, "every": True})
    found = log(evaluate(fake, tmp_path, count=3, api_retries=0))
    assert found.status == "error" and "3 api_error" in found.error.message and all(s.error for s in found.samples)


def test_a_pilot_is_a_whole_log_of_its_few_tasks(fake, tmp_path):
    done = evaluate(fake, tmp_path, count=12, pilot=True)
    assert done.view.status == "paused" and log(done).status == "success" and len(log(done).samples) == 5


def test_a_stop_after_the_last_task_leaves_a_success(fake, tmp_path):
    switch = Switch()
    done = evaluate(fake, tmp_path, count=2, switch=switch, sink=stop_after(switch, 2))
    assert done.view.counts()["scored"] == 2 and log(done).status == "success"


def test_a_resumed_run_has_one_whole_log_also_when_it_is_stopped_again(fake, tmp_path):
    first = evaluate(fake, tmp_path, count=9, max_calls=16)
    assert (first.view.counts()["scored"], log(first).status) == (4, "cancelled")
    fake.script("solver", {"delay": 20, "every": True})
    switch = Switch()
    sink = lambda event: threading.Thread(target=switch.stop).start() if event.kind == "connections" or (  # noqa: E731
        event.kind == "task_finished" and event.outcome == "scored") else None
    again = evaluate(fake, tmp_path, count=9, max_calls=500, max_connections=2, switch=switch, sink=sink, stop_grace=0.1)
    assert log(again).status == "cancelled"
    assert sum(s.error is None for s in log(again).samples) == 4, "what is paid for was left out of the log"
    fake.state.queue["solver"].clear()
    last = evaluate(fake, tmp_path, count=9, max_calls=500)
    assert log(last).status == "success" and all(s.error is None for s in log(last).samples) and len(log(last).samples) == 9


def test_inspects_own_readers_tell_scored_samples_from_lost_ones(fake, tmp_path):
    fake.script("judge", {"text": "false", "match": "of task 1", "every": True})
    done = evaluate(fake, tmp_path, count=6, max_calls=9)
    (info,) = list_eval_logs(str(done.places.logs))
    assert read_eval_log(info, header_only=True).status == "cancelled"
    summaries = read_eval_log_sample_summaries(info)
    assert sum(not s.error for s in summaries) == 2 and all(s.scores for s in summaries if not s.error)
    whole = read_eval_log(info)
    recompute_metrics(whole)
    assert whole.results.scores[0].metrics["mean"].value == 0.5, "a lost sample entered the mean"


def test_ctrl_c_leaves_a_cancelled_log(fake: FakeLLM, tmp_path: Path):
    for role in ("solver", "judge"):
        fake.script(role, {"delay": 0.03, "every": True})
    cli = CommandLine(fake, tmp_path)
    process = cli.start()
    cli.wait_for(process, 14)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130 and log_of(cli.logs, header_only=True).status == "cancelled"


def inspect(fake: FakeLLM, *args: str) -> subprocess.CompletedProcess[str]:
    """The `inspect` program of this environment."""
    import os

    env = {**os.environ, "FAKE_API_KEY": "canary-env-000111", "FAKE_BASE_URL": f"{fake.url}/v1"}
    return subprocess.run([sys.executable, "-m", "inspect_ai", *args], cwd=ROOT, env=env, text=True, capture_output=True, timeout=120)


def test_inspect_eval_says_it_too_and_eval_retry_asks_only_what_was_lost(fake, tmp_path):
    csv_path, resources = tasks_file(tmp_path, 3)
    logs = str(tmp_path / "logs")
    fake.script("judge", {"status": 400, "match": "of task 2", "every": True})
    args = ("eval", "pipeline/task.py", "--model", SOLVER, "-T", f"scorer_model={JUDGE}", "-T", f"csv_path={csv_path}", "-T",
            f"resources_dir={resources}", "-T", "prompt_source=own", "--log-dir", logs, "--display", "none")
    assert inspect(fake, *args, "-T", "max_calls=8").returncode == 0
    found = log_of(tmp_path / "logs")
    assert found.status == "cancelled" and {s.id for s in found.samples if s.error} == {"2", "3"}
    fake.state.queue["judge"].clear()
    asked = len(fake.received("solver"))
    again = inspect(fake, "eval-retry", str(found.location), "--log-dir", logs, "--display", "none")
    assert again.returncode == 0, again.stderr
    assert len(fake.received("solver")) == asked + 2, "only the two that were lost"
    whole = log_of(tmp_path / "logs")
    assert whole.status == "success" and len(whole.samples) == 3 and not any(s.error for s in whole.samples)
