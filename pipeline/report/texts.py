"""Answers and judges' words of a run, read from its private ledger for those who may see them.

Never decides who may, never imports inspect, never reads a whole ledger into memory for one task.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class JudgeWords:
    """What the judge wrote about one criterion; `tries` counts the times it was asked for a verdict."""

    text: str
    reasoning: str = ""
    tries: int = 1


@dataclass
class TaskTexts:
    """All text of one task in one epoch. `answer` is None where no answer came."""

    answer: str | None = None
    reasoning: str = ""
    judge: dict[str, JudgeWords] = field(default_factory=dict)


def task_texts(ledger: Path, task: str) -> dict[int, TaskTexts]:
    """The texts of one task by epoch, from `private/ledger.jsonl`; empty where the file or the task is missing.

    Of several answers to one call the first counts, as in a resumed run; of several verdict tries the last.
    Calls that failed hold no text. Lines cut by a crash are passed over.
    """
    found: dict[int, TaskTexts] = {}
    needle = json.dumps(task, ensure_ascii=False)
    try:
        with ledger.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if needle in line:
                    _take(found, line, task)
    except OSError:
        return {}
    return found


def _take(found: dict[int, TaskTexts], line: str, task: str) -> None:
    try:
        data = json.loads(line)
        if data["task"] != task or data.get("sent") is True or data.get("fault"):
            return
        role, epoch, words = data["role"], int(data["epoch"]), str(data.get("text", ""))
        criterion, tries = str(data.get("criterion", "")), int(data.get("verdict_try", 1))
        reasoning = str(data.get("reasoning", ""))
    except (ValueError, KeyError, TypeError):
        return
    texts = found.setdefault(epoch, TaskTexts())
    if role == "solver":
        if texts.answer is None:
            texts.answer, texts.reasoning = words, reasoning
    elif criterion not in texts.judge or texts.judge[criterion].tries < tries:
        texts.judge[criterion] = JudgeWords(words, reasoning, tries)
