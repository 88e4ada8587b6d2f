"""List the transcripts on disk: how far each was read, and which were never read."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ragmem.config.settings import REPOSITORY, Settings
from ragmem.domain.sessions.transcript import SOURCE
from ragmem.readers.files import show
from ragmem.services.ingestion.source import datetime_of, find_files
from ragmem.storage.activity.transcripts import Transcript
from ragmem.storage.home.catalog import Catalog


@dataclass(frozen=True, slots=True)
class UnreadTranscript:
    """A transcript on disk that was never read."""

    path: str
    size: int
    modified: datetime


@dataclass(frozen=True, slots=True)
class TranscriptState:
    """The transcripts that were read, latest first, and those that were not, oldest first.

    `waiting` counts the exchanges that have no vectors yet.
    """

    read: tuple[Transcript, ...] = ()
    unread: tuple[UnreadTranscript, ...] = ()
    waiting: int = 0

    @property
    def unread_bytes(self) -> int:
        """The total size of the unread transcripts."""
        return sum(one.size for one in self.unread)


def transcript_states(catalog: Catalog, settings: Settings, *, home: Path) -> TranscriptState:
    """Return the state of the transcripts from names and sizes on disk; opens none, and writes nothing."""
    seen: list[Transcript] = []
    waiting = 0
    if catalog.exists():
        seen = catalog.transcripts.all()
        waiting = catalog.overview.count_pending(SOURCE)
    known = {one.path for one in seen}
    unread = []
    for spec in settings.sources.values():
        # Assistants do not delete files of a repository.
        if spec.reader != SOURCE or any(glob.startswith(REPOSITORY) for glob in spec.globs):
            continue
        for path in find_files(spec, home=home, settings=settings).files:
            if show(path) in known:
                continue
            try:
                status = path.stat()
            except OSError:  # gone since
                continue
            if status.st_size:
                unread.append(UnreadTranscript(show(path), status.st_size, datetime_of(status.st_mtime_ns)))
    return TranscriptState(tuple(seen), tuple(sorted(unread, key=lambda one: one.modified)), waiting)
