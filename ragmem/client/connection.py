"""One request to a warm process and its answer, each a line of JSON on a unix socket."""

import _socket
import os
import sys
import time

from ragmem import json_text
from ragmem.client.place import SOCKET, identity

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_BYTES = 2 * 1024 * 1024
"""Of a request or an answer, which is one line of JSON."""

LONGEST_PROMPT = 100_000
"""Characters of a prompt that are sent; what a topic is, its beginning says."""

FULL = 0.005
"""Seconds until the next try where more clients than can wait are in line."""


class Gone(Exception):  # noqa: N818 - no error, but how it stands
    """Nobody listens, or whoever did has ended before it answered."""


class Late(Exception):  # noqa: N818 - no error, but how it stands
    """The moment has come by which an answer was wanted."""


def connect(place: str, deadline: float) -> _socket.socket:
    """Return a connection to a process of this user; raises Gone, Late or OSError."""
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        while True:
            connection.settimeout(_left(deadline))
            try:
                connection.connect(f"{place}/{SOCKET}")
            except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
                raise Gone from None
            except BlockingIOError:
                # More clients at once than wait in line.
                time.sleep(FULL)
            except TimeoutError:
                raise Late from None
            else:
                break
        if peer(connection)[1] not in (None, os.geteuid()):
            raise OSError("somebody else listens")
    except BaseException:
        connection.close()
        raise
    return connection


def answer_to(connection: _socket.socket, line: bytes, deadline: float) -> bytes:
    """Return the line that answers a line; raises Gone, Late, OSError, or ValueError for one too long."""
    try:
        connection.settimeout(_left(deadline))
        connection.sendall(line)
        parts: list[bytes] = []
        size = 0
        while not parts or not parts[-1].endswith(b"\n"):
            connection.settimeout(_left(deadline))
            part = connection.recv(65_536)
            if not part:
                raise Gone
            parts.append(part)
            size += len(part)
            if size > MOST_BYTES:
                raise ValueError("the answer is too long")
    except TimeoutError:
        raise Late from None
    except (BrokenPipeError, ConnectionResetError):
        raise Gone from None
    return b"".join(parts)


def line_of(request: "dict[str, Any]", deadline: float) -> bytes:
    """Return a request as it is sent, with who asks, and how many milliseconds an answer is of use."""
    left = max(0, int((deadline - time.monotonic()) * 1000))
    whole = {"wait_ms": left, **request, "identity": identity()}
    if isinstance(prompt := whole.get("prompt"), str):
        whole["prompt"] = prompt[:LONGEST_PROMPT]
    return json_text.write(whole).encode("utf-8", "replace") + b"\n"


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise Late
    return left


def peer(connection: _socket.socket) -> tuple[int | None, int | None]:
    """Return process and user at the other end, each None where the system does not tell."""
    if hasattr(_socket, "SO_PEERCRED"):
        told = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
        return _number(told, 0), _number(told, 4)
    if hasattr(_socket, "LOCAL_PEERCRED"):
        # struct xucred of the BSDs: version, then user.
        return None, _number(connection.getsockopt(0, _socket.LOCAL_PEERCRED, 76), 4)
    return None, None


def _number(told: bytes, offset: int) -> int:
    return int.from_bytes(told[offset : offset + 4], sys.byteorder)
