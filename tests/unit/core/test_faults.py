"""Every kind of provider fault is told apart, and no text of a key survives."""

import pytest

from pipeline.faults import Exchange, Redactor, classify, refused_parameter, wait_asked
from pipeline.replies import unquoted

REDACT = Redactor(["canary-key-123456"])


def fault(status=None, message="", headers=None, body=None, error=None):
    return classify(Exchange(status, headers or {}, body or ({"error": {"message": message}} if message else None)), error, REDACT)


@pytest.mark.parametrize(
    ("status", "message", "kind", "again", "stops"),
    [
        (429, "slow down", "rate_limit", True, False),
        (529, "Overloaded", "overloaded", True, False),
        (500, "oops", "server_error", True, False),
        (401, "Incorrect API key", "key_refused", False, True),
        (402, "You requested 4096 tokens, but can only afford 1,200", "no_credit", False, True),
        (400, "Your credit balance is too low", "no_credit", False, True),
        (429, "You exceeded your current quota, please check your plan and billing details", "no_credit", False, True),
        (429, "Rate limit exceeded: free-models-per-day", "quota", False, True),
        (403, "Key limit exceeded", "key_limit", False, False),
        (403, "no access to model", "no_access", False, True),
        (404, "model not found", "model_missing", False, True),
        (400, "The response was filtered due to the content management policy", "filtered", False, False),
        (400, "maximum context length is 8192 tokens", "too_long", False, False),
        (400, "Unsupported value: 'temperature' does not support 0 with this model.", "setting_refused", False, False),
        (400, "The requested model 'x' is not supported by any provider you have enabled.", "model_missing", False, True),
        (400, "Invocation with on-demand throughput isn't supported. Retry with an inference profile", "model_missing", False, True),
        (400, "something else", "bad_request", False, False),
    ],
)
def test_each_kind_of_fault_is_told_apart(status, message, kind, again, stops):
    found = fault(status, message)
    assert (found.kind, found.again, found.stops_run) == (kind, again, stops)


def test_words_of_the_provider_about_credit_reach_the_visitor():
    # https://github.com/can1357/oh-my-pi/issues/9569: the number of affordable tokens was lost
    assert "can only afford 1,200" in fault(402, "You requested up to 4096 tokens, but can only afford 1,200").sentence


def test_a_quota_of_days_names_its_reset_and_is_not_waited_for():
    # https://github.com/earendil-works/pi/pull/4991: Retry-After of 16 days was obeyed
    found = fault(429, "limit", {"retry-after": "1382400"})
    assert found.kind == "quota" and found.stops_run and "UTC" in found.sentence


def test_an_error_body_under_status_200_has_its_code():
    # https://github.com/modelscope/evalscope/issues/1674: 200 with an error body read as an answer
    found = classify(Exchange(200, {}, {"error": {"code": 502, "message": "x"}}), TypeError("choices"), REDACT)
    assert found.status == 502 and found.again


def test_a_key_never_survives_in_a_sentence():
    # https://github.com/Unstructured-IO/unstructured-api/pull/578: rejected key echoed
    for message in ("bad canary-key-123456", "Incorrect API key provided: sk-proj-abcdef123456", "hf_abcdefghijklmnop is wrong"):
        assert "123456" not in fault(400, message).sentence and "abcdef" not in fault(400, message).sentence


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [({"Retry-After": "2"}, 2), ({"retry-after-ms": "250"}, 0.25), ({"x-ratelimit-reset-requests": "1m30s"}, 90),
     ({"x-ratelimit-reset-tokens": "250ms"}, 0.25), ({}, None)],
)
def test_the_wait_a_provider_asks_for_is_read(headers, seconds):
    assert wait_asked(headers) == (pytest.approx(seconds) if seconds is not None else None)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", "max_tokens"),
        ("`temperature` is deprecated for this model.", "temperature"),
        ("`temperature` may only be set to 1 when thinking is enabled", "temperature"),
        ("the weather is fine", ""),
    ],
)
def test_the_refused_setting_is_found(words, name):
    assert refused_parameter(words) == name


def test_a_timeout_and_a_broken_connection_are_not_the_same():
    assert classify(Exchange(), TimeoutError(), REDACT).kind == "timeout"
    assert classify(Exchange(), ConnectionResetError(), REDACT).kind == "broken"


GOOGLE = "You exceeded your current quota, please check your plan and billing details."


def google(quota: str, delay: str, more: str = "") -> dict:
    return {"error": {"code": 429, "message": GOOGLE + more, "status": "RESOURCE_EXHAUSTED", "details": [
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": quota}]},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}]}}


@pytest.mark.parametrize(
    ("status", "body", "kind", "wait"),
    [
        (429, google("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "12s"), "rate_limit", 12),
        (429, google("GenerateRequestsPerDayPerProjectPerModel-FreeTier", "12s"), "quota", 12),
        (429, google("GenerateRequestsPerMinutePerProjectPerModel", "3s", " limit: 0, model: x"), "quota", 3),
        (429, {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}, "no_credit", None),
        (429, {"error": {"message": "Rate limit reached on tokens per day (TPD). Please try again in 5m30.5s."}}, "quota", 330.5),
        (429, {"error": {"message": "Rate limit reached on tokens per minute. Please try again in 1.5s."}}, "rate_limit", 1.5),
        (400, {"error": {"message": "Bad request", "code": "content_filter"}}, "filtered", None),
        (400, {"error": {"message": "x", "innererror": {"code": "ResponsibleAIPolicyViolation"}}}, "filtered", None),
        (400, {"error": {"code": 400, "message": "API key not valid. Please pass a valid API key.", "status": "INVALID_ARGUMENT"}},
         "key_refused", None),
        (403, {"message": "The security token included in the request is expired"}, "key_refused", None),
        (403, {"message": "The request signature we calculated does not match the signature you provided."}, "key_refused", None),
        (400, {"error": {"message": "Provider returned error", "code": 400, "metadata": {
            "raw": '{"error":{"message":"`temperature` is not supported with this model"}}'}}}, "setting_refused", None),
        (404, {"error": {"message": "No endpoints found matching your data policy (Free model training).", "code": 404}}, "model_missing", None),
        (422, {"detail": [{"loc": ["body", "top_k"], "msg": "Extra inputs are not permitted", "input": {"billing": "quota"}}]},
         "setting_refused", None),
        (403, "blocked by the network's proxy", "no_access", None),
        (503, {"error": {"message": "billing system is down"}}, "overloaded", None),
    ],
)
def test_codes_and_details_count_as_well_as_words(status, body, kind, wait):
    found = fault(status, body=body)
    assert found.kind == kind and found.wait == (pytest.approx(wait) if wait is not None else None)


def test_the_upstreams_own_words_stand_in_place_of_the_routers():
    raw = '{"type":"error","error":{"type":"invalid_request_error","message":"prompt has an odd shape"}}'
    found = fault(400, body={"error": {"message": "Provider returned error", "metadata": {"raw": raw}}})
    assert "odd shape" in found.sentence and "Provider returned error" not in found.sentence


def test_a_page_of_text_is_never_quoted():
    # https://github.com/ItzCrazyKns/Vane/issues/1124: part of an internal service's reply came back in the error
    found = classify(Exchange(400, {}, None, "<html>internal secret</html>"), None, REDACT)
    assert "internal" not in found.sentence


def test_a_limit_that_a_router_reports_in_the_body_has_its_reset():
    from time import time

    headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int((time() + 7200) * 1000))}
    found = fault(429, body={"error": {"code": 429, "message": "Rate limit exceeded: free-models-per-day", "metadata": {"headers": headers}}})
    assert found.kind == "quota" and "UTC" in found.sentence


@pytest.mark.parametrize(
    ("left_requests", "left_tokens", "seconds"), [("0", "900", 86400), ("50", "0", 2), ("50", "900", 2), ("0", "0", 86400)],
)
def test_only_the_limit_that_is_used_up_sets_the_wait(left_requests, left_tokens, seconds):
    headers = {"x-ratelimit-reset-requests": "24h", "x-ratelimit-remaining-requests": left_requests,
               "x-ratelimit-reset-tokens": "2s", "x-ratelimit-remaining-tokens": left_tokens}
    assert wait_asked(headers) == seconds


def test_a_redirect_is_a_fault_of_the_address():
    assert classify(Exchange(307, {"location": "http://elsewhere/"}), None, REDACT).kind == "redirected"


@pytest.mark.parametrize(("said", "left"), [
    ("Bad: Plan a lesson about the old market.", "Bad: […]."),
    (r'Bad: \"Plan a lesson\n about\u0020the old', r'Bad: \"[…]'),
    ("请求无效：设计一节关于旧市场的课程，面向初学者和教师。", "请求无效：[…]。"),
    ("The setting temperature is refused by this model, plan a lesson.", "The setting temperature is refused by this model, plan a lesson."),
    ("", ""),
])
def test_what_an_error_repeats_of_the_request_is_taken_out(said, left):
    sent = "Help teachers.\nPlan a lesson\nabout the old market. 设计一节关于旧市场的课程，面向初学者和教师。"
    assert unquoted(said, sent) == left


def test_the_parts_of_a_key_that_a_provider_echoes_are_taken_out_too():
    secret = "canary+long/key=000111222333"
    redact = Redactor([secret])
    for text in (secret, secret[:16] + "...", "canary%2Blong%2Fkey%3D000111222333", "Y2FuYXJ5K2xvbmcva2V5PTAwMDExMTIyMjMzMw=="):
        assert redact(f"bad key {text} given") in ("bad key [key] given", "bad key [key]... given")
    assert redact('{"key": "Bearer abcdef"}') == '{"key": "[key]"}'
