"""Write a seeding in batches: each is one transaction, and the next one is embedded meanwhile."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from typing import Self

from ragmem.domain.model import EPISODES, Memory, Record, State
from ragmem.domain.model.lifecycle import proposes
from ragmem.errors import BackendError
from ragmem.ports import Store
from ragmem.readers.failures import check
from ragmem.services.ingestion.classify import ClassifiedMemory
from ragmem.services.ingestion.entities import Item
from ragmem.services.ingestion.entity_names import collect_names
from ragmem.services.ingestion.index import forget, index, records_of
from ragmem.services.ingestion.ingest import Change, store_without_vectors
from ragmem.services.processes.progress import Progress
from ragmem.services.processes.refusals import Refusal, isolate_failures
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.memories.files import SeenFile

BATCH_CHARACTERS = 80_000
"""Characters in one transaction, so that long documents do not hold the lock for seconds."""


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
        """Tell whether the batch is large enough to be written."""
        return len(self.judged) >= memories or self.characters >= BATCH_CHARACTERS or len(self.files) >= 500


class Writer:
    """Writes batches in order while a second thread embeds the next one.

    Where no vectors can be made, `down` says why. From then on memories are durable and found by full text,
    and stay pending: their files count as seen, because the next run finishes them from the catalog.
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
        down: str = "",
        approval: bool = False,
    ) -> None:
        self.down = down
        self.refuse = refuse
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
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embed")
        self._waiting: tuple[Batch, list[Record], Future[None]] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

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
            self._hand_on()

    def flush(self) -> None:
        """Write everything that was added."""
        self._hand_on()
        self._finish_waiting()

    def flushed_store(self) -> Store:
        """Write all batches and return the store, so that the caller can remove entries from it."""
        self.flush()
        return self.open_store()

    def _hand_on(self) -> None:
        batch, self.batch = self.batch, Batch()
        if self.dry_run:
            self.progress.advance(batch.steps)
            return
        records = self._accept(batch) if batch.judged else []
        if self.down or not records:
            self._finish_waiting()
            self._finish(batch, [])
            return
        prepared = self._pool.submit(self.open_store().prepare, records)
        self._finish_waiting()
        self._waiting = (batch, records, prepared)

    def _accept(self, batch: Batch) -> list[Record]:
        """Make a batch durable and findable by full text; return the records to index."""
        accepted: list[Item] = []
        records: list[Record] = []

        def accept(some: Sequence[ClassifiedMemory]) -> None:
            items = [(item.memory, item.chunks) for item in some]
            names = collect_names(self.catalog, items)

            def store() -> None:
                with self.catalog.database.write():
                    if self.approval:
                        told = (memory for memory, _ in items if memory.source in EPISODES)
                        self.catalog.approvals.propose(filter(proposes, told))
                    self.catalog.memories.accept(items)
                    self.catalog.names.learn(names)

            store_without_vectors(self.catalog, self.open_store, [memory for memory, _ in items], store)
            accepted.extend(item for item in items if item[0].state is State.PENDING)

        for item, reason in isolate_failures(batch.judged, accept):
            self.unfinished.add((item.memory.source, batch.places[item.memory.id][0]))
            self._refuse(batch, item.memory, reason, is_stored=False)
        if not self.down:
            rejected = isolate_failures(accepted, lambda some: records.extend(records_of(self.catalog, some)))
            for (memory, _), reason in rejected:
                self._refuse(batch, memory, reason, is_stored=True)
        return records

    def _refuse(self, batch: Batch, memory: Memory, reason: str, *, is_stored: bool) -> None:
        path, change = batch.places[memory.id]
        self.refuse(memory, change, Refusal(memory.source, path, reason, is_stored))

    def complete_files(self, files: Sequence[SeenFile]) -> list[SeenFile]:
        """Return the files that are stored completely."""
        return [file for file in files if (file.source, file.path) not in self.unfinished]

    def _finish_waiting(self) -> None:
        if self._waiting is None:
            return
        batch, records, prepared = self._waiting
        self._waiting = None
        try:
            error = prepared.exception()
            if isinstance(error, Exception):
                # This was only the preparation: indexing reports again what is wrong with a text.
                check(error)
            self._finish(batch, records)
        except BackendError as error:
            self.down = error.full_message
            self._finish(batch, [])

    def _finish(self, batch: Batch, records: Sequence[Record]) -> None:
        def finish() -> None:
            self.catalog.files.remember(self.complete_files(batch.files))
            if batch.redated:
                self.catalog.memories.redate(batch.redated)

        if batch.faded:
            # Before their files count as seen: after a kill the next run reads them again.
            forget(self.catalog, self.open_store(), batch.faded)
        if records:
            self._index(batch, records, finish)
        elif batch.files or batch.redated:
            with self.catalog.database.write():
                finish()
        self.progress.advance(batch.steps)

    def _index(self, batch: Batch, records: Sequence[Record], finish: Callable[[], None]) -> None:
        """Index a batch in the transaction that finishes it; where a text is rejected, one by one."""
        try:
            index(self.catalog, self.open_store(), records, finish=finish)
        except Exception as error:  # noqa: BLE001 - one text never stops the others
            check(error)
        else:
            return
        for record, reason in isolate_failures(
            records, lambda some: index(self.catalog, self.open_store(), some)
        ):
            self._refuse(batch, record.memory, reason, is_stored=True)
        with self.catalog.database.write():
            finish()
