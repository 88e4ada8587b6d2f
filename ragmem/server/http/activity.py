"""Whether anybody asks the server for anything, so that it can use the time in which nobody does."""

import threading
import time
from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send

UNCOUNTED = frozenset(
    {
        "/health",
        "/metrics",
        "/heartbeat",
        "/status",
        "/messages",
        "/messages/pending",
        "/messages/ack",
        "/signal",
        "/shutdown-check",
        "/agents",
        "/agents/events",
        "/events",
    }
)
"""Paths that machines ask again and again, or for hours: no use of the memory."""


STREAMS = frozenset({"/mcp"})
"""Paths where a GET stays open as long as the client lives; only other methods count as activity."""


class Activity:
    """Counts the requests that are being answered; safe to read from several threads."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._guard = threading.Lock()
        self._running = 0
        self._last = clock()
        self._ending = False

    def began(self) -> None:
        """Tell that a request came in."""
        with self._guard:
            self._running += 1
            self._last = self._clock()

    def ended(self) -> None:
        """Tell that it was answered."""
        with self._guard:
            self._running -= 1
            self._last = self._clock()

    def end(self) -> None:
        """Let nothing count as idle any more: the server ends."""
        with self._guard:
            self._ending = True

    def idle_since(self) -> float:
        """Return for how many seconds nobody has asked; 0 while somebody does, and when the server ends."""
        with self._guard:
            return 0.0 if self._running or self._ending else self._clock() - self._last


class ActivityMiddleware:
    """ASGI middleware that tells an Activity of each request."""

    def __init__(self, app: ASGIApp, *, activity: Activity) -> None:
        self.app = app
        self.activity = activity

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request on."""
        if scope["type"] != "http" or _is_uncounted(scope):
            await self.app(scope, receive, send)
            return
        self.activity.began()
        try:
            await self.app(scope, receive, send)
        finally:
            self.activity.ended()


def _is_uncounted(scope: Scope) -> bool:
    path = scope["path"]
    return path in UNCOUNTED or (path in STREAMS and scope["method"] == "GET")
