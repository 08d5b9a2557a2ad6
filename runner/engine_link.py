"""The one child process that evaluates, and the pipe to it. Starts it, restarts it, ends it; knows nothing of runs.

Keys pass through the child's stdin and nowhere else: its environment is an allow-list, its arguments are fixed.
"""

import asyncio
import contextlib
import json
import logging
import os
import shutil
import signal
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from pipeline.core.passwords import carries_password
from pipeline.errors import UserError
from pipeline.events import Event

try:
    import fcntl
except ImportError:  # no such locks on this system
    fcntl = None  # type: ignore[assignment]

ROOT = Path(__file__).resolve().parent.parent
CHUNK = 1 << 16  # what one turn of the event loop reads: about 10 ms of work
LONGEST_LINE = 64 << 20
READY_SECONDS = 90.0
GRACE_SECONDS = 5.0
END_SECONDS = 0.5  # it ends its workers and itself at once; where it is still loading, nothing is lost with it
_NAMES = {"PATH", "LANG", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "HF_ENDPOINT"}
_PREFIXES = ("LC_", "HF_HUB_", "PYTHON", "L2BENCH_")
_PROXIES = {"http_proxy", "https_proxy", "no_proxy"}
_SECRET = ("TOKEN", "KEY", "SECRET", "PASSWORD")
log = logging.getLogger(__name__)


class Message(BaseModel):
    """One line of the engine. `reserved` is the money (US dollars) held for calls in flight; it is not an event."""

    model_config = ConfigDict(extra="ignore")

    run: str = ""
    event: Event | None = None
    started: bool = False
    exit: int | None = None
    error: str = ""
    ready: bool = False
    versions: dict[str, str] = {}
    pid: int | None = None
    reserved: float | None = None


def default_command(env: Mapping[str, str]) -> list[str]:
    """`python -m pipeline.engine` with the interpreter that `L2BENCH_ENGINE_PYTHON` names, else this one."""
    return [env.get("L2BENCH_ENGINE_PYTHON") or sys.executable, "-m", "pipeline.engine"]


def minimal_environment(env: Mapping[str, str], home: Path, data: Path) -> dict[str, str]:
    """What of `env` the engine may have: no provider key, no token, no address that carries a password."""
    kept = {
        name: value
        for name, value in env.items()
        if (name in _NAMES or name.startswith(_PREFIXES) or name.lower() in _PROXIES)
        and not any(word in name.upper() for word in _SECRET)
        and not carries_password(name, value)
    }
    path = os.pathsep.join(p for p in (str(ROOT), env.get("PYTHONPATH", "")) if p)
    return kept | {"HOME": str(home), "XDG_DATA_HOME": str(data), "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": path}


class EngineLink:
    """Keeps one engine alive.

    Args:
        home: data folder; the engine's private folders are made in it.
        command: the program to run instead of the real engine, for tests.
        on_message: takes every line; called in the event loop, must not block.
        on_death: called when the engine has gone, whatever the reason, with nothing of it left running.
        redact: removes keys from a line of the engine's stderr before it is logged.
    """

    def __init__(
        self,
        home: Path,
        command: Sequence[str] | None,
        on_message: Callable[[Message], None],
        on_death: Callable[[], None],
        redact: Callable[[str], str],
    ) -> None:
        self._home = home / "engine"
        self._command = list(command or default_command(os.environ))
        self._on_message, self._on_death, self._redact = on_message, on_death, redact
        self._process: asyncio.subprocess.Process | None = None
        self._starting = asyncio.Lock()
        self._ready = asyncio.Event()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._serving: asyncio.Task[Any] | None = None
        self._errors: deque[str] = deque(maxlen=40)
        self._failures = 0
        self._closing = False
        self._empty: Path | None = None
        self.versions: dict[str, str] = {}

    @property
    def pid(self) -> int | None:
        """Process id of the living engine."""
        return self._process.pid if self._process and self._process.returncode is None else None

    def start_in_background(self) -> None:
        """Begin to start the engine; a failure is logged and tried again by the next `ensure`."""
        self._spawn_task(self._quietly())

    async def ensure(self) -> None:
        """Wait until an engine is ready, starting one if there is none.

        Raises:
            UserError: it does not start.
        """
        async with self._starting:
            if self.pid is None or not self._ready.is_set():
                await self._start()

    async def order(self, op: str, run: str) -> None:
        """Send "stop" or "kill" for a run; it has left when this returns, unless the pipe is full.

        Raises:
            UserError: there is no engine.
        """
        await self._write(json.dumps({"op": op, "run": run}, separators=(",", ":")).encode() + b"\n")

    async def start(self, run: str, order: dict[str, Any]) -> None:
        """Send a start. The order, which holds the keys, follows its header as bytes that only the worker reads.

        Raises:
            UserError: there is no engine.
        """
        body = json.dumps(order, separators=(",", ":")).encode()
        header = json.dumps({"op": "start", "run": run, "bytes": len(body)}, separators=(",", ":")).encode()
        await self._write(header + b"\n" + body)

    async def _write(self, data: bytes) -> None:
        process = self._process
        if process is None or process.returncode is not None or process.stdin is None:
            raise _not_there()
        try:
            process.stdin.write(data)
            await process.stdin.drain()
        except ConnectionError:
            raise _not_there() from None

    async def close(self) -> None:
        """End the engine: close its stdin, which means stop everything; kill it after a moment."""
        self._closing = True
        process = self._process
        if process and process.returncode is None:
            if process.stdin:
                process.stdin.close()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(asyncio.shield(process.wait()), END_SECONDS)
            _kill_group(process.pid)
        tasks = [t for t in self._tasks if t is not asyncio.current_task()]
        if tasks:
            await asyncio.wait(tasks, timeout=GRACE_SECONDS)
        for task in tasks:
            task.cancel()
        if self._empty:
            shutil.rmtree(self._empty, ignore_errors=True)

    async def _quietly(self) -> None:
        try:
            await self.ensure()
        except (UserError, OSError) as error:
            if not self._closing:  # else it was ended while it was loading
                log.error("the engine did not start: %s", error)

    async def _start(self) -> None:
        if self._closing:
            raise _not_there()
        if self._serving and not self._serving.done():  # the last one's death is told before the next one lives
            await asyncio.wait({self._serving}, timeout=GRACE_SECONDS)
        if self._failures:
            await asyncio.sleep(min(5.0, 0.25 * 2**self._failures))
        self._failures += 1
        self._ready.clear()
        lock = await _engine_lock(self._home)
        try:
            self._process = await self._spawn(lock)
        except OSError as error:
            raise UserError(
                "The evaluation engine does not start.",
                f"{self._command[0]!r}: {error.strerror}.",
                "Check L2BENCH_ENGINE_PYTHON.",
            ) from None
        finally:
            if lock is not None:
                os.close(lock)
        self._serving = self._spawn_task(self._serve(self._process))
        ready = asyncio.ensure_future(self._ready.wait())
        await asyncio.wait({self._serving, ready}, timeout=READY_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        if not self._ready.is_set():
            _kill_group(self._process.pid)
            raise _not_there()
        self._failures = 0

    async def _spawn(self, lock: int | None) -> asyncio.subprocess.Process:
        places = [self._home / "home", self._home / "data"]
        for place in places:
            place.mkdir(parents=True, exist_ok=True, mode=0o700)
        # inspect reads a `.env` found upward from the working directory; above a temporary folder there is none.
        self._empty = self._empty or Path(tempfile.mkdtemp(prefix="l2bench-engine-"))
        return await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=minimal_environment(os.environ, *places),
            cwd=self._empty,
            start_new_session=True,
            limit=4 * CHUNK,
            pass_fds=() if lock is None else (lock,),
        )

    async def _serve(self, process: asyncio.subprocess.Process) -> None:
        errors = asyncio.ensure_future(self._read_errors(process))
        try:
            await self._read(process)
        except Exception:
            log.exception("the engine's pipe broke")
        # Workers of a dead engine must not go on spending: the whole group goes with it.
        if not self._closing:
            _kill_group(process.pid)
        await process.wait()
        await asyncio.wait({errors}, timeout=1.0)
        errors.cancel()
        was_ready = self._ready.is_set()
        self._ready.clear()
        if not self._closing:
            log.error("the engine ended with code %s; its last words: %s", process.returncode, " / ".join(self._errors))
        self._on_death()
        if was_ready and not self._closing:
            self.start_in_background()

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        parts: list[bytes] = []
        held = 0
        while chunk := await process.stdout.read(CHUNK):
            first, *others = chunk.split(b"\n")
            parts.append(first)
            held += len(first)
            if others:
                self._take(b"".join(parts))
                for line in others[:-1]:
                    self._take(line)
                parts, held = [others[-1]], len(others[-1])
            if held > LONGEST_LINE:
                raise ValueError("a line without end")
            await asyncio.sleep(0)

    def _take(self, line: bytes) -> None:
        try:
            message = Message.model_validate_json(line)
        except ValidationError:
            if line.strip():
                log.warning("a line of the engine was not understood (%d bytes)", len(line))
            return
        if message.ready:
            self.versions = message.versions
            self._ready.set()
        try:
            self._on_message(message)
        except Exception:
            log.exception("an event could not be taken in")

    async def _read_errors(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None
        rest = ""
        while chunk := await process.stderr.read(CHUNK):
            *lines, rest = (rest + chunk.decode(errors="replace"))[-4 * CHUNK :].split("\n")
            self._errors.extend(self._redact(line)[:500] for line in lines if line.strip())

    def _spawn_task(self, work: Any) -> asyncio.Task[Any]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


async def _engine_lock(home: Path) -> int | None:
    """A lock the engine and its workers inherit: a new engine waits until those of a killed server have gone.

    Raises:
        UserError: they do not go.
    """
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    if fcntl is None:
        return None
    descriptor = os.open(home / "engine.lock", os.O_RDWR | os.O_CREAT, 0o600)
    for _ in range(200):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
        except BlockingIOError:
            await asyncio.sleep(0.1)
        except OSError:  # a mounted bucket may have no locks
            return descriptor
    os.close(descriptor)
    raise UserError("An earlier evaluation engine still runs on this data folder.", "", "End it, then try again.")


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _not_there() -> UserError:
    return UserError(
        "The evaluation engine is not running.", "It is started again by itself.", "Try again in a moment."
    )
