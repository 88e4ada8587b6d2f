"""What the server tells on stderr: a line for people or a JSON object each, and never what was asked."""

import logging
import queue
import sys
import threading
import time
import traceback
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, TextIO

import orjson

from ragmem.charts.widths import escape_controls, replace_controls

LEVELS = ("debug", "info", "warning", "error")
LINES = 10_000
"""Lines that wait at most for somebody to read the pipe; further ones are counted and left out."""

PATIENCE = 2.0
"""Seconds that the end waits for the last lines to be written."""

_NAMES = {logging.DEBUG: "debug", logging.INFO: "info", logging.WARNING: "warning", logging.ERROR: "error"}


class Log:
    """Writes lines from a thread of its own, so that a pipe that nobody reads stops no request."""

    def __init__(
        self,
        *,
        json: bool = False,
        level: str = "warning",
        quiet: bool = False,
        stream: TextIO | None = None,
    ) -> None:
        """Take the form and the least level of lines; `quiet` leaves out what is for people."""
        self.json = json
        self._quiet = quiet
        self._from = LEVELS.index(level)
        self._stream = stream or sys.stderr
        self._waiting: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._left_out = 0
        self._thread = threading.Thread(target=self._write, name="serve-log", daemon=True)
        self._thread.start()

    def tells(self, level: str) -> bool:
        """Tell whether lines of a level are written."""
        return LEVELS.index(level) >= self._from

    def tell(self, level: str, event: str, text: str = "", **values: Any) -> None:
        """Write a line, never waiting; `text` is for people, the values are for programs as well."""
        if self.tells(level):
            self._put(self._line(level, event, text, values))

    def say(self, text: str, *, event: str = "note", **values: Any) -> None:
        """Write what a person who starts the server is to know, whatever the level."""
        if not self._quiet:
            self._put(self._line("info", event, text, values) if self.json else f"{text}\n")

    def caution(self, text: str) -> None:
        """Write what does not work as it should, in a line."""
        if not self._quiet:
            self._put(self._line("warning", "warning", text, {}) if self.json else f"warning: {text}\n")

    def close(self) -> None:
        """Write what waits; closing twice is fine."""
        if self._left_out:
            self.say(f"{self._left_out} lines were left out", event="left_out")
        self._waiting.put(None)
        self._thread.join(PATIENCE)

    def _put(self, line: str) -> None:
        # A simple queue: a signal's handler may write while the thread that it interrupts does.
        if self._waiting.qsize() < LINES:
            self._waiting.put(line)
        else:
            self._left_out += 1

    def _line(self, level: str, event: str, text: str, values: dict[str, Any]) -> str:
        if not self.json:
            told = text or " ".join(f"{name}={value}" for name, value in values.items())
            return f"{time.strftime('%H:%M:%S')} {level} {event}: {told}\n"
        moment = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        content = {"time": moment, "level": level, "event": event, **({"message": text} if text else {})}
        return escape_controls(orjson.dumps({**content, **values}, default=str)).decode() + "\n"

    def _write(self) -> None:
        while (line := self._waiting.get()) is not None:
            # Nobody reads any more, or the disk of the log is full: the requests are answered nevertheless.
            with suppress(OSError, ValueError):
                encoding = self._stream.encoding or "utf-8"
                self._stream.write(
                    replace_controls(line).encode(encoding, "backslashreplace").decode(encoding)
                )
                self._stream.flush()


class Handler(logging.Handler):
    """Hands on what the server's libraries log: bugs with their traceback, trouble with a socket."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.DEBUG)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record as a line."""
        values = {}
        text = record.getMessage()
        if record.exc_info and record.exc_info[0] is not None:
            trace = "".join(traceback.format_exception(*record.exc_info))
            if self._log.json:
                values["traceback"] = trace
            else:
                text = f"{text}\n{trace}"
        self._log.tell(_NAMES.get(record.levelno, "error"), "server", text, **values)
