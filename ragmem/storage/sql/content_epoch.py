"""A counter of changes to a database's content; bookkeeping writes of this process leave it unchanged.

SQLite's `data_version` changes with any write. A warm process records at each prompt what a session was
shown, and would then reload everything that it keeps in memory.
"""

import sqlite3
import threading
from pathlib import Path


class ContentEpoch:
    """The epoch of one file, seen from a connection of its own that never writes; safe for several threads.

    Two equal numbers mean that only bookkeeping was committed between the calls. A number is None before
    `watch`, and where the file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._guard = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._identity: tuple[int, ...] = ()
        self._seen = 0
        self._number = 0

    @property
    def is_watched(self) -> bool:
        """Return whether `watch` was called."""
        return self._connection is not None

    def watch(self, identity: tuple[int, ...]) -> None:
        """Count from now on; `identity` is that of the file."""
        with self._guard:
            if self._connection is None or self._identity != identity:
                self._close()
                # The owner of the epoch has the file open, so that its log is there.
                uri = f"{self._path.absolute().as_uri()}?mode=ro"
                self._connection = sqlite3.connect(
                    uri, uri=True, isolation_level=None, check_same_thread=False
                )
                self._identity = identity
                self._number += 1

    def number(self, identity: tuple[int, ...]) -> int | None:
        """Return the number of the epoch of the file with an identity."""
        with self._guard:
            if (version := self._version(identity)) is None:
                return None
            if version != self._seen:
                self._seen = version
                self._number += 1
            return self._number

    def skip_note(self, identity: tuple[int, ...]) -> None:
        """Do not count what was committed since `number`, by whoever keeps all others from writing."""
        with self._guard:
            if (version := self._version(identity)) is not None:
                self._seen = version

    def close(self) -> None:
        """End the watch."""
        with self._guard:
            self._close()

    def _version(self, identity: tuple[int, ...]) -> int | None:
        if self._connection is None or self._identity != identity:
            return None
        try:
            (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        except sqlite3.Error:
            self._close()
            return None
        return int(version)

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
