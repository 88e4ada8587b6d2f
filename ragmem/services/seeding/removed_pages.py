"""What documents have lost is archived before they count as read, since a run may be killed at any time."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime

from ragmem.ports import Store
from ragmem.readers.reading import Reading
from ragmem.services.ingestion.documents import archive_gone_parts, describe_gone, gone_parts, held_by
from ragmem.services.seeding.report import Problem, SeedReport
from ragmem.services.seeding.writer import Writer
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.memories.files import SeenFile

SETTLED_TOGETHER = 200
"""Documents: each look at what was lost reads the places of all memories of their sources."""


@dataclass(slots=True)
class LostParts:
    """The documents of a run, whose lost pages go once what they have instead is stored."""

    catalog: Catalog
    open_store: Callable[[], Store]
    writer: Writer
    report: SeedReport
    _: KW_ONLY
    now: datetime
    _held: dict[tuple[str, str], set[str]] = field(default_factory=dict, init=False)
    _files: list[SeenFile] = field(default_factory=list, init=False)

    def remember(self, reading: Reading, file: SeenFile, *, is_known: bool) -> None:
        """Have a file count as read; a document that `is_known` does once its lost pages are gone."""
        held = held_by(reading.drafts, reading.unread)
        self._held |= held
        waiting = self._files if held and is_known else self.writer.batch.files
        waiting.append(file)
        if len(self._files) >= SETTLED_TOGETHER:
            self.settle()

    def settle(self) -> None:
        """Write what is left to write, and archive what the documents since the last call have lost."""
        self.writer.flush()
        if self.report.dry_run:
            told = {key: describe_gone(len(ids)) for key, ids in gone_parts(self.catalog, self._held).items()}
        else:
            told = archive_gone_parts(self.catalog, self.open_store, self._held, now=self.now)
            if self._files:
                self.catalog.files.remember(self.writer.finished(self._files))
        self.report.shrunk += len(told)
        for (source, path), line in told.items():
            self.report.problems.append(Problem(source, path, line, "warning"))
        self._held, self._files = {}, []
