"""The scripted models: every outcome in one run of twelve tasks, strong clearly above weak, usage and delay as asked."""

import json
import time

from inspect_ai.model import ChatMessageUser

from pipeline.eval import main
from pipeline.judging.outcomes import Outcome
from pipeline.models import build
from pipeline.spec import ModelSpec, ProviderKey


def run(capsys, tmp_path, *flags):
    code = main([*flags, "--json", "--log-dir", str(tmp_path / flags[1].replace("/", "-"))])
    return code, json.loads(capsys.readouterr().out)


def test_one_run_of_twelve_tasks_shows_every_outcome(capsys, tmp_path, monkeypatch):
    monkeypatch.delenv("TASKS_REPO", raising=False)
    code, data = run(capsys, tmp_path, "--model", "demo/faulty", "--sample-limit", "12")
    assert code == 1 and all(data["counts"][o.value] for o in Outcome) and sum(data["counts"].values()) == 12
    assert data["cut"] == 1 and data["status"] == "finished"


def test_strong_is_clearly_above_weak_and_both_are_repeatable(capsys, tmp_path, monkeypatch):
    monkeypatch.delenv("TASKS_REPO", raising=False)
    _, strong = run(capsys, tmp_path, "--model", "demo/strong", "--sample-limit", "12")
    _, weak = run(capsys, tmp_path, "--model", "demo/weak", "--sample-limit", "12")
    _, again = run(capsys, tmp_path / "again", "--model", "demo/weak", "--sample-limit", "12")
    assert strong["scored"]["interval"][0] > weak["scored"]["interval"][1]
    assert weak["scored"]["mean"] == again["scored"]["mean"] and strong["cost"] == 0.0


def test_a_scripted_model_tells_its_usage_and_takes_its_time():
    import asyncio

    model = build(ModelSpec(model="demo/strong"), ProviderKey({"delay": "0.2"}), 1)
    start = time.monotonic()
    output = asyncio.run(model.generate([ChatMessageUser(content="Plan a lesson.")]))
    assert time.monotonic() - start >= 0.2
    assert output.usage.input_tokens > 0 and output.usage.output_tokens > 0 and output.model == "demo/strong"
