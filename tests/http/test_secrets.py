"""A key goes to its provider and nowhere else, whatever the provider does with it. Two runs apart: test_engine.py."""

import base64
import json
import os
import zipfile
from pathlib import Path
from urllib.parse import quote

import pytest
import zipfile_zstd  # noqa: F401 - lets zipfile read the members of .eval logs

from pipeline.errors import UserError
from pipeline.models import build
from pipeline.spec import Credentials, ModelSpec, ProviderKey
from tests.http.runs import JUDGE, SOLVER, Done, evaluate

CANARY = "canary-solver+9f31/aa07Zq=="


def credentials(value: str = CANARY) -> Credentials:
    """The canary for both roles."""
    return Credentials(ProviderKey({"api_key": value}), ProviderKey({"api_key": value}))


def every_byte(folder: Path) -> bytes:
    """All files below, the members of logs unpacked."""
    parts = []
    for path in (p for p in folder.rglob("*") if p.is_file()):
        parts.append(path.read_bytes())
        if path.suffix == ".eval":
            with zipfile.ZipFile(path) as log:
                parts += [log.read(name) for name in log.namelist()]
    return b"\n".join(parts)


def leaks(done: Done, folder: Path) -> list[str]:
    """Forms of the canary that are found in any file, event or page."""
    left = every_byte(folder) + repr((done.view, done.events)).encode()
    forms = [CANARY, quote(CANARY, safe=""), json.dumps(CANARY)[1:-1], base64.b64encode(CANARY.encode()).decode(), CANARY[:18], CANARY[-12:]]
    return [f for f in forms if f.encode() in left]


def test_a_run_that_goes_well_leaves_no_key(fake, tmp_path):
    # https://github.com/promptfoo/promptfoo/issues/8805: keys in state, database, export
    done = evaluate(fake, tmp_path, credentials=credentials(), count=2)
    assert {r["key"] for r in fake.received()} == {CANARY} and done.view.counts()["scored"] == 2
    assert not leaks(done, tmp_path) and not any(CANARY in v for v in os.environ.values())


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500])
def test_a_key_that_an_error_echoes_is_nowhere_in_any_form(fake, tmp_path, status):
    # https://github.com/Unstructured-IO/unstructured-api/pull/578 and https://github.com/OpenBB-finance/OpenBB/issues/6662
    words = f"no: {CANARY} and {quote(CANARY, safe='')} and {base64.b64encode(CANARY.encode()).decode()} and {CANARY[:20]}..."
    fake.script("solver", {"status": status, "error": words, "every": True})
    done = evaluate(fake, tmp_path, credentials=credentials(), api_retries=0)
    assert not leaks(done, tmp_path) and "[key]" in every_byte(tmp_path).decode("latin-1")


@pytest.mark.parametrize("role", ["solver", "judge"])
@pytest.mark.parametrize(("status", "error"), [(400, "invalid input"), (402, "no credit for"), (403, "not permitted"), (429, "limit per day")])
def test_task_text_that_an_error_echoes_stays_out_of_the_public_record(fake, tmp_path, role, status, error):
    # vLLM and others quote the input they refuse; the sentence goes into the journal, which everyone may read
    fake.script(role, {"status": status, "error": error, "echo_prompt": True, "every": True})
    done = evaluate(fake, tmp_path, api_retries=0)
    public = repr(done.events).lower()
    assert error in public, "the provider's own words are still told"
    for text in ("plan lesson 1", "you help teachers", "good plan for lesson", "of task 1 clearly", "three stages, with timings"):
        assert text not in public


def test_a_key_that_is_echoed_far_into_a_long_message_is_not_cut_into_view(fake, tmp_path):
    fake.script("solver", {"status": 400, "error": "x" * 280 + f" {CANARY}", "every": True})
    assert not leaks(evaluate(fake, tmp_path, credentials=credentials()), tmp_path)


def test_a_key_in_an_error_under_status_200_or_in_a_page_of_text_is_not_quoted(fake, tmp_path):
    fake.script("solver", {"error200": f"bad {CANARY}", "every": True, "match": "lesson 1,"},
                {"raw": f"<html>internal page {CANARY}</html>", "every": True, "match": "lesson 2,"})
    done = evaluate(fake, tmp_path, credentials=credentials(), count=2, api_retries=0)
    assert not leaks(done, tmp_path) and "internal page" not in repr(done.view)


@pytest.mark.parametrize("around", ["{}\n", " {} ", "\u200b{}", "{}\ufeff", "{}\r\n"])
def test_blanks_and_zero_width_marks_around_a_key_are_trimmed(fake, tmp_path, around):
    # https://github.com/apache/devlake/issues/7132 and https://github.com/groq/groq-python/issues/16
    evaluate(fake, tmp_path, credentials=credentials(around.format(CANARY)))
    assert {r["key"] for r in fake.received()} == {CANARY}


@pytest.mark.parametrize("value", ["", "   ", "canary\nsecond-line", "canary-k\u00e9y-000111"])
def test_an_empty_key_and_one_with_other_characters_are_refused_before_anything_is_sent(fake, tmp_path, monkeypatch, value):
    # https://github.com/openai/openai-python/issues/961: an empty key became "Bearer "
    monkeypatch.setenv("FAKE_API_KEY", "key-of-the-server")
    with pytest.raises(UserError) as caught:
        evaluate(fake, tmp_path, credentials=credentials(value))
    assert not fake.received() and "canary" not in str(caught.value) and "key" in str(caught.value).lower()


def test_a_key_of_the_environment_is_trimmed_and_redacted_too(fake, tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_API_KEY", f"{CANARY}\n")
    fake.script("solver", {"status": 401, "error": f"bad {CANARY}", "every": True})
    done = evaluate(fake, tmp_path, credentials=Credentials(), count=1)
    assert fake.received()[0]["key"] == CANARY and not leaks(done, tmp_path)


def test_a_token_of_the_server_never_goes_out_in_place_of_the_visitors_key(fake, tmp_path, monkeypatch):
    # https://github.com/langflow-ai/langflow/pull/14640: the operator's stored key went to the visitor's host
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "operator-token-0001")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "operator-key-0001")
    solver, judge = (ModelSpec(model=f"anthropic/{r}", config={"max_tokens": 100}, base_url=fake.url) for r in ("solver", "judge"))
    evaluate(fake, tmp_path, solver=solver, judge=judge, credentials=credentials())
    assert {r["key"] for r in fake.received()} == {CANARY}


def test_a_second_run_of_the_same_model_sends_its_own_key(fake, tmp_path):
    # https://github.com/UKGovernmentBEIS/inspect_ai/pull/1323: a cached model object used an older key
    for n, value in enumerate(("canary-first-000111", "canary-second-000222")):
        evaluate(fake, tmp_path / str(n), credentials=credentials(value))
    assert [k for k, _ in {r["key"]: 0 for r in fake.received()}.items()] == ["canary-first-000111", "canary-second-000222"]


def test_a_model_that_cannot_be_built_says_so_without_its_key():
    for model in ("nowhere/x", "openai-api/fake/x", "google/vertex/x"):
        try:
            build(ModelSpec(model=model), ProviderKey({"api_key": CANARY}), 5)
        except UserError as error:
            assert CANARY not in str(error)


def test_names_with_slashes_and_colons_reach_the_provider_as_they_are(fake, tmp_path):
    # https://github.com/0xzr/freellmpool/pull/34: ids with slashes split wrongly
    solver = ModelSpec(model="openrouter/vendor/solver-x.1:free", base_url=f"{fake.url}/api/v1/")
    judge = ModelSpec(model=JUDGE, base_url=f"{fake.url}/v1/")
    done = evaluate(fake, tmp_path, solver=solver, judge=judge, credentials=credentials())
    assert fake.received("solver")[0]["model"] == "vendor/solver-x.1:free" and fake.received("judge")[0]["model"] == "judge"
    assert done.view.spec["solver"]["model"] == "openrouter/vendor/solver-x.1:free"


def test_a_key_given_as_a_header_is_refused_since_the_spec_is_public():
    with pytest.raises(UserError, match="header"):
        ModelSpec(model=SOLVER, config={"extra_headers": {"Authorization": f"Bearer {CANARY}"}})
    assert ModelSpec(model=SOLVER, config={"extra_headers": {"X-Title": "l2-bench"}}).config


def test_task_and_rubric_text_that_a_provider_quotes_in_an_error_is_in_no_public_file(fake, tmp_path):
    fake.script("solver", {"status": 400, "error": "Cannot read 'You help teachers. Plan lesson 1, please.'", "match": "lesson 1,"})
    fake.script("judge", {"status": 400, "error": {"message": 'bad: "Names point 2 of task 2 clearly"'}, "every": True,
                          "match": "point 2 of task 2"})
    done = evaluate(fake, tmp_path, count=2)
    public = [p.read_text(encoding="utf-8") for p in done.places.run_dir.iterdir() if p.suffix in (".jsonl", ".json")]
    public += [repr(e) for e in done.events]
    assert done.view.counts()["api_error"] == 2 and any("Cannot read" in text for text in public)
    assert not any("Plan lesson" in text or "Names point" in text for text in public)
