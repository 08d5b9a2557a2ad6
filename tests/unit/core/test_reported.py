"""Tokens and money are read alike from every vendor's own body: general units include the specific ones, absent is unknown."""

import pytest

from pipeline.cost.usage import Usage
from pipeline.reported import reported_cost, reported_usage
from pipeline.wire import settings_in, unsent

CHAT = {"prompt_tokens": 1000, "completion_tokens": 200, "total_tokens": 1200}


@pytest.mark.parametrize(
    ("body", "usage"),
    [
        ({"usage": {**CHAT, "prompt_tokens_details": {"cached_tokens": 600}, "completion_tokens_details": {"reasoning_tokens": 50}}},
         Usage(1000, 200, 600, 0, 50)),
        ({"usage": {**CHAT, "prompt_cache_hit_tokens": 600, "prompt_cache_miss_tokens": 400}}, Usage(1000, 200, 600)),  # DeepSeek
        ({"usage": {**CHAT, "cached_tokens": 600}}, Usage(1000, 200, 600)),  # Moonshot
        ({"usage": {**CHAT, "prompt_tokens_details": {"cached_tokens": 100, "cache_write_tokens": 300}}}, Usage(1000, 200, 100, 300)),
        # A server that counts hidden reasoning beside the answer, and one that counts it inside.
        ({"usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 115, "completion_tokens_details": {"reasoning_tokens": 100}}},
         Usage(10, 105, 0, 0, 100)),
        ({"usage": {"prompt_tokens": 10, "completion_tokens": 136, "total_tokens": 146, "completion_tokens_details": {"reasoning_tokens": 31}}},
         Usage(10, 136, 0, 0, 31)),
        ({"usage": {"input_tokens": 1000, "output_tokens": 200, "input_tokens_details": {"cached_tokens": 600},
                    "output_tokens_details": {"reasoning_tokens": 50}}}, Usage(1000, 200, 600, 0, 50)),
        ({"usage": {"input_tokens": 300, "output_tokens": 200, "cache_read_input_tokens": 600, "cache_creation_input_tokens": 100}},
         Usage(1000, 200, 600, 100)),
        ({"usage": {"inputTokens": 400, "outputTokens": 200, "totalTokens": 1200, "cacheReadInputTokens": 600}}, Usage(1000, 200, 600)),
        ({"usageMetadata": {"promptTokenCount": 1000, "candidatesTokenCount": 150, "thoughtsTokenCount": 50,
                            "cachedContentTokenCount": 600, "totalTokenCount": 1200}}, Usage(1000, 200, 600, 0, 50)),
        ({"usageMetadata": {"promptTokenCount": 10, "thoughtsTokenCount": 4096}}, Usage(10, 4096, 0, 0, 4096)),
        ({"usage": {"prompt_tokens": 0, "completion_tokens": 0}}, None),
        ({"usage": {"prompt_tokens": -1, "completion_tokens": 7}}, None),
        ({"usage": {"prompt_tokens": 12}}, None),
        ({"usage": None}, None), ({}, None), ("text", None), (None, None),
    ],
)
def test_usage_of_every_dialect(body, usage):
    # https://github.com/junhoyeo/tokscale/issues/1142: reasoning is inside output and must not be charged twice
    assert reported_usage(body) == usage


@pytest.mark.parametrize(
    ("usage", "cost"),
    [({"cost": 0.0123}, 0.0123), ({"cost": "0.5"}, 0.5), ({"cost": 0}, 0.0), ({"cost": float("nan")}, None), ({"cost": -1}, None),
     ({"cost": True}, None), ({"cost": None}, None), ({}, None),
     ({"cost": 0.1, "is_byok": True, "cost_details": {"upstream_inference_cost": 2}}, 2.1),
     ({"cost": 0.1, "is_byok": True, "cost_details": {"upstream_inference_cost": None}}, 0.1)],
)
def test_a_reported_cost_is_a_number_or_unknown(usage, cost):
    assert reported_cost({"usage": usage}) == (pytest.approx(cost) if cost is not None else None)


def test_settings_that_a_client_leaves_out_are_found_and_texts_are_not_searched():
    from inspect_ai.model import GenerateConfig

    config = GenerateConfig(temperature=0.0, max_tokens=100, reasoning_tokens=1024, seed=1)
    sent = settings_in(b'{"messages":[{"content":"temperature seed"}],"max_completion_tokens":100,"reasoning":{"max_tokens":1024}}')
    assert unsent(config, sent) == ["temperature", "seed"]
    assert unsent(config, settings_in(b"no json")) == []
