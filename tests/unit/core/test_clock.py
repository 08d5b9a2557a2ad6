"""A clock that is set back: times go on, limits and waits do not grow."""

import time

import pytest

from pipeline.core import clock
from pipeline.errors import UserError
from runner.limits import Admission, Limits


@pytest.fixture(autouse=True)
def own_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "_last", time.time())
    monkeypatch.setattr(clock, "_at", time.monotonic())


def test_time_goes_on_at_its_own_pace_after_the_clock_was_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    before, real, steady = clock.now(), time.time, time.monotonic
    monkeypatch.setattr(clock.time, "time", lambda: real() - 7200)
    assert before <= clock.now() < before + 5
    monkeypatch.setattr(clock.time, "monotonic", lambda: steady() + 100)
    assert before + 100 <= clock.now() < before + 105


def test_a_resumed_run_goes_on_from_what_was_written_before_the_clock_was_set_back() -> None:
    written = clock.now() + 3600
    clock.not_before(written)
    assert clock.now() >= written
    clock.not_before(written + 1e9)
    assert clock.now() < written + 5


def test_starts_of_the_last_hour_are_forgotten_after_an_hour_whatever_the_clock_says(monkeypatch: pytest.MonkeyPatch) -> None:
    admission, real, steady = Admission(Limits(total_starts=1)), time.time, time.monotonic
    admission.admit(("a",), (), clock.now())
    monkeypatch.setattr(clock.time, "time", lambda: real() - 90_000)
    with pytest.raises(UserError, match="in 60 minutes|in 61 minutes"):
        admission.admit(("a",), (), clock.now())
    monkeypatch.setattr(clock.time, "monotonic", lambda: steady() + 3700)
    admission.admit(("a",), (), clock.now())
