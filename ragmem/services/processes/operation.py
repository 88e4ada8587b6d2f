"""The file by which other processes of a home see the progress of a long operation."""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

import orjson

from ragmem.services.processes.progress import Progress
from ragmem.storage.sql.fair_lock import take, try_lock

FILE = "progress.json"
"""A file in a home's state folder, locked while an operation writes its progress into it."""

INTERVAL_S = 0.5
"""Seconds between two writes: people look at it, and each write costs as much as reading a short text."""

LENGTH = 4096
"""Bytes of the file, padded with spaces."""


@dataclass(frozen=True, slots=True)
class Operation:
    """A long operation that runs now: its phase, the steps of it that are done, and of how many."""

    name: str
    started_at: str
    phase: str = ""
    done: int = 0
    total: int = 0
    unit: str = ""
    detail: str = ""


class SharedProgress:
    """A progress that other processes of the home can see while it is open; it passes every step on.

    Only the first of several operations is shown. Where the file cannot be written, none is.
    """

    def __init__(
        self, folder: Path, name: str, inner: Progress, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Share an operation of this name in the state folder of a home."""
        self.inner = inner
        self._folder = folder
        self._clock = clock
        self._now = Operation(name, f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}")
        self._file: int | None = None
        self._next = 0.0

    def begin(self, label: str, total: int, *, unit: str = "") -> None:
        """Start a phase."""
        self._now = replace(self._now, phase=label, done=0, total=total, unit=unit, detail="")
        self._write()
        self.inner.begin(label, total, unit=unit)

    def advance(self, steps: int = 1, *, told: str = "") -> None:
        """Count finished steps."""
        self._now = replace(self._now, done=self._now.done + steps, detail=told or self._now.detail)
        if self._clock() >= self._next:
            self._write()
        self.inner.advance(steps, told=told)

    def _write(self) -> None:
        self._next = self._clock() + INTERVAL_S
        if self._file is None:
            self._file = _locked(self._folder)
        if self._file is not None:
            content = orjson.dumps(asdict(self._now))
            # A full disk must not end what is shown. One call, as long as before: nobody reads a part.
            with suppress(OSError):
                os.pwrite(self._file, content.ljust(LENGTH), 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


def operation(folder: Path) -> Operation | None:
    """Return the operation that runs on a home, by its state folder; None where none does, or none is seen.

    A killed one is not seen: the system has released its lock.
    """
    try:
        file = os.open(folder / FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:  # none ever ran
        return None
    try:
        return None if try_lock(file, shared=True) else _parsed(os.pread(file, LENGTH, 0))
    finally:
        os.close(file)


def _parsed(content: bytes) -> Operation | None:
    try:
        return Operation(**orjson.loads(content))
    except (ValueError, TypeError):  # it is about to write its first line, or is another release
        return None


def _locked(folder: Path) -> int | None:
    """Return the descriptor of the file, locked; None where another operation has it, or nothing can."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return take(folder / FILE, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:  # progress that nobody sees is no reason to fail
        return None
