"""Bring an export into the memory: check all of it, write it in batches, then index what is new."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from ragmem.config import ChunkingSettings
from ragmem.domain.model import Chunk, Memory, State
from ragmem.domain.secrets.redaction import Redactor
from ragmem.errors import BackendError
from ragmem.ports import Store
from ragmem.services.ingestion.classify import chunks_of
from ragmem.services.ingestion.index import BATCH, index_pending
from ragmem.services.ingestion.sanitize import purified_memory, sanitize_text
from ragmem.services.processes.progress import Progress
from ragmem.services.transfer.export_reading import Entry, ExportReader
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.lifecycle.archive import ArchiveEntry
from ragmem.storage.lifecycle.lifecycle_state import LifeRow, Recall
from ragmem.storage.lifecycle.supersessions import Supersession
from ragmem.storage.maintenance.catalog_export import Alias, Contents, ForgottenText, Move, Project, Tie
from ragmem.storage.maintenance.lifecycle_export import LifeContent, LifeContents, MergedFrom
from ragmem.storage.memories.files import SeenFile

Keep = Literal["newer", "existing", "incoming"]

BATCH_CHARACTERS = 4_000_000
"""Characters in one transaction at most, besides one long text."""

_SIZES = ChunkingSettings()

Item = tuple[Memory, tuple[Chunk, ...]]


@dataclass(slots=True)
class ImportResult:
    """What became of the memories of an export, and what else came.

    `kept` counts those that differ and stayed as they were here; `waiting` those that are stored and not
    indexed yet, and `note` says why. A dry run counts memories only.
    """

    new: int = 0
    changed: int = 0
    kept: int = 0
    unchanged: int = 0
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
    """Bring in what an export holds; importing twice is importing once.

    Nothing is written before every line was checked. Then each batch is durable once written, so that an
    import that was killed is begun again and goes on. A memory that is here with the same content stays
    untouched; of two that differ the one that was updated later wins (this one when equally old), or the one
    that `keep` names. What the archive, the projects, the lifecycle and the seen files know already stays as
    it is; a pin is added. What has to go before a text is stored goes here as well; such a text is cut anew
    by `sizes`.

    Raises SourceError for a damaged, foreign or newer export.
    """
    progress.begin("check", 0)
    counts = source.check()
    if not dry_run or catalog.exists():
        catalog.prepare()
    done = ImportResult()
    writer = _Writer(catalog, open_store, keep=keep, dry_run=dry_run, now=now, sizes=sizes)
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
    _index(catalog, open_store, done, progress)
    return done


def _index(catalog: Catalog, open_store: Callable[[], Store], done: ImportResult, progress: Progress) -> None:
    waiting = len(catalog.memories.ids(states=[State.PENDING]))
    if not waiting:
        return
    progress.begin("index", waiting)
    try:
        index_pending(catalog, open_store(), advance=progress.advance)
    except BackendError as error:
        # The text is durable and full text finds it; the next seed or gc makes up for the rest.
        done.note = error.told
        done.waiting = len(catalog.memories.ids(states=[State.PENDING]))


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
        # Where the memory here is another than the file's, the file must be read again.
        self._differing: set[tuple[str, str]] = set()
        # What stayed another than the export's: what was said of that one's text is not said of this.
        self._stayed: set[str] = set()

    def write(self, batch: _Batch, done: ImportResult) -> None:
        """Write a batch, all or nothing, and count it."""
        if self._dry_run:
            known = self._catalog.memories.get(_ids(batch)) if self._catalog.exists() else {}
            self._choose(batch, known, done)
            return
        if any(memory.state is State.BUFFERED for memory, _ in batch.memories):
            # It may be needed below, and opening it takes longer than others should wait for the lock.
            self._open_store()
        with self._catalog.database.write():
            known = self._catalog.memories.get(_ids(batch))
            chosen = self._choose(batch, known, done)
            faded = [
                memory.id for memory, _ in chosen if memory.state is State.BUFFERED and memory.id in known
            ]
            self._contents.write_memories(chosen)
            done.projects += self._contents.write_projects(batch.projects)
            self._contents.write_ties(batch.ties)
            archived = [
                replace(one, memory=purified_memory(one.memory, redactor=self._catalog.redactor))
                for one in batch.archive
            ]
            done.archive += self._catalog.archive.write(archived)
            lives = (
                _describe(one, redactor=self._catalog.redactor)
                for one in batch.lives
                if not self._of_another_text(one)
            )
            done.lifecycle += self._lives.write(lives, now=self._now)
            done.files += self._contents.write_files(
                [file for file in batch.files if (file.source, file.path) not in self._differing]
            )
            if faded:
                self._open_store().delete(faded)
                self._catalog.names.forget(faded)

    def _choose(self, batch: _Batch, known: Mapping[str, Memory], done: ImportResult) -> list[Item]:
        chosen: list[Item] = []
        for exported, exported_chunks in batch.memories:
            memory, chunks = self._purified(exported, exported_chunks)
            here = known.get(memory.id)
            # An export does not tell the two apart, and here it has no vectors yet.
            state = State.BUFFERED if memory.state is State.BUFFERED else State.PENDING
            item = (replace(memory, state=state), chunks)
            if here is None:
                done.new += 1
                chosen.append(item)
            elif same_content(memory, here):
                done.unchanged += 1
            elif self._keep == "incoming" or (self._keep == "newer" and memory.updated_at > here.updated_at):
                done.changed += 1
                chosen.append(item)
            else:
                done.kept += 1
                self._stayed.add(memory.id)
                self._differing |= {
                    (memory.source, place) for place in (memory.uri, memory.uri.rpartition("#")[0])
                }
        return chosen

    def _purified(self, memory: Memory, chunks: tuple[Chunk, ...]) -> Item:
        """Return a memory of the export without what must not be stored, cut anew where it had any."""
        clean = purified_memory(memory, redactor=self._catalog.redactor)
        if clean is memory:
            return memory, chunks
        return clean, chunks_of(clean, self._sizes, redactor=self._catalog.redactor) if chunks else ()

    def _of_another_text(self, one: LifeContent) -> bool:
        return isinstance(one, Supersession) and not self._stayed.isdisjoint((one.older, one.newer))


def _describe(one: LifeContent, redactor: Redactor) -> LifeContent:
    """Return what is told of a life without a secret that its reason quotes."""
    return (
        replace(one, reason=sanitize_text(one.reason, redactor=redactor))
        if isinstance(one, LifeRow | Supersession)
        else one
    )


def _ids(batch: _Batch) -> list[str]:
    return [memory.id for memory, _ in batch.memories]


def same_content(one: Memory, other: Memory) -> bool:
    """Tell whether two memories say the same, whenever they were stored and however often recalled."""
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
