"""Group A of the cases, over a socket: one unreadable verdict loses that verdict, and nothing else."""

import pytest

from pipeline.judging.outcomes import Outcome
from tests.http.runs import evaluate


@pytest.mark.parametrize(
    "text",
    ["**true**", "Verdict: true", "Final verdict: false", "**Verdict: true**", "true.", "true。", "true\n\nThe answer meets it.",
     '{"verdict": true}', "'true'", '"true"', "<think>fine</think>true", "not true", "untrue", "true/false", "incorrect",
     '{"match": "false"}', '{"result": true}', ""],
)
def test_an_unreadable_verdict_is_not_guessed_and_its_siblings_stay(fake, tmp_path, text):
    # https://github.com/Anon-Bench-123/anon-bench-123: one rejected verdict errored the whole task
    fake.script("judge", {"text": text, "match": "point 2 of"})
    done = evaluate(fake, tmp_path)
    attempt = done.only()
    assert attempt.outcome is Outcome.JUDGE_UNPARSABLE and attempt.score is None and attempt.stage == "judge"
    assert [attempt.verdicts[f"1-0{i}"].verdict for i in (1, 2, 3)] == [True, None, True]
    assert [e.text for e in done.ledger if e.id.criterion == "1-02"] == [text]


@pytest.mark.parametrize("text", ["true", "TRUE", "It does.\ntrue", "<think>fine</think>\ntrue", "  True  \n"])
def test_the_strict_rule_reads_the_last_line(fake, tmp_path, text):
    fake.script("judge", {"text": text, "match": "point 2 of"})
    assert evaluate(fake, tmp_path).only().outcome is Outcome.SCORED


def test_the_message_quotes_the_last_line(fake, tmp_path):
    fake.script("judge", {"text": "true\n\nThe answer meets it.", "match": "point 2 of"})
    reasons = [r["reason"] for r in evaluate(fake, tmp_path).record()["scoring_results"]]
    assert "The answer meets it." in reasons[1]


def test_no_text_of_the_judge_is_in_the_journal(fake, tmp_path):
    fake.script("judge", {"text": "CANARY words of the judge", "match": "point 2 of"})
    done = evaluate(fake, tmp_path)
    assert "CANARY" not in "".join(e.model_dump_json() for e in done.events)


def test_reasoning_text_is_never_parsed(fake, tmp_path):
    # https://github.com/NousResearch/hermes-agent/pull/29517: reasoning holds several verdict words in turn
    fake.script("judge", {"text": "", "reasoning": "deny ... approve ... true", "match": "point 2 of"})
    done = evaluate(fake, tmp_path)
    assert done.only().outcome is Outcome.JUDGE_UNPARSABLE
    assert done.only().verdicts["1-02"].cause == "judge_empty"


def test_a_budget_eaten_by_reasoning_names_the_setting(fake, tmp_path):
    # https://github.com/macanderson/stella/issues/2128: length stop with empty text on every call
    fake.script("judge", {"text": "", "finish": "length", "usage": {"out": 1027, "reasoning": 1027}, "every": True})
    done = evaluate(fake, tmp_path)
    assert {v.cause for v in done.only().verdicts.values()} == {"judge_token_budget"}
    assert "max tokens" in done.only().reason


def test_a_judge_fault_names_its_stage_and_keeps_the_answer(fake, tmp_path):
    # https://github.com/ScreamingFace/screamingface/pull/742: a rate-limited judge showed a format error
    fake.script("judge", {"status": 429, "retry_after": 0.05, "match": "point 2 of", "every": True})
    done = evaluate(fake, tmp_path, api_retries=1)
    attempt = done.only()
    assert attempt.outcome is Outcome.API_ERROR and attempt.stage == "judge" and "rate" in attempt.reason
    assert attempt.verdicts["1-02"].cause == "rate_limit" and attempt.answered
    fake.state.queue["judge"].clear()
    before = len(fake.received("solver"))
    again = evaluate(fake, tmp_path, api_retries=1)
    assert again.only().outcome is Outcome.SCORED
    assert len(fake.received("solver")) == before and len(fake.received("judge")) == 4 + 1


def test_verdict_retries_ask_again_with_the_suffix(fake, tmp_path):
    fake.script("judge", {"text": "maybe", "match": "point 2 of"})
    done = evaluate(fake, tmp_path, verdict_retries=1)
    assert done.only().outcome is Outcome.SCORED
    asked = [r["body"]["messages"][-1]["content"] for r in fake.received("judge")]
    longer = [text for text in asked if any(text != other and text.startswith(other) for other in asked)]
    assert len(asked) == 4 and len(longer) == 1


def test_an_unreadable_verdict_is_asked_for_again_alone_on_resume(fake, tmp_path):
    fake.script("judge", {"text": "maybe", "match": "point 2 of"})
    evaluate(fake, tmp_path)
    again = evaluate(fake, tmp_path)
    assert again.only().outcome is Outcome.SCORED
    assert len(fake.received("solver")) == 1 and len(fake.received("judge")) == 4


def test_a_lenient_reading_keeps_the_strict_one_beside_it(fake, tmp_path):
    fake.script("judge", {"text": "**true**", "match": "point 2 of"})
    done = evaluate(fake, tmp_path, verdict_parser="lenient")
    verdict = done.only().verdicts["1-02"]
    assert done.only().outcome is Outcome.SCORED and verdict.verdict is True and verdict.strict is None
    assert any("lenient" in d for d in done.view.differences)


def test_every_judge_call_is_counted_after_a_bad_verdict(fake, tmp_path):
    # https://github.com/Anon-Bench-123/anon-bench-123: the other calls still billed and were lost
    fake.script("judge", {"text": "maybe", "match": "point 2 of"})
    done = evaluate(fake, tmp_path, weights=(1,) * 15)
    assert done.view.spend["judge"].calls == 15 and done.only().outcome is Outcome.JUDGE_UNPARSABLE


def test_what_log_and_ledger_hold_is_not_held_in_memory_too(fake, tmp_path):
    fake.script("judge", {"text": "maybe", "match": "point 2 of task 2"})
    evaluator = evaluate(fake, tmp_path, count=3).session.evaluator
    assert set(evaluator.lost) == {("2", 1)} and not evaluator.door.ledger.entries
