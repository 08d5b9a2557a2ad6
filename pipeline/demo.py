"""The scripted provider `demo/...`: real inspect models in code, free and instant, for the demo and for tests.

`demo/strong` answers with most of a task's reference answer, `demo/weak` with little of it, `demo/faulty` fails in each
way a model can, `demo/judge` follows one stated rule. Their scores mean nothing. They know no test's expectation.

The judge's rule: a criterion is met where at least a quarter of its content words (five-letter stems) stand in the answer;
an answer that marks a part as left out, with a line ending in `LEFT_OUT`, is not judged, and the judge says so.
"""

import asyncio
import hashlib
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    ContentReasoning,
    ContentText,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    modelapi,
)

from pipeline.data.records import Task
from pipeline.data.sources import load_tasks
from pipeline.spec import ModelSpec, Places, RunSpec

THRESHOLD = 0.25
LEFT_OUT = "[…]"
_COMMON = frozenset(
    """
    about above after again against also amongst because been before being between both could does each either every for
    from give gives have having here into itself keeps more most must name names other over rather same shall should some
    such than that their them then there these they this those through under until very were what when where which while
    will with within would your answer answers response learner learners teacher teachers task tasks student students
    lesson
    """.split()
)


class ScriptedFault(Exception):
    """A provider's error with the attributes that vendors' SDKs give theirs."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status_code, self.message, self.headers = status, message, headers or {}


@modelapi("demo")
class DemoAPI(ModelAPI):
    """The four scripted models. `delay` (seconds a call takes) is a model argument or `L2BENCH_DEMO_DELAY`."""

    def __init__(self, model_name: str, base_url: str | None = None, api_key: str | None = None,
                 config: GenerateConfig = GenerateConfig(), delay: float | None = None, **_: Any) -> None:  # noqa: B008
        super().__init__(model_name, base_url, api_key, [], config)
        if model_name not in SCRIPTS:
            raise ValueError(f"no scripted model called {model_name!r}; there are {', '.join(sorted(SCRIPTS))}")
        self.delay = float(os.environ.get("L2BENCH_DEMO_DELAY", "0")) if delay is None else float(delay)
        self.seen: dict[str, int] = {}
        self.calls: dict[str, int] = {}

    async def generate(self, input: list[ChatMessage], tools: Any, tool_choice: Any, config: GenerateConfig) -> ModelOutput:
        """One scripted answer after `delay` seconds."""
        await asyncio.sleep(self.delay)
        prompt = input[-1].text
        return SCRIPTS[self.model_name](self, prompt)

    def should_retry(self, ex: BaseException) -> bool:
        """Never: the door is the one retry layer."""
        return False

    def connection_key(self) -> str:
        """One pool for all demo models."""
        return "demo"


def _output(name: str, prompt: str, text: str, stop: Any = "stop", reasoning: str = "") -> ModelOutput:
    content: Any = [ContentReasoning(reasoning=reasoning), ContentText(text=text)] if reasoning else text
    thought = len(reasoning) // 4
    used_in, used_out = max(1, len(prompt) // 4), max(1, len(text) // 4) + thought
    return ModelOutput(
        model=f"demo/{name}",
        choices=[ChatCompletionChoice(message=ChatMessageAssistant(content=content, source="generate"), stop_reason=stop)],
        usage=ModelUsage(input_tokens=used_in, output_tokens=used_out, total_tokens=used_in + used_out, reasoning_tokens=thought),
    )


@cache
def _tasks() -> tuple[Task, ...]:
    return load_tasks(RunSpec(solver=ModelSpec(model="demo/strong")), Places(Path())).tasks


@cache
def _by_text() -> dict[str, Task]:
    return {t.user_message: t for t in _tasks()}


def _part(text: str, share: float) -> str:
    """About `share` of the paragraphs of `text`, chosen by their digests, in order; never none."""
    parts = [p for p in re.split(r"\n\s*\n|\n(?=[-*\d])", text) if p.strip()]
    ranked = sorted(parts, key=lambda p: hashlib.sha256(p.encode()).digest())
    kept = set(ranked[: max(1, round(len(parts) * share))])
    return "\n\n".join(p for p in parts if p in kept)


def _answer(prompt: str, share: float) -> str:
    task = _by_text().get(prompt)
    source = task.reference_answer if task is not None else prompt
    return _part(source, share)


def _strong(api: DemoAPI, prompt: str) -> ModelOutput:
    return _output("strong", prompt, "Here is what I suggest.\n\n" + _answer(prompt, 0.9))


def _weak(api: DemoAPI, prompt: str) -> ModelOutput:
    return _output("weak", prompt, "It depends on your class, but a good start is always to be clear.\n\n" + _answer(prompt, 0.15))


def _faulty(api: DemoAPI, prompt: str) -> ModelOutput:
    """The n-th task that this model meets goes wrong in the n-th way; after twelve it begins again."""
    way = api.seen.setdefault(prompt, len(api.seen)) % 12
    api.calls[prompt] = api.calls.get(prompt, 0) + 1
    good = _answer(prompt, 0.9)
    match way:
        case 1:
            return _output("faulty", prompt, "")
        case 2:
            return _output("faulty", prompt, "", reasoning="I would begin with the learners and then plan the stages.")
        case 3:
            return _output("faulty", prompt, "", stop="max_tokens")
        case 4:
            return _output("faulty", prompt, good[: len(good) // 2], stop="max_tokens")
        case 5:
            return _output("faulty", prompt, "I cannot help with that.", stop="content_filter")
        case 6:
            return _output("faulty", prompt, f"Begin with what the class already knows, and then {LEFT_OUT}")
        case 7:
            raise ScriptedFault(400, "The request was refused by the scripted provider.")
        case 8 if api.calls[prompt] <= 2:
            raise ScriptedFault(429, "Too many requests", {"retry-after": "0.2"})
        case 9:
            raise ScriptedFault(499, "The request was cancelled while it was under way.")
        case 10:
            raise ScriptedFault(403, "Key limit exceeded: this key's own spending limit is reached.")
    return _output("faulty", prompt, good)


def stems(text: str) -> set[str]:
    """Content words of a text: of four letters or more, not common, lower-case, cut to five letters."""
    words = re.findall(r"[^\W\d_]{4,}", text.lower())
    return {w[:5] for w in words if w not in _COMMON}


@cache
def _criteria() -> list[tuple[str, Task]]:
    found = {c.description: t for t in _tasks() for c in t.criteria}
    return sorted(found.items(), key=lambda pair: len(pair[0]), reverse=True)


def _question(prompt: str) -> tuple[str, str]:
    """The criterion and the answer in a filled judge prompt, whichever template it was filled into.

    Known demo texts are found and taken out; what is left is the answer and the template's own words. For other
    tasks the last long paragraph stands for the criterion and the rest for the answer.
    """
    criterion = next((d for d, _ in _criteria() if d in prompt), "")
    task = next((t for text, t in _by_text().items() if text in prompt), None)
    if not criterion or task is None:
        paragraphs = [p for p in re.split(r"\n\s*\n", prompt) if len(p.split()) > 4]
        criterion = paragraphs[-1] if paragraphs else prompt
        return criterion, prompt.replace(criterion, "")
    rest = prompt.replace(task.user_message, "", 1).replace(task.reference_answer, "", 1)
    return criterion, rest.replace(criterion, "")


def _judge(api: DemoAPI, prompt: str) -> ModelOutput:
    criterion, rest = _question(prompt)
    if any(line.rstrip().endswith(LEFT_OUT) for line in rest.splitlines()):
        return _output("judge", prompt, "A part of the answer is left out, so it cannot be judged.")
    wanted = stems(criterion)
    found = wanted & stems(rest)
    met = len(found) >= THRESHOLD * len(wanted)
    words = f"{len(found)} of {len(wanted)} content words of the criterion stand in the answer."
    return _output("judge", prompt, f"{words}\n{'true' if met else 'false'}")


SCRIPTS = {"strong": _strong, "weak": _weak, "faulty": _faulty, "judge": _judge}
