"""Query the warm process of a home within a deadline; start it once if it is not running.

Import only modules that load fast: each prompt of an assistant pays for them. docs/serve.md describes the
process.
"""

import os
import time

from ragmem import json_text
from ragmem.client.connection import (
    CHECKED_EVERY,
    DeadlineExceeded,
    Unavailable,
    connect,
    encode_request,
    exchange_line,
    peer,
)
from ragmem.client.runtime import SERVES, SILENT, is_enabled, is_running, read_record, runtime_folder

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PAUSE = 0.005
"""Seconds between two tries to reach a process that is starting."""

MOST_REPLACED = 2
"""Processes of another version or other settings that one request replaces."""

HANGS_AFTER = 5.0
"""Seconds after the first missed deadline for which a process may just be slow, or still load."""

PROBE = 0.5
"""Seconds in which a process that missed a deadline must answer, or it is killed."""


class Unanswered(DeadlineExceeded):
    """A request was sent and not answered."""


def ask(
    data: str,
    request: "dict[str, Any]",
    *,
    deadline: float,
    start: bool = True,
    unanswered: "dict[str, Any] | None" = None,
) -> "dict[str, Any] | None":
    """Return the answer of the warm process of a home; None if there is none by the deadline.

    The deadline is a moment of `time.monotonic`. With `start`, a missing process, or one of another version,
    is started and asked as soon as it listens. A home that does not exist has no process and no answer.
    `unanswered` is returned for a process that has got the request, perhaps done it, and does not answer.
    One that hangs is not waited for until the deadline. Never raises OSError.
    """
    if not is_enabled() or not os.path.isdir(data):
        return None
    place = runtime_folder(data)
    child = replaced = 0
    try:
        while True:
            try:
                answer = _exchange(place, request, deadline)
                if not answer.get("ends"):
                    return answer
                replaced += 1
                if replaced > MOST_REPLACED:
                    # Each new process may have another identity, if a wrapper changes the variables.
                    return None
            except Unavailable:
                pass
            if not start or time.monotonic() + PAUSE >= deadline:
                return None
            # Imported late: most requests find a process.
            from ragmem.client import launcher

            child = launcher.start(place, data) or child
            time.sleep(PAUSE)
    except Unanswered:
        return unanswered
    except (DeadlineExceeded, OSError, ValueError):
        # No socket, no space, a folder of another user, an invalid answer: the caller continues without it.
        return None
    finally:
        if child:
            # The child only starts the process that stays, so it has long ended if an answer came.
            launcher.reap(child)


def poke(data: str, what: str) -> bool:
    """Send the warm process a request without waiting for an answer; return False if none runs."""
    if not is_enabled():
        return False
    try:
        connection = connect(runtime_folder(data), time.monotonic() + PROBE)
        try:
            connection.sendall(encode_request({"op": what}, 0.0))
        finally:
            connection.close()
    except (Unavailable, DeadlineExceeded, OSError):
        return False
    return True


def stop(data: str, *, deadline: float) -> bool:
    """Stop the warm process of a home; return False if it still runs at the deadline."""
    place = runtime_folder(data)
    while True:
        try:
            if not is_running(data):
                return True
            _exchange(place, {"op": "stop"}, deadline)
        except (Unavailable, DeadlineExceeded, OSError, ValueError):
            # It does not listen yet, or is about to end.
            pass
        if time.monotonic() >= deadline:
            return False
        time.sleep(PAUSE)


def _exchange(place: str, request: "dict[str, Any]", deadline: float) -> "dict[str, Any]":
    """Return the answer to a request; raises Unavailable, DeadlineExceeded, OSError, or ValueError.

    What was sent and not answered raises Unanswered.
    """
    mark = f"{place}/{SILENT}"
    since = _modification_time(mark)
    if since and not 0 <= time.time() - since < HANGS_AFTER:
        _end_if_silent(place, deadline, patience=PROBE)

    def check() -> None:
        try:
            _end_if_silent(place, deadline, patience=HANGS_AFTER - CHECKED_EVERY)
        except (DeadlineExceeded, Unavailable):
            # It may have done what it was asked, so nobody else is asked; the next client probes it at once.
            _mark(mark, time.time() - HANGS_AFTER)
            raise DeadlineExceeded from None

    connection = connect(place, deadline)
    try:
        answer = exchange_line(connection, encode_request(request, deadline), deadline, check=check)
    except DeadlineExceeded:
        # Keep the time of the first missed deadline.
        if not _modification_time(mark):
            _mark(mark, time.time())
        raise Unanswered from None
    finally:
        connection.close()
    if since:
        _remove(mark)
    found = json_text.read(answer.decode())
    if not isinstance(found, dict):
        raise ValueError("an answer is an object")  # noqa: TRY004 - callers catch this one
    return found


def _end_if_silent(place: str, deadline: float, *, patience: float) -> None:
    """Kill a process that missed a deadline and does not even answer `status`: it hangs, or is stopped."""
    probe = min(deadline, time.monotonic() + patience)
    connection = connect(place, probe)
    try:
        exchange_line(connection, encode_request({"op": "status"}, probe), probe)
    except DeadlineExceeded:
        if read_record(place)[-1:] == [SERVES]:
            raise
        process, _ = peer(connection)
        if process is not None and process > 1 and probe < deadline:
            os.kill(process, 9)
        raise Unavailable from None
    finally:
        connection.close()
    _remove(f"{place}/{SILENT}")


def _mark(path: str, moment: float) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
    os.utime(path, (moment, moment))


def _modification_time(path: str) -> float:
    """Return when a file was written; 0 if there is none."""
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
