"""kill -9 at random moments, of the command, a worker, the engine and the whole app: counted on the provider's own side.

Only calls in flight may be asked again, no verdict that was given is lost or becomes another one, the journal says each
call once, and nothing goes on without its app. `KILLS=20` kills each of them twenty times; a start of the engine is dear.
"""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.core import lock
from pipeline.events import Call, VerdictGiven, read_journal_file
from pipeline.ledger import read_ledger
from pipeline.spec import Credentials, ProviderKey, RunSpec
from pipeline.verify import verify
from runner.service import RunService
from tests.http.command_kit import Commands
from tests.http.engine_kit import order
from tests.http.fake_llm import FakeLLM
from tests.http.runner_kit import NO_LIMITS, ended, until
from tests.http.runs import JUDGE, SOLVER, tasks_file

ROOT = Path(__file__).resolve().parents[2]
KILLS, DEAR_KILLS = (int(os.environ.get("KILLS", n)) for n in ("8", "2"))
AT_ONCE = 3
KEYS = Credentials(ProviderKey({"api_key": "canary-solver-000111"}), ProviderKey({"api_key": "canary-judge-000222"}))


@pytest.fixture
def coin(fake: FakeLLM) -> FakeLLM:
    """A provider whose judge throws a coin: a verdict that is asked for twice does not stay the same."""
    chance = random.Random(5)
    fake.state.step = lambda role, model, text: {  # type: ignore[method-assign]
        "delay": 0.03, **({"text": chance.choice(["true", "false"])} if role == "judge" else {})}
    return fake


class Record:
    """What a run's folder said before each kill, held against what it says in the end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.verdicts: dict[tuple[str, str], bool] = {}

    def keep(self) -> None:
        """Take in the verdicts that the journal holds now."""
        for event in read_journal_file(self.folder / "events.jsonl"):
            if isinstance(event, VerdictGiven) and event.verdict is not None:
                assert self.verdicts.setdefault((event.task, event.criterion), event.verdict) is event.verdict, "it became another one"

    def check(self, sent: int, planned: int, kills: int) -> None:
        """The promise, after the last stretch."""
        before = dict(self.verdicts)
        self.keep()
        assert len(self.verdicts) == planned * 3 // 4 and before.items() <= self.verdicts.items()
        assert planned <= sent <= planned + kills * AT_ONCE
        told = Counter(e.id for e in read_journal_file(self.folder / "events.jsonl") if isinstance(e, Call))
        assert set(told.values()) == {1}, "the journal repeats itself"
        paid = {e.id.text(e.attempt) for e in read_ledger(self.folder / "private" / "ledger.jsonl")}
        assert set(told) == paid and sent <= len(paid) <= sent + kills * AT_ONCE
        assert verify(self.folder) == []


def test_kills_of_the_command_line(coin: FakeLLM, tmp_path: Path) -> None:
    # The journal of a run that had gone on often held 4,172 call events for 599 calls: each stretch said all of them again.
    chance, tasks, kills = random.Random(12), 8 + 2 * KILLS, KILLS
    csv_path, resources = tasks_file(tmp_path, tasks)
    logs, printed = tmp_path / "logs", tmp_path / "printed"
    first = ["--model", SOLVER, "--scorer-model", JUDGE, "--model-base-url", f"{coin.url}/v1", "--scorer-base-url", f"{coin.url}/v1",
             "--prompt-source", "own", "--max-connections", str(AT_ONCE), "--csv-path", str(csv_path), "--resources-dir",
             str(resources), "--log-dir", str(logs)]
    record = Record(logs)
    with Commands() as command:
        for _ in range(kills):
            wanted = len(coin.received()) + chance.randint(0, 4)
            pid = command.start(first if not (logs / "spec.json").exists() else ["--resume", str(logs)], printed)
            _until(lambda n=wanted, pid=pid: len(coin.received()) >= n or not _alive(pid))
            time.sleep(chance.uniform(0, 0.06))
            os.kill(pid, signal.SIGKILL)
            command.wait(pid)
            record.keep()
        assert command.wait(command.start(["--resume", str(logs)], printed)) == 0
    record.check(len(coin.received()), tasks * 4, kills)
    assert "Traceback" not in printed.read_text()


class App:
    """The app of `tests.http.app_kit` on twelve tasks, killed and started again."""

    def __init__(self, fake: FakeLLM, folder: Path, tasks: int) -> None:
        spec, places = order(fake.url, folder, tasks, max_connections=AT_ONCE)
        places.pop("run_dir")
        self.home, self.order, self.rid = folder / "home", folder / "order.json", ""
        self.order.write_text(json.dumps({"spec": spec.model_dump(mode="json"), "places": places}))

    def start(self) -> subprocess.Popen[str]:
        process = subprocess.Popen([sys.executable, "-m", "tests.http.app_kit", str(self.home), str(self.order), *filter(None, [self.rid])],
                                   cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdout is not None
        self.rid = process.stdout.readline().strip() or self.rid
        return process

    @property
    def folder(self) -> Path:
        (found,) = (self.home / "runs").iterdir()
        return found

    def worker(self) -> int:
        """The pid of the process that makes the calls."""
        found = lock._living(self.folder / "private" / "ledger.lock")
        return found.pid if found else 0


@pytest.mark.parametrize("whom", ["app", "engine"])
def test_kills_of_the_app_and_of_the_engine(coin: FakeLLM, tmp_path: Path, whom: str) -> None:
    chance, tasks, kills = random.Random(7), 8 + 2 * DEAR_KILLS, DEAR_KILLS
    app, stopped = App(coin, tmp_path, tasks), 0
    record: Record | None = None
    for n in range(kills):
        before = len(coin.received())
        process = app.start()
        record = record or Record(app.folder)
        coin.wait_for(before + chance.randint(1, 6))
        time.sleep(chance.uniform(0, 0.06))
        worker = app.worker()
        engine = _parent(worker)
        if whom == "engine":
            os.kill(engine, signal.SIGKILL)
            assert _gone(worker), "a worker went on without its engine"
            out, err = process.communicate(timeout=60)
            assert out.strip() == "interrupted", err
        else:
            for pid in ([engine], [worker], [])[n % 3]:  # stopped, so that it reads no pipe and knows of nothing
                os.kill(pid, signal.SIGSTOP)
            process.kill()
            process.communicate()
            assert _gone(worker, engine), "the app's processes outlived it"
        stopped = len(coin.received())
        record.keep()
    time.sleep(0.3)
    assert len(coin.received()) == stopped, "something went on asking"
    out, err = app.start().communicate(timeout=90)
    assert out.split()[-1] == "finished", err
    assert record is not None
    record.check(len(coin.received()), tasks * 4, kills)


def test_kills_of_a_worker(coin: FakeLLM, tmp_path: Path) -> None:
    chance, tasks, kills = random.Random(3), 8 + 2 * KILLS, KILLS
    app = App(coin, tmp_path, tasks)
    order_ = json.loads(app.order.read_text())

    async def go() -> None:
        service = RunService(app.home, limits=NO_LIMITS)
        await service.open()
        rid = await service.start(RunSpec(**order_["spec"]), KEYS, order_["places"])
        record = Record(app.folder)
        for _ in range(kills):
            wanted = len(coin.received()) + chance.randint(0, 4)
            await until(lambda n=wanted: app.worker() and len(coin.received()) >= n)
            await asyncio.sleep(chance.uniform(0, 0.06))
            if pid := app.worker():
                os.kill(pid, signal.SIGKILL)
            await ended(service, rid)
            record.keep()
            await service.resume(rid, KEYS)
        await ended(service, rid)
        view = await service.view(rid)
        assert view is not None and view.status == "finished" and view.counts()["scored"] == tasks
        record.check(len(coin.received()), tasks * 4, kills)
        await service.close()

    asyncio.run(go())


def _alive(pid: int) -> bool:
    return bool(lock._start_of(pid))


def _gone(*pids: int) -> bool:
    return _until(lambda: not any(map(_alive, pids)), 10)


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def _until(condition: Any, seconds: float = 60.0) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


@pytest.fixture
def fake() -> Iterator[FakeLLM]:
    with FakeLLM() as started:
        yield started
