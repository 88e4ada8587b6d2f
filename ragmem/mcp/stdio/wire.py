"""Messages as lines on two descriptors: read as they come, written whole, one at a time."""

import _thread
import os
import select

from ragmem import json_text

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

LONGEST = 4 * 1024 * 1024
"""Bytes of a line; of a longer one nothing is read but its end."""

CHUNK = 65_536


class Wire:
    """A client at the other end, written to from several threads; `left` is called when it has gone.

    From `woken` something can be read once a signal has come, whose handler runs then.
    """

    def __init__(self, source: int, sink: int, *, woken: int, left: "Callable[[], None]") -> None:
        self._source = source
        self._sink = sink
        self._woken = woken
        self._left = left
        self._turn = _thread.allocate_lock()

    def lines(self) -> "Iterator[bytes | None]":
        """Yield every line that has something on it, None for one that is too long; end with the input."""
        held = bytearray()
        skipping = False
        while part := self._read():
            *ended, rest = part.split(b"\n")
            for piece in ended:
                held += piece
                if skipping or len(held) > LONGEST:
                    yield None
                elif line := bytes(held).strip():
                    yield line
                held.clear()
                skipping = False
            held += rest
            if len(held) > LONGEST:
                skipping = True
                held.clear()
        if not skipping and (line := bytes(held).strip()):
            yield line

    def send(self, message: "Any") -> None:
        """Write a message as one line; where nobody reads any more, `left` is called."""
        data = json_text.write(message).encode("utf-8", "replace") + b"\n"
        with self._turn:
            view = memoryview(data)
            while view:
                try:
                    view = view[os.write(self._sink, view) :]
                except BlockingIOError:
                    # Some clients make both ends of a pipe so.
                    select.select((), (self._sink,), ())
                except OSError:
                    self._left()
                    return

    def _read(self) -> bytes:
        while True:
            try:
                ready, _, _ = select.select((self._source, self._woken), (), ())
                if self._woken in ready:
                    os.read(self._woken, CHUNK)
                if self._source in ready:
                    return os.read(self._source, CHUNK)
            except BlockingIOError:
                continue
            except OSError:
                return b""
