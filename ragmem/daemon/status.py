"""What a process that answers hooks tells of itself, and by what it knows that its settings are old."""

import os
import sys
from pathlib import Path
from typing import Any

from ragmem import __version__

BYTES_PER_MB = 1024 * 1024

_CONFIGURATION = ("config.toml", "sources.toml", "decay.json")


def status(identity: str, *, began: float, idle_s: float, ready: bool) -> dict[str, Any]:
    """Return process id, version, memory use and idle time of this process."""
    return {
        "process": os.getpid(),
        "version": __version__,
        "identity": identity,
        "began": began,
        "idle_s": round(idle_s, 1),
        "memory_mb": round(own_memory() / BYTES_PER_MB, 1),
        "ready": ready,
    }


def own_memory() -> int:
    """Return the bytes of this process that no file backs; where the system does not tell, its peak."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            _, resident, shared, *_ = (int(word) for word in file.read().split())
    except OSError:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    return (resident - shared) * os.sysconf("SC_PAGE_SIZE")


def stamps(config: Path) -> tuple[object, ...]:
    """Return what changes with the configuration files of a folder."""
    return tuple(_stamp(config / name) for name in _CONFIGURATION)


def _stamp(path: Path) -> tuple[int, ...] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
