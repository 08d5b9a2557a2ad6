"""The real engine as a child process, spoken to as the web app speaks to it. For tests."""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from pipeline.events import Event, read_journal
from pipeline.report.view import RunView, fold
from pipeline.spec import ModelSpec, RunSpec
from tests.http.runs import JUDGE, SOLVER, tasks_file

ROOT = Path(__file__).resolve().parents[2]


class Engine:
    """`with Engine(folder) as engine: engine.start(...)`; every line it says is kept by run."""

    def __init__(self, folder: Path) -> None:
        kept = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG") or k.startswith("OPENBLAS")}
        self.process = subprocess.Popen([sys.executable, "-m", "pipeline.engine"], cwd=ROOT, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=(folder / "engine.log").open("wb"), env=kept)
        self.lines: dict[str, list[dict[str, Any]]] = {}
        self.ready: queue.Queue[dict[str, Any]] = queue.Queue()
        self._more = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self) -> "Engine":
        assert self.ready.get(timeout=90)["ready"]
        return self

    def __exit__(self, *_: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(20)

    def _read(self) -> None:
        assert self.process.stdout is not None
        for raw in self.process.stdout:
            line = json.loads(raw)
            with self._more:
                if line.get("ready"):
                    self.ready.put(line)
                else:
                    self.lines.setdefault(line["run"], []).append(line)
                self._more.notify_all()

    def start(self, run: str, spec: RunSpec, places: dict[str, Any], keys: tuple[str, str], **more: Any) -> None:
        """Start a run; the keys go where the web app sends them."""
        order = {"spec": spec.model_dump(mode="json"), "places": places, **more,
                 "credentials": {"solver": {"api_key": keys[0]}, "judge": {"api_key": keys[1]}}}
        raw = json.dumps(order).encode()
        self._send(json.dumps({"op": "start", "run": run, "bytes": len(raw)}).encode() + b"\n" + raw)

    def say(self, run: str, op: str) -> None:
        """`stop` or `kill`."""
        self._send(json.dumps({"op": op, "run": run}).encode() + b"\n")

    def _send(self, raw: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(raw)
        self.process.stdin.flush()

    def wait(self, run: str, test: Any, seconds: float = 60) -> dict[str, Any]:
        """The first line of the run that passes the test."""
        end = time.monotonic() + seconds
        with self._more:
            while True:
                for line in self.lines.get(run, []):
                    if test(line):
                        return line
                left = end - time.monotonic()
                assert left > 0, f"nothing came: {self.lines.get(run, [])[-3:]}"
                self._more.wait(left)

    def finish(self, run: str) -> int:
        """Wait for the worker's end; its exit code."""
        return int(self.wait(run, lambda line: "exit" in line)["exit"])

    def pid(self, run: str) -> int:
        """The worker's process id."""
        return int(self.wait(run, lambda line: line.get("started"))["pid"])

    def kill(self, run: str) -> None:
        """SIGKILL the worker, as a crash would."""
        os.kill(self.pid(run), signal.SIGKILL)
        self.finish(run)

    def events(self, *runs: str) -> list[Event]:
        """The events of these stretches, in order."""
        return list(read_journal(json.dumps(line["event"]) for run in runs for line in self.lines.get(run, []) if "event" in line))

    def view(self, *runs: str) -> RunView:
        """What the page would show after these stretches."""
        return fold(self.events(*runs))


def order(fake_url: str, folder: Path, count: int, weights: tuple[int, ...] = (5, 3, 2), **spec: Any) -> tuple[RunSpec, dict[str, Any]]:
    """A spec for the fake and the places of its run, in `folder`."""
    csv_path, resources = tasks_file(folder, count, weights)
    url = f"{fake_url}/v1"
    whole = RunSpec(source="local", prompt_source="own", solver=ModelSpec(model=SOLVER, config={"temperature": 0.0}, base_url=url),
                    judge=ModelSpec(model=JUDGE, config={}, base_url=url), **spec)
    return whole, {"run_dir": str(folder / "run"), "csv_path": str(csv_path), "resources_dir": str(resources)}
