"""Run functions in daemon threads that no interrupt and no failure waits for."""

import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")


def map_in_threads(
    work: Callable[[Part], Result], parts: Sequence[Part], *, most: int, stop: threading.Event
) -> list[Result]:
    """Return the results in the order of the parts, from `most` threads at a time.

    The first failure is raised at once. It sets `stop`, and so does an interrupt: running work may look at
    it, other work does not begin. The threads are daemons, because a pool's would hold up the end of an
    interrupted process until their servers answer.
    """
    waiting: queue.SimpleQueue[tuple[int, Part]] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[int, Any, BaseException | None]] = queue.SimpleQueue()
    for numbered in enumerate(parts):
        waiting.put(numbered)

    def run() -> None:
        while not stop.is_set():
            try:
                place, part = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                done.put((place, work(part), None))
            except BaseException as error:  # noqa: BLE001 (raised again where the results are taken)
                done.put((place, None, error))

    for _ in range(min(max(1, most), len(parts))):
        threading.Thread(target=run, name="ragmem-provider", daemon=True).start()
    results: dict[int, Result] = {}
    try:
        while len(results) < len(parts):
            place, result, error = done.get()
            if error is not None:
                raise error
            results[place] = result
    finally:
        stop.set()
    return [results[place] for place in range(len(parts))]


def run_with_timeout(work: Callable[[], Result], seconds: float) -> Result:
    """Return the result; raises what the work raises, and TimeoutError where it takes longer.

    No socket's time-out bounds a whole request: looking up a name, several addresses one after the other, a
    header that comes byte by byte. Work that takes longer is abandoned to its thread.
    """
    done: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()

    def run() -> None:
        try:
            done.put((work(), None))
        except BaseException as error:  # noqa: BLE001 (raised again where the result is taken)
            done.put((None, error))

    threading.Thread(target=run, name="ragmem-provider", daemon=True).start()
    try:
        result, error = done.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError from None
    if error is not None:
        raise error
    returned: Result = result
    return returned
