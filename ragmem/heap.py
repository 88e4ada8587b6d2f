"""The heap of the C library, and the caches of words, which are freed where a model needs the memory."""

from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from functools import _lru_cache_wrapper

T = TypeVar("T")

_caches: "list[_lru_cache_wrapper[object]]" = []


def word_cache(maxsize: int) -> "Callable[[Callable[..., T]], _lru_cache_wrapper[T]]":
    """Cache the latest results of a function of words until `free_word_caches`."""

    def decorate(function: Callable[..., T]) -> "_lru_cache_wrapper[T]":
        cached = lru_cache(maxsize)(function)
        _caches.append(cached)
        return cached

    return decorate


def free_word_caches() -> None:
    """Empty the caches of words, and return freed memory to the system."""
    for cached in _caches:
        cached.cache_clear()
    trim_heap()


def trim_heap() -> None:
    """Return freed memory to the system, where the C library keeps it for itself: glibc does."""
    import ctypes  # noqa: PLC0415 - a question does without it

    with suppress(AttributeError, TypeError):  # another C library; Windows
        ctypes.CDLL(None).malloc_trim(0)
