"""No solver answer is bought before both models can be called, and what never left is no call: over real sockets.

Case C1: the default judge without AWS credentials bought every solver answer and booked money that was never spent.
Case M2: a call of which no byte left was charged and counted.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from inspect_ai.log import list_eval_logs, read_eval_log

from pipeline import ready
from pipeline.eval import main
from pipeline.ledger import read_ledger
from pipeline.report.manifest import write_manifest
from pipeline.spec import Credentials, ModelSpec, ProviderKey
from tests.http.runs import JUDGE, SOLVER, evaluate, key, tasks_file
from tests.http.test_inspect_cli import inspect
from tests.http.test_vendors import AWS, VENDORS

ROOT = Path(__file__).resolve().parents[2]
PLAIN = {"PATH": os.environ["PATH"], "AWS_EC2_METADATA_DISABLED": "true"}


@pytest.fixture
def no_aws(monkeypatch, tmp_path):
    for name in list(os.environ):
        if name.startswith(("AWS_", "GOOGLE_", "GEMINI_")) or name in ("TASKS_REPO", "DEFAULT_JUDGE_MODEL"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("FAKE_API_KEY", "canary-cli-000333")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def closed_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    return port


def flags(fake, folder, *more):
    csv_path, resources = tasks_file(folder, 3)
    return ["--model", SOLVER, "--model-base-url", f"{fake.url}/v1", "--csv-path", str(csv_path), "--resources-dir", str(resources),
            "--prompt-source", "own", "--log-dir", str(folder / "logs"), *more]


@pytest.mark.parametrize(("judge", "environment", "said"), [
    (None, {}, ["AWS_REGION", "AWS_ACCESS_KEY_ID"]), (None, {"AWS_REGION": "us-east-1"}, ["AWS_ACCESS_KEY_ID"]),
    (None, {"AWS_ACCESS_KEY_ID": "AKIA1", "AWS_SECRET_ACCESS_KEY": "s"}, ["AWS_DEFAULT_REGION"]),
    ("google/gemini-2.5-pro", {}, ["GOOGLE_API_KEY"]), ("ollama/x", {"OLLAMA_BASE_URL": "http://127.0.0.1:1/v1"}, ["nothing listens at"]),
    ("openai-api/other/x", {"OTHER_API_KEY": "canary\u2014000", "OTHER_BASE_URL": "http://127.0.0.1:1"}, ["OTHER_API_KEY"]),
    ("openai-api/other/x", {"OTHER_API_KEY": "k", "OTHER_BASE_URL": "localhost/v1"}, ["OTHER_BASE_URL"]),
    ("vllm/x", {"VLLM_BASE_URL": "http://no-such-host.invalid"}, ["no-such-host.invalid"])])
def test_a_judge_that_cannot_be_called_costs_no_solver_answer(no_aws, fake, tmp_path, capsys, monkeypatch, judge, environment, said):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    more = ["--scorer-model", judge] if judge else []
    assert main(flags(fake, tmp_path, *more, "--json")) == 2
    out = capsys.readouterr()
    assert out.err.startswith("Nothing was started. The ") and all(word in out.err for word in said)
    assert json.loads(out.out)["status"] == "not started"
    assert not fake.received() and not (tmp_path / "logs").exists()
    assert main(flags(fake, tmp_path, *more, "--json", "--dry-run")) == (2 if "OTHER_BASE_URL" in environment else 0)
    data = json.loads(capsys.readouterr().out)
    assert data["could_start"] is False and all(word in data["because"][0] for word in said) and not fake.received()
    main(flags(fake, tmp_path, *more, "--dry-run"))
    out = capsys.readouterr()
    assert "Could start: no, because The judge " in out.out or out.err.startswith("Nothing was started. The variable OTHER_")


def test_a_dry_run_says_that_a_run_could_start(fake, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("FAKE_API_KEY", "canary-cli-000333")
    more = ["--scorer-model", JUDGE, "--scorer-base-url", f"{fake.url}/v1", "--dry-run"]
    assert main(flags(fake, tmp_path, *more)) == 0 and "Could start: yes" in capsys.readouterr().out
    assert main(flags(fake, tmp_path, *more, "--json")) == 0 and json.loads(capsys.readouterr().out)["could_start"] is True
    assert not fake.received()


def test_the_region_of_AWS_REGION_alone_is_signed_for(no_aws, fake, tmp_path, capsys, monkeypatch):
    for name, value in {"AWS_REGION": "eu-west-2", "AWS_ACCESS_KEY_ID": AWS["aws_access_key_id"], "AWS_SECRET_ACCESS_KEY": "canary-secret-000111",
                        "BEDROCK_BASE_URL": fake.url}.items():
        monkeypatch.setenv(name, value)
    assert main(flags(fake, tmp_path, "--scorer-model", "bedrock/us.anthropic.claude-sonnet-4-6-judge")) == 0
    assert all("/eu-west-2/bedrock/" in r["key"] for r in fake.received("judge"))


def test_a_run_that_goes_on_is_refused_too_and_keeps_what_it_has(no_aws, fake, tmp_path, capsys, monkeypatch):
    more = ["--scorer-model", JUDGE, "--scorer-base-url", f"{fake.url}/v1"]
    fake.script("judge", {"status": 500, "every": True})
    assert main(flags(fake, tmp_path, *more, "--api-retries", "0")) == 1
    sent, journal = len(fake.received()), (tmp_path / "logs" / "events.jsonl").read_bytes()
    monkeypatch.delenv("FAKE_API_KEY")
    assert main(["--resume", str(tmp_path / "logs")]) == 2
    err = capsys.readouterr().err
    assert "solver" in err and "judge" in err and "FAKE_API_KEY" in err and len(fake.received()) == sent
    assert (tmp_path / "logs" / "events.jsonl").read_bytes() == journal


@pytest.mark.parametrize("args", [[], ["--model-role", "grader=google/gemini-2.5-pro"]])
def test_inspect_eval_starts_nothing_where_the_judge_cannot_be_called(fake, tmp_path, args):
    csv_path, resources = tasks_file(tmp_path, 2)
    done = subprocess.run(
        [sys.executable, "-m", "inspect_ai", "eval", "pipeline/task.py", "--model", SOLVER, *args, "-T", f"csv_path={csv_path}", "-T",
         f"resources_dir={resources}", "-T", "prompt_source=own", "--log-dir", str(tmp_path / "logs"), "--display", "plain"],
        cwd=ROOT, env={**PLAIN, "HOME": str(tmp_path), "FAKE_API_KEY": "canary-1", "FAKE_BASE_URL": f"{fake.url}/v1"}, text=True,
        capture_output=True, timeout=120)
    said = " ".join((done.stdout + done.stderr).split())
    # A grader that inspect itself builds is refused by a newer inspect in words of its own.
    refused = "Nothing was started. The judge " in said or args and "No authentication for the Google provider" in said
    assert done.returncode != 0 and refused and "Traceback" not in said
    assert ("GOOGLE_API_KEY" if args else "AWS_REGION") in said and not fake.received()


def test_an_inspect_eval_without_any_score_is_no_success(fake, tmp_path):
    csv_path, resources = tasks_file(tmp_path, 2)
    fake.script("judge", {"text": "perhaps", "every": True})
    done = inspect(
        "eval", "pipeline/task.py", "--model", SOLVER, "-T", f"scorer_model={JUDGE}", "-T", f"csv_path={csv_path}", "-T",
        f"resources_dir={resources}", "-T", "prompt_source=own", "--log-dir", str(tmp_path / "logs"), "--display", "plain",
        FAKE_API_KEY="canary-env-000111", FAKE_BASE_URL=f"{fake.url}/v1")
    log = read_eval_log(list_eval_logs(str(tmp_path / "logs"))[0])
    assert done.returncode == 1 and log.status == "error" and "No task was scored" in log.error.message
    assert len(log.samples) == 2, "what was answered stays in the log"


SDKS = ["openai-api", "openai-responses", "anthropic", "google", "mistral", "groq", "bedrock", "hf-inference-providers"]


def nobody(monkeypatch, folder, name, url, fake=None, **spec):
    """A run whose readiness check passed, and whose provider has gone since."""
    monkeypatch.setattr(ready, "nothing_there", lambda *a: "")
    v, mine = VENDORS[name], ProviderKey(AWS) if name == "bedrock" else key()
    return evaluate(fake, folder, solver=ModelSpec(model=v.solver, config={"max_tokens": 4096}, base_url=url + v.path),
                    judge=ModelSpec(model=v.judge, config={}, base_url=url + v.path), credentials=Credentials(mine, mine),
                    **{"weights": (1,), "api_retries": 1, **spec})


class Nowhere:
    url = "http://127.0.0.1:1"


def costs_nothing(done):
    """Journal, ledger, meter and manifest know of no call."""
    assert not [e for e in done.events if e.kind == "call"] and not done.ledger
    spent = done.session.evaluator.door.meter.snapshot()
    assert (spent.spent.cost, spent.spent.calls, spent.spent.tokens, spent.reserved.calls) == (0, 0, 0, 0)
    assert sum(s.calls for s in done.view.spend.values()) == 0 and not done.view.cost
    done.places.journal.write_text("")
    write_manifest(done.view, done.places)
    manifest = json.loads(done.places.manifest.read_text())
    assert all(s["calls"] == 0 for s in manifest["spend"].values()) and not manifest["cost"]


@pytest.mark.parametrize("name", SDKS)
def test_a_connection_that_is_refused_is_no_call_and_costs_nothing(monkeypatch, tmp_path, closed_port, name):
    done = nobody(monkeypatch, tmp_path, name, f"http://127.0.0.1:{closed_port}", Nowhere, max_calls=50)
    assert done.only().outcome == "api_error" and "could not be reached" in done.only().reason
    assert "It was tried 2 times" in done.only().reason and "No money was spent on it." in done.only().reason
    costs_nothing(done)


@pytest.mark.parametrize("name", ["openai-api", "anthropic", "google", "bedrock"])
def test_a_name_that_is_not_known_is_no_call(monkeypatch, tmp_path, name):
    done = nobody(monkeypatch, tmp_path, name, "http://no-such-host.invalid", Nowhere, api_retries=0)
    assert "could not be reached" in done.only().reason
    costs_nothing(done)


@pytest.mark.parametrize("name", ["openai-api", "anthropic", "google", "mistral"])
def test_a_call_given_up_while_it_was_connecting_is_no_call(monkeypatch, tmp_path, name):
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        held = [socket.socket() for _ in range(3)]
        for s in held:
            s.setblocking(False)
            s.connect_ex(server.getsockname())
        done = nobody(monkeypatch, tmp_path, name, f"http://127.0.0.1:{server.getsockname()[1]}", Nowhere, api_retries=0, call_timeout=1)
        for s in held:
            s.close()
    assert "could not be reached" in done.only().reason
    costs_nothing(done)


def test_what_left_and_broke_is_a_call_all_the_same(fake, monkeypatch, tmp_path):
    fake.script("solver", {"cut": True, "every": True})
    done = evaluate(fake, tmp_path, weights=(1,), api_retries=0)
    assert [e.fault for e in done.ledger] == ["broken"] and done.view.spend["solver"].calls == 1


def test_credentials_that_a_client_misses_stop_the_run_in_its_own_words(no_aws, fake, monkeypatch, tmp_path):
    monkeypatch.setattr("pipeline.ready.aws_lacks", lambda *a, **k: [])
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    done = evaluate(fake, tmp_path, count=4, weights=(1,), judge=ModelSpec(model="bedrock/us.x", base_url=fake.url),
                    credentials=Credentials(key(), ProviderKey()), max_connections=1)
    assert done.view.status == "failed" and "Unable to locate credentials" in done.view.reason and "Judge:" in done.view.reason
    assert not fake.received("judge")
    assert "judge" not in {e.id.role for e in done.ledger} and not [e for e in done.events if e.kind == "call" and e.role == "judge"]


def test_a_header_that_a_client_refuses_stops_the_run_unsent(fake, monkeypatch, tmp_path):
    for function in ("_header_lacks", "_held"):
        monkeypatch.setattr(ready, function, lambda *a: [])
    for n, value in enumerate(("caf\u00e9 \u2014", "two\nlines")):
        solver = ModelSpec(model=SOLVER, config={"extra_headers": {"X-Team": value}}, base_url=f"{fake.url}/v1")
        done = evaluate(fake, tmp_path / str(n), count=3, weights=(1,), solver=solver, max_connections=1)
        assert done.view.status == "failed" and "The request could not be made." in done.view.reason and not fake.received()
        assert not done.ledger and done.session.evaluator.door.meter.snapshot().spent.calls == 0


def test_one_text_that_cannot_be_sent_loses_its_own_task_alone(fake, monkeypatch, tmp_path):
    from pipeline.data.records import Task

    whole = Task.user_message.fget
    monkeypatch.setattr(Task, "user_message", property(lambda self: whole(self) + ("\ud83d" if self.key == "2" else "")))
    done = evaluate(fake, tmp_path, count=4, weights=(1,), max_connections=1)
    assert done.view.counts()["scored"] == 3 and done.view.status == "finished"
    assert sum(s.calls for s in done.view.spend.values()) == len(fake.received()) == 6


def test_a_run_killed_while_it_connects_carries_no_reserve_of_what_never_left(tmp_path):
    """Interrupted twice, so that the calls are cancelled where they are."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        held = [socket.socket() for _ in range(2)]
        csv_path, resources = tasks_file(tmp_path, 3)
        url = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        run = subprocess.Popen(
            [sys.executable, "-c", "import sys, pipeline.ready as r; r.nothing_there = lambda *a: ''\nfrom pipeline.eval import main; sys.exit(main(sys.argv[1:]))",
             "--model", SOLVER, "--model-base-url", url, "--scorer-model", JUDGE, "--scorer-base-url", url, "--csv-path", str(csv_path),
             "--resources-dir", str(resources), "--prompt-source", "own", "--log-dir", str(tmp_path / "logs"), "--max-calls", "50"],
            env={**PLAIN, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT), "FAKE_API_KEY": "canary-1"}, cwd=tmp_path,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for s in held:
            s.setblocking(False)
            s.connect_ex(server.getsockname())
        ledger = tmp_path / "logs" / "private" / "ledger.jsonl"
        end = time.monotonic() + 60
        while not (ledger.exists() and ledger.read_text().count('"sent":true') >= 3):
            assert time.monotonic() < end and run.poll() is None, run.stderr.read()
            time.sleep(0.05)
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=60)
        for s in held:
            s.close()
    assert not list(read_ledger(ledger)) and run.returncode == 130
