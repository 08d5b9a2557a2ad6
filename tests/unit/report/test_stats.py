"""Intervals against scipy and statsmodels, their edges, and ranks with ties."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from statsmodels.stats.proportion import proportion_confint

from pipeline.report.stats import (
    NO_SPREAD,
    Interval,
    collapse,
    expected_half_width,
    group_intervals,
    mean_interval,
    no_spread,
    paired_difference,
    ranks,
    rate_interval,
    t_quantile,
    tasks_needed,
    wilson,
)


def scores(n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.where(rng.random(n) < 0.1, rng.random(n) * 0.4, rng.beta(8, 2, n))


@pytest.mark.parametrize("df", [1, 2, 3, 4, 5, 9, 19, 49, 99, 999])
@pytest.mark.parametrize("p", [0.975, 0.95, 0.6, 0.5, 0.2, 0.025, 0.005])
def test_t_quantile_equals_scipy(p: float, df: int) -> None:
    assert t_quantile(p, df) == pytest.approx(scipy_stats.t.ppf(p, df), abs=2e-4)


@pytest.mark.parametrize("passed, total", [(0, 10), (10, 10), (7, 10), (1, 1), (130, 200), (3, 1000)])
def test_wilson_equals_statsmodels(passed: int, total: int) -> None:
    assert wilson(passed, total) == pytest.approx(proportion_confint(passed, total, method="wilson"), abs=1e-12)


def test_large_sample_interval_agrees_with_scipy_bootstrap() -> None:
    x = scores(400)
    ours = mean_interval(x, draws=6000)
    theirs = scipy_stats.bootstrap((x,), np.mean, n_resamples=6000, method="BCa", random_state=1).confidence_interval
    assert ours is not None
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.003)


def test_few_tasks_get_students_t() -> None:
    x = np.array([0.5, 0.7, 0.8, 0.9, 0.6])
    low, high = scipy_stats.t.interval(0.95, 4, loc=x.mean(), scale=scipy_stats.sem(x))
    ours = mean_interval(x)
    assert ours is not None and (ours.low, ours.high) == pytest.approx((low, high), abs=1e-4)


def test_the_seed_decides_the_interval() -> None:
    x = scores(50)
    assert mean_interval(x, seed=1) == mean_interval(x, seed=1) != mean_interval(x, seed=2)


# https://github.com/EleutherAI/lm-evaluation-harness/issues/4070: 0 % and 100 % were printed with +- 0.0000 at any n
@pytest.mark.parametrize("value, n", [(1.0, 10), (0.0, 10), (0.5, 10), (1.0, 2), (-0.4, 30), (0.8, 1000)])
def test_equal_values_never_give_a_point(value: float, n: int) -> None:
    interval = mean_interval([value] * n)
    assert interval is not None and interval.high - interval.low > 0.0005
    assert interval.low <= value <= interval.high and NO_SPREAD in interval.note


def test_all_full_marks_give_the_rule_of_three() -> None:
    interval = no_spread(1.0, 100)
    assert interval.high == 1.0 and interval.low == pytest.approx(0.05 ** (1 / 100))  # about 1 - 3/100
    assert interval.low == pytest.approx(0.97, abs=0.001)


# https://github.com/confident-ai/deepeval/pull/3077: one pass was shown as 100 % without a doubt
def test_one_task_has_no_interval() -> None:
    assert mean_interval([1.0]) is None and mean_interval([]) is None
    assert rate_interval([5], [7]) is None and expected_half_width(1) is None


@given(st.lists(st.floats(-0.5, 1.0), min_size=2, max_size=40))
@settings(max_examples=60)
def test_an_interval_is_finite_holds_the_mean_and_keeps_to_the_scale(values: list[float]) -> None:
    interval = mean_interval(values, draws=200)
    assert interval is not None and math.isfinite(interval.low) and math.isfinite(interval.high)
    assert interval.low - 1e-6 <= np.mean(values) <= interval.high + 1e-6
    assert interval.high <= 1 and interval.low >= min(0.0, *values) - 1.0


def test_strata_of_one_task_are_joined_with_neighbours() -> None:
    groups = collapse([f"{i:02d}" for i in range(12)] + ["00", "05"])
    assert np.bincount(groups).min() >= 5
    assert list(collapse(["a"] * 3)) == [0, 0, 0]
    assert len(set(collapse(["a"] * 6 + ["b"] * 7))) == 2


def test_strata_narrow_the_interval_and_so_does_a_finite_population() -> None:
    x = np.concatenate([scores(50, 1) * 0.2, scores(50, 2) * 0.2 + 0.8])
    strata = ["a"] * 50 + ["b"] * 50
    plain, within, finite = mean_interval(x), mean_interval(x, strata=strata), mean_interval(x, strata=strata, population=200)
    assert plain and within and finite
    widths = [i.high - i.low for i in (plain, within, finite)]
    assert widths[1] < widths[0] * 0.6
    assert widths[2] == pytest.approx(widths[1] * math.sqrt(0.5), rel=0.02)
    assert "strata" in within.method and "finite population" in finite.method


def test_shares_move_the_interval_to_the_population() -> None:
    x = np.concatenate([scores(30, 1) * 0.1, scores(30, 2) * 0.1 + 0.9])
    interval = mean_interval(x, strata=["a"] * 30 + ["b"] * 30, shares={"a": 0.1, "b": 0.9})
    expected = 0.1 * x[:30].mean() + 0.9 * x[30:].mean()
    assert interval is not None and interval.low < expected < interval.high
    assert interval.high - interval.low < 0.05


def test_group_intervals_agree_with_single_ones() -> None:
    x = scores(300)
    members = np.zeros((300, 4), dtype=bool)
    members[:, 0] = True
    members[:90, 1] = True
    members[:4, 2] = True
    members[:1, 3] = True
    found = group_intervals(x, members, draws=4000)
    for column, n in ((0, 300), (1, 90), (2, 4)):
        single, group = mean_interval(x[:n], draws=4000), found[column]
        assert single is not None and group is not None
        assert (group.low, group.high) == pytest.approx((single.low, single.high), abs=0.006)
    assert found[3] is None


def test_verdicts_that_share_a_task_count_for_less() -> None:
    passed, totals = [10] * 8 + [0] * 2, [10] * 10  # whole tasks pass or fail together: 10 facts, not 100
    interval = rate_interval(passed, totals)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx(wilson(7.2, 9), abs=0.001)  # design effect 10 * 10/9
    single = rate_interval([1] * 8 + [0] * 2, [1] * 10)
    assert single is not None and (single.low, single.high) == pytest.approx(wilson(8, 10))
    every = rate_interval([10] * 10, [10] * 10)
    assert every is not None and every.low == pytest.approx(wilson(10, 10)[0]) and every.note == NO_SPREAD


def test_pairing_separates_what_single_intervals_do_not() -> None:
    base = scores(60)
    better = np.clip(base + 0.02 + np.random.default_rng(1).normal(0, 0.01, 60), 0, 1)
    d = paired_difference(better, base)
    assert d.separable and d.value is not None and d.value > 0 and d.note == ""
    assert not paired_difference(base, base).separable
    assert paired_difference(base, scores(60, 9)).note == "not separable"
    one = paired_difference([0.9], [0.1])
    assert not one.separable and one.interval is None and "one task" in one.note
    assert paired_difference([], []).value is None


# https://github.com/ZeroLoss-Lab/ELBench: 83.14 [82, 85] was ranked above 83.06 [82, 84]
def test_overlapping_intervals_share_a_rank() -> None:
    first, second, third = ranks([Interval(low=82, high=85), Interval(low=82, high=84), Interval(low=70, high=81)])
    assert (first.best, first.worst) == (second.best, second.worst) == (1, 2) and first.tied
    assert (third.best, third.worst) == (3, 3) and not third.tied
    assert all(r.tied for r in ranks([Interval(low=1, high=2), None, Interval(low=5, high=6)]))


def test_tasks_needed_is_the_least_that_reaches_the_half_width() -> None:
    for population in (None, 1000, 63):
        for aim in (0.05, 0.03):
            n = tasks_needed(aim, population)
            assert n is not None
            width, before = expected_half_width(n, population), expected_half_width(n - 1, population)
            assert width is not None and width <= aim and before is not None and before > aim
    assert tasks_needed(0.001, 3) is None
    assert expected_half_width(100, 1000) == pytest.approx(1.984 * 0.22 / 10 * math.sqrt(0.9), abs=1e-4)


def test_an_expected_interval_is_never_wider_than_the_scale():
    assert expected_half_width(2) == 1.0 and expected_half_width(10) < 0.2
