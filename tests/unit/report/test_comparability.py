"""Every difference from the reference settings is said, and nothing else is."""

from typing import Any

import pytest

from pipeline.events import DataRecord, PromptRecord
from pipeline.report.comparability import differences, same_model
from pipeline.settings import SETTINGS
from pipeline.spec import JUDGE_DEFAULTS, REFERENCE_JUDGE, SOLVER_DEFAULTS, ModelSpec, RunSpec

PUBLISHED = PromptRecord(version="v1", source="published", digest="d")
OWN = PromptRecord(version="v1", source="own", digest="d")
HUB = DataRecord(kind="hub", name="OUP/l2-bench", available=1000)
DEMO = DataRecord(kind="demo", name="demo tasks", available=63)


def spec(**changes: Any) -> RunSpec:
    base: dict[str, Any] = {"source": "hub", "solver": ModelSpec(model="a/b", config=SOLVER_DEFAULTS)}
    return RunSpec(**(base | changes))


def said(
    chosen: int = 1000, prompt: PromptRecord = PUBLISHED, data: DataRecord = HUB, available: int = 1000, **changes: Any
) -> tuple[str, ...]:
    return differences(spec(**changes), chosen, available, prompt, data)


def solver(**config: Any) -> ModelSpec:
    return ModelSpec(model="a/b", config=SOLVER_DEFAULTS | config)


def judge(model: str = REFERENCE_JUDGE, **config: Any) -> ModelSpec:
    return ModelSpec(model=model, config=JUDGE_DEFAULTS | config)


def test_the_reference_settings_have_no_difference() -> None:
    assert said() == ()


CHANGES: dict[str, tuple[dict[str, Any], int, str]] = {
    "judge.model": ({"judge": judge("openai/gpt-5.4")}, 1000, "another judge: openai/gpt-5.4"),
    "competency": ({"competency": ("01. Planning",)}, 83, "subset by competency: 01. Planning"),
    "subcompetency": ({"subcompetency": ("01a",)}, 40, "subset by sub-competency: 01a"),
    "context": ({"context": (("level", "A2"),)}, 100, "subset by context: level = A2"),
    "task_ids": ({"task_ids": ("3", "7")}, 2, "subset by task: 3, 7"),
    "sample_limit": ({"sample_limit": 20}, 20, "first 20 of 1,000 tasks"),
    "epochs": ({"epochs": 3}, 1000, "3 epochs"),
    "solver.temperature": ({"solver": solver(temperature=0.7)}, 1000, "solver temperature 0.7"),
    "solver.max_tokens": ({"solver": solver(max_tokens=8192)}, 1000, "solver output limit 8,192 tokens"),
    "judge.reasoning_tokens": ({"judge": judge(reasoning_tokens=2048)}, 1000, "judge reasoning budget 2,048 tokens"),
    "judge.temperature": ({"judge": judge(reasoning_tokens=0, temperature=0.0)}, 1000, "judge temperature 0"),
    "prompt_version": ({"prompt_version": "v2"}, 1000, "judge prompt v2"),
    "prompt_source": ({"prompt_source": "own"}, 1000, "prompt text is ours, not the reference's"),
    "verdict_retries": ({"verdict_retries": 2}, 1000, "unreadable verdicts asked for again up to 2 times"),
    "verdict_parser": ({"verdict_parser": "lenient"}, 1000, "lenient verdict parser"),
    "allow_missing_resources": ({"allow_missing_resources": True}, 1000, "missing resource files were allowed"),
}


def test_every_compared_setting_is_tried_here() -> None:
    assert {row.name for row in SETTINGS if row.compared} == set(CHANGES)


@pytest.mark.parametrize("name", sorted(CHANGES))
def test_every_compared_setting_changes_the_line(name: str) -> None:
    changes, chosen, sentence = CHANGES[name]
    assert sentence in said(chosen, **changes)


@pytest.mark.parametrize("changes", [
    {"max_connections": 50}, {"api_retries": 0}, {"max_cost": 1.0}, {"seed": 4}, {"solver": solver(temperature=0)},
    {"solver": solver(top_p=None)}, {"prompt_revision": "abc"}, {"sample_limit": 1000},
])
def test_settings_that_change_no_measurement_are_not_said(changes: dict[str, Any]) -> None:
    assert said(**changes) == ()


@pytest.mark.parametrize("sentence, more", [
    ("stratified sample of 20 of 1,000 tasks, seed 0", {"chosen": 20, "sample_limit": 20, "sampling": "stratified"}),
    ("20 of 1,000 tasks, the first of the subset", {"chosen": 20, "sample_limit": 20, "competency": ("01. X",)}),
    ("83 of 1,000 tasks", {"chosen": 83, "competency": ("01. X",)}),
    ("subset by task: 5 tasks chosen by id", {"chosen": 5, "task_ids": tuple("12345")}),
    ("demo tasks", {"data": DEMO, "chosen": 63, "available": 63}),
    ("tasks from a local file", {"data": DataRecord(kind="local", name="mine.csv")}),
    ("tasks from another data set: me/mine", {"data": DataRecord(kind="hub", name="me/mine")}),
    ("prompt text is ours, not the reference's", {"prompt": OWN}),
    ("solver temperature not set", {"solver": ModelSpec(model="a/b", config={"max_tokens": 4096})}),
    ("judge without reasoning", {"judge": judge(reasoning_tokens=0)}),
    ("judge without a reasoning budget", {"judge": ModelSpec(model=REFERENCE_JUDGE)}),
    ("solver top_p 0.9", {"solver": solver(top_p=0.9)}),
    ("solver seed 0", {"solver": solver(seed=0)}),
    ("judge max_tokens 200", {"judge": judge(max_tokens=200)}),
    ("solver reasoning_effort high", {"solver": solver(reasoning_effort="high")}),
])
def test_each_kind_of_difference_has_its_sentence(sentence: str, more: dict[str, Any]) -> None:
    assert sentence in said(**more)


def test_values_that_may_hold_a_secret_are_not_printed() -> None:
    lines = said(solver=solver(extra_headers={"X-Title": "canary-1"}, extra_body={"k": "canary-2"}))
    assert "solver extra_headers is set" in lines and "canary" not in " ".join(lines)


def test_a_judge_at_another_address_is_said_without_the_address() -> None:
    lines = said(judge=ModelSpec(model=REFERENCE_JUDGE, config=JUDGE_DEFAULTS, base_url="http://10.0.0.1:8000/v1"))
    assert any("address of its own" in line for line in lines) and "10.0.0.1" not in " ".join(lines)


@pytest.mark.parametrize("name", [
    "openrouter/anthropic/claude-sonnet-4.6", "anthropic/claude-sonnet-4-6", "anthropic/claude-sonnet-4-6-20260217",
    "bedrock/eu.anthropic.claude-sonnet-4-6", "bedrock/global.anthropic.claude-sonnet-4-6", "bedrock/anthropic.claude-sonnet-4-6",
    "bedrock/us.anthropic.claude-sonnet-4-6-20260217-v1:0", "anthropic/vertex/claude-sonnet-4-6@20260217",
    "openai-api/openrouter/anthropic/claude-sonnet-4.6", "openrouter/anthropic/claude-sonnet-4.6:nitro",
])
def test_the_same_judge_by_another_route_is_named_so(name: str) -> None:
    assert said(judge=judge(name)) == (f"judge through another provider: {name}",)


@pytest.mark.parametrize("name", [
    "openrouter/anthropic/claude-sonnet-4.5", "anthropic/claude-opus-4-6", "anthropic/claude-sonnet-4-60", "demo/judge",
    "openai-api/mine/claude-sonnet-4-6", "anthropic/claude-sonnet-5", "openrouter/anthropic/claude-sonnet-4.6:online",
    "bedrock/us.amazon.claude-sonnet-4-6", "",
])
def test_another_model_is_another_judge(name: str) -> None:
    assert f"another judge: {name}" in said(judge=judge(name))
    assert not same_model(name)
