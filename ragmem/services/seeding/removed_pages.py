"""Archive the removed pages of documents before these count as read, since a run may be killed anytime."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime

from ragmem.ports import Store
from ragmem.readers.read_result import ReadResult
from ragmem.services.ingestion.documents import (
    archive_missing_parts,
    missing_parts,
    missing_parts_message,
    parts_by_document,
)
from ragmem.services.seeding.report import Problem, SeedReport
from ragmem.services.seeding.writer import Writer
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.memories.files import SeenFile

BATCH = 200
"""Documents that are checked together: a check reads the places of all memories of their sources."""


@dataclass(slots=True)
class RemovedPages:
    """The documents of a run, whose removed pages are archived once their new content is stored."""

    catalog: Catalog
    open_store: Callable[[], Store]
    writer: Writer
    report: SeedReport
    _: KW_ONLY
    now: datetime
    _part_keys: dict[tuple[str, str], set[str]] = field(default_factory=dict, init=False)
    _files: list[SeenFile] = field(default_factory=list, init=False)

    def add(self, reading: ReadResult, file: SeenFile, *, is_known: bool) -> None:
        """Mark a file as read; a document that `is_known` only once its removed pages are archived."""
        held = parts_by_document(reading.drafts, reading.unread)
        self._part_keys |= held
        waiting = self._files if held and is_known else self.writer.batch.files
        waiting.append(file)
        if len(self._files) >= BATCH:
            self.archive()

    def archive(self) -> None:
        """Write what is left to write, and archive the removed pages of the documents since the last call."""
        self.writer.flush()
        if self.report.dry_run:
            messages = {
                key: missing_parts_message(len(ids))
                for key, ids in missing_parts(self.catalog, self._part_keys).items()
            }
        else:
            messages = archive_missing_parts(self.catalog, self.open_store, self._part_keys, now=self.now)
            if self._files:
                self.catalog.files.remember(self.writer.complete_files(self._files))
        self.report.shrunk += len(messages)
        for (source, path), line in messages.items():
            self.report.problems.append(Problem(source, path, line, "warning"))
        self._part_keys, self._files = {}, []
