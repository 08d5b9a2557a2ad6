"""A sign-in that is over stays over: after a restart, after a crash in mid line, on a disk that refuses."""

import os
from pathlib import Path

import pytest

from runner.logins import LONGEST, NAME, Logins


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_what_is_no_id_of_a_sign_in_is_never_live() -> None:
    logins = Logins()
    assert logins.live(logins.new())
    for wrong in (None, "", 0, [], {}, "short", True):
        assert not logins.live(wrong)
        logins.end(wrong)


def test_a_sign_out_holds_over_a_restart_and_is_kept_as_a_digest(tmp_path: Path) -> None:
    clock = Clock()
    logins = Logins(tmp_path, clock)
    one, two = logins.new(), logins.new()
    logins.end(one, 2000.0)
    assert not logins.live(one) and logins.live(two)
    again = Logins(tmp_path, clock)
    assert not again.live(one) and again.live(two)
    assert one not in (tmp_path / NAME).read_text() and os.stat(tmp_path / NAME).st_mode & 0o077 == 0


def test_it_is_forgotten_when_the_token_ends(tmp_path: Path) -> None:
    clock = Clock()
    logins = Logins(tmp_path, clock)
    for until in (1500.0, None, 9e12):
        logins.end(logins.new(), until)
    clock.now = 1600.0
    assert logins.sweep() == 1
    clock.now = 1000.0 + LONGEST + 1
    assert Logins(tmp_path, clock).sweep() == 0 and (tmp_path / NAME).read_text() == ""


def test_a_line_that_a_crash_cut_costs_no_other(tmp_path: Path) -> None:
    logins = Logins(tmp_path)
    one, two = logins.new(), logins.new()
    logins.end(one)
    with (tmp_path / NAME).open("a") as out:
        out.write('{"login": "half')
    Logins(tmp_path).end(two)
    again = Logins(tmp_path)
    assert not again.live(one) and not again.live(two)


def test_a_disk_that_refuses_does_not_keep_anyone_signed_in(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    logins = Logins(tmp_path / "file")
    one = logins.new()
    logins.end(one)
    assert not logins.live(one) and "could not be written" in caplog.text
