"""The heap of the C library."""

import ctypes
from contextlib import suppress


def trim_heap() -> None:
    """Return freed memory to the system, where the C library keeps it for itself: glibc does."""
    with suppress(AttributeError, TypeError):  # another C library; Windows
        ctypes.CDLL(None).malloc_trim(0)
