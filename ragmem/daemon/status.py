"""The status of a process that answers hooks, its control requests, and the stamps of its settings."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ragmem import __version__
from ragmem.daemon.maintenance import Maintenance
from ragmem.daemon.server import Server
from ragmem.daemon.state import OPERATIONS

BYTES_PER_MB = 1024 * 1024

_CONFIGURATION = ("config.toml", "sources.toml", "decay.json")


def status(identity: str, *, began: float, idle_s: float, ready: bool) -> dict[str, Any]:
    """Return the process id, version, memory use and idle time of this process."""
    return {
        "process": os.getpid(),
        "version": __version__,
        "identity": identity,
        "began": began,
        "idle_s": round(idle_s, 1),
        "memory_mb": round(own_memory() / BYTES_PER_MB, 1),
        "ready": ready,
    }


def control(
    request: dict[str, Any],
    server: Server,
    maintenance: Maintenance,
    *,
    identity: str,
    is_old: Callable[[], bool],
    report: Callable[[], dict[str, Any]],
) -> dict[str, Any] | None:
    """Answer an operation that needs no memory; None for one that needs it.

    Ends the server for a stop, and for a client of another version or with other settings.
    """
    operation = request.get("op")
    if operation == "stop":
        server.end("it was told to")
        return {"process": os.getpid()}
    if operation == "status":
        # A look at the status changes nothing, whatever the settings of the client.
        return report()
    if request.get("identity") not in (None, identity):
        server.end("a client of another version connected")
        return {"ends": "another version"}
    if is_old():
        server.end("its settings have changed")
        return {"ends": "other settings"}
    if operation in OPERATIONS:
        return None
    if operation == "drain":
        maintenance.poke()
    return report()


def own_memory() -> int:
    """Return the bytes of this process that no file backs, or else its peak memory."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            _, resident, shared, *_ = (int(word) for word in file.read().split())
    except OSError:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    return (resident - shared) * os.sysconf("SC_PAGE_SIZE")


def stamps(config: Path) -> tuple[object, ...]:
    """Return a value that changes with the configuration files of a folder."""
    return tuple(_stamp(config / name) for name in _CONFIGURATION)


def _stamp(path: Path) -> tuple[int, ...] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
