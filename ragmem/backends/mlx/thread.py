"""A thread that runs work in order, and cleans up the device when the process ends."""

import atexit
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar

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
            raise BackendError(what, hint="use a model before the process ends, and start others anew")
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
