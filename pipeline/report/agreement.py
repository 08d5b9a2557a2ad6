"""How far two judges agree on the same criteria: share of equal verdicts, Cohen's kappa, where they part. Pure.

Whether both judged the very same answers cannot be seen from public records; the caller says what is known.
"""

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from pipeline.data.records import Layer
from pipeline.report.stats import DRAWS, LEVEL, ONE_TASK, Interval, rate_interval, resample
from pipeline.report.view import RunView

ALIKE = "both judges gave one verdict throughout: kappa is not defined"


class Agreement(BaseModel):
    """Agreement over the verdicts that both runs hold for the same task, epoch and criterion.

    Attributes:
        both_true, first_only, second_only, both_false: the four counts; `first_only` is true by the first run alone.
        agreement: share of equal verdicts. kappa: Cohen's, None where it is not defined (see `note`).
        same_answers: True or False where the caller knows, else None.
    """

    model_config = ConfigDict(frozen=True)
    verdicts: int
    tasks: int
    both_true: int
    first_only: int
    second_only: int
    both_false: int
    agreement: float | None
    agreement_interval: Interval | None
    kappa: float | None
    kappa_interval: Interval | None
    same_answers: bool | None
    by_layer: dict[str, tuple[int, int]]
    note: str = ""


def agreement(first: RunView, second: RunView, same_answers: bool | None = None, seed: int = 0) -> Agreement:
    """Compare two runs' verdicts. `by_layer` maps a rubric layer to (equal verdicts, all verdicts)."""
    tasks, layers, pairs = _paired(first, second)
    counts = np.bincount(pairs, minlength=4) if len(pairs) else np.zeros(4, dtype=int)
    n = int(counts.sum())
    equal = (pairs == 0) | (pairs == 3)
    per_task = np.zeros((int(tasks.max()) + 1 if n else 0, 4))
    np.add.at(per_task, (tasks, pairs), 1)
    kappa = float(_kappa(counts[None, :])[0]) if n else float("nan")
    defined = not np.isnan(kappa)
    return Agreement(
        verdicts=n, tasks=len(per_task), both_true=int(counts[3]), first_only=int(counts[2]), second_only=int(counts[1]),
        both_false=int(counts[0]), agreement=float(equal.mean()) if n else None,
        agreement_interval=rate_interval(per_task[:, 0] + per_task[:, 3], per_task.sum(1)),
        kappa=kappa if defined else None, kappa_interval=_kappa_interval(per_task, seed) if defined else None,
        same_answers=same_answers, by_layer=_by_layer(layers, equal),
        note="no verdict in common" if not n else ALIKE if not defined else ONE_TASK if len(per_task) == 1 else "",
    )


def cohen_kappa(both_true: int, first_only: int, second_only: int, both_false: int) -> float | None:
    """Cohen's kappa of two raters on a yes/no question (Cohen 1960), from -1 to 1; None where both gave one verdict only."""
    value = float(_kappa(np.array([[both_false, second_only, first_only, both_true]]))[0])
    return None if np.isnan(value) else value


def _kappa(counts: NDArray) -> NDArray[np.float64]:
    """Kappa of each row of counts (both false, second only, first only, both true); NaN where chance agreement is 1."""
    c = np.asarray(counts, dtype=float)
    n = c.sum(1)
    observed = (c[:, 0] + c[:, 3]) / n
    first, second = (c[:, 2] + c[:, 3]) / n, (c[:, 1] + c[:, 3]) / n
    chance = first * second + (1 - first) * (1 - second)
    return np.divide(observed - chance, 1 - chance, out=np.full(len(c), np.nan), where=chance < 1 - 1e-12)


def _kappa_interval(per_task: NDArray[np.float64], seed: int) -> Interval | None:
    """Percentile bootstrap over tasks; resamples without a defined kappa are left out. None for one task."""
    if len(per_task) < 2:
        return None
    w = resample(np.zeros(len(per_task), dtype=np.intp), DRAWS, seed)
    values = _kappa(w.astype(float) @ per_task)
    values = values[~np.isnan(values)]
    if not len(values):
        return None
    if np.ptp(values) < 1e-12:
        # Full agreement in every resample: disagreement may still have gone unseen in up to 1 - 0.05**(1/n) of tasks.
        return Interval(low=float(values[0]) - (1 - (1 - LEVEL) ** (1 / len(per_task))), high=float(values[0]),
                        method="bound for equal values", note="no spread seen")
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(low=float(low), high=float(high), method="percentile bootstrap over tasks")


def _paired(first: RunView, second: RunView) -> tuple[NDArray[np.intp], list[Layer], NDArray[np.intp]]:
    """Task number, layer and 2 * first + second of every verdict both hold."""
    layer = {(t.key, c.id): c.layer for t in first.tasks for c in t.criteria}
    numbers: dict[str, int] = {}
    tasks, layers, pairs = [], [], []
    for key, attempt in first.attempts.items():
        other = second.attempts.get(key)
        for cid, v in attempt.verdicts.items() if other else ():
            w = other.verdicts.get(cid) if other else None
            if w is None or w.verdict is None or v.verdict is None or (key[0], cid) not in layer:
                continue
            tasks.append(numbers.setdefault(key[0], len(numbers)))
            layers.append(layer[key[0], cid])
            pairs.append(2 * v.verdict + w.verdict)
    return np.array(tasks, dtype=np.intp), layers, np.array(pairs, dtype=np.intp)


def _by_layer(layers: list[Layer], equal: NDArray[np.bool_]) -> dict[str, tuple[int, int]]:
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for layer, same in zip(layers, equal, strict=True):
        found[layer.value][0] += int(same)
        found[layer.value][1] += 1
    return {layer.value: (found[layer.value][0], found[layer.value][1]) for layer in Layer if layer.value in found}
