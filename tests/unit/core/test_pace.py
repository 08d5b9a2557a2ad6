"""The limit on calls under way holds, gives way to the provider, and a close wakes everyone."""

import asyncio

import pytest

from pipeline.pace import PREPARING, Closed, Pace


def test_never_more_than_the_limit_are_under_way():
    async def main():
        pace, most = Pace(3, lambda n: None), 0

        async def call():
            nonlocal most
            async with pace.slot():
                most = max(most, pace.busy)
                await asyncio.sleep(0.001)

        await asyncio.gather(*(call() for _ in range(30)))
        return most, pace.busy

    assert asyncio.run(main()) == (3, 0)


def test_a_rate_limit_halves_once_and_answers_bring_it_back():
    async def main():
        limits = []
        pace = Pace(8, limits.append)
        pace.limited(None)
        pace.limited(None)
        for _ in range(100):
            pace.answered()
        return limits

    assert asyncio.run(main()) == [4, 5, 6, 7, 8]


def test_closing_wakes_everyone_who_waits():
    async def main():
        pace = Pace(1, lambda n: None)

        async def call():
            async with pace.slot():
                await pace.pause(30)

        waiting = [asyncio.create_task(call()) for _ in range(5)]
        await asyncio.sleep(0.01)
        pace.close()
        return await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 1)

    assert all(isinstance(e, Closed) for e in asyncio.run(main()))


def test_a_cancelled_waiter_gives_its_place_on():
    async def main():
        pace = Pace(1, lambda n: None)
        async with pace.slot():
            first = asyncio.create_task(_hold(pace))
            second = asyncio.create_task(_hold(pace))
            await asyncio.sleep(0)
            first.cancel()
        await asyncio.wait_for(second, 1)
        return pace.busy

    assert asyncio.run(main()) == 0


async def _hold(pace: Pace) -> None:
    async with pace.slot():
        await asyncio.sleep(0)


def test_a_closed_pace_lets_nobody_in():
    async def main():
        pace = Pace(1, lambda n: None)
        pace.close()
        with pytest.raises(Closed):
            async with pace.slot():
                pass

    asyncio.run(main())


def test_few_calls_are_made_ready_at_once_and_all_get_in_as_requests_leave():
    async def main():
        pace, slots, end = Pace(40, lambda n: None), [], asyncio.Event()

        async def call():
            async with pace.slot() as slot:
                slots.append(slot)
                await end.wait()

        calls = [asyncio.create_task(call()) for _ in range(40)]
        await asyncio.sleep(0)
        first = len(slots)
        while len(slots) < 40:
            slots[-1].left()
            slots[-1].left()
            await asyncio.sleep(0)
        busy = pace.busy
        end.set()
        await asyncio.gather(*calls)
        return first, busy, pace.busy, pace.preparing

    assert asyncio.run(main()) == (PREPARING, 40, 0, 0)


def test_a_provider_that_does_not_say_when_a_request_leaves_holds_nobody_up():
    async def main():
        pace, end = Pace(3 * PREPARING, lambda n: None), asyncio.Event()

        async def call():
            async with pace.slot():
                await end.wait()

        calls = [asyncio.create_task(call()) for _ in range(3 * PREPARING)]
        await asyncio.sleep(0.3)
        busy = pace.busy
        end.set()
        await asyncio.gather(*calls)
        return busy, pace.preparing

    assert asyncio.run(main()) == (3 * PREPARING, 0)
