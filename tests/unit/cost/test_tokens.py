"""Promises about token counts: the stated error, the right family, quick, and never less than a true upper bound."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.cost.bounds import upper_bound, upper_bound_text
from pipeline.cost.token_table import token_table
from pipeline.cost.tokens import ERROR, calibrated, estimate_tokens, family, pieces, slow_pieces
from tests.unit.cost.made import tasks

PROSE = ("Begin the lesson by asking learners to talk in pairs about a place they know well. Give them two minutes, and then "
         "ask three pairs to report. Write the new words on the board, mark the stress, and have the class repeat them twice. "
         "Next, hand out the text and set one question for a first quick reading, so that nobody stops at unknown words. ")


@pytest.mark.parametrize(("model", "expected"), [
    ("bedrock/us.anthropic.claude-sonnet-4-6", "claude<=4.6"), ("openrouter/anthropic/claude-sonnet-4.6", "claude<=4.6"),
    ("anthropic/claude-sonnet-4-20250514", "claude<=4.6"), ("anthropic/claude-3-5-sonnet-20241022", "claude<=4.6"),
    ("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude<=4.6"), ("anthropic/claude-opus-4-7", "claude>=4.7"),
    ("openrouter/anthropic/claude-opus-4.7", "claude>=4.7"), ("anthropic/claude-sonnet-5", "claude>=4.7"),
    ("anthropic/claude-haiku-5.5", "claude>=4.7"), ("anthropic/claude-opus-4-10", "claude>=4.7"),
    ("openai/o3-mini", "openai"), ("groq/openai/gpt-oss-120b", "openai"), ("together/meta-llama/Llama-3.3-70B", "llama"),
    ("openrouter/deepseek/deepseek-r1-distill-llama-70b", "llama"), ("deepseek/deepseek-v4-pro", "deepseek"),
    ("mistral/magistral-medium", "mistral"), ("google/gemini-3.1-pro-preview", "gemini"), ("google/gemma-4-31b-it", "gemma"),
    ("openrouter/qwen/qwen3.5-27b", "qwen"), ("openai-api/custom/my-model", "unknown"),
    ("together/openchat/openchat-3.5", "unknown"),
])
def test_the_family_comes_from_the_models_name(model: str, expected: str) -> None:
    assert family(model) == expected


@pytest.mark.parametrize(("model", "characters_a_token"), [
    ("openai/gpt-5.4", 5.00), ("openrouter/qwen/qwen3-32b", 4.95), ("mistral/mistral-large-2512", 4.85),
    ("google/gemini-3.1-pro-preview", 4.83), ("anthropic/claude-sonnet-4-6", 4.51), ("anthropic/claude-opus-4-7", 3.27),
])
def test_english_prose_is_within_the_stated_error(model: str, characters_a_token: float) -> None:
    # The means were measured with the vendors' own tokenizers on prose about teaching; one text may lie a little off them.
    text = PROSE * 20
    assert estimate_tokens(text, model) == pytest.approx(len(text) / characters_a_token, rel=ERROR)


@settings(max_examples=300)
@given(st.text(st.characters(max_codepoint=127), max_size=200))
def test_the_quick_count_equals_the_rule_for_ascii(text: str) -> None:
    assert pieces(text).number == pytest.approx(slow_pieces(text))


@settings(max_examples=200)
@given(st.text(max_size=200))
def test_any_text_can_be_counted_and_bounded(text: str) -> None:
    assert pieces(text).number >= 0
    assert upper_bound_text(text) >= len(text) // 2


def test_what_is_not_english_is_not_called_calibrated() -> None:
    assert calibrated(PROSE) and calibrated("Gives “two” examples — each one short…") and calibrated("")
    german = "Die Lehrkraft beginnt die Stunde mit einer kurzen Wiederholung und fragt die Klasse nach den neuen Wörtern. " * 3
    spanish = "El profesor comienza la clase con una breve lectura y pregunta a los alumnos por las palabras nuevas. " * 3
    for text in (german, spanish, "学生们先阅读课文然后回答问题", "छात्र पहले पाठ पढ़ते हैं"):
        assert not calibrated(text), text


def test_a_full_task_set_is_counted_whole_and_once() -> None:
    made = tasks(1_000, seed=11)
    first = token_table(made)
    assert token_table(made) == first
    assert first.judge_calls == 15_000


def test_the_table_tells_tasks_apart_by_all_of_their_text() -> None:
    one, other = tasks(1, seed=1), tasks(1, seed=2)
    assert token_table(one) != token_table(other)
    assert token_table([*one, *other]).solver.all == pytest.approx(token_table(one).solver.all + token_table(other).solver.all)


@pytest.mark.parametrize("text", [PROSE, "1,2;3|4\n" * 50, "日本語のテキスト", "x", "\n" * 40, "🙂" * 9, "a b c d e " * 10])
def test_the_bound_is_above_the_dearest_family(text: str) -> None:
    assert upper_bound_text(text) > estimate_tokens(text, "anthropic/claude-opus-4-7")
    assert upper_bound([text, text]) == 2 * upper_bound_text(text) > upper_bound_text(text, text)


def test_digits_and_other_scripts_are_bounded_by_their_bytes() -> None:
    # Some tokenizers make a token of each digit, and of each byte of a rare character.
    rng = random.Random(3)
    table = "\n".join(",".join(str(rng.randint(0, 9)) for _ in range(30)) for _ in range(20))
    assert upper_bound_text(table) >= len(table)
    assert upper_bound_text("𓂀" * 50) >= 200
