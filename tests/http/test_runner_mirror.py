"""Shared runs in a results repo on a fake Hub: pulled before pushed, own runs only, withdrawn ones gone, stalls said."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.mirror import Mirror
from runner.service import RunService
from tests.http.fake_hub import FakeHub, Repo, running
from tests.http.runner_kit import ended, key, service, spec, until

REPO = "owner/results"


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    with running() as made:
        made.add(Repo("dataset", REPO, private=True))
        yield made


def mirror(hub: FakeHub) -> Mirror:
    return Mirror(REPO, "hf_owner_token", hub.url)


def tree(hub: FakeHub) -> dict[str, bytes]:
    repo = hub.repos["dataset", REPO]
    return {path: content for path, content in repo.trees[repo.sha].items() if path.startswith("runs/")}


def runs(hub: FakeHub) -> set[str]:
    return {path.split("/")[1] for path in tree(hub)}


async def shared_run(s: RunService, name: str = "a", level: str = "listed") -> tuple[str, str]:
    rid = await s.start(spec(name, tasks=3), key("canary-key-1", "canary-token-1"))
    await ended(s, rid)
    return rid, (await s.share(rid, level)).public_id


def test_shared_runs_are_copied_without_private_files_and_private_runs_are_not(tmp_path: Path, hub: FakeHub) -> None:
    async def go() -> None:
        async with service(tmp_path, mirror=mirror(hub)) as s:
            private = await s.start(spec("p", tasks=2), key())
            rid, public = await shared_run(s)
            await until(lambda: runs(hub) == {public})
            names = {path.split("/", 2)[2] for path in tree(hub)}
            assert names == {"events.jsonl", "manifest.json", "spec.json", "run.json"}
            everything = b"".join(tree(hub).values())
            assert rid.encode() not in everything and private.encode() not in everything and b"canary" not in everything
            await until(lambda: "copied" in s.mirror_status)

    asyncio.run(go())


def test_a_server_that_lost_its_disk_reads_shared_runs_back_and_the_owner_can_withdraw(tmp_path: Path, hub: FakeHub) -> None:
    async def go() -> None:
        async with service(tmp_path / "one", mirror=mirror(hub)) as s:
            rid, public = await shared_run(s)
            await until(lambda: runs(hub) == {public})
            before = await s.view(rid)
        async with service(tmp_path / "two", mirror=mirror(hub)) as s:
            await until(lambda: s.get(public))
            after = await s.view(public)
            assert after.counts() == before.counts() and after.status == "finished"
            assert [r.id for r in s.recent()] == [public] and not s.get(public).owner
            assert s.get(rid).owner
            commits = len(hub.repos["dataset", REPO].titles)
            await s.mirroring.sync()
            assert len(hub.repos["dataset", REPO].titles) == commits, "a run that was pulled was pushed"
            await s.share(rid, "private")
            await until(lambda: runs(hub) == set())
            assert s.get(public) is None and s.get(rid).owner

    asyncio.run(go())


def test_two_servers_started_from_one_snapshot_keep_each_others_runs(tmp_path: Path, hub: FakeHub) -> None:
    # https://github.com/gradio-app/trackio/issues/79: a push from an old snapshot overwrote what was there.
    async def go() -> None:
        async with service(tmp_path / "a", mirror=mirror(hub)) as a, service(tmp_path / "b", mirror=mirror(hub)) as b:
            (_, one), (_, two) = await asyncio.gather(shared_run(a, "left"), shared_run(b, "right"))
            await until(lambda: runs(hub) == {one, two})
            await a.mirroring.sync()
            await b.mirroring.sync()
            for s in (a, b):
                assert {r.id for r in s.recent()} == {one, two}
                assert (await s.view(one)).tasks[0].key == "left0" and (await s.view(two)).tasks[0].key == "right0"

    asyncio.run(go())


def test_a_push_that_lost_the_race_looks_again_and_keeps_both(tmp_path: Path, hub: FakeHub) -> None:
    async def go() -> None:
        async with service(tmp_path, mirror=mirror(hub)) as s:
            await until(lambda: "copied" in s.mirror_status)
            repo = hub.repos["dataset", REPO]
            real, late = s.mirroring._mirror.push, []

            def push(commit: object, head: str) -> None:
                if len(late) < 2:
                    late.append(repo.commit({f"runs/other/{len(late)}.txt": b"theirs"}))
                real(commit, head)

            object.__setattr__(s.mirroring._mirror, "push", push)
            _, public = await shared_run(s)
            await until(lambda: public in runs(hub))
            assert runs(hub) == {public, "other"} and len(late) == 2

    asyncio.run(go())


def test_a_run_withdrawn_by_another_server_goes_here_too(tmp_path: Path, hub: FakeHub) -> None:
    async def go() -> None:
        async with service(tmp_path / "a", mirror=mirror(hub)) as a, service(tmp_path / "b", mirror=mirror(hub)) as b:
            rid, public = await shared_run(a)
            await until(lambda: runs(hub) == {public})
            await b.mirroring.sync()
            assert b.get(public) and await b.view(public)
            await a.delete(rid)
            await until(lambda: runs(hub) == set())
            await b.mirroring.sync()
            assert b.get(public) is None and b.recent() == [] and list((tmp_path / "b" / "runs").iterdir()) == []

    asyncio.run(go())


def test_a_withdrawal_is_not_forgotten_in_a_restart_while_the_repo_is_away(tmp_path: Path, hub: FakeHub) -> None:
    async def go() -> None:
        async with service(tmp_path, mirror=mirror(hub)) as s:
            rid, public = await shared_run(s)
            await until(lambda: runs(hub) == {public})
            hub.fail(r"/api/datasets/", status=503)
            await s.delete(rid)
        hub.faults.clear()
        async with service(tmp_path, mirror=mirror(hub)) as s:
            await until(lambda: runs(hub) == set())
            assert s.get(public) is None

    asyncio.run(go())


def test_a_repo_that_does_not_answer_is_said_and_delays_no_run(tmp_path: Path, hub: FakeHub) -> None:
    # https://github.com/gradio-app/trackio/issues/78: a sync stalled and nobody was told.
    async def go() -> None:
        hub.fail(r"/api/datasets/", status=500)
        async with service(tmp_path, mirror=mirror(hub)) as s:
            _, public = await shared_run(s)
            assert (await s.view(public)).status == "finished"
            await until(lambda: "not answered since" in s.mirror_status, 30)
            assert "500" in s.mirror_status and "hf_owner_token" not in s.mirror_status
            hub.faults.clear()
            await s.mirroring.sync()
            assert runs(hub) == {public}

    asyncio.run(go())


def test_an_expired_link_leaves_the_repo(tmp_path: Path, hub: FakeHub) -> None:
    async def go() -> None:
        async with service(tmp_path, mirror=mirror(hub)) as s:
            rid, public = await shared_run(s, level="public")
            await until(lambda: runs(hub) == {public} and s.get(rid).meta.mirrored)
            meta = s.get(rid).meta
            s.store.save(type(meta)(**{**meta.to_json(), "expires": 1.0}))
            await s.mirroring.sync()
            assert runs(hub) == set() and s.get(public) is None and s.get(rid).owner

    asyncio.run(go())


def test_what_is_no_run_of_ours_is_not_taken_in(tmp_path: Path, hub: FakeHub) -> None:
    good = {"key": "b" * 32, "created": 1.0, "level": "listed", "public_id": "p-" + "b" * 20, "card": {}}
    bad = {
        "p-" + "c" * 20: {**good, "key": "../../../../tmp/x"},
        "p-" + "d" * 20: {**good, "key": "d" * 32},  # names another run's public id
        "p-" + "e" * 20: {**good, "key": "e" * 32, "public_id": "p-" + "e" * 20, "level": "private"},
        "p-" + "f" * 20: [1],
        "p-" + "g" * 20: {**good, "public_id": "p-" + "g" * 20, "key": "0" * 32, "card": "text"},
    }
    files = {f"runs/{name}/run.json": json.dumps(card).encode() for name, card in bad.items()}
    files |= {f"runs/{good['public_id']}/run.json": json.dumps(good).encode(), "runs/../evil/run.json": b"{}"}
    files[f"runs/{good['public_id']}/private"] = b"x"
    hub.repos["dataset", REPO].commit(files)

    async def go() -> None:
        async with service(tmp_path, mirror=mirror(hub)) as s:
            await until(lambda: "copied" in s.mirror_status)
            assert [p.name for p in (tmp_path / "runs").iterdir()] == ["b" * 32]
            assert not (tmp_path / "runs" / ("b" * 32) / "private").exists()
            [row] = s.recent()
            assert row.id == good["public_id"]

    asyncio.run(go())


def test_the_repo_is_made_private_when_there_is_none(tmp_path: Path, hub: FakeHub) -> None:
    hub.repos.clear()

    async def go() -> None:
        async with service(tmp_path, mirror=mirror(hub)) as s:
            _, public = await shared_run(s)
            await until(lambda: ("dataset", REPO) in hub.repos and public in runs(hub))
            assert hub.repos["dataset", REPO].private

    asyncio.run(go())


def test_the_mirror_is_off_without_both_settings() -> None:
    assert Mirror.from_env({"L2BENCH_RESULTS_REPO": "a/b"}) is None
    assert Mirror.from_env({"HF_TOKEN": "t"}) is None
    made = Mirror.from_env({"L2BENCH_RESULTS_REPO": "a/b", "HF_TOKEN": "hf_secret"})
    assert made is not None and "hf_secret" not in repr(made)
