"""Listen on a port, and serve until a signal."""

import asyncio
import ctypes
import logging
import os
import signal
import socket
import ssl
from collections.abc import Callable, Iterable
from functools import partial
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI

from ragmem.errors import EXIT_INTERRUPTED, RagmemError, os_reason
from ragmem.server.http.log import Handler, Log
from ragmem.server.security.connections import ACCEPTED_AT_ONCE, QUEUE, Limits, protocol_within
from ragmem.server.security.origin import is_loopback
from ragmem.server.security.tls import HANDSHAKE_S

GRACE = 30
"""Seconds that running requests have to finish after a signal."""


def bind(host: str, port: int, *, remote: bool = False) -> socket.socket:
    """Return a listening socket; port 0 takes a free one.

    Raises RagmemError if the port is taken, if the address is not on this machine, or if other machines can
    reach the address and `remote` is not set.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (socket.gaierror, UnicodeError) as error:
        raise RagmemError(f'"{host}" is not an address to listen on', hint="--host 127.0.0.1") from error
    if not remote and not is_loopback(str(address[0])):
        raise RagmemError(
            f'"{host}" is {address[0]} here, which other machines reach', hint="--host 127.0.0.1"
        )
    # With TCP named, asyncio sends each piece at once rather than 40 ms later.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        # A port that was just closed can be reused at once; a port in use cannot.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(QUEUE)
    except OSError as error:
        listening.close()
        raise RagmemError(
            f"cannot listen on {place(host, port)}: {os_reason(error)}",
            hint="is another `ragmem serve` running? choose a port with --port; 0 takes a free one",
        ) from error
    return listening


def place(host: str, port: int) -> str:
    """Return host and port as in a URL."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class _Server(uvicorn.Server):
    def __init__(
        self,
        config: uvicorn.Config,
        ready: Callable[[], None],
        endings: Iterable[Callable[[], None]],
        log: Log,
    ) -> None:
        super().__init__(config)
        self._ready = ready
        self._endings = endings
        self._log = log
        self.signalled = False

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # Uvicorn's own handler raises the signal again at the end, but the process has to end with 0.
        del sig, frame
        if self.signalled:
            # Nothing to clean up: writes are durable, and none was acknowledged unfinished.
            self._log.announce("ended at once, by a second signal", event="ended")
            self._log.close()
            os._exit(EXIT_INTERRUPTED)
        self.signalled = self.should_exit = True
        self._log.write("info", "ending", "what has begun is finished; a second signal ends it at once")

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        if self.config.ssl is not None:
            # Uvicorn leaves a client a minute, in which it holds a connection that no limit counts.
            loop: Any = asyncio.get_running_loop()
            loop.create_server = partial(loop.create_server, ssl_handshake_timeout=HANDSHAKE_S)
        await super().startup(sockets=sockets)
        # The loop has one number for both: connections accepted per turn, and the queue of the system.
        for listening in sockets or ():
            listening.listen(QUEUE)
        if self.started and not self.should_exit:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Otherwise streams would last as long as requests may take to finish.
        for end in self._endings:
            end()
        await super().shutdown(sockets=sockets)


def serve(
    app: FastAPI,
    listening: socket.socket,
    *,
    within: Limits,
    ready: Callable[[], None],
    log: Log,
    tls: ssl.SSLContext | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM, then finish the running requests; a second signal ends the process.

    `within` bounds the connections; `ready` is called once, when the server answers requests. The libraries
    log to `log` as well. With `tls` it answers by https alone.
    """
    bound_heap()  # before any thread starts
    for name in ("uvicorn", "asyncio", "python_multipart", "ragmem"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [Handler(log)], False
        logger.setLevel(logging.WARNING)
    config = uvicorn.Config(
        app,
        backlog=ACCEPTED_AT_ONCE,
        http=protocol_within(within),  # type: ignore[arg-type]  # it only calls its argument
        access_log=False,  # a log of questions would be a second, unprotected memory
        log_config=None,
        lifespan="on",
        loop="asyncio",
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE,
        ws="none",
    )
    config.load()
    config.ssl = tls  # its own options know files only
    server = _Server(config, ready, app.state.endings, log)

    # Uvicorn handles them only while it serves; models load before, and the memory closes after.
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, server.handle_exit) for number in numbers}
    try:
        server.run(sockets=[listening])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        listening.close()
    if not server.started and not server.signalled:
        raise RagmemError("the server could not start", hint="the lines above say why")


ARENAS = 2
"""Arenas of the heap. The C library makes one for each thread, up to eight for each core, and no thread can
reuse what another has freed in its own arena."""

_M_ARENA_MAX = -8  # of <malloc.h>
_CHOSEN = "MALLOC_ARENA_MAX"


def bound_heap() -> bool:
    """Limit the arenas of the C library, before any thread is started; return whether that was possible.

    Only glibc has such a limit, and the user's own choice in the environment stays.
    """
    if _CHOSEN in os.environ or not _is_glibc():
        return False
    # It returns 0 on failure.
    return bool(ctypes.CDLL(None).mallopt(_M_ARENA_MAX, ARENAS))


def _is_glibc() -> bool:
    try:
        return bool(os.confstr("CS_GNU_LIBC_VERSION"))
    except (AttributeError, ValueError, OSError):  # another C library does not know the name
        return False
