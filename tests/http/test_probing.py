"""The question before a run is one of the run's calls: its caps hold it, its spend shows it, its sentence says whose it is."""

import asyncio
import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from pipeline.cost.prices import price_for
from pipeline.errors import UserError
from pipeline.ledger import from_data, read_ledger, to_data
from pipeline.plan import prepare
from pipeline.run import Session, execute
from pipeline.spec import Credentials, ModelSpec, Places, ProviderKey, RunSpec
from pipeline.switch import Switch
from runner.probing import probe_models, refuse_uncallable
from runner.providers.probe import probe
from tests.http.fake_llm import FakeLLM
from tests.http.runs import tasks_file

RATE = {"pricing": {"prompt": "0.000001", "completion": "0.00001"}}
LIVE = {"fake/solver": RATE, "fake/judge": RATE}
KEY = {"api_key": "sk-or-canary-000111222"}


@pytest.fixture
def there(fake: FakeLLM, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeLLM]:
    monkeypatch.delenv("SPACE_ID", raising=False)
    monkeypatch.setenv("L2BENCH_PROVIDER_HOSTS", json.dumps({"openrouter": f"{fake.url}/api/v1"}))
    yield fake


class Begun:
    """A planned run of two tasks with one criterion each, and what asking before it gave."""

    def __init__(self, fake: FakeLLM, folder: Any, **caps: Any) -> None:
        self.places = Places(folder / "run", *tasks_file(folder, 2, (1,)))
        url = f"{fake.url}/api/v1"
        solver = ModelSpec(model="openrouter/fake/solver", config={"max_tokens": 100, "temperature": 0.0}, base_url=url)
        spec = RunSpec(source="local", prompt_source="own", solver=solver,
                       judge=ModelSpec(model="openrouter/fake/judge", config={"max_tokens": 100}, base_url=url), **caps)
        planned = prepare(spec, self.places, live=LIVE).estimate
        prices = {r: price_for(getattr(spec, r).model, live=LIVE, base_url=url) for r in ("solver", "judge")}
        self.spec, self.entries = asyncio.run(probe_models(spec, {"solver": KEY, "judge": KEY}, prices, planned))

    def run(self) -> Any:
        earlier = tuple(from_data(json.loads(json.dumps(to_data(e)))) for e in self.entries)
        session = Session(prepare(self.spec, self.places, live=LIVE), self.places, Credentials(ProviderKey(KEY), ProviderKey(KEY)),
                          lambda e: None, Switch(), stop_grace=1.0, earlier=earlier)
        return execute(session)


def test_what_asking_cost_stands_in_the_runs_spend_and_in_its_ledger(there: FakeLLM, tmp_path: Any) -> None:
    there.script("solver", {"usage": {"in": 20, "out": 5, "cost": 0.0004}})
    begun = Begun(there, tmp_path, max_cost=1.0)
    view = begun.run()
    assert view.resumes == 0 and view.counts()["scored"] == 2 and view.spend["solver"].calls == 3 and view.probes["solver"].calls == 1
    ledger = list(read_ledger(begun.places.ledger))
    assert sum(s.calls for s in view.spend.values()) == len(there.received()) == len(ledger) == 6
    assert [e.cost for e in ledger if e.id.role == "solver" and not e.id.task] == [0.0004]
    assert view.cost == pytest.approx(sum(e.cost for e in ledger))


@pytest.mark.parametrize("caps", [{"max_calls": 4}, {"max_calls": 9}, {"max_calls": 30}, {"max_calls": 0}, {"max_tokens": 900}])
def test_the_caps_hold_the_question_too(there: FakeLLM, tmp_path: Any, caps: dict[str, int]) -> None:
    begun = Begun(there, tmp_path, **caps)
    view = begun.run()
    assert len(there.received()) <= caps.get("max_calls", 99)
    assert sum(s.input + s.output for s in view.spend.values()) <= caps.get("max_tokens", 10**9)
    if caps.get("max_calls", 0) >= 4:
        assert view.counts()["scored"] == 2, "asking took the calls that the run needs"


def test_a_cap_in_money_that_hardly_holds_the_run_leaves_nothing_for_asking(there: FakeLLM, tmp_path: Any) -> None:
    assert not Begun(there, tmp_path, max_cost=0.0001).entries and not there.received()


def test_an_answer_without_usage_is_charged_at_its_worst_and_a_refusal_costs_nothing(there: FakeLLM, tmp_path: Any) -> None:
    there.script("solver", {"status": 400, "error": "`temperature` is deprecated for this model."}, {"usage": "none"})
    there.script("judge", {"usage": {"in": 10, "out": 2}})
    solver = [e for e in Begun(there, tmp_path, max_cost=1.0).entries if e.id.role == "solver"]
    assert [(e.fault, e.cost_source) for e in solver] == [("probe", "none"), ("", "reserve")]
    assert solver[0].cost == 0.0 and solver[1].cost == solver[1].reserve_cost


def test_a_refusal_before_the_run_says_whose_it_is_and_that_no_money_was_spent(there: FakeLLM, tmp_path: Any) -> None:
    there.script("solver", {"status": 401, "every": True})
    with pytest.raises(UserError, match="Solver, before the run: .*refused the key.* No money was spent"):
        Begun(there, tmp_path, max_cost=1.0)


def custom(address: str) -> dict[str, str]:
    return {"api_key": "canary-000111222", "base_url": address}


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


@pytest.mark.parametrize("bad", ["http://127.0.0.1:{port}/v1", "http://no-such-host.invalid/v1", "localhost:{port}/v1"])
def test_an_own_endpoint_that_cannot_be_called_is_found_before_either_model_is_asked(
    there: FakeLLM, monkeypatch: pytest.MonkeyPatch, tmp_path: Any, closed_port: int, bad: str
) -> None:
    # Case M2: where nothing listened, the question before the run was charged $0.03.
    monkeypatch.setenv("L2BENCH_ALLOW_CUSTOM_URL", "private")
    fields = {"solver": KEY, "judge": custom(bad.format(port=closed_port))}
    spec = RunSpec(solver=ModelSpec(model="openrouter/fake/solver"), judge=ModelSpec(model="openai-api/custom/m"))
    with pytest.raises(UserError, match="^Judge, before the run: .* Nothing was started.$"):
        asyncio.run(probe_models(spec, fields, {}, prepare(spec, Places(tmp_path)).estimate))
    assert not there.received()


def test_an_own_endpoint_that_listens_is_tried_without_a_request(there: FakeLLM, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("L2BENCH_ALLOW_CUSTOM_URL", "private")
    asyncio.run(refuse_uncallable({"solver": ("custom", custom(f"{there.url}/v1")), "judge": ("openrouter", KEY)}))
    assert not there.received()


@pytest.mark.parametrize("fields", [None, {"aws_access_key_id": "AKIAEXAMPLE000000001"}, {"api_key": "sk\u2014or"}])
def test_a_judge_without_its_fields_is_refused_before_the_solver_is_asked(there: FakeLLM, fields: dict[str, str] | None) -> None:
    for asked in ({"solver": ("openrouter", KEY), "judge": ("bedrock", fields)}, {"solver": ("bedrock", fields), "judge": ("bedrock", fields)}):
        with pytest.raises(UserError, match="Judge, before the run: .*Nothing was started"):
            asyncio.run(refuse_uncallable(asked))
    assert not there.received()


@pytest.mark.parametrize("address", ["http://127.0.0.1:{port}/api/v1", "http://no-such-host.invalid/api/v1"])
def test_a_question_that_never_left_is_no_call_and_costs_nothing(
    there: FakeLLM, monkeypatch: pytest.MonkeyPatch, closed_port: int, address: str
) -> None:
    monkeypatch.setenv("L2BENCH_PROVIDER_HOSTS", json.dumps({"openrouter": address.format(port=closed_port)}))
    found = asyncio.run(probe("openrouter", "fake/solver", KEY, {"max_tokens": 100}))
    assert found.status == "blocked" and found.calls == 0 and "could not be reached" in found.sentences[0]


def test_a_question_that_left_and_was_not_answered_is_still_charged(there: FakeLLM) -> None:
    there.script("solver", {"cut": True, "every": True})
    found = asyncio.run(probe("openrouter", "fake/solver", KEY, {"max_tokens": 100}))
    assert found.status == "unknown" and found.calls == 1
