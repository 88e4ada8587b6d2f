"""The files by which clients find a process, and which one process at a time holds: lock, socket, record."""

import os
import socket
from contextlib import suppress
from pathlib import Path

from ragmem.client import HEIR, LOCK, RECORD, SILENT, SOCKET

BACKLOG = 128


class Endpoint:
    """The place of a home's process, held from `listen` to `leave` by whoever has the lock."""

    def __init__(self, place: str, lock: int) -> None:
        self._place = Path(place)
        self._lock = lock
        self._socket: tuple[int, int] | None = None

    def listen(self) -> socket.socket:
        """Return the socket, in the place of what a killed process has left."""
        path = self._place / SOCKET
        path.unlink(missing_ok=True)
        for mark in (SILENT, HEIR):
            (self._place / mark).unlink(missing_ok=True)
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listening.bind(str(path))
        path.chmod(0o600)
        listening.listen(BACKLOG)
        self._socket = inode(path)
        return listening

    def record(self, *words: object) -> None:
        """Write who this is, for a person, `doctor` and clients; the id of the process stands first."""
        line = " ".join(str(word) for word in (os.getpid(), *words))
        (self._place / RECORD).write_text(f"{line}\n", encoding="ascii")

    def is_held(self) -> bool:
        """Tell whether lock and socket are the ones of this process still."""
        held = os.fstat(self._lock)
        return (
            inode(self._place / LOCK) == (held.st_dev, held.st_ino)
            and inode(self._place / SOCKET) == self._socket
        )

    def succeeded(self) -> None:
        """Let the next start be one that need not wait, whatever ends this process."""
        os.ftruncate(self._lock, 0)

    def leave(self, *, with_lock: bool = True) -> None:
        """Remove the files; without the lock's, the next start knows how often starts were in vain."""
        for name in (SOCKET, RECORD, SILENT):
            (self._place / name).unlink(missing_ok=True)
        if with_lock:
            # The lock last: whoever waits for it starts the next process in a clean folder.
            (self._place / LOCK).unlink(missing_ok=True)
            with suppress(OSError):
                self._place.rmdir()

    def let_go(self) -> None:
        """Give the lock to whoever wants it; the process lives on."""
        os.close(self._lock)


def inode(path: str | Path) -> tuple[int, int] | None:
    """Return what tells a file from one that took its place; None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
