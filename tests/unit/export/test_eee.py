"""Every Eval Ever records: stable names, right model fields, both means, and an id for each run of its own.

The public validator itself runs in `.ci/eee.sh`, in an environment of its own; what it asks for is asserted here too.
"""

import json
import re
from typing import Any

import pytest

from pipeline.errors import UserError
from pipeline.report.export.eee import eee_path, eee_record
from pipeline.report.export.names import model_name
from pipeline.report.summary import summarise
from tests.made_runs import made_view
from tests.unit.export.records import KINDS

PATH = re.compile(r"data/l2-bench/[^/]+/[^/]+/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\.json")
BAD = re.compile(r'[<>:"\\|?*\x00-\x1f]')


def by_metric(record: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {r["evaluation_result_id"]: r for r in record["evaluation_results"]}


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_record_keeps_the_schemas_rules(kind: dict[str, Any]) -> None:
    view = made_view(**kind)
    record, path = eee_record(view), eee_path(view)
    assert PATH.fullmatch(path) and not BAD.search(path)
    assert not [p for p in path.split("/")[1:4] if p in ("data", "unknown") or p.endswith((".", " "))
                or p.split(".")[0].lower() in ("con", "aux", "nul", "prn", "com1", "lpt1")]
    maker, _, model = record["model_info"]["id"].partition("/")
    assert path.split("/")[2:4] == [maker.replace(":", "_"), model.replace("/", "_").replace(":", "_")]
    assert record["schema_version"] == "0.3.0" and record["retrieved_timestamp"].isdigit()
    assert {r["evaluation_name"] for r in record["evaluation_results"]} == {"l2-bench"}
    ids = [r["evaluation_result_id"] for r in record["evaluation_results"]]
    assert len(ids) == len(set(ids))
    for r in record["evaluation_results"]:
        config, score = r["metric_config"], r["score_details"]["score"]
        assert ("min_score" in config) == (config.get("score_type") == "continuous") == (0 <= score <= 1)
        assert all(isinstance(v, str) for v in r["score_details"]["details"].values())
        assert config["llm_scoring"]["judges"][0]["model_info"]["additional_details"]["deployment_type"]


def test_means_intervals_and_counts_are_those_of_the_summary() -> None:
    view = made_view(tasks=60, faults=0.3)
    s, found = summarise(view), by_metric(eee_record(view))
    for name, mean in (("l2-bench.mean", s.scored), ("l2-bench.mean_attempted", s.attempted)):
        details = found[name]["score_details"]
        interval = details["uncertainty"]["confidence_interval"]
        assert mean.interval and details["score"] == mean.value and details["uncertainty"]["num_samples"] == mean.tasks
        assert (interval["lower"], interval["upper"], interval["confidence_level"]) == (mean.interval.low, mean.interval.high, 0.95)
    counts = found["l2-bench.mean"]["score_details"]["details"]
    assert counts["attempts_scored"] == str(s.scored_count) and counts["outcome_api_error"] == str(s.counts["api_error"])
    assert "demo tasks, not the published set" in counts["differences_from_reference_settings"]
    groups = {r["metric_config"]["metric_parameters"]["competency"]: r["score_details"]["score"] for r in found.values()
              if r["metric_config"]["metric_id"] == "l2-bench.competency_mean"}
    assert groups == {g.name: g.scored.value for g in s.by_competency}


def test_two_judges_over_the_same_run_give_two_records() -> None:
    # https://github.com/allenai/olmo-eval/pull/267: the judge was not in the hash, so one result overwrote the other.
    views = [made_view(tasks=6, judge=j, skill=1.0, faults=0.0) for j in ("demo/judge", "openrouter/deepseek/deepseek-v3.2")]
    assert len({eee_path(v) for v in views}) == 2
    assert len({eee_record(v)["evaluation_id"] for v in views}) == 2
    assert eee_path(views[0]) == eee_path(made_view(tasks=6, judge="demo/judge", skill=1.0, faults=0.0))


def test_a_mean_below_zero_declares_no_bounds_and_the_clipped_one_does() -> None:
    view = made_view(skill=-1.0, seed=5, tasks=12)
    found = by_metric(eee_record(view))
    assert found["l2-bench.mean"]["score_details"]["score"] < 0 and "min_score" not in found["l2-bench.mean"]["metric_config"]
    assert found["l2-bench.mean_clipped"]["score_details"]["score"] == 0
    assert found["l2-bench.mean_clipped"]["metric_config"]["min_score"] == 0


def test_the_source_is_the_data_set_only_where_it_was_used() -> None:
    hub = eee_record(made_view(kind="hub", tasks=5))["evaluation_results"][0]["source_data"]
    assert (hub["source_type"], hub["hf_repo"], len(hub["sample_ids"])) == ("hf_dataset", "OUP/l2-bench", 5)
    demo = eee_record(made_view(tasks=5))["evaluation_results"][0]["source_data"]
    assert demo["source_type"] == "other" and "demo" in demo["dataset_name"] and "hf_repo" not in demo


def test_the_prompt_is_named_by_version_and_digest_and_its_text_left_out() -> None:
    scoring = eee_record(made_view(tasks=3))["evaluation_results"][0]["metric_config"]["llm_scoring"]
    assert "v1" in scoring["input_prompt"] and "a" * 64 in scoring["input_prompt"] and len(scoring["input_prompt"]) < 300
    assert scoring["judges"][0]["additional_details"]["reasoning_tokens"] == "1024"


def test_headers_and_bodies_of_requests_are_never_exported() -> None:
    view = made_view(tasks=3)
    view.spec["solver"]["config"] |= {"extra_headers": {"x-secret": "CANARY"}, "extra_body": {"k": "CANARY"}, "top_p": 0.9}
    text = json.dumps(eee_record(view))
    assert "CANARY" not in text and '"top_p": 0.9' in text


def test_a_temperature_that_was_not_sent_is_not_claimed() -> None:
    sent = eee_record(made_view(tasks=3))["evaluation_results"][0]["generation_config"]["generation_args"]
    unsent = eee_record(made_view(tasks=3, differences=("temperature not sent to the solver",)))
    assert sent["temperature"] == 0.0
    assert unsent["evaluation_results"][0]["generation_config"]["generation_args"]["temperature"] is None


def test_a_run_without_any_score_is_refused_in_words() -> None:
    with pytest.raises(UserError, match="No task"):
        eee_record(made_view(tasks=3, done=0, status="running"))


EXT, SELF, UNKNOWN, OPEN, CLOSED = "externally_managed", "self_deployed", "unknown", "open_weights", "closed_weights"
ARN = "bedrock/arn:aws:bedrock:us-east-1:123456789012"
NAMES = [
    ("openrouter/google/gemma-4-31b-it:free", "google", "google/gemma-4-31b-it", EXT, OPEN),
    ("openrouter/~anthropic/claude-sonnet-latest", "anthropic", "anthropic/claude-sonnet-latest", EXT, CLOSED),
    ("openrouter/anthropic/claude-sonnet-4.6", "anthropic", "anthropic/claude-sonnet-4.6", EXT, CLOSED),
    ("bedrock/us.anthropic.claude-sonnet-4-6", "anthropic", "anthropic/claude-sonnet-4-6", EXT, CLOSED),
    ("bedrock/anthropic.claude-3-5-sonnet-20241022-v2:0", "anthropic", "anthropic/claude-3-5-sonnet-20241022-v2:0", EXT, CLOSED),
    ("bedrock/us-gov.anthropic.claude-x", "anthropic", "anthropic/claude-x", EXT, CLOSED),
    ("bedrock/global.amazon.nova-2-lite-v1:0", "amazon", "amazon/nova-2-lite-v1:0", EXT, CLOSED),
    ("bedrock/deepseek.v3.2", "deepseek", "deepseek/deepseek.v3.2", EXT, OPEN),
    ("bedrock/moonshotai.kimi-k2.5", "moonshotai", "moonshotai/kimi-k2.5", EXT, OPEN),
    (f"{ARN}:inference-profile/us.anthropic.claude-x-v1:0", "anthropic", "anthropic/claude-x-v1:0", EXT, CLOSED),
    (f"{ARN}:application-inference-profile/a1b2", UNKNOWN, "bedrock/a1b2", EXT, UNKNOWN),
    ("anthropic/bedrock/eu.anthropic.claude-sonnet-4-6", "anthropic", "anthropic/claude-sonnet-4-6", EXT, CLOSED),
    ("google/vertex/gemini-3-flash", "google", "google/gemini-3-flash", EXT, CLOSED),
    ("openai/azure/gpt-5.4", "openai", "openai/gpt-5.4", EXT, CLOSED),
    ("hf-inference-providers/Qwen/Qwen3-32B:groq", "Qwen", "Qwen/Qwen3-32B", EXT, OPEN),
    ("groq/openai/gpt-oss-120b", "openai", "openai/gpt-oss-120b", EXT, OPEN),
    ("fireworks/accounts/fireworks/models/kimi-k2p5", "moonshotai", "moonshotai/kimi-k2p5", EXT, OPEN),
    ("openai-api/custom/my-model", UNKNOWN, "custom/my-model", UNKNOWN, UNKNOWN),
    ("openai-api/custom/org/model", UNKNOWN, "custom/org/model", UNKNOWN, UNKNOWN),
    ("openai-api/deepseek/deepseek-chat", "deepseek-ai", "deepseek-ai/deepseek-chat", EXT, OPEN),
    ("openai-api/local/SmolLM2-135M-Instruct", "HuggingFaceTB", "HuggingFaceTB/SmolLM2-135M-Instruct", SELF, OPEN),
    ("vllm/google/gemma-4", "google", "google/gemma-4", SELF, OPEN),
    ("ollama/gemma3:4b", "google", "google/gemma3:4b", SELF, OPEN),
    ("demo/strong", "l2-bench-live", "l2-bench-live/strong", SELF, UNKNOWN),
    ("mockllm/model", UNKNOWN, "mockllm/model", UNKNOWN, UNKNOWN),
    ("nothing", UNKNOWN, "custom/nothing", UNKNOWN, UNKNOWN),
    ("openai-api/custom/", UNKNOWN, "custom/custom", UNKNOWN, UNKNOWN),
]


@pytest.mark.parametrize(("model", "developer", "name", "deployment", "weights"), NAMES, ids=[n[0] for n in NAMES])
def test_developer_and_deployment_come_out_right(model: str, developer: str, name: str, deployment: str, weights: str) -> None:
    found = model_name(model)
    assert (found.developer, found.id, found.deployment, found.availability) == (developer, name, deployment, weights)
    assert "123456789012" not in f"{found}"


@pytest.mark.parametrize(("url", "deployment"), [
    ("http://127.0.0.1:8000/v1", SELF), ("http://localhost:8000/v1", SELF), ("http://[::1]/v1", SELF),
    ("http://192.168.1.4/v1", SELF), ("https://api.example.com/v1", UNKNOWN), (None, UNKNOWN)])
def test_an_endpoint_on_the_own_network_is_self_deployed(url: str | None, deployment: str) -> None:
    assert model_name("openai-api/custom/m", url).deployment == deployment


@pytest.mark.parametrize("model", [
    "openrouter/../../x", "custom/a b/c|d", "hf/CON/NUL.txt", "x/data/..", "openrouter/" + "m" * 999, "//", ""])
def test_no_model_name_makes_an_unsafe_path(model: str) -> None:
    path = eee_path(made_view(tasks=2, solver=model or "/"))
    assert PATH.fullmatch(path) and ".." not in path.split("/") and not BAD.search(path) and len(path) < 400
