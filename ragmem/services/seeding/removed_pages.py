"""What documents have lost is archived before they count as read, since a run may be killed at any time."""

from collections.abc import Callable
from datetime import datetime

from ragmem.ports import Store
from ragmem.readers.reading import Reading
from ragmem.services.ingestion.documents import archive_gone_parts, gone_parts, held_by, told_gone
from ragmem.services.seeding.report import Problem, SeedReport
from ragmem.services.seeding.writer import Writer
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.memories.files import SeenFile

SETTLED_TOGETHER = 200
"""Documents: each look at what was lost reads the places of all memories of their sources."""


class LostParts:
    """The documents of a run, whose lost pages go once what they have instead is stored."""

    def __init__(
        self,
        catalog: Catalog,
        open_store: Callable[[], Store],
        writer: Writer,
        report: SeedReport,
        *,
        now: datetime,
    ) -> None:
        self._catalog = catalog
        self._open_store = open_store
        self._writer = writer
        self._report = report
        self._now = now
        self._held: dict[tuple[str, str], set[str]] = {}
        self._files: list[SeenFile] = []

    def remember(self, reading: Reading, file: SeenFile, *, is_known: bool) -> None:
        """Have a file count as read; a document that `is_known` does once its lost pages are gone."""
        held = held_by(reading.drafts, reading.unread)
        self._held |= held
        waiting = self._files if held and is_known else self._writer.batch.files
        waiting.append(file)
        if len(self._files) >= SETTLED_TOGETHER:
            self.settle()

    def settle(self) -> None:
        """Write what is left to write, and archive what the documents since the last call have lost."""
        self._writer.flush()
        if self._report.dry_run:
            told = {key: told_gone(len(ids)) for key, ids in gone_parts(self._catalog, self._held).items()}
        else:
            told = archive_gone_parts(self._catalog, self._open_store, self._held, now=self._now)
            if self._files:
                self._catalog.files.remember(self._writer.finished(self._files))
        self._report.shrunk += len(told)
        for (source, path), line in told.items():
            self._report.problems.append(Problem(source, path, line, "warning"))
        self._held, self._files = {}, []
