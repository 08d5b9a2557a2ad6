"""The score of one task from its verdicts, as the paper states it. Never clips, never decides a verdict."""

from collections.abc import Iterable


def task_score(pairs: Iterable[tuple[int, bool]]) -> float:
    """Sum of the weights judged true, over the sum of the positive weights.

    Args:
        pairs: weight and verdict of every criterion of the task.

    Returns:
        At most 1; below 0 where penalties outweigh what was earned. Weights 5, 3, -2, all true: 6 / 8 = 0.75.

    Raises:
        ValueError: no weight is positive, so the score has no denominator.
    """
    earned = maximum = 0
    for weight, verdict in pairs:
        maximum += max(weight, 0)
        earned += weight if verdict else 0
    if maximum <= 0:
        raise ValueError("the rubric has no positive weight")
    return earned / maximum
