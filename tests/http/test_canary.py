"""No run of 8 characters of any secret is anywhere after a run, whatever way it came in: page, command line, inspect eval."""

import base64
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from urllib.parse import quote

import pytest
import zipfile_zstd  # noqa: F401 - lets zipfile read the members of .eval logs
from inspect_ai.model import get_model

from pipeline import standalone
from pipeline.errors import UserError
from pipeline.eval import main
from pipeline.spec import Credentials, ModelSpec, ProviderKey, RunSpec
from tests.http.runs import JUDGE, SOLVER, evaluate, tasks_file

ROOT = Path(__file__).resolve().parents[2]
KEY = "Zk7-canary_solver+9f31/aa07Q=="
OTHER = "pW4-canary.judge~77Qx2Lw90-e"
TOKEN = "hf_CanaryTokenXy83Lm20Qr"
PASSWORD = "canary-pa55-in-address"


def every_byte(folder: Path) -> str:
    """All files below, the members of logs unpacked."""
    parts = []
    for path in (p for p in folder.rglob("*") if p.is_file() and "resources" not in p.parts):
        parts.append(path.read_bytes())
        if path.suffix == ".eval":
            with zipfile.ZipFile(path) as log:
                parts += [log.read(name) for name in log.namelist()]
    return b"\n".join(parts).decode("latin-1")


def runs_in(text: str, *canaries: str) -> list[str]:
    """Every run of 8 characters of a canary, or of a code of it, that the text holds in any case."""
    low = text.lower()
    forms = [f.lower() for c in canaries for f in (c, c[::-1], quote(c, safe=""), c.encode().hex())]
    coded = [base64.b64encode(b"x" * n + c.encode()).decode()[4:-4] for c in canaries for n in range(3)]
    return sorted({f[i : i + 8] for f in forms for i in range(len(f) - 7) if f[i : i + 8] in low} | {c for c in coded if c in text})


def said(key: str) -> list[str]:
    """A key as providers, routers and gateways have been seen to say it, whole and in parts."""
    escaped = "".join(f"\\u{ord(c):04x}" for c in key)
    return [key, key[-16:], key[:12], key[9:19], key.upper(), quote(key, safe=""), base64.b64encode(f"Bearer {key}".encode()).decode(),
            key.encode().hex(), key[::-1], " ".join(key), f"{key[:14]}\n{key[14:]}", json.dumps({"headers": {"authorization": f"Bearer {key}"}}),
            escaped, key.replace("/", "\\/").replace("+", "\\u002b"), f"{key[:10]}...{key[-10:]}"]


@pytest.mark.parametrize("way", ["text", "error", "error200"])
def test_a_key_that_a_provider_says_in_any_way_is_nowhere(fake, tmp_path, way):
    # case R3: the last 16 characters of a key reached the journal, the page and the log
    ways = [w for key in (KEY, OTHER) for w in said(key)]
    for n, words in enumerate(ways, 1):
        step = {"status": 400, "error": words} if way == "error" else {"error200": words, "code": 400} if way == "error200" else {
            "text": f"It is {words} and that.", "reasoning": f"They sent {words}"}
        fake.script("solver", {**step, "match": f"lesson {n},"})
    fake.script("judge", *({"text": f"I saw {w}\n\ntrue"} for w in ways))
    done = evaluate(fake, tmp_path, count=len(ways), weights=(5,), api_retries=0, max_connections=5,
                    credentials=Credentials(ProviderKey({"api_key": KEY}), ProviderKey({"api_key": OTHER})))
    assert {r["key"] for r in fake.received()} == ({KEY, OTHER} if way == "text" else {KEY})
    left = every_byte(tmp_path) + repr((done.view, done.events))
    assert not runs_in(left, KEY, OTHER) and "[key]" in left


ESCAPED = '{"id":"1","object":"chat.completion","created":1,"model":"solver","choices":[{"index":0,"finish_reason":"stop","message":' \
    '{"role":"assistant","content":"' + "".join(f"\\u{ord(c):04x}" for c in KEY) + '"}}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}'


@pytest.mark.parametrize("step", [
    {"status": 429, "error": "slow", "headers": {"x-request-id": KEY, "x-ratelimit-note": KEY[-14:]}}, {"raw": ESCAPED},
    {"redirect": f"http://127.0.0.1:9/?key={quote(KEY)}"}, {"redirect": f"http://me:{KEY[:20]}@127.0.0.1:9/v1"},
    {"raw": f"<html>{KEY[5:20]}</html>"}], ids=["header", "escaped", "query", "user", "page"])
def test_a_key_in_a_header_a_redirect_or_an_escaped_body_is_nowhere(fake, tmp_path, step):
    fake.script("solver", {**step, "every": True})
    done = evaluate(fake, tmp_path, weights=(5,), api_retries=0, credentials=Credentials(ProviderKey({"api_key": KEY}), ProviderKey({"api_key": OTHER})))
    assert done.view.counts()["scored"] == (step.get("raw") == ESCAPED)
    assert not runs_in(every_byte(tmp_path) + repr((done.view, done.events)), KEY, OTHER)


@pytest.mark.parametrize("role", ["solver", "judge"])
def test_a_streamed_answer_is_cleaned_too(fake, tmp_path, role):
    # Anthropic's client streams long answers, and a stream comes past the hook that cleans bodies.
    spec = ModelSpec(model=f"anthropic/{role}", base_url=fake.url, config={"max_tokens": 100_000})
    fake.script(role, {"text": f"You sent {KEY[4:25]}\n\ntrue"})
    other = "judge" if role == "solver" else "solver"
    done = evaluate(fake, tmp_path, weights=(5,), **{role: spec, other: ModelSpec(model=f"openai-api/fake/{other}", base_url=f"{fake.url}/v1")},
                    credentials=Credentials(ProviderKey({"api_key": KEY}), ProviderKey({"api_key": KEY})))
    assert fake.received(role)[0]["body"].get("stream") and done.view.counts()["scored"] == 1
    assert not runs_in(every_byte(tmp_path) + repr((done.view, done.events)), KEY)


def test_an_answer_keeps_the_words_that_a_key_happens_to_hold(fake, tmp_path):
    text = "The password is long, my training plan is none of a test, as of 2026-11-29."
    fake.script("solver", {"text": text})
    done = evaluate(fake, tmp_path, credentials=Credentials(ProviderKey({"api_key": "my-password-training-20261129"}), ProviderKey({"api_key": "none"})))
    assert next(e.text for e in done.ledger if e.id.role == "solver") == text


def flags(fake, folder, *more):
    csv_path, resources = tasks_file(folder, 2)
    return ["--model", SOLVER, "--scorer-model", JUDGE, "--csv-path", str(csv_path), "--resources-dir", str(resources), "--prompt-source", "own",
            "--log-dir", str(folder / "logs"), "--solver-max-retries", "0", *more]


def test_the_command_line_prints_and_keeps_no_secret_of_its_environment(fake, tmp_path, monkeypatch, capfd):
    # Other keys of the shell than the run's own: a gateway that holds them all may say any of them.
    monkeypatch.chdir(tmp_path)
    for name, value in {"FAKE_API_KEY": KEY, "SOMEBODYS_SECRET": OTHER, "HF_TOKEN": TOKEN, "HTTP_PROXY_OLD": f"http://me:{PASSWORD}@127.0.0.1:9",
                        "FAKE_BASE_URL": f"{fake.url}/v1"}.items():
        monkeypatch.setenv(name, value)
    for n, value in enumerate((KEY[-15:], OTHER[:14], TOKEN[5:], PASSWORD[3:]), 1):
        fake.script("solver", {"status": 400, "error": f"no: {value}", "match": f"lesson {n},"})
        fake.script("judge", {"text": f"{value}\ntrue"})
    arguments = flags(fake, tmp_path)
    tasks_file(tmp_path, 5)
    assert main([*arguments, "--json"]) == 1 and main(["--resume", str(tmp_path / "logs")]) in (0, 1)
    out = capfd.readouterr()
    assert not runs_in(out.out + out.err + every_byte(tmp_path / "logs"), KEY, OTHER, TOKEN, PASSWORD)
    assert fake.received("solver") and "[key]" in out.out


@pytest.mark.parametrize(("name", "value"), [
    ("FAKE_BASE_URL", f"http://user:{PASSWORD}@127.0.0.1:9/v1"), ("FAKE_BASE_URL", f"HTTP://{PASSWORD}@127.0.0.1:9/v1"),
    ("FAKE_BASE_URL", f"http://127.0.0.1:9/v1?api_key={PASSWORD}"), ("FAKE_BASE_URL", f"http://127.0.0.1:9/v1#{PASSWORD}"),
    ("FAKE_BASE_URL", f"http://127.0.0.1:9/v1%3Fkey={PASSWORD}"), ("FAKE_BASE_URL", f"http:\\\\u:{PASSWORD}@127.0.0.1:9"),
    ("FAKE_BASE_URL", f"{PASSWORD}@127.0.0.1:9/v1"), ("FAKE_BASE_URL", f"http://127.0.0.1:9/{TOKEN}/v1"),
    ("INSPECT_EVAL_MODEL_BASE_URL", f"http://user:{PASSWORD}@127.0.0.1:9/v1"), ("FAKE_API_KEY", f"FAKE_API_KEY={KEY}"),
    ("FAKE_API_KEY", f"Bearer:{KEY}"), ("FAKE_API_KEY", f"\u201c{KEY}\u201d"), ("FAKE_API_KEY", f"{KEY},"), ("FAKE_API_KEY", "$OPENAI_API_KEY"),
    ("FAKE_API_KEY", "sk-..."), ("FAKE_API_KEY", f"{KEY[:9]}\n{KEY[9:]}")])
@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_a_key_or_an_address_of_the_environment_that_is_none_starts_nothing(fake, tmp_path, monkeypatch, capfd, name, value, dry):
    # case R2: the password stood in the .eval, the spec and the journal; case R11: such keys would have been sent
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FAKE_API_KEY", "canary-cli-000333")
    if name != "INSPECT_EVAL_MODEL_BASE_URL":
        monkeypatch.setenv("FAKE_BASE_URL", f"{fake.url}/v1")
    monkeypatch.setenv(name, value)
    assert main(flags(fake, tmp_path, *dry)) == 2
    out = capfd.readouterr()
    assert out.err.startswith("Nothing was started. ") and name in out.err and not out.out and not fake.received()
    assert not (tmp_path / "logs").exists() and not runs_in(out.err, KEY, PASSWORD, TOKEN)


@pytest.mark.parametrize("more", [
    ["--scorer-extra-body", json.dumps({"api_key": KEY})], ["--solver-extra-body", json.dumps({"a": [{"apiKey": KEY}]})],
    ["--solver-extra-body", json.dumps({"user": KEY})], ["--solver-extra-headers", json.dumps({"X_Goog_Api_Key": KEY})],
    ["--solver-extra-body", json.dumps({"extra_query": {"session_token": KEY}})], ["--model-base-url", f"http://u:{KEY}@127.0.0.1:9/v1"],
    ["--scorer-base-url", f"http://127.0.0.1:9/v1?token={KEY}"], ["--model", "openai-api/fake/sk-proj-0123456789abcdef"],
    ["--solver-extra-body", json.dumps({"note": f"Bearer {OTHER}"})]])
def test_a_key_that_is_given_as_a_setting_starts_nothing(fake, tmp_path, monkeypatch, capfd, more):
    # case R2: the key stood in the .eval, the spec and the journal
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FAKE_API_KEY", KEY)
    monkeypatch.setenv("FAKE_BASE_URL", f"{fake.url}/v1")
    assert main(flags(fake, tmp_path, *more)) == 2
    out = capfd.readouterr()
    assert out.err.startswith("Nothing was started. ") and not fake.received() and not (tmp_path / "logs").exists()
    assert not runs_in(out.err + out.out, KEY, OTHER)


def test_inspect_eval_leaves_no_secret_and_starts_nothing_with_one_in_a_setting(fake, tmp_path):
    csv_path, resources = tasks_file(tmp_path, 2)
    fake.script("solver", {"text": f"It is {KEY[-16:]}.", "match": "lesson 1,"}, {"status": 400, "error": f"bad {OTHER[4:20]}", "match": "lesson 2,"})
    env = {**os.environ, "FAKE_API_KEY": f" {KEY}\n", "MY_SECRET": OTHER, "FAKE_BASE_URL": f"{fake.url}/v1"}

    def inspect(*more: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "inspect_ai", "eval", "pipeline/task.py", "--model", SOLVER, "-T", f"scorer_model={JUDGE}", "-T",
             f"csv_path={csv_path}", "-T", f"resources_dir={resources}", "-T", "prompt_source=own", "--log-dir", str(tmp_path / "logs"),
             "--display", "plain", "--log-model-api", *more], cwd=ROOT, env=env, text=True, capture_output=True, timeout=120)
        return done.stdout + done.stderr

    printed = inspect("--max-retries", "0")
    calls = len(fake.received())
    assert calls >= 3
    refused = inspect("--model-role", "grader=" + json.dumps({"model": JUDGE, "extra_body": {"apiKey": KEY}}))
    assert "Nothing was started" in refused and len(fake.received()) == calls
    assert not runs_in(printed + refused + every_byte(tmp_path / "logs"), KEY, OTHER, PASSWORD)


@pytest.mark.parametrize(("url", "given"), [
    (f"http://u:{PASSWORD}@127.0.0.1:9/v1", {}), ("http://127.0.0.1:9/v1/chat/completions", {}),
    ("http://127.0.0.1:9/v1", {"default_headers": {"X-Api-Key": KEY}}), ("http://127.0.0.1:9/v1", {"default_query": {"key": KEY}})])
def test_what_inspects_own_flags_give_is_held_to_the_same_rules(url, given):
    model = get_model(SOLVER, base_url=url, api_key=KEY, memoize=False, **given)
    with pytest.raises(UserError) as caught:
        standalone._spec(model, {})
    assert not runs_in(str(caught.value), KEY, PASSWORD)


def test_a_token_in_the_address_of_the_git_remote_stays_out_of_the_log(fake, tmp_path, monkeypatch):
    # Inspect records the remote of wherever it is started: https://user:token@host/... as many a build server clones.
    from inspect_ai._eval.task import log
    from inspect_ai.log import EvalRevision

    monkeypatch.setattr(log, "resolve_revision", lambda: EvalRevision(type="git", origin=f"https://me:{TOKEN}@host.example/a.git", commit="abc"))
    evaluate(fake, tmp_path, weights=(5,))
    left = every_byte(tmp_path)
    assert "https://host.example/a.git" in left and not runs_in(left, TOKEN)


def test_the_spec_itself_refuses_a_key_and_does_not_quote_it():
    for config in ({"extra_body": {"x-api-key": KEY}}, {"extra_headers": {"Cookie": KEY}}, {"extra_body": {"l": [{"u": f"http://u:{PASSWORD}@h"}]}}):
        with pytest.raises(UserError) as caught:
            RunSpec(solver=ModelSpec(model=SOLVER, config=config))
        assert not runs_in(str(caught.value), KEY, PASSWORD)
    with pytest.raises(UserError):
        RunSpec(source="hub", repo=f"https://me:{TOKEN}@huggingface.co/datasets/a/b", solver=ModelSpec(model=SOLVER))
    assert ModelSpec(model=SOLVER, config={"extra_body": {"prompt_cache_key": "a", "max_completion_tokens": 5, "user": "me"}}).config
