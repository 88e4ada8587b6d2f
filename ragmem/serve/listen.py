"""Listen on a port and serve until a signal ends it."""

import signal
import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from fastapi import FastAPI

from ragmem.errors import RagmemError

GRACE = 30
"""Seconds that running requests have to finish after a signal."""

BACKLOG = 128


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 takes a free one.

    Raises RagmemError when the port is taken or the address is not this machine's.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (socket.gaierror, UnicodeError) as error:
        raise RagmemError(f'"{host}" is no address to listen on', hint="--host 127.0.0.1") from error
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        # A port that was just left may be taken again at once; one that is listened on may not.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
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
    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started and not self.should_exit:
            self._ready()


def serve(app: FastAPI, listening: socket.socket, *, ready: Callable[[], None], quiet: bool = False) -> None:
    """Serve until SIGINT or SIGTERM, then finish the running requests; a second SIGINT does not wait.

    `ready` is called once, when requests are answered.
    """
    server = _Announcing(
        uvicorn.Config(
            app,
            access_log=False,  # a log of what was asked would be a second, unguarded memory
            log_level="error" if quiet else "warning",
            lifespan="on",
            loop="asyncio",
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=GRACE,
            ws="none",
        ),
        ready,
    )

    def stop(*_: Any) -> None:
        server.should_exit = True

    # Uvicorn raises the signal again when it is done, for whoever had a handler before; that is this one, and
    # the process ends in its own time, with 0.
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        server.run(sockets=[listening])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        listening.close()
