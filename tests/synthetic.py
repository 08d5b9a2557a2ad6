"""A full-size tasks file of the benchmark's shape, made of invented words. Holds no text of any dataset.

Every task, reference and criterion carries a canary word, so that a search for it finds leaked text.
"""

import csv
import random
from collections.abc import Sequence
from pathlib import Path

from pipeline.data.read import KNOWN_COLUMNS

TASK_CANARY = "zebrataskcanary"
REFERENCE_CANARY = "zebrareferencecanary"
CRITERION_CANARY = "zebracriterioncanary"
RESOURCE_CANARY = "zebraresourcecanary"
COMPETENCIES = tuple(f"{n:02d}. invented competency {name}" for n, name in enumerate("abcdefghijkl", 1))
_SYLLABLES = ("ba", "co", "dri", "el", "fon", "gu", "hin", "jo", "kra", "lem", "mi", "nor", "pul", "ro", "sti", "ve")
_AGES = ("young learners", "teenagers", "young adults", "adults")
_LEVELS = ("A1", "A2", "B1", "B2", "C1")
_DEVICES = ("no devices", "projector", "phones")


def words(rng: random.Random, count: int, canary: str = "") -> str:
    """`count` invented words, the canary in their middle."""
    made = ["".join(rng.choices(_SYLLABLES, k=rng.randint(1, 3))) for _ in range(count)]
    if canary:
        made.insert(count // 2, canary)
    return " ".join(made).capitalize()


def rows(tasks: int = 1000, resources: int = 200, seed: int = 0) -> list[dict[str, str]]:
    """Rows with the 20 columns, 12 competencies, 15 criteria a task and lengths like the published table's."""
    rng = random.Random(seed)
    return [_row(rng, number, resources) for number in range(1, tasks + 1)]


def write(folder: Path, tasks: int = 1000, resources: int = 200, seed: int = 0) -> tuple[Path, Path]:
    """Write tasks file and resources under `folder`; returns their paths."""
    return write_rows(folder, rows(tasks, resources, seed)), write_resources(folder, resources, seed)


def write_rows(folder: Path, table: Sequence[dict[str, str]]) -> Path:
    """Write a tasks file as the dataset has it: UTF-8 with BOM, commas; columns are those of the first row."""
    path = folder / "l2-bench_tasks.csv"
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(table[0]))
        writer.writeheader()
        writer.writerows(table)
    return path


def write_resources(folder: Path, count: int = 200, seed: int = 0) -> Path:
    """Write `count` resource files; returns their folder."""
    rng = random.Random(seed + 1)
    target = folder / "resources_for_tasks"
    target.mkdir(exist_ok=True)
    for number in range(count):
        text = f"# {number}\n\n{words(rng, rng.randint(60, 400), RESOURCE_CANARY)}\n"
        (target / resource_name(number)).write_text(text, encoding="utf-8")
    return target


def resource_name(number: int) -> str:
    """Name of a resource file."""
    return f"writing_{number:03d}.md"


def _row(rng: random.Random, number: int, resources: int) -> dict[str, str]:
    competency = rng.randrange(len(COMPETENCIES))
    sub = rng.choice("abc")
    row = dict.fromkeys(KNOWN_COLUMNS, "")
    variables = {"learner age": rng.choice(_AGES), "level": rng.choice(_LEVELS), "devices": rng.choice(_DEVICES)}
    row |= {
        "task_key": str(number + number // 3),
        "version_at_time_of_draft": "1.0.0_2026-01",
        "competency": COMPETENCIES[competency],
        "task": words(rng, rng.randint(40, 300), TASK_CANARY),
        "task_system_prompt": words(rng, rng.randint(20, 90)),
        "task_variables": "\n".join(f"{key}: {value}" for key, value in variables.items()),
        "subcompetency_1": f"{competency + 1:02d}{sub}. invented part",
        "task_criteria": _criteria(rng, [f"{n:02d}" for n in range(1, 8)], penalty=rng.random() < 0.2),
        "consensus_criteria": _criteria(rng, [f"{competency + 1:02d}{sub}-{n:02d}" for n in range(1, 4)]),
        "universal_criteria": _criteria(rng, [f"{n:02d}u1" for n in range(1, 6)]),
        "reference_answer": words(rng, rng.randint(300, 1200), REFERENCE_CANARY),
        "canary_string": "invented-canary-string",
    }
    if resources and rng.random() < 0.3:
        row["task_resource_file_link_1"] = resource_name(rng.randrange(resources))
    return row


def _criteria(rng: random.Random, ids: list[str], penalty: bool = False) -> str:
    weights = [rng.randint(2, 9) for _ in ids]
    if penalty:
        weights[-1] = -rng.randint(2, 5)
    entries = (f"{i}. {words(rng, rng.randint(8, 20), CRITERION_CANARY)} =={w}" for i, w in zip(ids, weights, strict=True))
    return " | ".join(entries)
