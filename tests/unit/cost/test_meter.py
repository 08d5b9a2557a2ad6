"""Promises of the meter: one cap over solver and judge, reserved before a call leaves, charged by what it used."""

import itertools
import threading

import pytest

from pipeline.cost.meter import Charge, Meter, Worst
from pipeline.cost.usage import Usage
from pipeline.errors import UserError
from tests.unit.cost.made import price

TWO_CENTS = Worst(1_000, 1_000)
TEN = price("10", "10")  # US dollars per million tokens: TWO_CENTS reserves 0.02


# https://github.com/UKGovernmentBEIS/inspect_ai/pull/3193 : a cost limit per sample let a run spend many times over
def test_a_cap_of_five_cents_lets_exactly_two_calls_of_two_cents_start() -> None:
    meter = Meter(max_cost=0.05)
    held = [meter.reserve("solver", TWO_CENTS, TEN) for _ in range(20)]
    assert [h is not None for h in held] == [True, True] + [False] * 18
    assert meter.snapshot().reserved.cost == pytest.approx(0.04)


def test_one_cap_holds_over_both_roles_together() -> None:
    meter = Meter(max_cost=0.05)
    assert meter.reserve("solver", TWO_CENTS, TEN) and meter.reserve("judge", TWO_CENTS, TEN)
    assert meter.reserve("judge", TWO_CENTS, TEN) is None
    assert meter.reserve("judge", Worst(500, 500), TEN) is not None  # exactly what is left


def test_what_a_call_did_not_use_is_free_again() -> None:
    meter = Meter(max_cost=0.05)
    first, _ = meter.reserve("solver", TWO_CENTS, TEN), meter.reserve("solver", TWO_CENTS, TEN)
    assert first is not None and meter.reserve("solver", TWO_CENTS, TEN) is None
    assert meter.charge(first, Usage(100, 100), TEN) == Charge(pytest.approx(0.002), "table")
    assert meter.reserve("solver", TWO_CENTS, TEN) is not None


def test_three_times_ten_cents_is_exactly_thirty() -> None:
    meter = Meter(max_cost=0.3)
    held = [meter.reserve("judge", Worst(5_000, 5_000), TEN) for _ in range(4)]
    assert [h is not None for h in held] == [True, True, True, False]


class TestCharge:
    """What a charge rests on."""

    def charged(self, usage: Usage | None, money: object = TEN) -> tuple[Charge, Meter]:
        meter = Meter(max_tokens=10_000)
        held = meter.reserve("judge", TWO_CENTS, money)  # type: ignore[arg-type]
        assert held is not None
        return meter.charge(held, usage, money), meter  # type: ignore[arg-type]

    # https://github.com/ding113/claude-code-hub/issues/1165 : a stream without usage was booked as nothing
    @pytest.mark.parametrize("usage", [None, Usage(), Usage(0, 0), Usage(120, None), Usage(cost=0.0)])
    def test_unknown_usage_is_charged_at_the_reserve(self, usage: Usage | None) -> None:
        charge, meter = self.charged(usage)
        assert charge == Charge(pytest.approx(0.02), "reserve")
        state = meter.snapshot()
        assert (state.spent.tokens, state.unknown, state.reserved.tokens) == (2_000, 1, 0)

    # https://github.com/UKGovernmentBEIS/inspect_ai/issues/4739 : the cost that a router reports was not used
    def test_a_reported_cost_beats_the_table(self) -> None:
        assert self.charged(Usage(10, 10, cost=0.0123))[0] == Charge(0.0123, "reported")
        charge, meter = self.charged(Usage(cost=0.0123))
        assert charge == Charge(0.0123, "reported")
        assert meter.snapshot().spent.tokens == 2_000 and meter.snapshot().unknown == 1

    # https://github.com/ruvnet/agentic-flow/issues/234 : an unknown price was shown as $0
    def test_an_unknown_price_is_charged_as_unknown_and_never_as_zero(self) -> None:
        charge, meter = self.charged(Usage(100, 100), None)
        assert charge == Charge(None, "none")
        assert (meter.snapshot().unpriced, meter.snapshot().spent.tokens) == (1, 200)

    def test_a_free_route_costs_nothing_even_without_usage(self) -> None:
        from pipeline.cost.prices import price_for

        assert self.charged(None, price_for("demo/judge"))[0] == Charge(0.0, "free")


def test_a_money_cap_is_refused_where_a_price_is_unknown_and_other_caps_are_named() -> None:
    with pytest.raises(UserError, match="judge is unknown.*--max-calls"):
        Meter(max_cost=1.0).check_can_hold({"solver": TEN, "judge": None})
    with pytest.raises(UserError):
        Meter(max_cost=1.0).reserve("judge", TWO_CENTS, None)
    Meter(max_calls=3).check_can_hold({"solver": None, "judge": None})
    Meter(max_cost=0.0).check_can_hold({"solver": TEN, "judge": TEN})


def test_caps_in_calls_and_tokens_hold_without_a_price() -> None:
    calls, tokens = Meter(max_calls=3), Meter(max_tokens=4_500)
    assert [calls.reserve("judge", TWO_CENTS, None) is not None for _ in range(5)] == [True] * 3 + [False] * 2
    assert [tokens.reserve("judge", TWO_CENTS, None) is not None for _ in range(5)] == [True] * 2 + [False] * 3


# https://github.com/SWE-agent/mini-swe-agent/issues/184 : two overloaded answers before the good one; its cost counts once
def test_refused_calls_cost_nothing_but_count_as_calls() -> None:
    meter = Meter(max_cost=0.05, max_calls=3)
    for _ in range(2):
        held = meter.reserve("judge", TWO_CENTS, TEN)
        assert held is not None
        meter.release(held)
    held = meter.reserve("judge", TWO_CENTS, TEN)
    assert held is not None
    meter.charge(held, Usage(100, 100), TEN)
    state = meter.snapshot()
    assert (state.spent.cost, state.spent.calls, state.spent.tokens) == (pytest.approx(0.002), 3, 200)
    assert meter.reserve("judge", TWO_CENTS, TEN) is None


def test_a_call_that_never_left_is_not_counted() -> None:
    meter = Meter(max_calls=1)
    held = meter.reserve("judge", TWO_CENTS, TEN)
    assert held is not None
    meter.release(held, sent=False)
    assert meter.reserve("judge", TWO_CENTS, TEN) is not None


def test_a_reservation_is_settled_once() -> None:
    meter = Meter(max_cost=1.0)
    held = meter.reserve("judge", TWO_CENTS, TEN)
    assert held is not None
    meter.charge(held, Usage(1, 1), TEN)
    with pytest.raises(ValueError, match="settled"):
        meter.charge(held, Usage(1, 1), TEN)
    with pytest.raises(ValueError, match="settled"):
        meter.release(held)
    assert meter.snapshot().spent.calls == 1


def test_a_resumed_run_stays_under_the_same_cap() -> None:
    meter = Meter(max_cost=0.05, max_calls=10, max_tokens=50_000)
    meter.carry("solver", 0.02, 4, 8_000)
    meter.carry("judge", None, 1, 500)
    assert meter.reserve("judge", TWO_CENTS, TEN) is not None
    assert meter.reserve("judge", TWO_CENTS, TEN) is None
    state = meter.snapshot()
    assert (state.spent.cost, state.spent.calls, state.spent.tokens, state.unpriced) == (0.02, 5, 8_500, 1)


def test_a_provider_that_counts_more_than_the_worst_case_makes_later_reserves_grow() -> None:
    meter = Meter(max_cost=0.12)
    first = meter.reserve("judge", TWO_CENTS, TEN)
    assert first is not None
    meter.charge(first, Usage(3_000, 3_000), TEN)  # 0.06 where 0.02 was thought the most
    second = meter.reserve("judge", TWO_CENTS, TEN)
    assert second is not None and second.cost == pytest.approx(0.06)
    assert meter.reserve("judge", TWO_CENTS, TEN) is None
    meter.charge(second, Usage(3_000, 3_000), TEN)
    assert meter.snapshot().spent.cost == pytest.approx(0.12)


def test_the_snapshot_keeps_the_roles_apart_and_adds_up() -> None:
    meter = Meter(max_cost=1.0)
    solver, judge = meter.reserve("solver", TWO_CENTS, TEN), meter.reserve("judge", TWO_CENTS, TEN)
    assert solver is not None and judge is not None
    meter.charge(solver, Usage(500, 500), TEN)
    state = meter.snapshot()
    assert state.spent_by["solver"].cost == pytest.approx(0.01) and state.spent_by["judge"].calls == 0
    assert state.reserved_by["judge"].cost == pytest.approx(0.02) and state.reserved.calls == 1
    assert state.cap.cost == 1.0 and meter.capped and not Meter().capped
    assert meter.fits(0.97, 1, 0) and not meter.fits(0.98, 1, 0)


def test_threads_cannot_reserve_the_same_room() -> None:
    meter, got = Meter(max_calls=50), itertools.count()

    def work() -> None:
        for _ in range(50):
            if meter.reserve("judge", TWO_CENTS, TEN):
                next(got)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert next(got) == 50
