"""A run that ended early says how far it came, beside its score and everywhere: tasks never begun have not ended."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.events import TaskFinished, TaskStarted, to_line
from pipeline.report.console import Progress, result_data, result_lines
from pipeline.report.export.archive import files_of
from pipeline.report.export.source import run_of
from pipeline.report.manifest import build_manifest
from pipeline.report.summary import summarise
from pipeline.report.view import fold
from pipeline.spec import Places
from pipeline.verify import check_manifest
from runner.folded import card
from runner.wire import Wire
from tests.made_runs import made_events
from ui.gallery import entry_of, record_of
from ui.results.head import head
from ui.run_routes import facts
from ui.words import say, words

CASES = [("stopped", "cancelled", 15, 0, 63), ("capped", "skipped_by_cap", 20, 0, 63), ("failed", "cancelled", 4, 1, 20),
         ("interrupted", "", 7, 0, 12)]
"""R6: Stop at 15 of 63, capped at 20 of 63, key refused at 4 of 20; and a run that was killed. Said: "63 of 63 tasks ended"."""


def journal(status: str, outcome: str, scored: int, lost: int, planned: int) -> list[Any]:
    """Some tasks scored, some lost, and the rest cut off by the end of the run; two of those had begun."""
    *events, last = made_events(tasks=planned, done=scored, faults=0.0, status=status)  # type: ignore[arg-type]
    for i, task in enumerate(events[0].tasks[scored:]):
        ended = "api_error" if i < lost else outcome
        if i < lost + 2:
            events.append(TaskStarted(t=last.t, task=task.key))
        if ended:
            events.append(TaskFinished(t=last.t, task=task.key, outcome=ended, reason="The run has ended."))  # type: ignore[arg-type]
    return [*events, last]


@pytest.mark.parametrize(("status", "outcome", "scored", "lost", "planned"), CASES)
def test_tasks_that_were_never_begun_have_not_ended(status, outcome, scored, lost, planned):
    view = fold(journal(status, outcome, scored, lost, planned))
    done, said = scored + lost, f"{scored + lost} of {planned}, {status}"
    assert view.done == done and (not outcome or sum(view.counts().values()) == planned), "each has its one outcome all the same"
    summary = summarise(view)
    assert (summary.ended, summary.cut_short) == (done, said)
    assert summary.spend.cost_per_task == pytest.approx(view.cost / done)
    assert sum(row.share for row in summary.errors) == pytest.approx((planned - scored) / planned if outcome else 0)
    assert facts(view, True)["done"] == card(view)["done"] == done
    assert result_data(view, Places(Path()), 1)["done"] == done
    lines = result_lines(view, Places(Path()), ())
    assert [said in line for line in lines if line.startswith("Mean over")] == [True, True]


@pytest.mark.parametrize("lang", ["en", "es", "zh-CN"])
def test_it_stands_beside_the_score_on_page_and_card_in_every_language(lang):
    view = fold(journal(*CASES[0]))
    top = head(view, summarise(view), lambda key, **values: say(words(lang), key, **values) if key != "lang" else lang)
    assert "15" in top.scored.count and "63" in top.scored.count and words(lang)["status_stopped"] in top.scored.count
    assert top.scored.count in top.share_text
    entry = entry_of("x", record_of(view), summarise(view))
    assert (entry.tasks, entry.chosen, entry.status) == (15, 63, "stopped")


@pytest.mark.parametrize(("status", "outcome", "scored", "lost", "planned"), CASES[:3])
def test_it_stands_beside_the_score_in_every_export(status, outcome, scored, lost, planned):
    run = run_of("".join(to_line(e) + "\n" for e in journal(status, outcome, scored, lost, planned)).encode())
    files, said = files_of(run), f"{scored + lost} of {planned}, {status}"
    for name in ("README.txt", "competency.svg", "eee.json", "hf.yaml", "model-index.yaml"):
        assert said in " ".join(files[name].decode().split()), name
    assert json.loads(files["view.json"])["done"] == json.loads(files["manifest.json"])["summary"]["ended"] == scored + lost


def test_a_finished_and_a_running_run_say_nothing_of_it():
    for events in (made_events(tasks=6), made_events(tasks=6, done=3, status="running")):
        summary = summarise(fold(events))
        assert summary.cut_short == "" and " of 6, " not in result_lines(fold(events), Places(Path()), ())[1]


def test_the_progress_line_of_the_command_line_counts_what_ended():
    out = io.StringIO()
    progress = Progress(out)
    for event in journal(*CASES[0]):
        progress.event(event)
    assert (progress.done, progress.planned) == (15, 63) and "63/63" not in out.getvalue()


def test_the_stream_tells_the_page_which_tasks_were_cut_off():
    wire, events = Wire(), journal(*CASES[0])
    for n, event in enumerate(events):
        wire.take(event, fold(events[: n + 1])) if event.kind in ("run_started", "task_finished") else None
    codes = [json.loads(item)[2] for item in wire._log if item.startswith("[") and item[1].isdigit()]
    assert len(codes) == 63 and len({codes[-1]} & set(codes[:15])) == 0


def test_a_manifest_written_before_still_agrees():
    view = fold(journal(*CASES[0]))
    old = json.loads(json.dumps(build_manifest(view, "d")))
    old |= {"format": 1}
    old["summary"] |= {"ended": 63}
    old["summary"]["spend"]["cost_per_task"] = view.cost / 63
    assert check_manifest(old, view, "d") == []
    assert check_manifest({**old, "format": 2}, view, "d") != []
    assert check_manifest({**old, "counts": {**old["counts"], "scored": 16}}, view, "d") != []
