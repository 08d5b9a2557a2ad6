"""Every vendor's real SDK over a real socket: answers, usage, waits, refusals and settings, one request per attempt."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipeline import models
from pipeline.judging.outcomes import Outcome
from pipeline.spec import Credentials, ModelSpec, ProviderKey
from tests.http.fake_llm import FakeLLM
from tests.http.runs import Done, evaluate, key

AWS = {"aws_access_key_id": "AKIAEXAMPLE0000001", "aws_secret_access_key": "canary-secret-000111", "region_name": "us-east-1"}


@dataclass(frozen=True)
class Vendor:
    """One row of the matrix: model names, the path behind the fake's address, where the judge's budget must stand."""

    solver: str
    judge: str
    path: str
    dialect: str = "openai"
    budget: tuple[str, ...] | None = None


VENDORS = {
    "openai": Vendor("openai/gpt-4o-solver", "openai/gpt-4o-judge", "/v1"),
    "openai-responses": Vendor("openai/gpt-5-solver", "openai/o3-judge", "/v1", "responses"),
    "anthropic": Vendor("anthropic/claude-sonnet-4-6-solver", "anthropic/claude-sonnet-4-6-judge", "", "anthropic",
                        ("thinking", "budget_tokens")),
    "google": Vendor("google/gemini-2.0-flash-solver", "google/gemini-2.5-flash-judge", "", "gemini",
                     ("generationConfig", "thinkingConfig", "thinking_budget")),
    "mistral": Vendor("mistral/mistral-large-solver", "mistral/magistral-judge", "", "mistral"),
    "groq": Vendor("groq/openai/gpt-oss-solver", "groq/openai/gpt-oss-judge", ""),
    "bedrock": Vendor("bedrock/us.anthropic.claude-sonnet-4-6-solver", "bedrock/us.anthropic.claude-sonnet-4-6-judge", "",
                      "bedrock", ("additionalModelRequestFields", "*", "budget_tokens")),
    "openrouter": Vendor("openrouter/anthropic/claude-sonnet-4.6-solver:free", "openrouter/anthropic/claude-sonnet-4.6-judge",
                         "/api/v1", budget=("reasoning", "max_tokens")),
    "deepseek": Vendor("deepseek/deepseek-solver", "deepseek/deepseek-judge", "/v1"),
    "together": Vendor("together/org/solver", "together/org/judge", "/v1"),
    "fireworks": Vendor("fireworks/accounts/fireworks/models/solver", "fireworks/accounts/fireworks/models/judge", "/inference/v1"),
    "hf-inference-providers": Vendor("hf-inference-providers/org/solver:fastest", "hf-inference-providers/org/judge", "/v1"),
    "openai-api": Vendor("openai-api/custom/solver", "openai-api/custom/judge", "/v1/"),
}
ALL = pytest.mark.parametrize("name", VENDORS)
SEEN = {"in": 1000, "out": 200, "cached": 600, "reasoning": 50}
NO_FINISH_REASON = ("mistral",)
"""Its conversations, which inspect uses, do not say why an answer ended."""

# One lesson for each thing that can happen: what the server does, the outcome, and the faults of its solver calls.
LESSONS: dict[int, tuple[dict[str, Any], Outcome, list[str]]] = {
    1: ({"usage": SEEN}, Outcome.SCORED, [""]),
    2: ({"status": 429, "retry_after": 0.4, "times": 2, "error": "Too many requests"}, Outcome.SCORED, ["rate_limit", "rate_limit", ""]),
    3: ({"status": 529, "error": "Overloaded"}, Outcome.SCORED, ["overloaded", ""]),
    4: ({"status": 503, "error": "Unavailable", "retry_after": 0.01, "every": True}, Outcome.API_ERROR, ["overloaded"] * 3),
    5: ({"text": ""}, Outcome.SOLVER_EMPTY, [""]),
    6: ({"text": "", "reasoning": "the plan is"}, Outcome.SOLVER_EMPTY, [""]),
    # https://github.com/stanford-crfm/helm/pull/3804: MAX_TOKENS without parts was reported as blocked content
    7: ({"text": "", "finish": "length", "no_parts": True, "usage": {"in": 10, "out": 4096, "reasoning": 4096}}, Outcome.SOLVER_CUT, [""]),
    8: ({"status": 400, "error": "Bad request", "code": "content_filter"}, Outcome.FILTERED, ["filtered"]),
    9: ({"text": "I", "finish": "content_filter"}, Outcome.FILTERED, ["filtered"]),
    10: ({"status": 400, "code": "context_length_exceeded",
          "error": "This model's maximum context length is 8192 tokens, the input is too long"}, Outcome.API_ERROR, ["too_long"]),
    11: ({"cut": True}, Outcome.SCORED, ["broken", ""]),
}
DIFFERENT: dict[tuple[str, int], tuple[Outcome, list[str]]] = {
    # No code in the body of these two, and the message alone says nothing.
    ("anthropic", 8): (Outcome.API_ERROR, ["bad_request"]),
    ("google", 8): (Outcome.API_ERROR, ["bad_request"]),
    ("bedrock", 8): (Outcome.API_ERROR, ["bad_request"]),
    ("mistral", 8): (Outcome.API_ERROR, ["bad_request"]),
    ("mistral", 7): (Outcome.SOLVER_EMPTY, [""]),
    ("mistral", 9): (Outcome.SCORED, [""]),
    ("openai-responses", 9): (Outcome.SCORED, [""]),
}


def run(name: str, fake: FakeLLM, folder: Path, **spec: Any) -> Done:
    """A run by this vendor's own SDK, solver and judge."""
    v = VENDORS[name]
    mine = ProviderKey(AWS) if name == "bedrock" else key()
    return evaluate(
        fake, folder, solver=ModelSpec(model=v.solver, config={"temperature": 0.0, "max_tokens": 4096}, base_url=fake.url + v.path),
        judge=ModelSpec(model=v.judge, config={"reasoning_tokens": 1024}, base_url=fake.url + v.path),
        credentials=Credentials(mine, mine), **{"weights": (1,), **spec})


@ALL
def test_answers_usage_waits_and_refusals_are_read_alike_with_one_request_per_attempt(fake, tmp_path, name):
    field = {"reasoning_field": "reasoning"} if name in ("groq", "openrouter") else {}
    for n, (step, _, _) in LESSONS.items():
        fake.script("solver", {**step, **field, "match": f"lesson {n},"})
    fake.script("judge", {"usage": SEEN, "every": True})
    done = run(name, fake, tmp_path, count=len(LESSONS), api_retries=2)

    expected = {n: DIFFERENT.get((name, n), (outcome, faults)) for n, (_, outcome, faults) in LESSONS.items()}
    faults = {n: [e.fault for e in done.ledger if e.id.role == "solver" and e.id.task == str(n)] for n in LESSONS}
    assert {n: (done.view.attempts[str(n), 1].outcome, faults[n]) for n in LESSONS} == expected
    assert len(fake.received("solver")) == sum(map(len, faults.values())), "a request left that the door did not send"
    assert {r["dialect"] for r in fake.received()} == {VENDORS[name].dialect} and "//" not in fake.received()[0]["path"]
    _usage_is_whole(done, name)
    _wait_is_obeyed(fake)
    _budget_is_sent_or_listed(fake, done, name)


def _usage_is_whole(done: Done, name: str) -> None:
    """General units include the specific ones, whatever the vendor's own counting is."""
    for entry in (e for e in done.ledger if e.id.role == "judge" or (e.id.task == "1" and not e.fault)):
        assert (entry.usage.input, entry.usage.output) == (1000, 200)
        assert entry.usage.cache_read == (0 if name == "mistral" else 600)  # its conversations report no cached tokens
        if VENDORS[name].dialect in ("openai", "responses", "gemini"):
            assert entry.usage.reasoning == 50
    assert next(iter(done.ledger)).model or name == "mistral"


def _wait_is_obeyed(fake: FakeLLM) -> None:
    times = [r["t"] for r in fake.received("solver") if "lesson 2," in json.dumps(r["body"])]
    assert len(times) == 3 and all(b - a >= 0.39 for a, b in zip(times, times[1:], strict=False))


def _budget_is_sent_or_listed(fake: FakeLLM, done: Done, name: str) -> None:
    value: Any = fake.received("judge")[0]["body"]
    for step in VENDORS[name].budget or ():
        value = next(iter(value.values())) if step == "*" else value[step]
    listed = any(d.startswith("judge: reasoning tokens not sent") for d in done.view.differences)
    assert (value == 1024 and not listed) if VENDORS[name].budget else listed


@ALL
def test_a_refused_temperature_is_left_out_and_listed_and_missing_usage_is_unknown(fake, tmp_path, name):
    # https://github.com/langwatch/langwatch/pull/1975 and https://github.com/amd/gaia/pull/2905
    fake.script("solver", {"status": 400, "error": "`temperature` is deprecated for this model."}, {"usage": "none"})
    done = run(name, fake, tmp_path, api_retries=0)
    assert [d for d in done.view.differences if d.startswith("solver: temperature not sent")]
    assert '"temperature"' not in json.dumps(fake.received("solver")[-1]["body"])
    # An SDK that cannot read an answer without usage says so; either way the call counts as unknown, never as free.
    assert done.view.spend["solver"].unknown == 1 and done.only().outcome in (Outcome.SCORED, Outcome.API_ERROR)


@ALL
def test_a_refused_key_stops_the_run_at_the_first_request_and_is_quoted_nowhere(fake, tmp_path, name):
    fake.script("solver", {"status": 401, "echo_key": True, "every": True})
    done = run(name, fake, tmp_path, count=3, max_connections=1)
    assert done.view.status == "failed" and "key" in done.view.reason and len(fake.received()) == 1
    left = repr(done.view) + "".join(p.read_text("latin-1") for p in tmp_path.rglob("*") if p.is_file())
    assert "canary" not in left and "AKIA" not in left


@pytest.mark.parametrize("name", ["openai-api", "google", "mistral", "bedrock"])  # one for each kind of client
def test_a_call_is_given_up_at_our_own_timeout_and_charged_at_the_reserve(fake, tmp_path, name):
    fake.script("solver", {"delay": 9})
    done = run(name, fake, tmp_path, call_timeout=3)
    assert [e.fault for e in done.ledger if e.id.role == "solver"] == ["timeout", ""] and done.only().outcome is Outcome.SCORED
    assert done.view.spend["solver"].unknown == 1


def test_a_blocked_prompt_is_filtered_where_there_is_no_candidate(fake, tmp_path):
    fake.script("solver", {"blocked": True})
    assert run("google", fake, tmp_path).only().outcome is Outcome.FILTERED


def test_an_overload_in_the_middle_of_a_stream_is_an_overload(fake, tmp_path):
    # https://github.com/UKGovernmentBEIS/inspect_ai/issues/2280: under the stream's own status 200
    fake.script("judge", {"stream_error": "overloaded_error"})
    done = run("anthropic", fake, tmp_path)
    assert done.only().outcome is Outcome.SCORED
    assert [(e.fault, e.status) for e in done.ledger if e.id.role == "judge"] == [("overloaded", 529), ("", None)]


def test_bedrocks_refusals_are_told_apart(fake, tmp_path):
    # https://github.com/stackblitz-labs/bolt.diy/issues/1102: an id that needs an inference profile
    words = "Invocation of model ID anthropic.claude-sonnet-4-6 with on-demand throughput isn't supported."
    fake.script("solver", {"status": 400, "error": words})
    assert "us." in run("bedrock", fake, tmp_path / "a").view.reason
    fake.script("solver", {"status": 403, "error": "The security token included in the request is invalid."})
    assert "refused the key" in run("bedrock", fake, tmp_path / "b").view.reason


def test_bedrocks_client_waits_as_long_as_the_longest_call(fake, tmp_path):
    # https://github.com/UKGovernmentBEIS/inspect_ai/pull/3479: read timeout of 60 seconds; no global patch
    model = models.build(ModelSpec(model="bedrock/x", base_url=fake.url), ProviderKey(AWS), 5)
    made: list[Any] = []
    session = getattr(model.api.session, "_session", model.api.session)
    session.register("creating-client-class.bedrock-runtime", lambda **kw: made.append(True))
    create = session.create_client
    session.create_client = lambda *args, **kw: made.append(kw.get("config")) or create(*args, **kw)
    done = run("bedrock", fake, tmp_path)
    import asyncio

    asyncio.run(model.generate("hello"))
    (config,) = [c for c in made if hasattr(c, "read_timeout")]
    assert config.read_timeout == 3600 and config.connect_timeout == 60 and done.only().outcome is Outcome.SCORED


def test_the_monthly_credit_of_hugging_face_stops_the_run_and_keeps_results(fake, tmp_path):
    # https://github.com/huggingface/agents-course/issues/386
    words = "You have exceeded your monthly included credits for Inference Providers."
    fake.script("solver", {"match": "lesson 1,"}, {"status": 402, "error": words, "every": True})
    done = run("hf-inference-providers", fake, tmp_path, count=4, max_connections=1)
    assert done.view.status == "failed" and "monthly included credits" in done.view.reason
    assert len(fake.received("solver")) == 2 and not done.view.counts()["scored"]
    fake.state.queue["solver"].clear()
    again = run("hf-inference-providers", fake, tmp_path, count=4)
    assert again.view.counts()["scored"] == 4
    assert len([r for r in fake.received("solver") if "lesson 1," in json.dumps(r["body"])]) == 1


def test_a_limit_of_the_key_itself_stops_the_run_as_a_cap_does(fake, tmp_path):
    fake.script("solver", {"status": 403, "error": "Key limit exceeded (total limit).", "every": True})
    done = run("openrouter", fake, tmp_path, count=4, max_connections=1)
    assert done.view.status == "capped" and len(fake.received()) == 3 and done.view.counts()["skipped_by_cap"] == 4


def test_a_model_that_no_enabled_provider_serves_names_the_account_setting(fake, tmp_path):
    # https://github.com/cline/cline/issues/5098
    fake.script("solver", {"status": 400, "code": "model_not_supported",
                           "error": "The requested model 'x' is not supported by any provider you have enabled."})
    assert "inference provider settings" in run("hf-inference-providers", fake, tmp_path).view.reason


@pytest.mark.parametrize(
    ("usage", "cost"),
    [({"cost": 0.0123}, 0.0123), ({"cost": 0.001, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.02}}, 0.021),
     ({"cost": 0.001, "is_byok": False, "cost_details": {"upstream_inference_cost": 0.02}}, 0.001)],
)
def test_a_cost_that_the_router_reports_beats_the_table_and_includes_the_own_keys_upstream(fake, tmp_path, usage, cost):
    # https://github.com/UKGovernmentBEIS/inspect_ai/issues/4739
    fake.script("solver", {"usage": usage})
    (entry,) = [e for e in run("openrouter", fake, tmp_path).ledger if e.id.role == "solver"]
    assert entry.cost == pytest.approx(cost) and entry.cost_source == "reported"
    assert fake.received("solver")[0]["body"]["usage"] == {"include": True}


def test_max_tokens_goes_out_under_the_name_a_model_asks_for(fake, tmp_path):
    # https://github.com/teilomillet/gollm/issues/33: o-series and GPT-5 refuse max_tokens
    run("openai-responses", fake, tmp_path / "a")
    assert fake.received("solver")[0]["body"]["max_output_tokens"] == 4096
    fake.script("solver", {"status": 400, "error": "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."})
    done = run("openai-api", fake, tmp_path / "b")
    assert done.only().outcome is Outcome.SCORED and fake.received("solver")[-1]["body"]["max_completion_tokens"] == 4096
    assert any("max_completion_tokens" in d for d in done.view.differences)


def test_a_redirect_is_not_followed_with_the_key(fake, tmp_path):
    with FakeLLM() as other:
        fake.script("solver", {"redirect": f"{other.url}/v1/chat/completions", "every": True})
        done = run("openai-api", fake, tmp_path)
        assert not other.received() and done.view.status == "failed" and "address" in done.view.reason


def test_the_groups_of_a_wait_of_our_own_stay_under_its_ceiling(fake, tmp_path, monkeypatch):
    # https://github.com/UKGovernmentBEIS/inspect_ai/issues/167: backoff grew to half an hour
    from pipeline import door

    monkeypatch.setattr(door, "FIRST_WAIT", 0.02)
    monkeypatch.setattr(door, "LONGEST_OWN_WAIT", 0.1)
    fake.script("solver", {"status": 429, "times": 10, "error": "slow down"})
    done = run("openai-api", fake, tmp_path, api_retries=12)
    waits = [e.seconds for e in done.events if e.kind == "waiting"]
    assert done.only().outcome is Outcome.SCORED and len(waits) == 10 and max(waits) <= 0.1
