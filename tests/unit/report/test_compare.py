"""Runs side by side: same tasks only, no rank where intervals overlap, costs beside."""

import pytest

from pipeline.errors import UserError
from pipeline.judging.outcomes import Outcome
from pipeline.report.compare import compare, grid
from pipeline.report.view import RunView
from tests.made_runs import made_view


def run(skill: float, solver: str, **more: object) -> RunView:
    return made_view(seed=5, tasks=120, skill=skill, solver=solver, **more)


def test_only_tasks_that_all_runs_scored_are_compared() -> None:
    a, b = run(0.6, "x/a", faults=0.3), run(0.9, "x/b", faults=0.1)
    scored = [{k for (k, _), t in v.attempts.items() if t.outcome is Outcome.SCORED} for v in (a, b)]
    found = compare([a, b])
    assert found.common == len(scored[0] & scored[1]) < len(scored[0])
    assert found.left_out == 120 - found.common
    assert all(r.mean.tasks == found.common for r in found.runs)
    assert sum(r.tasks for r in found.by_competency) == found.common
    pair = found.pairs[0].difference
    assert pair.separable and pair.value == pytest.approx(found.runs[0].mean.value - found.runs[1].mean.value)
    assert (found.runs[1].rank.best, found.runs[1].rank.worst) == (1, 1)


# https://github.com/ZeroLoss-Lab/ELBench: runs were ranked though their intervals overlapped
def test_runs_that_cannot_be_told_apart_share_their_places() -> None:
    found = compare([run(0.78, "x/a"), run(0.78, "x/b"), run(0.4, "x/c")])
    assert found.pairs[0].difference.note == "not separable"
    assert [(r.rank.best, r.rank.worst) for r in found.runs] == [(1, 2), (1, 2), (3, 3)]


def test_disagreement_money_and_notes_stand_beside() -> None:
    found = compare([run(0.7, "x/a"), run(0.7, "x/a", judge="other/judge")], names=["one", "two"])
    assert [r.name for r in found.runs] == ["one", "two"]
    spreads = [t.spread for t in found.tasks]
    assert spreads == sorted(spreads, reverse=True) and len(spreads) == 20
    top = found.criteria[0]
    assert 0 < top.split <= top.compared and len(top.met) == 2
    assert all(r.spend.cost and r.spend.seconds > 0 for r in found.runs)
    assert "The runs have different judges." in found.notes
    assert found.by_facet["level"]
    labels = [r.name for r in compare([run(0.7, "x/a"), run(0.7, "x/a", judge="other/judge")]).runs]
    assert len(set(labels)) == 2


def test_other_settings_of_one_judge_other_prompt_versions_and_epochs_are_said() -> None:
    first, second = run(0.7, "x/a"), run(0.7, "x/b", prompt="v2", epochs=2)
    second.spec["judge"]["config"]["reasoning_tokens"] = 0
    assert compare([first, second]).notes == (
        "The runs have the same judge with different settings.", "The runs have different judge prompts.",
        "The runs have different numbers of epochs.")
    assert compare([first, run(0.7, "x/b")]).notes == ()


def test_runs_without_a_common_task_say_so() -> None:
    found = compare([run(0.7, "x/a"), run(0.7, "x/b", done=0)])
    assert found.common == 0 and found.pairs[0].difference.note == "no task in common"
    assert found.runs[0].mean.value is None and found.by_competency == () and found.criteria == ()


@pytest.mark.parametrize("n", [0, 1, 7])
def test_two_to_six_runs(n: int) -> None:
    with pytest.raises(UserError, match=f"{n} runs"):
        compare([run(0.7, "x/a")] * n)


def test_grid_of_models_and_judges() -> None:
    found = grid([run(0.7, "x/a"), run(0.7, "x/b"), run(0.7, "x/a", judge="other/judge")])
    assert found.models == ("x/a", "x/b") and len(found.judges) == 2 and len(found.cells) == 3
    cell = found.cell("x/a", "other/judge")
    assert cell is not None and cell.run == 2
    assert found.cell("x/b", "other/judge") is None
