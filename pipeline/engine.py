"""The engine: one child of the web app that has inspect-ai loaded once and forks a worker for each run.

    python -m pipeline.engine        (JSON lines on standard input and output)

A start is a header line `{"op":"start","run":TOKEN,"bytes":N}` and then N bytes of JSON, which hold the keys. Only
the forked worker reads those bytes, so no key ever enters the engine's own memory, which later workers inherit.
Never writes anything but the protocol to standard output.
"""

import contextlib
import gc
import json
import os
import selectors
import signal
import sys
import tempfile
from dataclasses import dataclass
from typing import Any

from pipeline.core import machine
from pipeline.core.orphans import die_with_parent


@dataclass
class Worker:
    """A forked worker as the engine sees it: its pid, the end of its event pipe, the end of its order pipe."""

    run: str
    pid: int
    events: int
    orders: int
    buffer: bytes = b""


def preload() -> None:
    """Import what an evaluation needs, also what inspect imports late, so that a forked worker starts at once.

    A private module of inspect that has moved only costs time.
    """
    import importlib

    import pipeline.demo
    import pipeline.run  # noqa: F401

    for name in (
        "inspect_ai.hooks._startup", "inspect_ai._eval.score", "inspect_ai.solver._transcript", "inspect_ai.agent._acp.server",
        "inspect_ai.agent._acp.transport_live", "inspect_ai.agent._acp._client_registry", "inspect_ai.model._providers.none",
        "inspect_ai.model._providers.openai", "inspect_ai.model._providers.openai_compatible",
        "inspect_ai.model._providers.openrouter", "inspect_ai.model._providers.anthropic", "inspect_ai._control.config_record",
        "inspect_ai._control.scoring", "numpy", "rich.markdown", "httpcore", "httpcore2", "truststore",
        "openai.resources.chat.completions", "openai.resources.responses", "anyio._backends._asyncio", "anyio.streams.tls",
    ):
        try:
            importlib.import_module(name)
        except Exception:  # noqa: BLE001, S112
            continue
    _rehearse()
    gc.collect()
    gc.freeze()


def _rehearse() -> None:
    """Do once what takes long only the first time: inspect's table of models, TLS certificates, the SDK's types. Sends nothing."""
    from pipeline.models import build
    from pipeline.spec import ModelSpec, ProviderKey

    build(ModelSpec(model="openai-api/none/none", base_url="http://127.0.0.1:9/v1"), ProviderKey({"api_key": "none"}), 1)


class Engine:
    """The loop between the web app's pipe and the workers' pipes."""

    def __init__(self) -> None:
        self.out = os.dup(1)
        os.dup2(2, 1)
        self.selector = selectors.DefaultSelector()
        self.workers: dict[str, Worker] = {}
        self.line = b""

    def tell(self, data: dict[str, Any]) -> None:
        """One protocol line to the web app."""
        self._write(json.dumps(data, separators=(",", ":")).encode() + b"\n")

    def _write(self, raw: bytes) -> None:
        view = memoryview(raw)
        while view:
            view = view[os.write(self.out, view):]

    def serve(self) -> None:
        """Run until standard input ends; then every worker is stopped."""
        from pipeline.plan import versions

        self.tell({"ready": True, "versions": versions(), "pid": os.getpid()})
        self.selector.register(0, selectors.EVENT_READ, None)
        while True:
            for key, _ in self.selector.select(timeout=1.0):
                if key.data is None:
                    if not self._order():
                        return self._end()
                else:
                    self._from_worker(key.data)

    def _order(self) -> bool:
        """Read one header line, byte by byte: what follows a start belongs to the worker."""
        while True:
            byte = os.read(0, 1)
            if not byte:
                return False
            if byte == b"\n":
                break
            self.line += byte
        line, self.line = self.line, b""
        try:
            order = json.loads(line)
            op, run = order["op"], str(order["run"])
        except (ValueError, KeyError, TypeError):
            return True
        if op == "start":
            self._start(run, int(order["bytes"]))
        elif (worker := self.workers.get(run)) is not None:
            if op == "stop":
                self._send_stop(worker)
            elif op == "kill":
                os.kill(worker.pid, signal.SIGKILL)
        return True

    def _start(self, run: str, size: int) -> None:
        made: list[int] = []
        engine = os.getpid()
        try:
            made += os.pipe()
            made += os.pipe()
            pid = os.fork()
        except OSError as error:  # too many open files or processes: this run does not start, the others go on
            for fd in made:
                os.close(fd)
            _read_exactly(0, size)
            return self.tell({"run": run, "exit": 2, "error": machine.words(error) or "No further process can be started."})
        events_in, events_out, orders_in, orders_out = made
        if pid == 0:
            die_with_parent(engine)
            os.close(events_in)
            os.close(orders_out)
            self._become_worker(size, events_out, orders_in)
        os.close(events_out)
        os.close(orders_in)
        worker = Worker(run, pid, events_in, orders_out)
        os.read(events_in, 1)  # the worker has taken its bytes from standard input, which we share
        self.workers[run] = worker
        self.selector.register(events_in, selectors.EVENT_READ, worker)
        self.tell({"run": run, "started": True, "pid": pid})

    def _become_worker(self, size: int, events_out: int, orders_in: int) -> None:
        code = 1
        try:
            order = _read_exactly(0, size)
            os.write(events_out, b"\n")
            for other in self.workers.values():
                os.close(other.events)
                os.close(other.orders)
            os.close(self.out)
            null = os.open(os.devnull, os.O_RDONLY)
            os.dup2(null, 0)
            from pipeline.worker import work

            code = work(json.loads(order), events_out, orders_in)
        except BaseException as error:  # noqa: BLE001 - a worker must not fall back into the engine's loop
            print(f"worker failed: {type(error).__name__}", file=sys.stderr, flush=True)
        finally:
            os._exit(code)

    def _from_worker(self, worker: Worker) -> None:
        chunk = os.read(worker.events, 1 << 16)
        if not chunk:
            return self._gone(worker)
        lines = (worker.buffer + chunk).split(b"\n")
        worker.buffer = lines.pop()
        head = b'{"run":' + json.dumps(worker.run).encode() + b","
        out = [head + b'"event":' + line + b"}\n" for line in lines if line and not line.startswith(b"!")]
        out += [head + line[1:] + b"}\n" for line in lines if line.startswith(b"!")]
        if out:
            self._write(b"".join(out))

    def _gone(self, worker: Worker) -> None:
        self.selector.unregister(worker.events)
        os.close(worker.events)
        os.close(worker.orders)
        _, status = os.waitpid(worker.pid, 0)
        del self.workers[worker.run]
        code = os.waitstatus_to_exitcode(status)
        self.tell({"run": worker.run, "exit": code, "error": "" if code in (0, 1, 2) else "The worker process ended unexpectedly."})

    def _send_stop(self, worker: Worker) -> None:
        with contextlib.suppress(OSError):
            os.write(worker.orders, b"stop\n")

    def _end(self) -> None:
        for worker in self.workers.values():
            try:
                os.kill(worker.pid, signal.SIGKILL)
            except OSError:
                continue


def _read_exactly(fd: int, size: int) -> bytes:
    parts, left = [], size
    while left:
        chunk = os.read(fd, min(left, 1 << 16))
        if not chunk:
            raise EOFError
        parts.append(chunk)
        left -= len(chunk)
    return b"".join(parts)


def main() -> None:
    """Entry point. Starts in an empty folder, so that no `.env` and no git checkout is found from here."""
    die_with_parent()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with tempfile.TemporaryDirectory(prefix="l2bench-engine-") as empty:
        os.chdir(empty)
        os.environ["HOME"] = empty
        engine = Engine()
        preload()
        engine.serve()
    # The interpreter would take its large modules down one by one, for longer than the app may take to end.
    os._exit(0)


if __name__ == "__main__":
    main()
