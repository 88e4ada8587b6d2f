"""What the process that reads documents cannot do: take more memory, write files, reach a network."""

import os
import resource
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import PurePath
from typing import Any

OUT_OF_MEMORY = 86
"""The exit status of a process that took more than it may."""

_PROGRAMS = frozenset({"tesseract"})
_VIRTUAL_MB = 700  # what libraries map and never touch
_LOOK_S = 0.05
_FILES = 128
_FORBIDDEN = (
    "socket.connect socket.bind socket.getaddrinfo socket.gethostbyname socket.sendto socket.sendmsg"
    " os.system os.exec os.posix_spawn os.fork os.forkpty os.remove os.rename os.rmdir os.mkdir os.truncate"
    " os.chmod os.chown os.link os.symlink os.utime shutil.rmtree pty.spawn"
    " urllib.Request ftplib.connect http.client.connect"
)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def confine(memory_mb: int) -> None:
    """Bind this process for the rest of its life; what the system does not support is left out.

    Resident memory is looked at twenty times a second, since macOS does not keep to RLIMIT_AS, and so is
    whether the process that started this one is still there; on Linux the
    address space is bounded as well, so that a single huge allocation fails at once. The audit hook keeps
    Python code from sockets, from other programs and from opening files to write. It is a second line, not a
    sandbox: code of a library in C does not pass it.
    """
    _limit(resource.RLIMIT_AS, (memory_mb + _VIRTUAL_MB) * 1_000_000)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_NOFILE, _FILES)
    threading.Thread(target=_watch, args=(memory_mb, os.getppid()), daemon=True).start()
    forbidden = frozenset(_FORBIDDEN.split())

    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        if event in forbidden or (event == "open" and _writes(arguments)) or _is_strange(event, arguments):
            raise PermissionError(f"a document cannot make its reader do this: {event}")

    sys.addaudithook(refuse)


def allow_seconds(seconds: float) -> None:
    """Let this process compute for so long from now; then the system ends it."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(used.ru_utime + used.ru_stime + seconds) + 2
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def peak_kb() -> int:
    """Return the most memory that this process has held at once.

    Linux counts what the parent held before this program was loaded in `ru_maxrss`, but not in VmHWM. Where
    there is no /proc, what is not more than at the start may be the parent's, and counts as nothing.
    """
    try:
        with open("/proc/self/status", "rb") as status:  # noqa: PTH123 - twenty times a second
            return next(int(line.split()[1]) for line in status if line.startswith(b"VmHWM:"))
    except (OSError, StopIteration, ValueError):
        most = _max_resident()
        return most if most > _AT_START else 0


def _max_resident() -> int:
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most // 1024 if sys.platform == "darwin" else most


_AT_START = _max_resident()


def _limit(what: int, most: int) -> None:
    with suppress(ValueError, OSError):
        hard = resource.getrlimit(what)[1]
        bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (bound, bound))


def _watch(memory_mb: int, parent: int) -> None:
    """End this process when it takes too much, or when nobody is left to hear its answer."""
    while peak_kb() <= memory_mb * 1_000 and os.getppid() == parent:
        time.sleep(_LOOK_S)
    if os.getppid() != parent and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)  # with the tesseract that it may have started
    os._exit(OUT_OF_MEMORY)


def _writes(arguments: tuple[Any, ...]) -> bool:
    path, _, flags = arguments
    # A number is a file or pipe that is open already.
    return (
        isinstance(flags, int) and bool(flags & _WRITING) and path != os.devnull and not isinstance(path, int)
    )


def _is_strange(event: str, arguments: tuple[Any, ...]) -> bool:
    return event == "subprocess.Popen" and PurePath(str(arguments[0])).name not in _PROGRAMS
