"""The files by which clients find a process: lock, socket and record. One process at a time holds them."""

import os
import socket
from contextlib import suppress
from pathlib import Path

from ragmem.client.runtime import HEIR, LOCK, RECORD, SILENT, SOCKET

BACKLOG = 128


class Endpoint:
    """The files of a home's process, held from `listen` to `remove_files` by the owner of the lock."""

    def __init__(self, place: str, lock: int) -> None:
        self._place = Path(place)
        self._lock = lock
        self._socket: tuple[int, int] | None = None

    def listen(self) -> socket.socket:
        """Return the socket; it replaces the files of a killed process."""
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
        """Write the id of this process and these words, for people, `doctor` and clients."""
        line = " ".join(str(word) for word in (os.getpid(), *words))
        (self._place / RECORD).write_text(f"{line}\n", encoding="ascii")

    def is_held(self) -> bool:
        """Return whether lock and socket still belong to this process."""
        held = os.fstat(self._lock)
        return (
            inode(self._place / LOCK) == (held.st_dev, held.st_ino)
            and inode(self._place / SOCKET) == self._socket
        )

    def clear_failures(self) -> None:
        """Reset the count of failed starts, so that the next start need not wait."""
        os.ftruncate(self._lock, 0)

    def remove_files(self, *, with_lock: bool = True) -> None:
        """Remove the files; a lock file that is kept tells the next start how many starts failed."""
        for name in (SOCKET, RECORD, SILENT):
            (self._place / name).unlink(missing_ok=True)
        if with_lock:
            # The lock is last, so that the next process starts in a clean folder.
            (self._place / LOCK).unlink(missing_ok=True)
            with suppress(OSError):
                self._place.rmdir()

    def release_lock(self) -> None:
        """Release the lock; the process goes on."""
        os.close(self._lock)


def inode(path: str | Path) -> tuple[int, int] | None:
    """Return device and inode of a file, which a replacement does not share; None for a missing file."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
