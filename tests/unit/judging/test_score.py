"""The score of a task, against numbers worked out by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.judging.score import task_score


@pytest.mark.parametrize("weights, verdicts, score", [
    ((5, 3, -2), (True, True, True), 0.75),  # (5 + 3 - 2) / 8
    ((5, 3, -2), (True, True, False), 1.0),
    ((7, 3, -4), (True, True, True), 0.6),  # (7 + 3 - 4) / 10
    ((7, 3, -4), (False, False, True), -0.4),  # shown as it is, not clipped
    ((7, 3, -4), (False, False, False), 0.0),
    ((5, 0), (True, True), 1.0),
])
def test_score_is_weights_met_over_positive_weights(weights: tuple, verdicts: tuple, score: float) -> None:
    assert task_score(zip(weights, verdicts, strict=True)) == pytest.approx(score)


# https://github.com/Toloka/tolokaforge/issues/771: a rubric without a positive weight divided by zero after it was paid for
@pytest.mark.parametrize("pairs", [[(0, True)], [(-4, True)], []])
def test_a_rubric_without_positive_weight_has_no_score(pairs: list) -> None:
    with pytest.raises(ValueError, match="positive weight"):
        task_score(pairs)


@given(st.lists(st.tuples(st.integers(-9, 9), st.booleans()), min_size=1))
def test_score_never_passes_one(pairs: list) -> None:
    if any(w > 0 for w, _ in pairs):
        assert task_score(pairs) <= 1
