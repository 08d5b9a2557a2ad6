"""The compact stream as a pure function of events: positions, replacing, throttling, a resumed run, another plan."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.events import (
    Call,
    DataRecord,
    PlannedCriterion,
    PlannedTask,
    PromptRecord,
    Reestimated,
    RunFinished,
    RunStarted,
    TaskFinished,
    TaskStarted,
    VerdictGiven,
    Waiting,
)
from pipeline.judging.outcomes import Outcome
from runner.folded import Folded
from runner.wire import LAYERS, OUTCOMES, brief_json, plan_json
from tests.made_runs import made_view


def started(tasks: int = 3, criteria: int = 4, epochs: int = 1, **more: Any) -> RunStarted:
    planned = tuple(
        PlannedTask(
            key=f"k{i}", competency=f"c{i % 2}",
            criteria=tuple(PlannedCriterion(id=f"k{i}-{c}", layer="task", weight=1) for c in range(criteria)),
        )
        for i in range(tasks)
    )
    return RunStarted(
        spec={"epochs": epochs, "max_cost": 2.0}, spec_digest="", tasks=planned, versions={}, differences=(),
        data=DataRecord(kind="demo", name=""), prompt=PromptRecord(version="v1", source="own", digest=""), **more,
    )


def scored(key: str, epoch: int = 1, **more: Any) -> TaskFinished:
    return TaskFinished(task=key, epoch=epoch, **{"outcome": Outcome.SCORED, "score": 0.5, **more})


def items(folded: Folded, position: int = 0, version: int = 0, now: float = 1e9) -> list[Any]:
    folded.wire.publish(now, folded.view)
    return [json.loads(text) for text in folded.wire.since(position, version, now).items]


def fed(*events: Any) -> Folded:
    folded = Folded()
    for event in events:
        folded.apply(event)
    return folded


def test_letters_follow_the_verdict_and_outcomes_have_codes() -> None:
    f = fed(
        started(criteria=4),
        VerdictGiven(task="k0", criterion="k0-0", verdict=True),
        VerdictGiven(task="k0", criterion="k0-1", verdict=False),
        VerdictGiven(task="k0", criterion="k0-3", verdict=None, cause="empty"),
        scored("k0", outcome=Outcome.JUDGE_UNPARSABLE, score=None),
        scored("k1", cut=True, score=-0.123456),
    )
    sent = items(f)
    assert [0, "PF-x", OUTCOMES.index("judge_unparsable"), None] in sent
    assert [1, "----", OUTCOMES.index("scored_cut"), -0.1235] in sent


def test_the_brief_plan_tells_layers_and_penalties_of_the_whole_plan() -> None:
    view = made_view(tasks=30)
    whole, brief = (json.loads(made(view.tasks, 1)) for made in (plan_json, brief_json))
    seen = set()
    for (name, competency, _, _, criteria), short in zip(whole["tasks"], brief["tasks"], strict=True):
        assert short == [name, competency, "".join(("abc" if w > 0 else "ABC")[layer] for _, layer, w in criteria)]
        seen |= set(short[2])
    assert len(LAYERS) == 3 and {"a", "b", "c", "A"} <= seen, seen


def test_epochs_have_indexes_of_their_own() -> None:
    f = fed(started(tasks=3, epochs=2), scored("k2", 1), scored("k2", 2))
    assert [i[0] for i in items(f) if isinstance(i[0], int)] == [2, 5]


def test_what_is_not_published_is_not_seen() -> None:
    f = fed(started())
    assert f.wire.since(0, 0, 0).items == []
    assert items(f)[0][0] == "p"


def test_a_replayed_task_is_sent_once_and_a_changed_one_again() -> None:
    f = fed(started(tasks=700, criteria=5), scored("k0"), scored("k1", outcome=Outcome.API_ERROR, score=None))
    f.apply(started(tasks=700, criteria=5, resumed=True))
    f.apply(scored("k0"))
    f.apply(scored("k1"))
    assert [i[0] for i in items(f) if isinstance(i[0], int)] == [0, 1, 1]


def test_another_plan_sends_what_is_done_again_under_its_new_indexes() -> None:
    pilot = started(tasks=2, criteria=600)
    f = fed(pilot, scored("k1"))
    whole = started(tasks=5, criteria=600)
    f.apply(whole.model_copy(update={"tasks": tuple(reversed(whole.tasks))}))
    sent = items(f)
    last_plan = max(i for i, item in enumerate(sent) if item[0] == "p")
    assert [item[0] for item in sent[last_plan:] if isinstance(item[0], int)] == [3]


def test_a_position_of_another_life_is_answered_with_everything() -> None:
    f = fed(started(), scored("k0"))
    assert items(f, position=999)[0][0] == "p"


def test_states_are_sent_once_and_only_the_newest() -> None:
    f = fed(started(), Reestimated(after_tasks=5, estimate={"a": 1}), Reestimated(after_tasks=9, estimate={"a": 2}))
    f.wire.publish(100.0, f.view)
    first = f.wire.since(0, 0, 100.0)
    assert '["e",9,{"a":2}]' in first.items and '["e",5,{"a":1}]' not in first.items
    assert f.wire.since(first.position, first.version, 100.0).items == []


def test_money_is_told_at_most_once_a_second_and_never_lost_at_the_end() -> None:
    f = fed(started())
    told = []
    version = 0
    for tick in range(50):
        f.apply(Call(id=str(tick), role="solver", input=1, output=1, cost=0.01, cost_source="table"))
        f.wire.publish(100 + tick * 0.2, f.view)
        batch = f.wire.since(1, version, 100 + tick * 0.2)
        version = batch.version
        told += [i for i in batch.items if i.startswith('["$"')]
    assert 9 <= len(told) <= 11
    f.wire.publish(110.0, f.view, final=True)
    [last] = [json.loads(i) for i in f.wire.since(1, version, 110.0).items if i.startswith('["$"')]
    assert last[1] == 0.5 and last[3] == 2.0


def test_an_unknown_price_is_never_told_as_zero() -> None:
    f = fed(started(), Call(id="1", role="judge", input=1, output=1))
    [money] = [i for i in items(f) if i[0] == "$"]
    assert money[1] is None and money[2] is None


def test_waiting_counts_down_and_ends() -> None:
    f = fed(started(), Waiting(t=100.0, role="judge", reason="overloaded", seconds=10, attempt=3))
    f.wire.publish(101.0, f.view)
    assert '["w",9.0,"overloaded","judge",3]' in f.wire.since(0, 0, 101.0).items
    assert '["w",4.0,"overloaded","judge",3]' in f.wire.since(0, 0, 106.0).items
    version = f.wire.version
    f.wire.publish(111.0, f.view)
    assert '["w"]' in f.wire.since(0, version, 111.0).items


def test_events_of_unknown_tasks_change_nothing() -> None:
    f = fed(started(), scored("nobody"), TaskStarted(task="nobody"), scored("k0", epoch=7),
            VerdictGiven(task="k0", criterion="nothing", verdict=True))
    assert [i[0] for i in items(f)] == ["p", "s", "$"]


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from(["t", "v", "f", "r"])), max_size=60), st.data())
def test_dropping_the_stream_anywhere_loses_nothing(moves: list[tuple[int, str]], data: st.DataObject) -> None:
    f = fed(started(tasks=5, criteria=2))
    position = version = 0
    seen: dict[int, Any] = {}
    for place, what in moves:
        task = f"k{place}"
        f.apply({
            "t": TaskStarted(task=task), "v": VerdictGiven(task=task, criterion=f"{task}-0", verdict=bool(place % 2)),
            "f": scored(task, score=len(f.wire._log) / 10), "r": started(tasks=5, criteria=2, resumed=True),
        }[what])
        if data.draw(st.booleans()):
            f.wire.publish(1.0, f.view)
            batch = f.wire.since(position, version, 1.0)
            if data.draw(st.booleans()):  # else the message was lost with its connection
                position, version = batch.position, batch.version
                seen |= {i[0]: i for i in map(json.loads, batch.items) if isinstance(i[0], int)}
            else:
                version = 0
    f.apply(RunFinished(status="finished"))
    f.wire.publish(2.0, f.view, final=True)
    seen |= {i[0]: i for i in map(json.loads, f.wire.since(position, version, 2.0).items) if isinstance(i[0], int)}
    whole = {i[0]: i for i in map(json.loads, f.wire.since(0, 0, 2.0).items) if isinstance(i[0], int)}
    assert seen == whole
