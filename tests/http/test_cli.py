"""The command line from outside: exit codes, what is printed and where, and that nothing is sent when nothing should be."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.eval import main
from pipeline.flags import build_parser, spec_of
from pipeline.verify import verify
from tests.http.runs import tasks_file

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch, tmp_path):
    for name in ("TASKS_REPO", "DEFAULT_JUDGE_MODEL", "DEFAULT_JUDGE_PROMPT_VERSION", "DEFAULT_JUDGE_REASONING_TOKENS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FAKE_API_KEY", "canary-cli-000333")
    monkeypatch.chdir(tmp_path)


def flags(fake, folder, *more, count=2):
    csv_path, resources = tasks_file(folder, count)
    url = f"{fake.url}/v1"
    return ["--model", "openai-api/fake/solver", "--model-base-url", url, "--scorer-model", "openai-api/fake/judge",
            "--scorer-base-url", url, "--csv-path", str(csv_path), "--resources-dir", str(resources), "--prompt-source", "own",
            "--log-dir", str(folder / "logs"), *more]


def test_every_task_scored_exits_0_and_json_is_alone_on_standard_output(fake, tmp_path, capsys):
    assert main(flags(fake, tmp_path, "--json")) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["counts"]["scored"] == 2 and data["scored"]["mean"] == 1.0 and data["exit_code"] == 0
    assert Path(data["log"]).exists() and data["calls"] == {"solver": 2, "judge": 6}


def test_a_task_that_was_not_scored_exits_1_and_is_explained(fake, tmp_path, capsys):
    fake.script("judge", {"text": "I think it is fine", "match": "point 2 of task 1"})
    assert main(flags(fake, tmp_path)) == 1
    out = capsys.readouterr().out
    assert "judge_unparsable" in out and "I think it is fine" in out and "inspect view --log-dir" in out
    assert "Mean over scored tasks: 100.0 %" in out and "Differences from the reference settings" in out


@pytest.mark.parametrize("more", [["--task-ids", "99"], ["--competency", "no such"], ["--scorer-temperature", "0", "--scorer-reasoning-tokens", "9"],
                                  ["--solver-temperature=0", "--context", "level"], ["--epochs", "0"],
                                  ["--no-such-flag"], ["--source", "demo"], ["--env-file", "absent.env"], ["--sampling", "some"], ["--sample-limit", "many"], ["--competency"],
                                  ["--solver-logit-bias", "hello"], ["--solver-temperature", "nan"], ["--max-cost", "inf"]])
@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_nothing_is_started_where_something_does_not_fit(fake, tmp_path, capsys, more, dry):
    assert main(flags(fake, tmp_path, *more, *dry)) == 2
    out = capsys.readouterr()
    assert out.err.startswith("Nothing was started. ") and len(out.err.splitlines()) < 5 and "Traceback" not in out.err
    assert not out.out and not fake.received() and not (tmp_path / "logs").exists()


def test_a_cap_in_money_is_refused_where_no_price_is_known(fake, tmp_path, capsys):
    assert main(flags(fake, tmp_path, "--max-cost", "1")) == 2
    assert "--max-calls" in capsys.readouterr().err and not fake.received() and not (tmp_path / "logs").exists()


def test_a_folder_in_which_nothing_was_started_serves_the_corrected_command(fake, tmp_path, capsys):
    (tmp_path / "logs").mkdir()
    assert main(flags(fake, tmp_path, "--model", "nosuch/solver")) == 2
    assert main(flags(fake, tmp_path)) == 0


def test_a_run_goes_on_only_as_it_began(fake, tmp_path, capsys):
    assert main(flags(fake, tmp_path, "--task-ids", "1,2", "--scorer-seed", "0")) == 0
    same = flags(fake, tmp_path, "--resume", str(tmp_path / "logs"), "--task-ids", "1", "2")
    assert main(same) == 0 and len(fake.received()) == 8
    for more in (["--seed", "3"], ["--judge-verdict-parser", "lenient"], ["--scorer-seed", "1"], ["--solver-temperature", "0.5"]):
        assert main([*same, *more]) == 2
        assert f"{more[0]} differs from what this run began with" in capsys.readouterr().err
    for more in (["--competency", "01"], ["--task-ids", "1"], ["--sample-limit", "1"]):
        assert main([*same[:-3], *more]) == 2
    assert len(fake.received()) == 8


def test_a_missing_key_is_a_message_without_a_traceback(fake, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("FAKE_API_KEY")
    assert main(flags(fake, tmp_path)) == 2
    assert "FAKE_API_KEY" in capsys.readouterr().err and not fake.received()


def test_a_dry_run_sends_nothing_and_names_tasks_calls_and_differences(fake, tmp_path, capsys):
    assert main(flags(fake, tmp_path, "--dry-run", "--json", "--epochs", "2", count=3)) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["tasks"] == ["1", "2", "3"] and data["calls"] == {"solver": 6, "judge": 18} and data["differences"]
    assert data["estimate"]["judge"]["cost"] is None and not fake.received() and not (tmp_path / "logs").exists()


def test_the_key_of_a_dot_env_file_is_read_and_never_printed(fake, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("FAKE_API_KEY")
    (tmp_path / ".env").write_text("FAKE_API_KEY=canary-dotenv-444\n")
    assert main(flags(fake, tmp_path)) == 0
    out = capsys.readouterr()
    assert {r["key"] for r in fake.received()} == {"canary-dotenv-444"} and "canary" not in out.out + out.err
    assert not any(b"canary-dotenv-444" in p.read_bytes() for p in (tmp_path / "logs").rglob("*") if p.is_file())


@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_a_prompt_that_could_not_be_read_and_an_accepted_placeholder_are_said(fake, tmp_path, capsys, monkeypatch, dry):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    args = flags(fake, tmp_path, "--prompt-source", "auto", "--allow-missing-resources", *dry)
    text = (tmp_path / "tasks.csv").read_text(encoding="utf-8-sig")
    (tmp_path / "tasks.csv").write_text(text.replace(",,,", ",gone.md,,", 1), encoding="utf-8")
    assert main(args) == 0
    out = capsys.readouterr()
    said = out.out if dry else out.err
    assert "Note: The published judge prompts" in said and "gone.md" in said


def test_an_env_file_in_another_encoding_is_named(fake, tmp_path, capsys):
    (tmp_path / ".env").write_text("FAKE_API_KEY=canary-dotenv-444\n", encoding="utf-16")
    assert main(flags(fake, tmp_path)) == 2
    assert ".env is not UTF-8" in (err := capsys.readouterr().err) and "canary" not in err


def test_the_same_command_again_pays_for_nothing(fake, tmp_path, capsys):
    main(flags(fake, tmp_path))
    sent = len(fake.received())
    assert main(flags(fake, tmp_path)) == 0 and len(fake.received()) == sent


def test_another_run_in_the_same_folder_is_refused(fake, tmp_path, capsys):
    main(flags(fake, tmp_path))
    assert main(flags(fake, tmp_path, "--epochs", "2")) == 2
    assert "--log-dir" in capsys.readouterr().err


def test_a_cap_in_calls_holds_and_raising_it_goes_on(fake, tmp_path, capsys):
    assert main(flags(fake, tmp_path, "--max-calls", "9", "--json", count=4)) == 1
    first = json.loads(capsys.readouterr().out)
    assert len(fake.received()) <= 9 and first["status"] == "capped"
    assert first["counts"]["scored"] == 2 and first["counts"]["skipped_by_cap"] == 2
    csv_path, resources = tmp_path / "tasks.csv", tmp_path / "resources"
    assert main(["--resume", str(tmp_path / "logs"), "--max-calls", "40", "--csv-path", str(csv_path), "--resources-dir", str(resources),
                 "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["counts"]["scored"] == 4 and len(fake.received()) == 16
    assert verify(tmp_path / "logs") == [], "the manifest of a run that went on tells of all its stretches"


def test_no_continue_on_fail_stops_at_the_first(fake, tmp_path, capsys):
    fake.script("solver", {"text": "", "every": True})
    assert main(flags(fake, tmp_path, "--no-continue-on-fail", "--max-connections", "1", "--json", count=30)) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["status"] == "stopped" and data["counts"]["cancelled"] > 0


def test_scores_equal_those_worked_out_by_hand(fake, tmp_path, capsys):
    # Weights 7, 3, -4: maximum 10. Task 1: all true -> (7+3-4)/10 = 0.6. Task 2: only the penalty -> -4/10 = -0.4.
    # Task 3: the answer is empty. Mean over scored (0.6 - 0.4)/2 = 0.1; over attempted (0.6 - 0.4 + 0)/3 = 0.0667;
    # clipped at 0 per task (0.6 + 0)/2 = 0.3.
    for point in (1, 2):
        fake.script("judge", {"text": "false", "match": f"point {point} of task 2"})
    fake.script("solver", {"text": "", "match": "lesson 3"})
    args = flags(fake, tmp_path, "--json", count=3)
    tasks_file(tmp_path, 3, (7, 3, -4))
    assert main(args) == 1
    data = json.loads(capsys.readouterr().out)
    scores = {t["task"]: t["score"] for t in data["tasks"]}
    assert scores["1"] == pytest.approx(0.6) and scores["2"] == pytest.approx(-0.4) and scores["3"] is None
    assert data["scored"]["mean"] == pytest.approx(0.1) and data["attempted"]["mean"] == pytest.approx(0.2 / 3)
    assert data["clipped"]["mean"] == pytest.approx(0.3)
    assert (data["counts"]["scored"], data["counts"]["solver_empty"]) == (2, 1)


def test_the_log_keeps_the_references_score_record(fake, tmp_path, capsys):
    from inspect_ai.log import read_eval_log

    main(flags(fake, tmp_path, "--json"))
    log = read_eval_log(json.loads(capsys.readouterr().out)["log"])
    score = next(iter(log.samples[0].scores.values()))
    assert log.status == "success" and score.value == 1.0
    assert {"criterion_id": "1-01", "weight": 5, "judgement": True}.items() <= score.metadata["scoring_results"][0].items()
    assert score.metadata["scoring_results"][0]["layer"] == "task"


def test_as_a_program_it_exits_with_its_code_and_shows_progress_on_standard_error(tmp_path):
    done = subprocess.run([sys.executable, "-m", "pipeline.eval", "--model", "demo/strong", "--sample-limit", "2", "--log-dir",
                           str(tmp_path / "logs")], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "2/2 tasks" in done.stderr and "Mean over scored tasks" in done.stdout


@pytest.mark.parametrize("bad", [("--max-cost", "inf"), ("--max-cost", "1e300"), ("--max-cost", "nan"), ("--max-calls", "-5")])
def test_a_cap_that_is_no_cap_is_a_sentence_and_leaves_a_run_as_it_was(tmp_path, capsys, bad):
    given = ["--model", "demo/strong", "--sample-limit", "2", "--log-dir", str(tmp_path / "run")]
    assert main([*given, *bad]) == 2 and not (tmp_path / "run").exists()
    (tmp_path / "run").mkdir()
    spec = spec_of(build_parser().parse_args([*given, "--max-calls", "3"])).canonical()
    (tmp_path / "run" / "spec.json").write_text(spec)
    assert main(["--resume", str(tmp_path / "run"), *bad]) == 2
    assert (tmp_path / "run" / "spec.json").read_text() == spec, "the run could not be gone on with any more"
    assert "cannot be used" in capsys.readouterr().err


def test_a_dry_run_names_the_cap_and_says_where_nothing_would_start_under_it(capsys):
    given = ["--model", "demo/strong", "--dry-run", "--sample-limit", "2"]
    assert main([*given, "--max-calls", "5000"]) == 0 and "Cap       5,000 calls" in capsys.readouterr().out
    assert main([*given, "--max-calls", "3"]) == 0 and "nothing would start" in capsys.readouterr().out


def test_a_run_on_a_local_file_goes_on_by_its_folder_alone(fake, tmp_path, capsys):
    given = flags(fake, tmp_path, "--max-calls", "4")
    assert main(given) == 1 and len(fake.received()) == 4
    assert main(["--resume", str(tmp_path / "logs"), "--max-calls", "100"]) == 0
    assert len(fake.received()) == 8 and "scored 2" in capsys.readouterr().out


@pytest.mark.parametrize("dry", [True, False])
def test_a_reasoning_budget_without_room_is_said_before_anything_is_sent(tmp_path, capsys, dry):
    # R12
    flags = ["--model", "demo/strong", "--sample-limit", "1", "--solver-reasoning-tokens", "4000", "--log-dir", str(tmp_path / "run")]
    assert main([*flags, *(["--dry-run"] if dry else [])]) in (0, 1)
    out, error = capsys.readouterr()
    assert (out if dry else error).count("The solver's reasoning may take 4,000 of its 4,096 tokens") == 1
