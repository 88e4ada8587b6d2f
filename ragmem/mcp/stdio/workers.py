"""A small thread pool that starts threads on demand."""

import _thread
from _queue import SimpleQueue

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Workers:
    """A pool of up to `most` threads. They never end, because each may keep a database connection."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._guard = _thread.allocate_lock()
        self._started = 0
        self._open = 0

    @property
    def open(self) -> int:
        """The number of jobs that are queued or running."""
        return self._open

    def do(self, job: "Callable[[], None]") -> None:
        """Run a job in the next free thread; it must not raise."""
        with self._guard:
            self._open += 1
            more = self._open > self._started and self._started < self._most
            self._started += more
        self._jobs.put(job)
        if more:
            _thread.start_new_thread(self._work, ())

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            try:
                job()
            finally:
                with self._guard:
                    self._open -= 1
