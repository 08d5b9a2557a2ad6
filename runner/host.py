"""The runs that are going on and the engine that evaluates them: hands over orders, takes in what comes back.

Knows nothing of links, sharing or owners. Keeps of the keys only what redaction needs, until the run has exited.
"""

import asyncio
import contextlib
import logging
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from pipeline.core import machine
from pipeline.core.clock import now
from pipeline.core.lock import Held, Lock
from pipeline.core.written import guard_logs, unguard_logs
from pipeline.errors import UserError
from pipeline.events import RunStarted, Status
from pipeline.ledger import hold_run
from pipeline.report.view import RunView
from pipeline.spec import Credentials, Places, RunSpec
from runner.engine_link import EngineLink, Message
from runner.folded import Folded, card
from runner.limits import Limits, is_demo
from runner.live import LiveRun, beat
from runner.store import RESTARTED, Store

CRASHED = "The evaluation engine ended unexpectedly; finished tasks are kept."
STOPPED = "The run was stopped; finished tasks are kept."
TRY_AGAIN = 2.0  # seconds between two tries to write what the disk refused
KILL_AFTER = 45.0  # seconds a stopped worker has to write its log
log = logging.getLogger(__name__)


class Host:
    """Hosts live runs.

    Args:
        command: program to run instead of the real engine, or None.
        on_settled: told of a run that has exited and is on disk.
    """

    def __init__(
        self, store: Store, limits: Limits, command: Sequence[str] | None, on_settled: Callable[[LiveRun], None]
    ) -> None:
        self._store, self._limits, self._on_settled = store, limits, on_settled
        self.engine = EngineLink(store.home, command, self._heard, self._engine_died, self._redact)
        self.live: dict[str, LiveRun] = {}
        self._tokens: dict[str, LiveRun] = {}
        self._background: set[asyncio.Task[Any]] = set()
        self._closing = False

    def open(self) -> None:
        """Start the engine in the background, and the beat that writes journals and wakes watchers."""
        guard_logs(self._redact)
        self.engine.start_in_background()
        self.spawn(beat(lambda: list(self.live.values()), self._disk_trouble, self._weigh))

    async def close(self) -> None:
        """End the engine; what was going on is marked interrupted."""
        unguard_logs(self._redact)
        self._closing = True
        for run in self.live.values():
            run.why = run.why or ("interrupted", RESTARTED)
        await self.engine.close()
        for run in list(self.live.values()):
            await self._settle(run, "interrupted", RESTARTED)
        for task in list(self._background):
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)

    def behind(self, demo: bool) -> list[tuple[str, ...]]:
        """For each run of a class that is going on, the names that limits count it under."""
        return [run.names for run in self.live.values() if run.demo == demo]

    async def hold(self, key: str) -> Lock:
        """Make the folder of a run that is not going on this server's.

        Raises:
            UserError: the run is going on, here or in another process, or it has gone.
        """
        if key not in self.live and key in self._store.metas:
            try:
                with machine.in_words():
                    held = await asyncio.to_thread(hold_run, self._store.folder(key))
            except Held:
                if key not in self.live:
                    raise
            else:
                if held.note:
                    log.warning(held.note)
                if key in self._store.metas:
                    return held
                held.release()
        raise UserError("This run is going on.", "", "Watch it, or stop it first.")

    async def launch(
        self, key: str, folded: Folded, names: tuple[str, ...], spec: RunSpec, credentials: Credentials, order: dict[str, Any],
        held: Lock,
    ) -> None:
        """Hand a run to the engine. `names`: that limits count it under. `order` holds places, earlier calls, prices and
        whether it is resumed; `held` is the lock of its folder, let go when the run is settled.

        Raises:
            UserError: the engine does not take it; the run is then marked failed.
        """
        folder = self._store.folder(key)
        run = LiveRun(key, secrets.token_hex(8), folder, folded, names, is_demo(spec), credentials.secrets(), held)
        self.live[key] = self._tokens[run.token] = run
        order["places"] = {**order["places"], "run_dir": str(folder.resolve())}
        try:
            await self.engine.ensure()
            if run.stopping:
                return await self._settle(run, "stopped", STOPPED)
            await self.engine.start(
                run.token, {"spec": spec.model_dump(mode="json"), "credentials": credentials.to_json(), **order}
            )
        except UserError as error:
            await self._settle(run, "failed", str(error))
            raise

    async def stop(self, run: LiveRun, why: tuple[Status, str] | None = None) -> None:
        """Ask a run to stop; the order has left when this returns. `why` replaces the worker's own last word."""
        run.why = run.why or why
        if run.stopping:
            return
        run.stopping = True
        with contextlib.suppress(UserError):
            await self.engine.order("stop", run.token)
        self.spawn(self._kill_later(run))

    async def kill(self, run: LiveRun, seconds: float = 5.0) -> None:
        """End a run's worker at once and wait until it has gone, for some seconds at most."""
        run.stopping = True
        with contextlib.suppress(UserError):
            await self.engine.order("kill", run.token)
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(run.gone.wait(), seconds)

    def spawn(self, work: Any) -> asyncio.Task[Any]:
        """Run a coroutine until it ends or the host closes."""
        task = asyncio.ensure_future(work)
        self._background.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._background.discard(task)
        if not task.cancelled() and task.exception():
            log.error("work in the background broke off", exc_info=task.exception())

    async def _kill_later(self, run: LiveRun) -> None:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(run.gone.wait(), KILL_AFTER)
        if not run.gone.is_set():
            await self.kill(run)

    def _heard(self, message: Message) -> None:
        run = self._tokens.get(message.run)
        if run is None:
            return
        if message.reserved is not None:
            run.folded.wire.reserve(message.reserved)
        if message.event is not None:
            run.take(message.event)
            if isinstance(message.event, RunStarted):
                self._planned(run)
        if message.exit is not None:
            status: Status = "stopped" if run.stopping else "interrupted" if message.exit < 0 else "failed"
            reason = STOPPED if run.stopping else message.error or CRASHED
            self._tokens.pop(run.token, None)
            self.spawn(self._settle(run, status, reason))

    def _engine_died(self) -> None:
        for run in list(self._tokens.values()):
            self._tokens.pop(run.token, None)
            status, reason = run.why or (("stopped", STOPPED) if run.stopping else ("interrupted", CRASHED))
            self.spawn(self._settle(run, status, reason))

    def _planned(self, run: LiveRun) -> None:
        try:
            self._limits.check_tasks(RunSpec(**run.view.spec), run.view.planned)
        except UserError as error:
            self.spawn(self.stop(run, ("stopped", str(error))))
        except ValueError:
            log.warning("the engine told a spec that is none")

    def _weigh(self, run: LiveRun, size: int) -> None:
        if self._limits.run_mb and size > self._limits.run_mb << 20:
            reason = f"The run's files passed {self._limits.run_mb} MB, the most allowed here; finished tasks are kept."
            self.spawn(self.stop(run, ("stopped", reason)))

    def _disk_trouble(self, run: LiveRun, error: OSError) -> None:
        log.error("a journal cannot be written: %s", error.strerror)
        self.spawn(self.stop(run, ("paused", machine.sentence(error) or f"The server's disk took no more. {machine.GO_ON}")))

    async def _settle(self, run: LiveRun, status: Status, reason: str) -> None:
        """The stretch is over: last event, journal to the disk, manifest; then the run is like any other on disk."""
        self._tokens.pop(run.token, None)
        if run.settling:
            if self._closing:  # one last try for what the disk refused until now
                with contextlib.suppress(Exception):
                    await self._write_out(run)
                return self._let_go(run)
            await run.gone.wait()
            return
        run.settling = True
        run.end(status, reason)
        try:
            await self._write_out(run)
        except Exception:
            log.exception("the end of a run could not be written")
            run.wake()
            if not self._closing:
                self.spawn(self._write_later(run))
                return
        self._let_go(run)

    async def _write_out(self, run: LiveRun) -> None:
        """Journal, manifest and record of a run that has ended.

        Raises:
            OSError: the disk refused; all of it can be tried again.
        """
        await run.flush(final=True)
        if run.key in self._store.metas and run.view.tasks:
            await asyncio.to_thread(_write_manifest, run.view, Places(run.folder))
        if meta := self._store.metas.get(run.key):
            self._store.save(replace(meta, ended=now(), card=card(run.view)))

    async def _write_later(self, run: LiveRun) -> None:
        """A run whose end the disk refused stays in memory, and its folder ours, until the disk takes it."""
        while run.key in self._store.metas:
            await asyncio.sleep(TRY_AGAIN)
            try:
                await self._write_out(run)
                break
            except Exception as error:  # noqa: BLE001 - the next time may go well
                log.warning("the end of a run still cannot be written: %s", type(error).__name__)
        self._let_go(run)

    def _let_go(self, run: LiveRun) -> None:
        run.journal.close()
        run.forget_keys()
        run.held.release()
        self.live.pop(run.key, None)
        self._on_settled(run)
        run.settled = True
        run.gone.set()
        run.wake()

    def _redact(self, line: str) -> str:
        for run in self.live.values():
            line = run.redact(line)
        return line


def _write_manifest(view: RunView, places: Places) -> None:
    from pipeline.report.manifest import write_manifest  # numpy: not needed before the first run has ended

    write_manifest(view, places)
