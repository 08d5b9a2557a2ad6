"""Each of inspect's providers with an emptied environment: what is missing is named before anything is called."""

import os
import socket
import time

import pytest

from pipeline import ready
from pipeline.core.reach import SECONDS, nothing_there
from pipeline.core.redact import Redactor
from pipeline.ledger import CallId, Entry, Ledger, read_ledger
from pipeline.models import build
from pipeline.needs import NEEDS, needs_of
from pipeline.spec import Credentials, ModelSpec, ProviderKey, RunSpec

DEMO = ModelSpec(model="demo/strong")
SAID = {
    "openai": ["OPENAI_API_KEY"], "anthropic": ["ANTHROPIC_API_KEY"], "google": ["GOOGLE_API_KEY"], "mistral": ["MISTRAL_API_KEY"],
    "groq": ["GROQ_API_KEY"], "together": ["TOGETHER_API_KEY"], "fireworks": ["FIREWORKS_API_KEY"], "openrouter": ["OPENROUTER_API_KEY"],
    "hf-inference-providers": ["HF_TOKEN"], "perplexity": ["PERPLEXITY_API_KEY"], "sambanova": ["SAMBANOVA_API_KEY"],
    "deepseek": ["DEEPSEEK_API_KEY"], "moonshot": ["MOONSHOT_API_KEY"], "grok": ["XAI_API_KEY"],
    "cf": ["CLOUDFLARE_API_KEY", "CLOUDFLARE_ACCOUNT_ID"], "azureai": ["AZURE_API_KEY", "AZUREAI_BASE_URL"],
    "openai/azure": ["AZUREAI_OPENAI_API_KEY", "AZUREAI_OPENAI_BASE_URL"], "anthropic/azure": ["AZUREAI_ANTHROPIC_API_KEY", "BASE_URL"],
    "mistral/azure": ["AZUREAI_MISTRAL_API_KEY", "AZUREAI_MISTRAL_BASE_URL"],
    "anthropic/bedrock": ["AWS_ACCESS_KEY_ID"], "bedrock": ["AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID"], "sagemaker": ["AWS_SECRET_ACCESS_KEY"],
    "anthropic/vertex": ["ANTHROPIC_VERTEX_REGION", "GOOGLE_APPLICATION_CREDENTIALS"],
    "google/vertex": ["GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "VERTEX_API_KEY"],
    "openai-api/lm-studio": ["LM_STUDIO_API_KEY", "LM_STUDIO_BASE_URL"],
    "ollama": ["nothing listens at"], "llama-cpp-python": ["nothing listens at"], "vllm": ["VLLM_BASE_URL"], "sglang": ["SGLANG_BASE_URL"],
    "cloudflare": ["CLOUDFLARE_API_KEY", "CLOUDFLARE_ACCOUNT_ID"], "meta": ["META_API_KEY", "MODEL_API_KEY"],
    "litellm-proxy": ["LITELLM_PROXY_API_KEY", "LITELLM_PROXY_BASE_URL"], "vllm-completions": ["VLLM_BASE_URL"],
    "hf": ["torch"], "transformer_lens": ["transformer_lens"], "nnterp": ["nnterp"], "none": ["no model"], "nosuch": ["not recognized"],
}


@pytest.fixture(autouse=True)
def emptied(monkeypatch, tmp_path):
    for name in list(os.environ):
        if name not in ("PATH", "PYTHONPATH", "TMPDIR", "LANG") and not name.startswith(("PYTEST", "COV")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    closed = free_port()
    for name in ("ollama", "llama-cpp-python"):  # another program may listen at the real ones
        monkeypatch.setitem(NEEDS, name, NEEDS[name].__class__(address=NEEDS[name].address, own=f"http://localhost:{closed}/v1"))


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def why(model: str, key: ProviderKey | None = None, **part: object) -> list[str]:
    return ready.why_not(RunSpec(solver=DEMO, judge=ModelSpec(model=model, **part)), Credentials(judge=key or ProviderKey()))


@pytest.mark.parametrize("name", SAID)
def test_what_a_provider_lacks_is_named_with_its_role(name):
    (said,) = why(f"{name}/m")
    assert said.startswith(f"The judge {name}/m cannot be called: ") and all(word in said for word in SAID[name]), said
    assert "[bold]" not in said and "Traceback" not in said


def test_every_provider_that_inspect_knows_has_a_row():
    from inspect_ai._util.registry import registry_find, registry_info

    known = {registry_info(f).name.removeprefix("inspect_ai/") for f in registry_find(lambda i: i.type == "modelapi")}
    assert len(known) > 20 and known - set(NEEDS) <= {"openai-api", "openai-api-completions"} and set(NEEDS) <= {*SAID, "demo", "mockllm"}


def test_both_roles_problems_are_said_together():
    spec = RunSpec(solver=ModelSpec(model="openai/gpt-4o"), judge=ModelSpec(model="bedrock/us.anthropic.claude-sonnet-4-6"))
    with pytest.raises(Exception, match="solver openai/gpt-4o .*OPENAI_API_KEY.* judge bedrock/.*AWS_REGION.*AWS_ACCESS_KEY_ID"):
        ready.models(spec, Credentials(), Redactor())


@pytest.mark.parametrize("variable", ["AWS_REGION", "AWS_DEFAULT_REGION"])
def test_both_names_of_the_region_are_read(monkeypatch, variable):
    monkeypatch.setenv(variable, "eu-west-2")
    assert "region" not in why("bedrock/m")[0]
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE0000001")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "canary-secret-000111")
    assert not why("bedrock/m")
    model = build(ModelSpec(model="bedrock/m"), ProviderKey(), 1)
    assert model.api.model_args["region_name"] == "eu-west-2"


def test_a_region_and_keys_of_a_profile_are_found_and_a_wrong_profile_is_said(monkeypatch, tmp_path):
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "config").write_text("[profile mine]\nregion = eu-west-2\n")
    (tmp_path / ".aws" / "credentials").write_text("[mine]\naws_access_key_id = AKIA1\naws_secret_access_key = s\n")
    monkeypatch.setenv("AWS_PROFILE", "mine")
    assert not why("bedrock/m") and build(ModelSpec(model="bedrock/m"), ProviderKey(), 1).api.model_args["region_name"] == "eu-west-2"
    monkeypatch.setenv("AWS_PROFILE", "other")
    assert "profile (other) could not be found" in why("bedrock/m")[0]


@pytest.mark.parametrize(("set_", "said"), [
    ({"AWS_ACCESS_KEY_ID": "AKIA1"}, "missing: AWS_SECRET_ACCESS_KEY"),
    ({"AWS_ACCESS_KEY_ID": "AKIA1", "AWS_SECRET_ACCESS_KEY": "s\u2014t"}, "holds? a character"),
    ({"AWS_REGION": "us_east"}, "cannot be an AWS region"), ({"AWS_REGION": "us-esat-1"}, "no AWS region 'us-esat-1'"),
])
def test_aws_credentials_that_cannot_be_used_are_said(monkeypatch, set_, said):
    import re

    for name, value in set_.items():
        monkeypatch.setenv(name, value)
    assert re.search(said, why("bedrock/m")[0])


@pytest.mark.parametrize(("value", "good"), [
    ("canary-000111222", True), ("", False), ("  \u00a0", False), ("canary\u2014000111", False), ("canary\n000111", False), ("  canary-000111 ", True)])
@pytest.mark.parametrize(("model", "variable"), [("openai/m", "OPENAI_API_KEY"), ("google/m", "GOOGLE_API_KEY"), ("anthropic/m", "ANTHROPIC_API_KEY"),
                                                 ("mistral/m", "MISTRAL_API_KEY"), ("hf-inference-providers/m", "HF_TOKEN")])
def test_a_key_that_no_header_can_hold_is_refused_unquoted(monkeypatch, model, variable, value, good):
    monkeypatch.setenv(variable, value)
    said = why(model)
    assert (not said) if good else variable in said[0] and (not value.strip() or value not in said[0])


def test_a_header_from_anywhere_that_cannot_be_sent_is_refused(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "canary-000111222")
    assert not why("openai/m")
    assert "'X-Team'" in why("openai/m", config={"extra_headers": {"X-Team": "caf\u00e9"}})[0]
    monkeypatch.setenv("OPENAI_ORG_ID", "org\u2014x")
    assert "OpenAI-Organization" in why("openai/m")[0]


@pytest.mark.parametrize("url", ["localhost:8000/v1", "ftp://h/v1", "http://", "http://h:99999/v1", "http://h:x/v1", "http://[::1/v1", "http://a b/v1",
                                 "http://h\\v1", "http://h:0/v1", "http://" + "a" * 70 + ".x/v1", "http://h/\u200bv1"])
def test_a_malformed_address_is_refused_before_anything_is_called(monkeypatch, url):
    monkeypatch.setenv("FAKE_API_KEY", "canary-000111222")
    monkeypatch.setenv("FAKE_BASE_URL", url)
    assert "its address in FAKE_BASE_URL" in why("openai-api/fake/m")[0]


@pytest.mark.parametrize(("model", "variable"), [("openai/m", "OPENAI_BASE_URL"), ("ollama/m", "OLLAMA_BASE_URL"), ("vllm/m", "VLLM_BASE_URL"),
                                                 ("bedrock/m", "BEDROCK_BASE_URL"), ("groq/m", "INSPECT_EVAL_MODEL_BASE_URL")])
def test_nobody_who_listens_is_found_out_by_a_bare_connection(monkeypatch, model, variable):
    for name in ("OPENAI_API_KEY", "GROQ_API_KEY", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "canary000111222")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        server.settimeout(5)
        monkeypatch.setenv(variable, f"http://127.0.0.1:{server.getsockname()[1]}/v1")
        assert not why(model)
        with server.accept()[0] as accepted:
            assert accepted.recv(100) == b"", "the check sends no byte"
    assert "nothing listens at 127.0.0.1" in why(model)[0]
    monkeypatch.setenv(variable, "http://no-such-host.invalid/v1")
    assert "the name no-such-host.invalid is not known" in why(model)[0]


def test_a_vendors_own_address_is_not_tried(monkeypatch):
    monkeypatch.setattr(ready, "nothing_there", lambda *a: "tried")
    for name, needs in NEEDS.items():
        if needs.key and needs.own and not needs.also and "://" in needs.own:
            part = ModelSpec(model=f"{name}/m")
            assert not ready._reach(needs, part, {"api_key": "k"}), name


def test_an_address_that_swallows_connections_holds_nothing_up():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        held = [socket.socket() for _ in range(3)]
        for s in held:
            s.setblocking(False)
            s.connect_ex(server.getsockname())
        began = time.monotonic()
        assert "within 3 seconds" in nothing_there(f"http://127.0.0.1:{server.getsockname()[1]}")
        assert time.monotonic() - began < SECONDS + 2
        for s in held:
            s.close()


def test_a_proxy_on_the_way_is_what_must_listen(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port()}")
    assert "the proxy on the way" in nothing_there("http://model.example/v1")
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{server.getsockname()[1]}")
        assert not nothing_there("http://model.example/v1"), "the name is the proxy's to find"


def test_google_goes_by_vertex_where_the_environment_says_so(monkeypatch):
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
    assert needs_of("google/gemini-2.5-pro") is NEEDS["google/vertex"]


def test_a_call_that_never_left_leaves_nothing_in_the_ledger(tmp_path):
    ledger = Ledger(tmp_path / "ledger.jsonl")
    first, second = CallId("solver", "1"), CallId("solver", "2")
    for call in (first, second):
        ledger.sent(call, 1, 0.5, 900)
    ledger.never_left(first, 1)
    ledger.sent(second, 2, 0.5, 900)
    ledger.came_back(Entry(second, 2, text="x", cost=0.1, cost_source="table"))
    ledger.close()
    assert [(e.id.task, e.attempt, e.fault) for e in read_ledger(tmp_path / "ledger.jsonl")] == [("2", 1, "interrupted"), ("2", 2, "")]
    assert Ledger(tmp_path / "ledger.jsonl").next_attempt(first) == 1
