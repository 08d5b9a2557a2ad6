"""The figures of a run, by hand and by the cases of group I."""

from typing import Any

import pytest

from pipeline.data.records import Layer
from pipeline.events import (
    Answered,
    Call,
    DataRecord,
    PlannedCriterion,
    PlannedTask,
    PromptRecord,
    RunFinished,
    RunStarted,
    TaskFinished,
    VerdictGiven,
)
from pipeline.judging.outcomes import Outcome
from pipeline.report.stats import NO_SPREAD, ONE_TASK
from pipeline.report.summary import percent, summarise
from pipeline.report.view import RunView, fold
from tests.made_runs import made_view

CRITERIA = (
    PlannedCriterion(id="1-01", layer=Layer.TASK, weight=7), PlannedCriterion(id="01a-01", layer=Layer.CONSENSUS, weight=3),
    PlannedCriterion(id="05u1", layer=Layer.UNIVERSAL, weight=-4),
)


def view(outcomes: list[Any], epochs: int = 1, verdicts: dict[str, tuple] | None = None, **spec: Any) -> RunView:
    """A run of one task an entry: a score, or an outcome; `spec` changes the spec. Task k has competency k % 2."""
    tasks = [PlannedTask(key=str(i), competency=f"0{i % 2}. C", facets={"level": ("A2",)}, criteria=CRITERIA)
             for i in range(len(outcomes))]
    plan = {"solver": {"model": "x/solver"}, "judge": {"model": "x/judge"}, "epochs": epochs} | spec
    events: list[Any] = [RunStarted(t=1, spec=plan, spec_digest="s", versions={}, differences=("demo tasks",), tasks=tuple(tasks),
                                    data=DataRecord(kind="demo", name="demo tasks", available=1000),
                                    prompt=PromptRecord(version="v1", source="own", digest="d"))]
    for i, entry in enumerate(outcomes):
        for epoch, value in enumerate(entry if isinstance(entry, list) else [entry], 1):
            scored = not isinstance(value, Outcome)
            for cid, given in (verdicts or {}).items():
                events.append(VerdictGiven(task=str(i), epoch=epoch, criterion=cid, verdict=given[0], strict=given[1]))
            events.append(TaskFinished(task=str(i), epoch=epoch, outcome=Outcome.SCORED if scored else value,
                                       score=float(value) if scored else None))
    return fold([*events, RunFinished(t=9, status="finished")])


# https://github.com/UKGovernmentBEIS/inspect_ai/pull/3814: 80 of 90 was shown where 80 of 100 had been attempted
def test_both_means_stand_together_with_their_denominators() -> None:
    s = summarise(view([1.0] * 9 + [Outcome.FILTERED]))
    assert s.sentence == "9 of 9 scored = 100 %, 9 of 10 attempted = 90 %"
    assert (s.scored.value, s.attempted.value) == (1.0, 0.9)
    assert s.scored.tasks == 9 and s.attempted.tasks == 10


@pytest.mark.parametrize("outcome", list(Outcome))
def test_only_the_models_own_failures_count_as_zero(outcome: Outcome) -> None:
    if outcome is Outcome.SCORED:
        return
    s = summarise(view([0.8, 0.8, 0.8, outcome]))
    own = outcome in (Outcome.SOLVER_EMPTY, Outcome.SOLVER_CUT, Outcome.FILTERED)
    assert s.scored.value == pytest.approx(0.8)
    assert s.attempted.value == pytest.approx(0.6 if own else 0.8)
    assert s.counts[outcome.value] == 1 and s.scored_count == 3 and s.planned == s.ended == 4


# https://github.com/EleutherAI/lm-evaluation-harness/issues/4070: ten full marks were printed with +- 0.0000
def test_ten_equal_scores_have_an_interval_that_is_no_point() -> None:
    mean = summarise(view([1.0] * 10)).scored
    assert mean.interval and mean.interval.low < 0.8 and mean.interval.high == 1 and NO_SPREAD in mean.note


# https://github.com/confident-ai/deepeval/pull/3077: one pass was shown as 100 % with no doubt
def test_one_task_says_that_it_has_no_interval() -> None:
    mean = summarise(view([1.0])).scored
    assert mean.interval is None and mean.note == ONE_TASK


# https://github.com/EleutherAI/lm-evaluation-harness/issues/4019: Wilson was offered for partial credit
def test_means_are_bootstrapped_and_only_verdicts_get_wilson() -> None:
    s = summarise(view([0.3 + 0.05 * i for i in range(12)], verdicts={"1-01": (True, True)}))
    assert s.scored.interval and "bootstrap" in s.scored.interval.method
    assert all(r.rate.interval and "Wilson" in r.rate.interval.method for r in s.by_layer)


# https://github.com/pinchbench/skill/issues/8: users asked for the spread between epochs and for retry counts
def test_epochs_spread_and_retries_are_in_the_table() -> None:
    made = view([[0.5, 0.7], [0.9, 0.9]], epochs=2, verdicts={"1-01": (True, True)})
    s = summarise(made)
    assert [round(e.mean or 0, 3) for e in s.epochs] == [0.7, 0.8]
    assert s.epoch_spread == pytest.approx(0.1)  # variances 0.02 and 0, mean 0.01, root 0.1
    assert s.scored.tasks == 2 and s.scored.value == pytest.approx(0.75)
    made.spend["judge"].calls, made.spend["judge"].faults = 4 + 1 + 2, 2  # 4 verdicts, 1 asked again, 2 failed calls
    again = summarise(made)
    assert again.verdict_retries == 1 and again.api_retries == 2


# https://github.com/LiveBench/LiveBench/pull/420: faults of the model and of the judge were mixed in one number
def test_faults_are_told_apart_by_stage_and_many_advise_a_rerun() -> None:
    s = summarise(view([o for o in Outcome if o is not Outcome.SCORED] + [0.5]))
    assert {(e.owner, e.outcome) for e in s.errors} == {
        ("model", Outcome.SOLVER_EMPTY), ("model", Outcome.SOLVER_CUT), ("model", Outcome.FILTERED),
        ("judge", Outcome.JUDGE_UNPARSABLE), ("provider", Outcome.API_ERROR), ("cap", Outcome.SKIPPED_BY_CAP),
        ("visitor", Outcome.CANCELLED)}
    assert {e.stage for e in s.errors if e.owner == "model"} == {"solver"}
    assert s.advice.startswith("2 of 8 tasks (25 %)")
    assert summarise(view([0.5] * 39 + [Outcome.API_ERROR])).advice == ""
    assert summarise(view([0.5] * 3 + [Outcome.SOLVER_EMPTY] * 3)).advice == "", "the model's own failures need no rerun"


def test_a_negative_score_is_shown_as_it_is_and_clipped_beside_it() -> None:
    s = summarise(view([0.6, -0.4]))
    assert s.scored.value == pytest.approx(0.1)
    assert s.clipped and s.clipped.value == pytest.approx(0.3) and "published" in s.clipped_label
    assert s.distribution[0].low is None and s.distribution[0].count == 1
    assert summarise(view([0.6, 0.4])).clipped is None


def test_a_negative_weight_judged_false_is_a_pass() -> None:
    s = summarise(view([0.5] * 3, verdicts={"1-01": (True, True), "01a-01": (False, False), "05u1": (False, False)}))
    rates = {r.layer: r.rate for r in s.by_layer}
    assert rates[Layer.TASK].value == 1 and rates[Layer.CONSENSUS].value == 0 and rates[Layer.UNIVERSAL].value == 1
    assert s.missed[0].criterion == "05u1" and s.missed[0].missed == 0
    applied = summarise(view([0.5] * 3, verdicts={"05u1": (True, True)}))
    assert applied.missed[0].missed == 3
    assert {(c.competency, c.layer) for c in s.heat} == {(f"0{i}. C", layer) for i in (0, 1) for layer in Layer}


def test_verdicts_only_the_lenient_rule_read_are_counted() -> None:
    s = summarise(view([0.5] * 2, verdicts={"1-01": (True, None), "05u1": (False, False), "01a-01": (None, None)}))
    assert s.lenient_only == 2 and s.verdicts == 4 and s.unread == {"unreadable": 2}


def test_small_groups_say_so_and_every_group_counts_its_tasks() -> None:
    s = summarise(view([0.5, 0.6, 0.7, 0.8, 0.9, Outcome.API_ERROR]))
    assert [(g.name, g.chosen, g.scored.tasks) for g in s.by_competency] == [("00. C", 3, 3), ("01. C", 3, 2)]
    assert all("fewer than 5 tasks" in g.scored.note for g in s.by_competency)
    level = s.by_facet["level"][0]
    assert level.name == "A2" and level.scored.tasks == 5 and level.scored.note == ""


def test_a_score_stands_in_the_bin_its_figure_names() -> None:
    bins = {b.low: b.count for b in summarise(view([0.3, 0.29, 0.7, 1.0, 0.0])).distribution}
    assert bins[0.3] == 1 and bins[0.2] == 1 and bins[0.7] == 1 and bins[0.9] == 1 and bins[0.0] == 1


def test_a_stratified_sample_is_resampled_within_strata_for_its_finite_set() -> None:
    scores = [0.2 + 0.01 * i if i % 2 else 0.8 + 0.01 * (i % 9) for i in range(20)]
    first, drawn = summarise(view(scores)), summarise(view(scores, sampling="stratified", sample_limit=20))
    assert first.scored.interval and drawn.scored.interval
    assert first.scored.value == drawn.scored.value
    assert drawn.scored.interval.high - drawn.scored.interval.low < (first.scored.interval.high - first.scored.interval.low) * 0.6
    assert "strata" in drawn.scored.interval.method and "finite" in drawn.scored.interval.method
    subset = summarise(view(scores, sampling="stratified", sample_limit=20, competency=["00. C"])).scored.interval
    assert subset and "finite" not in subset.method, "how many tasks the subset has is not known"


def test_losses_in_one_competency_are_reweighted_and_said() -> None:
    entries: list[Any] = [Outcome.API_ERROR if i % 2 and i > 9 else 0.4 + 0.001 * i if i % 2 else 0.8 for i in range(20)]
    s = summarise(view(entries, sampling="stratified", sample_limit=20))
    assert s.reweighted and s.reweighted.value == pytest.approx((0.8 + 0.405) / 2)
    assert summarise(view(entries, sampling="stratified", sample_limit=20), population={"00. C": 300, "01. C": 100}).reweighted \
        .value == pytest.approx(0.75 * 0.8 + 0.25 * 0.405)
    assert summarise(view(entries)).reweighted is None


def test_a_cut_answer_that_was_scored_is_counted_beside() -> None:
    made = view([0.5, 0.5])
    made.attempts["0", 1].cut = True
    assert summarise(made).cut == 1


def test_unknown_cost_stays_unknown() -> None:
    assert summarise(made_view(seed=1, priced=False)).spend.cost is None
    spend = summarise(made_view(seed=1)).spend
    assert spend.cost and spend.cost == pytest.approx((spend.solver_cost or 0) + (spend.judge_cost or 0))


@pytest.mark.parametrize("events", [[], [Answered(task="1")], [Call(id="s/1/1/1", role="solver")]])
def test_a_run_without_any_result_has_a_summary(events: list) -> None:
    s = summarise(fold(events))
    assert s.scored.value is None and s.sentence == "no task attempted yet" and s.errors == ()


def test_percent_keeps_one_decimal_at_most() -> None:
    texts = {1.0: "100 %", 0.9: "90 %", 0.8336: "83.4 %", 0.0: "0 %", -0.0001: "0 %", -0.25: "-25 %", None: "–"}
    assert {value: percent(value) for value in texts} == texts


def test_a_summary_is_plain_json_without_nan() -> None:
    import json
    json.dumps(summarise(made_view(seed=2, tasks=30, faults=0.4)).model_dump(mode="json"), allow_nan=False)


def test_a_thousand_tasks_of_twenty_criteria_are_summed_up_whole() -> None:
    own = [[PlannedCriterion(id=f"{i}-{c}", layer=Layer.TASK, weight=3) for c in range(12)] for i in range(1000)]
    shared = [PlannedCriterion(id=f"{c:02d}u1", layer=Layer.UNIVERSAL, weight=3) for c in range(8)]
    tasks = tuple(PlannedTask(key=str(i), competency=f"{i % 12:02d}", facets={f"f{k}": (str(i % (k + 3)),) for k in range(12)},
                              criteria=(*own[i], *shared)) for i in range(1000))
    events: list[Any] = [RunStarted(spec={}, spec_digest="", versions={}, differences=(), tasks=tasks,
                                    data=DataRecord(kind="demo", name="d"),
                                    prompt=PromptRecord(version="v1", source="own", digest=""))]
    for t in tasks:
        events += [VerdictGiven(task=t.key, criterion=c.id, verdict=(int(t.key) + k) % 4 > 0) for k, c in enumerate(t.criteria)]
        events.append(TaskFinished(task=t.key, outcome=Outcome.SCORED, score=0.5 + int(t.key) % 50 / 100))
    made = fold(events)
    found = summarise(made)
    assert (found.scored_count, len(found.by_competency), len(found.by_facet)) == (1000, 12, 12)
    assert sum(layer.rate.total for layer in found.by_layer) == 20_000
