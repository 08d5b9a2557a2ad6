"""Runs outlive pages, restarts and the engine; they do not mix; keys stay in memory. Over a real child process."""

import asyncio
import hashlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from pipeline.errors import UserError
from pipeline.events import RunFinished, read_journal
from pipeline.report.view import fold
from pipeline.spec import ModelSpec, RunSpec
from runner.limits import Limits
from runner.sharing import Owner
from runner.store import Store
from tests.http.runner_kit import NO_LIMITS, ended, key, service, spec, until

ROOT = Path(__file__).resolve().parents[2]


def journal(home: Path) -> list:
    [path] = home.glob("runs/*/events.jsonl")
    return list(read_journal(path.read_bytes().splitlines()))


def test_a_run_is_journalled_folded_and_complete_on_disk(tmp_path: Path) -> None:
    async def go() -> None:
        async with service(tmp_path) as s:
            rid = await s.start(spec(tasks=5, criteria=3), key())
            await ended(s, rid)
            view = await s.view(rid)
            assert (view.status, view.done, view.planned) == ("finished", 5, 5)
            assert fold(journal(tmp_path)).counts() == view.counts()
            folder = s.folder(s.get(rid))
            manifest = json.loads((folder / "manifest.json").read_text())
            assert manifest["counts"]["scored"] == 5
            assert (await s.summary(rid)) is not None

    asyncio.run(go())


def test_the_manifest_digest_is_that_of_the_whole_journal(tmp_path: Path) -> None:
    async def go() -> None:
        async with service(tmp_path) as s:
            rid = await s.start(spec(tasks=4), key())
            await ended(s, rid)
            folder = s.folder(s.get(rid))
            digest = hashlib.sha256((folder / "events.jsonl").read_bytes()).hexdigest()
            assert json.loads((folder / "manifest.json").read_text())["journal_sha256"] == digest

    asyncio.run(go())


def test_a_restarted_service_shows_the_run_as_interrupted_keeps_tasks_and_goes_on(tmp_path: Path) -> None:
    # https://github.com/gradio-app/trackio/issues/63: a Space's restart lost what a run had produced.
    script = textwrap.dedent(f"""
        import asyncio
        from pathlib import Path
        from tests.http.runner_kit import service, spec, key
        async def go():
            async with service(Path({str(tmp_path)!r})) as s:
                print(await s.start(spec(tasks=12, criteria=3, delay=0.15), key()), flush=True)
                await asyncio.sleep(60)
        asyncio.run(go())
    """)
    server = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    rid = server.stdout.readline().strip()
    deadline = time.time() + 10
    while time.time() < deadline and sum(1 for p in tmp_path.glob("runs/*/events.jsonl") for _ in p.open()) < 40:
        time.sleep(0.05)
    server.send_signal(signal.SIGKILL)
    server.wait()

    async def go() -> None:
        async with service(tmp_path) as s:
            view = await s.view(rid)
            assert (view.status, view.reason) == ("interrupted", "The server restarted; finished tasks are kept.")
            assert 0 < view.done < 12
            [row] = s.list_for([rid])
            assert row.resumable and row.card["status"] == "interrupted" and row.card["done"] == view.done
            scores = {k: a.score for k, a in view.attempts.items() if a.outcome}
            await s.resume(rid, key())
            await ended(s, rid)
            after = await s.view(rid)
            assert (after.status, after.done, after.resumes) == ("finished", 12, 1)
            assert all(after.attempts[k].score == score for k, score in scores.items())
            ledger = (s.folder(s.get(rid)) / "private" / "ledger.jsonl").read_text().split()
            assert len(ledger) == len(set(ledger)) == 12

    asyncio.run(go())


def test_closing_the_service_marks_its_runs_interrupted_not_stopped(tmp_path: Path) -> None:
    async def go() -> None:
        async with service(tmp_path) as s:
            await s.start(spec(tasks=50, delay=0.1), key())
            await until(lambda: any(r.view.done for r in s.host.live.values()))

    asyncio.run(go())
    last = journal(tmp_path)[-1]
    assert isinstance(last, RunFinished) and last.status == "interrupted"
    store = Store(tmp_path)
    assert store.scan() == []
    store.close()


def test_two_runs_at_once_do_not_mix(tmp_path: Path) -> None:
    # https://github.com/confident-ai/deepeval/issues/500: results of two runs in one process were mixed.
    async def go() -> None:
        async with service(tmp_path) as s:
            a = await s.start(spec("left", tasks=30, criteria=2, delay=0.005), key())
            b = await s.start(spec("right", tasks=20, criteria=5, delay=0.005), key())
            await ended(s, a)
            await ended(s, b)
            for rid, name, tasks, criteria in ((a, "left", 30, 2), (b, "right", 20, 5)):
                view = await s.view(rid)
                assert [t.key for t in view.tasks] == [f"{name}{i}" for i in range(tasks)]
                assert {k for k, _ in view.attempts} == {f"{name}{i}" for i in range(tasks)}
                assert all(len(at.verdicts) == criteria for at in view.attempts.values())
                assert view.spend["judge"].calls == tasks * criteria

    asyncio.run(go())


def test_same_tasks_and_two_judges_make_two_runs(tmp_path: Path) -> None:
    # https://github.com/allenai/olmo-eval/pull/267: two judges wrote one and the same result file.
    async def go() -> None:
        async with service(tmp_path) as s:
            one = spec(tasks=2)
            other = one.model_copy(update={"judge": one.judge.model_copy(update={"model": "script/other"})})
            ids = [await s.start(each, key()) for each in (one, other)]
            for rid in ids:
                await ended(s, rid)
            assert len({s.get(rid).key for rid in ids}) == 2
            assert len({(await s.view(rid)).spec["judge"]["model"] for rid in ids}) == 2

    asyncio.run(go())


def test_an_engine_killed_in_mid_run_is_restarted_and_its_runs_can_go_on(tmp_path: Path) -> None:
    async def go() -> None:
        async with service(tmp_path) as s:
            rid = await s.start(spec(tasks=40, delay=0.05), key())
            await until(lambda: any(r.view.done > 2 for r in s.host.live.values()))
            first = s.host.engine.pid
            os.kill(first, signal.SIGKILL)
            await ended(s, rid)
            view = await s.view(rid)
            assert view.status == "interrupted" and "engine" in view.reason and 0 < view.done < 40
            await until(lambda: s.host.engine.pid not in (None, first))
            await s.resume(rid, key())
            await s.stop(rid)
            await ended(s, rid)
            again = await s.start(spec(tasks=2), key())
            await ended(s, again)
            assert (await s.view(again)).status == "finished"

    asyncio.run(go())


def test_an_engine_that_dies_by_itself_ends_only_its_own_runs(tmp_path: Path) -> None:
    async def go() -> None:
        async with service(tmp_path) as s:
            done = await s.start(spec("done", tasks=2), key())
            await ended(s, done)
            rid = await s.start(spec(tasks=9, die_at=4), key())
            await ended(s, rid)
            assert (await s.view(rid)).status == "interrupted"
            assert (await s.view(done)).status == "finished"
            await s.resume(rid, key())
            await ended(s, rid)
            assert (await s.view(rid)).done == 9

    asyncio.run(go())


def test_stop_reaches_the_engine_at_once(tmp_path: Path) -> None:
    async def go() -> None:
        async with service(tmp_path) as s:
            rid = await s.start(spec(tasks=500, delay=0.05), key())
            await until(lambda: any(r.view.done for r in s.host.live.values()))
            asked = time.time()
            await s.stop(rid)
            await ended(s, rid)
            [stamp] = (tmp_path / "engine" / "home").glob("stop-*")
            assert float(stamp.read_text()) - asked < 1
            view = await s.view(rid)
            assert view.status == "stopped" and 0 < view.done < 500

    asyncio.run(go())


def test_a_worker_that_leaves_without_a_last_word_is_given_one(tmp_path: Path) -> None:
    async def go() -> None:
        async with service(tmp_path) as s:
            silent = await s.start(spec("s", tasks=2, silent=True), key())
            refused = await s.start(spec("r", refuse="The tasks file has no column task_key."), key())
            for rid in (silent, refused):
                await ended(s, rid)
            assert (await s.view(silent)).status == "failed"
            view = await s.view(refused)
            assert (view.status, view.reason) == ("failed", "The tasks file has no column task_key.")
            assert view.spec["solver"]["model"] == "script/r"

    asyncio.run(go())


def test_no_key_in_any_file_or_in_the_engines_environment_arguments_or_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # https://github.com/promptfoo/promptfoo/issues/8805: keys were found in state, database and export.
    for name in ("OPENAI_API_KEY", "HF_TOKEN", "L2BENCH_RESULTS_TOKEN", "ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "canary-environment")
    monkeypatch.setenv("https_proxy", "http://u:canary-environment@proxy:1")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")

    async def go() -> None:
        async with service(tmp_path) as s:
            keys = [key('canary-"A"\\1', "canary-token-A"), key("canary-B-22222222", "canary-token-B")]
            ids = [await s.start(spec(str(i), tasks=3, echo=True), k) for i, k in enumerate(keys)]
            proc = Path(f"/proc/{s.host.engine.pid}")
            for place in ("cmdline", "environ"):
                assert b"canary" not in (proc / place).read_bytes()
            environment = json.loads((proc / "cwd" / "environment.json").read_text())
            assert environment["HF_ENDPOINT"] == "http://127.0.0.1:1"
            assert environment["HOME"] == str(tmp_path / "engine" / "home")
            assert environment["OPENBLAS_NUM_THREADS"] == "1"
            for rid in ids:
                await ended(s, rid)
            os.kill(s.host.engine.pid, signal.SIGKILL)
            await until(lambda: "last words" in caplog.text)
            assert "[key]" in caplog.text
            for rid in ids:
                view = await s.view(rid)
                assert "[key]" in next(iter(view.attempts.values())).reason

    asyncio.run(go())
    assert "canary" not in caplog.text
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or b"canary" not in path.read_bytes(), path


def test_no_secret_id_in_any_file(tmp_path: Path) -> None:
    async def go() -> str:
        async with service(tmp_path) as s:
            rid = await s.start(spec(tasks=2), key())
            await ended(s, rid)
            await s.share(rid, "listed")
            return rid

    rid = asyncio.run(go())
    for path in tmp_path.rglob("*"):
        assert rid not in path.name and (not path.is_file() or rid.encode() not in path.read_bytes())


def test_deletion_ends_the_run_and_leaves_no_file_of_it(tmp_path: Path) -> None:
    async def go() -> None:
        async with service(tmp_path) as s:
            rid = await s.start(spec(tasks=200, delay=0.05), key())
            await until(lambda: any(r.view.done for r in s.host.live.values()))
            public = (await s.share(rid, "public")).public_id
            await s.delete(rid)
            assert s.get(rid) is None and s.get(public) is None and not s.host.live
            assert list((tmp_path / "runs").iterdir()) == []
            with pytest.raises(UserError):
                await s.delete(rid)

    asyncio.run(go())


def test_a_raised_cap_is_kept_and_nothing_else_can_change(tmp_path: Path) -> None:
    async def go() -> None:
        async with service(tmp_path) as s:
            rid = await s.start(spec(tasks=40, delay=0.05), key())
            await s.stop(rid)
            await ended(s, rid)
            for wrong in ({"sample_limit": 3}, {"max_cost": -1}, {"solver": {"model": "x/y"}}):
                with pytest.raises(UserError):
                    await s.resume(rid, key(), wrong)
            await s.resume(rid, key(), {"max_cost": 4.5})
            with pytest.raises(UserError):
                await s.resume(rid, key())
            await s.stop(rid)
            await ended(s, rid)
            assert s.store.spec(s.get(rid).key).max_cost == 4.5
            assert (await s.view(rid)).spec["max_cost"] == 4.5

    asyncio.run(go())


def test_a_gated_run_gives_text_and_resume_only_to_its_account(tmp_path: Path) -> None:
    async def go() -> None:
        async with service(tmp_path) as s:
            rid = await s.start(spec(source="hub", tasks=40, delay=0.05), key(), owner=Owner("Ada"))
            await s.stop(rid)
            await ended(s, rid)
            found = s.get(rid)
            assert found.holder and not found.owner and not found.text
            assert s.store.places(found.key)["cache_dir"].endswith(found.meta.owner), "a Hub cache of its own"
            assert not s.get(rid, "eve").text and s.get(rid, "ada").text
            for change in (s.resume(rid, key(), owner=Owner("eve")), s.share(rid, "listed", hf_user="eve"),
                           s.share(rid, "listed"), s.delete(rid, "eve"), s.delete(rid)):
                with pytest.raises(UserError):
                    await change
            assert s.get(found.key) is None and s.get(found.key, "eve") is None
            assert s.get(found.key, "Ada").owner
            assert [r.id for r in s.list_for(hf_user="ada")] == [found.key] and s.list_for(hf_user="eve") == []
            assert b"Ada" not in (s.folder(found) / "meta.json").read_bytes()
            await s.resume(rid, key(), owner=Owner("ada"))
            await s.delete(rid, "ada")
            assert list((tmp_path / "runs").iterdir()) == []

    asyncio.run(go())


def test_limits_hold_and_say_what_to_do(tmp_path: Path) -> None:
    async def go() -> None:
        async with service(tmp_path, Limits(visitor_runs=1, total_runs=2, free_mb=0, demo_tasks=30)) as s:
            await s.start(spec(tasks=30, delay=0.05), key(), owner=Owner(visitor="v1"))
            with pytest.raises(UserError, match="At most 1 at a time"):
                await s.start(spec(), key(), owner=Owner(visitor="v1"))
            await s.start(spec(tasks=30, delay=0.05), key(), owner=Owner(visitor="v2"))
            with pytest.raises(UserError, match="as many as this server takes"):
                await s.start(spec(), key(), owner=Owner(visitor="v3"))

    asyncio.run(go())


def test_demo_runs_and_keyed_runs_never_take_each_others_slots_or_starts(tmp_path: Path) -> None:
    # One visitor's free demo runs used up the slots and the starts that a run with a key needs, and the other way round.
    def made(solver: str, judge: str) -> RunSpec:
        script = {"tasks": 40, "delay": 0.05}
        return RunSpec(solver=ModelSpec(model=solver, config=script), judge=ModelSpec(model=judge))

    demo, keyed, mixed = made("demo/strong", "demo/judge"), made("script/a", "script/b"), made("demo/strong", "script/b")

    async def go() -> None:
        limits = Limits(visitor_runs=1, total_runs=2, visitor_demo_runs=1, total_demo_runs=2, visitor_starts=1,
                        visitor_demo_starts=1, free_mb=0)
        async with service(tmp_path, limits) as s:
            one, two = Owner(visitor="192.0.2.1"), Owner(visitor="192.0.2.2")
            await s.start(demo, key(), owner=one)
            await s.start(demo, key(), owner=two)
            with pytest.raises(UserError, match="2 demo runs are going on"):
                await s.start(demo, key(), owner=Owner(visitor="192.0.2.3"))
            await s.start(keyed, key(), owner=one)
            with pytest.raises(UserError, match="You have 1 runs"):
                await s.start(mixed, key(), owner=one)
            await s.start(mixed, key(), owner=two)
            with pytest.raises(UserError, match="2 runs are going on"):
                await s.start(keyed, key(), owner=Owner(visitor="192.0.2.3"))

    asyncio.run(go())


def test_free_demo_runs_never_leave_the_disk_full_for_paid_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Anyone may make any number of demo runs; once they had filled the disk, nobody could start a run.
    async def go() -> None:
        async with service(tmp_path, Limits(free_mb=100)) as s:
            demo = RunSpec(solver=ModelSpec(model="demo/strong", config={"tasks": 1}), judge=ModelSpec(model="demo/judge"))
            old, shared = [await s.start(demo, key()) for _ in range(2)]
            paid = await s.start(spec(tasks=1), key())
            for rid in (old, shared, paid):
                await ended(s, rid)
            await s.share(shared, "listed")
            full = lambda _: SimpleNamespace(free=0 if s.get(old) else 1 << 40)  # noqa: E731
            monkeypatch.setattr("runner.disk.shutil.disk_usage", full)
            again = await s.start(spec(tasks=1), key())
            assert s.get(old) is None and s.get(shared) and s.get(paid) and s.get(again)
            monkeypatch.setattr("runner.disk.shutil.disk_usage", lambda _: SimpleNamespace(free=0))
            with pytest.raises(UserError, match="nearly full"):
                await s.start(spec(tasks=1), key())
            assert s.get(shared) and s.get(paid)

    asyncio.run(go())


def test_a_run_of_too_many_tasks_or_bytes_is_stopped_with_the_reason(tmp_path: Path) -> None:
    async def go() -> None:
        async with service(tmp_path / "tasks", Limits(free_mb=0, demo_tasks=10)) as s:
            rid = await s.start(spec(tasks=60, delay=0.05), key())
            await ended(s, rid)
            view = await s.view(rid)
            assert view.status == "stopped" and "At most 10" in view.reason
        async with service(tmp_path / "bytes", Limits(free_mb=0, run_mb=1)) as s:
            rid = await s.start(spec(tasks=400, criteria=20, delay=0.01), key())
            run = s.host.live[s.get(rid).key]
            await until(lambda: run.view.done > 1)
            (s.folder(s.get(rid)) / "private" / "big").write_bytes(b"0" * (2 << 20))
            run._measured = 0.0
            await ended(s, rid)
            assert "passed 1 MB" in (await s.view(rid)).reason

    asyncio.run(go())


def test_an_engine_that_cannot_start_is_said_and_leaves_no_run_behind(tmp_path: Path) -> None:
    from runner.service import RunService
    from tests.http.runner_kit import ENGINE

    async def go() -> None:
        for command in ([*ENGINE, "--broken"], [str(tmp_path / "no-such-python")]):
            s = RunService(tmp_path / "home", command, NO_LIMITS)
            await s.open()
            try:
                with pytest.raises(UserError, match="engine"):
                    await s.start(spec(), key())
                assert list((tmp_path / "home" / "runs").iterdir()) == []
            finally:
                await s.close()

    asyncio.run(go())


def test_private_runs_are_swept_when_their_time_is_over(tmp_path: Path) -> None:
    async def go() -> None:
        async with service(tmp_path, Limits(free_mb=0, keep_days=30)) as s:
            private, public, short = [await s.start(spec(str(i), tasks=1), key()) for i in range(3)]
            for rid in (private, public, short):
                await ended(s, rid)
            await s.share(public, "public")
            await s.share(short, "public", days=1)
            await s.sweep(time.time() + 29 * 86400)
            assert all(s.get(rid) for rid in (private, public, short))
            await s.sweep(time.time() + 31 * 86400)
            assert [bool(s.get(rid)) for rid in (private, public, short)] == [False, True, False]

    asyncio.run(go())


def test_memory_holds_only_the_runs_used_last(tmp_path: Path) -> None:
    async def go() -> None:
        async with service(tmp_path) as s:
            s._cache._most = 500
            ids = [await s.start(spec(str(i), tasks=20, criteria=10), key()) for i in range(5)]
            for rid in ids:
                await ended(s, rid)
            assert len(s._cache) <= 2
            views = await asyncio.gather(*(s.view(rid) for rid in ids * 2))
            assert all(v.done == 20 for v in views) and len(s._cache) <= 2

    asyncio.run(go())
