"""Store a seeding in batches, each one transaction: full text finds them at once, vectors are made later."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from ragmem.domain.model import EPISODES, Memory, State
from ragmem.domain.model.lifecycle import proposes
from ragmem.ports import Store
from ragmem.readers.failures import isolate_failures
from ragmem.services.ingestion.classify import ClassifiedMemory
from ragmem.services.ingestion.index import BATCH_CHARACTERS, forget
from ragmem.services.ingestion.ingest import Change, compare, store_without_vectors
from ragmem.services.processes.progress import Progress
from ragmem.services.processes.refusals import Refusal
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.memories.files import SeenFile


@dataclass(slots=True)
class Batch:
    """The content of one transaction."""

    judged: list[ClassifiedMemory] = field(default_factory=list)
    files: list[SeenFile] = field(default_factory=list)
    redated: dict[str, datetime] = field(default_factory=dict)
    faded: list[str] = field(default_factory=list)
    characters: int = 0
    places: dict[str, tuple[str, Change]] = field(default_factory=dict)
    """Memory id -> its file, and its change in the catalog."""
    steps: int = 0
    """Files that are done with the batch; some may have no memory in it."""

    def is_full(self, memories: int) -> bool:
        """Return whether the batch is large enough to be written."""
        return len(self.judged) >= memories or self.characters >= BATCH_CHARACTERS or len(self.files) >= 500


class Writer:
    """Makes batches durable and found by full text; their memories stay pending until they are indexed.

    A file counts as seen in the transaction of its memories: who indexes them takes them from the catalog.
    Where the store cannot be opened, `down` says why.
    """

    def __init__(
        self,
        catalog: Catalog,
        open_store: Callable[[], Store],
        *,
        size: int,
        dry_run: bool,
        progress: Progress,
        refuse: Callable[[Memory, Change, Refusal], None],
        recount: Callable[[ClassifiedMemory, Change], None],
        approval: bool = False,
    ) -> None:
        self.down = ""
        self.refuse = refuse
        self.recount = recount
        self.approval = approval
        """Whether what sessions tell of decisions or rules waits for an approval."""
        self.unfinished: set[tuple[str, str]] = set()
        """Source and path of files with a rejected part: the next run reads them again."""
        self.catalog = catalog
        self.open_store = open_store
        self.size = size
        self.dry_run = dry_run
        self.progress = progress
        self.batch = Batch()

    def add(self, item: ClassifiedMemory, change: Change, path: str) -> None:
        """Add a classified draft of a file to the batch, if it is new or changed."""
        if change in {"unchanged", "archived"}:
            return
        if item.is_left_out:
            if change == "changed":
                self.batch.faded.append(item.memory.id)
            return
        self.batch.judged.append(item)
        self.batch.places[item.memory.id] = path, change
        self.batch.characters += len(item.memory.indexed_text)

    def flush_if_full(self) -> None:
        """Write the batch when it is large enough."""
        if self.batch.is_full(self.size):
            self.flush()

    def flushed_store(self) -> Store:
        """Write the batch and return the store, so that the caller can remove entries from it."""
        self.flush()
        return self.open_store()

    def flush(self) -> None:
        """Write everything that was added."""
        batch, self.batch = self.batch, Batch()
        if not self.dry_run:
            self._write(batch)
        self.progress.advance(batch.steps)

    def _write(self, batch: Batch) -> None:
        def finish() -> None:
            self.catalog.files.remember(self.complete_files(batch.files))
            if batch.redated:
                self.catalog.memories.redate(batch.redated)

        if batch.faded:
            # Before their files count as seen: after a kill the next run reads them again.
            forget(self.catalog, self.open_store(), batch.faded)
        # A batch that was divided has no transaction of all its files.
        whole = self._accept(batch, finish) if batch.judged else False
        if not whole and (batch.files or batch.redated):
            with self.catalog.database.write():
                finish()

    def _accept(self, batch: Batch, finish: Callable[[], None]) -> bool:
        """Make the memories of a batch durable; return whether all of them are, and `finish` with them."""

        def accept(some: Sequence[ClassifiedMemory]) -> None:
            memories = [item.memory for item in some]
            cold = [memory.id for memory in memories if memory.state is State.BUFFERED]

            def store() -> None:
                with self.catalog.database.write():
                    fresh = self._drop_known(some, batch)
                    if self.approval:
                        told = (item.memory for item in fresh if item.memory.source in EPISODES)
                        self.catalog.approvals.propose(filter(proposes, told))
                    # What is not indexed names nothing any more.
                    self.catalog.names.forget(cold)
                    self.catalog.memories.accept([(item.memory, item.chunks) for item in fresh])
                    if len(some) == len(batch.judged):
                        finish()

            self.down = store_without_vectors(self.catalog, self.open_store, memories, store) or self.down

        rejected = isolate_failures(batch.judged, accept)
        for item, reason in rejected:
            path, change = batch.places[item.memory.id]
            self.unfinished.add((item.memory.source, path))
            self.refuse(item.memory, change, Refusal(item.memory.source, path, reason))
        return not rejected

    def _drop_known(self, some: Sequence[ClassifiedMemory], batch: Batch) -> list[ClassifiedMemory]:
        """Return memories without new ones that another process has stored since they were compared."""
        new = [item for item in some if batch.places[item.memory.id][1] == "new"]
        changes, _ = compare(self.catalog, new, leave_pending=True)
        met = {item.memory.id: change for item, change in zip(new, changes, strict=True) if change != "new"}
        for item in new:
            if change := met.get(item.memory.id):
                self.recount(item, change)
                batch.places[item.memory.id] = batch.places[item.memory.id][0], change
        return [item for item in some if met.get(item.memory.id) != "unchanged"]

    def complete_files(self, files: Sequence[SeenFile]) -> list[SeenFile]:
        """Return the files that are stored completely."""
        return [file for file in files if (file.source, file.path) not in self.unfinished]
