"""Tasks, prices and specs made for the tests of money. Invented words only."""

import random
from decimal import Decimal

from pipeline.cost.prices import Price, Rates
from pipeline.data.records import Criterion, Layer, Resource, Task
from pipeline.spec import JUDGE_DEFAULTS, SOLVER_DEFAULTS, ModelSpec, RunSpec

_SENTENCE = ("the and of to is that with for it this are learners vocabulary comprehension activity reading, writing. "
             "classroom pronunciation pairs feedback lesson minutes (B1) 25")
_WORDS = _SENTENCE.split()


def text(rng: random.Random, words: int) -> str:
    """So many words that read like English."""
    return " ".join(rng.choices(_WORDS, k=words))


def tasks(count: int, criteria: int = 15, seed: int = 0, reference: int = 744) -> list[Task]:
    """Tasks of the benchmark's usual lengths."""
    rng = random.Random(seed)
    return [_task(rng, number, criteria, reference) for number in range(count)]


def _task(rng: random.Random, number: int, criteria: int, reference: int) -> Task:
    rubric = tuple(Criterion(f"{number}-{n:02d}", Layer.TASK, text(rng, 25), 5) for n in range(criteria))
    return Task(str(number), "01. planning", text(rng, 250), text(rng, 60), rubric, text(rng, reference),
                resources=(Resource("notes.md", text(rng, 200)),))


def price(input_: str = "3", output: str = "15", **more: str) -> Price:
    """A price in US dollars per million tokens."""
    return Price("made/model", Rates(Decimal(input_), Decimal(output), **{k: Decimal(v) for k, v in more.items()}),
                 "made for a test", "2026-11-01")


def spec(solver: str = "openai/gpt-4o-mini", judge: str = "anthropic/claude-sonnet-4-6", **more: object) -> RunSpec:
    """A spec with the reference's generation settings."""
    return RunSpec(solver=ModelSpec(model=solver, config=SOLVER_DEFAULTS), judge=ModelSpec(model=judge, config=JUDGE_DEFAULTS),
                   **more)  # type: ignore[arg-type]
