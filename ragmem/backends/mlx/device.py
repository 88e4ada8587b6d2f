"""The device that all MLX models of the process share, and the one thread that uses it."""

import atexit
import ctypes
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary, ref

from ragmem.errors import BackendError

_T = TypeVar("_T")

_END_S = 30.0
"""Seconds that the end of the process waits for running work, such as a model that loads.

Without the wait MLX would end the process with a core dump and a wrong exit code.
"""


class DeviceThread:
    """Runs work in order, on one thread."""

    def __init__(self) -> None:
        self._work: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._ended = False
        # A daemon: Python joins the threads of an executor before our atexit function runs.
        self._thread = threading.Thread(target=self._serve, name="mlx", daemon=True)
        self._thread.start()
        atexit.register(self._end)

    def run(self, work: Callable[..., _T], *values: Any) -> _T:
        """Return the result of the work, or raise its exception.

        Raise BackendError when the process is ending, or is a fork of the thread's process.
        """
        if self._ended or not self._thread.is_alive():
            what = "the process is ending" if self._ended else "a forked process has no MLX"
            raise BackendError(
                what, hint="use the model before the process ends, and start new processes instead of forks"
            )
        future: Future[_T] = Future()
        self._work.put((future, partial(work, *values)))
        try:
            return future.result()
        except BaseException:
            future.cancel()  # nobody waits, so it need not begin
            raise

    def _serve(self) -> None:
        while item := self._work.get():
            future, work = item
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(work())
            except BaseException as error:  # noqa: BLE001 - it is the caller's
                future.set_exception(error)
            # The result may be large; this thread must not keep it alive.
            del future, work, item
        if "mlx.core" in sys.modules:
            # Else MLX (0.32) aborts the process at its end: a stream has to be freed on its own thread.
            sys.modules["mlx.core"].clear_streams()

    def _end(self) -> None:
        """Let the thread finish its work and end."""
        self._ended = True
        self._work.put(None)
        self._thread.join(_END_S)


_M = TypeVar("_M")

MEGABYTE = 1_000_000

SHARE_OF_MEMORY = 0.75
"""Share of the device's memory for all models together, if no limit is configured."""

GROUPS = Path("/proc/self/cgroup")
GROUP_ROOT = Path("/sys/fs/cgroup")

CACHE_BYTES = 512 * MEGABYTE
"""MLX's cache for reuse; on Metal it would grow to the memory limit, since texts differ in length."""

_FULL = re.compile(r"out of memory|insufficient memory|bad_alloc|\balloc|malloc", re.IGNORECASE)

_starting = threading.Lock()
_thread: DeviceThread | None = None
_loaded: "WeakKeyDictionary[Resident[Any], None]" = WeakKeyDictionary()
"""The models in memory, least recently used first; used on the device's thread only.

A model without references disappears from it and from memory.
"""


def run(work: Callable[..., _T], *values: Any) -> _T:
    """Run work on the device's thread, in order, and return its result.

    MLX's streams, and the arrays made on them, belong to a thread; two models that computed at once would
    also need the memory of both. Do not call it from that thread.
    """
    global _thread  # noqa: PLW0603 - one device, one thread
    with _starting:
        if _thread is None:
            _thread = DeviceThread()
        thread = _thread
    return thread.run(work, *values)


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
            f"mlx cannot load: {error}", hint="pip install 'ragmem[mlx]', or choose another engine or backend"
        ) from error
    if sys.platform == "linux" and on_processor(mx):
        # It would run g++ for seconds for each fused kernel, to gain little.
        mx.disable_compile()
    return mx


@contextmanager
def keep_file_limit() -> Iterator[None]:
    """Prevent the import of mlx-lm from lowering the process's limit of open files."""
    import resource

    set_limit = resource.setrlimit

    def set_other(kind: int, limits: tuple[int, int]) -> None:
        if kind != resource.RLIMIT_NOFILE:
            set_limit(kind, limits)

    resource.setrlimit = set_other
    try:
        yield
    finally:
        resource.setrlimit = set_limit


def on_processor(mx: Any) -> bool:
    """Return whether MLX computes on the processor, because it has no supported graphics chip."""
    return bool(mx.default_device() == mx.Device(mx.cpu))


def default_limit(mx: Any) -> int:
    """Return the default memory limit of all models in bytes."""
    device = mx.device_info()
    recommended = device.get("max_recommended_working_set_size")  # Metal's own word for it
    if recommended:
        return int(recommended)
    if on_processor(mx):
        return usable_memory()
    total = device.get("total_memory") or os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return int(total * SHARE_OF_MEMORY)


def usable_memory() -> int:
    """Return the memory in bytes that models may take on a processor."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return int(min(total, *read_group_limits()) * SHARE_OF_MEMORY)


def read_group_limits() -> list[int]:
    """Return the memory limits in bytes of all control groups of this process."""
    try:
        groups = [line.split(":", 2) for line in GROUPS.read_text().splitlines()]
    except OSError:  # not Linux
        return []
    limits = []
    for _, kind, path in groups:
        if kind not in {"", "memory"}:
            continue
        root, name = (GROUP_ROOT / kind, "memory.limit_in_bytes") if kind else (GROUP_ROOT, "memory.max")
        # Inside a container the path may be that of the host, and the root is the process's own group.
        own = root / path.lstrip("/")
        for folder in {own, *own.parents} - set(root.parents):
            with suppress(OSError, ValueError):  # none there, or the word "max"
                limits.append(int((folder / name).read_text()))
    return limits


class Resident(Generic[_M]):
    """A model that is loaded on first use and freed when it was idle for a while.

    Everything runs on the device's thread, so its methods may be called from any other thread.
    """

    def __init__(
        self,
        load: Callable[[], _M],
        *,
        name: str,
        needs: Callable[[], int],
        limit_mb: float = 0,
        idle_s: float = 0,
    ) -> None:
        """Take the function that loads it; `needs` returns the bytes of its weights.

        `limit_mb` is the memory limit of all models together (0: a share of the device's memory), `idle_s`
        the seconds without use after which it is freed (0: never).
        """
        self._load, self._needs, self._name = load, needs, name
        self._limit_mb, self._idle_s = limit_mb, idle_s
        self._model: _M | None = None
        self._used = 0.0
        self._timer: threading.Timer | None = None

    @property
    def is_loaded(self) -> bool:
        """Whether it is in memory."""
        return self._model is not None

    def use(self, work: Callable[..., _T], *values: Any) -> _T:
        """Run work(model, *values) on the device's thread and return its result.

        Raise BackendError if there is not enough memory; the model is then freed.
        """
        return run(lambda: self._use(work, values))

    def free(self) -> None:
        """Free it; the next use loads it again."""
        if self._model is not None:
            run(self._free)

    def _use(self, work: Callable[..., _T], values: tuple[Any, ...]) -> _T:
        try:
            if self._model is None:
                self._make_room()
                self._model = self._load()
            _loaded.pop(self, None)
            _loaded[self] = None
            return work(self._model, *values)
        except (RuntimeError, MemoryError) as error:
            if is_full(error):
                self._free()
                raise BackendError(
                    f'the device ran out of memory with the model "{self._name}": {first_line(error)}',
                    hint="set a smaller batch_tokens or window in its options, or use a smaller model",
                ) from error
            raise
        finally:
            self._used = time.monotonic()
            self._watch(self._idle_s)

    def _make_room(self) -> None:
        """Free other models, least recently used first, until this one has room; set MLX's own limits."""
        mx = import_mlx()
        limit = int(self._limit_mb * MEGABYTE) or default_limit(mx)
        needed = self._needs()
        # MLX waits at its own limit or, on a processor, ignores it: a model that is too large would end the
        # process. So it is not even loaded.
        if needed > limit:
            raise BackendError(
                f'the model "{self._name}" needs {needed / MEGABYTE:,.0f} MB, '
                f"the limit is {limit / MEGABYTE:,.0f} MB",
                hint="use a smaller model, or raise memory_limit_mb in its options",
            )
        for other in list(_loaded):
            if mx.get_active_memory() + needed <= limit:
                break
            other._free()  # noqa: SLF001 - of the same class
        mx.set_memory_limit(limit)
        mx.set_cache_limit(min(CACHE_BYTES, limit))

    def _free(self) -> None:
        _loaded.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._model is not None:
            self._model = None
            import_mlx().clear_cache()

    def _watch(self, seconds: float) -> None:
        if self._idle_s and self._model is not None and self._timer is None:
            self._timer = threading.Timer(min(seconds, threading.TIMEOUT_MAX), _free_idle, [ref(self)])
            self._timer.daemon = True  # a process that ends does not wait for it
            self._timer.start()

    def free_if_idle(self) -> None:
        """Free it if it was idle long enough, else check again later; on the device's thread only."""
        self._timer = None
        rest = self._used + self._idle_s - time.monotonic()
        if rest <= 0:
            self._free()
        else:
            self._watch(rest)


def _free_idle(reference: "ref[Resident[Any]]") -> None:
    """Free an idle model, if it still exists."""
    resident = reference()
    if resident is not None:
        with suppress(BackendError):  # the process is ending
            run(resident.free_if_idle)


def is_full(error: Exception) -> bool:
    """Return whether an error of MLX means that the memory is full."""
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and bool(_FULL.search(str(error)))
    )


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, or the name of its type."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
