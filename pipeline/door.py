"""The one door to a provider: reserve money, send, read usage, classify, wait and send again, charge, say so.

Every call of the solver and of the judge goes through `Door.ask`; nothing else in this project calls a model.
Retries of inspect and of the SDKs are off, so there is one retry layer, one Retry-After, one stop and one cap.
"""

import asyncio
import random
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from inspect_ai.model import ChatMessage, GenerateConfig, Model, ModelOutput

from pipeline import events, wire
from pipeline.came_back import FILTERED, call_event, fault_in, output_of, texts, usage_of
from pipeline.core import machine
from pipeline.core.redact import Redactor
from pipeline.cost.bounds import UNBOUNDED_OUTPUT, most_output
from pipeline.cost.meter import Amount, Meter, Worst
from pipeline.cost.prices import Price, repriced, worst_cost
from pipeline.fault_words import told
from pipeline.faults import LONGEST_WAIT, CallFailed, Exchange, Fault, headers_of
from pipeline.ledger import CallId, Entry, Ledger
from pipeline.pace import Closed, Pace, Slot
from pipeline.unsent import departed

FIRST_WAIT, FIRST_WAIT_AT_LIMIT, GROWTH, LONGEST_OWN_WAIT = 0.5, 2.0, 2.0, 30.0
"""Seconds: our own waits where the provider names none (0.5, 1, 2, ... 30), each shortened at random by up to a quarter.
At a rate limit they begin with 2, so that five retries outlast the limits of a minute that most providers have."""
SHORTEST_ASKED = 0.2
"""Seconds: "try again at once" is not obeyed to the letter, or all retries would be gone within a second."""
IN_A_ROW = {"key_limit": (3, "capped"), "not_sent": (3, "failed")}
"""Calls in a row that may end in these faults, and how the run ends then: one dear call may pass a key's own spending
limit, and one text may be more than a client can send, where the next is not; several in a row will not pass."""

Prompt = Callable[[], list[ChatMessage]]


class Stopped(Exception):
    """No call may leave any more. `cause` is "stopped", "capped", "paused" or "failed"."""

    def __init__(self, cause: str, sentence: str) -> None:
        super().__init__(sentence)
        self.cause, self.sentence = cause, sentence


@dataclass
class RoleModel:
    """One role's model with its settings and price. `model.config` is replaced when a setting is refused."""

    role: events.Role
    model: Model
    price: Price | None
    most_output: int
    adapted: set[str] = field(default_factory=set)
    looked: bool = False


@dataclass
class Answer:
    """What the door gives back: the ledger's entry, and the provider's output unless it was replayed."""

    entry: Entry
    output: ModelOutput


class Door:
    """Sends the calls of one run.

    Args:
        say: takes each event; must not block.
        stop_grace: seconds that calls under way get to come back after a stop; they are paid for anyway.
    """

    def __init__(
        self, *, meter: Meter, ledger: Ledger, say: Callable[[Any], None], connections: int, retries: int,
        timeout: float, redact: Redactor, stop_grace: float = 20.0,
    ) -> None:
        self.meter, self.ledger, self.say, self.redact = meter, ledger, say, redact
        self.retries, self.timeout, self.stop_grace = retries, timeout, stop_grace
        self.pace = Pace(connections, lambda n: say(events.Connections(t=time.time(), limit=n)))
        self.closed: Stopped | None = None
        self.on_answer: Callable[[Entry], None] = lambda entry: None
        self.broke: Callable[[BaseException], None] = lambda error: None
        """Told of an exception in this program's own code."""
        ledger.trouble = self.pause
        self._under_way: set[asyncio.Timeout] = set()
        self._settled = asyncio.Event()
        self._in_a_row: dict[str, int] = {}

    def close(self, cause: str, sentence: str) -> None:
        """Let no further call leave. The first cause stands."""
        if self.closed is None:
            self.closed = Stopped(cause, sentence)
        self.pace.close()
        self._settled.set()
        end = asyncio.get_running_loop().time() + self.stop_grace
        for limit in self._under_way:
            if (when := limit.when()) is None or when > end:
                limit.reschedule(end)

    def pause(self, trouble: BaseException) -> None:
        """The machine takes no more (a full disk, too many open files): no call leaves until the run goes on."""
        self.close("paused", machine.sentence(trouble) or f"{type(trouble).__name__}. {machine.GO_ON}")

    async def settled(self) -> None:
        """Return when a call has come back, a task has ended, or the door was closed."""
        self._settled.clear()
        await self._settled.wait()

    def something_settled(self) -> None:
        """Wake those who wait for room under the cap."""
        self._settled.set()

    async def ask(self, role: RoleModel, call: CallId, prompt: Prompt, bound: int) -> Answer:
        """One answer of a model, from the ledger where it is already paid for.

        Args:
            prompt: makes the messages, once the call may leave: those that wait hold no text.
            bound: the most tokens that the prompt can have, see `pipeline.cost.bounds`.

        Raises:
            CallFailed: no answer after all retries; the fault says why.
            Stopped: the run was stopped, capped or cannot go on.
        """
        if (old := self.ledger.answer(call)) is not None:
            return Answer(old, output_of(old))
        if call.role == "solver" and (refused := self.ledger.filtered(call)) is not None:
            raise CallFailed(Fault("filtered", FILTERED, refused.status))
        worst = Worst(bound, role.most_output)
        first = attempt = self.ledger.next_attempt(call)
        changed: set[str] = set()
        while True:
            try:
                async with self.pace.slot() as slot:
                    entry, output, fault = await self._once(role, call, attempt, prompt, worst, slot)
            except Closed:
                raise self.closed or Stopped("stopped", "The run was stopped.") from None
            if fault is None:
                return Answer(entry, output)  # type: ignore[arg-type]
            if not self._adapt(role, fault, changed):
                if not fault.again or attempt - first >= self.retries:
                    raise self._failed(told(fault, role.role, self.ledger.entries.get(call, ()), attempt - first + 1))
                await self._wait(role, fault, attempt - first + 1)
            attempt += 1

    def _failed(self, fault: Fault) -> CallFailed:
        """What the call ends with; the run ends with it where no further call can succeed."""
        most, cause = IN_A_ROW.get(fault.kind, (0, ""))
        self._in_a_row[fault.kind] = self._in_a_row.get(fault.kind, 0) + 1
        if fault.stops_run or most and self._in_a_row[fault.kind] >= most:
            self.close("failed" if fault.stops_run else cause, fault.sentence)
        return CallFailed(fault)

    async def _once(
        self, role: RoleModel, call: CallId, attempt: int, prompt: Prompt, worst: Worst, slot: Slot
    ) -> tuple[Entry, ModelOutput | None, Fault | None]:
        role.price = repriced(role.price)
        reservation = await self._reserve(role, worst, slot)
        try:
            messages = prompt()
            self.ledger.sent(call, attempt, reservation.cost, reservation.tokens)
        except OSError as trouble:  # what cannot be written down must not leave
            self.meter.release(reservation, sent=False)
            self.pause(trouble)
            raise Closed from None
        except BaseException:
            self.meter.release(reservation, sent=False)
            raise
        started = time.monotonic()
        exchange = Exchange(look=not role.looked, left=slot.left)
        try:
            output, error = await self._send(role, messages, exchange)
        except BaseException as ended:  # cancelled from outside: what has not left will not leave any more
            if not departed(exchange, ended):
                self._never_left(call, attempt, reservation)
            raise
        left = departed(exchange, error)
        try:
            entry, fault = self._read(role, call, attempt, reservation, messages, (exchange, output, error), started)
        except Exception as ours:  # noqa: BLE001 - a fault of this program must not lose what the call may have cost
            self.broke(ours)
            fault = Fault("program", f"A fault of this program ({type(ours).__name__}) lost the answer.", exchange.status)
            with suppress(ValueError):  # where it was charged before the fault
                self.meter.charge(reservation, None, role.price)
            entry, left = Entry(call, attempt, cost=reservation.cost, cost_source="reserve", fault=fault.kind,
                                status=fault.status, reserve_cost=reservation.cost, reserve_tokens=reservation.tokens), True
        if left:
            self.ledger.came_back(entry)
            self.say(call_event(entry))
            self._settled.set()
        else:
            self._never_left(call, attempt, reservation)
        if fault is None:
            self._say_unsent(role, exchange)
            self.pace.answered()
            self._in_a_row.clear()
            self.on_answer(entry)
        elif fault.kind == "machine":
            self.close("paused", f"{fault.sentence} {machine.GO_ON}")
        elif fault.kind in ("rate_limit", "overloaded"):
            self.pace.limited(fault.wait)
        return entry, output, fault

    def _read(
        self, role: RoleModel, call: CallId, attempt: int, reservation: Any, messages: list[ChatMessage],
        came: tuple[Exchange, ModelOutput | None, BaseException | None], started: float,
    ) -> tuple[Entry, Fault | None]:
        """What came back, read, priced and charged; what never left is no call."""
        exchange, output, error = came
        fault = fault_in(exchange, output, error, self.redact, messages)
        if not departed(exchange, error):
            return Entry(call, attempt), fault
        usage = usage_of(output, exchange)
        entry = Entry(call, attempt, usage=usage, seconds=round(time.monotonic() - started, 3),
                      reserve_cost=reservation.cost, reserve_tokens=reservation.tokens)
        if fault is None or usage is not None or output is not None or fault.kind in ("timeout", "broken", "bad_answer"):
            # What may have been answered may have been billed: unknown usage is charged at the reserve.
            charge = self.meter.charge(reservation, usage, role.price)
            entry = replace(entry, cost=charge.cost, cost_source=charge.source)
        else:
            self.meter.release(reservation)
            entry = replace(entry, cost=0.0, cost_source="none")
        if fault is None:
            entry = replace(entry, **texts(output, exchange, role.role))  # type: ignore[arg-type]
        else:
            entry = replace(entry, fault=fault.kind, status=fault.status)
        return entry, fault

    def _never_left(self, call: CallId, attempt: int, reservation: Any) -> None:
        """Not a byte of it left: it costs nothing, and it is no call."""
        self.meter.release(reservation, sent=False)
        self.ledger.never_left(call, attempt)
        self._settled.set()

    async def _reserve(self, role: RoleModel, worst: Worst, slot: Slot) -> Any:
        """Reserve the worst case; wait for calls under way to settle before giving up."""
        while True:
            if self.closed is not None:
                raise Closed
            reservation = self.meter.reserve(role.role, worst, role.price)
            if reservation is not None:
                return reservation
            if not self._under_way:
                money = worst_cost(worst.input_tokens, worst.output_tokens, role.price) if role.price else 0.0
                need = Amount(money, 1, worst.tokens)
                self.close("capped", f"The cap was reached: {self.meter.lack(need, 'the next call')}")
                raise Closed
            slot.left()
            await self.settled()

    async def _send(
        self, role: RoleModel, prompt: list[ChatMessage], exchange: Exchange
    ) -> tuple[ModelOutput | None, BaseException | None]:
        token = wire.current.set(exchange)
        try:
            async with asyncio.timeout(self.timeout) as limit:
                self._under_way.add(limit)
                output = await role.model.generate(prompt)
            return output, None
        except Exception as error:  # noqa: BLE001 - every SDK has its own; classified below
            if not exchange.headers:
                exchange.headers = headers_of(exchange.error or error)
            return None, error
        finally:
            self._under_way.discard(limit)
            wire.current.reset(token)

    def _adapt(self, role: RoleModel, fault: Fault, changed: set[str]) -> bool:
        """Leave out or rename a refused setting, and say so as a difference. `changed` holds what this call is without:
        a provider that goes on refusing it would else be asked for ever.
        """
        config, name = role.model.config, fault.parameter
        if fault.kind != "setting_refused" or name in changed:
            return False
        changed.add(name)
        if getattr(config, name, None) is None:
            return name in role.adapted  # a call that left before the setting was dropped
        if name == "max_tokens":
            extra = {**(config.extra_body or {}), "max_completion_tokens": config.max_tokens}
            role.model.config = config.model_copy(update={"max_tokens": None, "extra_body": extra})
            text = f"{role.role}: the answer limit was sent as max_completion_tokens"
        else:
            role.model.config = config.model_copy(update={name: None})
            text = f"{role.role}: {name.replace('_', ' ')} not sent, the model refuses it"
        role.adapted.add(name)
        self.say(events.DifferenceFound(t=time.time(), text=text))
        return True

    def _say_unsent(self, role: RoleModel, exchange: Exchange) -> None:
        """Say once, as a difference, which settings the provider's client left out of the request on its own."""
        if exchange.sent is None:
            return
        role.looked = True
        for name in wire.unsent(role.model.config, exchange.sent):
            if name not in role.adapted:
                role.adapted.add(name)
                text = f"{role.role}: {name.replace('_', ' ')} not sent, this model's interface takes none"
                self.say(events.DifferenceFound(t=time.time(), text=text))

    async def _wait(self, role: RoleModel, fault: Fault, attempt: int) -> None:
        seconds = min(fault.wait or 0.0, LONGEST_WAIT)
        if seconds < SHORTEST_ASKED:
            first = FIRST_WAIT_AT_LIMIT if fault.kind == "rate_limit" else FIRST_WAIT
            seconds = min(first * GROWTH ** (attempt - 1), LONGEST_OWN_WAIT) * random.uniform(0.75, 1.0)
        self.say(events.Waiting(t=time.time(), role=role.role, reason=fault.kind, seconds=round(seconds, 2), attempt=attempt))
        try:
            await self.pace.pause(seconds)
        except Closed:
            raise self.closed or Stopped("stopped", "The run was stopped.") from None


def with_output_bound(config: GenerateConfig, capped: bool) -> tuple[GenerateConfig, int]:
    """The config to send, and the most output tokens one call can be billed for under it.

    A cap needs a worst case: where none is set, the answer is bounded at the reasoning budget plus `UNBOUNDED_OUTPUT`.
    """
    reasoning = config.reasoning_tokens or 0
    if config.max_tokens is None and capped:
        config = config.model_copy(update={"max_tokens": reasoning + UNBOUNDED_OUTPUT})
    return config, most_output(config.max_tokens, reasoning)
