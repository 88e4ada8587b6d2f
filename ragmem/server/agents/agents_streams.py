"""Wait for items of agents: as a stream, or until the first answer that is not empty."""

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
    broker: AgentBroker,
    agent: str,
    cursor: int,
    next_pieces: Callable[[int], Awaitable[tuple[int, list[bytes]]]],
    seconds: float,
) -> AsyncIterator[bytes]:
    """Yield the pieces of a stream: the existing ones, then new ones, with keep-alive comments in between."""
    until = time.monotonic() + (seconds or LONGEST_STREAM_S)
    yield OPENING
    with broker.listener(agent) as listener:
        try:
            while True:
                reached, pieces = await next_pieces(cursor)
                for piece in pieces:
                    yield piece
                if pieces:
                    cursor = reached
                    continue
                left = until - time.monotonic()
                if left <= 0 or broker.is_ending:
                    return
                if not await listener.wait(min(left, KEEP_ALIVE_S)) and left > KEEP_ALIVE_S:
                    yield KEEP_ALIVE
        except RagmemError as error:
            yield frame(as_json(Failure(detail=str(error), hint=error.hint)), event="refused")


async def wait_for_items(
    broker: AgentBroker, workers: Workers, agent: str, read: Callable[[], list[_T]], seconds: float
) -> list[_T]:
    """Return the items that `read` finds; repeat it until there are some, or until the timeout."""
    found = await workers.run(read)
    if found or not seconds:
        return found
    broker.require_room()
    until = time.monotonic() + seconds
    with broker.listener(agent) as listener:
        while True:
            found = await workers.run(read)
            left = until - time.monotonic()
            if found or left <= 0 or broker.is_ending:
                return found
            await listener.wait(left)


def as_json(model: BaseModel) -> bytes:
    """Return the JSON of a model for a stream."""
    return model.model_dump_json(by_alias=True).encode()
