"""Listen on a port and serve until a signal ends it."""

import logging
import os
import signal
import socket
from collections.abc import Callable, Iterable
from types import FrameType

import uvicorn
from fastapi import FastAPI

from ragmem.errors import EXIT_INTERRUPTED, RagmemError
from ragmem.server.http.log import Handler, Log
from ragmem.server.http.memory_limits import bound_heap
from ragmem.server.security.connections import ACCEPTED_AT_ONCE, QUEUE, Limits, protocol_within
from ragmem.server.security.origin import is_loopback

GRACE = 30
"""Seconds that running requests have to finish after a signal."""


def bind(host: str, port: int, *, remote: bool = False) -> socket.socket:
    """Return a socket that listens; port 0 takes a free one.

    Raises RagmemError when the port is taken or the address is not this machine's, and where a name turns out
    to be an address that other machines reach, unless `remote` says that they may.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (socket.gaierror, UnicodeError) as error:
        raise RagmemError(f'"{host}" is no address to listen on', hint="--host 127.0.0.1") from error
    if not remote and not is_loopback(str(address[0])):
        raise RagmemError(
            f'"{host}" is {address[0]} here, which other machines reach', hint="--host 127.0.0.1"
        )
    # Named as TCP, by which asyncio knows to send each piece at once and not 40 ms later.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        # A port that was just left may be taken again at once; one that is listened on may not.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(QUEUE)
    except OSError as error:
        listening.close()
        raise RagmemError(
            f"cannot listen on {place(host, port)}: {(error.strerror or str(error)).lower()}",
            hint="is another `ragmem serve` running? choose a port with --port; 0 takes a free one",
        ) from error
    return listening


def place(host: str, port: int) -> str:
    """Return host and port as in a URL."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class _Announcing(uvicorn.Server):
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
        # Uvicorn's own raises the signal again when it is done, and the process is to end with 0.
        del sig, frame
        if self.signalled:
            # What was stored is stored, and of what was not its client was told nothing: nothing to clean up.
            self._log.say("ended at once, by a second signal", event="ended")
            self._log.close()
            os._exit(EXIT_INTERRUPTED)
        self.signalled = self.should_exit = True
        self._log.tell("info", "ending", "what has begun is finished; a second signal ends it at once")

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        # The loop takes one number for both: what it accepts in a turn, and what waits in the system.
        for listening in sockets or ():
            listening.listen(QUEUE)
        if self.started and not self.should_exit:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Streams would go on for as long as requests may take to finish.
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
) -> None:
    """Serve until SIGINT or SIGTERM, then finish the running requests; a second signal ends the process.

    `within` bounds the connections; `ready` is called once, when requests are answered. To `log` goes what
    the libraries log as well.
    """
    bound_heap()  # no thread was started yet
    for name in ("uvicorn", "asyncio", "ragmem"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [Handler(log)], False
        logger.setLevel(logging.WARNING)
    server = _Announcing(
        uvicorn.Config(
            app,
            backlog=ACCEPTED_AT_ONCE,
            http=protocol_within(within),  # type: ignore[arg-type]  # it only calls what it is given
            access_log=False,  # a log of what was asked would be a second, unguarded memory
            log_config=None,
            lifespan="on",
            loop="asyncio",
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=GRACE,
            ws="none",
        ),
        ready,
        app.state.endings,
        log,
    )

    # Uvicorn handles them while it serves; before that models load, and after it the memory is closed.
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
