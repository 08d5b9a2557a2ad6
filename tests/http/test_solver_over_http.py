"""Groups B and C of the cases: an answer that is not there, or is cut, or is filtered, is told apart and counted."""

import json

from pipeline.judging.outcomes import Outcome
from pipeline.report.summary import summarise
from tests.http.runs import evaluate


def test_an_empty_answer_is_the_models_own_failure_and_no_judge_is_asked(fake, tmp_path):
    # https://github.com/Anon-Bench-123/anon-bench-123: an empty answer raised and left the mean
    fake.script("solver", {"text": "", "match": "lesson 1"})
    done = evaluate(fake, tmp_path, count=2)
    s = summarise(done.view)
    assert done.view.attempts["1", 1].outcome is Outcome.SOLVER_EMPTY
    assert len(fake.received("judge")) == 3
    assert s.scored.value == 1.0 and s.attempted.value == 0.5


def test_an_answer_that_stayed_in_reasoning_is_empty_with_a_hint_and_not_graded(fake, tmp_path):
    # https://github.com/chunkhound/chunkhound/issues/415: content null, text only in the reasoning field
    fake.script("solver", {"content": None, "text": "", "reasoning": "the plan is"})
    attempt = evaluate(fake, tmp_path).only()
    assert attempt.outcome is Outcome.SOLVER_EMPTY and "reasoning" in attempt.reason and not fake.received("judge")


def test_an_answer_cut_before_any_text_is_cut_not_wrong(fake, tmp_path):
    # https://github.com/jundot/omlx/issues/3772: empty answers for budget reasons booked as wrong
    fake.script("solver", {"text": "", "finish": "length"})
    assert evaluate(fake, tmp_path).only().outcome is Outcome.SOLVER_CUT


def test_an_answer_cut_with_text_is_judged_and_marked(fake, tmp_path):
    fake.script("solver", {"text": "Half a plan", "finish": "length"})
    attempt = evaluate(fake, tmp_path).only()
    assert attempt.outcome is Outcome.SCORED and attempt.cut


def test_a_deterministic_empty_answer_is_not_retried(fake, tmp_path):
    # https://github.com/llmsresearch/paperbanana/pull/218: same empty reply retried for six minutes
    fake.script("solver", {"text": "", "every": True})
    evaluate(fake, tmp_path)
    assert len(fake.received("solver")) == 1


def test_a_content_filter_costs_that_task_only(fake, tmp_path):
    # https://github.com/adobe-research/NoLiMa/issues/9: a filter stopped the whole run
    fake.script("solver", {"status": 400, "error": "The response was filtered by the content management policy", "code": "content_filter",
                           "match": "lesson 2"})
    done = evaluate(fake, tmp_path, count=3)
    assert done.view.counts() == {**dict.fromkeys(done.view.counts(), 0), "scored": 2, "filtered": 1}
    assert done.view.status == "finished"


def test_a_filter_in_the_answer_itself_is_filtered(fake, tmp_path):
    fake.script("solver", {"text": "I", "finish": "content_filter"})
    assert evaluate(fake, tmp_path).only().outcome is Outcome.FILTERED


def test_both_denominators_stand_together(fake, tmp_path):
    # https://github.com/UKGovernmentBEIS/inspect_ai/pull/3814: 80 of 90 against 80 of 100
    fake.script("solver", {"text": "", "finish": "content_filter", "match": "lesson 7"})
    s = summarise(evaluate(fake, tmp_path, count=10).view)
    assert (s.scored_count, s.scored.value, s.attempted_count, s.attempted.value) == (9, 1.0, 10, 0.9)


def test_status_200_with_an_error_body_is_an_api_error_retried_a_bounded_number_of_times(fake, tmp_path):
    # https://github.com/modelscope/evalscope/issues/1674
    fake.script("solver", {"error200": "x", "code": 502, "every": True})
    done = evaluate(fake, tmp_path, api_retries=2)
    assert done.only().outcome is Outcome.API_ERROR and len(fake.received("solver")) == 3
    assert {e.status for e in done.ledger} == {502}


def test_a_finish_reason_error_without_usage_has_an_unknown_cost_not_zero(fake, tmp_path):
    # https://github.com/maximhq/bifrost/issues/5425
    body = {"id": "x", "object": "chat.completion", "created": 0, "model": "m", "usage": None,
            "choices": [{"index": 0, "message": {"role": "assistant", "content": ""}, "finish_reason": "error"}]}
    fake.script("solver", {"raw": json.dumps(body), "every": True})
    done = evaluate(fake, tmp_path, api_retries=1)
    assert done.only().outcome is Outcome.API_ERROR
    assert done.view.spend["solver"].unknown == 2 and done.view.cost is None


def test_missing_usage_is_unknown_and_charged_at_the_reserve(fake, tmp_path):
    # https://github.com/ding113/claude-code-hub/issues/1165
    fake.script("solver", {"usage": "none"})
    done = evaluate(fake, tmp_path, max_tokens=100_000)
    assert done.view.spend["solver"].unknown == 1


def test_zero_usage_beside_text_is_unknown(fake, tmp_path):
    # https://github.com/devrev/enterprise-bench/pull/15: $0.00 for 19 of 140
    fake.script("solver", {"usage": {"in": 0, "out": 0}})
    assert evaluate(fake, tmp_path).view.spend["solver"].unknown == 1


def test_an_overloaded_provider_is_asked_again_and_charged_once(fake, tmp_path):
    # https://github.com/SWE-agent/mini-swe-agent/issues/184: 529 twice, then 200
    fake.script("solver", {"status": 529, "times": 2})
    done = evaluate(fake, tmp_path)
    assert done.only().outcome is Outcome.SCORED and done.view.spend["solver"].calls == 3
    assert sum(e.usage is not None for e in done.ledger if e.id.role == "solver") == 1


def test_there_is_one_retry_layer_and_a_wait_of_days_is_not_obeyed(fake, tmp_path):
    # https://github.com/earendil-works/pi/pull/4991
    fake.script("solver", {"status": 429, "retry_after": 1382400, "every": True})
    done = evaluate(fake, tmp_path, count=2, max_connections=1)
    assert done.view.status == "failed" and "UTC" in done.view.reason and len(fake.received()) == 1


def test_retry_after_is_obeyed_and_each_request_is_sent_once(fake, tmp_path):
    fake.script("solver", {"status": 429, "retry_after": 0.3, "times": 2})
    done = evaluate(fake, tmp_path)
    times = [r["t"] for r in fake.received("solver")]
    assert done.only().outcome is Outcome.SCORED and len(times) == 3
    assert all(b - a >= 0.29 for a, b in zip(times, times[1:], strict=False))
    assert any(e.kind == "waiting" and e.reason == "rate_limit" for e in done.events)


def test_out_of_credit_stops_the_run_at_once_and_keeps_what_was_paid_for(fake, tmp_path):
    # https://github.com/can1357/oh-my-pi/issues/9569
    fake.script("solver", {"match": "lesson 1", "delay": 0}, {"status": 402, "error": "can only afford 1,200", "every": True})
    done = evaluate(fake, tmp_path, count=6, max_connections=1)
    counts = done.view.counts()
    assert done.view.status == "failed" and "1,200" in done.view.reason
    assert counts["scored"] + counts["cancelled"] + counts["api_error"] == 6 and counts["cancelled"] >= 3


def test_a_refused_temperature_is_left_out_and_listed(fake, tmp_path):
    # https://github.com/langwatch/langwatch/pull/1975
    fake.script("solver", {"status": 400, "error": "Unsupported value: 'temperature' does not support 0 with this model."})
    done = evaluate(fake, tmp_path)
    assert done.only().outcome is Outcome.SCORED and any("temperature not sent" in d for d in done.view.differences)
    assert ["temperature" in r["body"] for r in fake.received("solver")] == [True, False]


def test_a_refused_max_tokens_is_sent_under_its_new_name(fake, tmp_path):
    # https://github.com/teilomillet/gollm/issues/33
    fake.script("solver", {"status": 400, "error": "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."})
    done = evaluate(fake, tmp_path)
    assert done.only().outcome is Outcome.SCORED
    assert fake.received("solver")[-1]["body"]["max_completion_tokens"] == 4096


def test_a_temperature_of_zero_is_sent(fake, tmp_path):
    # https://github.com/Kiln-AI/Kiln/pull/1479: 0.0 was dropped as false
    evaluate(fake, tmp_path)
    assert fake.received("solver")[0]["body"]["temperature"] == 0.0
