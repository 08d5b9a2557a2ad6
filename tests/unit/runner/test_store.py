"""Folders on disk: a torn journal, a lost meta record, a full disk, two servers, deletion."""

import os
from pathlib import Path

import pytest

from pipeline.errors import UserError
from pipeline.events import RunFinished, read_journal, to_line
from pipeline.spec import ModelSpec, RunSpec
from runner.sharing import Meta
from runner.store import RESTARTED, Store
from tests.unit.runner.test_wire import scored, started

SPEC = RunSpec(solver=ModelSpec(model="a/b"))
KEY = "0" * 32


@pytest.fixture
def store(tmp_path: Path):
    made = Store(tmp_path)
    yield made
    made.close()


def written(store: Store, *events: object, tail: bytes = b"", **meta: object) -> Path:
    folder = store.create(Meta(key=KEY, created=1.0, **meta), SPEC, {})
    (folder / "events.jsonl").write_bytes(b"".join(to_line(e).encode() + b"\n" for e in events) + tail)
    return folder


def last(folder: Path) -> object:
    return list(read_journal((folder / "events.jsonl").read_bytes().splitlines()))[-1]


def test_a_run_that_was_cut_in_the_middle_of_a_line_is_ended_and_readable(store: Store) -> None:
    folder = written(store, started(), scored("k0"), tail=b'{"kind":"task_fin')
    assert store.scan() == [KEY]
    assert last(folder).status == "interrupted" and last(folder).reason == RESTARTED
    meta = store.metas[KEY]
    assert meta.ended and meta.card["status"] == "interrupted" and meta.card["done"] == 1
    assert store.scan() == []


@pytest.mark.parametrize("tail", [b"", b'{"kind":"run_started","spec":{' + b"x" * 100_000])
def test_an_older_end_does_not_hide_that_the_resumed_run_was_cut(store: Store, tail: bytes) -> None:
    folder = written(store, started(), RunFinished(status="stopped"), started(resumed=True), tail=tail)
    assert store.scan() == [KEY] and last(folder).status == "interrupted"


def test_a_run_that_ended_before_its_meta_record_said_so_is_left_as_it_is(store: Store) -> None:
    folder = written(store, started(), RunFinished(t=7.0, status="capped", reason="r"))
    assert store.scan() == []
    assert last(folder).status == "capped" and store.metas[KEY].ended == 7.0
    assert store.metas[KEY].card["status"] == "capped"


def test_a_run_cut_before_its_first_event_is_ended_too(store: Store) -> None:
    store.create(Meta(key=KEY, created=1.0), SPEC, {})
    assert store.scan() == [KEY]
    view = store.load(KEY).view
    assert view.status == "interrupted" and view.spec["solver"]["model"] == "a/b"


def test_a_lost_meta_record_gives_the_run_back_without_its_text(store: Store) -> None:
    folder = written(store, started(), RunFinished(status="finished"))
    (folder / "meta.json").write_text("{")
    store.metas.clear()
    store.scan()
    assert store.metas[KEY].bound and store.metas[KEY].level == "private"


def test_one_server_at_a_time(store: Store, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="Another server"):
        Store(tmp_path)
    store.close()
    Store(tmp_path).close()


def test_deletion_leaves_nothing_and_finishes_what_a_crash_left(store: Store) -> None:
    folder = written(store, started(), public_id="p-" + "a" * 20, level="public")
    (folder / "private" / "log.eval").write_bytes(b"x")
    store.remove(KEY)
    assert list(store.runs.iterdir()) == [] and store.by_public("p-" + "a" * 20) is None
    (store.runs / ".gone-1" / "private").mkdir(parents=True)
    store.scan()
    assert list(store.runs.iterdir()) == []


def test_only_this_user_reads_the_folders(store: Store) -> None:
    folder = written(store, started())
    for path in (store.runs, folder / "meta.json", folder / "spec.json", store.home / "salt"):
        assert os.stat(path).st_mode & 0o077 == 0, path


def test_no_folder_is_opened_from_a_foreign_name(store: Store) -> None:
    for name in ("../x", "", "A" * 32, "."):
        with pytest.raises(KeyError):
            store.folder(name)
