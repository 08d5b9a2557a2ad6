"""Every check before any spend names file, row, column and criterion; the command's exit code says which kind it is."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.check import main
from pipeline.data.check import read_files

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("rubric", ["01a. X ==0", "01a. X ==-4", "01a. X ==0 | 02. Y ==-1"])
def test_a_rubric_without_a_positive_weight_is_refused(sheet, rubric):
    # https://github.com/Toloka/tolokaforge/issues/771: division by zero after the judge was paid
    (problem,) = sheet.rows({}, {"task_criteria": rubric}).errors()
    assert (problem.row, problem.column) == (3, "task_criteria") and "positive" in problem.found


def test_a_positive_weight_in_any_layer_is_enough(sheet):
    sheet.rows({"task_criteria": "01. X ==-4"}, universal_criteria="06u1. Y ==2")
    assert [t.maximum for t in sheet.tasks()] == [2]


def test_penalties_are_not_counted_in_the_maximum(sheet):
    # https://github.com/CodeGra-de/CodeGra.de/issues/541: weights 7, 3, -4 have the maximum 10
    assert sheet.rows().tasks()[0].maximum == 10


def test_a_repeated_key_is_refused_and_both_rows_are_named(sheet):
    # https://github.com/Anon-Bench-123/anon-bench-123: the first rubric was used for both tasks
    (problem,) = sheet.rows({"task_key": "12"}, {"task": "a\nb"}, {"task_key": "12"}).errors()
    assert (problem.row, problem.column) == (5, "task_key")
    assert "row 2" in problem.found and "row 5" in problem.found


def test_keys_that_only_look_alike_are_different(sheet):
    assert len(sheet.rows({"task_key": "12"}, {"task_key": "012"}, {"task_key": "12a"}).tasks()) == 3


@pytest.mark.parametrize("cell", ["", "  ", "nan", "NaN", "<NA>", "#N/A", "null", "None", "\u00a0", "\u200b"])
@pytest.mark.parametrize("column", ["task_key", "competency", "task", "task_criteria", "reference_answer"])
def test_an_empty_cell_that_is_needed_is_refused(sheet, column, cell):
    # https://github.com/UKGovernmentBEIS/inspect_ai/pull/4626: an empty cell became "nan" and was sent
    (problem,) = sheet.rows({}, {column: cell}).errors()
    assert (problem.row, problem.column) == (3, column)


@pytest.mark.parametrize("cell", ["", "nan", "NaN", "None"])
def test_an_empty_system_prompt_is_sent_as_empty_with_a_warning(sheet, cell):
    assert [(p.level, p.column) for p in sheet.rows({"task_system_prompt": cell}).problems()] == [("warning", "task_system_prompt")]
    assert sheet.tasks()[0].system_prompt == ""


def test_nan_in_an_optional_cell_reaches_no_field(sheet):
    names = ["version_at_time_of_draft", "task_variables", "task_resource_file_link_1", "subcompetency_1"]
    names += ["consensus_criteria", "universal_criteria", "canary_string"]
    (task,) = sheet.rows(dict.fromkeys(names, "nan")).tasks()
    assert "nan" not in repr(task).lower().replace("consonant", "")


def test_a_reference_answer_is_needed_only_by_prompts_that_show_it(sheet):
    sheet.rows({"reference_answer": ""})
    assert [p.column for p in sheet.problems(needs_reference=True)] == ["reference_answer"]
    assert sheet.problems(needs_reference=False) == []


def test_a_repeated_criterion_id_in_a_task_is_named(sheet):
    (problem,) = sheet.rows({"task_criteria": "01. X ==2 | 01. Y ==3"}).errors()
    assert problem.criterion == "7-01" and "2 times" in problem.found


def test_a_shared_id_in_two_layers_of_a_task_is_named(sheet):
    (problem,) = sheet.rows(consensus_criteria="06u1. X ==2", universal_criteria="06u1. Y ==3").errors()
    assert (problem.column, problem.criterion) == ("universal_criteria", "06u1")


def test_one_faulty_entry_hides_no_other_problem(sheet):
    sheet.rows({"task_criteria": "01. a|b ==5", "competency": "", "task_resource_file_link_1": "gone.md"}, {"task": ""})
    found = {(p.row, p.column) for p in sheet.problems()}
    assert {(2, "task_criteria"), (2, "competency"), (2, "task_resource_file_link_1"), (3, "task")} <= found


def test_a_second_file_brings_its_own_rubric(sheet, tmp_path):
    # https://github.com/Anon-Bench-123/anon-bench-123: the rubric reader remembered the first file
    first = sheet.rows().tasks()
    second = sheet.rows({"task_criteria": "09. Other ==1"}).tasks()
    assert [c.id for c in first[0].criteria] == ["7-01", "7-02", "7-03"]
    assert [c.id for c in second[0].criteria] == ["7-09"]


def test_layers_are_joined_in_the_order_of_the_reference(sheet):
    (task,) = sheet.rows(universal_criteria="06u1. U ==1", consensus_criteria="09b-02. C ==1").tasks()
    assert [c.id for c in task.criteria] == ["7-01", "7-02", "7-03", "09b-02", "06u1"]
    assert [str(c.layer) for c in task.criteria] == ["task"] * 3 + ["consensus", "universal"]


def test_a_problem_quotes_only_a_few_words_of_a_cell(sheet):
    words = [f"word{n}" for n in range(40)]
    sheet.rows({"task_criteria": " ".join(words), "task_key": " ".join(words)}, {"task_criteria": f"01. {' '.join(words)}"})
    for problem in sheet.problems():
        assert "word7" not in problem.line


@pytest.mark.parametrize("key", ["12.0", "1.2E+3", "1,234"])
def test_a_key_rewritten_by_a_spreadsheet_is_a_warning_and_kept(sheet, key):
    assert [p.level for p in sheet.rows({"task_key": key}).problems()] == ["warning"]
    assert sheet.tasks()[0].key == key


def _run(*arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "pipeline.check", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60)


def _files(sheet) -> list[str]:
    return ["--csv-path", str(sheet.csv_path), "--resources-dir", str(sheet.resources)]


def test_the_command_prints_one_line_for_each_problem(sheet):
    sheet.rows({}, {"task_criteria": "01. X"}, {"competency": ""})
    done = _run(*_files(sheet))
    assert done.returncode == 1 and done.stderr == ""
    lines = done.stdout.splitlines()
    assert "tasks.csv, row 3, column task_criteria, criterion 01: error:" in lines[0] and "Expected:" in lines[0]
    assert "row 4, column competency" in lines[1] and "2 problems" in lines[-1]


def test_the_command_exits_0_on_a_clean_file_and_on_warnings(sheet, capsys):
    assert main(_files(sheet.rows())) == 0
    assert main(_files(sheet.rows({"task_system_prompt": ""}))) == 0
    assert "1 warnings" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["--csv-path", "gone.csv", "--resources-dir", "."], ["--csv-path", "gone.csv"]])
def test_the_command_exits_2_without_a_traceback(arguments, capsys):
    assert main(arguments) == 2
    assert main([*arguments, "--json"]) == 2
    out, error = capsys.readouterr()
    assert "Traceback" not in error and error.strip()
    assert json.loads(out)["ok"] is False


def test_the_command_prints_one_json_object(sheet, capsys):
    assert main([*_files(sheet.rows({"task_criteria": "01. a|b ==5"})), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["ok"] is False and found["tasks"] == 0
    assert set(found["problems"][0]) == {"file", "row", "column", "criterion", "found", "expected", "level"}


def test_the_command_knows_missing_resources_and_lets_them_be_accepted(sheet, capsys):
    sheet.rows({"task_resource_file_link_1": "gone.md"})
    assert main(_files(sheet)) == 1
    assert main([*_files(sheet), "--allow-missing-resources"]) == 0
    assert "gone.md" in capsys.readouterr().out


def test_the_command_needs_neither_the_evaluation_nor_the_page(sheet):
    sheet.rows()
    code = "import sys; from pipeline.check import main; main(sys.argv[1:]);"
    code += "print(sorted({'inspect_ai','gradio','pandas','huggingface_hub'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code, *_files(sheet)], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_demo_tasks_pass_every_check():
    done = _run()
    assert done.returncode == 0, done.stdout


def test_the_digest_follows_the_file_and_every_resource_that_is_used(sheet):
    def digest() -> str:
        return read_files(sheet.csv_path, sheet.resources).digest

    note = sheet.resources / "note.md"
    note.write_text("one")
    first = digest() if sheet.rows({"task_resource_file_link_1": "note.md"}) else ""
    (sheet.resources / "unused.md").write_text("x")
    assert digest() == first
    note.write_text("two")
    second = digest()
    note.unlink()
    third = digest()
    sheet.rows({"task_resource_file_link_1": "note.md", "task": "Another."})
    assert len({first, second, third, digest()}) == 4
