"""A pasted key is taken, or refused with what to take out; an address is taken, or refused where it could carry a secret."""

import random
import time

import pytest

from pipeline.core.address import clean_address, served_address
from pipeline.core.keys import clean_key
from pipeline.environment import address_of, clean_environment
from pipeline.errors import UserError
from pipeline.spec import ModelSpec, RunSpec

KEY = "sk-abc123DEF456ghi789"


# case R11: these were held, and would have been sent
@pytest.mark.parametrize(("text", "out"), [
    (f"OPENAI_API_KEY={KEY}", "name"), (f"export X={KEY}", "command"), (f'export OPENAI_API_KEY="{KEY}"', "quotation"), (f"Bearer {KEY}", "Bearer"),
    (f"Bearer:{KEY}", "name"), (f"bearer{KEY}", "Bearer"), (f"Authorization: Bearer {KEY}", "Bearer"), (f'api_key: "{KEY}"', "name"),
    (f'"api_key": "{KEY}",', "punctuation"), (f"'{KEY}'", "quotation"), (f"\u201c{KEY}\u201d", "quotation"), (f"\u00ab{KEY}\u00bb", "quotation"),
    (f"`{KEY}`", "quotation"), (f"{KEY},", "punctuation"), (f"{KEY};", "punctuation"), (f"{KEY}.", "punctuation"), (f"={KEY}", "punctuation"),
    ("$OPENAI_API_KEY", "reference"), ("${OPENAI_API_KEY}", "reference"), ("%OPENAI_API_KEY%", "reference"), ("{{secrets.X}}", "reference"),
    ("${{ secrets.KEY }}", "reference"), ('os.environ["X"]', "reference"), ("process.env.KEY", "reference"), ("<your key>", "placeholder"),
    ("sk-...", "placeholder"), ("sk-\u2026", "placeholder"), ("YOUR_API_KEY", "name"), ("your-api-key-here", "placeholder"), ("xxx", "placeholder"),
    ("sk-xxxxxxxx", "placeholder"), ("********", "placeholder"), ("\u2022" * 12, "placeholder"), ("sk-ab****wxyz", "placeholder"), ("sk-ant-", "placeholder"),
    ("OPENAI_API_KEY", "name"), (f"<{KEY}>", "brackets"), (f"[{KEY}]", "brackets"), (f'{{"api_key": "{KEY}"}}', "JSON"),
    ("https://api.openai.com/v1", "web address"), (f"--api-key {KEY}", "command"), (f"{KEY}\\n", "coded"), (f"{KEY}%3D", "coded"),
    (f"&quot;{KEY}&quot;", "coded"), (f"{KEY[:8]}\n{KEY[8:]}", "line break"), (f"{KEY[:8]} {KEY[8:]}", "blank"), (f"{KEY[:8]}\u2014{KEY[8:]}", "outside plain ASCII"),
    (f"{KEY[:8]}\u200b{KEY[8:]}", "U+200B"), ("\uff53\uff4b\uff0d" + KEY, "outside plain ASCII"), (f"{KEY[:8]}\x07{KEY[8:]}", "U+0007"),
    (KEY * 500, "characters long"), (KEY + KEY, "twice"), ("-----BEGIN PRIVATE KEY-----", "private key"), ("", "Enter"), (" \u200b\n", "Enter")])
def test_what_is_no_key_as_it_stands_is_refused_with_what_to_take_out(text, out):
    with pytest.raises(UserError, match=out.replace("+", r"\+")) as caught:
        clean_key(text, "variable SOME_KEY")
    said = str(caught.value)
    assert "SOME_KEY" in said and not any(KEY[i : i + 6] in said for i in range(len(KEY) - 5))


@pytest.mark.parametrize("key", [
    KEY, "EMPTY", "none", "ollama", "sk-no-key-required", "token-abc123", "my-api-key", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "a:b",
    "eyJhbGciOi.eyJzdWIi.abc-_", "hf_" + "a" * 30, "12345678", "ABSKQmVkcm9jaw==", "canary+9f31/aa07Zq==", "s" * 40])
@pytest.mark.parametrize("around", ["{}", " {}\r\n", "\ufeff{}\u200b"])
def test_a_key_is_taken_and_trimmed(key, around):
    assert clean_key(around.format(key)) == key


def test_random_keys_are_never_refused():
    signs = random.Random(8)
    for alphabet in ("0123456789abcdef", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"):
        for _ in range(1500):
            key = signs.choice(("", "sk-proj-", "gsk_", "hf_")) + "".join(signs.choices(alphabet, k=48))
            assert clean_key(key) == key


@pytest.mark.parametrize("text", ["your_" * 1600, "(" * 4000 + ")" * 4000, '"' * 8000, "key " * 2000, "a_" * 4000, "&amp;" * 1600])
def test_a_refusal_takes_no_time(text):
    start = time.perf_counter()
    with pytest.raises(UserError):
        clean_key(text + " ")
        clean_key(f"{text}\u2014")
    assert time.perf_counter() - start < 1


# case R2: the password stood in the .eval, the spec and the journal
@pytest.mark.parametrize("url", [
    "http://u:secret@h/v1", "HTTP://secret@h/v1", "http://h/v1?api_key=secret", "http://h/v1#secret", "http://h/v1%3Fkey=secret", "http://u%3Asecret%40h/",
    "http:\\\\u:secret@h", "http://u:s#ecret@h", "http://u:se/cret@h", "http://h/v1;token=secret", "http://h/sk-secret1234567/v1", "ftp://secret/x", "secret/v1",
    "//secret/v1", '"http://h/v1"', "<http://h/v1>", "OPENAI_BASE_URL=http://h/v1", "http://h/v1,", "http://h /v1", "http://h/v1\n/secret", "javascript:secret",
    "http://u\uff1asecret\uff20h/", "https://<secret>.openai.azure.com", "http://" + "h" * 3000, "http://h/$SECRET"])
def test_an_address_that_could_carry_a_secret_is_refused_and_not_quoted(url):
    with pytest.raises(UserError) as caught:
        clean_address(url, "variable X_BASE_URL")
    assert "secret" not in str(caught.value).lower()
    with pytest.raises(UserError):
        ModelSpec(model="openai-api/x/y", base_url=url)


# case R10: ".../v1/chat/completions" was called with "/chat/completions" behind it, and "/v1" with "/v1/messages"
@pytest.mark.parametrize(("model", "given", "called"), [
    *(("openai-api/x/y", f"http://h{t}", "http://h/v1") for t in ("/v1/chat/completions", "/v1/models/", "/v1/responses", "//v1//", "/v1/v1", "/v1/v1/completions")),
    ("openai-api/x/y", "http://h/chat/completions", "http://h"), ("ollama/x", "http://h:11434/api/chat", "http://h:11434/v1"),
    *(("anthropic/x", f"http://h{t}", "http://h") for t in ("", "/v1", "/v1/messages", "/v1/v1/messages", "/v1/models", "/V1/Messages")),
    ("google/g", "https://h/v1beta/models/g:generateContent", "https://h"), ("groq/x", "https://h/openai/v1/chat/completions", "https://h"),
    ("mistral/x", "https://h/v1", "https://h"), ("azureai/x", "https://h/models", "https://h/models"), ("bedrock/x", "https://h/model/us.a-v1:0/converse", "https://h")])
def test_a_pasted_route_is_cut_to_the_address_that_works(model, given, called):
    assert served_address(clean_address(given), model) == called


@pytest.mark.parametrize(("model", "name"), [
    ("openai/x", "OPENAI_BASE_URL"), ("anthropic/x", "ANTHROPIC_BASE_URL"), ("openai-api/my-own/x", "MY_OWN_BASE_URL"), ("google/x", "GOOGLE_BASE_URL"),
    ("openai/azure/x", "AZUREAI_OPENAI_BASE_URL"), ("mistral/azure/x", "AZUREAI_MISTRAL_BASE_URL"), ("bedrock/x", "AWS_ENDPOINT_URL"),
    ("azureai/x", "AZUREAI_BASE_URL"), ("openrouter/a/b", "OPENROUTER_BASE_URL"), ("groq/x", "INSPECT_EVAL_MODEL_BASE_URL"), ("vllm/x", "VLLM_BASE_URL")])
def test_the_address_of_the_environment_is_the_one_that_is_recorded(monkeypatch, model, name):
    monkeypatch.setenv(name, " HTTP://LocalHost:9/base/ ")
    assert address_of(model, None) == "http://localhost:9/base"
    monkeypatch.setenv(name, "http://u:secret@localhost:9")
    with pytest.raises(UserError, match=name):
        address_of(model, None)
    assert address_of(model, "http://h:1/base") == "http://h:1/base" and address_of("demo/strong", None) is None


@pytest.mark.parametrize(("model", "name"), [
    ("openai/x", "OPENAI_API_KEY"), ("bedrock/x", "AWS_SECRET_ACCESS_KEY"), ("bedrock/x", "AWS_SESSION_TOKEN"), ("hf-inference-providers/a/b", "HF_TOKEN"),
    ("openai-api/my-own/x", "MY_OWN_API_KEY"), ("anthropic/x", "ANTHROPIC_AUTH_TOKEN"), ("google/x", "GOOGLE_API_KEY"), ("mistral/azure/x", "AZUREAI_MISTRAL_API_KEY")])
def test_a_key_of_the_environment_is_trimmed_or_refused_by_its_name(monkeypatch, model, name):
    import os

    spec = RunSpec(solver=ModelSpec(model=model), judge=ModelSpec(model="demo/judge"))
    monkeypatch.setenv(name, f" {KEY}\n")
    clean_environment(spec)
    assert os.environ[name] == KEY
    monkeypatch.setenv(name, f"Bearer {KEY}")
    with pytest.raises(UserError, match=name):
        clean_environment(spec)
    clean_environment(RunSpec(solver=ModelSpec(model="demo/strong"), judge=ModelSpec(model="demo/judge")))


def test_the_hubs_token_and_address_are_cleaned_where_the_hub_is_asked(monkeypatch):
    spec = RunSpec(source="hub", repo="a/b", solver=ModelSpec(model="demo/strong"), judge=ModelSpec(model="demo/judge"))
    for name, value in (("HF_TOKEN", "HF_TOKEN=hf_abc"), ("HF_ENDPOINT", "https://u:secret@mirror.example")):
        with monkeypatch.context() as m:
            m.setenv(name, value)
            with pytest.raises(UserError, match=name):
                clean_environment(spec)
