"""One run folder, one process: command line, page and worker refuse each other in words, and nothing is paid twice.

R1: `--resume` twice at once, or beside the page, sent 197 calls for 103 and left contradicting verdicts and two means.
"""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.errors import UserError
from pipeline.verify import verify
from tests.http.engine_kit import Engine, order
from tests.http.fake_llm import FakeLLM
from tests.http.runner_kit import ended, key, service, spec, until
from tests.http.test_resume import PLANNED, CommandLine

ROOT = Path(__file__).resolve().parents[2]
HOLD = ("import sys, time; from pathlib import Path; from pipeline.ledger import hold_run\n"
        "held = hold_run(Path(sys.argv[1])); print('held', flush=True); time.sleep(60)")


@pytest.fixture
def cli(fake: FakeLLM, tmp_path: Path) -> CommandLine:
    for role in ("solver", "judge"):
        fake.script(role, {"delay": 0.05, "every": True})
    return CommandLine(fake, tmp_path)


@pytest.mark.parametrize("resume", [True, False])
def test_a_second_command_on_a_run_that_goes_on_is_refused_and_names_the_first(cli, resume):
    first = cli.start()
    cli.wait_for(first, 2)
    first.send_signal(signal.SIGSTOP)  # so that it has not ended when the second comes
    second = cli.start(resume)
    out, err = second.communicate(timeout=60)
    first.send_signal(signal.SIGCONT)
    assert second.returncode == 2 and not out and len(err.splitlines()) == 1
    assert err.startswith("Nothing was started. Another process works on this run: python -m pipeline.eval, process "
                          f"{first.pid} on ")
    first.communicate(timeout=90)
    assert first.returncode == 0 and len(cli.fake.received()) == PLANNED and verify(cli.logs) == []


@pytest.mark.parametrize("killed", [True, False])
def test_of_two_that_start_at_once_one_runs(cli, killed):
    if killed:
        process = cli.start()
        cli.wait_for(process, 8)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    both = [cli.start(killed), cli.start(killed)]
    said = [p.communicate(timeout=90)[1] for p in both]
    codes = [p.returncode for p in both]
    # The other comes while the first runs, or once it has ended; then there is nothing left to pay for.
    assert 0 in codes and set(codes) <= {0, 2} and (2 not in codes or "Another process works" in said[codes.index(2)])
    assert PLANNED <= len(cli.fake.received()) <= PLANNED + 3 * killed and verify(cli.logs) == []
    assert cli.view().counts()["scored"] == 12 and "Traceback" not in "".join(said)


def test_a_command_on_a_run_of_the_page_is_refused_until_the_run_has_ended(tmp_path: Path) -> None:
    async def go() -> None:
        async with service(tmp_path) as s:
            rid = await s.start(spec(tasks=200, delay=0.05), key())
            await until(lambda: any(r.view.done for r in s.host.live.values()))
            folder = s.folder(s.get(rid))
            done = await asyncio.to_thread(subprocess.run, [sys.executable, "-m", "pipeline.eval", "--resume", str(folder)],
                                           cwd=ROOT, capture_output=True, text=True)
            assert done.returncode == 2 and f"process {os.getpid()} on " in done.stderr and "Nothing was started" in done.stderr
            await s.stop(rid)
            await ended(s, rid)
            from pipeline.ledger import hold_run

            hold_run(folder).release()

    asyncio.run(go())


def test_the_page_refuses_to_go_on_with_or_delete_a_run_of_the_command_line_and_touches_nothing(tmp_path: Path) -> None:
    async def go() -> None:
        async with service(tmp_path) as s:
            rid = await s.start(spec(tasks=40, delay=0.05), key())
            await s.stop(rid)
            await ended(s, rid)
            folder = s.folder(s.get(rid))
            before = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file() and p.suffix != ".lock"}
            other = subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], cwd=ROOT, stdout=subprocess.PIPE)
            assert other.stdout and other.stdout.readline()
            for change in (s.resume(rid, key(), {"max_cost": 4.5}), s.delete(rid)):
                with pytest.raises(UserError, match=f"Another process works on this run: .* process {other.pid} on "):
                    await change
            assert before == {p: p.read_bytes() for p in folder.rglob("*") if p.is_file() and p.suffix != ".lock"}
            other.kill()
            other.wait()
            await s.resume(rid, key())
            await s.delete(rid)
            assert not folder.exists()

    asyncio.run(go())


def test_a_restarted_server_leaves_a_run_alone_that_another_process_goes_on_with(tmp_path: Path) -> None:
    async def make() -> Path:
        async with service(tmp_path) as s:
            rid = await s.start(spec(tasks=2), key())
            await ended(s, rid)
            return s.folder(s.get(rid))

    folder = asyncio.run(make())
    meta = folder / "meta.json"
    meta.write_text(meta.read_text().replace('"ended"', '"ended_not"'))
    journal = folder / "events.jsonl"
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:-1]))
    other = subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], cwd=ROOT, stdout=subprocess.PIPE)
    assert other.stdout and other.stdout.readline()
    before = journal.read_bytes()
    asyncio.run(_open(tmp_path))
    assert journal.read_bytes() == before, "a last word was written into the journal of a run that goes on"
    other.kill()
    other.wait()
    asyncio.run(_open(tmp_path))
    assert b'"interrupted"' in journal.read_bytes()[len(before):]


async def _open(home: Path) -> None:
    async with service(home):
        pass


def test_a_second_worker_on_a_run_is_refused_and_a_killed_one_frees_it(fake: FakeLLM, tmp_path: Path) -> None:
    for role in ("solver", "judge"):
        fake.script(role, {"delay": 0.2, "every": True})
    run, places = order(fake.url, tmp_path, 4, max_connections=1)
    with Engine(tmp_path) as engine:
        engine.start("one", run, places, ("canary-a-000111", "canary-b-000222"))
        fake.wait_for(2)
        engine.start("two", run, places, ("canary-a-000111", "canary-b-000222"), resume=True)
        assert engine.finish("two") == 2
        reason = engine.events("two")[-1].reason  # type: ignore[union-attr]
        assert reason.startswith("Another process makes the calls of this run: ") and f"process {engine.pid('one')} on " in reason
        engine.kill("one")
        engine.start("three", run, places, ("canary-a-000111", "canary-b-000222"), resume=True)
        assert engine.finish("three") == 0
    assert 16 <= len(fake.received()) <= 17


def test_a_second_server_on_one_data_folder_ends_in_words_and_names_the_first(tmp_path: Path) -> None:
    env = {**os.environ, "L2BENCH_HOME": str(tmp_path / "home"), "L2BENCH_PORT": "0", "PYTHONPATH": str(ROOT)}
    start = [sys.executable, "app.py"]
    first = subprocess.Popen(start, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert first.stdout and "http://" in first.stdout.readline()
        second = subprocess.run(start, cwd=ROOT, env=env, capture_output=True, text=True, timeout=60)
        assert second.returncode == 2 and not second.stdout and "Traceback" not in second.stderr
        assert "Nothing was started. Another server uses this data folder: app.py, process " in second.stderr
        assert f"process {first.pid} on " in second.stderr
    finally:
        first.kill()
        first.wait()
