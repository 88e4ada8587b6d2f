"""Outermost ASGI middleware: an id, a log line and metrics for each request."""

import re
import secrets
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragmem.domain.secrets.redaction import find_secrets
from ragmem.server.http.log import Log
from ragmem.server.security.audit import REQUEST_KEY
from ragmem.server.security.metrics import UNMATCHED, Metrics

REQUEST_ID = b"x-request-id"
_SANE = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_STREAMED = (b"text/event-stream", b"application/x-ndjson")

GONE = 499
"""The status of a request whose client left before it was answered, as nginx writes it."""


class MetricsMiddleware:
    """Answers with the request's own id if that is valid, else with a new one."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics, log: Log | None) -> None:
        self.app = app
        self.metrics = metrics
        self.log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        identifier = _identifier(scope)
        scope[REQUEST_KEY] = identifier.decode("ascii")
        began = time.perf_counter()
        status, streamed = GONE, False

        async def send_with_id(message: Message) -> None:
            nonlocal status, streamed
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = list(message.get("headers", ()))
                streamed = any(
                    name == b"content-type" and value.startswith(_STREAMED) for name, value in headers
                )
                message["headers"] = [*headers, (REQUEST_ID, identifier)]
            await send(message)

        self.metrics.start_request()
        try:
            await self.app(scope, receive, send_with_id)
        finally:
            seconds = time.perf_counter() - began
            # The template, such as /v1/memory/memories/{id}.
            route = getattr(scope.get("route"), "path", "") or UNMATCHED
            self.metrics.finish_request(scope["method"], route, status, seconds, streamed=streamed)
            level = "error" if status >= 500 else "info"
            if self.log is not None and self.log.is_enabled(level):
                milliseconds = round(seconds * 1000, 1)
                given = {"id": scope[REQUEST_KEY], "method": scope["method"], "route": route}
                # The template of the route, never the path: that may contain private names.
                self.log.write(level, "request", **given, status=status, ms=milliseconds)


def _identifier(scope: Scope) -> bytes:
    given = [value for name, value in scope["headers"] if name == REQUEST_ID]
    if len(given) == 1 and _SANE.fullmatch(given[0]) and not find_secrets(given[0].decode()):
        return bytes(given[0])
    return secrets.token_hex(8).encode()
