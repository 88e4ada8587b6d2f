"""The one device that all MLX models of the process share, and the thread that everything on it runs on."""

import ctypes
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from ragmem.errors import BackendError

_T = TypeVar("_T")

_starting = threading.Lock()
_thread: ThreadPoolExecutor | None = None


def run(work: Callable[..., _T], *values: Any) -> _T:
    """Run work on the device's thread, after what came before it, and return its result.

    MLX's streams, and the arrays made on them, belong to a thread; two models that computed at once would
    also need the memory of both. Not to be called from that thread.
    """
    global _thread  # noqa: PLW0603 - one device, one thread
    with _starting:
        if _thread is None:
            _thread = ThreadPoolExecutor(1, thread_name_prefix="mlx")
        thread = _thread
    return thread.submit(work, *values).result()


def import_mlx() -> Any:
    """Import mlx.core; raise BackendError when it is not installed."""
    if sys.platform == "linux" and "mlx.core" not in sys.modules:
        # MLX's wheel links the reference BLAS (2 GFLOP/s); symbols that are loaded earlier win (80 and more).
        # Debian: libopenblas0-pthread. Best effort: without it MLX is slow, not wrong.
        with suppress(OSError):
            ctypes.CDLL("libopenblas.so.0", mode=ctypes.RTLD_GLOBAL)
    try:
        import mlx.core as mx
    except ImportError as error:
        raise BackendError(
            f"mlx cannot load: {error}", hint="pip install 'ragmem[mlx]', or set engine = auto"
        ) from error
    return mx
