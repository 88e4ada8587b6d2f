"""Confine the process that reads documents: limits on memory, no writing of files, no network."""

import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import PurePath
from typing import Any, NamedTuple

OUT_OF_MEMORY = 86
"""The exit status of a process that exceeded its memory limit."""

_PROGRAMS = frozenset({"tesseract"})
_VIRTUAL_MB = 1_500  # what libraries map and never touch; OCR of many pictures takes 900
_LOOK_S = 0.05
_FILES = 128
_FORBIDDEN = (
    "socket.connect socket.bind socket.getaddrinfo socket.gethostbyname socket.sendto socket.sendmsg"
    " os.system os.exec os.fork os.forkpty os.remove os.rename os.rmdir os.mkdir os.truncate"
    " os.chmod os.chown os.link os.symlink os.utime shutil.rmtree pty.spawn"
    " urllib.Request ftplib.connect http.client.connect"
)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class _Signals(NamedTuple):
    """Calls that tell whoever waits for this process that OCR has begun, or that a page is finished."""

    ocr: Callable[[], None]
    page: Callable[[], None]


_signals: list[_Signals] = []


def confine(memory_mb: int) -> None:
    """Confine this process for the rest of its life; limits that the system does not support are skipped.

    Twenty times a second it checks the resident memory, because macOS ignores RLIMIT_AS, and whether the
    parent process still runs. On Linux the address space is limited as well, so that a single huge allocation
    fails at once. The audit hook denies Python code sockets, other programs and opening files to write. It is
    a second line of defence, not a sandbox: it does not see the C code of libraries.
    """
    _limit(resource.RLIMIT_AS, (memory_mb + _VIRTUAL_MB) * 1_000_000)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_NOFILE, _FILES)
    threading.Thread(target=_watch, args=(memory_mb, os.getppid()), daemon=True).start()
    forbidden = frozenset(_FORBIDDEN.split())

    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        if (
            event in forbidden
            or (event == "open" and _writes(arguments))
            or _starts_program(event, arguments)
        ):
            raise PermissionError(f"a document cannot make its reader do this: {event}")

    sys.addaudithook(refuse)


def allow_seconds(seconds: float) -> None:
    """Limit the CPU time of this process from now on; then the system ends it."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(used.ru_utime + used.ru_stime + seconds) + 2
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def request_seconds(seconds: float) -> None:
    """Allow this process more CPU time for a picture, and tell whoever waits for it that OCR has begun.

    Nothing happens in a process that is not confined.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    if signals := _signals_if_confined():
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_CPU, (soft + int(seconds) * (os.cpu_count() or 1) + 1, hard))
        signals.ocr()


def report_page(seconds: float) -> None:
    """Allow this process CPU time for the next page, and tell whoever waits for it that one is finished.

    Nothing happens in a process that is not confined.
    """
    if signals := _signals_if_confined():
        allow_seconds(seconds)
        signals.page()


def set_signals(*, ocr: Callable[[], None], page: Callable[[], None]) -> None:
    """Set what `request_seconds` and `report_page` call."""
    _signals[:] = [_Signals(ocr, page)]


def _signals_if_confined() -> _Signals | None:
    is_limited = resource.getrlimit(resource.RLIMIT_CPU)[0] != resource.RLIM_INFINITY
    return _signals[0] if _signals and is_limited else None


def peak_kb() -> int:
    """Return the peak memory of this process.

    On Linux `ru_maxrss` includes the memory of the parent before this program was loaded, but VmHWM does not.
    Without /proc, a peak that is not above that at the start may be the parent's and counts as 0.
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
    """End this process when it takes too much memory, or when its parent is gone."""
    while peak_kb() <= memory_mb * 1_000 and os.getppid() == parent:
        time.sleep(_LOOK_S)
    if os.getppid() != parent and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)  # with the tesseract that it may have started
    os._exit(OUT_OF_MEMORY)


def _writes(arguments: tuple[Any, ...]) -> bool:
    path, _, flags = arguments
    # A number is the descriptor of an open file or pipe.
    return (
        isinstance(flags, int) and bool(flags & _WRITING) and path != os.devnull and not isinstance(path, int)
    )


def _starts_program(event: str, arguments: tuple[Any, ...]) -> bool:
    # From Python 3.13 on subprocess.Popen calls os.posix_spawn, which is an event of its own.
    if event not in {"subprocess.Popen", "os.posix_spawn"}:
        return False
    return PurePath(os.fsdecode(arguments[0])).name not in _PROGRAMS
