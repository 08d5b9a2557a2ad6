"""One run in a forked process: takes the order, evaluates, writes each event as a line to its pipe.

Never prints: standard output belongs to the engine's protocol.
"""

import os
import signal
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from pipeline.broken import keep_trace
from pipeline.core.redact import Redactor
from pipeline.core.secret_names import machine_secrets
from pipeline.core.written import guard_logs
from pipeline.errors import UserError
from pipeline.events import RunFinished, to_line
from pipeline.ledger import from_data
from pipeline.plan import prepare
from pipeline.run import Session, broken_off, execute
from pipeline.spec import Credentials, Places, RunSpec
from pipeline.switch import Switch

METER_EVERY = 1.0
OUTLIVE = 8.0
"""Seconds that a worker may go on without its engine, where the kernel has not ended it with the engine."""


class Pipe:
    """Writes events to the engine; small ones are gathered for a moment, so that a fast run costs few system calls."""

    def __init__(self, fd: int) -> None:
        self._fd, self._lock = fd, threading.Lock()
        self._parts: list[bytes] = []
        self._more, self._open = threading.Event(), True
        self._thread = threading.Thread(target=self._pump, daemon=True)
        self._thread.start()

    def event(self, event: Any) -> None:
        """Queue one event line."""
        self.raw(to_line(event).encode())

    def raw(self, line: bytes) -> None:
        """Queue one line."""
        with self._lock:
            self._parts.append(line + b"\n")
        self._more.set()

    def _pump(self) -> None:
        while self._open or self._parts:
            self._more.wait(1.0)
            self._more.clear()
            self.flush()
            if self._open:
                threading.Event().wait(0.02)

    def flush(self) -> None:
        """Write what is queued."""
        with self._lock:
            raw, self._parts = b"".join(self._parts), []
            view = memoryview(raw)
            with suppress(OSError):  # the engine has gone, and with it everyone who listens
                while view:
                    view = view[os.write(self._fd, view):]

    def close(self) -> None:
        """Write the rest and end."""
        self._open = False
        self._more.set()
        self._thread.join(5)
        self.flush()


def work(order: dict[str, Any], events_out: int, orders_in: int) -> int:
    """Run the order. Returns the exit code: 0 finished, 1 ended otherwise, 2 nothing was started."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pipe, switch = Pipe(events_out), Switch()
    threading.Thread(target=_listen, args=(orders_in, switch), daemon=True).start()
    credentials = Credentials.from_json(order.get("credentials") or {})
    redact = Redactor([*credentials.secrets(), *machine_secrets(os.environ)])
    guard_logs(redact)
    try:
        return _run(order, credentials, pipe, switch)
    except UserError as error:
        pipe.event(RunFinished(t=_now(), status="failed", reason=redact(str(error))))
        return 2
    except Exception as error:  # noqa: BLE001 - the page must be told
        status, reason = broken_off(error)
        pipe.event(RunFinished(t=_now(), status=status, reason=reason))  # type: ignore[arg-type]
        keep_trace(Path(order["places"]["run_dir"]), error, redact)
        return 3
    finally:
        pipe.close()


def _run(order: dict[str, Any], credentials: Credentials, pipe: Pipe, switch: Switch) -> int:
    given = order["places"]
    paths = {k: Path(given[k]) if given.get(k) else None for k in ("csv_path", "resources_dir", "cache_dir")}
    places = Places(Path(given["run_dir"]), **paths)
    (places.run_dir / "private").mkdir(parents=True, exist_ok=True)
    os.environ["XDG_DATA_HOME"] = str(places.run_dir / "private" / "inspect")
    plan = prepare(RunSpec(**order["spec"]), places, credentials.hf_token, live=order.get("live"))
    earlier = tuple(map(from_data, order.get("earlier") or ()))
    session = Session(plan, places, credentials, pipe.event, switch, resumed=bool(order.get("resume")), earlier=earlier)
    threading.Thread(target=_tell_reserved, args=(session, pipe), daemon=True).start()
    view = execute(session)
    return 0 if view.status in ("finished", "paused") else 1


def _tell_reserved(session: Session, pipe: Pipe) -> None:
    """Tell the page, once a second, how much money calls under way hold. No event: it is worth nothing later."""
    last: float | None = None
    while True:
        threading.Event().wait(METER_EVERY)
        if session.evaluator is not None and session.plan.spec.max_cost is not None:
            reserved = session.evaluator.door.meter.snapshot().reserved.cost
            if reserved != last:
                last = reserved
                pipe.raw(f'!"reserved":{reserved:.6f}'.encode())


def _listen(orders_in: int, switch: Switch) -> None:
    """A line asks for the stop; the end of the pipe means that the engine is gone, and with it everyone who watches."""
    while os.read(orders_in, 64):
        switch.stop()
    switch.stop("The server went away.")
    threading.Event().wait(OUTLIVE)
    os._exit(4)


def _now() -> float:
    import time

    return time.time()
