"""`inspect eval pipeline/task.py` from the repository's root, as inspect's own users call it, and inspect's reading of our logs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from inspect_ai.log import list_eval_logs, read_eval_log, read_eval_log_sample_summaries

from tests.http.runs import JUDGE, SOLVER, evaluate, tasks_file

ROOT = Path(__file__).resolve().parents[2]


def inspect(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
    """The `inspect` program of this environment."""
    return subprocess.run([sys.executable, "-m", "inspect_ai", *args], cwd=ROOT, env={**os.environ, **env}, text=True,
                          capture_output=True, timeout=120)


def test_inspect_eval_answers_and_judges_a_subset_with_a_judge_of_ones_choice(fake, tmp_path):
    csv_path, resources = tasks_file(tmp_path, 5)
    fake.script("judge", {"text": "**true**", "match": "point 2 of task 4"})
    result = inspect(
        "eval", "pipeline/task.py", "--model", SOLVER, "-T", f"scorer_model={JUDGE}", "-T", "competency=02",
        "-T", f"csv_path={csv_path}", "-T", f"resources_dir={resources}", "-T", "prompt_source=own", "--log-dir", str(tmp_path / "logs"),
        "--display", "none", FAKE_API_KEY="canary-env-000111", FAKE_BASE_URL=f"{fake.url}/v1")
    assert result.returncode == 0, result.stderr
    assert len(fake.received("solver")) == 2 and len(fake.received("judge")) == 6
    assert fake.received("solver")[0]["body"]["temperature"] == 0.0 and fake.received("solver")[0]["body"]["max_tokens"] == 4096
    (info,) = list_eval_logs(str(tmp_path / "logs"))
    log = read_eval_log(info)
    scores = {s.id: s.scores["l2_bench_scorer"] for s in log.samples}
    assert log.status == "success" and scores["1"].value == 1.0 and scores["4"].metadata["outcome"] == "judge_unparsable"
    assert log.results.scores[0].metrics["mean"].value == 1.0, "a task without a score is left out of inspect's mean"
    assert log.eval.metadata["prompt"]["digest"] and log.eval.metadata["spec"]["competency"] == ["2"]
    assert "canary" not in result.stdout + result.stderr


def test_inspects_own_flags_and_its_grader_are_in_the_list_of_differences(fake, tmp_path):
    csv_path, resources = tasks_file(tmp_path, 1)
    grader = json.dumps({"model": JUDGE, "temperature": 0.3})
    result = inspect(
        "eval", "pipeline/task.py", "--model", SOLVER, "--temperature", "0.7", "--model-role", f"grader={grader}", "-T",
        f"csv_path={csv_path}", "-T", f"resources_dir={resources}", "-T", "prompt_source=own", "--log-dir", str(tmp_path / "logs"),
        "--max-connections", "3", "--display", "plain", FAKE_API_KEY="canary-env-000111", FAKE_BASE_URL=f"{fake.url}/v1")
    assert result.returncode == 0, result.stderr
    (info,) = list_eval_logs(str(tmp_path / "logs"))
    metadata = read_eval_log(info, header_only=True).eval.metadata
    assert {"solver temperature 0.7", f"judge at an address of its own: {JUDGE}", "judge temperature 0.3", "judge without a reasoning budget"} \
        <= set(metadata["differences"])
    assert metadata["spec"]["max_connections"] == 3
    assert fake.received("solver")[0]["body"]["temperature"] == 0.7 and fake.received("judge")[0]["body"]["temperature"] == 0.3


@pytest.mark.parametrize("given", ["context=level", "sampling=some"])
def test_inspect_eval_says_in_one_sentence_why_nothing_was_started(tmp_path, given):
    result = inspect("eval", "pipeline/task.py", "--model", SOLVER, "-T", given, "--log-dir", str(tmp_path / "logs"),
                     "--display", "plain", FAKE_API_KEY="canary-env-000111", FAKE_BASE_URL="http://127.0.0.1:9/v1")
    said = result.stdout + result.stderr
    assert result.returncode != 0 and "Nothing was started. " in said and "Traceback" not in said, said


def test_inspect_eval_reads_the_data_set_that_the_environment_names(tmp_path):
    result = inspect("eval", "pipeline/task.py", "--model", SOLVER, "--log-dir", str(tmp_path / "logs"), "--display", "plain",
                     FAKE_API_KEY="canary-env-000111", FAKE_BASE_URL="http://127.0.0.1:9/v1", TASKS_REPO="somebody/a-set",
                     HF_ENDPOINT="http://127.0.0.1:9", HF_HOME=str(tmp_path))
    assert result.returncode != 0 and "somebody/a-set" in result.stdout + result.stderr


def test_inspect_opens_the_logs_of_our_own_runs(fake, tmp_path):
    done = evaluate(fake, tmp_path, count=3)
    (info,) = list_eval_logs(str(done.places.logs))
    summaries = read_eval_log_sample_summaries(info)
    assert sorted(s.id for s in summaries) == ["1", "2", "3"] and not any(s.error for s in summaries)
    dumped = inspect("log", "dump", info.name, "--header-only")
    header = json.loads(dumped.stdout)
    assert header["status"] == "success" and header["eval"]["task"] == "l2-bench-eval"


def test_a_run_holds_few_tasks_whole_before_they_are_in_its_log(fake, tmp_path):
    # Inspect's own rule lets a run of many tasks or connections hold a tenth of its tasks, each of several hundred kilobytes.
    few, many = (evaluate(fake, tmp_path / str(n), count=n, weights=(5,), max_connections=100) for n in (6, 130))
    held = [read_eval_log(list_eval_logs(str(done.places.logs))[0], header_only=True).eval.config.log_buffer for done in (few, many)]
    assert held == [2, 10]
