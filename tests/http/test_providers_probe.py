"""The probe before a run, over real sockets: what a model refuses is found, listed, and asked for in three calls at most."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from runner.providers.catalogue import PROVIDERS
from runner.providers.probe import MOST_CALLS, Probe, probe
from tests.http.fake_providers import FakeProvider, Say, Seen, fake_provider

KEY = {"api_key": "canary-7f3a9b2c4d5e6f708192"}
AWS = {"aws_access_key_id": "AKIAIOSFODNN7EXAMPLE", "aws_secret_access_key": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
       "region_name": "us-east-1"}
SOLVER = {"temperature": 0.0, "max_tokens": 4096}
JUDGE = {"reasoning_tokens": 1024}
CHAT = "/chat/completions"
OK = Say(body={"choices": [{"message": {"content": "true"}, "finish_reason": "stop"}]})


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProvider]:
    with fake_provider() as server:
        monkeypatch.delenv("SPACE_ID", raising=False)
        monkeypatch.setenv("L2BENCH_PROVIDER_HOSTS", json.dumps({p.id: server.url for p in PROVIDERS if p.base}))
        monkeypatch.setenv("L2BENCH_ALLOW_CUSTOM_URL", "private")
        yield server


def ask(provider: str, model: str, settings: dict[str, Any], fields: dict[str, str] | None = None) -> Probe:
    return asyncio.run(probe(provider, model, KEY if fields is None else fields, settings))


def refusing(**rules: str) -> Any:
    """A model that refuses a field of the body with these words, and answers when none is there."""
    def answer(seen: Seen) -> Say:
        for name, words in rules.items():
            if name in seen.body:
                return Say(400, {"error": {"message": words, "type": "invalid_request_error", "param": name}})
        return OK
    return answer


MAX_TOKENS = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
TEMPERATURE = "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported."


def test_a_willing_model_needs_one_small_call_and_no_adaptation(fake: FakeProvider) -> None:
    fake.on(CHAT, OK)
    found = ask("openai", "gpt-4o", SOLVER)
    assert (found.status, found.adaptations, found.calls) == ("ready", (), 1)
    assert fake.seen[0].body["max_tokens"] <= 64 and fake.seen[0].body["temperature"] == 0.0
    assert found.apply(SOLVER) == SOLVER


def test_max_completion_tokens_is_found(fake: FakeProvider) -> None:
    # https://github.com/teilomillet/gollm/issues/33: max_tokens was refused on every call of the run
    fake.on(CHAT, refusing(max_tokens=MAX_TOKENS))
    found = ask("openai", "o3-mini", {"max_tokens": 4096})
    assert found.status == "ready" and found.differences == ("the answer limit was sent as max_completion_tokens",)
    assert fake.seen[-1].body["max_completion_tokens"] > 0 and "max_tokens" not in fake.seen[-1].body
    assert found.apply({"max_tokens": 4096})["max_tokens"] == 4096  # the run's cap still knows the limit


@pytest.mark.parametrize("words", [
    TEMPERATURE, "`temperature` is deprecated for this model.", "Unsupported parameter: 'temperature' is not supported",
    "temperature is not supported with reasoning models", "`temperature` may only be set to 1 when thinking is enabled."])
def test_temperature_is_left_out_and_listed(fake: FakeProvider, words: str) -> None:
    # https://github.com/langwatch/langwatch/pull/1975: a model that reasons refuses any temperature
    fake.on(CHAT, refusing(temperature=words))
    found = ask("openrouter", "openai/gpt-5", SOLVER)
    assert found.status == "ready" and found.differences == ("temperature not sent",)
    assert found.apply(SOLVER) == {"max_tokens": 4096}


def test_both_are_found_in_three_calls(fake: FakeProvider) -> None:
    fake.on(CHAT, refusing(max_tokens=MAX_TOKENS, temperature=TEMPERATURE))
    found = ask("openai", "gpt-5", SOLVER)
    assert found.status == "ready" and len(found.differences) == 2 and found.calls == len(fake.seen) == 3


def test_a_newer_claude_without_temperature(fake: FakeProvider) -> None:
    # https://github.com/amd/gaia/pull/2905: newer Claude models refuse temperature
    def answer(seen: Seen) -> Say:
        if "temperature" in seen.body:
            return Say(400, {"type": "error", "error": {"type": "invalid_request_error",
                                                        "message": "`temperature` is deprecated for this model."}})
        return Say(body={"content": [{"type": "text", "text": "true"}], "stop_reason": "end_turn"})

    fake.on("/v1/messages", answer)
    found = ask("anthropic", "claude-opus-4-7", SOLVER)
    assert found.status == "ready" and found.differences == ("temperature not sent",)
    assert fake.seen[0].headers["x-api-key"] == KEY["api_key"]


def test_a_temperature_of_zero_is_sent_and_not_taken_for_absent(fake: FakeProvider) -> None:
    # https://github.com/danny-avila/LibreChat/issues/11949: a value of 0.0 was dropped as if it were not set
    fake.on("/v1/messages", Say(body={"content": []}))
    ask("anthropic", "claude-sonnet-4-6", {"temperature": 0.0})
    assert fake.seen[0].body["temperature"] == 0.0


def test_a_judges_thinking_is_sent_in_each_providers_form(fake: FakeProvider) -> None:
    fake.on("/v1/messages", Say(body={"content": []})).on(CHAT, OK)
    fake.on("/v1beta/models/gemini-x:generateContent", Say(body={"candidates": []}))
    fake.on("/v1beta/models/gemini-x%3AgenerateContent", Say(body={"candidates": []}))
    fake.on("/model/us.anthropic.claude-sonnet-4-6/converse", Say(body={"output": {"message": {}}}))
    assert ask("anthropic", "claude-sonnet-4-6", JUDGE).status == "ready"
    assert ask("openrouter", "anthropic/claude-sonnet-4.6", JUDGE).status == "ready"
    assert ask("google", "gemini-x", JUDGE).status == "ready"
    assert ask("bedrock", "us.anthropic.claude-sonnet-4-6", JUDGE, AWS).status == "ready"
    first, second, third, fourth = (s.body for s in fake.seen)
    assert first["thinking"] == {"type": "enabled", "budget_tokens": 1024} and first["max_tokens"] > 1024
    assert second["reasoning"] == {"max_tokens": 1024} and second["max_tokens"] > 1024
    assert third["generationConfig"]["thinkingConfig"]["thinkingBudget"] == 1024
    assert fourth["additionalModelRequestFields"]["reasoning_config"]["budget_tokens"] == 1024
    assert KEY["api_key"] not in fake.seen[2].path


def test_a_refused_reasoning_budget_is_listed(fake: FakeProvider) -> None:
    def answer(seen: Seen) -> Say:
        if "thinking" in seen.body:
            return Say(400, {"type": "error", "error": {"message": "\"thinking.type.enabled\" is not supported for this model."}})
        return Say(body={"content": []})

    fake.on("/v1/messages", answer)
    found = ask("anthropic", "claude-x", JUDGE)
    assert found.status == "ready" and found.differences == ("reasoning budget not sent",)


def test_a_budget_that_the_provider_has_no_form_for_is_listed_without_a_call(fake: FakeProvider) -> None:
    fake.on("/openai/v1/chat/completions", OK)
    found = ask("groq", "openai/gpt-oss-120b", JUDGE)
    assert found.differences == ("reasoning budget not sent",) and "reasoning" not in fake.seen[0].body


def test_a_limit_too_near_the_reasoning_budget_is_warned_of(fake: FakeProvider) -> None:
    # https://github.com/tashfeenahmed/circlechat/pull/61: no verdict of 15 was readable, the budget was used up by reasoning
    fake.on(CHAT, OK)
    found = ask("openrouter", "anthropic/claude-sonnet-4.6", {"reasoning_tokens": 1024, "max_tokens": 1100})
    assert any("1124" in s for s in found.sentences)
    found = ask("openrouter", "anthropic/claude-sonnet-4.6", {"reasoning_tokens": 1024, "max_tokens": 1124})
    assert not found.sentences


@pytest.mark.parametrize("apostrophe", ["'", "\u2019"])
def test_a_bedrock_id_without_its_region_is_told_the_right_form(fake: FakeProvider, apostrophe: str) -> None:
    # https://github.com/stackblitz-labs/bolt.diy/issues/1102: the id needs an inference profile
    words = (f"Invocation of model ID anthropic.claude-sonnet-4-6 with on-demand throughput isn{apostrophe}t supported. "
             "Retry your request with the ID or ARN of an inference profile that contains this model.")
    fake.on("/model/anthropic.claude-sonnet-4-6/converse",
            Say(400, {"message": words}, {"x-amzn-ErrorType": "ValidationException"}))
    found = ask("bedrock", "anthropic.claude-sonnet-4-6", SOLVER, AWS)
    assert found.status == "blocked" and "us.anthropic.claude-sonnet-4-6" in found.sentences[-1]


def test_a_bedrock_id_with_a_colon_is_signed_as_it_is_sent(fake: FakeProvider) -> None:
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    fake.on("/model/openai.gpt-oss-120b-1%3A0/converse", Say(body={"output": {}}))
    assert ask("bedrock", "openai.gpt-oss-120b-1:0", SOLVER, AWS).status == "ready"
    seen = fake.seen[0]
    headers = {"content-type": "application/json", "accept": seen.headers["accept"]}
    again = AWSRequest("POST", fake.url + seen.path, headers, seen.raw)
    again.context["timestamp"] = seen.headers["x-amz-date"]
    again.headers["X-Amz-Date"] = seen.headers["x-amz-date"]
    signer = SigV4Auth(Credentials(AWS["aws_access_key_id"], AWS["aws_secret_access_key"]), "bedrock", "us-east-1")
    text = signer.string_to_sign(again, signer.canonical_request(again))
    assert seen.headers["authorization"].endswith(f"Signature={signer.signature(text, again)}")
    assert "%253A" in signer.canonical_request(again)


@pytest.mark.parametrize("words", [
    "The requested model 'org/model' is not supported by any provider you have enabled.",
    {"message": "x", "code": "model_not_supported"}])
def test_a_hugging_face_model_that_no_enabled_provider_serves_names_the_setting(fake: FakeProvider, words: Any) -> None:
    # https://github.com/cline/cline/issues/5098: the refusal did not say where to change it
    fake.on(CHAT, Say(400, {"error": words if isinstance(words, dict) else {"message": words, "code": "model_not_supported"}}))
    found = ask("hf-inference-providers", "org/model", SOLVER)
    assert found.status == "blocked" and "settings/inference-providers" in found.sentences[-1] and found.calls == 1


def test_used_up_monthly_credits_stop_at_once(fake: FakeProvider) -> None:
    # https://github.com/huggingface/agents-course/issues/386: every further call failed with 402
    fake.on(CHAT, Say(402, {"error": "You have exceeded your monthly included credits for Inference Providers."}))
    found = ask("hf-inference-providers", "org/model", SOLVER)
    assert found.status == "blocked" and "monthly" in found.sentences[-1] and len(fake.seen) == 1


def test_an_address_without_v1_is_told_so(fake: FakeProvider) -> None:
    fake.on("/v1" + CHAT, OK)
    found = ask("custom", "m", SOLVER, {"base_url": fake.url})
    assert found.status == "blocked" and f"try {fake.url}/v1" in found.sentences[-1]
    assert ask("custom", "m", SOLVER, {"base_url": fake.url + "/v1/"}).status == "ready"
    assert fake.seen[-1].path == "/v1" + CHAT


@pytest.mark.parametrize("answer", [Say(200, b"<html></html>"), Say(200, {"error": "Unexpected endpoint or method."}),
                                    Say(405, b"")])
def test_other_signs_of_a_wrong_address(fake: FakeProvider, answer: Say) -> None:
    fake.on(CHAT, answer)
    assert f"try {fake.url}/v1" in ask("custom", "m", SOLVER, {"base_url": fake.url}).sentences[-1]


def test_a_custom_endpoints_reply_is_never_repeated(fake: FakeProvider) -> None:
    fake.on("/v1" + CHAT, Say(400, {"error": {"message": "secret-4711 of the internal service"}}))
    found = ask("custom", "m", SOLVER, {"base_url": fake.url + "/v1"})
    assert found.status == "blocked" and "4711" not in repr(found)


@pytest.mark.parametrize(("answer", "status"), [
    (Say(401, {"error": {"message": f"bad key {KEY['api_key']}"}}), "blocked"),
    (Say(402, {"error": {"message": f"no credit for {KEY['api_key']}"}}), "blocked"),
    (Say(403, {"error": {"message": f"{KEY['api_key']} may not"}}), "blocked"),
    (Say(404, {"error": {"message": "no such model"}}), "blocked"),
    (Say(400, {"error": {"message": f"odd {KEY['api_key']}"}}), "blocked"),
    (Say(429, {"error": {"message": "slow"}}), "unknown"),
    (Say(529, {"error": {"message": "overloaded"}}), "unknown"),
    (Say(200, {"error": {"code": 502, "message": "upstream"}}), "unknown"),
    (Say(200, {"error": {"code": 402, "message": "credits"}}), "blocked"),
    (Say(302, b"", {"Location": "http://127.0.0.1:9/"}), "blocked"),
])
def test_faults_that_are_no_setting(fake: FakeProvider, answer: Say, status: str) -> None:
    fake.on(CHAT, answer)
    found = ask("openrouter", "a/b", SOLVER)
    assert found.status == status and found.calls == 1 and found.sentences
    assert KEY["api_key"] not in repr(found)


def test_never_more_than_three_calls(fake: FakeProvider) -> None:
    names = {n: f"Unsupported parameter: '{n}' is not supported" for n in ("temperature", "top_p", "seed", "frequency_penalty")}
    fake.on(CHAT, refusing(**names))
    found = ask("openrouter", "a/b", {"temperature": 0.0, "top_p": 0.9, "seed": 1, "frequency_penalty": 0.1})
    assert found.calls == len(fake.seen) == MOST_CALLS and found.status == "unknown" and len(found.differences) == 3


def test_a_refusal_that_does_not_go_away_ends(fake: FakeProvider) -> None:
    fake.on(CHAT, Say(400, {"error": {"message": TEMPERATURE}}))
    found = ask("openrouter", "a/b", SOLVER)
    assert found.status == "blocked" and found.calls == 2


def test_a_model_that_could_not_stop_so_soon_has_taken_its_settings(fake: FakeProvider) -> None:
    words = "Could not finish the message because max_tokens or model output limit was reached."
    fake.on(CHAT, Say(400, {"error": {"message": words}}))
    assert ask("openai", "o1", {"max_tokens": 100}).status == "ready"


def test_a_key_of_another_provider_asks_nothing(fake: FakeProvider) -> None:
    found = ask("openai", "gpt-4o", SOLVER, {"api_key": "sk-ant-" + "x" * 30})
    assert found.status == "blocked" and not fake.seen
    assert ask("demo", "strong", SOLVER, {}).status == "ready"
