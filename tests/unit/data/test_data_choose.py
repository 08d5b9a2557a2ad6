"""The subset and the sample are what was asked for, in file order, and the same on every machine."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.data.choose import choose, sample, subset
from pipeline.data.records import Criterion, Layer, Task
from pipeline.errors import UserError
from pipeline.spec import ModelSpec, RunSpec

ROOT = Path(__file__).resolve().parents[3]


def task(key: str, competency: str = "01. Plan", subs: tuple = (), **facets: tuple[str, ...]) -> Task:
    named = {name.replace("_", " "): values for name, values in facets.items()}
    rubric = (Criterion("01", Layer.TASK, "d", 1),)
    return Task(key, competency, "t", "s", rubric, "r", subcompetencies=subs, facets=named)


def spec(**options) -> RunSpec:
    return RunSpec(solver=ModelSpec(model="demo/strong"), **options)


TASKS = [
    task("3", "01. Plan", ("01a. Course",), level=("A1",), learner_age=("adults",)),
    task("10", "02. Teach", ("02a. Adapt", "02b. Explain"), level=("A2", "B1"), learner_age=("teenagers",)),
    task("007", "01. Plan", ("01b. Lesson",), level=("B1",), learner_age=("Adults",)),
    task("7", "03. Assess", level=("A1",)),
]


def keys(**options) -> list[str]:
    return [t.key for t in choose(TASKS, spec(**options))]


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({}, ["3", "10", "007", "7"]),
        ({"competency": ("01. plan",)}, ["3", "007"]),
        ({"competency": ("03. Assess", "02. Teach")}, ["10", "7"]),
        ({"competency": ("03",)}, ["7"]),
        ({"competency": ("3",)}, ["7"]),
        ({"subcompetency": ("02b. Explain",)}, ["10"]),
        ({"subcompetency": ("01A.  course", "01b. Lesson")}, ["3", "007"]),
        ({"context": (("Level", "a1"),)}, ["3", "7"]),
        ({"context": (("level", "A1"), ("LEVEL", "B1"))}, ["3", "10", "007", "7"]),
        ({"context": (("level", "A1"), ("learner_age", "ADULTS"))}, ["3"]),
        ({"competency": ("01. Plan",), "context": (("level", "B1"),)}, ["007"]),
        ({"task_ids": ("7", "3")}, ["3", "7"]),
        ({"task_ids": ("7", "007", "7")}, ["007", "7"]),
        ({"sample_limit": 2}, ["3", "10"]),
        ({"sample_limit": 99}, ["3", "10", "007", "7"]),
        ({"context": (("level", "B1"),), "sample_limit": 1}, ["10"]),
    ],
)
def test_filters_choose_in_file_order(options, wanted):
    assert keys(**options) == wanted


@pytest.mark.parametrize(
    ("options", "named", "near"),
    [
        ({"task_ids": ("3", "99", "98")}, '"99", "98"', ""),
        ({"task_ids": ("07",)}, '"07"', '"007"'),
        ({"competency": ("01. Plann",)}, '"01. Plann"', '"01. Plan"'),
        ({"competency": ("assess",)}, '"assess"', '"03. Assess"'),
        ({"subcompetency": ("02c",)}, '"02c"', '"02a. Adapt"'),
        ({"context": (("levels", "A1"),)}, '"levels"', '"level"'),
        ({"context": (("level", "A3"),)}, '"A3"', '"A1"'),
        ({"context": (("level", "C2"),)}, '"C2"', '"A1"'),
    ],
)
def test_an_unknown_name_is_refused_with_what_comes_near(options, named, near):
    with pytest.raises(UserError) as caught:
        keys(**options)
    assert named in caught.value.found and near in caught.value.expected


def test_nothing_left_is_refused():
    with pytest.raises(UserError, match="No task is left of 4"):
        subset(TASKS, spec(competency=("03. Assess",), context=(("level", "B1"),)))


def many(sizes: dict[str, int]) -> list[Task]:
    tasks = [task(f"{name}{n}", name) for name, size in sizes.items() for n in range(size)]
    return sorted(tasks, key=lambda t: hash_free_order(t.key))


def hash_free_order(key: str) -> str:
    return key[::-1]


def test_a_stratified_sample_is_proportional_by_largest_remainder():
    # quotas of 10 from 50, 30, 20 are 5, 3, 2; of 11: 5.5, 3.3, 2.2 -> the one left over goes to the first
    tasks = many({"a": 50, "b": 30, "c": 20})
    for limit, wanted in ((10, {"a": 5, "b": 3, "c": 2}), (11, {"a": 6, "b": 3, "c": 2})):
        assert Counter(t.competency for t in sample(tasks, limit, "stratified", 1)) == wanted


def test_every_competency_has_a_task_where_the_cap_allows():
    tasks = many({"a": 97, "b": 1, "c": 1, "d": 1})
    assert Counter(t.competency for t in sample(tasks, 4, "stratified", 5)) == {"a": 1, "b": 1, "c": 1, "d": 1}
    assert Counter(t.competency for t in sample(tasks, 10, "stratified", 5)) == {"a": 7, "b": 1, "c": 1, "d": 1}


@given(st.lists(st.integers(1, 30), min_size=1, max_size=14), st.integers(1, 250), st.integers(0, 2**40))
def test_a_sample_has_its_size_its_order_and_its_spread(sizes, limit, seed):
    by_name = {f"c{n}-": size for n, size in enumerate(sizes)}
    tasks = many(by_name)
    chosen = sample(tasks, limit, "stratified", seed)
    assert len(chosen) == min(limit, len(tasks))
    assert chosen == [t for t in tasks if t in chosen]
    share = Counter(t.competency for t in chosen)
    if limit >= len(sizes):
        assert len(share) == len(sizes)
    for name, size in by_name.items():
        assert share[name] <= max(1, -(-limit * size // len(tasks)))


def test_the_seed_decides_and_nothing_else_does():
    tasks = many({"a": 40, "b": 40})
    drawn = [tuple(t.key for t in sample(tasks, 8, "stratified", seed)) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    shuffled = sample(tasks[::-1], 8, "stratified", 1)
    assert {t.key for t in shuffled} == set(drawn[0])


def test_the_draw_is_the_same_on_every_python_and_machine():
    tasks = [task(str(n), "ab"[n % 2]) for n in range(40)]
    assert [t.key for t in sample(tasks, 6, "stratified", 0)] == DRAWN
    code = (
        "from pipeline.data.choose import sample; from pipeline.data.records import Task;"
        "t=[Task(str(n),'ab'[n%2],'','',(),'') for n in range(40)];"
        "print([x.key for x in sample(t,6,'stratified',0)])"
    )
    for hash_seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, env={"PYTHONHASHSEED": hash_seed}
        )
        assert done.stdout.strip() == str(DRAWN)


# worked out once from sha256("0\0<key>"): the three smallest of the even keys and of the odd keys, in file order
DRAWN = ["1", "8", "14", "22", "29", "31"]


@given(st.lists(st.integers(1, 30), min_size=1, max_size=9), st.lists(st.integers(1, 250), min_size=2, max_size=5), st.integers(0, 99),
       st.sampled_from(["first", "stratified"]))
def test_a_sample_that_grew_holds_the_smaller_one_and_keeps_its_spread(sizes, limits, seed, sampling):
    # largest remainders alone give a competency fewer tasks of a larger sample (the Alabama paradox)
    tasks = many({f"c{n}-": size for n, size in enumerate(sizes)})
    specs = [spec(sample_limit=n, sampling=sampling, seed=seed) for n in sorted(limits)]
    for i, step in enumerate(specs):
        chosen = choose(tasks, step, specs[:i])
        assert len(chosen) == min(step.sample_limit, len(tasks)) and chosen == [t for t in tasks if t in chosen]
        before = choose(tasks, specs[i - 1], specs[: i - 1]) if i else []
        assert {t.key for t in before} <= {t.key for t in chosen}
        if sampling == "first":
            assert chosen == tasks[: step.sample_limit]


def test_a_larger_sample_alone_does_not_hold_the_smaller_one():
    """Why a run that grows keeps its tasks by name: quotas of 10 and 11 by largest remainder, worked out by hand."""
    tasks = many({"a": 6, "b": 6, "c": 2})  # of 10: 4.29, 4.29, 1.43 -> c has the remainder; of 11: 4.71, 4.71, 1.57 -> a and b have it
    ten, eleven = (spec(sample_limit=n, sampling="stratified") for n in (10, 11))
    assert Counter(t.competency for t in choose(tasks, ten))["c"] == 2 > Counter(t.competency for t in choose(tasks, eleven))["c"]
    grown = choose(tasks, eleven, [ten])
    assert len(grown) == 11 and {t.key for t in choose(tasks, ten)} < {t.key for t in grown}


def test_a_filter_decides_the_same_for_one_task_as_for_all():
    from pipeline.data.choose import passes

    for options in ({"competency": ("3",)}, {"competency": ("01. plan", "03")}, {"subcompetency": ("01A.  course", "02b. Explain")},
                    {"context": (("level", "A1"), ("LEVEL", "B1"), ("learner_age", "adults"))}, {"task_ids": (" 7", "3")}, {}):
        assert [t for t in TASKS if passes(t, spec(**options))] == subset(TASKS, spec(**options))


@pytest.mark.parametrize("narrower", [{"sample_limit": 2}, {"task_ids": ("3", "10")}, {"competency": ("02",)}])
def test_a_run_that_grew_is_never_smaller(narrower):
    with pytest.raises(UserError, match="left out|cannot go on"):
        choose(TASKS, spec(**narrower), [spec(sample_limit=3)])
