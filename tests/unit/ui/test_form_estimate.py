"""What stands beside the button: the estimate, the limit by its rule, and that an unknown price is never $0."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from pipeline.data.records import TaskSet
from pipeline.errors import UserError
from pipeline.plan import prepare
from pipeline.spec import ModelSpec, Places, RunSpec
from ui.estimate_panel import Worked, panel, top, work_out
from ui.sources import Sources
from ui.words import LANGUAGES, words

W = words()


@pytest.fixture(scope="module")
def tasks() -> TaskSet:
    """The demo tasks."""
    found = Sources().offer("demo", W).tasks
    assert found is not None
    return found


def spec(
    solver: str = "openrouter/openai/gpt-5.4-mini", judge: str = "openrouter/anthropic/claude-sonnet-4.6", **more: Any
) -> RunSpec:
    """A run of 20 balanced tasks."""
    return RunSpec(
        **{
            "sample_limit": 20,
            "sampling": "stratified",
            "solver": ModelSpec(model=solver),
            "judge": ModelSpec(model=judge),
            **more,
        }
    )


def worked(tasks: TaskSet, given: RunSpec, automatic: bool = True) -> Worked:
    """The run worked out."""
    return asyncio.run(work_out(given, tasks, {}, automatic))


def test_the_limit_is_a_dollar_or_a_quarter_more_than_expected_whichever_is_less(tasks: TaskSet) -> None:
    small = worked(tasks, spec(sample_limit=2, judge="openrouter/openai/gpt-5.4-mini"))
    assert small.estimate.total is not None and small.limit == pytest.approx(
        min(1.0, 1.25 * small.estimate.total.expected), abs=1e-4
    )
    large = worked(tasks, spec(sample_limit=0))
    assert large.limit == 1.0 and "stop early" in top(large, W)


def test_a_typed_limit_is_kept_and_none_keeps_run_off(tasks: TaskSet) -> None:
    assert worked(tasks, spec(max_cost=7.5), automatic=False).limit == 7.5
    assert worked(tasks, spec(), automatic=False).why_not(W) == W["why_no_cap"]


def test_an_unknown_price_is_never_shown_as_zero_and_asks_for_another_limit(tasks: TaskSet) -> None:
    # https://github.com/ruvnet/agentic-flow/issues/234: a model without a price was shown as free.
    found = worked(tasks, spec(solver="openrouter/nobody/never-heard-of-it"))
    shown = top(found, W) + panel(found, W)
    assert W["est_unknown"] in shown and "<b>$0" not in shown and f"<b>{W['est_unknown']}</b>" in shown
    assert found.why_not(W) == W["why_no_counts"]
    assert worked(tasks, spec(solver="openrouter/nobody/never-heard-of-it", max_calls=400)).why_not(W) == ""


def test_scripted_models_need_no_limit(tasks: TaskSet) -> None:
    found = worked(tasks, spec("demo/strong", "demo/judge"))
    assert found.limit is None and found.why_not(W) == "" and W["est_free"] in top(found, W)


@pytest.mark.parametrize("lang", sorted(LANGUAGES))
def test_the_panel_says_all_that_was_promised(tasks: TaskSet, lang: str) -> None:
    w = words(lang)
    found = worked(tasks, spec())
    shown = top(found, w) + panel(found, w)
    for key in (
        "est_low",
        "est_expected",
        "est_high",
        "est_solver",
        "est_judge",
        "est_total",
        "est_calls",
        "est_tokens_in",
        "est_tokens_out",
        "est_time",
        "est_differences",
        "est_basis",
    ):
        assert w[key] in shown
    assert found.estimate.solver.price_checked in shown and f"{found.estimate.judge.calls.expected:,.0f}" in shown
    assert "±" in shown and "{" not in shown


def test_text_of_a_model_or_a_filter_is_shown_as_text(tasks: TaskSet) -> None:
    # https://github.com/Yamato-Security/senrigan/pull/54: text of a model ran as HTML in a report.
    found = worked(tasks, spec(solver="openrouter/x/<img/src=x>"))
    shown = top(found, W) + panel(found, W)
    assert "<img" not in shown and "&lt;img" in shown


def test_a_filter_that_leaves_nothing_is_a_sentence(tasks: TaskSet) -> None:
    with pytest.raises(UserError):
        worked(tasks, spec(competency=("No such competency",)))


def test_an_estimate_takes_well_under_300_ms(tasks: TaskSet) -> None:
    worked(tasks, spec())
    begun = time.process_time()
    for limit in (5, 10, 20, 40, 63):
        worked(tasks, spec(sample_limit=limit))
    assert (time.process_time() - begun) / 5 < 0.3


def test_the_page_and_the_command_line_give_the_same_numbers_and_differences(tasks: TaskSet, tmp_path: Path) -> None:
    for given in (
        spec(max_cost=2.0),
        spec(max_cost=2.0, competency=(tasks.tasks[0].competency,), sample_limit=0),
        spec(max_calls=500, prompt_version="v2", epochs=2, verdict_retries=1),
        spec(max_cost=1.0, judge="openrouter/openai/gpt-oss-120b", sampling="first", sample_limit=3),
    ):
        plan = prepare(given, Places(tmp_path))
        shown = worked(tasks, given, automatic=False)
        assert shown.estimate == plan.estimate and shown.differences == plan.differences


def test_a_limit_that_lets_no_task_start_keeps_run_off_and_says_how_much_is_needed(tasks: TaskSet) -> None:
    found = worked(tasks, spec(max_cost=0.01), automatic=False)
    assert "nothing would start" in found.why_not(W) and "$0.0" in found.why_not(W)
    assert worked(tasks, spec(max_cost=1.0), automatic=False).why_not(W) == ""


def test_the_limit_by_the_rule_lets_a_run_of_one_task_start_and_is_never_rounded_to_nothing(tasks: TaskSet) -> None:
    sonnet = "openrouter/anthropic/claude-sonnet-4.6"
    assert worked(tasks, spec(sonnet, sonnet, sample_limit=1)).why_not(W) == ""
    tiny = {"tiny/a": {"id": "tiny/a", "pricing": {"prompt": "0.00000000001", "completion": "0.00000000001"}}}
    given = spec("openrouter/tiny/a", "openrouter/tiny/a", sample_limit=1)
    found = asyncio.run(work_out(given, tasks, tiny, True))
    assert found.limit and found.estimate.total and found.limit == pytest.approx(1.25 * found.estimate.total.expected, rel=1e-3)
