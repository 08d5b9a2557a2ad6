"""Agreement of two judges, against scipy-free numbers and statsmodels."""

import numpy as np
import pytest
from statsmodels.stats.inter_rater import cohens_kappa

from pipeline.report.agreement import agreement, cohen_kappa
from tests.made_runs import made_view


@pytest.mark.parametrize("table", [(40, 10, 5, 45), (1, 0, 0, 1), (20, 20, 20, 20), (90, 3, 4, 3)])
def test_kappa_equals_statsmodels(table: tuple[int, int, int, int]) -> None:
    tt, tf, ft, ff = table
    assert cohen_kappa(*table) == pytest.approx(cohens_kappa(np.array([[tt, tf], [ft, ff]])).kappa)


def test_kappa_is_absent_where_it_is_not_defined() -> None:
    assert cohen_kappa(10, 0, 0, 0) is None
    assert cohen_kappa(5, 5, 0, 0) == 0


def test_two_judges_of_the_same_criteria() -> None:
    a, b = made_view(seed=1, judge="x/one"), made_view(seed=1, judge="x/two")
    found = agreement(a, b, same_answers=True)
    assert found.verdicts == found.both_true + found.both_false + found.first_only + found.second_only > 100
    assert found.agreement == pytest.approx((found.both_true + found.both_false) / found.verdicts)
    assert found.kappa_interval and found.kappa is not None and found.kappa_interval.low < found.kappa < found.kappa_interval.high
    assert sum(n for _, n in found.by_layer.values()) == found.verdicts
    assert found.same_answers is True


def test_a_judge_agrees_with_itself_without_a_zero_width_interval() -> None:
    a = made_view(seed=1)
    found = agreement(a, a)
    assert found.agreement == 1 and found.kappa == pytest.approx(1)
    assert found.kappa_interval and found.kappa_interval.low < 1


def test_nothing_in_common_is_said() -> None:
    found = agreement(made_view(seed=1), made_view(seed=1, done=0))
    assert found.verdicts == 0 and found.kappa is None and found.agreement is None and found.note == "no verdict in common"
