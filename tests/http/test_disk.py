"""A disk that takes no more, a folder that goes, too many open files: a sentence, a pause, and nothing paid is lost."""

import asyncio
import contextlib
import errno
import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.core.append import Appender
from pipeline.errors import UserError
from pipeline.events import read_journal_file
from pipeline.ledger import read_ledger
from pipeline.report.view import fold
from pipeline.verify import verify
from runner import host
from tests.http.fake_llm import FakeLLM
from tests.http.runner_kit import ended, key, service, spec, until
from tests.http.test_resume import CommandLine

ROOT = Path(__file__).resolve().parents[2]
TASKS, CALLS = 12, 48


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 1.2 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1200k", "tmpfs", str(place)], capture_output=True)
    if done.returncode:
        pytest.skip("no disk can be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.fixture
def cli(fake: FakeLLM, tmp_path: Path) -> CommandLine:
    fake.script("solver", {"text": "An answer. " * 1500, "every": True})
    return CommandLine(fake, tmp_path)


def answered(cli: CommandLine) -> int:
    """Calls that the provider has answered and the ledger holds."""
    return sum(1 for e in read_ledger(cli.logs / "private" / "ledger.jsonl") if not e.fault)


def test_a_full_disk_pauses_the_command_with_a_sentence_whole_json_and_every_paid_answer(cli, small_disk):
    # R7: a traceback, an empty --json and no manifest.
    cli.logs = small_disk / "logs"
    cli.first[-1] = str(cli.logs)
    (filling := small_disk / "filling").write_bytes(b"0" * (650 << 10))
    out, err = (first := cli.start(False, "--json")).communicate(timeout=120)
    data = json.loads(out)
    assert first.returncode == 1 == data["exit_code"] and "Traceback" not in err
    assert data["status"] == "paused" and data["reason"].startswith("The disk is full. Nothing more is sent")
    assert 0 < len(cli.fake.received()) < CALLS and answered(cli) == len(cli.fake.received())
    filling.unlink()
    out, err = (again := cli.start(True, "--json")).communicate(timeout=120)
    assert again.returncode == 0, err
    assert len(cli.fake.received()) == CALLS and json.loads(out)["counts"]["scored"] == TASKS and verify(cli.logs) == []


def test_a_disk_that_is_full_from_the_start_starts_nothing(cli, small_disk):
    cli.first[-1] = str(small_disk / "logs")
    with contextlib.suppress(OSError):
        (small_disk / "filling").write_bytes(b"0" * (2 << 20))
    out, err = (first := cli.start(False, "--json")).communicate(timeout=60)
    assert first.returncode == 2 and "Nothing was started." in err and "Traceback" not in err
    assert json.loads(out)["exit_code"] == 2 and not cli.fake.received()


def test_a_file_that_may_not_grow_pauses_too_and_says_what_is_lost(cli):
    start = [sys.executable, "-m", "pipeline.eval", *cli.first, *cli.data, "--json"]
    done = subprocess.run(start, cwd=ROOT, env=cli.env, capture_output=True, text=True, timeout=120,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (60 << 10,) * 2))
    assert done.returncode in (1, 2) and "Traceback" not in done.stderr, done.stderr
    data = json.loads(done.stdout)
    assert len(cli.fake.received()) < CALLS
    if done.returncode == 1:
        assert data["status"] == "paused" and "may not grow" in data["reason"]
        unsaved = len(cli.fake.received()) - answered(cli)
        assert unsaved <= 3 and (not unsaved or f"{unsaved} records of calls are lost" in done.stderr)
    out, err = (again := cli.start(True, "--json")).communicate(timeout=120)
    assert again.returncode in (0, 2) and "Traceback" not in err


def test_too_many_open_files_pause_the_run_and_blame_no_provider(cli):
    start = [sys.executable, "-c", "import runpy, sys, os, resource\n"
             "from pipeline import run\n"
             "real = run.Session.say\n"
             "def say(self, event):\n"
             "    real(self, event)\n"
             "    if event.kind == 'answered' and not hasattr(self, 'low'):\n"
             "        self.low = [os.open('/dev/null', 0) for _ in range(5)]; top = max(self.low)\n"
             "        resource.setrlimit(resource.RLIMIT_NOFILE, (top + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))\n"
             "run.Session.say = say\n"
             "from pipeline.eval import main; sys.exit(main(sys.argv[1:]))", *cli.first, *cli.data, "--json"]
    cli.fake.script("judge", {"cut": True, "every": True})  # each cut connection wants a new one
    done = subprocess.run(start, cwd=ROOT, env=cli.env, capture_output=True, text=True, timeout=120)
    assert "Traceback" not in done.stderr, done.stderr
    data = json.loads(done.stdout)
    assert done.returncode == 1 and data["status"] == "paused" and "Too many files are open." in data["reason"]
    assert data["counts"]["api_error"] == 0 and data["counts"]["cancelled"] > 0


def test_a_folder_that_goes_pauses_the_run(cli):
    cli.fake.script("judge", {"delay": 0.15, "every": True})
    process = cli.start(False, "--json")
    cli.wait_for(process, 8)
    shutil.rmtree(cli.logs)
    out, err = process.communicate(timeout=120)
    data = json.loads(out)
    assert "Traceback" not in err and process.returncode == 1
    assert data["status"] == "paused" and "The run's folder has gone." in data["reason"] and len(cli.fake.received()) < CALLS


def test_standard_output_that_takes_no_more_is_said_and_not_in_a_trace(cli):
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "pipeline.eval", *cli.first, *cli.data, "--json"], cwd=ROOT, env=cli.env,
                              stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
    assert done.returncode == 1 and "Standard output took no more" in done.stderr and "Traceback" not in done.stderr
    assert (cli.logs / "manifest.json").exists() and os.path.exists(cli.logs / "events.jsonl")


def test_a_run_of_the_page_pauses_on_a_full_disk_and_is_written_once_there_is_room(tmp_path, monkeypatch):
    async def go() -> None:
        async with service(tmp_path) as s:
            monkeypatch.setattr(host, "TRY_AGAIN", 0.1)
            rid = await s.start(spec(tasks=200, delay=0.05), key())
            await until(lambda: any(r.view.done for r in s.host.live.values()))
            with monkeypatch.context() as full:
                full.setattr(Appender, "_put", refuses)
                await until(lambda: all(r.ended and r.settling for r in s.host.live.values()))
                view = await s.view(rid)
                assert view.status == "paused" and view.reason.startswith("The disk is full. Nothing more is sent")
                with pytest.raises(UserError):
                    await s.resume(rid, key())
            await ended(s, rid)
            folder = s.folder(s.get(rid))
            assert verify(folder) == [] or "spec digest" in str(verify(folder))
            assert fold(read_journal_file(folder / "events.jsonl")).done == view.done
            with monkeypatch.context() as full:
                full.setattr("runner.store.write_whole", refuses)
                with pytest.raises(UserError, match="The disk is full"):
                    await s.start(spec(tasks=2), key())
            assert len(list((tmp_path / "runs").iterdir())) == 1
            await s.resume(rid, key())
            await s.stop(rid)
            await ended(s, rid)

    def refuses(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    asyncio.run(go())
