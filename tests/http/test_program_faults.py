"""An exception in this program's own code costs one task at most, is named as ours, and is counted apart from others' faults.

F9: one in a single task was counted and worded as a fault of the judge or the provider.
"""

from typing import Any

import pytest

from pipeline import door
from pipeline.judging import evaluate as judging
from pipeline.judging.outcomes import Outcome
from pipeline.judging.prompts import JudgePrompt
from pipeline.report.summary import summarise
from tests.http.runs import evaluate


def break_once(monkeypatch: pytest.MonkeyPatch, at: Any, name: str, error: Exception, when: Any = lambda *a, **k: True) -> None:
    """Let the first call of `at.name` that `when` picks raise."""
    real, done = getattr(at, name), []

    def broken(*args: Any, **kwargs: Any) -> Any:
        if not done and when(*args, **kwargs):
            done.append(True)
            raise error
        return real(*args, **kwargs)

    monkeypatch.setattr(at, name, broken)


PLACES = [(judging, "read_verdict"), (judging, "upper_bound"), (judging, "upper_bound_text"), (judging, "task_score"),
          (JudgePrompt, "fill"), (door, "texts"), (door, "usage_of"), (door, "fault_in"), (judging.Evaluator, "_accept")]


@pytest.mark.parametrize("at, name", PLACES, ids=[name for _, name in PLACES])
def test_it_costs_one_task_is_named_and_is_made_good_by_going_on(fake, tmp_path, monkeypatch, at, name):
    break_once(monkeypatch, at, name, KeyError("ours"))
    done = evaluate(fake, tmp_path, count=3)
    (lost,) = [a for a in done.view.attempts.values() if a.outcome is not Outcome.SCORED]
    assert (lost.outcome, lost.stage) == (Outcome.API_ERROR, "program") and "fault of this program (KeyError)" in lost.reason
    assert done.view.program_faults == 1 and done.view.status == "finished"
    (row,) = summarise(done.view).errors
    assert row.owner == "program" and "KeyError" in (done.places.run_dir / "private" / "error.txt").read_text()
    assert "Traceback" not in str(done.events)
    left = len(done.ledger)
    again = evaluate(fake, tmp_path, count=3)
    assert again.view.counts()["scored"] == 3 and again.view.program_faults == 0
    assert len(again.ledger) - left <= 4, "more than the lost task was paid again"


def test_faults_of_the_provider_are_not_counted_as_ours(fake, tmp_path):
    fake.script("judge", {"status": 500, "every": True, "match": "point 2 of task 1"})
    view = evaluate(fake, tmp_path, count=2, api_retries=0).view
    assert view.counts()["api_error"] == 1 and view.program_faults == 0 and summarise(view).errors[0].owner == "provider"


@pytest.mark.parametrize("at, name", [(judging, "read_verdict"), (JudgePrompt, "fill"), (judging, "upper_bound")])
def test_a_lack_of_memory_pauses_the_run_and_what_was_paid_for_is_kept(fake, tmp_path, monkeypatch, at, name):
    break_once(monkeypatch, at, name, MemoryError())
    done = evaluate(fake, tmp_path, count=6, max_connections=2)
    assert done.view.status == "paused" and done.view.reason.startswith("The memory is full.") and not done.view.program_faults
    assert len([e for e in done.ledger if not e.fault]) == len(fake.received()) < 24
    assert evaluate(fake, tmp_path, count=6).view.counts()["scored"] == 6 and len(fake.received()) == 24


def test_a_fault_around_all_tasks_ends_the_run_in_words(fake, tmp_path, monkeypatch):
    import inspect_ai

    break_once(monkeypatch, inspect_ai, "eval", RuntimeError("ours"))
    done = evaluate(fake, tmp_path, count=2)
    assert done.view.status == "failed" and "fault of this program (RuntimeError)" in done.view.reason
    assert done.view.counts()["cancelled"] == 2
