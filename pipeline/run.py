"""One run, from a RunSpec to its last event: load, check, choose, evaluate with inspect, write log and manifest.

The command line, the engine's workers and `inspect eval` all come through here. Never decides where events go: `say`
is given. Starts one evaluation per process, as inspect asks.
"""

import asyncio
import inspect as python_inspect
import logging
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from inspect_ai.model import Model

from pipeline import events, heap, ready
from pipeline.admission import Admission
from pipeline.broken import keep_trace
from pipeline.came_back import call_event
from pipeline.core import clock, machine
from pipeline.core.redact import Redactor
from pipeline.core.secret_names import machine_secrets
from pipeline.core.written import guard_logs, unguard_logs
from pipeline.cost.estimate import estimate, seen_from_view
from pipeline.cost.meter import Meter
from pipeline.cost.prices import Price
from pipeline.data.changed import remember
from pipeline.data.choose import sample
from pipeline.data.records import Task
from pipeline.door import Door, RoleModel, with_output_bound
from pipeline.errors import UserError
from pipeline.inspect_parts import build_task
from pipeline.judging.evaluate import Evaluator
from pipeline.judging.outcomes import CUT_OFF, PROGRAM, Outcome
from pipeline.ledger import CallId, Entry, Ledger
from pipeline.log_ending import tell_log
from pipeline.plan import Plan, planned, versions
from pipeline.report.repeats import adds
from pipeline.report.view import Fold, RunView
from pipeline.spec import Credentials, Places
from pipeline.switch import Switch

PILOT_TASKS = 5
REESTIMATE_AFTER = 5
WRITE_OUT = 1.0
"""Seconds that inspect gets to write out tasks that have ended, before a stopped evaluation is cancelled."""


@dataclass
class Session:
    """One stretch of a run: the door, the evaluator and what was said so far, by earlier stretches too, as far as the
    journal holds it. `earlier` holds calls from before the run's start."""

    plan: Plan
    places: Places
    credentials: Credentials
    sink: Callable[[events._Event], None]
    switch: Switch
    stop_grace: float = 20.0
    resumed: bool = False
    earlier: tuple[Entry, ...] = ()
    fold: Fold = field(default_factory=Fold)
    evaluator: Evaluator | None = None
    ledger: Ledger | None = None
    ended: set[tuple[str, int]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.redact = Redactor([*self.credentials.secrets(), *machine_secrets(os.environ)])

    def say(self, event: Any) -> None:
        """Hand an event on, its free texts without secrets, unless the journal says it already, and keep the view current."""
        event = events.redacted(event, self.redact)
        if clock.now() - event.t > 1:  # the machine's clock was set back
            event = event.model_copy(update={"t": clock.now()})
        new = adds(self.fold, event)
        if new:
            self.fold.apply(event)
            self.sink(event)
        if isinstance(event, events.TaskFinished):
            if new:
                self._reestimate()
            self.ended.add((event.task, event.epoch))
            if len(self.ended) % heap.EVERY == 0:
                heap.give_back()

    def broke(self, error: BaseException) -> None:
        """Keep the trace of a fault of this program for whoever runs it."""
        keep_trace(self.places.run_dir, error, Redactor(self.credentials.secrets()))

    def pause(self, error: BaseException) -> None:
        """The machine takes no more: let no further call leave, whether or not the run's loop has begun."""
        self.switch.stop(machine.sentence(error) or f"{type(error).__name__}. {machine.GO_ON}", "paused")
        if self.evaluator is not None:
            with suppress(RuntimeError):  # no loop runs here
                self.evaluator.door.pause(error)

    def give_room(self) -> bool:
        """Bytes that were kept free for a full disk are given back; whether there were any."""
        return self.ledger is not None and self.ledger.give_room()

    def _reestimate(self) -> None:
        view = self.fold.view
        if view.done != REESTIMATE_AFTER or view.reestimates or len(self.plan.chosen) <= REESTIMATE_AFTER:
            return
        p = self.plan
        new = estimate(p.chosen, p.spec, {"solver": p.solver_price, "judge": p.judge_price},
                       seen=seen_from_view(view), template=p.prompt.template, available=p.estimate.available)
        self.say(events.Reestimated(t=time.time(), after_tasks=view.done, estimate=new.model_dump(mode="json")))

    def open(self) -> Evaluator:
        """Build models, ledger, meter and door.

        Raises:
            UserError: another process makes the calls of this run, a model cannot be called, or the cap cannot hold because
            a price is unknown.
        """
        spec, keys = self.plan.spec, self.credentials
        meter = Meter(spec.max_cost, spec.max_calls, spec.max_tokens)
        meter.check_can_hold({"solver": self.plan.solver_price, "judge": self.plan.judge_price})
        built = ready.models(spec, keys, self.redact)
        try:
            self.ledger = ledger = Ledger(self.places.ledger)
            remember(self.plan.data.tasks, self.places.private)
        except OSError as error:
            found = machine.words(error) or f"The run's folder cannot be used: {error.strerror}."
            raise UserError(found, "", "Mend it first.") from None
        door = Door(meter=meter, ledger=ledger, say=self.say, connections=spec.max_connections, retries=spec.api_retries,
                    timeout=spec.call_timeout, redact=self.redact, stop_grace=self.stop_grace)
        door.broke = self.broke
        solver = _role("solver", built["solver"], self.plan.solver_price, meter.capped)
        judge = _role("judge", built["judge"], self.plan.judge_price, meter.capped)
        admission = Admission(meter, door, self.plan.estimate.judge.per_call)
        self.evaluator = Evaluator(door, solver, judge, self.plan.prompt, admission, self.say,
                                   spec.verdict_retries, spec.verdict_parser)
        self._carry_over(ledger, meter)
        return self.evaluator

    def _carry_over(self, ledger: Ledger, meter: Meter) -> None:
        """Take up what earlier stretches said and paid; a call that one of the two records lost counts all the same."""
        self.resumed = self.resumed or ledger.resumed
        paid = {entry.id.text(entry.attempt) for calls in ledger.entries.values() for entry in calls}
        for event in events.read_journal_file(self.places.journal):
            self.fold.apply(event)
            if isinstance(event, events.Call) and event.id not in paid:
                paid.add(event.id)
                ledger.told(event.id)
                meter.carry(event.role, event.cost, 1, (event.input or 0) + (event.output or 0))
        clock.not_before(self.fold.view.finished or self.fold.view.started)
        self.say(_started(self.plan, self.resumed))
        for entry in self.earlier:
            ledger.came_back(entry)
        for calls in ledger.entries.values():
            for entry in calls:
                tokens = entry.usage.total if entry.usage and entry.usage.total is not None else entry.reserve_tokens
                meter.carry(entry.id.role, entry.cost, 1, tokens if entry.cost_source != "none" or not entry.fault else 0)
                self.say(call_event(entry))


def _role(role: events.Role, model: Model, price: Price | None, capped: bool) -> RoleModel:
    model.config, most = with_output_bound(model.config, capped)
    return RoleModel(role, model, price, most)


def _started(plan: Plan, resumed: bool) -> events.RunStarted:
    return events.RunStarted(
        t=time.time(), spec=plan.spec.model_dump(mode="json"), spec_digest=plan.spec.digest, data=plan.record,
        prompt=plan.prompt.record(), versions=versions(), differences=plan.differences, resumed=resumed,
        tasks=tuple(planned(t) for t in plan.chosen), estimate=plan.estimate.model_dump(mode="json"), outgrown=plan.outgrown,
    )


def execute(session: Session) -> RunView:
    """Evaluate the plan with inspect up to its last event. Returns the folded view; whoever keeps the journal writes
    the manifest once the journal is complete.

    Raises:
        UserError: the run cannot start.
    """
    guard_logs(session.redact)
    try:
        evaluator = session.open()
        status, reason = _evaluated(session, evaluator)
    finally:
        if session.ledger is not None:
            session.ledger.close()
        unguard_logs(session.redact)
    _leftovers(session, evaluator, status, reason)
    session.say(events.RunFinished(t=time.time(), status=status, reason=reason))  # type: ignore[arg-type]
    return session.fold.view


def _evaluated(session: Session, evaluator: Evaluator) -> tuple[str, str]:
    """Evaluate; the status and the reason that the run ends with."""
    try:
        _inspect_eval(session, evaluator)
    except KeyboardInterrupt:
        return "stopped", "The run was interrupted."
    except Exception as error:  # noqa: BLE001 - what ended stays, and the run can go on
        session.broke(error)
        if evaluator.door.closed is None:
            return broken_off(error)
    return _ending(session, evaluator)


def broken_off(error: Exception) -> tuple[str, str]:
    """Status and reason of a run that an exception ended: this machine's trouble pauses it, our own fault fails it."""
    if trouble := machine.sentence(error):
        return "paused", trouble
    return "failed", f"The run broke off by a fault of this program ({type(error).__name__}). Finished tasks are kept."


def _inspect_eval(session: Session, evaluator: Evaluator) -> None:
    import inspect_ai

    spec = session.plan.spec
    # What is paid for comes first: a run that goes on and is stopped has all of it in its log.
    tasks = sorted(_stretch(session.plan), key=lambda t: evaluator.door.ledger.answer(CallId("solver", t.key)) is None)
    quiet()
    os.environ["INSPECT_TRACE_FILE"] = str(session.places.run_dir / "private" / "trace.log")
    task = build_task(evaluator, tasks, spec.epochs, session.plan.data.source.name)
    tell_log(spec.digest, evaluator)
    first = _attach_first(session.switch, evaluator)
    task.solver = [first, task.solver]  # type: ignore[assignment]
    wanted: dict[str, Any] = {
        "display": "none", "log_dir": str(session.places.logs), "log_buffer": _log_buffer(len(tasks) * spec.epochs),
        "log_realtime": False, "log_model_api": False, "log_images": False, "log_header_only": True,
        "fail_on_error": False, "score_display": False, "ctl_server": False,
        "acp_server": False, "max_samples": max(spec.max_connections, 10), "max_connections": spec.max_connections,
        "model": evaluator.solver.model, "model_roles": {"grader": evaluator.judge.model},
        "metadata": session.plan.log_metadata(),
    }
    known = python_inspect.signature(inspect_ai.eval).parameters
    inspect_ai.eval(task, **{k: v for k, v in wanted.items() if k in known or k == "max_connections"})


def _log_buffer(samples: int) -> int:
    """Tasks that inspect holds, whole, before it writes them out: never more than 10. Left alone it holds a tenth of a long run."""
    return max(1, min(samples // 3, 10))


def _stretch(plan: Plan) -> list[Task]:
    """The tasks of this stretch: all chosen ones, or a stratified few for a pilot."""
    chosen = list(plan.chosen)
    return sample(chosen, PILOT_TASKS, "stratified", plan.spec.seed) if plan.spec.pilot else chosen


def _attach_first(switch: Switch, evaluator: Evaluator) -> Any:
    from inspect_ai.solver import solver

    @solver
    def stop_switch() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            if switch._act is None:
                switch.attach(evaluator.door)
                evaluator.idle = _cancel_soon(asyncio.get_running_loop(), evaluator)
            return state

        return solve

    return stop_switch()


def _cancel_soon(loop: asyncio.AbstractEventLoop, evaluator: Evaluator) -> Callable[[], None]:
    """Ends the evaluation once nothing is under way after a stop; inspect would else walk through every task left."""
    roots = [t for t in asyncio.all_tasks(loop) if "_run_coro" not in getattr(t.get_coro(), "__qualname__", "")]
    main = roots[0] if len(roots) == 1 else None  # the one task that no task group of anyio has started
    asked: list[bool] = []

    def end() -> None:
        if main is not None and not evaluator.written:
            main.cancel()

    def cancel() -> None:
        if not asked and main is not None:
            asked.append(True)
            loop.call_later(WRITE_OUT, end)

    return cancel


def quiet() -> None:
    """Keep inspect's files and its chatter to the run's own folder, and vendors' hidden retries off."""
    os.environ.setdefault("INSPECT_TRACE_LEVEL", "CRITICAL")
    os.environ.setdefault("INSPECT_DISPLAY", "none")
    os.environ["AWS_MAX_ATTEMPTS"] = "1"
    # Three records a call, made only to be thrown away; what is worth a look in the log stays.
    logging.raiseExceptions = False  # a log that the disk refuses prints no trace
    logging.getLogger("inspect_ai.model").setLevel(logging.INFO)
    heap.tune()
    heap.give_back()  # what reading the tasks took
    try:
        from inspect_ai.agent._acp.transport import _acp_live_active

        _acp_live_active.set(True)
    except Exception:  # noqa: BLE001 - a private name of inspect that only saves time
        pass


def _ending(session: Session, evaluator: Evaluator) -> tuple[str, str]:
    closed = evaluator.door.closed
    if closed is not None:
        return closed.cause, closed.sentence
    if session.plan.spec.pilot and len(session.plan.chosen) > PILOT_TASKS:
        return "paused", f"The pilot of {PILOT_TASKS} tasks is done; its verdicts are kept and count when you go on."
    return "finished", ""


def _leftovers(session: Session, evaluator: Evaluator, status: str, why: str) -> None:
    """Give every task that never ended its outcome, so that each ends in exactly one."""
    closed = evaluator.door.closed
    outcome, stage, reason, tasks = Outcome.CANCELLED, "", why, list(session.plan.chosen)
    if closed is not None:
        outcome, reason = Outcome.SKIPPED_BY_CAP if closed.cause == "capped" else Outcome.CANCELLED, closed.sentence
    elif status in ("finished", "paused") and not why.endswith(machine.GO_ON):  # our own code, in inspect's hands
        outcome, stage, tasks = Outcome.API_ERROR, PROGRAM, _stretch(session.plan)
        reason = "A fault of this program ended the task; the log has it."
    known = session.fold.view.attempts
    for t in tasks:
        for epoch in range(1, session.plan.spec.epochs + 1):
            a = known.get((t.key, epoch))
            if (t.key, epoch) not in session.ended and (a is None or a.outcome is None or a.outcome in CUT_OFF):
                session.say(events.TaskFinished(t=time.time(), task=t.key, epoch=epoch, outcome=outcome, stage=stage,
                                                reason=reason))
