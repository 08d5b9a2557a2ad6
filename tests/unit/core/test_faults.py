"""Every kind of provider fault is told apart, and no text of a key survives."""

import pytest

from pipeline.faults import Exchange, Redactor, classify, refused_parameter, wait_asked

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
