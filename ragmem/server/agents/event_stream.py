"""Server-sent events; the stream ends when the client leaves or is too slow, or when the server stops."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ragmem.server.security.guard import CREDENTIAL, SESSION
from ragmem.server.security.sessions import Session

SLOW_S = 20.0
"""Seconds that a client may leave a piece unread; then it is dropped, and may connect again."""

KEEP_ALIVE_S = 15.0
"""Seconds of silence after which a comment keeps the connection alive."""

RETRY_MS = 1_000
"""Milliseconds after which a browser reconnects."""

KEEP_ALIVE = b": keep-alive\n\n"
OPENING = f"retry: {RETRY_MS}\n: open\n\n".encode()

_LAST = {"type": "http.response.body", "body": b"", "more_body": False}


def frame(document: bytes, *, event: str = "", number: int | None = None) -> bytes:
    """Return one event of a stream; a JSON document has no line breaks."""
    id_line = b"" if number is None else b"id: %d\n" % number
    event_line = b"event: %s\n" % event.encode() if event else b""
    return b"%s%sdata: %s\n\n" % (id_line, event_line, document)


class EventStream(Response):
    """Sends the pieces of an iterator; needs no thread, and cleans up in any case."""

    media_type = "text/event-stream"

    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        self.pieces = pieces
        self.status_code = 200
        self.background = None
        self.body = b""
        self.init_headers({"X-Accel-Buffering": "no"})
        # The length is unknown, although the body here is empty.
        del self.headers["content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the iterator ends, the client leaves, or the session that opened it ends."""
        session: Session | None = scope[SESSION] if scope.get(CREDENTIAL) == "session" else None
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        sending = asyncio.create_task(self._send(send))
        others: list[asyncio.Task[Any]] = [asyncio.create_task(_wait_for_disconnect(receive))]
        if session is not None:
            others.append(asyncio.create_task(session.ended.wait()))
        try:
            await asyncio.wait({sending, *others}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sending, *others):
                task.cancel()
            for task in others:
                with suppress(asyncio.CancelledError):
                    await task
            with suppress(asyncio.CancelledError, TimeoutError):
                await sending
        if sending.cancelled() and session is not None and session.ended.is_set():
            await send(_LAST)

    async def _send(self, send: Send) -> None:
        try:
            async for piece in self.pieces:
                # The framework waits while the client's buffers are full.
                async with asyncio.timeout(SLOW_S):
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send(_LAST)
        finally:
            closing = getattr(self.pieces, "aclose", None)
            if closing is not None:
                await closing()


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
