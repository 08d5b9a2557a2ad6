"""The catalogue's promises: fixed https hosts, names kept exactly, judges labelled, keys kept to their provider."""

import json
import subprocess
import sys
from urllib.parse import urlsplit

import pytest

from pipeline.core.keys import clean_key
from pipeline.errors import UserError
from pipeline.spec import REFERENCE_JUDGE, ModelSpec, ProviderKey
from runner.providers.catalogue import NO_KEY, PROVIDERS, hosts, provider
from runner.providers.entry import Call
from runner.providers.judges import ANOTHER, JudgeOption, judge_options, known_model, stability
from runner.providers.keys import redactor
from runner.providers.models import bundled
from runner.providers.names import credentials_for, inspect_model_name, provider_of, split_model_name

WITH_KEY = [p for p in PROVIDERS if p.base]


def test_openrouter_is_first_and_all_that_the_issue_names_are_there() -> None:
    assert [p.id for p in PROVIDERS] == [
        "openrouter", "openai", "anthropic", "google", "bedrock", "mistral", "deepseek", "groq", "together", "fireworks",
        "hf-inference-providers", "custom", "local", "demo"]
    assert len({p.prefix for p in PROVIDERS}) == len(PROVIDERS)


@pytest.mark.parametrize("entry", WITH_KEY, ids=lambda p: p.id)
def test_every_host_is_fixed_https_and_every_key_has_a_source(entry: object) -> None:
    found = provider(entry)  # type: ignore[arg-type]
    fields = {"region_name": "eu-central-1"}
    for call in filter(None, (found.listing, found.check, Call(found.chat))):
        assert urlsplit(found.url(call, fields)).scheme == "https"
    assert urlsplit(found.key_url).scheme == "https" and found.key_note.endswith(".")
    assert any(f.secret for f in found.fields) and found.judges


def test_all_calls_go_to_the_override_where_there_is_one() -> None:
    hf = provider("hf-inference-providers")
    assert hf.check is not None
    assert hf.url(hf.check, {}) == "https://huggingface.co/api/whoami-v2"
    assert hf.url(hf.check, {}, "http://127.0.0.1:1/v1") == "http://127.0.0.1:1/api/whoami-v2"


def test_overrides_are_read_off_a_space_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("L2BENCH_PROVIDER_HOSTS", json.dumps({"openai": "http://127.0.0.1:1/v1/", "bad": "file:///x"}))
    monkeypatch.delenv("SPACE_ID", raising=False)
    assert hosts() == {"openai": "http://127.0.0.1:1/v1"}
    monkeypatch.setenv("SPACE_ID", "me/space")
    assert hosts() == {}
    monkeypatch.delenv("SPACE_ID")
    monkeypatch.setenv("L2BENCH_PROVIDER_HOSTS", "[1")
    with pytest.raises(UserError):
        hosts()


# https://github.com/0xzr/freellmpool/pull/34, https://github.com/UKGovernmentBEIS/inspect_ai/issues/944: ids with slashes were
# split in the wrong place
@pytest.mark.parametrize(("provider_id", "model", "name"), [
    ("openrouter", "anthropic/claude-sonnet-4.6", "openrouter/anthropic/claude-sonnet-4.6"),
    ("openrouter", "google/gemma-4-31b-it:free", "openrouter/google/gemma-4-31b-it:free"),
    ("openrouter", "~anthropic/claude-sonnet-latest", "openrouter/~anthropic/claude-sonnet-latest"),
    ("hf-inference-providers", "org/model:provider", "hf-inference-providers/org/model:provider"),
    ("bedrock", "us.anthropic.claude-sonnet-4-6", REFERENCE_JUDGE),
    ("bedrock", "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.x-v1:0",
     "bedrock/arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.x-v1:0"),
    ("fireworks", "accounts/fireworks/models/kimi-k2p5", "fireworks/accounts/fireworks/models/kimi-k2p5"),
    ("custom", "openai/gpt-4o", "openai-api/custom/openai/gpt-4o"),
    ("custom", "custom/custom", "openai-api/custom/custom/custom"),
    ("local", "SmolLM2-135M-Instruct", "openai-api/local/SmolLM2-135M-Instruct"),
    ("openai", "ft:gpt-4o-mini:org::abc123", "openai/ft:gpt-4o-mini:org::abc123"),
    ("demo", "strong", "demo/strong"),
    ("hf", "org/model:provider", "hf/org/model:provider"),
    ("openai-api", "other/model", "openai-api/other/model"),
])
def test_names_go_round_exactly(provider_id: str, model: str, name: str) -> None:
    assert inspect_model_name(provider_id, model) == name
    assert split_model_name(name) == (provider_id, model)
    assert ModelSpec.model_validate_json(ModelSpec(model=name).model_dump_json()).model == name


@pytest.mark.parametrize("entry", PROVIDERS, ids=lambda p: p.id)
def test_every_bundled_model_goes_round(entry: object) -> None:
    found = provider(entry)  # type: ignore[arg-type]
    listed = bundled(found)
    assert listed.source == "bundled" and listed.date == "2026-11-29"
    for model in [*listed.ids, *found.judges]:
        assert split_model_name(inspect_model_name(found.id, model)) == (found.id, model)
    if found.base:
        assert set(found.judges) <= set(listed.ids)


@pytest.mark.parametrize("name", ["", "gpt-4o", "/x", "openai/"])
def test_a_name_without_provider_or_model_is_refused(name: str) -> None:
    with pytest.raises(UserError):
        split_model_name(name)


@pytest.mark.parametrize("model", ["", "  ", "a b", "a\nb", "a\u200bb", "x" * 301])
def test_a_model_that_is_none_is_refused(model: str) -> None:
    with pytest.raises(UserError):
        inspect_model_name("openai", model)


@pytest.mark.parametrize("name", ["hf/org/weights", "vllm/x", "sglang/x", "mockllm/model", "ollama/x", "openai-api/other/x"])
def test_providers_that_the_page_does_not_offer_are_refused(name: str) -> None:
    with pytest.raises(UserError):
        provider_of(name)


def test_credentials_hold_the_entrys_own_fields_and_nothing_else() -> None:
    key = credentials_for("openrouter", {"api_key": " sk-or-v1-abc\n", "base_url": "https://evil.example", "x": "y"})
    assert key == ProviderKey({"api_key": "sk-or-v1-abc"}) and "abc" not in repr(key)
    aws = credentials_for("bedrock", {"aws_access_key_id": "AKIAIOSFODNN7EXAMPLE", "aws_secret_access_key": "s" * 40,
                                      "region_name": "us-east-1", "aws_session_token": " "})
    assert set(aws.fields) == {"aws_access_key_id", "aws_secret_access_key", "region_name"}
    with pytest.raises(UserError):
        credentials_for("openai", {})


def test_no_provider_falls_back_to_the_owners_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("L2BENCH_ALLOW_CUSTOM_URL", "private")
    assert credentials_for("custom", {"base_url": "http://localhost:1/v1"}).fields == {"api_key": NO_KEY}
    assert credentials_for("demo", {}).fields and credentials_for("local", {}).fields


@pytest.mark.parametrize(("provider_id", "first"), [
    ("openrouter", "openrouter/anthropic/claude-sonnet-4.6"), ("anthropic", "anthropic/claude-sonnet-4-6"),
    ("bedrock", REFERENCE_JUDGE)])
def test_the_judge_starts_at_the_route_to_sonnet(provider_id: str, first: str) -> None:
    options = judge_options(provider_id)
    assert options[0].model == first and options[0].reference and ANOTHER not in options[0].label
    assert "100.0 %" in options[0].stability


@pytest.mark.parametrize("entry", [p for p in PROVIDERS if p.judges], ids=lambda p: p.id)
def test_every_other_judge_is_marked_as_not_comparable(entry: object) -> None:
    options: list[JudgeOption] = judge_options(entry)  # type: ignore[arg-type]
    for option in options:
        assert (ANOTHER in option.label) is not option.reference and option.stability
    assert {o.model for o in options if o.open_weights} == {f"{entry.prefix}/{j}" for j in entry.open_judges}  # type: ignore[attr-defined]


def test_stability_is_that_of_the_prompt_version_and_unknown_stays_unknown() -> None:
    assert "84.2 %" in stability("openrouter/deepseek/deepseek-v3.2", "v2")
    assert "72.4 %" in stability("bedrock/moonshotai.kimi-k2.5", "v3")
    assert "not measured" in stability("openai/gpt-5.4") and "not measured" in stability("openrouter/deepseek/deepseek-v3.2-exp")
    assert known_model("openrouter/anthropic/claude-sonnet-4.6") == known_model("bedrock/eu.anthropic.claude-sonnet-4-6-v1:0")
    assert known_model("anthropic/claude-sonnet-5") == ""


@pytest.mark.parametrize(("raw", "said"), [
    ("abc\u200bdef", "U+200B"), ("abc def", "a blank at position 4"), ("abc\ndef", "line break"), ("“abcdef”", "quotation mark"),
    ("abcdéf", "outside plain ASCII at position 5"), ("ab\x07cd", "U+0007"), ("a" * 9000, "9000")])
def test_what_is_odd_in_a_key_is_named_and_the_key_is_not(raw: str, said: str) -> None:
    with pytest.raises(UserError) as caught:
        clean_key(raw)
    assert said in str(caught.value) and raw not in str(caught.value)


def test_the_redactor_takes_out_a_key_in_each_form_it_comes_back_in() -> None:
    redact = redactor({"api_key": "ab/cd+ef==gh", "base_url": "http://localhost:8000"})
    assert redact("x ab/cd+ef==gh y ab%2Fcd%2Bef%3D%3Dgh") == "x [key] y [key]"
    assert "sk-or-v1-zzz" not in redact("Bearer sk-or-v1-zzzzzzzz") and "localhost" in redact("http://localhost:8000")


def test_the_rooms_here_load_neither_inspect_nor_gradio() -> None:
    code = ("import sys, runner.vault, runner.addresses, runner.openrouter_oauth, runner.providers.probe\n"
            "print([m for m in ('inspect_ai', 'gradio', 'botocore') if m in sys.modules])")
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
