"""The cap holds: 1,000 simulated runs with random prices, tokens, retries, faults, missing usage and parallel calls."""

import asyncio
import random
from dataclasses import dataclass, field

import pytest

from pipeline.cost.meter import Meter, Reservation, Worst
from pipeline.cost.prices import Price, cost
from pipeline.cost.usage import Usage
from tests.unit.cost.made import price

RUNS, PARTS = 1_000, 10


class Capped(Exception):
    """The next call could pass the cap, and no call under way can make room."""


@dataclass
class World:
    """A simulated provider and the run that uses it. `billed` is what the provider really charged, known or not."""

    rng: random.Random
    meter: Meter
    prices: dict[str, Price]
    retries: int
    billed: float = 0.0
    calls: int = 0
    tokens: int = 0
    under_way: int = 0
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    outcomes: dict[int, str] = field(default_factory=dict)
    started: set[int] = field(default_factory=set)
    capped: bool = False

    async def call(self, role: str) -> None:
        worst = Worst(self.rng.randint(1, 5_000), self.rng.randint(1, 5_000))
        for _ in range(self.retries + 1):
            held = await self._reserve(role, worst)
            self.under_way += 1
            self.calls += 1
            await asyncio.sleep(0)
            answered = self._come_back(role, worst, held)
            self.under_way -= 1
            self.settled.set()
            self.check()
            if answered:
                return

    async def _reserve(self, role: str, worst: Worst) -> Reservation:
        while True:
            if self.capped:
                raise Capped
            held = self.meter.reserve(role, worst, self.prices[role])  # type: ignore[arg-type]
            self.check()
            if held is not None:
                return held
            if not self.under_way:
                self.capped = True
                self.settled.set()
                raise Capped
            self.settled.clear()
            await self.settled.wait()

    def _come_back(self, role: str, worst: Worst, held: Reservation) -> bool:
        kind, money = self.rng.random(), self.prices[role]
        if kind < 0.15:  # refused: not billed
            self.meter.release(held)
            return False
        used = self._usage(worst)
        self.billed += cost(used, money) or 0.0
        self.tokens += used.total or 0
        told = {True: None, False: used}[kind < 0.3]  # billed, but nothing was told
        if 0.3 <= kind < 0.4:
            told = Usage(0, 0)
        self.meter.charge(held, told, money)
        return kind >= 0.2  # a call that timed out may have been billed, and is sent again

    def _usage(self, worst: Worst) -> Usage:
        sent, out = self.rng.randint(1, worst.input_tokens), self.rng.randint(0, worst.output_tokens)
        read = self.rng.randint(0, sent) if self.rng.random() < 0.3 else 0
        write = self.rng.randint(0, sent - read) if self.rng.random() < 0.3 else 0
        return Usage(sent, out, read, write, self.rng.randint(0, out))

    def check(self) -> None:
        state = self.meter.snapshot()
        for name, real in (("cost", self.billed), ("calls", self.calls), ("tokens", self.tokens)):
            cap, spent, held = (getattr(a, name) for a in (state.cap, state.spent, state.reserved))
            if cap is not None:
                assert spent + held <= cap + 1e-9, name
                assert real <= cap + 1e-9, name

    async def task(self, number: int, criteria: int, slots: asyncio.Semaphore) -> None:
        async with slots:
            try:
                if self.capped:
                    raise Capped
                await self.call("solver")
                self.started.add(number)
                results = await asyncio.gather(*(self.call("judge") for _ in range(criteria)), return_exceptions=True)
                for found in results:
                    if isinstance(found, BaseException):
                        raise found
                self.outcomes[number] = "scored"
            except Capped:
                self.outcomes[number] = "skipped_by_cap"


def random_price(rng: random.Random) -> Price:
    def dollars(most: float) -> str:
        return f"{rng.uniform(0, most):.6f}"

    more = {k: dollars(60) for k in ("cache_read", "cache_write", "reasoning") if rng.random() < 0.4}
    return price(dollars(20), dollars(80), **more)


async def run(seed: int) -> tuple[World, int]:
    rng = random.Random(seed)
    which = rng.choice(["cost", "calls", "tokens", "all", "none"])
    meter = Meter(rng.choice([0.0, rng.uniform(0, 5), rng.uniform(0, 0.3)]) if which in ("cost", "all") else None,
                  rng.randint(0, 60) if which in ("calls", "all") else None,
                  rng.randint(0, 300_000) if which in ("tokens", "all") else None)
    world = World(rng, meter, {"solver": random_price(rng), "judge": random_price(rng)}, rng.randint(0, 3))
    count, slots = rng.randint(1, 12), asyncio.Semaphore(rng.randint(1, 6))
    await asyncio.gather(*(world.task(n, rng.randint(1, 8), slots) for n in range(count)))
    return world, count


@pytest.mark.parametrize("part", range(PARTS))
def test_spend_never_passes_the_cap(part: int) -> None:
    skipped = scored = 0
    for seed in range(part * RUNS // PARTS, (part + 1) * RUNS // PARTS):
        world, count = asyncio.run(run(seed))
        world.check()
        assert len(world.outcomes) == count
        assert all(world.outcomes[n] == "skipped_by_cap" for n in range(count) if n not in world.started)
        assert world.meter.snapshot().reserved.calls == 0, "nothing stays reserved after the run"
        assert world.capped or not any(o == "skipped_by_cap" for o in world.outcomes.values())
        skipped += sum(o == "skipped_by_cap" for o in world.outcomes.values())
        scored += sum(o == "scored" for o in world.outcomes.values())
    assert skipped and scored
