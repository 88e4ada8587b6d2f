"""A spool of JSON lines on their way into the catalog, in files that every process appends to.

A file is NAME.open while processes append to it, each with a shared lock during its write. To move it to the
catalog, a process takes an exclusive lock and renames it to NAME.closed, so that nothing is appended to what
was read. No process ever waits for a lock: without it, it continues with another file.
"""

import fcntl
import os
import secrets
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import orjson

Held = TypeVar("Held")

OPEN, CLOSED = ".open", ".closed"


@dataclass(slots=True)
class SpoolFile(Generic[Held]):
    """The content of one file so far; `unreadable` counts invalid lines."""

    held: Held
    lines: int = 0
    unreadable: int = 0
    end: int = 0


def line_of(value: Any) -> bytes:
    """Return a line for a file; line ends on both sides separate it from truncated ones."""
    return b"\n" + orjson.dumps(value) + b"\n"


class Spool(Generic[Held]):
    """The files of one folder; safe to use from several threads.

    The content of a file starts as the value of `empty`, and `take` adds the value of one line to it; it
    raises ValueError, KeyError or TypeError for an invalid value.
    """

    def __init__(self, folder: Path, *, empty: Callable[[], Held], take: Callable[[Held, Any], None]) -> None:
        self.folder = folder
        self._empty = empty
        self._take = take
        self._descriptor: int | None = None
        self._path: Path | None = None
        self._guard = threading.Lock()
        self._read: dict[str, SpoolFile[Held]] = {}

    def add(self, line: bytes) -> None:
        """Append a line with one write; raises OSError on failure."""
        with self._guard:
            descriptor = self._own()
            try:
                if os.write(descriptor, line) != len(line):
                    raise OSError("the disk is full")
            finally:
                fcntl.flock(descriptor, fcntl.LOCK_UN)

    def _own(self) -> int:
        """Return the descriptor of a file that this process may append to, with a shared lock."""
        if self._descriptor is not None and self._path is not None:
            if _lock(self._descriptor, self._path, fcntl.LOCK_SH):
                return self._descriptor
            self._drop()
        for path in sorted(self.folder.glob(f"*{OPEN}")):
            with suppress(OSError):  # gone, or another user's
                if self._try(path, 0):
                    break
        while self._descriptor is None:
            self.folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.folder.mkdir(mode=0o700, exist_ok=True)
            self._try(self.folder / f"{secrets.token_hex(8)}{OPEN}", os.O_CREAT | os.O_EXCL)
        return self._descriptor

    def _try(self, path: Path, flags: int) -> bool:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | flags, 0o600)
        if _lock(descriptor, path, fcntl.LOCK_SH):
            self._descriptor, self._path = descriptor, path
            return True
        os.close(descriptor)
        return False

    def _drop(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor = self._path = None

    def close_files(self) -> None:
        """Close the present files for appending; one with a concurrent write stays open."""
        for path in self.folder.glob(f"*{OPEN}"):
            with suppress(OSError):  # gone, or another user's
                descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
                try:
                    if _lock(descriptor, path, fcntl.LOCK_EX):
                        path.rename(path.with_suffix(CLOSED))
                finally:
                    os.close(descriptor)

    def names(self, *suffixes: str) -> dict[str, str]:
        """Return name -> suffix of the present files."""
        try:
            found = os.listdir(self.folder)  # noqa: PTH208 - asked before each request
        except OSError:  # never made, or not readable: nothing to count
            return {}
        parts = (entry.rpartition(".") for entry in found)
        return {name: f".{end}" for name, _, end in parts if f".{end}" in (suffixes or (OPEN, CLOSED))}

    def read(self, *suffixes: str) -> dict[str, SpoolFile[Held]]:
        """Return the files with their contents, by name; only new lines are read.

        Unreadable files are left out.
        """
        with self._guard:
            names = self.names(*suffixes)
            self._read = {name: self._read.get(name) or SpoolFile(self._empty()) for name in names}
            for name, suffix in names.items():
                try:
                    for end in (suffix, CLOSED):
                        # Renamed since it was listed, or already in the catalog and counted there.
                        with suppress(FileNotFoundError):
                            self._go_on(self._read[name], self.folder / f"{name}{end}")
                            break
                except OSError:
                    del self._read[name]
            return dict(self._read)

    def _go_on(self, file: SpoolFile[Held], path: Path) -> None:
        with path.open("rb") as opened:
            if os.fstat(opened.fileno()).st_size <= file.end:
                return
            opened.seek(file.end)
            content = opened.read()
        # A line without its end is just being written or, in a closed file, truncated.
        whole = len(content) if path.suffix == CLOSED else content.rfind(b"\n") + 1
        for line in filter(None, content[:whole].split(b"\n")):
            try:
                self._take(file.held, orjson.loads(line))
            except (ValueError, KeyError, TypeError):
                file.unreadable += 1
                continue
            file.lines += 1
        file.end += whole

    def remove(self, names: Iterable[str]) -> None:
        """Remove closed files after their transfer to the catalog."""
        for name in names:
            (self.folder / f"{name}{CLOSED}").unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file that this process appends to."""
        with self._guard:
            self._drop()


def _lock(descriptor: int, path: Path, kind: int) -> bool:
    """Lock a file unless another process holds the lock or the file has another name now."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), path.stat()):
            return True
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    except BlockingIOError:
        pass
    except FileNotFoundError:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    return False
