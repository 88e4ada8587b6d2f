"""Track the requests of clients, so that the server can use its idle time."""

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
        "/v1/memory/progress",
    }
)
"""Paths that programs poll, or keep open for hours; they do not use the memory."""

STREAMS = frozenset({"/mcp"})
"""Paths where a GET stays open as long as its client; only other methods count as activity."""


class Activity:
    """Counts the open requests; safe to read from several threads."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._guard = threading.Lock()
        self._running = 0
        self._last = clock()
        self._ending = False

    def start_request(self) -> None:
        """Count an incoming request."""
        with self._guard:
            self._running += 1
            self._last = self._clock()

    def finish_request(self) -> None:
        """Count a request that was answered."""
        with self._guard:
            self._running -= 1
            self._last = self._clock()

    def end(self) -> None:
        """Report no more idle time, because the server stops."""
        with self._guard:
            self._ending = True

    def idle_seconds(self) -> float:
        """Return the seconds since the last request; 0 while one is open, and when the server stops."""
        with self._guard:
            return 0.0 if self._running or self._ending else self._clock() - self._last


class ActivityMiddleware:
    """ASGI middleware that counts requests in an Activity."""

    def __init__(self, app: ASGIApp, *, activity: Activity) -> None:
        self.app = app
        self.activity = activity

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] != "http" or _is_uncounted(scope):
            await self.app(scope, receive, send)
            return
        self.activity.start_request()
        try:
            await self.app(scope, receive, send)
        finally:
            self.activity.finish_request()


def _is_uncounted(scope: Scope) -> bool:
    path = scope["path"]
    return path in UNCOUNTED or (path in STREAMS and scope["method"] == "GET")
