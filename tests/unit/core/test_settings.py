"""One table of settings: RunSpec, command line, README and comparability are held to it."""

import re
from pathlib import Path

import pytest
import yaml

pytest.importorskip("inspect_ai")

from inspect_ai.model import GenerateConfig

from pipeline.flags import build_parser, spec_of
from pipeline.readme import README, with_table
from pipeline.report.comparability import differences
from pipeline.settings import SETTINGS
from pipeline.spec import ModelSpec, RunSpec

ROOT = Path(__file__).resolve().parents[3]
ENVIRONMENT = ["TASKS_REPO", "DEFAULT_JUDGE_MODEL", "DEFAULT_JUDGE_PROMPT_VERSION", "DEFAULT_JUDGE_REASONING_TOKENS",
               "DEFAULT_JUDGE_MAX_RETRIES"]


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch):
    for name in ENVIRONMENT:
        monkeypatch.delenv(name, raising=False)


def spec(*flags: str) -> RunSpec:
    return spec_of(build_parser().parse_args(["--model", "openai/gpt-5.4", *flags]))


def test_every_setting_is_a_field_of_the_spec_and_every_field_a_setting():
    fields = set(RunSpec.model_fields) - {"solver", "judge", "repo", "data_digest", "pilot", "grown_from"}
    assert {s.name for s in SETTINGS if "." not in s.name} == fields


def test_defaults_of_the_table_are_those_of_an_empty_command_line():
    empty = spec()
    for row in SETTINGS:
        role, dot, name = row.name.partition(".")
        value = getattr(empty, row.name) if not dot else (
            getattr(empty, role).model if name == "model" else getattr(empty, role).config.get(name))
        if row.name != "solver.model":
            assert value == row.default, row.name


def test_every_field_of_generate_config_is_a_flag_for_both_roles():
    text = build_parser().format_help()
    for name in GenerateConfig.model_fields:
        for prefix in ("solver", "scorer"):
            assert f"--{prefix}-{name.replace('_', '-')}" in text, name


def test_a_setting_given_as_zero_is_a_setting():
    # https://github.com/Kiln-AI/Kiln/pull/1479: 0.0 was dropped as false
    config = spec("--scorer-temperature", "0.0").judge.config
    assert config["temperature"] == 0.0 and "reasoning_tokens" not in config
    assert spec("--solver-seed", "0", "--solver-temperature", "0").solver.config["seed"] == 0
    assert spec("--scorer-max-retries", "0").api_retries == 0


def test_a_scorer_flag_alone_keeps_the_reference_judge():
    assert spec("--scorer-max-tokens", "3000").judge.model == RunSpec.model_fields["judge"].default.model


def test_a_judges_budget_and_temperature_exclude_each_other_with_a_message():
    # https://github.com/danny-avila/LibreChat/issues/11949: thinking plus temperature is refused by the provider
    from pipeline.errors import UserError

    with pytest.raises(UserError, match="reasoning budget and a temperature"):
        spec("--scorer-temperature", "0", "--scorer-reasoning-tokens", "1024")
    assert spec("--scorer-temperature", "0", "--scorer-reasoning-tokens", "0").judge.config["reasoning_tokens"] == 0


def test_the_reference_pipelines_flags_and_variables_are_understood(monkeypatch):
    monkeypatch.setenv("DEFAULT_JUDGE_MODEL", "anthropic/claude-sonnet-4-6")
    monkeypatch.setenv("DEFAULT_JUDGE_PROMPT_VERSION", "v2")
    monkeypatch.setenv("DEFAULT_JUDGE_REASONING_TOKENS", "2048")
    monkeypatch.setenv("DEFAULT_JUDGE_MAX_RETRIES", "3")
    monkeypatch.setenv("TASKS_REPO", "me/tasks")
    found = spec("--log-dir", "logs/x", "--epochs", "2", "--sample-limit", "10", "--solver-max-tokens", "8192", "--solver-stop-seqs",
                 "A", "B", "--task-ids", "3", "5", "--continue-on-fail")
    assert (found.judge.model, found.prompt_version, found.verdict_retries, found.source, found.repo) == (
        "anthropic/claude-sonnet-4-6", "v2", 3, "hub", "me/tasks")
    assert found.judge.config["reasoning_tokens"] == 2048 and found.solver.config["stop_seqs"] == ["A", "B"]
    assert found.task_ids == ("3", "5") and found.sampling == "first" and found.epochs == 2


def test_context_and_competency_can_be_given_more_than_once():
    found = spec("--context", "level=A2", "--context", "setting=state school", "--competency", "01. A", "--competency", "02. B")
    assert found.context == (("level", "A2"), ("setting", "state school")) and found.competency == ("01. A", "02. B")


def test_equal_specs_have_equal_digests_and_the_judge_counts():
    # https://github.com/allenai/olmo-eval/pull/267: two judges wrote the same result file
    assert spec().digest == spec().digest != spec("--scorer-model", "openai/gpt-5.4").digest


def test_a_spec_that_never_grew_has_the_digest_it_had_before_runs_could_grow():
    made = RunSpec(source="demo", solver=ModelSpec(model="demo/strong"), sample_limit=5)
    assert made.digest == "e11988489f5a3e20691b199ea5bdf4be89941c98c7ca6eeb88671032a6d971d7"
    assert "grown_from" not in made.model_dump() and made.model_copy(update={"grown_from": "a" * 64}).digest != made.digest


def test_the_readme_holds_the_table_of_settings():
    text = README.read_text(encoding="utf-8")
    assert with_table(text) == text


def test_the_readme_names_every_variable_that_is_read_and_no_other():
    tests_own = {"L2BENCH_DEMO_DELAY", "L2BENCH_PROVIDER_HOSTS"}
    code = [p for top in ("pipeline", "runner", "ui") for p in (ROOT / top).rglob("*.py")] + [ROOT / "app.py"]
    names = re.compile(r"\bL2BENCH_[A-Z_]+\b")
    read = {name for p in code for name in names.findall(p.read_text(encoding="utf-8"))}
    assert set(names.findall(README.read_text(encoding="utf-8"))) == read - tests_own


def test_the_spaces_yaml_agrees_with_the_pins():
    head = yaml.safe_load(README.read_text(encoding="utf-8").split("---")[1])
    pins = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    assert head["sdk"] == "gradio" and head["app_file"] == "app.py" and (ROOT / "app.py").exists()
    assert re.search(rf"^gradio(\[.*\])?=={re.escape(str(head['sdk_version']))}\b", pins, re.M)
    assert head["python_version"] in ("3.11", "3.12", "3.13") and len(head["short_description"]) <= 60


def test_a_difference_is_listed_for_the_reference_judge_through_another_route():
    from pipeline.events import DataRecord, PromptRecord

    found = differences(spec("--scorer-model", "openrouter/anthropic/claude-sonnet-4.6"), 1000, 1000,
                        PromptRecord(version="v1", source="published", digest="x"), DataRecord(kind="hub", name="OUP/l2-bench", gated=True))
    assert any("another provider" in text for text in found) and not any("another judge" in text for text in found)
