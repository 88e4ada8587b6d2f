"""Wait for a model no longer than a question may."""

import threading
from collections.abc import Callable
from typing import TypeVar

from ragmem.errors import BackendError

T = TypeVar("T")


def within(work: Callable[[], T], seconds: float, *, what: str) -> T:
    """Return what the work returns; raises BackendError where that takes longer than so many seconds.

    The work goes on in its thread then, and nobody sees how it ends. What it raises is raised here.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - raised in the thread that waits
            errors.append(error)

    thread = threading.Thread(target=run, name="deadline", daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not results:
        raise BackendError(
            f"{what} did not answer within {seconds:g} s", hint="the question is answered without it"
        )
    return results[0]
