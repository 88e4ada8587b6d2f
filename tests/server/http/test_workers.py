"""The worker threads: what waits is bounded, no lane waits for another, what nobody wants is not begun."""

import asyncio
import itertools
import threading

import pytest

from ragmem.api.retrieval import Retrieval
from ragmem.server.http.failures import status_of
from ragmem.server.http.workers import QUERY_THREADS, OverloadedError, Workers


def test_more_than_the_line_holds_is_refused_and_room_comes_back():
    async def crowd():
        workers = Workers(1, queue=2)
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
        workers = Workers(1, queue=1)
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
        workers = Workers(1, queue=0)
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                await workers.run(lambda: 1 / 0)
        workers.close()
        with pytest.raises(RuntimeError):
            await workers.run(lambda: None)

    asyncio.run(fail())


def test_no_lane_waits_for_another():
    async def fill_all_but_one(name):
        workers = Workers(1, queries=1, long=1, queue=1)
        go = threading.Event()
        lanes = {"run": workers.run, "ask": workers.ask, "run_long": workers.run_long}
        free = lanes.pop(name)
        held = [asyncio.create_task(lane(go.wait)) for lane in lanes.values() for _ in range(2)]
        try:
            return await asyncio.wait_for(free(lambda: "done"), 10)
        finally:
            go.set()
            await asyncio.gather(*held)
            workers.close()

    assert [asyncio.run(fill_all_but_one(name)) for name in ("run", "ask", "run_long")] == ["done"] * 3


def test_writes_and_health_are_answered_while_questions_fill_their_lane(client, monkeypatch):
    go, full, asked = threading.Event(), threading.Semaphore(0), []
    answer = Retrieval.ask_by_route

    def held(retrieval, question, *more, **options):
        asked.append(question.text)
        if len(asked) == QUERY_THREADS:
            full.release()
        go.wait(60)
        return answer(retrieval, question, *more, **options)

    monkeypatch.setattr(Retrieval, "ask_by_route", held)

    async def crowd():
        questions = [
            asyncio.create_task(client.http.post("/query", json={"query": f"question {number}"}))
            for number in range(3 * QUERY_THREADS)
        ]
        await asyncio.to_thread(full.acquire, timeout=60)
        text = {"text": "We keep the harbour log in Tromso.", "file_source": "harbour"}
        others = [
            await client.http.post("/documents/text", json=text),
            await client.http.get("/health"),
            await client.http.get("/v1/memory/memories"),
        ]
        begun = len(asked)
        go.set()
        return others, begun, await asyncio.gather(*questions)

    others, begun, questions = client.runner.run(crowd())
    assert [one.status_code for one in others] == [200] * 3
    assert others[1].json()["counts"]["memories"] == 4
    assert begun == QUERY_THREADS
    assert [one.status_code for one in questions] == [200] * 3 * QUERY_THREADS


def test_tools_of_mcp_that_look_up_are_answered_while_questions_fill_their_lane(client, monkeypatch):
    go, full = threading.Event(), threading.Semaphore(0)
    answer = Retrieval.ask_by_route

    def held(*given, **options):
        full.release()
        go.wait(20)
        return answer(*given, **options)

    monkeypatch.setattr(Retrieval, "ask_by_route", held)
    about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    headers, numbers = {"Accept": "application/json, text/event-stream"}, itertools.count()
    calls = [
        ("tools/call", {"name": "timeline", "arguments": {"project": "*"}}),
        ("tools/call", {"name": "status", "arguments": {}}),
        ("tools/call", {"name": "list_agents", "arguments": {}}),
        ("resources/read", {"uri": "ragmem://entity/PostgreSQL"}),
    ]

    async def crowd():
        async def mcp(method, params):
            asked = {"jsonrpc": "2.0", "id": next(numbers), "method": method, "params": params}
            sent = client.http.post("/mcp?profile=full", json=asked, headers=headers)
            return await asyncio.wait_for(sent, 30)

        begun = await mcp("initialize", about)
        headers["Mcp-Session-Id"] = begun.headers["mcp-session-id"]
        questions = [
            asyncio.create_task(client.http.post("/query", json={"query": f"question {number}"}))
            for number in range(QUERY_THREADS)
        ]
        for _ in questions:
            assert await asyncio.to_thread(full.acquire, timeout=60)
        search = asyncio.create_task(mcp("tools/call", {"name": "search", "arguments": {"query": "why"}}))
        told = [(await mcp(*call)).text for call in calls]
        waited = not search.done()
        go.set()
        return told, waited, (await search).text, await asyncio.gather(*questions)

    told, waited, found, _ = client.runner.run(crowd())
    said = ("| Cache", "3 memories", "No agent has checked in", "PostgreSQL: tool")
    assert all(words in text for words, text in zip(said, told, strict=True))
    assert waited
    assert '"result"' in found


def test_each_thread_that_stays_does_its_beginning_once():
    async def begin():
        workers = Workers(2, queries=3)
        begun = []
        await workers.begin(lambda: begun.append(threading.get_ident()))
        later = [await lane(threading.get_ident) for lane in (workers.run, workers.ask) for _ in range(5)]
        workers.close()
        return begun, later

    begun, later = asyncio.run(begin())
    assert len(begun) == len(set(begun)) == 5
    assert set(later) <= set(begun)


def test_where_the_system_gives_no_more_threads_the_beginning_fails_and_nothing_waits_for_good(monkeypatch):
    start, started = threading.Thread.start, []

    def start_one(thread):
        if thread.name.startswith("serve-quick"):
            started.append(thread)
            if len(started) > 1:
                raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_one)
    workers = Workers(2, queries=1)
    with pytest.raises(RuntimeError, match="new thread"):
        asyncio.run(workers.begin(lambda: None))
    closing = threading.Thread(target=workers.close, daemon=True)
    closing.start()
    closing.join(10)
    assert not closing.is_alive()
