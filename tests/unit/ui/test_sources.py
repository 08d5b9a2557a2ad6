"""A tasks file of one's own may be edited while the app runs; a run that goes on says what changed."""

import csv
from pathlib import Path

import pytest

from pipeline.data.changed import remember
from pipeline.data.sources import load_tasks
from pipeline.errors import UserError
from pipeline.spec import ModelSpec, Places, RunSpec
from ui.sources import Sources
from ui.words import words

W = words()
HEAD = ("task_key", "competency", "task", "task_system_prompt", "task_criteria", "reference_answer", "task_resource_file_link_1")


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a local tasks file and its resources, set as the app's own."""
    (tmp_path / "resources").mkdir()
    (tmp_path / "resources" / "note.md").write_text("One.")
    monkeypatch.setenv("L2BENCH_CSV_PATH", str(tmp_path / "tasks.csv"))
    monkeypatch.setenv("L2BENCH_RESOURCES_DIR", str(tmp_path / "resources"))
    write(tmp_path, "Plan.", "Teach.", "Mark.")
    return tmp_path


def write(folder: Path, *texts: str, first: int = 1) -> None:
    with (folder / "tasks.csv").open("w", newline="") as file:
        rows = [(n, "01. Planning", text, "Help.", "01. Good ==2", "Well.", "note.md") for n, text in enumerate(texts, first)]
        csv.writer(file).writerows([HEAD, *rows])


def digest(sources: Sources) -> str:
    offer = sources.offer("local", W)
    assert offer.tasks, offer.why
    return offer.tasks.source.digest


def test_a_file_of_ones_own_that_was_edited_is_read_anew(own: Path) -> None:
    # R8: every new run was refused until the app was started again
    sources = Sources()
    first = digest(sources)
    assert digest(sources) == first
    write(own, "Plan!", "Teach.", "Mark.")  # as many bytes as before
    second = digest(sources)
    (own / "resources" / "note.md").write_text("Two.")
    assert len({first, second, digest(sources)}) == 3


def test_a_file_that_was_broken_and_mended_is_offered_again(own: Path) -> None:
    sources = Sources()
    first = digest(sources)
    (own / "tasks.csv").write_text("nothing\n")
    offer = sources.offer("local", W)
    assert offer.tasks is None and "tasks.csv" in offer.why
    write(own, "Plan.", "Teach.", "Mark.")
    assert digest(sources) == first


def test_an_unchanged_file_is_read_once(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    monkeypatch.setattr("ui.sources.load_tasks", lambda *a: read.append(1) or load_tasks(*a))
    sources = Sources()
    digest(sources)
    digest(sources)
    assert read == [1]


def test_a_run_that_goes_on_says_which_tasks_changed(own: Path, tmp_path: Path) -> None:
    # R8
    places = Places(tmp_path / "run", own / "tasks.csv", own / "resources")
    places.private.mkdir(parents=True)
    spec = RunSpec(source="local", solver=ModelSpec(model="demo/strong"))
    begun = load_tasks(spec, places)
    remember(begun.tasks, places.private)
    write(own, "Plan.", "Teach more.", "Ask.", first=2)
    with pytest.raises(UserError) as refused:
        load_tasks(spec.model_copy(update={"data_digest": begun.source.digest}), places)
    assert "tasks 2, 3 are changed; task 1 is gone; task 4 is new" in str(refused.value)


def test_what_is_kept_of_the_tasks_holds_no_text(own: Path, tmp_path: Path) -> None:
    places = Places(tmp_path / "run", own / "tasks.csv", own / "resources")
    places.private.mkdir(parents=True)
    remember(load_tasks(RunSpec(source="local", solver=ModelSpec(model="demo/strong")), places).tasks, places.private)
    assert "Plan" not in (places.private / "tasks.json").read_text()
