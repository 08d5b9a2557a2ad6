"""Context variables come from free text in whatever form it has; what cannot be read costs one notice."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.data.facets import counts, parse_variables

WANTED = {"learner age": ("adults",), "level": ("A1",), "class size": ("12",)}


@pytest.mark.parametrize(
    "text",
    [
        '{"Learner Age": "adults", "level": "A1", "class size": 12}',
        "{'Learner  Age': 'adults', 'level': 'A1', 'class size': 12}",
        '[{"Learner Age": "adults"}, {"level": "A1"}, {"class size": 12}]',
        '[{"name": "Learner Age", "value": "adults"}, {"name": "level", "value": "A1"}, {"name": "class size", "value": 12}]',
        '["Learner Age: adults", "level: A1", "class size: 12"]',
        "[('Learner Age', 'adults'), ('level', 'A1'), ('class size', 12)]",
        '[["Learner Age", "adults"], ["level", "A1"], ["class size", 12]]',
        '"Learner Age: adults; level: A1; class size: 12"',
        "{'Learner Age': 'adults', 'level': 'A1', 'class size': 12, 'purpose': nan}",
        '{"learner": {"Learner Age": "adults", "level": "A1"}, "class size": "12"}',
        "Learner Age: adults\nlevel: A1\nclass size: 12",
        "Learner Age: adults\r\nlevel: A1\r\n\r\nclass size: 12",
        "Learner Age: adults; level: A1; class size: 12",
        "Learner Age: adults | level:A1 | class size : 12",
        "- Learner Age: adults\n* level: A1\n3. class size: 12",
        "**Learner Age:** adults\n**level**: A1\nclass size: '12'",
        "Learner Age: adults, level: A1, class size: 12",
        "{Learner Age: adults, level: A1, class size: 12}",
        '{"Learner Age": "adults",\n"level": "A1",\n"class size": 12,}',
        "Learner Age:\nadults\nlevel:\nA1\nclass size:\n12",
        "Learner Age：adults\nlevel：A1\nclass size：12",
    ],
)
def test_every_form_is_read_alike(text):
    assert parse_variables(text) == WANTED


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('{"skills": ["reading", "writing"]}', ("reading", "writing")),
        ("{'skills': ('reading', 'writing', 'reading')}", ("reading", "writing")),
        ("{'skills': {'writing', 'reading'}}", ("reading", "writing")),
        ('{"skills": [["reading"], "writing"]}', ("reading", "writing")),
        ("{'skills': ['reading', 'writing'], 'level': nan}", ("reading", "writing")),
        ("skills: [reading, 'writing']", ("reading", "writing")),
        ("skills: reading; writing", ("reading", "writing")),
        ("skills: reading\nskills: writing", ("reading", "writing")),
        ("skills:\n- reading\n- writing", ("reading", "writing")),
        ("skills: reading, writing", ("reading, writing",)),
        ('{"skills": true}', ("true",)),
        ("skills: starts 10:30", ("starts 10:30",)),
    ],
)
def test_lists_are_several_values(text, values):
    assert parse_variables(text) == {"skills": values}


@pytest.mark.parametrize(
    "value",
    ["one two three four five six seven eight", "x" * 61, "", "nan", "None"],
)
def test_prose_and_empty_values_are_no_category(value):
    assert parse_variables(f"level: A1\nnote: {value}") == {"level": ("A1",)}


def test_seven_words_and_sixty_characters_are_still_a_category():
    assert parse_variables("k: a b c d e f g")["k"] and parse_variables("k: " + "x" * 60)["k"]


@pytest.mark.parametrize("text", ["", "  ", "{}", "[ ]", "()"])
def test_an_empty_cell_in_any_form_has_no_variables_and_is_read(text):
    assert parse_variables(text) == {}


@pytest.mark.parametrize(
    "text", ["A class of adults who like music.", "{broken", "[1, 2, 3]", "(" * 5000, "[" * 100_000, "A1 / adults"]
)
def test_text_that_holds_no_pairs_cannot_be_read(text):
    assert parse_variables(text) is None


@given(st.text(max_size=200))
def test_any_text_is_read_or_not_but_never_an_exception(text):
    found = parse_variables(text)
    assert found is None or all(key and values for key, values in found.items())


@pytest.mark.parametrize("text", ["__import__('os').system('x')", "{'a': open('/etc/passwd').read()}"])
def test_text_is_never_executed(text):
    assert not parse_variables(text) or "root" not in str(parse_variables(text))


def test_unreadable_cells_cost_one_notice_for_the_file(sheet):
    unread = {"task_variables": "Just a sentence."}
    sheet.rows({"task_variables": "level: A1"}, unread, unread, {"task_variables": ""})
    (notice,) = sheet.notices()
    assert "2 of 4 rows" in notice and "row 3" in notice
    assert sheet.problems() == []
    assert [t.facets for t in sheet.tasks()] == [{"level": ("A1",)}, {}, {}, {}]


def test_a_further_column_with_few_values_becomes_a_facet(sheet):
    rows = [{"Region  Name": ["north", "south"][n % 2], "note": f"text {n}", "same": "x"} for n in range(9)]
    rows[0]["Region  Name"] = "nan"
    tasks = sheet.rows(*rows).tasks()
    assert counts(tasks) == {"region name": {"north": 4, "south": 4}}


def test_a_further_column_of_prose_or_of_many_values_does_not(sheet):
    rows = [{"comment": ["a b c d e f g h i", "short"][n % 2], "number": str(n)} for n in range(60)]
    assert counts(sheet.rows(*rows).tasks()) == {}


def test_values_that_differ_in_case_are_one_value(sheet):
    sheet.rows({"task_variables": "Level: Beginner"}, {"task_variables": "level: beginner"})
    assert counts(sheet.tasks()) == {"level": {"Beginner": 2}}


def test_counts_are_of_tasks(sheet):
    sheet.rows({"task_variables": "skill: a; b"}, {"task_variables": "skill: b"})
    assert counts(sheet.tasks()) == {"skill": {"b": 2, "a": 1}}
