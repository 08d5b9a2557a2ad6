"""Rubric text is read exactly or refused with the entry named; a wrong weight never reaches a score."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.data.records import Layer
from pipeline.data.rubric import parse


def test_entries_become_criteria_with_prefix_and_weight():
    text = "01. Names an aim, e.g. a goal. Clearly ==7 | 02. Uses x == y in code ==-4|09b-02. Says 3.5 ==0 "
    criteria, faults = parse(text, Layer.TASK, "711")
    assert faults == []
    assert [(c.id, c.weight) for c in criteria] == [("711-01", 7), ("711-02", -4), ("711-09b-02", 0)]
    assert criteria[0].description == "Names an aim, e.g. a goal. Clearly"
    assert criteria[1].description == "Uses x == y in code"


@pytest.mark.parametrize("layer", [Layer.CONSENSUS, Layer.UNIVERSAL])
def test_shared_criteria_keep_their_own_ids(layer):
    criteria, _ = parse("09b-02. Helps==5", layer, "711")
    assert [(c.id, c.layer, c.weight) for c in criteria] == [("09b-02", layer, 5)]


def test_pipe_inside_a_criterion_is_named():
    # https://github.com/Anon-Bench-123/anon-bench-123: a pipe in a description split the criterion in two
    criteria, faults = parse("01a. Uses a|b notation ==5", Layer.TASK, "7")
    assert criteria == []
    assert faults[0].criterion == "01a" and "|" in faults[0].found and "No weight" in faults[0].found
    assert "No id" in faults[1].found and '"b notation' in faults[1].criterion


@pytest.mark.parametrize(
    ("entry", "shown"),
    [
        ("01a. X", "No weight"),
        ("01a. X ==", "nothing stands after"),
        ("01a. X =5", "No weight"),
        ("01a. X ==2.5", "not a whole number"),
        ("01a. X ==2,5", "not a whole number"),
        ("01a. X == 7", "space"),
        ("01a. X ==\u00a07", "NO-BREAK SPACE"),
        ("01a. X ==7.", "stands"),
        ("01a. X ==\u22124", "MINUS SIGN"),
        ("01a. X ==\u20134", "EN DASH"),
        ("01a. X ==7\u200b", "ZERO WIDTH SPACE"),
        ("01a. X ==\uff17", "FULLWIDTH DIGIT SEVEN"),
        ("01a. X ==+7", "stands"),
        ("01a. X ==seven", "stands"),
        ("01a. X ==- 4", "stands"),
        ("01a. X ==" + "9" * 5000, "too many digits"),
        ("01a. X ==1_0", "stands"),
        ("01a. X ===5", "Three"),
        ("01a. ==5", "No description"),
        ("01a.  ==5", "No description"),
    ],
)
def test_a_weight_that_is_not_a_plain_integer_is_named(entry, shown):
    # https://github.com/Anon-Bench-123/anon-bench-123: missing, decimal, spaced and Unicode weights
    criteria, faults = parse(f"00. Good ==1 | {entry}", Layer.TASK, "7")
    assert [c.id for c in criteria] == ["7-00"]
    assert len(faults) == 1 and shown in faults[0].found and faults[0].level == "error"


def test_prose_taken_as_an_id_is_a_warning():
    # https://github.com/Anon-Bench-123/anon-bench-123: an entry without an id was accepted with its text cut
    criteria, faults = parse("Includes e.g. two examples ==5", Layer.TASK, "7")
    assert len(criteria) == 1
    assert [(f.level, "looks like prose" in f.found) for f in faults] == [("warning", True)]


@pytest.mark.parametrize("entry", ["Greets. Then asks ==3", "Uses 3 examples. Then asks ==3"])
def test_other_prose_before_a_full_stop_is_a_warning_too(entry):
    assert [f.level for f in parse(entry, Layer.UNIVERSAL, "7")[1]] == ["warning"]


@pytest.mark.parametrize("name", ["01", "01a", "09b-02", "06u1", "A", "C3", "7"])
def test_ids_of_the_dataset_are_no_prose(name):
    assert parse(f"{name}. Text ==3", Layer.CONSENSUS, "7")[1] == []


def test_a_lost_pipe_between_two_entries_is_named():
    criteria, faults = parse("01. First ==5 02. Second ==3", Layer.TASK, "7")
    assert criteria == [] and "second id" in faults[0].found


def test_an_entry_without_an_id_is_named_by_its_first_words_only():
    words = "alpha beta gamma delta epsilon zeta eta theta iota kappa"
    (fault,) = parse(f"{words} ==5", Layer.TASK, "7")[1]
    assert "alpha" in fault.criterion and "eta theta" not in fault.criterion + fault.found


@pytest.mark.parametrize("text", ["", "   ", "|", " | "])
def test_an_empty_layer_is_fine(text):
    assert parse(text, Layer.CONSENSUS, "7") == ([], [])


@given(st.text(max_size=80))
def test_any_text_gives_criteria_or_faults_and_no_exception(text):
    criteria, faults = parse(text, Layer.TASK, "7")
    assert criteria or faults or not text.replace("|", "").strip()


@given(st.lists(st.tuples(st.integers(-99, 99), st.text("abc ,.=é", min_size=1, max_size=20)), min_size=1, max_size=9))
def test_what_is_written_in_the_form_is_read_back(entries):
    kept = [(w, t) for w, t in entries if t.strip() and not t.rstrip().endswith("=") and "==" not in t]
    text = " | ".join(f"{n:02d}. {t} =={w}" for n, (w, t) in enumerate(kept))
    criteria, faults = parse(text, Layer.CONSENSUS, "7")
    assert faults == []
    assert [(c.weight, c.description) for c in criteria] == [(w, t.strip()) for w, t in kept]
