"""One function for demo and local tasks: checked before any spend, digested, and never confused with one another."""

import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.data.choose import choose
from pipeline.data.facets import counts
from pipeline.data.sources import load_tasks
from pipeline.errors import UserError
from pipeline.spec import ModelSpec, Places, RunSpec
from tests import synthetic

ROOT = Path(__file__).resolve().parents[3]


def spec(**options) -> RunSpec:
    return RunSpec(**{"source": "local", "solver": ModelSpec(model="demo/strong"), **options})


@pytest.fixture
def places(sheet) -> Places:
    return Places(sheet.folder, sheet.csv_path, sheet.resources)


def test_the_demo_needs_no_file_no_token_and_no_network(tmp_path):
    found = load_tasks(spec(source="demo"), Places(tmp_path))
    assert len(found.tasks) >= 60 and len({t.competency for t in found.tasks}) == 12
    assert (found.source.kind, found.source.gated, len(found.source.digest)) == ("demo", False, 64)
    assert len(counts(found.tasks)) >= 10


def test_local_files_are_named_digested_and_not_for_publication(sheet, places):
    sheet.rows({}, {})
    found = load_tasks(spec(), places)
    assert [t.key for t in found.tasks] == ["7", "8"]
    assert (found.source.kind, found.source.name, found.source.gated) == ("local", "tasks.csv", True)
    assert str(sheet.folder) not in repr(found.source)


@pytest.mark.parametrize("given", ["csv_path", "resources_dir"])
def test_a_local_source_needs_both_paths(sheet, given):
    sheet.rows()
    one = {"csv_path": sheet.csv_path} if given == "csv_path" else {"resources_dir": sheet.resources}
    with pytest.raises(UserError, match="both"):
        load_tasks(spec(), Places(sheet.folder, **one))


def test_a_file_with_a_problem_is_refused_with_its_first_problems(sheet, places):
    sheet.rows(*({"task_criteria": f"01. X ==2.{n}"} for n in range(8)))
    with pytest.raises(UserError) as caught:
        load_tasks(spec(), places)
    assert "8 problems" in caught.value.found and "row 2" in caught.value.found and "3 more" in caught.value.found
    assert "pipeline.check" in caught.value.do


def test_a_missing_resource_refuses_the_run_unless_it_is_accepted(sheet, places):
    # https://github.com/Anon-Bench-123/anon-bench-123: a placeholder was sent without a question
    sheet.rows({"task_resource_file_link_1": "gone.md"}, {})
    with pytest.raises(UserError) as caught:
        load_tasks(spec(), places)
    assert "gone.md" in caught.value.found and "--allow-missing-resources" in caught.value.do
    found = load_tasks(spec(allow_missing_resources=True), places)
    assert found.tasks[0].resources[0].missing and "[Resource not available: gone.md]" in found.tasks[0].user_message
    assert any("gone.md" in notice for notice in found.notices)


def test_accepting_missing_resources_accepts_nothing_else(sheet, places):
    sheet.rows({"task_resource_file_link_1": "gone.md", "competency": ""})
    with pytest.raises(UserError, match="competency"):
        load_tasks(spec(allow_missing_resources=True), places)


def test_a_missing_reference_refuses_only_prompts_that_show_it(sheet, places):
    sheet.rows({"reference_answer": ""})
    for version in ("v1", "v2"):
        with pytest.raises(UserError, match="reference_answer"):
            load_tasks(spec(prompt_version=version), places)
    assert load_tasks(spec(prompt_version="v3"), places).tasks[0].reference_answer == ""


def test_other_data_than_the_spec_was_made_for_is_refused(sheet, places):
    sheet.rows()
    digest = load_tasks(spec(), places).source.digest
    assert load_tasks(spec(data_digest=digest), places).tasks
    sheet.rows({"task": "Another."})
    with pytest.raises(UserError, match="digest"):
        load_tasks(spec(data_digest=digest), places)


def test_warnings_are_said_and_cut_short(sheet, places):
    sheet.rows(*({"task_system_prompt": ""} for _ in range(9)))
    notices = load_tasks(spec(), places).notices
    assert len(notices) == 4 and "6 more" in notices[-1]


def test_the_full_size_set_loads_whole_and_filters(tmp_path):
    csv_path, resources = synthetic.write(tmp_path)
    tasks = load_tasks(spec(), Places(tmp_path, csv_path, resources)).tasks
    chosen = choose(tasks, spec(competency=synthetic.COMPETENCIES[:6], context=(("level", "a1"), ("LEVEL", "b2")), sample_limit=20))
    assert len(tasks) == 1000 and sum(len(t.criteria) for t in tasks) == 15_000 and len(chosen) == 20


def test_reading_tasks_loads_neither_the_evaluation_nor_the_page():
    code = (
        "import sys, pipeline.data.sources, pipeline.data.choose, pipeline.check;"
        "print(sorted({'inspect_ai', 'gradio', 'pandas', 'huggingface_hub'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert done.stdout.strip() == "[]"
