"""Count the memories that a session recalled: spooled at once, moved to the catalog by the next writer.

A question never waits for a writer, and never fails because the recall cannot be written.
"""

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from ragmem.domain.model import ID_LENGTH, digest
from ragmem.errors import StoreDamagedError
from ragmem.ports.principal import acting_as
from ragmem.services.processes.spool import CLOSED, Spool, line_of
from ragmem.services.retrieval.question import Answer
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.lifecycle.lifecycle_state import Recall
from ragmem.storage.sql.rows import from_stamp, to_stamp

FOLDER = "recalls"
"""Below the state folder of the home."""

MOST_CHARS = 200
"""Maximum characters of a session's id; a longer one is replaced by its hash."""

Held = list[Recall]


class Recalls:
    """The recalls of one home; creates nothing before the first."""

    def __init__(self, catalog: Catalog, folder: Path, *, now: Callable[[], datetime]) -> None:
        self._catalog = catalog
        self._now = now
        self._spool: Spool[Held] = Spool(folder, empty=list, take=_parse_line)
        self._guard = threading.Lock()
        self._noted: set[tuple[str, str]] = set()

    def note(self, ids: Iterable[str], session: str) -> None:
        """Record that a session recalled memories; never fails, and never waits for another process."""
        known = session_id(session)
        with self._guard:
            fresh = [identifier for identifier in ids if (identifier, known) not in self._noted]
            if not fresh or not known:
                return
            with suppress(OSError):  # a read-only home, a full disk: a question is answered all the same
                self._spool.add(line_of({"session": known, "ids": fresh, "at": to_stamp(self._now())}))
                self._noted.update((identifier, known) for identifier in fresh)

    @acting_as(None)  # the spool has the recalls of all members
    def absorb(self, *, patience: float | None = None) -> int:
        """Move the spooled recalls to the catalog, and return the number of new ones.

        Each counts once, despite crashes and concurrent calls. Raises StoreBusyError after `patience` seconds
        (None: the configured ones).
        """
        if not self._spool.names() or not self._catalog.exists():
            return 0
        self._catalog.prepare()
        if self._catalog.database.read_only:
            return 0
        self._spool.close_files()
        files = self._spool.read(CLOSED)
        noted = [recall for file in files.values() for recall in file.held]
        fresh = self._catalog.lives.add_recalls(noted, patience=patience)
        self._spool.remove(files)
        return fresh

    def close(self) -> None:
        """Close this process's spool file; the next writer moves its lines."""
        self._spool.close()


def recalled_ids(answer: Answer, *, floor: float) -> list[str]:
    """Return the memories of an answer that count as recalled: the matches at or above the floor.

    Superseded memories do not count, nor do the answers of `nearest` and of an engine's modes, which always
    find something.
    """
    if answer.question.nearest or answer.question.mode is not None:
        return []
    return [match.memory.id for match in answer.matches if match.score >= floor and match.superseded is None]


def session_id(session: str) -> str:
    """Return the stored id of a session; empty for none."""
    # An environment variable may hold bytes that no database accepts.
    known = session.replace("\0", "").strip().encode("utf-8", "backslashreplace").decode()
    return known if len(known) <= MOST_CHARS else digest("session", known)


def _parse_line(held: Held, value: Any) -> None:
    session, ids = value["session"], value["ids"]
    if not isinstance(session, str) or not session_id(session) or not isinstance(ids, list):
        raise ValueError("no recall")
    if not all(isinstance(identifier, str) and len(identifier) == ID_LENGTH for identifier in ids):
        raise ValueError("no ids")
    try:
        at = from_stamp(value["at"])
    except StoreDamagedError as error:
        raise ValueError("no moment") from error
    held += [Recall(identifier, session_id(session), at) for identifier in ids]
