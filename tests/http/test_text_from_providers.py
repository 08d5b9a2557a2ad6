"""Text from providers is made safe once, where it enters, and an answer that our reader refuses reaches no SDK."""

import json
from typing import Any

import pytest

from pipeline.export import FORMATS, export
from pipeline.judging.outcomes import Outcome
from pipeline.report.export.source import run_from_folder
from pipeline.spec import ModelSpec
from pipeline.verify import verify
from tests.http.fake_llm import FakeLLM
from tests.http.runs import Done, evaluate
from tests.http.test_vendors import VENDORS
from tests.http.test_vendors import run as vendor_run

ODD = "A\ud83d end \x00\x1b[31m\ufffe\x85\x07"
TRUE = f"{ODD}\ntrue"
ONE_EACH = pytest.mark.parametrize("name", ["openai", "openai-responses", "anthropic", "google", "mistral", "bedrock"])
REFUSED = {"deep": '"x": ' + "[" * 5000 + "]" * 5000 + ", ", "twice": '"model": "a", "model": "b", ', "nan": '"x": NaN, ',
           "endless": '"x": 1e999, ', "twice once mended": '"\\ud800": 1, "\\ud801": 2, '}


def left(done: Done) -> list[bytes]:
    """Every file of the run; each must be UTF-8 where it is text."""
    found = [p.read_bytes() for p in done.places.run_dir.rglob("*") if p.is_file()]
    for raw in found:
        if not raw.startswith(b"PK"):
            raw.decode()
    return found


def everything_goes_on(done: Done, folder: Any, samples: bool = True) -> None:
    """The log is readable, and every export can be made of the run and agrees with it."""
    assert not samples or done.record()
    left(done)
    (done.places.run_dir / "events.jsonl").write_text("".join(f"{e.model_dump_json(exclude_none=True)}\n" for e in done.events), encoding="utf-8")
    run = run_from_folder(done.places.run_dir)
    for to in FORMATS if run.view.counts()["scored"] else ("csv", "json", "svg", "zip"):
        for raw in export(run, to).values():
            assert raw and (raw.startswith(b"PK") or b"\x1b" not in raw and raw.decode())
    (folder / "run.zip").write_bytes(export(run, "zip")["run.zip"])
    assert verify(folder / "run.zip") == []


@ONE_EACH
def test_half_an_emoji_in_an_answer_is_replaced_and_all_goes_on(name: str, fake: FakeLLM, tmp_path: Any) -> None:
    # P3: an answer with half a character ended the command line in a traceback, and its resume paid again, without end.
    more = {} if name in ("openai-responses", "mistral") else {"id": ODD}
    fake.script("solver", {"text": ODD, "reasoning": ODD, **more})
    fake.script("judge", {"text": f"{ODD}\ntrue", "reasoning": ODD})
    done = vendor_run(name, fake, tmp_path)
    assert done.only().outcome is Outcome.SCORED, done.only().reason
    texts = {e.id.role: e.text for e in done.ledger}
    assert texts["solver"].startswith("A\ufffd end \ufffd\ufffd[31m\ufffd\n\ufffd") and texts["judge"].endswith("true")
    everything_goes_on(done, tmp_path)


def for_task(n: int, **step: Any) -> dict[str, Any]:
    """A step for the calls about one task."""
    return {"match": f"lesson {n},", **step}


@ONE_EACH
def test_an_answer_that_our_reader_refuses_is_unreadable_paid_and_reaches_no_sdk(name: str, fake: FakeLLM, tmp_path: Any) -> None:
    fake.script("solver", *(for_task(n, spoil=spoil) for n, spoil in enumerate(REFUSED.values(), 1)))
    done = vendor_run(name, fake, tmp_path, api_retries=1, count=len(REFUSED))
    for n in range(1, len(REFUSED) + 1):
        first, second = [e for e in done.ledger if e.id.role == "solver" and e.id.task == str(n)]
        assert (first.fault, first.status, first.cost != 0.0, second.fault) == ("bad_answer", 200, True, "")
    assert done.view.counts()["scored"] == len(REFUSED)
    left(done)


@ONE_EACH
def test_an_error_that_our_reader_refuses_is_told_by_its_status(name: str, fake: FakeLLM, tmp_path: Any) -> None:
    fake.script("solver", for_task(1, status=400, spoil=REFUSED["deep"]), for_task(2, status=503, spoil='"a": NaN, '))
    done = vendor_run(name, fake, tmp_path, api_retries=0, count=2)
    assert {e.fault for e in done.ledger if e.id.role == "solver"} == {"bad_request", "overloaded"}


def test_an_unreadable_answer_says_why_in_plain_words(fake: FakeLLM, tmp_path: Any) -> None:
    fake.script("solver", {"spoil": REFUSED["deep"], "every": True})
    reason = evaluate(fake, tmp_path, weights=(1,), api_retries=0).only().reason
    assert "nested too deeply: at most 64 levels" in reason and "may have been billed" in reason


@ONE_EACH
def test_odd_text_in_an_error_is_made_safe_before_it_is_said(name: str, fake: FakeLLM, tmp_path: Any) -> None:
    fake.script("solver", {"status": 402, "error": f"No credit {ODD}", "code": ODD, "every": True})
    done = vendor_run(name, fake, tmp_path)
    assert "No credit A\ufffd end" in done.view.reason or name in ("anthropic", "google", "bedrock", "mistral", "groq")
    assert "\x1b" not in done.view.reason
    everything_goes_on(done, tmp_path)


FIELDS: list[dict[str, Any]] = [
    {"model": ODD}, {"id": ODD}, {"object": ODD}, {"system_fingerprint": ODD}, {"service_tier": ODD}, {ODD: ODD}, {"usage": {ODD: ODD, "cost": ODD}},
    {"choices": [{"index": 0, "finish_reason": ODD, "message": {"role": "assistant", "content": TRUE}}]},
    {"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": TRUE, "refusal": ODD, "reasoning": ODD,
                                                                   "reasoning_content": ODD, "reasoning_details": [{"type": ODD, "text": ODD}]}}]},
    {"choices": [{"index": 0, "finish_reason": "stop", "native_finish_reason": ODD, "logprobs": {"content": [{"token": ODD, "logprob": 0,
                  "bytes": None, "top_logprobs": []}]}, "message": {"role": "assistant", "content": "ok\ntrue", "annotations": [ODD]}}]},
    {"choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": TRUE, "tool_calls": [
        {"id": ODD, "type": "function", "function": {"name": ODD, "arguments": f'{{"a": "{ODD}"}}'}}]}}]},
    {"usage": {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10, "prompt_tokens_details": [ODD], "completion_tokens_details": ODD}},
]


@pytest.mark.parametrize("role", ["solver", "judge"])
def test_odd_text_in_any_field_of_a_reply_harms_nothing(role: str, fake: FakeLLM, tmp_path: Any) -> None:
    body = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "usage": None, "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "A plan.\ntrue"}}]}
    fake.script(role, *(for_task(n, raw=json.dumps({**body, **more}), every=True) for n, more in enumerate(FIELDS, 1)))
    done = evaluate(fake, tmp_path, weights=(1,), api_retries=0, count=len(FIELDS))
    attempts = done.view.attempts.values()
    assert done.view.status == "finished" and len(attempts) == len(FIELDS) and not [a for a in attempts if "this program" in a.reason]
    assert done.view.counts()["scored"] >= len(FIELDS) - 2
    everything_goes_on(done, tmp_path, samples=False)


BODIES = [
    b"\xff\xfe{\x00}\x00", '{"a": 1}'.encode("utf-16"), b"", b" ", b"null", b"[]", b'"x"', b"1", b"true", b"{}", b"\x00", b"\x1b[31m", b"<html>\xff",
    b'{"choices": ' + b"[" * 100_000, b"9" * 10_000, b"[" + b"{}," * 400_000 + b"{}]", b'{"a": "' + b"x" * 9_000_000 + b'"}',
    b'data: {"a": 1}\n\ndata: [DONE]\n\n', b'{"choices": [1, 2]}', b'{"choices": {"a": 1}}', b'{"choices": [{"message": 5}]}', b'{"error": ["\\ud83d"]}',
]


def test_a_body_of_any_kind_is_a_fault_of_the_provider_and_never_ours(fake: FakeLLM, tmp_path: Any) -> None:
    fake.script("solver", *(for_task(n, raw=raw, every=True) for n, raw in enumerate(BODIES, 1)))
    done = evaluate(fake, tmp_path, weights=(1,), api_retries=0, count=len(BODIES))
    assert done.view.counts()["api_error"] == len(BODIES) and not [a for a in done.view.attempts.values() if "this program" in a.reason]
    faults = {e.id.task: e.fault for e in done.ledger}
    assert set(faults.values()) == {"bad_answer", "server_error"} and sum(f == "server_error" for f in faults.values()) == 1
    assert all(e.cost != 0.0 for e in done.ledger if e.fault == "bad_answer")


def test_bytes_cut_inside_a_character_are_an_answer_like_any(fake: FakeLLM, tmp_path: Any) -> None:
    body = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "usage": None, "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "A HERE\nplan"}}]}
    fake.script("solver", {"raw": b"\xef\xbb\xbf" + json.dumps(body).encode().replace(b"HERE\\n", b"\xf0\x9f\x98 \xed\xa0\xbd\n\x1b")})
    done = evaluate(fake, tmp_path, weights=(1,))
    assert done.only().outcome is Outcome.SCORED and done.ledger[0].text == "A \ufffd \ufffd\ufffd\ufffd\n\ufffdplan"


def test_a_stream_that_cannot_be_read_is_unreadable_too(fake: FakeLLM, tmp_path: Any) -> None:
    fake.script("solver", *(for_task(n, spoil=spoil) for n, spoil in enumerate(REFUSED.values(), 1)))
    v = VENDORS["anthropic"]
    streamed = ModelSpec(model=v.solver, config={"max_tokens": 64_000}, base_url=fake.url)
    judge = ModelSpec(model=v.judge, config={"reasoning_tokens": 1024}, base_url=fake.url)
    done = evaluate(fake, tmp_path, solver=streamed, judge=judge, weights=(1,), api_retries=1, count=len(REFUSED))
    assert fake.received("solver")[0]["body"].get("stream") and done.view.counts()["scored"] == len(REFUSED)
    for n in range(1, len(REFUSED) + 1):
        assert [e.fault for e in done.ledger if e.id.role == "solver" and e.id.task == str(n)] == ["bad_answer", ""], n


def test_odd_text_in_a_stream_is_made_safe(fake: FakeLLM, tmp_path: Any) -> None:
    fake.script("solver", {"text": ODD, "reasoning": ODD})
    v = VENDORS["anthropic"]
    streamed = ModelSpec(model=v.solver, config={"max_tokens": 64_000, "reasoning_tokens": 2000}, base_url=fake.url)
    judge = ModelSpec(model=v.judge, config={"reasoning_tokens": 1024}, base_url=fake.url)
    done = evaluate(fake, tmp_path, solver=streamed, judge=judge, weights=(1,))
    assert fake.received("solver")[0]["body"].get("stream") and done.only().outcome is Outcome.SCORED, done.only().reason
    assert done.ledger[0].text.startswith("A\ufffd end \ufffd\ufffd[31m")
    everything_goes_on(done, tmp_path)
