"""A real model answers and judges over HTTP, from the command line to a finished log. Asserts shapes and records, never words."""

import json
import os
import subprocess
import sys
import urllib.request
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pipeline.ledger import read_ledger
from runner.local_model import CONTEXT, MODEL, LocalModel

ROOT = Path(__file__).resolve().parents[2]
TASKS = ("226", "309", "247")  # the shortest of the demo set
pytestmark = [pytest.mark.realllm, pytest.mark.timeout(560)]


@pytest.fixture(scope="module")
def done(tiny: LocalModel, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """What `python -m pipeline.eval --json` printed for three demo tasks, and the folder of its log."""
    folder, url, model = tmp_path_factory.mktemp("real") / "logs", tiny.start(), f"openai-api/local/{MODEL}"
    command = [
        sys.executable, "-m", "pipeline.eval", "--model", model, "--model-base-url", url, "--scorer-model", model, "--scorer-base-url", url,
        *(part for key in TASKS for part in ("--task-ids", key)), "--sample-limit", "3", "--prompt-version", "v3", "--solver-max-tokens", "40",
        "--scorer-max-tokens", "4", "--scorer-reasoning-tokens", "0", "--max-connections", "1", "--log-dir", str(folder), "--json"]
    env = {**os.environ, "LOCAL_API_KEY": "no-key", "HF_HUB_OFFLINE": "1"}
    ended = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=540)
    assert ended.returncode in (0, 1), ended.stderr[-2000:]
    return json.loads(ended.stdout), folder


def test_the_run_finishes_and_its_outcomes_add_up(done: tuple[dict[str, Any], Path]) -> None:
    said, _ = done
    assert said["status"] == "finished" and said["planned"] == sum(said["counts"].values()) == 3
    assert said["counts"]["scored"] + said["counts"]["judge_unparsable"] == 3
    assert said["exit_code"] == (0 if said["counts"]["scored"] == 3 else 1)
    assert said["calls"]["solver"] == 3 and said["calls"]["judge"] == 15 + 14 + 15
    assert any("demo tasks" in line for line in said["differences"])


def test_every_call_is_stored_with_the_usage_the_model_reported(done: tuple[dict[str, Any], Path]) -> None:
    said, folder = done
    entries = list(read_ledger(next(folder.rglob("ledger.jsonl"))))
    assert Counter(e.id.role for e in entries) == {"solver": 3, "judge": 44}
    assert all(e.usage is not None and e.usage.output and e.model == MODEL and not e.fault for e in entries)
    for role in ("solver", "judge"):
        own = [e.usage for e in entries if e.id.role == role and e.usage]
        assert sum(u.output or 0 for u in own) == said["spend"][role]["output"]
        assert sum((u.input or 0) for u in own) == said["spend"][role]["input"]
    assert all((e.usage.output or 0) <= 40 for e in entries if e.usage)


def test_the_log_is_whole_and_keeps_each_verdict_with_its_task(done: tuple[dict[str, Any], Path]) -> None:
    said, folder = done
    log = next(folder.rglob("*.eval"))
    with zipfile.ZipFile(log) as archive:
        names = archive.namelist()
        header = json.loads(archive.read("header.json"))
        samples = [json.loads(archive.read(name)) for name in names if name.startswith("samples/")]
    # A model this small may leave no verdict that can be read; an evaluation without any score is an error.
    assert header["status"] == ("success" if said["counts"]["scored"] else "error")
    assert sorted(s["id"] for s in samples) == sorted(TASKS)
    assert all(s["output"]["choices"] for s in samples)
    journal = [json.loads(line) for line in next(folder.rglob("events.jsonl")).read_text(encoding="utf-8").splitlines()]
    kinds = Counter(event["kind"] for event in journal)
    assert kinds["verdict"] == 44 and kinds["task_finished"] == 3
    assert (folder / "manifest.json").exists()


def test_the_server_listens_on_the_loopback_alone_and_refuses_what_it_cannot_read(tiny: LocalModel) -> None:
    url = tiny.start()
    assert url.startswith("http://127.0.0.1:") and url == tiny.start(), "a second start is the same server"
    long = json.dumps({"model": MODEL, "max_tokens": 1, "messages": [{"role": "user", "content": "word " * (CONTEXT + 500)}]}).encode()
    request = urllib.request.Request(f"{url}/chat/completions", data=long, headers={"content-type": "application/json"})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=120)
    assert refused.value.code == 400
