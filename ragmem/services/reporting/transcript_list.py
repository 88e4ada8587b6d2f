"""How far the transcripts on disk were read, and which never were."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ragmem.config import Settings
from ragmem.domain.sessions.transcript import SOURCE
from ragmem.readers.files import show
from ragmem.services.ingestion.source import find_files, moment_of
from ragmem.storage.activity.transcripts import Transcript
from ragmem.storage.home.catalog import Catalog


@dataclass(frozen=True, slots=True)
class Unread:
    """A transcript on disk that was never read."""

    path: str
    size: int
    modified: datetime


@dataclass(frozen=True, slots=True)
class TranscriptState:
    """The transcripts that were read, the last one first, those that never were, the oldest first.

    `waiting` counts the exchanges that have no vectors yet.
    """

    read: tuple[Transcript, ...] = ()
    unread: tuple[Unread, ...] = ()
    waiting: int = 0

    @property
    def unread_bytes(self) -> int:
        """The size of what was never read."""
        return sum(one.size for one in self.unread)


def transcript_states(catalog: Catalog, settings: Settings, *, home: Path) -> TranscriptState:
    """Return how the transcripts stand; looks at names and sizes on disk, opens none, and writes nothing."""
    seen: list[Transcript] = []
    waiting = 0
    if catalog.exists():
        seen = catalog.transcripts.seen()
        waiting = catalog.overview.waiting(SOURCE)
    known = {one.path for one in seen}
    unread = []
    for spec in settings.sources.values():
        if spec.reader != SOURCE:
            continue
        for path in find_files(spec, home=home, settings=settings).files:
            if show(path) in known:
                continue
            try:
                status = path.stat()
            except OSError:  # gone since
                continue
            if status.st_size:
                unread.append(Unread(show(path), status.st_size, moment_of(status.st_mtime_ns)))
    return TranscriptState(tuple(seen), tuple(sorted(unread, key=lambda one: one.modified)), waiting)
