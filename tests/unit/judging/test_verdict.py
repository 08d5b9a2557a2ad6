"""Group A of the cases: what the judge's last line may and may not say."""

import pytest

from pipeline.judging.verdict import read_verdict

REVIEW_COPY = "https://github.com/Anon-Bench-123/anon-bench-123"


@pytest.mark.parametrize("text, verdict", [
    ("true", True), ("false", False), ("TRUE", True), ("  False \n\n", False),
    ("The response lists two steps.\nfalse", False), ("<think>fine</think>\ntrue", True),
    ("a critique\r\n\r\n true \r\n", True), ("words\u2028true", True), ("false\ntrue", True),
])
def test_strict_reads_the_last_line_alone(text: str, verdict: bool) -> None:
    assert read_verdict(text, "strict").verdict is verdict
    assert read_verdict(text, "lenient").verdict is verdict


# https://github.com/Anon-Bench-123/anon-bench-123: a decorated verdict cost the whole task, with all its other verdicts
@pytest.mark.parametrize("text, verdict", [
    ("**true**", True), ("*false*", False), ("__True__", True), ("`false`", False), ("***true***", True),
    ("Verdict: true", True), ("Result: true", True), ("Final verdict: false", False), ("**Verdict: true**", True),
    ("**Verdict:** true", True), ("Verdict: **false**.", False), ("Final verdict - false", False),
    ("final verdict – TRUE", True), ("Verdict = true", True), ("The verdict is false.", False), ("## Verdict: true", True),
    ("Verdict：true", True), ("Final Answer: false", False), ("Judgment: true", True), ("Judgement: true", True),
    ("true.", True), ("true。", True), ("false!", False), ("'true'", True), ('"true"', True), ("“false”", False),
    ('"true".', True), ('{"verdict": true}', True), ('{"Verdict": false}', False), ('{"final_verdict": false}', False),
    ('why\n```json\n{\n  "reason": "a {brace} in it",\n  "verdict": true\n}\n```', True), ("```\nfalse\n```", False),
    ('{"verdict": true, "notes": {"n": 1}}', True), ('Verdict: {"verdict": false}', False), ("true\u200b", True),
    ("critique: false\n**true**", True),
])
def test_lenient_reads_decorated_verdicts_which_strict_refuses(text: str, verdict: bool) -> None:
    strict, lenient = read_verdict(text, "strict"), read_verdict(text, "lenient")
    assert strict.verdict is None and strict.strict is None
    assert lenient.verdict is verdict
    assert lenient.strict is None, "the strict reading is kept beside the lenient one"


# https://github.com/anthropics/claude-cookbooks/issues/497: "incorrect" held "correct"; a denial must never pass
@pytest.mark.parametrize("text", [
    "not true", "untrue", "true/false", "incorrect", "Verdict: not true", "The verdict is not true.", "true or false",
    "**not true**", "!true", "~~true~~", "Verdict: true/false", "true, false", "truefalse", "truly", "falsehood", "1", "yes",
    "pass", "correct", "true?", "It is true that the response fails", "Verdict: true because it lists steps",
    "Verdict: untrue", "non-true", "half true", "<think>fine</think>true", "", "   \n ", "\u200b",
    "true\n\nThe answer meets it.", "null", "Not the verdict: true",
    '{"verdict": "true"}', '{"match": "false"}', '{"result": true}', '{"verdict": 1}', '{"verdict": null}', "{}",
    '{"verdict": true, "verdict": false}', '{"verdict": true, "final verdict": false}', '{"outer": {"verdict": true}}',
    "{" * 9000 + "}", '[{"verdict": true}]',
    '{"verdict": true} and more', '{"verdict": tru}', '{"verdict": true}\nThe answer meets it.',
])
def test_neither_parser_guesses(text: str) -> None:
    assert read_verdict(text, "strict").verdict is None
    assert read_verdict(text, "lenient").verdict is None


def test_an_unreadable_verdict_quotes_its_last_line() -> None:
    # https://github.com/Anon-Bench-123/anon-bench-123: the verdict stood on the last line but one and nobody could see why
    assert read_verdict("true\n\nThe answer meets it.", "strict").last_line == "The answer meets it."
    assert read_verdict("", "strict").last_line == ""
