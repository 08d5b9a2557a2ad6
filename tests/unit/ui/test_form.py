"""From the form's values to a run: every setting has its place, nothing is guessed, every refusal is a sentence."""

from typing import Any

import pytest

from pipeline.errors import UserError
from pipeline.settings import SETTINGS
from pipeline.spec import JUDGE_DEFAULTS, SOLVER_DEFAULTS
from ui.form import ADVANCED, BASIC, FIELDS, Keys, context_pair, context_value, credentials_of, spec_of, why_not
from ui.words import words

W = words()


def values(**more: Any) -> dict[str, Any]:
    """The form as a first visitor finds it, with changes."""
    found: dict[str, Any] = {
        "source": "demo",
        "solver_provider": "demo",
        "solver_model": "strong",
        "judge_provider": "demo",
        "judge_model": "judge",
        "competency": [],
        "subcompetency": [],
        "context": [],
        "sample_limit": 20,
        "sampling": "stratified",
        "seed": 0,
        "max_cost": "",
        "cap_auto": True,
    }
    for row in ADVANCED:
        found[row.name] = ", ".join(row.default) if row.many else "" if row.default is None else row.default
    return {**found, **{name.replace("__", "."): value for name, value in more.items()}}


def test_every_form_row_of_the_settings_table_has_a_place_on_the_form() -> None:
    rows = {s.name for s in SETTINGS if "form" in s.where}
    placed = {s.name for s in ADVANCED} | (set(BASIC) & rows) | {"solver.model", "judge.model"}
    assert placed == rows
    assert set(values()) == set(FIELDS)


def test_every_setting_has_its_label_and_the_tables_own_help() -> None:
    for row in ADVANCED:
        name = row.name.replace(".", "_")
        assert W[f"set_{name}"] and W[f"help_{name}"].startswith(row.help.rstrip("."))


def test_an_untouched_form_is_the_reference_settings_on_a_balanced_sample_of_20() -> None:
    spec = spec_of(values(), Keys())
    assert spec.solver.model == "demo/strong" and spec.judge.model == "demo/judge"
    assert spec.solver.config == SOLVER_DEFAULTS and spec.judge.config == JUDGE_DEFAULTS
    assert (spec.sample_limit, spec.sampling, spec.epochs, spec.max_cost) == (20, "stratified", 1, None)


def test_a_setting_given_as_zero_is_set_and_an_empty_one_is_not_sent() -> None:
    # https://github.com/Kiln-AI/Kiln/pull/1479: a temperature of 0 was dropped as if it had not been given.
    spec = spec_of(values(judge__temperature="0", judge__reasoning_tokens=0, solver__max_tokens=None), Keys())
    assert spec.judge.config == {"temperature": 0.0, "reasoning_tokens": 0}
    assert spec.solver.config == {"temperature": 0.0}


def test_reasoning_budget_and_temperature_of_the_judge_exclude_each_other() -> None:
    # https://github.com/danny-avila/LibreChat/issues/11949: thinking together with a temperature is refused by the provider.
    with pytest.raises(UserError, match="reasoning budget to 0"):
        spec_of(values(judge__temperature="0"), Keys())


@pytest.mark.parametrize(
    "model", ["anthropic/claude-sonnet-4.6", "deepseek/deepseek-r1:free", "org/model:nitro", "a.b-c_d/e:f"]
)
def test_a_models_id_is_kept_exactly(model: str) -> None:
    # https://github.com/UKGovernmentBEIS/inspect_ai/issues/944: a name with a slash or colon was not recognised again.
    spec = spec_of(
        values(solver_provider="openrouter", solver_model=model), Keys(solver={"api_key": "sk-or-v1-abcdefgh"})
    )
    assert spec.solver.model == f"openrouter/{model}" and spec.solver.base_url is None


@pytest.mark.parametrize(
    ("text", "amount"),
    [("0.5", 0.5), ("0,5", 0.5), ("$2", 2.0), (" 1 ", 1.0), ("", None), (None, None), (3, 3.0), ("0", 0.0)],
)
def test_an_amount_is_read_as_people_write_it(text: Any, amount: float | None) -> None:
    assert spec_of(values(max_cost=text), Keys()).max_cost == amount


@pytest.mark.parametrize(
    "more",
    [
        {"max_cost": "one"},
        {"max_cost": "-1"},
        {"max_cost": "nan"},
        {"max_cost": "inf"},
        {"seed": 1.5},
        {"sample_limit": -3},
        {"epochs": "x"},
        {"max_calls": "1.5"},
        {"max_cost": "1.000,50"},
    ],
)
def test_a_value_that_is_no_number_is_refused_with_a_sentence(more: dict[str, Any]) -> None:
    with pytest.raises(UserError):
        spec_of(values(**more), Keys())


def test_task_ids_are_parted_at_commas_and_lines() -> None:
    assert spec_of(values(task_ids=" 101, 102\n103 ,"), Keys()).task_ids == ("101", "102", "103")


@pytest.mark.parametrize(
    "pair", [("level", "A2"), ("first language", "Ge'ez = \"Ge'ez\""), ("a=b", "c|d"), ("网络", "值")]
)
def test_a_context_variable_travels_whole(pair: tuple[str, str]) -> None:
    assert context_pair(context_value(*pair)) == pair
    assert spec_of(values(context=[context_value(*pair)]), Keys()).context == (pair,)


def test_a_context_variable_of_a_link_is_read_and_nonsense_refused() -> None:
    assert context_pair("level=A2") == ("level", "A2")
    with pytest.raises(UserError):
        context_pair("nothing")


def test_run_is_off_with_the_first_reason() -> None:
    assert why_not(values(), Keys(), W) == ""
    assert why_not(values(solver_model=" "), Keys(), W) == W["why_no_model"]
    assert why_not(values(judge_model=None), Keys(), W) == W["why_no_judge"]
    needs = values(solver_provider="openai", solver_model="gpt-5.4")
    assert why_not(needs, Keys(), W) == "Enter a key for OpenAI."
    assert why_not(needs, Keys(solver={"api_key": "sk-abcdefgh"}), W) == ""


def test_no_secret_is_in_a_spec_or_in_what_is_printed() -> None:
    keys = Keys(solver={"api_key": "sk-canary-0123456789"}, judge={"api_key": "sk-canary-9876543210"})
    given = values(solver_provider="openai", solver_model="gpt-5.4", judge_provider="openai", judge_model="gpt-5.4")
    assert "canary" not in spec_of(given, keys).canonical() and "canary" not in repr(keys)
    held = credentials_of(given, keys, "hf_canary0123")
    assert held.solver.fields == {"api_key": "sk-canary-0123456789"} and held.judge.fields == {
        "api_key": "sk-canary-9876543210"
    }
    assert "canary" not in repr(held)
