"""The tables of a run: rows are the denominator, effects follow verdict times sign, figures agree with the view."""

import csv
import io
from typing import Any

import pytest

from pipeline.events import PlannedCriterion, PlannedTask, RunStarted, TaskFinished, VerdictGiven
from pipeline.judging.outcomes import Outcome
from pipeline.report.export.tables import effect, tasks_csv, verdicts_csv
from pipeline.report.view import RunView, fold
from tests.made_runs import made_events, made_view


def rows(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode(), newline="")))


def test_every_planned_attempt_has_a_row_and_scores_are_whole() -> None:
    view = made_view(tasks=20, epochs=2, done=25, status="stopped")
    table = rows(tasks_csv(view))
    assert len(table) == 40 == view.planned
    for row in table:
        a = view.attempts.get((row["task"], int(row["epoch"])))
        assert row["outcome"] == (a.outcome.value if a and a.outcome else "")
        assert row["score"] == ("" if not a or a.score is None else repr(a.score))


def test_what_makes_a_score_not_comparable_stands_on_its_line() -> None:
    for row in rows(tasks_csv(made_view(tasks=5))):
        assert row["not_comparable"] == "demo tasks, not the published set; prompt text is ours, not the reference's"


def test_the_score_follows_from_the_verdict_table_alone() -> None:
    view = made_view(tasks=15)
    verdicts = rows(verdicts_csv(view))
    for row in rows(tasks_csv(view)):
        if row["outcome"] == "scored":
            mine = [v for v in verdicts if v["task"] == row["task"]]
            met = sum(int(v["weight"]) for v in mine if v["verdict"] == "true")
            assert met / sum(max(int(v["weight"]), 0) for v in mine) == pytest.approx(float(row["score"]))
            assert (met, len(mine)) == (int(row["weight_met"]), int(row["criteria"]))


@pytest.mark.parametrize(("weight", "verdict", "words"), [
    (-4, True, "penalty applied"), (-4, False, "penalty avoided"), (3, True, "met"), (3, False, "not met"), (3, None, "not read"),
    (-4, None, "not read")])
def test_an_effect_follows_verdict_times_sign(weight: int, verdict: bool | None, words: str) -> None:
    # https://github.com/ScreamingFace/screamingface/pull/619: chips took their colour from the weight's sign alone.
    assert effect(weight, verdict) == words


def hostile() -> RunView:
    start: Any = made_events(tasks=1)[0]
    text = '=cmd|"/C calc"!A0<img src=x onerror=alert(1)>'
    task = PlannedTask(key="=7", competency=text, subcompetencies=("@s",), facets={"-k": ("+v",)},
                       criteria=(PlannedCriterion(id="=7-01", layer="task", weight=2),))  # type: ignore[arg-type]
    return fold([RunStarted(**start.model_dump(exclude={"tasks", "differences"}), tasks=(task,), differences=(text,)),
                 VerdictGiven(task="=7", criterion="=7-01", verdict=None, cause="=1"),
                 TaskFinished(task="=7", outcome=Outcome.API_ERROR, reason=text)])


def test_no_cell_of_a_hostile_run_starts_a_formula() -> None:
    for data in (tasks_csv(hostile()), verdicts_csv(hostile())):
        for row in csv.reader(io.StringIO(data.decode(), newline="")):
            assert not [c for c in row if c[:1] in ("=", "+", "-", "@")]
