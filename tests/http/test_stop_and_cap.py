"""Stop, cap and waiting, over sockets: what leaves, what is kept, what is said."""

import random
import threading
import time
from typing import Any

import pytest

from pipeline import door
from pipeline.judging.outcomes import Outcome
from pipeline.spec import ModelSpec
from pipeline.switch import Switch
from tests.http.runs import JUDGE, SOLVER, evaluate

PER_CALL = {"pricing": {"prompt": "0", "completion": "0", "request": "0.005"}}
LIVE = {"fake/solver": PER_CALL, "fake/judge": PER_CALL}


def priced(fake: Any) -> dict[str, Any]:
    """Solver and judge by way of OpenRouter, at half a cent for each call."""
    url = f"{fake.url}/api/v1"
    return {"solver": ModelSpec(model="openrouter/fake/solver", config={"max_tokens": 100}, base_url=url),
            "judge": ModelSpec(model="openrouter/fake/judge", config={"max_tokens": 100}, base_url=url), "live": LIVE}


def test_no_request_arrives_after_a_stop_with_many_waiting_and_answers_under_way_are_kept(fake, tmp_path):
    # https://github.com/UKGovernmentBEIS/inspect_ai/issues/4859: calls already queued went on running and billing
    switch, asked = Switch(), []
    fake.script("judge", {"delay": 0.4, "every": True})

    def stop_at_first_answer(event: Any) -> None:
        if event.kind == "answered" and not asked:
            asked.append(time.time())
            threading.Thread(target=switch.stop).start()

    done = evaluate(fake, tmp_path, count=12, weights=(1,) * 6, max_connections=3, switch=switch, sink=stop_at_first_answer,
                    stop_grace=5.0)
    assert max(r["t"] for r in fake.received()) < asked[0] + 2
    assert done.view.status == "stopped" and sum(done.view.counts().values()) == 12
    assert len([e for e in done.ledger if not e.fault]) == len(fake.received()), "an answer under way was lost"
    assert done.view.counts()["cancelled"] >= 10


def test_a_stop_that_comes_before_the_first_call_sends_nothing(fake, tmp_path):
    switch = Switch()
    switch.stop()
    done = evaluate(fake, tmp_path, count=3, switch=switch)
    assert not fake.received() and done.view.status == "stopped" and done.view.counts()["cancelled"] == 3


def test_a_stop_ends_a_wait_at_once(fake, tmp_path):
    switch = Switch()
    fake.script("solver", {"status": 429, "retry_after": 40, "every": True})
    began = time.monotonic()

    def stop_when_waiting(event: Any) -> None:
        if event.kind == "waiting":
            threading.Thread(target=switch.stop).start()

    done = evaluate(fake, tmp_path, switch=switch, sink=stop_when_waiting)
    assert done.view.status == "stopped" and time.monotonic() - began < 20 and len(fake.received()) == 1


def test_a_wait_on_the_provider_is_said_at_once_with_its_length(fake, tmp_path):
    # https://github.com/UKGovernmentBEIS/inspect_ai/issues/1277: no sign that the run waits on retries
    fake.script("solver", {"status": 429, "retry_after": 0.5})
    done = evaluate(fake, tmp_path)
    (waiting,) = [e for e in done.events if e.kind == "waiting"]
    assert waiting.t - fake.received("solver")[0]["t"] < 3 and waiting.seconds == 0.5 and waiting.attempt == 1
    assert any(e.kind == "connections" for e in done.events) and done.only().outcome is Outcome.SCORED


@pytest.mark.parametrize(("asked", "slept"), [(None, 30.0), (120, 60.0)])
def test_no_single_wait_is_longer_than_its_ceiling(fake, tmp_path, monkeypatch, asked, slept):
    # https://github.com/UKGovernmentBEIS/inspect_ai/issues/167: backoff grew to half an hour
    waits: list[float] = []

    async def pause(self: Any, seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(door.Pace, "pause", pause)
    fake.script("solver", {"status": 429, "times": 10, **({"retry_after": asked} if asked else {})})
    done = evaluate(fake, tmp_path, api_retries=12)
    said = [e.seconds for e in done.events if e.kind == "waiting"]
    assert done.only().outcome is Outcome.SCORED and len(said) == 10 and max(said) <= slept and max(waits) <= slept


def test_a_cap_of_five_cents_starts_two_tasks_of_two_cents(fake, tmp_path):
    # https://github.com/UKGovernmentBEIS/inspect_ai/pull/3193: a cost limit that works for each sample only
    done = evaluate(fake, tmp_path, count=20, weights=(1, 1, 1), max_cost=0.05, **priced(fake))
    counts = done.view.counts()
    assert (counts["scored"], counts["skipped_by_cap"], done.view.status) == (2, 18, "capped")
    assert len(fake.received("solver")) == 2 and len(fake.received()) == 8 and done.view.cost == pytest.approx(0.04)


def test_retries_count_against_the_cap(fake, tmp_path):
    fake.script("solver", {"cut": True, "times": 3})  # may have been billed: charged at the reserve
    done = evaluate(fake, tmp_path, count=4, weights=(1,), max_cost=0.03, **priced(fake))
    assert done.view.cost <= 0.03 + 1e-9 and len(fake.received()) <= 6 and done.view.status == "capped"


def test_a_reported_cost_is_charged_and_the_cap_in_money_holds(fake, tmp_path):
    for role in ("solver", "judge"):
        fake.script(role, {"usage": {"cost": 0.004}, "every": True})
    done = evaluate(fake, tmp_path, count=10, weights=(1, 1), max_cost=0.04, **priced(fake))
    assert done.view.cost <= 0.04 and done.view.cost == pytest.approx(0.004 * len(fake.received()))
    assert done.view.counts()["scored"] >= 2 and done.view.counts()["skipped_by_cap"] >= 5


def test_a_task_that_has_the_cap_to_itself_starts_where_its_likely_cost_fits(fake, tmp_path):
    """One task at the form's limit of a quarter more than expected: its worst case would not fit, and nothing would start."""
    for role in ("solver", "judge"):
        fake.script(role, {"usage": {"in": 900, "out": 60}, "every": True})
    each = {"pricing": {"prompt": "0.000001", "completion": "0.00001"}}
    models = priced(fake) | {"live": {"fake/solver": each, "fake/judge": each}}
    models["judge"] = models["judge"].model_copy(update={"config": {"max_tokens": 4000}})
    done = evaluate(fake, tmp_path, weights=(1,) * 12, max_cost=0.06, **models)
    assert done.view.counts()["scored"] == 1 and done.view.cost <= 0.06


def test_the_end_at_a_cap_says_what_the_next_task_needs_and_what_is_left(fake, tmp_path):
    reason = evaluate(fake, tmp_path, count=2, max_calls=3).view.reason
    assert "up to 4 calls" in reason and "3 calls of 3 calls are left" in reason


@pytest.mark.parametrize("calls", [0, 1, 7, 13])
def test_a_cap_in_calls_is_never_passed(fake, tmp_path, calls):
    done = evaluate(fake, tmp_path, count=6, max_calls=calls)
    assert len(fake.received()) <= calls and done.view.status == "capped"
    assert done.view.counts()["scored"] == calls // 4 and sum(done.view.counts().values()) == 6


def test_a_cap_in_tokens_is_never_passed(fake, tmp_path):
    for role in ("solver", "judge"):
        fake.script(role, {"usage": {"in": 300, "out": 100}, "every": True})
    small = {r: ModelSpec(model=m, config={"max_tokens": 200}, base_url=f"{fake.url}/v1") for r, m in (("solver", SOLVER), ("judge", JUDGE))}
    done = evaluate(fake, tmp_path, count=8, weights=(1, 1), max_tokens=6_000, **small)
    spent = sum(e.usage.total for e in done.ledger if e.usage)
    assert spent <= 6_000 and done.view.counts()["scored"] >= 1 and done.view.status == "capped"


def test_an_unknown_price_cannot_hold_a_cap_in_money(fake, tmp_path):
    from pipeline.errors import UserError

    with pytest.raises(UserError, match="calls"):
        evaluate(fake, tmp_path, max_cost=1.0)
    assert not fake.received()


def test_spend_stays_under_the_cap_whatever_the_provider_does(fake, tmp_path):
    chance = random.Random(3)
    for role in ("solver", "judge"):
        for _ in range(25):
            fake.script(role, chance.choice([
                {}, {"usage": "none"}, {"usage": {"in": 0, "out": 0}}, {"status": 500}, {"cut": True}, {"usage": {"cost": 0.001}},
                {"status": 429, "retry_after": 0.01}, {"text": ""}, {"raw": "{}"},
            ]))
    done = evaluate(fake, tmp_path, count=15, weights=(1, 1), max_cost=0.12, api_retries=2, **priced(fake))
    charged = sum(e.cost or 0.0 for e in done.ledger)
    assert charged <= 0.12 + 1e-9 and done.view.cost == pytest.approx(charged)
    assert sum(done.view.counts().values()) == 15
