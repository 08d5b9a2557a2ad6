"""Limits from the environment, and admission over an hour."""

import pytest

from pipeline.errors import UserError
from pipeline.spec import ModelSpec, RunSpec
from runner.limits import VARIABLES, Admission, Limits, is_demo
from runner.sharing import Owner


def test_every_limit_has_its_variable() -> None:
    env = {variable: str(i) for i, variable in enumerate(VARIABLES.values())}
    assert [getattr(Limits.from_env(env), name) for name in VARIABLES] == list(range(len(VARIABLES)))


def test_private_runs_are_kept_for_ever_at_home_and_30_days_on_a_space() -> None:
    assert Limits.from_env({}).keep_days == 0
    assert Limits.from_env({"SPACE_ID": "a/b"}).keep_days == 30
    assert Limits.from_env({"SPACE_ID": "a/b", "L2BENCH_KEEP_DAYS": "7"}).keep_days == 7


@pytest.mark.parametrize("text", ["x", "-1", "1.5", "1e3", "∞"])
def test_a_limit_that_is_no_number_is_named(text: str) -> None:
    with pytest.raises(UserError, match="L2BENCH_MAX_RUNS"):
        Limits.from_env({"L2BENCH_MAX_RUNS": text})


def test_starts_are_counted_over_sixty_minutes() -> None:
    a = Admission(Limits(visitor_starts=2, total_starts=3))
    a.admit(["v"], [], 0.0)
    a.admit(["v"], [], 1800.0)
    with pytest.raises(UserError, match="30 minutes|31 minutes"):
        a.admit(["v"], [], 1801.0)
    a.admit(["w"], [], 1802.0)
    with pytest.raises(UserError, match="This server has started 3 runs"):
        a.admit(["x"], [], 1803.0)
    a.admit(["v"], [], 3600.5)


def test_a_refused_start_is_not_counted() -> None:
    a = Admission(Limits(visitor_runs=1, visitor_starts=1))
    with pytest.raises(UserError):
        a.admit(["v"], [["v"]], 0.0)
    a.admit(["v"], [], 1.0)


def test_zero_means_no_limit_and_unnamed_visitors_share_none() -> None:
    a = Admission(Limits(total_runs=0, visitor_runs=0, visitor_starts=0, total_starts=0))
    for i in range(500):
        a.admit(["v"], [["v"]] * i, 0.0)
    b = Admission(Limits(visitor_runs=1, visitor_starts=1))
    b.admit([], [[]] * 3, 0.0)
    b.admit([], [[]] * 3, 0.0)


def test_many_accounts_are_no_way_around_the_limits_of_a_network() -> None:
    # Limits counted a signed-in visitor by account alone, so that one address with many accounts had no limit.
    a = Admission(Limits(visitor_runs=1, visitor_starts=2, total_runs=0, total_starts=0))
    behind = [Owner(f"user{i}", "192.0.2.7").names for i in range(4)]
    with pytest.raises(UserError, match="Your network has 4 runs"):
        a.admit(Owner("user9", "192.0.2.7").names, behind, 0.0)
    with pytest.raises(UserError, match="You have 1 runs"):
        a.admit(Owner("USER1", "192.0.2.8").names, behind, 0.0)
    a.admit(Owner("user9", "192.0.2.8").names, behind, 0.0)
    for i in range(8):
        a.admit(Owner(f"many{i}", "192.0.2.9").names, [], 0.0)
    with pytest.raises(UserError, match="Your network has started 8 runs"):
        a.admit(Owner("more", "192.0.2.9").names, [], 0.0)


@pytest.mark.parametrize(("solver", "judge", "demo"), [
    ("demo/strong", "demo/judge", True), ("demo/strong", "openai/gpt-5", False), ("openai/gpt-5", "demo/judge", False),
    ("demostrate/x", "demo/judge", False),
])
def test_only_two_scripted_models_make_a_demo_run(solver: str, judge: str, demo: bool) -> None:
    assert is_demo(RunSpec(solver=ModelSpec(model=solver), judge=ModelSpec(model=judge))) is demo


def test_tasks_are_limited_by_kind() -> None:
    limits = Limits(tasks=100, demo_tasks=10)
    demo, hub = (RunSpec(source=s, solver=ModelSpec(model="a/b"), sample_limit=11, epochs=1) for s in ("demo", "hub"))
    limits.check_size(hub)
    with pytest.raises(UserError, match="At most 10"):
        limits.check_size(demo)
    with pytest.raises(UserError, match="101 tasks"):
        limits.check_tasks(hub, 101)
