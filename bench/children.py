"""Starts what is measured: the server, and one process for each run; the interpreters of both sets.

Every child gets a bare environment, so that no key and no setting of the shell changes a figure.
"""

import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import load
from bench.measure import Figures

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Measured:
    """One run: what its process used and what the server saw of it."""

    figures: Figures
    stats: dict[str, Any]

    @property
    def calls(self) -> int:
        """Requests that came to the server."""
        return sum(m["count"] for m in self.stats["models"].values())

    @property
    def first(self) -> float:
        """When the first request came, Unix seconds."""
        return min(m["first"] for m in self.stats["models"].values())

    @property
    def last(self) -> float:
        """When the last answer left, Unix seconds."""
        return max(m["last"] for m in self.stats["models"].values())


class Server:
    """The server's address and what it can be asked."""

    def __init__(self, port: int) -> None:
        self.root = f"http://127.0.0.1:{port}"
        self.url = f"{self.root}/v1"

    def reset(self, latency: float) -> None:
        """Forget what was seen; answer after `latency` seconds from now on."""
        self._get(f"/reset?latency={latency}")

    def stats(self) -> dict[str, Any]:
        """What was seen since the last reset."""
        return json.loads(self._get("/stats"))

    def _get(self, path: str) -> bytes:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(self.root + path, timeout=10) as response:
            return response.read()


@contextmanager
def server() -> Iterator[Server]:
    """A server in a process of its own."""
    process = subprocess.Popen([sys.executable, "-m", "bench.server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               cwd=ROOT, env=environment(ROOT), text=True)
    assert process.stdin and process.stdout
    try:
        yield Server(int(process.stdout.readline()))
    finally:
        process.stdin.close()
        process.wait(10)


def interpreters() -> dict[str, str]:
    """The interpreters to measure, by the version of inspect-ai they have: this one, and the engine's own where there is one."""
    own = os.environ.get("L2BENCH_ENGINE_PYTHON") or str(ROOT / ".venv-engine" / "bin" / "python")
    found: dict[str, str] = {}
    for python in (sys.executable, own):
        if Path(python).exists():
            found.setdefault(f"inspect-ai {_version(python)}", python)
    return found


def _version(python: str) -> str:
    code = "import importlib.metadata as m; print(m.version('inspect-ai'))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def run(way: str, python: str, at: Server, tasks: int, connections: int, latency: float) -> Measured:
    """Run one evaluation in a process of its own.

    Args:
        way: "ours" or "plain".
        latency: seconds that each answer takes.

    Raises:
        RuntimeError: the child failed; its last words are in the message.
    """
    from bench.ours import order

    with tempfile.TemporaryDirectory(prefix="l2bench-bench-") as name:
        folder = Path(name)
        csv_path, resources = load.write(folder, tasks)
        told = folder / "order.json"
        told.write_text(json.dumps(order(folder, csv_path, resources, at.url, connections)))
        at.reset(latency)
        done = subprocess.run([python, "-m", f"bench.{way}", str(told)], cwd=folder, env=environment(folder),
                              capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"bench.{way} failed: {done.stderr[-1000:]}")
        return Measured(Figures(**json.loads(done.stdout.splitlines()[-1])), at.stats())


def environment(home: Path) -> dict[str, str]:
    """What a child may know of this shell."""
    return {"PATH": os.environ.get("PATH", ""), "HOME": str(home), "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1",
            "HF_HUB_OFFLINE": "1"}
