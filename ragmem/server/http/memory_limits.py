"""Limit the memory of the server process, so that it does not grow over time."""

import ctypes
import os

ARENAS = 2
"""Arenas of the heap. The C library makes one for each thread, up to eight for each core, and no thread can
reuse what another has freed in its own arena."""

_M_ARENA_MAX = -8  # of <malloc.h>
_CHOSEN = "MALLOC_ARENA_MAX"


def bound_heap() -> bool:
    """Limit the arenas of the C library, before any thread is started; tell whether that was possible.

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
