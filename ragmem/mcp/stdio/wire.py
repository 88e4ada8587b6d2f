"""Read and write messages as lines on two descriptors."""

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
"""Bytes of a line; a longer one is skipped."""

CHUNK = 65_536


class Wire:
    """The connection to a client; several threads may send. `on_close` is called when the client is gone.

    `woken` becomes readable when a signal arrives, so that its handler runs at once.
    """

    def __init__(self, source: int, sink: int, *, woken: int, on_close: "Callable[[], None]") -> None:
        self._source = source
        self._sink = sink
        self._woken = woken
        self._on_close = on_close
        self._turn = _thread.allocate_lock()

    def lines(self) -> "Iterator[bytes | None]":
        """Yield every line that is not blank, None for one that is too long; end with the input."""
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
        """Write a message as one line; call `on_close` where nobody reads any more."""
        data = json_text.write(message).encode("utf-8", "replace") + b"\n"
        with self._turn:
            view = memoryview(data)
            while view:
                try:
                    view = view[os.write(self._sink, view) :]
                except BlockingIOError:
                    # Some clients make both ends of a pipe non-blocking.
                    select.select((), (self._sink,), ())
                except OSError:
                    self._on_close()
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
