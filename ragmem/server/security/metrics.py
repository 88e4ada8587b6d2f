"""The metrics of the server for Prometheus, and the middleware that counts and logs requests."""

import re
import secrets
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from fastapi import APIRouter, Response
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragmem import __version__
from ragmem.api.memory import Ragmem
from ragmem.domain.secrets.redaction import find_secrets
from ragmem.errors import BackendError, RagmemError
from ragmem.server.http.failure_models import failure_responses
from ragmem.server.http.log import Log
from ragmem.server.http.workers import Workers
from ragmem.server.security.audit import REQUEST_KEY

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
"""Seconds; a question takes tens of milliseconds, an answer of a language model a minute."""

METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})
UNMATCHED = "unmatched"
"""The route label of unknown paths, of which there may be any number."""

CACHE_S = 5.0
"""Seconds for which values from the database are reused."""

# They double the lines, and Prometheus does not use them.
disable_created_metrics()  # type: ignore[no-untyped-call]

REQUEST_ID = b"x-request-id"
_SANE = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_STREAMED = (b"text/event-stream", b"application/x-ndjson")

GONE = 499
"""The status of a request whose client left before it was answered, as nginx writes it."""


class Metrics:
    """Counts requests; safe to use from several threads."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "ragmem_requests",
            "Answered requests by route template.",
            ("method", "route", "status"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "ragmem_request_seconds",
            "Seconds until the complete response, without streams.",
            ("method", "route"),
            buckets=BUCKETS,
            registry=self.registry,
        )
        self._going = Gauge(
            "ragmem_requests_in_flight",
            "Requests in progress, including streams.",
            registry=self.registry,
        )
        build = Gauge(
            "ragmem_build_info", "1, with the version.", ("version", "python"), registry=self.registry
        )
        build.labels(__version__, sys.version.split()[0]).set(1)
        # It reads /proc; without it, as on macOS, these values are missing.
        ProcessCollector(registry=self.registry)

    def watch(self, memory: Ragmem, **counted: tuple[str, Callable[[], float]]) -> None:
        """Add the state of a memory, and other gauges: name -> (description, function that reads it)."""
        self.registry.register(_State(memory, counted))

    def start_request(self) -> None:
        """Count an incoming request."""
        self._going.inc()

    def finish_request(self, method: str, route: str, status: int, seconds: float, *, streamed: bool) -> None:
        """Count a request that was answered."""
        self._going.dec()
        method = method if method in METHODS else "OTHER"
        self._requests.labels(method, route, str(status)).inc()
        if not streamed:
            self._seconds.labels(method, route).observe(seconds)

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format; reads the database, so it blocks."""
        return generate_latest(self.registry)


@dataclass(slots=True, eq=False)  # the registry keeps it as a key
class _State(Collector):
    """The content of the memory, and other gauges, read on each request for metrics."""

    memory: Ragmem
    counted: Mapping[str, tuple[str, Callable[[], float]]]
    """Gauges of this process: name -> (description, function), read on each request."""
    _kept: list[Metric] = field(default_factory=list)
    _until: float = 0.0

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics, without those that cannot be read."""
        for name, (told, count) in self.counted.items():
            yield GaugeMetricFamily(f"ragmem_{name}", told, value=count())
        if time.monotonic() >= self._until:
            with suppress(RagmemError):
                self._kept = list(self._read())
            self._until = time.monotonic() + CACHE_S
        yield from self._kept

    def _read(self) -> Iterator[Metric]:
        memory = self.memory
        states = memory.catalog.overview.count_by("state") if memory.catalog.exists() else {}
        held = GaugeMetricFamily("ragmem_memories", "Memories by their state.", labels=["state"])
        for state, count in states.items():
            held.add_metric([state], count)
        yield held
        yield GaugeMetricFamily(
            "ragmem_queue", "Memories that wait for vectors and graph.", value=states.get("pending", 0)
        )
        yield GaugeMetricFamily(
            "ragmem_inbox",
            "Writes that wait in the inbox.",
            value=memory.inbox.status().writes,
        )
        loaded = GaugeMetricFamily(
            "ragmem_model_loaded", "1 if the model is loaded.", labels=["kind", "model"]
        )
        for kind, model, is_loaded in models_of(memory):
            loaded.add_metric([kind, model], float(is_loaded))
        yield loaded


def models_of(memory: Ragmem) -> Iterator[tuple[str, str, bool]]:
    """Yield purpose, name and load state of each configured model, without loading any.

    A provider's model is never loaded here. Unavailable models are omitted.
    """
    with suppress(BackendError):
        embedder = memory.models.embedder
        yield "embedding", embedder.model_id, bool(getattr(embedder, "loaded", False))
    with suppress(BackendError):
        model = memory.answers.model
        if model is not None:
            yield "language", model.model_id, bool(getattr(model, "loaded", False))


def routes(metrics: Metrics, workers: Workers) -> APIRouter:
    """Return the route for Prometheus."""
    router = APIRouter(tags=["server"])

    @router.get(
        "/metrics",
        response_class=Response,
        responses={
            200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
            **failure_responses(401, 403, 429),
        },
    )
    async def figures() -> Response:
        """Return the metrics of the server in Prometheus' text format."""
        return Response(await workers.run(metrics.text), media_type=CONTENT_TYPE)

    return router


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
