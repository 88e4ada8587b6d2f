"""The server's log on stderr: lines for people or JSON objects, without the content of requests."""

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
"""Maximum lines that wait for a reader of the pipe; further ones are counted and dropped."""

PATIENCE = 2.0
"""Maximum seconds that `close` waits for the last lines."""

_NAMES = {logging.DEBUG: "debug", logging.INFO: "info", logging.WARNING: "warning", logging.ERROR: "error"}


class Log:
    """Writes lines in its own thread, so that a full pipe blocks no request."""

    def __init__(
        self,
        *,
        json: bool = False,
        level: str = "warning",
        quiet: bool = False,
        stream: TextIO | None = None,
    ) -> None:
        """Set the format and the lowest level; `quiet` omits the lines for people."""
        self.json = json
        self._quiet = quiet
        self._from = LEVELS.index(level)
        self._stream = stream or sys.stderr
        self._waiting: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._left_out = 0
        self._thread = threading.Thread(target=self._write_lines, name="serve-log", daemon=True)
        self._thread.start()

    def is_enabled(self, level: str) -> bool:
        """Return whether lines of a level are written."""
        return LEVELS.index(level) >= self._from

    def write(self, level: str, event: str, text: str = "", **values: Any) -> None:
        """Write a line without waiting; `text` is for people, the values are also for programs."""
        if self.is_enabled(level):
            self._put(self._line(level, event, text, values))

    def announce(self, text: str, *, event: str = "note", **values: Any) -> None:
        """Write a line for the person who started the server, whatever the level."""
        if not self._quiet:
            self._put(self._line("info", event, text, values) if self.json else f"{text}\n")

    def warning(self, text: str) -> None:
        """Write a warning line."""
        if not self._quiet:
            self._put(self._line("warning", "warning", text, {}) if self.json else f"warning: {text}\n")

    def close(self) -> None:
        """Write the waiting lines; a second call has no effect."""
        if self._left_out:
            self.announce(f"{self._left_out} lines were skipped", event="left_out")
        self._waiting.put(None)
        self._thread.join(PATIENCE)

    def _put(self, line: str) -> None:
        # A simple queue: a signal handler may write while the interrupted thread does.
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

    def _write_lines(self) -> None:
        while (line := self._waiting.get()) is not None:
            # A closed pipe or a full disk must not stop the requests.
            with suppress(OSError, ValueError):
                encoding = self._stream.encoding or "utf-8"
                self._stream.write(
                    replace_controls(line).encode(encoding, "backslashreplace").decode(encoding)
                )
                self._stream.flush()


class Handler(logging.Handler):
    """Forwards the log of the server's libraries, such as tracebacks and socket errors."""

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
        self._log.write(_NAMES.get(record.levelno, "error"), "server", text, **values)
