"""Limit the time that a question waits for a model."""

import threading
from collections.abc import Callable
from typing import TypeVar

from ragmem.errors import BackendError

T = TypeVar("T")


def run_with_timeout(work: Callable[[], T], seconds: float, *, what: str) -> T:
    """Return the result of the work, or raise its error; raises BackendError after `seconds`.

    After a timeout the work continues in its thread, and its result is lost.
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
            f"{what} did not answer within {seconds:g} s", hint="the query is answered without it"
        )
    return results[0]
