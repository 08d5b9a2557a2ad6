"""Promises about prices: by the visitor's own route and time, unknown stays unknown, free only where the source says so."""

import itertools
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from genai_prices import Usage as PackageUsage
from genai_prices.data_snapshot import get_snapshot

from pipeline.cost import price_sources as sources
from pipeline.cost.prices import cost, price_for, repriced, worst_cost
from pipeline.cost.usage import Usage
from tests.unit.cost.made import price

AT = datetime(2026, 11, 20, 12, tzinfo=UTC)


def rates(model: str, **more: object) -> tuple[str, str] | None:
    found = price_for(model, AT, **more)  # type: ignore[arg-type]
    return None if found is None else (f"{found.input.normalize():f}", f"{found.output.normalize():f}")


# https://github.com/pydantic/genai-prices : one model has three prices by the way it is reached
@pytest.mark.parametrize(("model", "expected"), [
    ("anthropic/claude-sonnet-4-6", ("3", "15")),
    ("openrouter/anthropic/claude-sonnet-4.6", ("3", "15")),
    ("bedrock/us.anthropic.claude-sonnet-4-6", ("3.3", "16.5")),
    ("bedrock/eu.anthropic.claude-sonnet-4-6", ("3.3", "16.5")),
    ("bedrock/global.anthropic.claude-sonnet-4-6", ("3", "15")),
    ("anthropic/bedrock/us.anthropic.claude-sonnet-4-6", ("3.3", "16.5")),
    ("groq/openai/gpt-oss-120b", ("0.15", "0.6")),
    ("fireworks/accounts/fireworks/models/deepseek-v3p2", ("0.56", "1.68")),
])
def test_each_route_has_its_own_price_with_source_and_date(model: str, expected: tuple[str, str]) -> None:
    assert rates(model) == expected
    found = price_for(model, AT)
    assert found is not None and found.source and not found.free
    assert datetime.fromisoformat(found.checked)


# https://github.com/workglow-dev/libs/issues/910 : a price was taken from another vendor's model of a like name
@pytest.mark.parametrize("model", [
    "foo/gpt-4o-mini", "openrouter/foo/gpt-4o-mini", "openrouter/gpt-4o-mini", "anthropic/gpt-4o-mini", "bedrock/gpt-4o-mini",
    "openai-api/foo/gpt-4o-mini", "together/anthropic/claude-sonnet-4.6", "gpt-4o-mini", "openai/", "ollama/llama3.2",
    "hf-inference-providers/meta-llama/Llama-3.3-70B-Instruct", "hf-inference-providers/meta-llama/Llama-3.3-70B-Instruct:foo",
    "openrouter/openai/gpt-4o-mini:nitro", "openrouter/openrouter/auto", "openai/azure/gpt-4o-mini",
])
def test_an_unlisted_route_is_unknown_and_never_borrows_a_price(model: str) -> None:
    assert price_for(model, AT) is None


def test_a_custom_address_has_no_price_and_the_providers_own_host_is_none() -> None:
    for url in ("http://127.0.0.1:8000/v1", "https://openrouter.ai.evil.example/v1", "https://gateway.example/v1"):
        assert price_for("openai/gpt-4o-mini", AT, base_url=url) is None
    assert rates("openai/gpt-4o-mini", base_url="https://api.openai.com/v1") == ("0.15", "0.6")


def test_a_table_row_prices_its_own_custom_endpoint_only(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"provider": "openai-api/custom", "model": "m", "base_url": "https://llm.example/v1", "input": "1", "output": "2",
           "source_url": "https://llm.example/prices", "checked": "2026-11-01"}
    monkeypatch.setattr(sources, "table", lambda: {"genai_prices_releases": {}, "prices": [row]})
    assert rates("openai-api/custom/m", base_url="https://llm.example/v1/") == ("1", "2")
    assert price_for("openai-api/custom/m", AT, base_url="https://other.example/v1") is None
    assert price_for("openai-api/custom/m", AT) is None


def test_the_table_names_source_and_date_for_every_row() -> None:
    for row in sources.table()["prices"]:
        assert row["source_url"].startswith("https://") and datetime.fromisoformat(row["checked"])
        assert Decimal(row["input"]) > 0 and Decimal(row["output"]) > 0


def test_free_is_only_what_the_source_says_is_free() -> None:
    for model in ("demo/strong", "openai-api/local/SmolLM2-135M-Instruct", "google/gemma-4-31b-it",
                  "openrouter/google/gemma-4-31b-it:free"):
        found = price_for(model, AT)
        assert found is not None and found.free and found.source, model
        assert cost(Usage(1000, 1000), found) == 0.0
    assert price_for("openai-api/local/m", AT, base_url="https://paid.example/v1") is None
    assert price_for("openrouter/stealth/crouton-alpha", AT) is None  # no rate in the package, and no word of it being free
    assert price_for("openai/whisper-1", AT) is None


class TestLiveList:
    """OpenRouter's own list, US dollars per token as strings."""

    def live(self, **pricing: object) -> dict[str, object]:
        other = {"id": "openai/gpt-4o-mini", "pricing": {"prompt": "9", "completion": "9"}}
        return {"data": [{"id": "v/m", "pricing": pricing}, other]}

    def test_it_comes_before_the_table(self) -> None:
        found = price_for("openrouter/openai/gpt-4o-mini", AT, {"openai/gpt-4o-mini": {
            "id": "openai/gpt-4o-mini", "pricing": {"prompt": "0.0000002", "completion": "0.0000008"}}})
        assert found is not None and (found.input, found.output) == (Decimal("0.2"), Decimal("0.8"))
        assert "live" in found.source and found.checked == "2026-11-20"

    def test_a_model_that_it_lacks_is_looked_up_in_the_table(self) -> None:
        # https://github.com/pydantic/genai-prices/issues/144 : a router's model was missing from the table
        assert rates("openrouter/anthropic/claude-sonnet-4.6", live=self.live(prompt="1", completion="1")) == ("3", "15")
        assert rates("openrouter/v/m", live=self.live(prompt="0.000001", completion="0.000002")) == ("1", "2")
        assert rates("openrouter/not/there", live=self.live()) is None

    def test_zero_is_free_minus_one_varies_and_missing_is_unknown(self) -> None:
        free = price_for("openrouter/v/m", AT, self.live(prompt="0", completion="0"))
        assert free is not None and free.free
        for pricing in ({"prompt": "-1", "completion": "-1"}, {"prompt": "0"}, {}, {"prompt": "x", "completion": "0"},
                        {"prompt": None, "completion": None}, {"prompt": "NaN", "completion": "0"}):
            assert price_for("openrouter/v/m", AT, self.live(**pricing)) is None, pricing

    def test_it_says_nothing_of_another_route_with_the_same_name(self) -> None:
        assert rates("openai/gpt-4o-mini", live=self.live()) == ("0.15", "0.6")

    def test_requests_caches_and_long_prompts_have_their_own_price(self) -> None:
        found = price_for("openrouter/v/m", AT, self.live(
            prompt="0.000002", completion="0.00001", request="0.001", input_cache_read="0.0000002", input_cache_write="0",
            overrides=[{"min_prompt_tokens": 1000, "prompt": "0.000004"}]))
        assert cost(Usage(1_000, 100, cache_read=500), found) == pytest.approx(500 * 4e-6 + 500 * 2e-7 + 100 * 1e-5 + 0.001)
        assert cost(Usage(999, 100), found) == pytest.approx(999 * 2e-6 + 100 * 1e-5 + 0.001)
        assert found is not None and found.cache_write is None  # 0 beside a paid model: no own price, not free


def test_prices_depend_on_the_hour_of_the_request() -> None:
    day, night = AT, AT.replace(hour=2)
    off_peak, peak = price_for("deepseek/deepseek-v4-pro", day), price_for("deepseek/deepseek-v4-pro", night)
    assert off_peak is not None and peak is not None
    assert (off_peak.input, peak.input) == (Decimal("0.66"), Decimal("1.32"))
    assert repriced(off_peak, night) == peak and repriced(price(), night) == price()
    assert worst_cost(1_000_000, 0, off_peak) == pytest.approx(1.32)  # the run may go on into the dear hours


def test_a_long_prompt_is_priced_at_its_own_rate_as_a_whole() -> None:
    found = price_for("openai/gpt-5.4", AT)
    assert cost(Usage(272_000, 1_000), found) == pytest.approx(0.272 * 2.5 + 0.015)
    assert cost(Usage(272_001, 1_000), found) == pytest.approx(0.272001 * 5 + 0.0225)


@pytest.mark.parametrize("provider", ["openai", "anthropic", "openrouter", "google", "aws", "groq", "deepseek", "mistral"])
def test_our_arithmetic_is_the_price_packages_own(provider: str) -> None:
    prefix = {"aws": "bedrock"}.get(provider, provider)
    listed = next(p for p in get_snapshot().providers if p.id == provider)
    checked = 0
    for info in listed.models:
        found = price_for(f"{prefix}/{info.id}", AT)
        other = listed.find_model(info.id)
        if found is None or other is None or other.prices is None:
            continue
        for tokens, read, write in itertools.product((1_000, 250_000, 1_200_000), (0, 400), (0, 300)):
            given = PackageUsage(input_tokens=tokens, output_tokens=700, cache_read_tokens=read, cache_write_tokens=write)
            theirs = other.calc_price(given, listed, genai_request_timestamp=AT).total_price
            assert cost(Usage(tokens, 700, read, write), found) == pytest.approx(float(theirs), rel=1e-9), info.id
            checked += 1
    assert checked > 50


# https://github.com/junhoyeo/tokscale/issues/1142 : reasoning tokens were charged again beside the output that holds them
def test_reasoning_inside_output_is_charged_once() -> None:
    assert cost(Usage(0, 136, reasoning=31), price("3", "15")) == pytest.approx(136 * 15 / 1e6)


def test_cached_tokens_are_taken_out_of_the_input_before_pricing() -> None:
    found = cost(Usage(1_000, 0, cache_read=600, cache_write=300), price("3", "15", cache_read="0.3", cache_write="3.75"))
    assert found == pytest.approx((100 * 3 + 600 * 0.3 + 300 * 3.75) / 1e6)
    assert cost(Usage(1_000, 0, cache_read=600), price()) == pytest.approx(0.003)  # no own price: the full one


# https://github.com/UKGovernmentBEIS/inspect_ai/issues/4739 : the cost that a router reports was not used
def test_a_reported_cost_beats_the_table() -> None:
    assert cost(Usage(1_000, 1_000, cost=0.0123), price()) == 0.0123
    assert cost(Usage(None, None, cost=0.0123), None) == 0.0123


# https://github.com/devrev/enterprise-bench/pull/15 : $0.00 was printed for 19 of 140 calls whose usage was all zeros
@pytest.mark.parametrize("usage", [None, Usage(), Usage(None, 5), Usage(5, None), Usage(0, 0), Usage(0, 0, cost=0.0),
                                   Usage(cost=0.0), Usage(cost=float("nan")), Usage(cost=-1.0)])
def test_unknown_usage_has_no_cost_and_never_zero(usage: Usage | None) -> None:
    assert cost(usage, price()) is None


def test_an_unknown_price_has_no_cost() -> None:
    assert cost(Usage(1_000, 1_000), None) is None


def test_the_worst_cost_is_at_least_the_cost_of_every_call_within_it() -> None:
    dear = price("3", "15", cache_read="0.3", cache_write="6", reasoning="20")
    worst = worst_cost(1_000, 500, dear)
    for tokens, out, read, write, thought in itertools.product((0, 1_000), (0, 500), (0, 400), (0, 600), (0, 500)):
        found = cost(Usage(tokens, out, min(read, tokens), min(write, tokens), min(thought, out)), dear)
        assert found is None or found <= worst + 1e-12
