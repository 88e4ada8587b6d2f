"""The limits on connections: what makes room, what is refused, and how many there may be."""

import asyncio
import contextlib
import resource
import socket

import pytest
import uvicorn

from ragmem.server.security import connections
from ragmem.server.security.connections import (
    ACCEPTED_AT_ONCE,
    RESERVED_FILES,
    Limits,
    protocol_within,
    room_for,
)

GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


@contextlib.asynccontextmanager
async def listening(app, limits):
    """Serve an application within limits, and yield what sends a request over a new connection."""
    writers = []
    with socket.create_server(("127.0.0.1", 0)) as sock:
        protocol = protocol_within(limits)
        server = uvicorn.Server(uvicorn.Config(app, http=protocol, lifespan="off", log_level="error"))
        serving = asyncio.create_task(server.serve(sockets=[sock]))
        while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.01)

        async def ask(request=GET):
            reader, writer = await asyncio.open_connection(*sock.getsockname())
            writers.append(writer)
            writer.write(request)
            await writer.drain()
            return reader, writer

        try:
            yield ask
        finally:
            for writer in writers:
                writer.transport.abort()
            server.should_exit = True
            await serving


async def status(reader):
    async with asyncio.timeout(5):
        line = await reader.readline()
    return line.split()[1].decode() if line else "closed"


async def answer(send, body=b"done"):
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def test_one_that_waits_makes_room_and_one_at_work_never_does():
    async def crowd():
        go = asyncio.Event()

        async def app(_, __, send):
            await go.wait()
            await answer(send)

        async with listening(app, Limits(2, head_s=5, body_s=5)) as ask:
            waiting, _ = await ask(b"GET / HT")
            working, _ = await ask()
            await asyncio.sleep(0.1)
            second, _ = await ask()
            assert await waiting.read() == b""
            refused, _ = await ask()
            assert await status(refused) == "503"
            go.set()
            return await status(working), await status(second)

    assert asyncio.run(crowd()) == ("200", "200")


def test_a_kept_connection_is_used_again_and_makes_room_when_it_rests():
    async def rest():
        async def app(_, __, send):
            await answer(send)

        async with listening(app, Limits(1, head_s=5, body_s=5)) as ask:
            first, writer = await ask()
            assert await status(first) == "200"
            writer.write(GET)
            await first.readuntil(b"done")
            assert await status(first) == "200"
            second, _ = await ask()
            assert await status(second) == "200"
            await first.readuntil(b"done")
            return await first.read()

    assert asyncio.run(rest()) == b""


def test_the_rest_of_a_body_that_was_answered_has_a_moment_and_no_more(monkeypatch):
    monkeypatch.setattr(connections, "LINGER_S", 0.3)

    async def linger():
        async def app(_, __, send):
            await answer(send)

        head = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345"
        async with listening(app, Limits(9, head_s=5, body_s=5)) as ask:
            honest, writer = await ask(head)
            assert await status(honest) == "200"
            writer.write(b"67890" + GET)
            await honest.readuntil(b"done")
            assert await status(honest) == "200"
            slow, _ = await ask(head)
            await slow.readuntil(b"done")
            with contextlib.suppress(ConnectionResetError):
                assert await slow.read() == b""
            return True

    assert asyncio.run(asyncio.wait_for(linger(), 10))


def test_an_answer_that_nobody_reads_is_given_up(monkeypatch):
    monkeypatch.setattr(connections, "STALL_S", 0.3)

    async def stall():
        ended = asyncio.Event()

        async def app(_, __, send):
            await answer(send, b"a" * 30_000_000)
            # The framework waits for the reader before it hands the next part on.
            with contextlib.suppress(RuntimeError):
                await send({"type": "http.response.body", "body": b""})
            ended.set()

        async with listening(app, Limits(9, head_s=5, body_s=5)) as ask:
            reader, _ = await ask()
            await asyncio.wait_for(ended.wait(), 5)
            await asyncio.sleep(1)
            with contextlib.suppress(ConnectionResetError):
                return len(await reader.read())
            return 0

    assert asyncio.run(asyncio.wait_for(stall(), 20)) < 30_000_000


@pytest.mark.parametrize(
    ("soft", "hard", "room", "raised"),
    [
        (100_000, 100_000, 1_024, None),
        (1_000, 100_000, 1_024, 1_024 + ACCEPTED_AT_ONCE + RESERVED_FILES),
        (256, resource.RLIM_INFINITY, 1_024, 1_024 + ACCEPTED_AT_ONCE + RESERVED_FILES),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, 1_024, None),
        (256, 1_000, 1_000 - ACCEPTED_AT_ONCE - RESERVED_FILES, 1_000),
        (256, 300, 256, 300),
    ],
)
def test_there_is_as_much_room_as_open_files_allow(monkeypatch, soft, hard, room, raised):
    told = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: told.append(limits[0]))
    assert room_for(1_024) == room
    assert told == ([] if raised is None else [raised])
