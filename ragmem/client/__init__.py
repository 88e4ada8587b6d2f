"""Ask the warm process of a home within a deadline; start it, once, where there is none.

Only the standard library's quickest parts are imported: each prompt of an assistant pays for it. docs/warm.md
tells of the process itself.
"""

import os
import time

from ragmem import json_text
from ragmem.client.connection import MOST_BYTES, Gone, Late, answer_to, connect, line_of, peer
from ragmem.client.place import (
    HEIR,
    LOCK,
    RECORD,
    SERVES,
    SILENT,
    SOCKET,
    SWITCH,
    failed_starts,
    identity,
    is_running,
    place_of,
    record,
    recorded,
    wanted,
)

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "HEIR",
    "LOCK",
    "MOST_BYTES",
    "RECORD",
    "SERVES",
    "SILENT",
    "SOCKET",
    "SWITCH",
    "ask",
    "failed_starts",
    "identity",
    "is_running",
    "line_of",
    "peer",
    "place_of",
    "poke",
    "recorded",
    "stop",
    "wanted",
]

PAUSE = 0.005
"""Seconds between two tries to reach a process that is starting."""

MOST_REPLACED = 2
"""Processes of another version or other settings that one request replaces."""

HANGS_AFTER = 5.0
"""Seconds after it first let a client wait in vain in which a process may just be slow, or still load."""

PROBE = 0.5
"""Seconds in which a process that let a client wait has to answer, or it is ended."""


def ask(
    data: str, request: "dict[str, Any]", *, deadline: float, start: bool = True
) -> "dict[str, Any] | None":
    """Return the answer of the warm process of a home; None where there is none by the deadline.

    The deadline is a moment of `time.monotonic`. With `start`, a process that is missing, or another
    version's, is started, and asked once it listens. A home that is not there has a process no more than an
    answer. Never raises OSError.
    """
    if not wanted() or not os.path.isdir(data):
        return None
    place = place_of(data)
    child = replaced = 0
    try:
        while True:
            try:
                answer = _exchange(place, request, deadline)
                if not answer.get("ends"):
                    return answer
                replaced += 1
                if replaced > MOST_REPLACED:
                    # Whatever is started is another's: a wrapper changes the variables, perhaps.
                    return None
            except Gone:
                pass
            if not start or time.monotonic() + PAUSE >= deadline:
                return None
            # Most requests find a process.
            from ragmem.client import starting

            child = starting.start(place, data) or child
            time.sleep(PAUSE)
    except (Late, OSError, ValueError):
        # No socket, no room, a folder of somebody else, an answer that is none: whoever asks goes on without.
        return None
    finally:
        if child:
            # It has long ended, where an answer came: it only starts the process that stays.
            starting.reap(child)


def poke(data: str, what: str) -> bool:
    """Send the warm process a word that nobody waits for; False where there is no process to hear it."""
    if not wanted():
        return False
    try:
        connection = connect(place_of(data), time.monotonic() + PROBE)
        try:
            connection.sendall(line_of({"op": what}, 0.0))
        finally:
            connection.close()
    except (Gone, Late, OSError):
        return False
    return True


def stop(data: str, *, deadline: float) -> bool:
    """End the warm process of a home; True once there is none, False where one is left at the deadline."""
    place = place_of(data)
    while True:
        try:
            if not is_running(data):
                return True
            _exchange(place, {"op": "stop"}, deadline)
        except (Gone, Late, OSError, ValueError):
            # It has not begun to listen, or is about to end.
            pass
        if time.monotonic() >= deadline:
            return False
        time.sleep(PAUSE)


def _exchange(place: str, request: "dict[str, Any]", deadline: float) -> "dict[str, Any]":
    """Return the answer to a request; raises Gone, Late, OSError, ValueError if it is no JSON object."""
    mark = f"{place}/{SILENT}"
    since = _modified(mark)
    if since and not 0 <= time.time() - since < HANGS_AFTER:
        _end_if_silent(place, deadline)
    connection = connect(place, deadline)
    try:
        answer = answer_to(connection, line_of(request, deadline), deadline)
    except Late:
        # The first time counts.
        os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        raise
    finally:
        connection.close()
    if since:
        _remove(mark)
    found = json_text.read(answer.decode())
    if not isinstance(found, dict):
        raise ValueError("an answer is an object")  # noqa: TRY004 - whoever asks catches this one
    return found


def _end_if_silent(place: str, deadline: float) -> None:
    """End a process that let a client wait in vain and tells not even of itself: it hangs, or is stopped."""
    probe = min(deadline, time.monotonic() + PROBE)
    connection = connect(place, probe)
    try:
        answer_to(connection, line_of({"op": "status"}, probe), probe)
    except Late:
        if record(place)[-1:] == [SERVES]:
            raise
        process, _ = peer(connection)
        if process is not None and process > 1 and probe < deadline:
            os.kill(process, 9)
        raise Gone from None
    finally:
        connection.close()
    _remove(f"{place}/{SILENT}")


def _modified(path: str) -> float:
    """Return when a file was written, 0 where there is none."""
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
