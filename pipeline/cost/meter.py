"""The meter and the cap: reserve the worst case before a call leaves, charge what it used, refuse what could pass.

Synchronous, without clock, disk or network. The promise: as long as no call costs more than its worst case, spent plus
reserved never passes a cap. Where a provider counts more than that, later reserves of the role grow by the same factor.
"""

import itertools
import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from pipeline.cost.prices import Price, cost, worst_cost
from pipeline.cost.usage import Usage
from pipeline.errors import UserError
from pipeline.events import CostSource, Role

_UNIT = 10**12
"""Money is kept in whole millionths of a millionth of a dollar, so that 0.1 three times is exactly 0.3."""


@dataclass(frozen=True, slots=True)
class Worst:
    """The most tokens one call can be billed for.

    Attributes:
        input_tokens: an upper bound of its prompt (`tokens.upper_bound`: its bytes and the chat template's additions).
        output_tokens: its answer limit, and its reasoning budget where the provider counts that beside the limit.
    """

    input_tokens: int
    output_tokens: int

    @property
    def tokens(self) -> int:
        """Input plus output."""
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class Reservation:
    """Room that one call holds. `cost` is in US dollars, None where the price is unknown; `tokens` its worst case."""

    id: int
    role: Role
    cost: float | None
    tokens: int


@dataclass(frozen=True, slots=True)
class Charge:
    """What a call was charged: US dollars, None where its price is unknown, and what the figure rests on."""

    cost: float | None
    source: CostSource


@dataclass(frozen=True, slots=True)
class Amount:
    """Money in US dollars, calls and tokens."""

    cost: float
    calls: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Caps:
    """The caps over solver and judge together; None where there is none."""

    cost: float | None
    calls: int | None
    tokens: int | None


@dataclass(frozen=True, slots=True)
class MeterState:
    """A snapshot.

    Attributes:
        spent_by, reserved_by: by role; `spent` and `reserved` are their sums.
        unknown: calls charged at their reserve because the provider told no usage.
        unpriced: calls whose price is unknown, so that `spent.cost` is not the whole.
    """

    spent: Amount
    reserved: Amount
    cap: Caps
    spent_by: dict[str, Amount]
    reserved_by: dict[str, Amount]
    unknown: int
    unpriced: int


@dataclass
class _Sum:
    """Exact running sums: money in units, calls, tokens."""

    units: int = 0
    calls: int = 0
    tokens: int = 0

    def add(self, units: int, calls: int, tokens: int) -> None:
        self.units += units
        self.calls += calls
        self.tokens += tokens

    def amount(self) -> Amount:
        return Amount(self.units / _UNIT, self.calls, self.tokens)


@dataclass
class _Account:
    """One role's sums, and how far its calls were seen to pass their worst case (1.0: never)."""

    spent: _Sum = field(default_factory=_Sum)
    reserved: _Sum = field(default_factory=_Sum)
    cost_factor: float = 1.0
    token_factor: float = 1.0

    def held(self) -> tuple[int, int]:
        """Money and tokens that the open reservations hold, by what is known now."""
        return _times(self.reserved.units, self.cost_factor), _times(self.reserved.tokens, self.token_factor)

    def learn(self, units: int, worst_units: int, tokens: int, worst_tokens: int) -> None:
        """Take note of a call that passed its worst case."""
        self.cost_factor = max(self.cost_factor, units / worst_units if worst_units else 1.0)
        self.token_factor = max(self.token_factor, tokens / worst_tokens if worst_tokens else 1.0)


@dataclass(frozen=True, slots=True)
class _Open:
    """A reservation with its plain worst case, and the money it really holds."""

    held: Reservation
    units: int
    worst_units: int
    worst_tokens: int


class Meter:
    """Counts one run's spend against its caps.

    Args:
        max_cost: US dollars over solver and judge, or None.
        max_calls: requests that leave, retries included, or None.
        max_tokens: input plus output tokens, or None.
    """

    def __init__(self, max_cost: float | None = None, max_calls: int | None = None, max_tokens: int | None = None) -> None:
        self.cap = Caps(max_cost, max_calls, max_tokens)
        self._accounts: dict[str, _Account] = {"solver": _Account(), "judge": _Account()}
        self._open: dict[int, _Open] = {}
        self._ids = itertools.count(1)
        self._unknown = self._unpriced = 0
        self._lock = threading.RLock()

    @property
    def capped(self) -> bool:
        """Whether any cap is set."""
        return any(c is not None for c in (self.cap.cost, self.cap.calls, self.cap.tokens))

    def check_can_hold(self, prices: Mapping[str, Price | None]) -> None:
        """Refuse a money cap that could not hold.

        Args:
            prices: by role; None where unknown.

        Raises:
            UserError: a money cap is set and a price is unknown.
        """
        unknown = [role for role, price in prices.items() if price is None]
        if self.cap.cost is not None and unknown:
            raise _no_price(" and the ".join(unknown))

    def reserve(self, role: Role, worst: Worst, price: Price | None) -> Reservation | None:
        """Room for one call, or None where its worst case would pass a cap.

        Raises:
            UserError: a money cap is set and the price is unknown.
        """
        if self.cap.cost is not None and price is None:
            raise _no_price(role)
        with self._lock:
            account = self._accounts[role]
            plain = _units(0.0 if price is None else worst_cost(worst.input_tokens, worst.output_tokens, price))
            units, tokens = _times(plain, account.cost_factor), _times(worst.tokens, account.token_factor)
            if not self._fits(units, 1, tokens):
                return None
            held = Reservation(next(self._ids), role, None if price is None else units / _UNIT, tokens)
            self._open[held.id] = _Open(held, units, plain, worst.tokens)
            account.reserved.add(plain, 1, worst.tokens)
            return held

    def fits(self, cost: float | None, calls: int, tokens: int) -> bool:
        """Whether this much could be reserved now; nothing is reserved. `cost` None counts as no money."""
        with self._lock:
            return self._fits(_units(cost or 0.0), calls, tokens)

    def _fits(self, units: int, calls: int, tokens: int) -> bool:
        taken_units, taken_calls, taken_tokens = units, calls, tokens
        for account in self._accounts.values():
            held_units, held_tokens = account.held()
            taken_units += account.spent.units + held_units
            taken_calls += account.spent.calls + account.reserved.calls
            taken_tokens += account.spent.tokens + held_tokens
        cap = self.cap
        return ((cap.cost is None or taken_units <= _units(cap.cost))
                and (cap.calls is None or taken_calls <= cap.calls)
                and (cap.tokens is None or taken_tokens <= cap.tokens))

    def lack(self, need: Amount, what: str) -> str:
        """A sentence on the first cap that does not hold this much more: what is needed and what is left."""
        state = self.snapshot()
        for name, cap in (("cost", self.cap.cost), ("calls", self.cap.calls), ("tokens", self.cap.tokens)):
            left = 0 if cap is None else max(0, cap - getattr(state.spent, name) - getattr(state.reserved, name))
            if cap is not None and getattr(need, name) > left:
                asked, free, whole = (_said(n, name) for n in (getattr(need, name), left, cap))
                return f"{what} may need up to {asked}, and {free} of {whole} are left. Raise it to go on."
        return f"{what} could have passed it. Raise it to go on."

    def charge(self, reservation: Reservation, usage: Usage | None, price: Price | None) -> Charge:
        """Turn a reservation into spend. A cost the provider reported beats the price; unknown usage costs the reserve.

        Raises:
            ValueError: the reservation was settled before.
        """
        with self._lock:
            opened = self._settle(reservation)
            found = _charge(reservation, usage, price)
            total = usage.total if usage is not None else None
            self._unknown += not total
            self._unpriced += found.cost is None
            units = opened.units if found.source == "reserve" else _units(found.cost or 0.0)
            tokens = total or reservation.tokens
            account = self._accounts[reservation.role]
            account.spent.add(units, 1, tokens)
            if found.source != "reserve" and total:
                account.learn(units, opened.worst_units, tokens, opened.worst_tokens)
            return found

    def release(self, reservation: Reservation, sent: bool = True) -> None:
        """Give money and tokens back: the call was refused and not billed. It still counts as a call if it was sent.

        Raises:
            ValueError: the reservation was settled before.
        """
        with self._lock:
            self._settle(reservation)
            self._accounts[reservation.role].spent.add(0, int(sent), 0)

    def _settle(self, reservation: Reservation) -> _Open:
        opened = self._open.pop(reservation.id, None)
        if opened is None:
            raise ValueError("this reservation is settled already")
        self._accounts[reservation.role].reserved.add(-opened.worst_units, -1, -opened.worst_tokens)
        return opened

    def carry(self, role: Role, cost: float | None, calls: int, tokens: int) -> None:
        """Add what an earlier stretch of the run has spent; a resumed run stays under the same cap."""
        with self._lock:
            self._unpriced += calls if cost is None and tokens else 0
            self._accounts[role].spent.add(_units(cost or 0.0), calls, tokens)

    def snapshot(self) -> MeterState:
        """What is spent and reserved now."""
        with self._lock:
            spent, reserved, held_by = _Sum(), _Sum(), {}
            for role, account in self._accounts.items():
                held_units, held_tokens = account.held()
                held = _Sum(held_units, account.reserved.calls, held_tokens)
                spent.add(account.spent.units, account.spent.calls, account.spent.tokens)
                reserved.add(held.units, held.calls, held.tokens)
                held_by[role] = held.amount()
            return MeterState(spent.amount(), reserved.amount(), self.cap,
                              {role: a.spent.amount() for role, a in self._accounts.items()}, held_by,
                              self._unknown, self._unpriced)


def _charge(reservation: Reservation, usage: Usage | None, price: Price | None) -> Charge:
    found = cost(usage, price)
    if found is not None and usage is not None and usage.cost is not None and found == usage.cost:
        return Charge(found, "reported")
    if price is None:
        return Charge(None, "none")
    if price.free:
        return Charge(0.0, "free")
    return Charge(reservation.cost, "reserve") if found is None else Charge(found, "table")


def _said(amount: float, name: str) -> str:
    return dollars(amount) if name == "cost" else f"{amount:,} {name if amount != 1 else name[:-1]}"


def dollars(amount: float) -> str:
    """US dollars for the eye: cents from a dollar on, else four digits after the point."""
    return f"${amount:,.2f}" if amount >= 0.995 or not amount else f"${amount:.4f}" if amount >= 0.0001 else "less than $0.0001"


def _units(dollars: float) -> int:
    return round(dollars * _UNIT)


def _times(count: int, factor: float) -> int:
    return count if factor == 1.0 else math.ceil(count * factor)


def _no_price(role: str) -> UserError:
    return UserError(
        f"The price of the {role} is unknown, so a cap in money cannot hold.",
        "A cap in calls or in tokens holds for every model.",
        "Remove the money cap and set --max-calls or --max-tokens (on the form: the cap in calls or tokens).",
    )
