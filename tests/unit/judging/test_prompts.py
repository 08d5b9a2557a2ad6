"""Own templates, filling, and how published texts are recognised; no network."""

import hashlib
import socket

import pytest

from pipeline.errors import UserError
from pipeline.judging.prompts import JudgePrompt, load_prompt
from pipeline.judging.published import WITH_REFERENCE, constants, fields, find_retry_suffix, find_template
from pipeline.judging.verdict import read_verdict

VERSIONS = ("v1", "v2", "v3", "v4")
BASE = {"task_text", "ai_response", "criterion_description"}
FILL = {"task_text": "TASK", "reference_answer": "REF", "ai_response": "ANSWER", "criterion_description": "CRIT"}
FULL = "{task_text} {reference_answer} {ai_response} {criterion_description}"
BARE = "{task_text} {ai_response} {criterion_description}"


def prompt(template: str, suffix: str = "\nagain") -> JudgePrompt:
    return JudgePrompt("v1", template, suffix, "own", "", "")


@pytest.mark.parametrize("version", VERSIONS)
def test_own_templates_follow_the_published_structure(version: str) -> None:
    p = load_prompt(version, "own")
    assert fields(p.template) == (BASE | {"reference_answer"} if version in WITH_REFERENCE else BASE)
    assert ("Example 3" in p.template) == (version in ("v2", "v4"))
    assert ("critique" in p.template) == (version != "v1")
    filled = p.fill(**FILL)
    assert "TASK" in filled and "ANSWER" in filled and "CRIT" in filled
    assert ("REF" in filled) == (version in WITH_REFERENCE)
    assert p.digest == hashlib.sha256(p.template.encode()).hexdigest() == p.record().digest
    assert p.record().source == "own" and p.notice == ""


def test_own_prompts_never_touch_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "socket", lambda *a, **k: pytest.fail("a socket was opened"))
    assert load_prompt("v2", "own").source == "own"


def test_an_unknown_version_is_named() -> None:
    with pytest.raises(UserError, match="v9"):
        load_prompt("v9", "own")


@pytest.mark.parametrize("text", [
    "{", "}", "{}", "{0}", "{{x}}", "{task_text}", "{criterion_description}", "%s $x \\1", '{"a": {"b": 1}}',
])
def test_braces_in_inserted_text_never_break_the_filling(text: str) -> None:
    filled = prompt(FULL).fill(task_text=text, reference_answer=text, ai_response=text, criterion_description=text)
    assert filled == " ".join([text] * 4)


def test_escaped_braces_of_a_template_come_out_single() -> None:
    assert prompt('{{"verdict": true}} {ai_response}').fill(**FILL) == '{"verdict": true} ANSWER'


def test_retry_keeps_the_prompt_and_adds_the_suffix() -> None:
    assert prompt("x").retry("whole prompt") == "whole prompt\nagain"
    assert prompt("x", "again").retry("whole prompt") == "whole prompt\n\nagain"
    assert read_verdict(load_prompt("v1", "own").retry_suffix, "lenient").verdict is None


def test_constants_are_parsed_and_never_executed(tmp_path) -> None:
    mark = tmp_path / "ran"
    source = f'''
"""Docstring."""
import pathlib
pathlib.Path({str(mark)!r}).write_text("ran")
A = "one"
B: str = ("two " "and " "more")
C = "x" + "y"
D = f"no {{A}}"
E = "no".upper()
F = {{"v1": "in a dict", "n": 3}}
G = H = "both"
def f():
    INNER = "no"
class K:
    ATTR = "no"
'''
    found = {c.name: c.text for c in constants("p.py", source)}
    assert found == {"A": "one", "B": "two and more", "C": "xy", "F_v1": "in a dict", "G": "both", "H": "both"}
    assert not mark.exists()
    assert constants("p.py", "def broken(:") == []


@pytest.mark.parametrize("files", [
    {f"src/l2_bench_eval/prompts/v{i}/judge_prompt.py": f"CRITERION_JUDGE_PROMPT = {t!r}" for i, t in
     enumerate([FULL + "1", FULL + "2", BARE + "3", BARE + "4"], 1)},
    {f"prompts/judge_v{i}.py": f"TEXT = {t!r}" for i, t in enumerate([FULL + "1", FULL + "2", BARE + "3", BARE + "4"], 1)},
    {"app/prompts.py": f"PROMPT_V1={FULL + '1'!r}\nPROMPT_V2={FULL + '2'!r}\nPROMPT_V3={BARE + '3'!r}\nPROMPT_V4={BARE + '4'!r}"},
    {"app/prompts.py": f"P = {{'v1': {FULL + '1'!r}, 'v2': {FULL + '2'!r}, 'v3': {BARE + '3'!r}, 'v4': {BARE + '4'!r}}}"},
    {"prompts/plain.py": f"A={FULL + '1'!r}\nC={BARE + '3'!r}",
     "prompts/rich.py": f"A={FULL + ' Example Example longer 2'!r}\nC={BARE + ' Example Example longer 4'!r}"},
])
def test_each_version_is_found_wherever_it_stands(files: dict[str, str]) -> None:
    found = [c for path, source in files.items() for c in constants(path, source)]
    for version in VERSIONS:
        template = find_template(found, version)
        assert template is not None and template.text.endswith(version[1])


def test_look_alikes_are_passed_over() -> None:
    source = f"OTHER='{{task_text}} {{x}}'\nBROKEN='{{task_text'\nRETRY_PROMPT={FULL + 'r'!r}\nJUDGE={FULL!r}"
    found = constants("prompts/v1/judge_prompt.py", source) + constants("tests/prompts/v1/a.py", f"JUDGE={FULL + 't'!r}")
    template = find_template(found, "v1")
    assert template is not None and template.text == FULL
    assert find_template(found, "v3") is None


def test_the_retry_suffix_is_found_by_name_or_by_file() -> None:
    places = (("prompts/retry.py", "JUDGE_RETRY_SUFFIX"), ("prompts/more.py", "RETRY_TEXT"), ("prompts/retry.py", "TEXT"))
    for path, name in places:
        found = constants(path, f"{name} = '\\nonce more'\nX = ''") + constants("prompts/v1.py", f"P={FULL!r}")
        suffix = find_retry_suffix(found)
        assert suffix is not None and suffix.text == "\nonce more"
    assert find_retry_suffix(constants("prompts/v1.py", "P='x'")) is None
