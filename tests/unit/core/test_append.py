"""Lines that the disk refuses wait in memory, whole; what is half in a file is taken back."""

import os
from pathlib import Path

import pytest

from pipeline.core.append import Appender, Room
from pipeline.core.files import write_whole


class Disk:
    """`os.write` that takes so many bytes more and then refuses."""

    def __init__(self, left: int) -> None:
        self.left, self._write = left, os.write

    def write(self, fd: int, data: bytes) -> int:
        if fd <= 2:
            return self._write(fd, data)
        if self.left <= 0:
            raise OSError(28, "No space left on device")
        taken = self._write(fd, bytes(data)[: self.left])
        self.left -= taken
        return taken


def test_nothing_is_half_written_or_written_twice_when_the_disk_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "lines"
    lines = Appender(path)
    assert lines.write("first") is None
    monkeypatch.setattr(os, "write", (disk := Disk(4)).write)
    assert lines.write("second") is not None and lines.write("third") is not None and lines.waiting == 2
    assert path.read_bytes() == b"first\n"
    disk.left = 100
    assert lines.write("fourth") is None and path.read_text().split() == ["first", "second", "third", "fourth"]
    lines.close()


def test_room_that_was_kept_free_is_given_back_at_the_first_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk, room = Disk(4), Room(tmp_path / "room", 1000)

    def give() -> bool:
        disk.left += 1000
        return room.give()

    lines = Appender(tmp_path / "lines", give)
    monkeypatch.setattr(os, "write", disk.write)
    assert lines.write("a whole line") is None and (tmp_path / "lines").read_text() == "a whole line\n"
    assert not (tmp_path / "room").exists() and not room.give()


def test_a_line_that_a_crash_cut_is_ended_first_and_a_file_that_has_gone_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"one\ntw")
    lines = Appender(path)
    assert lines.write("three") is None and path.read_bytes() == b"one\ntw\nthree\n"
    path.unlink()
    assert isinstance(lines.write("four"), FileNotFoundError) and lines.waiting == 1


def test_a_small_file_is_as_before_where_the_disk_refuses_and_nothing_is_left_behind(tmp_path: Path) -> None:
    path = tmp_path / "spec.json"
    write_whole(path, "before")
    with pytest.raises(UnicodeEncodeError):
        write_whole(path, "\ud800")
    assert path.read_text() == "before" and [p.name for p in tmp_path.iterdir()] == ["spec.json"]
