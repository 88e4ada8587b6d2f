"""What keeps the memory of a server's process small, and as large after a day as after an hour."""

import ctypes
import os

from ragmem.storage.sql.database import Database

PAGES_KIB = 8 * 1024
"""Pages that each thread's connection keeps, in the place of the 64 MiB of a process with one: the system
keeps the file in memory once for all of them, and a question took no longer (benchmarks/serve.py)."""

ARENAS = 2
"""Parts of the heap. The C library makes one for each thread, up to eight for each core, and what a thread
has freed in its own part serves no other thread."""

_M_ARENA_MAX = -8  # of <malloc.h>
_CHOSEN = "MALLOC_ARENA_MAX"


def bound_heap() -> bool:
    """Let the C library make few arenas; to be called before threads are started.

    Returns whether that was done: it is glibc's alone, and a person's own choice stays.
    """
    if _CHOSEN in os.environ or not _is_glibc():
        return False
    # Returns 0 where it is refused.
    return bool(ctypes.CDLL(None).mallopt(_M_ARENA_MAX, ARENAS))


def bound_pages(database: Database) -> None:
    """Let each connection that is opened from now on keep few pages."""
    database.limit_cache(PAGES_KIB)


def _is_glibc() -> bool:
    try:
        return bool(os.confstr("CS_GNU_LIBC_VERSION"))
    except (AttributeError, ValueError, OSError):  # no such name: another C library
        return False
