"""The worker threads: what waits is bounded, and what nobody waits for is not begun."""

import asyncio
import threading

import pytest

from ragmem.serve.failures import status_of
from ragmem.serve.workers import OverloadedError, Workers


def test_more_than_the_line_holds_is_refused_and_room_comes_back():
    async def crowd():
        workers = Workers(1, line=2)
        go = threading.Event()
        begun = [asyncio.create_task(workers.run(go.wait)) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(OverloadedError) as refused:
            await workers.run(go.wait)
        go.set()
        assert await asyncio.gather(*begun) == [True] * 3
        assert await workers.run(lambda: "again") == "again"
        workers.close()
        return refused.value

    assert status_of(asyncio.run(crowd())) == 503


def test_what_nobody_waits_for_is_not_begun_and_leaves_the_line():
    async def give_up():
        workers = Workers(1, line=1)
        go = threading.Event()
        begun = []
        first = asyncio.create_task(workers.run(go.wait))
        second = asyncio.create_task(workers.run(lambda: begun.append("second")))
        await asyncio.sleep(0.05)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        third = asyncio.create_task(workers.run(lambda: begun.append("third")))
        await asyncio.sleep(0)
        go.set()
        await asyncio.gather(first, third)
        workers.close()
        return begun

    assert asyncio.run(give_up()) == ["third"]


def test_what_the_work_raises_is_raised_and_gives_its_place_back():
    async def fail():
        workers = Workers(1, line=0)
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                await workers.run(lambda: 1 / 0)
        workers.close()
        with pytest.raises(RuntimeError):
            await workers.run(lambda: None)

    asyncio.run(fail())
