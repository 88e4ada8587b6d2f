"""What agents wait for: a stream of pieces as they come, or the first answer that is not empty."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

from pydantic import BaseModel

from ragmem.errors import RagmemError
from ragmem.server.agents.agents_broker import AgentBroker
from ragmem.server.agents.event_stream import KEEP_ALIVE, KEEP_ALIVE_S, OPENING, frame
from ragmem.server.http.failure_models import Failure
from ragmem.server.http.workers import Workers

LONGEST_STREAM_S = 86_400.0

_T = TypeVar("_T")


async def follow_stream(
    listening: AgentBroker,
    agent: str,
    cursor: int,
    next_pieces: Callable[[int], Awaitable[tuple[int, list[bytes]]]],
    seconds: float,
) -> AsyncIterator[bytes]:
    """Yield the pieces of a stream: what is there, then what comes, with comments in between."""
    until = time.monotonic() + (seconds or LONGEST_STREAM_S)
    yield OPENING
    with listening.listener(agent) as listener:
        try:
            while True:
                reached, pieces = await next_pieces(cursor)
                for piece in pieces:
                    yield piece
                if pieces:
                    cursor = reached
                    continue
                left = until - time.monotonic()
                if left <= 0 or listening.ended:
                    return
                if not await listener.woken(min(left, KEEP_ALIVE_S)) and left > KEEP_ALIVE_S:
                    yield KEEP_ALIVE
        except RagmemError as error:
            yield frame(as_json(Failure(detail=str(error), hint=error.hint)), event="refused")


async def wait_for_items(
    listening: AgentBroker, workers: Workers, agent: str, read: Callable[[], list[_T]], seconds: float
) -> list[_T]:
    """Return what is read; where that is nothing, again and again until the time is up."""
    found = await workers.run(read)
    if found or not seconds:
        return found
    listening.require_room()
    until = time.monotonic() + seconds
    with listening.listener(agent) as listener:
        while True:
            found = await workers.run(read)
            left = until - time.monotonic()
            if found or left <= 0 or listening.ended:
                return found
            await listener.woken(left)


def as_json(model: BaseModel) -> bytes:
    """Return a model as a stream sends it."""
    return model.model_dump_json(by_alias=True).encode()
