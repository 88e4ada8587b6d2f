"""One request to a warm process and its answer, each a line of JSON on a unix socket."""

import _socket
import os
import sys
import time

from ragmem import json_text
from ragmem.client.runtime import SOCKET, identity

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MOST_BYTES = 2 * 1024 * 1024
"""Maximum length of a request or an answer, each one line of JSON."""

LONGEST_PROMPT = 100_000
"""Characters of a prompt that are sent; its beginning tells the topic."""

CHECKED_EVERY = 3.0
"""Seconds of silence after which a client checks whether the process still answers anything."""

FULL = 0.005
"""Seconds until the next try if the queue of waiting clients is full."""


class Unavailable(Exception):  # noqa: N818 - a state, not an error
    """No process listens, or it ended before it answered."""


class DeadlineExceeded(Exception):  # noqa: N818 - a state, not an error
    """There was no answer by the deadline."""


def connect(place: str, deadline: float) -> _socket.socket:
    """Return a connection to a process of this user; raises Unavailable, DeadlineExceeded or OSError."""
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        while True:
            connection.settimeout(_remaining_seconds(deadline))
            try:
                connection.connect(f"{place}/{SOCKET}")
            except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
                raise Unavailable from None
            except BlockingIOError:
                # The queue of waiting clients is full.
                time.sleep(FULL)
            except TimeoutError:
                raise DeadlineExceeded from None
            else:
                break
        if peer(connection)[1] not in (None, os.geteuid()):
            raise OSError("the process of another user listens")
    except BaseException:
        connection.close()
        raise
    return connection


def exchange_line(
    connection: _socket.socket, line: bytes, deadline: float, *, check: "Callable[[], object] | None" = None
) -> bytes:
    """Send a line and return the answer; raises Unavailable, DeadlineExceeded, OSError, or ValueError.

    After each CHECKED_EVERY seconds of silence, `check` is called; it raises an error to end the wait.
    """
    try:
        connection.settimeout(_remaining_seconds(deadline))
        connection.sendall(line)
        parts: list[bytes] = []
        size = 0
        while not parts or not parts[-1].endswith(b"\n"):
            left = _remaining_seconds(deadline)
            connection.settimeout(min(left, CHECKED_EVERY) if check else left)
            try:
                part = connection.recv(65_536)
            except TimeoutError:
                if check is None or time.monotonic() >= deadline:
                    raise
                check()
                continue
            if not part:
                raise Unavailable
            parts.append(part)
            size += len(part)
            if size > MOST_BYTES:
                raise ValueError("the answer is too long")
    except TimeoutError:
        raise DeadlineExceeded from None
    except (BrokenPipeError, ConnectionResetError):
        raise Unavailable from None
    return b"".join(parts)


def encode_request(request: "dict[str, Any]", deadline: float) -> bytes:
    """Return a request as it is sent, with the client's identity and the milliseconds until the deadline."""
    left = max(0, int((deadline - time.monotonic()) * 1000))
    whole = {"wait_ms": left, **request, "identity": identity()}
    if isinstance(prompt := whole.get("prompt"), str):
        whole["prompt"] = prompt[:LONGEST_PROMPT]
    return json_text.write(whole).encode("utf-8", "replace") + b"\n"


def _remaining_seconds(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise DeadlineExceeded
    return left


def peer(connection: _socket.socket) -> tuple[int | None, int | None]:
    """Return process id and user id of the other end; each is None if the system does not report it."""
    if hasattr(_socket, "SO_PEERCRED"):
        told = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
        return _number(told, 0), _number(told, 4)
    if hasattr(_socket, "LOCAL_PEERCRED"):
        # struct xucred of the BSDs: version, then user.
        return None, _number(connection.getsockopt(0, _socket.LOCAL_PEERCRED, 76), 4)
    return None, None


def _number(told: bytes, offset: int) -> int:
    return int.from_bytes(told[offset : offset + 4], sys.byteorder)
