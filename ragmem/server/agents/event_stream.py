"""An answer that goes on: server-sent events, ended when the client is gone, too slow, or the server ends."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ragmem.server.security.guard import CREDENTIAL, SESSION
from ragmem.server.security.sessions import Session

SLOW_S = 20.0
"""Seconds that a client may leave a piece unread; it is dropped then, and may come back."""

KEEP_ALIVE_S = 15.0
"""Seconds of silence after which a comment tells both ends that the other is there."""

RETRY_MS = 1_000
"""Milliseconds after which a browser connects again by itself."""

KEEP_ALIVE = b": keep-alive\n\n"
OPENING = f"retry: {RETRY_MS}\n: open\n\n".encode()

_LAST = {"type": "http.response.body", "body": b"", "more_body": False}


def frame(document: bytes, *, event: str = "", number: int | None = None) -> bytes:
    """Return one event of a stream; a JSON document has no line breaks."""
    known = b"" if number is None else b"id: %d\n" % number
    named = b"event: %s\n" % event.encode() if event else b""
    return b"%s%sdata: %s\n\n" % (known, named, document)


class EventStream(Response):
    """Sends what an iterator yields; takes no thread, and leaves nothing behind however it ends."""

    media_type = "text/event-stream"

    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        self.pieces = pieces
        self.status_code = 200
        self.background = None
        self.body = b""
        self.init_headers({"X-Accel-Buffering": "no"})
        # Its length is not known, though the body here is empty.
        del self.headers["content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the iterator ends, the client leaves, or the session that opened it ends."""
        session: Session | None = scope[SESSION] if scope.get(CREDENTIAL) == "session" else None
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        sending = asyncio.create_task(self._send(send))
        others = [asyncio.create_task(_gone(receive))]
        if session is not None:
            others.append(asyncio.create_task(_gone_with(session)))
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
                # The framework waits where the client's buffers are full.
                async with asyncio.timeout(SLOW_S):
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send(_LAST)
        finally:
            closing = getattr(self.pieces, "aclose", None)
            if closing is not None:
                await closing()


async def _gone_with(session: Session) -> None:
    await session.ended.wait()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
