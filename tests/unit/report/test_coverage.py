"""Simulation: the stratified interval of a capped sample covers the mean of the whole set in 93 to 97 % of samples."""

import numpy as np
import pytest

from pipeline.report.stats import bounds_of_means, collapse

SAMPLES = 1600


def finite_set(kind: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """1,000 scores in 12 competencies: near 0.8 with a tail, some below 0; and what strains an interval more."""
    sizes = np.bincount(rng.integers(0, 12, 40), minlength=12) + 80
    strata = np.repeat(np.arange(12), sizes)
    strata = np.concatenate([strata, np.full(1000 - len(strata), 11)])
    middle = 0.68 + 0.02 * strata if kind == "unequal" else np.full(1000, 0.8)
    x = rng.beta(4 * middle, 4 * (1 - middle))
    if kind == "full marks":
        x = np.where(rng.random(1000) < 0.5, 1.0, x)
    return np.where(rng.random(1000) < 0.06, rng.uniform(-0.1, 0.4, 1000), x), strata


def proportional(sizes: np.ndarray, n: int) -> np.ndarray:
    quota = sizes * n / sizes.sum()
    shares = np.floor(quota).astype(int)
    shares[np.argsort(shares - quota)[: n - shares.sum()]] += 1
    return shares


@pytest.mark.parametrize("kind", ["skewed", "unequal", "full marks"])
@pytest.mark.parametrize("cap", [20, 50, 100, 300])
def test_stratified_interval_covers_as_it_says(kind: str, cap: int) -> None:
    rng = np.random.default_rng([cap, len(kind)])
    x, strata = finite_set(kind, rng)
    columns = []
    for h, share in enumerate(proportional(np.bincount(strata), cap)):
        members = np.flatnonzero(strata == h)
        columns.append(members[np.argsort(rng.random((SAMPLES, len(members))), axis=1)[:, :share]])
    drawn = np.concatenate(columns, axis=1)
    low, high = bounds_of_means(x[drawn].T, collapse(strata[drawn[0]]), fraction=cap / 1000, draws=800)
    covered = ((low <= x.mean()) & (x.mean() <= high)).mean()
    assert 0.93 <= covered <= 0.97
