"""What a model costs by the visitor's own route and date, and what one call cost. Never guesses: unknown stays None.

A price comes from the provider's live list, else from genai-prices by the route's own provider, else from the small
table `assets/prices.json`. A like name at another vendor is no price, and 0 is a price only where the source says free.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from pipeline.cost import price_sources as sources
from pipeline.cost.usage import Usage

MILLION = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class Rates:
    """US dollars per million tokens; None where the source names no price of its own for that kind.

    Attributes:
        over: these rates hold for the whole call once its input, cached tokens included, is more than this.
        reasoning: only where reasoning is priced apart from other output.
    """

    input: Decimal
    output: Decimal
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None
    reasoning: Decimal | None = None
    over: int = -1


@dataclass(frozen=True, slots=True)
class Price:
    """The price of one route at one time.

    Attributes:
        model: inspect's name of the model that was asked about.
        base: rates of a call of usual length; `longer` those of longer calls, by rising `over`.
        per_request: US dollars for each call beside its tokens.
        source, source_url, checked: where it stands, and the ISO date on which it stood there ("" where not known).
        free: whether the source says that this route costs nothing.
        dearest: where the price changes with the hour or on a coming day, the highest of each rate in the 24 hours
            after the time asked about; None where it does not change.
    """

    model: str
    base: Rates
    source: str
    checked: str = ""
    source_url: str = ""
    longer: tuple[Rates, ...] = ()
    per_request: Decimal = Decimal(0)
    free: bool = False
    dearest: "Price | None" = None

    @property
    def input(self) -> Decimal:
        """US dollars per million input tokens of a call of usual length."""
        return self.base.input

    @property
    def output(self) -> Decimal:
        """US dollars per million output tokens of a call of usual length."""
        return self.base.output

    @property
    def cache_read(self) -> Decimal | None:
        """US dollars per million tokens read from a cache, or None: then they cost what other input costs."""
        return self.base.cache_read

    @property
    def cache_write(self) -> Decimal | None:
        """US dollars per million tokens written to a cache, or None: then they cost what other input costs."""
        return self.base.cache_write

    def rates(self, input_tokens: int) -> Rates:
        """The rates that hold for a call with this many input tokens, cached ones included."""
        found = self.base
        for rates in self.longer:
            if input_tokens > rates.over:
                found = rates
        return found


def price_for(
    model: str, at: datetime | None = None, live: Mapping[str, Any] | None = None, base_url: str | None = None
) -> Price | None:
    """The price of a model by its route, or None where it is unknown.

    Args:
        model: inspect's name, `provider/model`, kept exactly.
        at: time of the request; a time without a zone is UTC. Now, where None.
        live: OpenRouter's own model list: its answer, or its entries by id. Used for OpenRouter routes only.
        base_url: address of a custom endpoint; such a route has a price only in the live list or the table.
    """
    when = _utc(at)
    if (own := sources.on_this_machine(model, base_url)) is not None:
        return Price(model, Rates(Decimal(0), Decimal(0)), own, when.date().isoformat(), free=True)
    if (entry := sources.live_entry(model, live)) is not None:
        found = _from_live(model, entry, when)
        if found is not UNREADABLE:
            return found
    if not sources.custom(model, base_url):
        price = _from_package(model, when)
        if price is not None:
            return price
    return _from_table(model, base_url)


def repriced(price: Price | None, at: datetime | None = None) -> Price | None:
    """The same route's price at another time; for prices that change with the hour. Others are given back as they are."""
    if price is None or price.dearest is None:
        return price
    return _from_package(price.model, _utc(at)) or price


def cost(usage: Usage | None, price: Price | None) -> float | None:
    """US dollars of one call, or None where usage or price is unknown.

    A cost that the provider reported beats every table, and a reported 0 without a token count says nothing. Cached
    tokens are taken out of the input and priced on their own; reasoning is part of the output and not charged twice.
    """
    if usage is None:
        return None
    counted = usage.known and bool(usage.total)
    if usage.cost is not None and math.isfinite(usage.cost) and (usage.cost > 0 or usage.cost == 0 and counted):
        return usage.cost
    if not counted or price is None or usage.input is None or usage.output is None:
        return None
    if price.free:
        return 0.0
    return float(_tokens_cost(usage.input, usage.output, usage, price))


def _tokens_cost(input_tokens: int, output_tokens: int, usage: Usage, price: Price) -> Decimal:
    r = price.rates(input_tokens)
    read, write = max(usage.cache_read, 0), max(usage.cache_write, 0)
    fresh = max(input_tokens - read - write, 0)
    total = fresh * r.input
    total += read * (r.input if r.cache_read is None else r.cache_read)
    total += write * (r.input if r.cache_write is None else r.cache_write)
    thought = min(max(usage.reasoning, 0), output_tokens) if r.reasoning is not None else 0
    total += (output_tokens - thought) * r.output + thought * (r.reasoning or 0)
    return total / MILLION + price.per_request


def worst_cost(input_tokens: int, output_tokens: int, price: Price) -> float:
    """The most that a call with at most so many tokens can cost, in US dollars.

    All input at the dearest input rate (writing a cache can cost more than plain input), all output at the dearest
    output rate, at the dearest hour of the day to come.
    """
    if price.free:
        return 0.0
    top = price.dearest or price
    reached = [top.base, *(r for r in top.longer if input_tokens > r.over)]
    most_in = max(max(r.input, r.cache_read or r.input, r.cache_write or r.input) for r in reached)
    most_out = max(max(r.output, r.reasoning or r.output) for r in reached)
    return float((input_tokens * most_in + output_tokens * most_out) / MILLION + top.per_request)


def _utc(at: datetime | None) -> datetime:
    if at is None:
        return datetime.now(UTC)
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


UNREADABLE = Price("", Rates(Decimal(0), Decimal(0)), "")
"""Stands for a live entry that names no price: another source may still know one."""


def _from_live(model: str, entry: Mapping[str, Any], when: datetime) -> Price | None:
    """The live entry's price; None where it says that the price varies, UNREADABLE where it does not say one."""
    read = sources.read_live(entry)
    if read is None:
        return UNREADABLE
    if read.varies:
        return None
    base, *longer = (Rates(**band) for band in read.bands)
    free = not read.per_request and all(r.input == 0 and r.output == 0 for r in (base, *longer))
    return Price(model, base, "OpenRouter's live list", when.date().isoformat(), "https://openrouter.ai/api/v1/models",
                 tuple(longer), read.per_request, free)


def _from_package(model: str, when: datetime) -> Price | None:
    entry = sources.package_entry(model)
    if entry is None:
        return None
    now = _package_price(model, entry, when)
    if now is None or not entry.changes:
        return now
    later = [_package_price(model, entry, t) for t in sources.day_after(when)]
    known = [p for p in later if p is not None]
    return replace(now, dearest=_dearest([now, *known])) if any(_bands(p) != _bands(now) for p in known) else now


def _package_price(model: str, entry: sources.PackageEntry, when: datetime) -> Price | None:
    read = entry.read(when)
    if read is None:
        return None
    source, checked = sources.package_release()
    bands = [Rates(**band) for band in read.bands] or [Rates(Decimal(0), Decimal(0))]
    return Price(model, bands[0], source, checked, entry.url, tuple(bands[1:]), read.per_request, free=not read.bands)


def _bands(price: Price) -> tuple[Any, ...]:
    return price.base, price.longer, price.per_request


def _dearest(prices: list[Price]) -> Price:
    """One price with the highest of each rate, band by band."""
    starts = sorted({r.over for p in prices for r in (p.base, *p.longer)})
    bands = [_highest([p.rates(over + 1) for p in prices], over) for over in starts]
    top = max(p.per_request for p in prices)
    return replace(prices[0], base=bands[0], longer=tuple(bands[1:]), per_request=top, free=all(p.free for p in prices))


def _highest(rates: list[Rates], over: int) -> Rates:
    def most(name: str) -> Decimal | None:
        values = [v for r in rates if (v := getattr(r, name)) is not None]
        return max(values) if values else None

    return Rates(max(r.input for r in rates), max(r.output for r in rates), most("cache_read"), most("cache_write"),
                 most("reasoning"), over)


def _from_table(model: str, base_url: str | None) -> Price | None:
    row = sources.table_row(model, base_url)
    if row is None:
        return None
    named: dict[str, Any] = sources.decimals(row)
    rates = Rates(**named)
    return Price(model, rates, "own price table", row["checked"], row["source_url"],
                 free=rates.input == 0 and rates.output == 0)
