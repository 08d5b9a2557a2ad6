"""The one table of providers. A new provider is one entry here; nothing else names one. Never holds a key.

Hosts are fixed https addresses. Only `custom` takes the visitor's own address, and `runner.addresses` judges it.
"""

import os
from collections.abc import Mapping
from urllib.parse import urlsplit

from pipeline.core.json_in import FROM_FILE, read_json
from pipeline.errors import UserError
from runner import local_model
from runner.addresses import check_base_url, hosted
from runner.providers.entry import REGION, Call, KeyField, Provider

HOSTS_SETTING = "L2BENCH_PROVIDER_HOSTS"

_AWS = (
    KeyField("aws_access_key_id", "Access key ID", hint="AKIA… or ASIA…"),
    KeyField("aws_secret_access_key", "Secret access key"),
    KeyField("region_name", "Region", secret=False, pattern=REGION, hint="us-east-1"),
    KeyField("aws_session_token", "Session token", optional=True, hint="only with temporary credentials (ASIA…)"),
)

_HF_JUDGES = ("deepseek-ai/DeepSeek-V3.2", "moonshotai/Kimi-K2.5", "google/gemma-4-31B-it", "openai/gpt-oss-120b")


def _key(hint: str) -> tuple[KeyField, ...]:
    return (KeyField("api_key", "API key", hint=hint),)


PROVIDERS: tuple[Provider, ...] = (
    Provider(
        "openrouter", "OpenRouter", "openrouter", "https://openrouter.ai/api/v1",
        fields=_key("sk-or-v1-…"), check=Call("key"), reader="openrouter", public_list=True, reasoning="openrouter",
        key_url="https://openrouter.ai/settings/keys",
        key_note="Set a dollar limit and an expiry date when you make the key; one key serves solver and judge.",
        judges=("anthropic/claude-sonnet-4.6", "anthropic/claude-sonnet-4.5", "deepseek/deepseek-v3.2",
                "moonshotai/kimi-k2.5", "google/gemma-4-31b-it", "openai/gpt-oss-120b"),
        open_judges=("deepseek/deepseek-v3.2", "moonshotai/kimi-k2.5", "google/gemma-4-31b-it", "openai/gpt-oss-120b")),
    Provider(
        "openai", "OpenAI", "openai", "https://api.openai.com/v1", fields=_key("sk-…"),
        key_url="https://platform.openai.com/api-keys",
        key_note="Make the key in a project of its own and give that project a monthly budget.",
        judges=("gpt-5.4", "gpt-5.4-mini")),
    Provider(
        "anthropic", "Anthropic", "anthropic", "https://api.anthropic.com", dialect="anthropic", auth="x-api-key",
        fields=_key("sk-ant-…"), listing=Call("v1/models?limit=1000"), chat="v1/messages", reasoning="anthropic",
        key_url="https://platform.claude.com/settings/keys",
        key_note="Make the key in a workspace of its own and set that workspace's spend limit.",
        judges=("claude-sonnet-4-6", "claude-sonnet-4-5")),
    Provider(
        "google", "Google", "google", "https://generativelanguage.googleapis.com", dialect="google",
        auth="x-goog-api-key", fields=_key("AIza…"),
        listing=Call("v1beta/models?pageSize=1000", field="models", id_field="name", strip="models/"),
        chat="v1beta/models/{model}:generateContent", reasoning="google",
        key_url="https://aistudio.google.com/apikey",
        key_note="Make the key in a project of its own; a project without billing stays in the free tier.",
        judges=("gemini-3.1-pro-preview", "gemma-4-31b-it"), open_judges=("gemma-4-31b-it",)),
    Provider(
        "bedrock", "AWS Bedrock", "bedrock", "https://bedrock-runtime.{region}.amazonaws.com", dialect="bedrock",
        auth="sigv4", fields=_AWS,
        listing=Call("/foundation-models", "https://bedrock.{region}.amazonaws.com", "modelSummaries", "modelId"),
        chat="model/{model}/converse", reasoning="bedrock",
        key_url="https://console.aws.amazon.com/iam/home#/security_credentials",
        key_note="Use a user that may only call Bedrock, and set an AWS budget with an action that stops it.",
        judges=("us.anthropic.claude-sonnet-4-6", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "deepseek.v3.2",
                "moonshotai.kimi-k2.5", "openai.gpt-oss-120b-1:0"),
        open_judges=("deepseek.v3.2", "moonshotai.kimi-k2.5", "openai.gpt-oss-120b-1:0")),
    Provider(
        "mistral", "Mistral", "mistral", "https://api.mistral.ai", fields=_key("32 letters and digits"),
        listing=Call("v1/models"), chat="v1/chat/completions", key_url="https://console.mistral.ai/api-keys",
        key_note="Give the key an expiry date, and the workspace a spend limit.",
        judges=("mistral-large-2512",), open_judges=("mistral-large-2512",)),
    Provider(
        "deepseek", "DeepSeek", "deepseek", "https://api.deepseek.com/v1", fields=_key("sk-…"),
        check=Call("/user/balance"), reader="deepseek", key_url="https://platform.deepseek.com/api_keys",
        key_note="The account is prepaid: it can never spend more than was topped up.",
        judges=("deepseek-v4-pro", "deepseek-v4-flash"), open_judges=("deepseek-v4-pro", "deepseek-v4-flash")),
    Provider(
        "groq", "Groq", "groq", "https://api.groq.com", fields=_key("gsk_…"), listing=Call("openai/v1/models"),
        chat="openai/v1/chat/completions", key_url="https://console.groq.com/keys",
        key_note="A free account has no bill; a paid one can be given a monthly spend limit.",
        judges=("openai/gpt-oss-120b", "qwen/qwen3-32b"), open_judges=("openai/gpt-oss-120b", "qwen/qwen3-32b")),
    Provider(
        "together", "Together", "together", "https://api.together.xyz/v1", fields=_key("64 letters and digits"),
        listing=Call("models", field=""), key_url="https://api.together.ai/settings/api-keys",
        key_note="The account is prepaid; leave automatic top-up off and it can never spend more than its balance.",
        judges=("deepseek-ai/DeepSeek-V4-Pro-0813", "openai/gpt-oss-120b"),
        open_judges=("deepseek-ai/DeepSeek-V4-Pro-0813", "openai/gpt-oss-120b")),
    Provider(
        "fireworks", "Fireworks", "fireworks", "https://api.fireworks.ai/inference/v1", fields=_key("fw_…"),
        full_list=False, key_url="https://app.fireworks.ai/settings/users/api-keys",
        key_note="Set a monthly spend limit for the account before you use the key here.",
        judges=("accounts/fireworks/models/deepseek-v3p2", "accounts/fireworks/models/kimi-k2p5",
                "accounts/fireworks/models/gpt-oss-120b"),
        open_judges=("accounts/fireworks/models/deepseek-v3p2", "accounts/fireworks/models/kimi-k2p5",
                     "accounts/fireworks/models/gpt-oss-120b")),
    Provider(
        "hf-inference-providers", "Hugging Face Inference Providers", "hf-inference-providers",
        "https://router.huggingface.co/v1", fields=_key("hf_…, or sign in"),
        check=Call("/api/whoami-v2", "https://huggingface.co"), reader="whoami", public_list=True,
        key_url="https://huggingface.co/settings/tokens/new?ownUserPermissions=inference.serverless.write"
                "&tokenType=fineGrained",
        key_note="Make a fine-grained token that may only call Inference Providers; without prepaid credit it stops at "
                 "the monthly allowance.",
        judges=_HF_JUDGES, open_judges=_HF_JUDGES),
    Provider(
        "custom", "Custom endpoint (OpenAI-compatible)", "openai-api/custom", full_list=False,
        fields=(KeyField("base_url", "Address", secret=False, hint="http://localhost:8000/v1"),
                KeyField("api_key", "API key", optional=True, hint="leave empty where the server asks for none")),
        key_note="vLLM, Ollama, LM Studio, llama.cpp and others; the address usually ends in /v1."),
    Provider(
        "local", "Local small model", "openai-api/local", dialect="none", auth="none", fields=(), listing=None,
        key_note="SmolLM2, 135 million parameters, runs on this machine without a key; it answers about at random.",
        judges=(local_model.MODEL,), open_judges=(local_model.MODEL,)),
    Provider(
        "demo", "Demo (scripted)", "demo", dialect="none", auth="none", fields=(), listing=None,
        key_note="Answers and verdicts come from a script, free and instant; the scores mean nothing.", judges=("judge",)),
)

NO_KEY = "no-key"
"""Sent in place of a key to an endpoint of the visitor's own that asks for none: its client refuses an empty one."""


def provider(entry: str | Provider) -> Provider:
    """The entry with this id; an entry is given back as it is.

    Raises:
        UserError: no such provider.
    """
    if isinstance(entry, Provider):
        return entry
    for row in PROVIDERS:
        if row.id == entry:
            return row
    raise UserError(f"There is no provider called {str(entry)[:40]!r}.", "", "Choose one from the list.")


def offered() -> tuple[Provider, ...]:
    """The entries that can be chosen on this machine: the small local model only where it is installed."""
    return tuple(p for p in PROVIDERS if p.id != "local" or local_model.installed())


def hosts() -> Mapping[str, str]:
    """Other base URLs by provider id, from the environment; for tests, and never on a hosted Space."""
    raw = os.environ.get(HOSTS_SETTING, "")
    if not raw or hosted():
        return {}
    try:
        found = read_json(raw, FROM_FILE)
        return {str(k): str(v).rstrip("/") for k, v in found.items() if urlsplit(str(v)).scheme in ("http", "https")}
    except (ValueError, AttributeError):
        raise UserError(f"{HOSTS_SETTING} cannot be read.", "A JSON object from provider id to base URL.") from None


def base_override(entry: str | Provider, fields: Mapping[str, str]) -> str:
    """The base URL that takes the place of the entry's own: the visitor's endpoint, or a test's server; else "".

    Raises:
        UserError: the visitor's address is not allowed.
    """
    found = provider(entry)
    if any(f.name == "base_url" for f in found.fields):
        return check_base_url(fields.get("base_url", ""))
    if found.id == "local":
        return local_model.LOCAL.url
    return hosts().get(found.id, "")


def model_base_url(provider_id: str, fields: Mapping[str, str]) -> str | None:
    """What `ModelSpec.base_url` must be for this provider: None means its own host."""
    return base_override(provider_id, fields) or None
