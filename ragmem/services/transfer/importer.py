"""Import an export: check all of it, write it in batches, then index what is new."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from ragmem.config.settings import ChunkingSettings
from ragmem.domain.model import Chunk, Memory, State, possible_files
from ragmem.domain.secrets.redaction import Redactor
from ragmem.errors import BackendError
from ragmem.ports import Store
from ragmem.services.ingestion.classify import chunks_of
from ragmem.services.ingestion.index import BATCH, index_pending
from ragmem.services.ingestion.sanitize import sanitize_memory, sanitize_text
from ragmem.services.processes.progress import Progress
from ragmem.services.transfer.export_reader import Entry, ExportReader
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.lifecycle.archive import ArchiveEntry
from ragmem.storage.lifecycle.forgotten_texts import find_forgotten, stored_texts, unmark_forgotten
from ragmem.storage.lifecycle.lifecycle_state import LifeRow, Recall
from ragmem.storage.lifecycle.supersessions import Supersession
from ragmem.storage.maintenance.catalog_export import Alias, Contents, ForgottenText, Move, Project, Tie
from ragmem.storage.maintenance.lifecycle_export import LifeContent, LifeContents, MergedFrom
from ragmem.storage.memories.files import SeenFile

Keep = Literal["newer", "existing", "incoming"]

BATCH_CHARACTERS = 4_000_000
"""Limit of characters in one transaction; a single text may exceed it."""

_SIZES = ChunkingSettings()

Item = tuple[Memory, tuple[Chunk, ...]]


@dataclass(slots=True)
class ImportResult:
    """Counts of an import.

    `kept` counts memories that differ and stayed unchanged here; `forgotten` those with a text that a person
    forgot here; `waiting` those that are stored and not
    indexed yet, and `note` says why. A dry run counts memories only.
    """

    new: int = 0
    changed: int = 0
    kept: int = 0
    unchanged: int = 0
    forgotten: int = 0
    projects: int = 0
    archive: int = 0
    lifecycle: int = 0
    files: int = 0
    waiting: int = 0
    note: str = ""


@dataclass(slots=True)
class _Batch:
    memories: list[Item] = field(default_factory=list)
    projects: list[Project] = field(default_factory=list)
    ties: list[Tie] = field(default_factory=list)
    archive: list[ArchiveEntry] = field(default_factory=list)
    lives: list[LifeContent] = field(default_factory=list)
    files: list[SeenFile] = field(default_factory=list)
    characters: int = 0

    def add(self, entry: Entry) -> None:
        match entry:
            case Project():
                self.projects.append(entry)
            case Alias() | Move() | ForgottenText():
                self.ties.append(entry)
            case ArchiveEntry():
                self.archive.append(entry)
                self.characters += len(entry.memory.text)
            case SeenFile():
                self.files.append(entry)
            case LifeRow() | Recall() | Supersession() | MergedFrom():
                self.lives.append(entry)
            case _:
                self.memories.append(entry)
                self.characters += len(entry[0].text)

    @property
    def size(self) -> int:
        few = len(self.projects) + len(self.ties) + len(self.archive) + len(self.lives) + len(self.files)
        return len(self.memories) + few


def import_export(
    catalog: Catalog,
    open_store: Callable[[], Store],
    source: ExportReader,
    *,
    keep: Keep = "newer",
    dry_run: bool = False,
    now: datetime,
    progress: Progress,
    sizes: ChunkingSettings = _SIZES,
) -> ImportResult:
    """Import an export; the operation is idempotent.

    Nothing is written before every line was checked. Then each batch is durable, so that a killed import can
    be run again. A memory with the same content stays untouched; of two that differ the one that was updated
    later wins (the present one when equally old), or the one that `keep` names. A text that a person forgot
    here stays forgotten, unless `keep` is "incoming". Existing entries of the archive, the projects, the
    lifecycle and the seen files stay; a pin is added. Texts are sanitized as always, and then cut again by
    `sizes`.

    Raises SourceError for a damaged, foreign or newer export.
    """
    progress.begin("check", 0)
    counts = source.check()
    if not dry_run or catalog.exists():
        catalog.prepare()
    done = ImportResult()
    writer = _Writer(catalog, open_store, keep=keep, dry_run=dry_run, now=now, sizes=sizes)
    if counts.get("forgotten") and not dry_run:
        with catalog.database.read() as connection:
            writer.stored = stored_texts(connection)
    progress.begin("import", counts.get("memory", 0))
    for batch in _batches(source.entries()):
        writer.write(batch, done)
        progress.advance(len(batch.memories))
    if dry_run:
        return done
    if done.new or done.changed or done.projects or done.archive or done.lifecycle or done.files:
        catalog.log.write(
            "import", {"new": done.new, "changed": done.changed, "archive": done.archive}, now=now
        )
    done.waiting, done.note = index_waiting(catalog, open_store, progress)
    return done


def index_waiting(catalog: Catalog, open_store: Callable[[], Store], progress: Progress) -> tuple[int, str]:
    """Index all that waits; return how many memories still do, and why, 0 and "" for none."""
    waiting = len(catalog.memories.ids(states=[State.PENDING]))
    if not waiting:
        return 0, ""
    progress.begin("index", waiting)
    try:
        index_pending(catalog, open_store(), advance=progress.advance)
    except BackendError as error:
        # The text is durable and full text finds it; the next seed or gc does the rest.
        return len(catalog.memories.ids(states=[State.PENDING])), error.full_message
    return 0, ""


def _batches(entries: Iterator[Entry]) -> Iterator[_Batch]:
    batch = _Batch()
    for entry in entries:
        batch.add(entry)
        if batch.size >= BATCH or batch.characters >= BATCH_CHARACTERS:
            yield batch
            batch = _Batch()
    yield batch


class _Writer:
    """Decides for each batch what is written, and writes it in one transaction."""

    def __init__(
        self,
        catalog: Catalog,
        open_store: Callable[[], Store],
        *,
        keep: Keep,
        dry_run: bool,
        now: datetime,
        sizes: ChunkingSettings,
    ) -> None:
        self._sizes = sizes
        self._catalog = catalog
        self._contents = Contents(catalog.database)
        self._lives = LifeContents(catalog.database)
        self._now = now
        self._open_store = open_store
        self._keep = keep
        self._dry_run = dry_run
        # What another home has forgotten, this one may keep.
        self.stored: set[str] = set()
        # Files that must be read again, because the memory here differs from theirs.
        self._stale_files: set[tuple[str, str]] = set()
        # Memories that differ from the export's: statements about those texts do not apply to these.
        self._kept_ids: set[str] = set()

    def write(self, batch: _Batch, done: ImportResult) -> None:
        """Write a batch, all or nothing, and count it."""
        if self._dry_run:
            known = self._catalog.memories.get(_ids(batch)) if self._catalog.exists() else {}
            self._choose(batch, known, done)
            return
        if any(memory.state is State.BUFFERED for memory, _ in batch.memories):
            # It may be needed below, and opening it takes too long while the lock is held.
            self._open_store()
        with self._catalog.database.write() as connection:
            known = self._catalog.memories.get(_ids(batch))
            chosen = self._choose(batch, known, done)
            faded = [
                memory.id for memory, _ in chosen if memory.state is State.BUFFERED and memory.id in known
            ]
            self._contents.write_memories(chosen)
            unmark_forgotten(connection, [memory for memory, _ in chosen])
            done.projects += self._contents.write_projects(batch.projects)
            self._contents.write_ties(
                tie for tie in batch.ties if not (isinstance(tie, ForgottenText) and tie.id in self.stored)
            )
            archived = [
                replace(one, memory=sanitize_memory(one.memory, redactor=self._catalog.redactor))
                for one in batch.archive
            ]
            done.archive += self._catalog.archive.write(archived)
            lives = (
                _redact(one, redactor=self._catalog.redactor)
                for one in batch.lives
                if not self._is_about_other_text(one)
            )
            done.lifecycle += self._lives.write(lives, now=self._now)
            done.files += self._contents.write_files(
                [file for file in batch.files if (file.source, file.path) not in self._stale_files]
            )
            if faded:
                self._open_store().delete(faded)
                self._catalog.names.forget(faded)

    def _choose(self, batch: _Batch, known: Mapping[str, Memory], done: ImportResult) -> list[Item]:
        chosen: list[Item] = []
        items = [self._sanitize(*exported) for exported in batch.memories]
        forgotten = self._forgotten([memory for memory, _ in items if memory.id not in known])
        for memory, chunks in items:
            here = known.get(memory.id)
            # An export does not distinguish the two, and here it has no vectors yet.
            state = State.BUFFERED if memory.state is State.BUFFERED else State.PENDING
            item = (replace(memory, state=state), chunks)
            if memory.id in forgotten:
                done.forgotten += 1
                self._kept_ids.add(memory.id)
            elif here is None:
                done.new += 1
                chosen.append(item)
            elif same_content(memory, here):
                done.unchanged += 1
            elif self._keep == "incoming" or (self._keep == "newer" and memory.updated_at > here.updated_at):
                done.changed += 1
                chosen.append(item)
            else:
                done.kept += 1
                self._kept_ids.add(memory.id)
                self._stale_files |= {(memory.source, path) for path in possible_files(memory.uri)}
        return chosen

    def _forgotten(self, memories: list[Memory]) -> set[str]:
        """Return the ids of the memories that a person forgot here, and that stay forgotten."""
        if self._keep == "incoming" or not self._catalog.exists():
            return set()
        with self._catalog.database.read() as connection:
            return find_forgotten(connection, memories)

    def _sanitize(self, memory: Memory, chunks: tuple[Chunk, ...]) -> Item:
        """Return a sanitized memory of the export; its text is cut again if it changed."""
        redactor = self._catalog.redactor
        clean = sanitize_memory(memory, redactor=redactor)
        if clean is not memory and chunks:
            chunks = chunks_of(clean, self._sizes, redactor=redactor)
        return replace(clean, clean_hash=redactor.clean_hash(clean.indexed_text)), chunks

    def _is_about_other_text(self, one: LifeContent) -> bool:
        return isinstance(one, Supersession) and not self._kept_ids.isdisjoint((one.older, one.newer))


def _redact(one: LifeContent, redactor: Redactor) -> LifeContent:
    """Remove secrets from the reason of a life or supersession."""
    return (
        replace(one, reason=sanitize_text(one.reason, redactor=redactor))
        if isinstance(one, LifeRow | Supersession)
        else one
    )


def _ids(batch: _Batch) -> list[str]:
    return [memory.id for memory, _ in batch.memories]


def same_content(one: Memory, other: Memory) -> bool:
    """Return whether two memories are equal except for their state, recalls and moments of storage."""
    return (
        replace(
            one,
            state=other.state,
            recalls=other.recalls,
            created_at=other.created_at,
            updated_at=other.updated_at,
        )
        == other
    )
