"""The methods box's command: parsing it again gives the same run. Never starts one."""

import shlex

import pytest

from pipeline.report.command import LOCAL_FILES, command_line, not_repeated, repeating
from pipeline.spec import ModelSpec, RunSpec
from tests.made_runs import made_view

SOLVER = {"temperature": 0.0, "max_tokens": 4096}
JUDGE = {"reasoning_tokens": 1024}


def _spec(solver: dict | None = None, judge: dict | None = None, **fields) -> RunSpec:
    return RunSpec(solver=ModelSpec(model=fields.pop("model", "openai/gpt-x"), config=SOLVER | (solver or {})),
                   judge=ModelSpec(model=fields.pop("scorer", "bedrock/us.anthropic.claude-sonnet-4-6"),
                                   config=JUDGE if judge is None else judge), **fields)


SPECS = [
    _spec(),
    _spec(model="demo/strong", scorer="demo/judge"),
    _spec(model="demo/strong"),
    _spec(model="openrouter/anthropic/claude-sonnet-4.6", scorer="openai/o'brien \"x\" $HOME"),
    _spec(competency=("08. Giving feedback, in writing", "01. A"), context=(("level", "A2"), ("setting", "a=b | c")),
          task_ids=("3", "-7", "12"), sample_limit=20, sampling="stratified", seed=-3),
    _spec(solver={"temperature": 0.7, "max_tokens": 512, "top_p": 0.9, "logprobs": True, "parallel_tool_calls": False,
                  "stop_seqs": ["END", "a b"], "extra_body": {"a": [1, "$x"]}, "cache_prompt": True, "reasoning_effort": "low"}),
    _spec(judge={"reasoning_tokens": 0}),
    _spec(judge={"temperature": 0.0}),
    _spec(judge={"reasoning_tokens": 0, "temperature": 0.5, "max_tokens": 300}),
    _spec(source="hub", revision="abc", prompt_version="v3", prompt_source="own", prompt_revision="x", verdict_retries=2,
          verdict_parser="lenient", epochs=3, max_connections=4, api_retries=0, call_timeout=30, max_cost=0.5, max_calls=9,
          max_tokens=1000, allow_missing_resources=True),
    _spec(max_cost=0.0, max_calls=0),
]


@pytest.mark.parametrize("spec", SPECS)
def test_parsing_the_command_again_gives_an_equal_spec(spec, monkeypatch):
    from pipeline import flags

    for name in ["TASKS_REPO", *flags.ENVIRONMENT.values()]:
        monkeypatch.delenv(name, raising=False)
    words = shlex.split(command_line(spec))
    assert words[:3] == ["python", "-m", "pipeline.eval"]
    assert flags.spec_of(flags.build_parser().parse_args(words[3:])).digest == spec.digest
    assert not_repeated(spec) == ()


def test_only_flags_that_differ_from_the_defaults_are_written():
    assert command_line(_spec()) == "python -m pipeline.eval --model openai/gpt-x"


def test_a_repository_and_local_files_are_named_without_a_path():
    assert command_line(_spec(source="hub", repo="OUP/l2 bench")).startswith("TASKS_REPO='OUP/l2 bench' python -m")
    assert all(word in command_line(_spec(source="local")) for word in LOCAL_FILES)


def test_an_endpoint_of_the_visitor_is_named():
    spec = RunSpec(solver=ModelSpec(model="vllm/x", config=SOLVER, base_url="http://localhost:8000/v1"))
    assert "--model-base-url http://localhost:8000/v1" in command_line(spec)


def test_what_no_flag_can_say_is_named():
    bare = RunSpec(solver=ModelSpec(model="a/b", config={"max_tokens": 5}), judge=ModelSpec(model="c/d"))
    assert not_repeated(bare) == ("solver.temperature", "judge.reasoning_tokens")


def test_a_repeated_run_has_the_revisions_and_the_prompt_text_that_were_used():
    view = made_view(kind="hub", tasks=5)
    view.data = view.data.model_copy(update={"revision": "d" * 40})
    view.prompt = view.prompt.model_copy(update={"source": "published", "revision": "c" * 40})
    line = command_line(repeating(view))
    assert f"--revision {'d' * 40}" in line and f"--prompt-revision {'c' * 40}" in line and "--prompt-source" not in line
    view.prompt = view.prompt.model_copy(update={"source": "own", "revision": ""})
    assert "--prompt-source own" in command_line(repeating(view))
    assert "--prompt" not in command_line(repeating(made_view(tasks=5)))
    view.spec["epochs"] = "many"
    assert repeating(view) is None
