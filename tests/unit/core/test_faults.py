"""Every kind of provider fault is told apart, and no text of a key survives."""

import pytest

from pipeline.core.redact import Redactor
from pipeline.faults import Exchange, classify, refused_parameter, wait_asked
from pipeline.replies import without_request

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


def test_the_parts_of_a_key_that_a_provider_echoes_are_taken_out_too():
    secret = "canary+long/key=000111222333"
    redact = Redactor([secret])
    for text in (secret, secret[:16] + "...", "canary%2Blong%2Fkey%3D000111222333", "Y2FuYXJ5K2xvbmcva2V5PTAwMDExMTIyMjMzMw=="):
        assert redact(f"bad key {text} given") in ("bad key [key] given", "bad key [key]... given")
    assert redact('{"key": "Bearer abcdef"}') == '{"key": "[key]"}'


@pytest.mark.parametrize("echo", [
    "Plan a lesson on café menus", "plan a  LESSON on café menus!", 'Plan a\\nlesson on \\"caf\\u00e9\\" menus', "教师请为初级学习者准备一节关于餐厅菜单的口语课程好吗",
])
def test_words_of_the_request_that_a_provider_quotes_are_cut_off(echo):
    request = "You help.\nPlan a lesson on café menus, please. 教师请为初级学习者准备一节关于餐厅菜单的口语课程好吗"
    assert without_request(f"bad input: '{echo}' at 3", request) == "bad input […]"


def test_words_that_a_request_shares_by_chance_stay():
    words = "The provider says: this lesson is too long for the model, shorten it."
    assert without_request(words, "Plan a lesson; it is for the model class.") == words
@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, {"error": {"message": "foo/bar is not a valid model ID", "code": 400}}, "model_missing"),
        (400, {"object": "error", "message": "Invalid model: magistral-reasoning", "type": "invalid_model"}, "model_missing"),
        (400, {"error": {"message": "Model Not Exist", "type": "invalid_request_error"}}, "model_missing"),
        (400, {"error": {"message": "The requested model 'x/y' does not exist", "code": "model_not_found"}}, "model_missing"),
        (400, {"error": {"message": "The model `x` has been decommissioned", "code": "model_decommissioned"}}, "model_missing"),
        (400, {"message": "The provided model identifier is invalid."}, "model_missing"),
        (400, {"error": {"message": "You have reached your specified API usage limits. You will regain access on 2026-12-01."}}, "quota"),
        (429, {"error": {"message": "Your prepayment credits are depleted.", "status": "RESOURCE_EXHAUSTED"}}, "no_credit"),
        (412, {"error": {"message": "Account x is suspended, possibly due to reaching the monthly spending limit or failure to pay."}}, "no_credit"),
        (400, {"error": {"message": "User location is not supported for the API use.", "status": "FAILED_PRECONDITION"}}, "no_access"),
        (400, {"error": {"message": "This organization has been disabled."}}, "no_access"),
        (401, {"error": {"message": "You have insufficient permissions for this operation. Missing scopes: model.request."}}, "no_access"),
        (404, {"message": "Model use case details have not been submitted for this account."}, "no_access"),
        (403, {"error": {"message": "Your API key was reported as leaked. Please use another API key."}}, "key_refused"),
        (403, {"error": {"message": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193."}}, "too_long"),
        (429, {"error": {"message": "Request too large on tokens per min (TPM): Limit 30000, Requested 41234."}}, "too_long"),
        (424, {"message": "The request failed due to an error while processing the model."}, "server_error"),
        (498, {"error": {"message": "Flex tier capacity exceeded"}}, "overloaded"),
        (524, None, "timeout"),
        (200, {"error": {"code": "rate_limit_exceeded", "message": "slow down"}}, "rate_limit"),
        (200, {"error": {"code": "insufficient_quota", "message": "You exceeded your current quota"}}, "no_credit"),
    ],
)
def test_faults_that_vendors_hide_under_another_status_are_told_apart(status, body, kind):
    assert fault(status, body=body).kind == kind


def test_the_end_of_the_providers_words_is_the_end_of_a_sentence():
    assert "Insufficient Balance. Add credit" in fault(402, "Insufficient Balance").sentence


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [({"retry-after": "30s"}, 30), ({"retry-after": "-5"}, None), ({"retry-after": "nan"}, None), ({"retry-after": "inf"}, None),
     ({"retry-after": "soon", "x-ratelimit-reset-requests": "7s"}, 7), ({"retry-after-ms": "-1", "retry-after": "3"}, 3),
     ({"retry-after": "1e30"}, 366 * 86400), ({"ratelimit": '"default";r=0;t=33'}, 33), ({"ratelimitbysize-reset": "17"}, 17),
     ({"x-ratelimit-reset-tokens-minute": "11.3", "x-ratelimit-remaining-tokens-minute": "0", "x-ratelimit-reset-requests-day": "33011"}, 11.3)],
)
def test_waits_are_read_in_every_form_and_senseless_ones_are_passed_over(headers, seconds):
    assert wait_asked(headers) == (pytest.approx(seconds) if seconds is not None else None)


def test_a_wait_until_a_time_is_read_as_a_date_in_either_form_or_as_unix_time():
    from datetime import UTC, datetime
    from time import time

    at = time() + 40
    shown = datetime.fromtimestamp(at, UTC)
    for text in (f"{shown:%a, %d %b %Y %H:%M:%S} GMT", f"{shown:%Y-%m-%dT%H:%M:%SZ}", str(int(at)), str(int(at * 1000))):
        assert wait_asked({"retry-after": text}) == pytest.approx(40, abs=3)
    past = datetime.fromtimestamp(at - 400, UTC)
    assert wait_asked({"anthropic-ratelimit-tokens-reset": f"{past:%Y-%m-%dT%H:%M:%SZ}"}) == 0
