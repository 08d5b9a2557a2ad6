"""Sentences of a run's record in Spanish and Chinese: none that a page can show is forgotten, and none is bent."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.core.redact import Redactor
from pipeline.cost.priors import priors
from pipeline.events import DataRecord, PromptRecord
from pipeline.faults import Exchange, classify
from pipeline.report.comparability import differences
from pipeline.spec import ModelSpec, RunSpec
from ui.words import HERE
from ui.words.said import translated

ROOT = HERE.parents[1]
SHIPPED = ("es", "zh-CN")
SPEAKERS = ("pipeline/faults.py", "pipeline/judging/evaluate.py", "pipeline/cost/estimate_words.py", "pipeline/report/compare.py",
            "pipeline/run.py", "pipeline/plan.py", "pipeline/came_back.py", "pipeline/growth.py", "pipeline/worker.py", "pipeline/ready.py", "pipeline/unsent.py", "pipeline/core/reach.py", "pipeline/core/machine.py",
            "runner/host.py", "runner/limits.py", "runner/providers/check.py",
            "runner/providers/probe.py", "runner/probing.py", "pipeline/fault_words.py", "runner/providers/keys.py", "runner/providers/names.py", "ui/form.py",
            "pipeline/core/json_in.py", "pipeline/incoming.py", "runner/requests.py", "pipeline/core/keys.py", "pipeline/core/address.py",
            "runner/addresses.py")
"""The modules whose sentences reach a visitor's form, live page or result page."""


def sentences(path: Path) -> Iterator[str]:
    """Every sentence written in a module, a value in an f-string standing as 7; no docstring, nothing inside a value."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(p.value) if isinstance(p, ast.Constant) else "7" for p in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside | docs:
            text = node.value
        else:
            continue
        text = re.sub(r"(?<=[a-z])7(?=\.)|(?<=[.!?])7(?=\s|$)|^7 (?=[A-Z])", "", text)  # an ending, or a whole sentence, stands there
        yield from (s.strip() for s in re.split(r"(?<=[.!?])\s+", text) if re.fullmatch(r"[A-Z].{10,}\.", s.strip(), re.DOTALL))


def test_both_languages_have_the_same_sentences_and_keep_every_value():
    books = [json.loads((HERE / f"said.{lang}.json").read_text(encoding="utf-8")) for lang in SHIPPED]
    assert list(books[0]) == list(books[1])
    for book in books:
        for english, words in book.items():
            assert words and sorted(re.findall(r"\{\w+\}", english)) == sorted(re.findall(r"\{\w+\}", words)), english


def variants() -> Iterator[RunSpec]:
    """Specs that between them differ from the reference in every way that has words of its own."""
    models = [ModelSpec(model="openai/gpt-5.4", config={"temperature": 0.7, "max_tokens": 900, "top_p": 0.9, "extra_body": {}}),
              ModelSpec(model="openai/gpt-5.4", config={})]
    judges = [ModelSpec(model="openrouter/anthropic/claude-sonnet-4.6", config={"reasoning_tokens": 1024}),
              ModelSpec(model="openai-api/x/y", base_url="https://example.org/v1", config={"reasoning_tokens": 0}),
              ModelSpec(model="mistral/large", config={"reasoning_tokens": 500}), ModelSpec(model="mistral/large", config={"temperature": 0.5})]
    more = [{"sample_limit": 5}, {"sample_limit": 5, "sampling": "stratified", "seed": 3, "competency": ("A", "B", "C", "D")},
            {"sample_limit": 5, "sampling": "stratified"}, {"sample_limit": 5, "task_ids": ("1", "2", "3", "4")},
            {"epochs": 2, "verdict_retries": 1, "verdict_parser": "lenient", "prompt_version": "v3", "prompt_source": "own"},
            {"verdict_retries": 3, "allow_missing_resources": True, "subcompetency": ("S",), "context": (("age", "7"),)}]
    for extra in more:
        for solver in models:
            for judge in judges:
                yield RunSpec(solver=solver, judge=judge, **extra)


@pytest.mark.parametrize("lang", SHIPPED)
def test_every_difference_from_the_reference_is_translated(lang):
    found = set()
    for spec in variants():
        for kind, name in (("demo", "demo"), ("local", "t.csv"), ("hub", "someone/else")):
            data = DataRecord(kind=kind, name=name, digest="", available=9)  # type: ignore[arg-type]
            found |= set(differences(spec, 5, 9, PromptRecord(version="v1", source="own", digest=""), data))
    assert len(found) > 25
    named = re.compile(r"^(solver|judge) \w+ [\d.]+$")  # a setting under the name that inspect gives it
    assert not {text for text in found if translated(text, lang) == text and not named.match(text)}


@pytest.mark.parametrize("lang", SHIPPED)
def test_what_an_estimate_rests_on_is_translated(lang):
    left = {s for row in priors().values() if isinstance(row, dict) and row["default" if "default" in row else "basis"]
            for s in re.split(r"(?<=[.!?])\s+", row["basis"]) if translated(s, lang) == s}
    shown = ("solver_text", "judge_reasoning")
    assert not {s for s in left if any(s in priors()[name]["basis"] for name in shown)}


@pytest.mark.parametrize("lang", SHIPPED)
def test_a_provider_s_own_words_stay_as_they_are_and_ours_around_them_do_not(lang):
    body = {"error": {"message": "You exceeded your budget. Pay 3 more"}}
    fault = classify(Exchange(status=402, body=body), None, Redactor(()))
    words = translated(fault.sentence, lang)
    assert "You exceeded your budget. Pay 3 more." in words
    assert not re.search(r"provider|credit|answer", words)
    whole = f"3 of 8 verdicts failed: {fault.sentence}"
    assert words in translated(whole, lang) and "failed" not in translated(whole, lang)


def test_english_and_what_nobody_translated_stay_as_they_are():
    assert translated("first 5 of 9 tasks", "en") == "first 5 of 9 tasks"
    assert translated("<b>{n}</b> of a kind", "es") == "<b>{n}</b> of a kind" and translated("", "es") == ""
    assert translated("subset by competency: {n} and <i>", "es") == "subconjunto por competencia: {n} and <i>"


@pytest.mark.parametrize("module", SPEAKERS)
def test_every_sentence_that_a_page_can_show_is_translated(module):
    left = {s for s in sentences(ROOT / module) for lang in SHIPPED if translated(s, lang) == s}
    assert not left
