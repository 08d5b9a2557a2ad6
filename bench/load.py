"""The load that all parts share: a tasks file of invented words with texts as long as a teacher's, and fixed answers.

User message about 4,000 characters, answer 3,000, reference 5,000, 15 criteria of 200. Imports nothing heavy.
"""

import csv
import random
from pathlib import Path

CRITERIA = 15
MESSAGE, REPLY, REFERENCE, CRITERION = 4000, 3000, 5000, 200
"""Lengths in characters."""

_SYLLABLES = ("ba", "co", "dri", "el", "fon", "gu", "hin", "jo", "kra", "lem", "mi", "nor", "pul", "ro", "sti", "ve")
_COLUMNS = ("task_key", "competency", "task", "task_system_prompt", "task_criteria", "reference_answer")


def words(rng: random.Random, length: int) -> str:
    """Invented words in lines, `length` characters in all."""
    parts: list[str] = []
    size = 0
    while size < length:
        word = "".join(rng.choices(_SYLLABLES, k=rng.randint(1, 4)))
        parts.append(word + (".\n" if rng.random() < 0.07 else " "))
        size += len(parts[-1])
    return "".join(parts)[:length - 1] + "."


ANSWER = words(random.Random(1), REPLY)
VERDICT = words(random.Random(2), 500) + "\ntrue"


def write(folder: Path, tasks: int) -> tuple[Path, Path]:
    """Write a tasks file of so many tasks and an empty resources folder; returns their paths."""
    resources = folder / "resources"
    resources.mkdir(parents=True, exist_ok=True)
    path = folder / "tasks.csv"
    rng = random.Random(0)
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(_COLUMNS)
        for n in range(1, tasks + 1):
            rubric = " | ".join(f"{i:02d}. {words(rng, CRITERION)} =={rng.randint(1, 9)}" for i in range(1, CRITERIA + 1))
            competency = f"{n % 12 + 1:02d}. competency"
            writer.writerow([n, competency, words(rng, MESSAGE), words(rng, 200), rubric, words(rng, REFERENCE)])
    return path, resources
