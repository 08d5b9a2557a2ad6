"""Promises of the estimate: counts every call, never prints an unknown price as $0, and its high figure holds."""

import random
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipeline.cost.estimate import Estimate, RoleEstimate, default_cap, estimate, estimate_summary_lines, seen_from_view
from pipeline.cost.estimate_words import cautions
from pipeline.cost.prices import cost, price_for
from pipeline.cost.seen import RoleSeen, Seen
from pipeline.cost.usage import Usage
from pipeline.report.view import RunView, Spend
from pipeline.spec import ModelSpec, RunSpec
from tests.unit.cost.made import price, spec, tasks

AT = datetime(2026, 11, 20, 12, tzinfo=UTC)
TASKS = tasks(20)


def made(run: RunSpec, chosen: object = None, **more: object) -> Estimate:
    prices = {"solver": price_for(run.solver.model, AT), "judge": price_for(run.judge.model, AT)}
    return estimate(TASKS if chosen is None else chosen, run, prices, **more)  # type: ignore[arg-type]


def test_one_judge_call_for_each_criterion_and_epoch() -> None:
    found = made(spec(epochs=3))
    assert (found.solver.calls.expected, found.judge.calls.expected) == (60, 900)
    assert found.judge.calls.high == 900 and made(spec(verdict_retries=2)).judge.calls.high == 900
    assert found.total_calls.expected == 960


def test_low_expected_and_high_are_in_order_and_the_roles_add_up() -> None:
    found = made(spec(verdict_retries=1))
    figures = [found.total]
    for r in (found.solver, found.judge):
        figures += [r.calls, r.input_tokens, r.output_tokens, r.cost, r.seconds_per_call]
    for f in (*figures, found.total_calls, found.total_tokens, found.seconds):
        assert f is not None and 0 <= f.low <= f.expected <= f.high
    assert found.total is not None and found.solver.cost is not None and found.judge.cost is not None
    assert found.total.expected == pytest.approx(found.solver.cost.expected + found.judge.cost.expected)


def test_the_full_benchmark_costs_what_its_shape_says() -> None:
    # About 100 to 300 US dollars of judging for an epoch of 1,000 tasks with Claude Sonnet 4.6 at 3 and 15 dollars.
    found = made(spec(), tasks(1_000, criteria=13)).judge
    assert found.cost is not None and 100 < found.cost.expected < 300
    assert 27e6 < found.input_tokens.expected < 53e6 and 1.6e6 < found.output_tokens.expected < 9e6


# https://github.com/pydantic/pydantic-ai/pull/2684 : the cost of an unlisted model was given as 0
def test_an_unknown_price_is_said_and_never_printed_as_zero() -> None:
    for run in (spec("foo/gpt-4o-mini"), spec(judge="foo/judge"), spec("foo/a", "foo/b")):
        found = made(run)
        assert found.total is None and found.cost_for_5 is None and default_cap(found) is None
        text = "\n".join(estimate_summary_lines(found))
        assert "unknown" in text and "cap in calls or tokens" in text
        unpriced = [line for line in text.splitlines() if line.startswith(("Total", "Solver  ", "Judge  ")) and "unknown" in line]
        assert unpriced and not any("$0" in line for line in unpriced)
        assert found.total_tokens.expected > 0 and found.unknown


def test_free_is_said_as_free_and_not_as_a_price_that_is_unknown() -> None:
    found = made(spec("demo/strong", "demo/judge"))
    assert found.solver.free and found.total is not None and found.total.high == 0
    text = "\n".join(estimate_summary_lines(found))
    assert "free" in text and "unknown" not in text and default_cap(found) is None


# https://github.com/Aider-AI/aider/issues/3936 : a free key met its daily limit after a few calls
def test_calls_against_the_free_tiers_limit_are_said_before_the_start() -> None:
    free = "openrouter/google/gemma-4-31b-it:free"
    found = made(spec(free, free), tasks(4))
    assert "64 calls" in found.free_note and "50 a day" in found.free_note
    assert found.free_note in estimate_summary_lines(found)
    assert made(spec(free, free), tasks(3)).free_note == ""  # 48 calls
    assert made(spec("openrouter/openai/gpt-4o-mini"), tasks(50)).free_note == ""


def test_source_and_check_date_of_each_price_stand_with_it() -> None:
    found = made(spec("openrouter/openai/gpt-4o-mini", "bedrock/us.anthropic.claude-sonnet-4-6"))
    assert (found.solver.price_input, found.judge.price_input, found.judge.price_output) == ("0.15", "3.3", "16.5")
    for role in (found.solver, found.judge):
        assert role.price_source and datetime.fromisoformat(role.price_checked)
        assert any(role.price_checked in line and role.price_source in line for line in estimate_summary_lines(found))


def test_what_it_rests_on_is_said() -> None:
    text = " ".join(made(spec(verdict_retries=2)).rests_on)
    assert "±15%" in text and "744 words" in text and "does not tell the length" in text and "2 more judge calls" in text


def test_the_answer_limit_bounds_the_output() -> None:
    short = RunSpec(solver=ModelSpec(model="openai/o3-mini", config={"max_tokens": 500}), judge=spec().judge)
    found = made(short).solver.output_tokens
    assert found.high <= 500 * len(TASKS)
    thoughtful, quick = made(spec("openai/o3-mini")).solver, made(spec("openai/gpt-4o-mini")).solver
    assert thoughtful.output_tokens.expected > quick.output_tokens.expected


def test_the_judges_reasoning_stays_within_its_budget() -> None:
    run = spec()
    small = run.model_copy(update={"judge": ModelSpec(model=run.judge.model, config={"reasoning_tokens": 100})})
    none = run.model_copy(update={"judge": ModelSpec(model=run.judge.model)})
    calls = made(run).judge.calls.expected
    assert made(small).judge.output_tokens.high <= 120 * calls
    assert made(none).judge.output_tokens.high <= 20 * calls


def test_prompt_versions_differ_by_reference_and_critique() -> None:
    by = {v: made(spec(prompt_version=v)).judge for v in ("v1", "v2", "v3", "v4")}
    assert by["v3"].input_tokens.expected < by["v1"].input_tokens.expected  # v3 and v4 show no reference answer
    assert by["v4"].input_tokens.expected < by["v2"].input_tokens.expected
    assert by["v1"].output_tokens.expected < by["v2"].output_tokens.expected == by["v4"].output_tokens.expected
    long = made(spec(), template="{reference_answer} " + "word " * 2_000).judge.input_tokens.expected
    assert long > by["v1"].input_tokens.expected + 1_500 * by["v1"].calls.expected


def test_newer_claude_counts_more_tokens_for_the_same_text() -> None:
    older = made(spec("anthropic/claude-opus-4-5")).solver.input_tokens.expected
    assert 1.3 < made(spec("anthropic/claude-opus-4-7")).solver.input_tokens.expected / older < 1.4


def test_interval_and_tasks_for_five_and_three_points() -> None:
    found = made(spec(), available=1_000)
    assert found.half_width is not None and 0.08 < found.half_width < 0.12
    assert found.tasks_for_5 is not None and found.tasks_for_3 is not None and 60 < found.tasks_for_5 < found.tasks_for_3 < 250
    assert found.total is not None and found.cost_for_5 == pytest.approx(found.total.expected / 20 * found.tasks_for_5)
    assert made(spec(), tasks(1)).half_width is None
    assert "one task: no interval" in "\n".join(estimate_summary_lines(made(spec(), tasks(1))))


def test_more_connections_take_less_time() -> None:
    slow, fast = made(spec(), connections=1), made(spec(), connections=50)
    assert slow.seconds.expected > 10 * fast.seconds.expected > 0
    assert fast.connections == 50


def test_the_default_cap_is_a_dollar_or_the_expected_figure_and_a_quarter() -> None:
    dear, cheap = made(spec()), made(spec(judge="openai/gpt-4o-mini"), tasks(2))
    assert default_cap(dear) == 1.0
    assert cheap.total is not None and default_cap(cheap) == pytest.approx(cheap.total.expected * 1.25)


def test_an_estimate_survives_json() -> None:
    found = made(spec())
    assert Estimate.model_validate(found.model_dump(mode="json")) == found
    assert found.model_dump(mode="json")["total"]["expected"] > 0


class TestSeen:
    """The run's own calls refine the estimate."""

    def test_it_moves_to_what_was_seen_and_narrows(self) -> None:
        first = made(spec())
        seen = Seen(RoleSeen(50, 700, 2_000, 0.0013, 9.0), RoleSeen(750, 3_000, 500, 0.0165, 6.0), 50)
        then = made(spec(), seen=seen)
        assert then.judge.input_tokens.expected / then.judge.calls.expected == pytest.approx(3_000, rel=0.05)
        assert then.solver.output_tokens.expected / 20 == pytest.approx(2_000, rel=0.1)
        assert then.judge.cost is not None and then.judge.cost.expected == pytest.approx(300 * 0.0165, rel=0.05)
        assert self.width(then.judge) < self.width(first.judge)
        assert then.seen_tasks == 50 and any("750 calls" in line for line in then.rests_on)

    def width(self, role: RoleEstimate) -> float:
        assert role.cost is not None
        return (role.cost.high - role.cost.low) / role.cost.expected

    def test_reported_costs_price_a_model_without_a_price(self) -> None:
        found = made(spec("openrouter/x/y"), seen=Seen(RoleSeen(5, 600, 1_000, 0.01), None, 5))
        assert found.solver.cost is not None and found.solver.cost.expected == pytest.approx(0.2, rel=0.01)

    def test_the_folded_view_gives_means_of_answered_calls_only(self) -> None:
        view = RunView()
        view.spend["solver"] = Spend(calls=8, faults=2, input=3_000, output=6_000, cost=0.06, unknown=1, seconds=80.0)
        seen = seen_from_view(view)
        assert seen.judge is None and seen.solver is not None
        assert (seen.solver.n, seen.solver.input_mean, seen.solver.output_mean) == (5, 600, 1_200)
        assert seen.solver.cost_mean == pytest.approx(0.01) and seen.solver.seconds_mean == 10.0
        view.spend["solver"].priced = False
        unpriced = seen_from_view(view).solver
        assert unpriced is not None and unpriced.cost_mean is None


# https://github.com/civitai/civitai/issues/3815 : the bill was 17 % above the estimate, time after time
@pytest.mark.parametrize(("solver", "version"), [
    ("openai/gpt-4o-mini", "v1"), ("openai/o3-mini", "v1"), ("anthropic/claude-opus-4-7", "v2")])
def test_the_high_figure_holds_in_95_of_100_simulated_runs(solver: str, version: str) -> None:
    """Each run has a model of its own wordiness, and each call a length of its own, drawn as the priors' ranges say."""
    run, rng, held, runs = spec(solver, prompt_version=version), random.Random(7), 0, 200
    found = made(run)
    money = {"solver": price_for(run.solver.model, AT), "judge": price_for(run.judge.model, AT)}
    bare = judge_frame(found, run)
    assert found.total is not None
    for _ in range(runs):
        counting = rng.gauss(1.0, 0.15 / 1.96)  # true tokens over estimated ones
        wordy, thoughtful, judging = (rng.lognormvariate(0, s) for s in (0.57, 0.94, 0.54))
        bill = 0.0
        for _ in TASKS:
            text = 1_250 * wordy * rng.lognormvariate(0, 0.3)
            hidden = 1_340 * thoughtful * rng.lognormvariate(0, 0.4) if "o3" in solver else 0.0
            family = 1.49 if "opus-4-7" in solver else 1.0
            out = min(4_096, text * family + hidden)
            bill += charged(money["solver"], found.solver.input_tokens.expected / 20 * counting, out)
            frame = bare * counting + 1.106 * min(text, 4_096)
            for _ in range(15):
                thought = min(1_024, 300 * judging * rng.lognormvariate(0, 0.4))
                bill += charged(money["judge"], frame, thought + (4 if version == "v1" else rng.uniform(60, 180)))
        held += bill <= found.total.high
    assert held >= 0.95 * runs


def judge_frame(found: Estimate, run: RunSpec) -> float:
    """Estimated tokens of one judge prompt without the answer."""
    bare = run.model_copy(update={"solver": run.solver.model_copy(update={"config": {"max_tokens": 1}})})
    return made(bare).judge.input_tokens.expected / found.judge.calls.expected


def charged(money: object, sent: float, out: float) -> float:
    found = cost(Usage(round(sent), round(out)), money)  # type: ignore[arg-type]
    assert found is not None
    return found


def test_price_by_tokens_is_the_same_rule_as_the_charge() -> None:
    found = estimate(TASKS, spec(), {"solver": price("1", "0"), "judge": price("0", "1")})
    assert found.solver.cost is not None and found.judge.cost is not None
    assert found.solver.cost.expected == pytest.approx(found.solver.input_tokens.expected / 1e6, rel=1e-3)
    assert found.judge.cost.expected == pytest.approx(found.judge.output_tokens.expected / 1e6, rel=1e-3)


def test_the_web_process_can_estimate_without_loading_inspect() -> None:
    code = ("import sys, pipeline.cost.estimate, pipeline.cost.meter, pipeline.cost.bounds; "
            "sys.exit('inspect_ai' in sys.modules or 'gradio' in sys.modules)")
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=Path(__file__).parents[3]).returncode == 0


@pytest.mark.parametrize(("role", "most", "budget", "left"), [("solver", 4096, 4096, "0"), ("solver", 4096, 3996, "100"), ("judge", 1024, 1024, "0"),
                                                              ("judge", 1124, 1024, "100"), ("judge", 500, 1024, "0")])
def test_a_reasoning_budget_that_leaves_no_room_for_the_text_is_said_before_the_run(role, most, budget, left):
    # R12: no word, and every answer came back empty or cut
    spec = RunSpec(**{"solver": ModelSpec(model="openai/x"), role: ModelSpec(model="openai/x", config={"max_tokens": most, "reasoning_tokens": budget})})
    (said,) = cautions(spec)
    assert said.startswith(f"The {role}'s reasoning") and f"{left} are left" in said


@pytest.mark.parametrize("config", [{"max_tokens": 4096}, {"reasoning_tokens": 1024}, {"max_tokens": 4096, "reasoning_tokens": 0}, {"max_tokens": 4096, "reasoning_tokens": 1024}])
def test_a_limit_with_room_for_the_text_is_not_warned_of(config):
    model = ModelSpec(model="openai/x", config=config)
    assert cautions(RunSpec(solver=model, judge=model)) == ()
