"""Replies that no provider should send, and some do: the answer is kept, the money counted, nothing of a page quoted."""

import json
from typing import Any

import pytest

from pipeline import door
from pipeline.judging.outcomes import Outcome
from pipeline.spec import Credentials, ModelSpec, ProviderKey
from tests.http.fake_llm import FakeLLM
from tests.http.runs import Done, evaluate


def completion(usage: Any, text: str = "A plan in three stages.") -> dict[str, Any]:
    return {"raw": json.dumps({"id": "1", "object": "chat.completion", "created": 1, "model": "m", "usage": usage, "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}]})}


def run(fake: FakeLLM, folder: Any, **spec: Any) -> Done:
    return evaluate(fake, folder, **{"weights": (1,), "api_retries": 1, **spec})


@pytest.mark.parametrize("usage", [
    {"prompt_tokens": 50}, {"completion_tokens": 50}, {"total_tokens": 50}, {}, [], "none", {"prompt_tokens": None},
    {"prompt_tokens": -5, "completion_tokens": -1, "total_tokens": -6}, {"prompt_tokens": "x", "completion_tokens": 1},
    {"prompt_tokens": 50, "completion_tokens": 0, "total_tokens": 50},
])
def test_an_answer_with_a_usage_that_cannot_be_read_is_kept_and_its_usage_is_unknown(fake, tmp_path, usage):
    fake.script("solver", completion(usage))
    done = run(fake, tmp_path)
    assert done.only().outcome is Outcome.SCORED and len(fake.received("solver")) == 1, "a paid answer was asked for again"
    assert done.view.spend["solver"].unknown == 1


def test_counts_with_decimals_are_read(fake, tmp_path):
    fake.script("solver", completion({"prompt_tokens": 50.0, "completion_tokens": 20.0, "total_tokens": 70.0}))
    (entry,) = [e for e in run(fake, tmp_path).ledger if e.id.role == "solver"]
    assert entry.usage and (entry.usage.input, entry.usage.output) == (50, 20)


def test_a_key_in_an_answer_is_written_nowhere(fake, tmp_path):
    fake.script("solver", completion({}, "Your key is canary-solver-000111, and sk-not-a-key-of-ours stays."))
    done = run(fake, tmp_path)
    left = "".join(p.read_text("latin-1") for p in tmp_path.rglob("*") if p.is_file())
    assert "canary" not in left and done.only().outcome is Outcome.SCORED
    assert any("sk-not-a-key-of-ours" in e.text for e in done.ledger)


@pytest.mark.parametrize("status", [403, 404, 400])
def test_a_page_in_place_of_an_error_is_never_quoted(fake, tmp_path, status):
    # https://github.com/ItzCrazyKns/Vane/issues/1124: part of an internal service's reply came back in the error
    fake.script("solver", {"status_raw": status, "raw": "<html>internal secret</html>", "every": True})
    assert "internal" not in repr(run(fake, tmp_path).view)


@pytest.mark.parametrize("wait", ["inf", "1e30", "-5", "soon"])
def test_a_wait_that_makes_no_sense_harms_nothing(fake, tmp_path, wait):
    fake.script("solver", {"status": 429, "retry_after": wait})
    view = run(fake, tmp_path).view
    assert view.status == ("failed" if wait == "1e30" else "finished")


def test_a_wait_of_nothing_does_not_burn_all_retries_at_once(fake, tmp_path):
    fake.script("solver", {"status": 503, "retry_after": 0, "times": 2})
    done = run(fake, tmp_path, api_retries=2)
    times = [r["t"] for r in fake.received("solver")]
    assert done.only().outcome is Outcome.SCORED and times[-1] - times[0] > 1.1  # own waits of 0.5 and 1, a quarter less


def test_the_own_waits_at_a_rate_limit_outlast_the_better_part_of_a_minute(fake, tmp_path, monkeypatch):
    async def pause(self: Any, seconds: float) -> None:
        pass

    monkeypatch.setattr(door.Pace, "pause", pause)
    fake.script("solver", {"status": 429, "times": 5})
    done = run(fake, tmp_path, api_retries=5)
    assert done.only().outcome is Outcome.SCORED and sum(e.seconds for e in done.events if e.kind == "waiting") > 40


@pytest.mark.parametrize(("step", "words"), [
    ({"status": 503}, ("Solver:", "2 times", "Go on", "No money was spent")),
    ({"status": 401}, ("Solver:", "Check that it is whole", "No money was spent")),
    ({"raw": ""}, ("Solver:", "Go on", "may have been billed")),
    ({"status": 413}, ("Solver:", "longer", "Leave this task out", "No money was spent")),
])
def test_a_fault_says_what_happened_where_whether_money_was_spent_and_what_to_do(fake, tmp_path, step, words):
    fake.script("solver", {**step, "every": True})
    reason = run(fake, tmp_path).only().reason
    assert all(word in reason for word in words), reason


def test_a_judges_fault_names_the_judge(fake, tmp_path):
    fake.script("judge", {"status": 402, "error": "Insufficient Balance", "every": True})
    view = run(fake, tmp_path).view
    assert view.reason.startswith("Judge: ") and "Insufficient Balance. Add credit" in view.reason


def test_an_endpoint_is_called_at_the_address_that_was_checked_under_its_own_name(fake, tmp_path):
    """A name that answers with another address once it has been checked reaches nothing else."""
    port = fake.url.rsplit(":", 1)[1]
    url = f"http://endpoint.invalid:{port}/v1"
    models = {role: ModelSpec(model=f"openai-api/custom/{role}", base_url=url) for role in ("solver", "judge")}
    pinned = ProviderKey({"api_key": "canary-solver-000111", "pinned": "127.0.0.1"})
    done = run(fake, tmp_path, **models, credentials=Credentials(pinned, pinned))
    assert done.only().outcome is Outcome.SCORED
    assert {r["host"] for r in fake.received()} == {f"endpoint.invalid:{port}"}


@pytest.mark.parametrize("words", ["`temperature` is deprecated for this model.",
                                   "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."])
def test_a_setting_that_is_refused_again_once_it_is_left_out_is_not_asked_for_ever(fake, tmp_path, words):
    fake.script("solver", {"status": 400, "error": words, "every": True})
    done = run(fake, tmp_path)
    assert done.only().outcome is Outcome.API_ERROR and len(fake.received("solver")) == 2 and "Solver:" in done.only().reason
