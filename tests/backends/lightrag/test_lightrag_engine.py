"""The one event loop on which LightRAG's coroutines run, whoever calls."""

import asyncio

import pytest

from ragmem.backends.lightrag import engine


def test_an_interrupted_coroutine_has_ended_before_the_next_one_begins():
    """Where it went on instead, it would write after its lock was given back."""
    told = []

    def interrupt():
        raise KeyboardInterrupt

    async def interrupted():
        asyncio.get_running_loop().call_soon(interrupt)
        try:
            await asyncio.sleep(0.01)
            told.append("went on")
        finally:
            told.append("ended")

    async def following():
        await asyncio.sleep(0.02)
        told.append("next")

    with pytest.raises(KeyboardInterrupt):
        engine.run(interrupted)
    assert told == ["ended"]
    engine.run(following)
    assert told == ["ended", "next"]


def test_an_interrupted_coroutine_that_does_not_end_is_left_after_a_while(monkeypatch):
    monkeypatch.setattr(engine, "SHUTDOWN_TIMEOUT_S", 0.05)
    frozen = asyncio.Event()

    def interrupt():
        raise KeyboardInterrupt

    async def stubborn():
        asyncio.get_running_loop().call_soon(interrupt)
        try:
            await asyncio.sleep(60)
        finally:
            await frozen.wait()

    async def thaw():
        frozen.set()
        await asyncio.sleep(0.01)

    with pytest.raises(KeyboardInterrupt):
        engine.run(stubborn)
    assert not frozen.is_set()
    engine.run(thaw)
