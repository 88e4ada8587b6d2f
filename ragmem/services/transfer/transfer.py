"""Copy the whole memory from one store to another, and verify the copy.

The source is only read. Equal entries of the target are left alone, so that running the command again
continues an interrupted copy.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from ragmem.domain.model import Chunk, Memory, State, as_pending
from ragmem.errors import BackendError, StorageError, UsageError
from ragmem.ports import Embedder, LanguageModel, Models, Role, Store
from ragmem.services.ingestion.entity_names import learn_names
from ragmem.services.ingestion.index import BATCH, index, index_pending, records_of
from ragmem.services.processes.progress import Progress, Silent
from ragmem.services.transfer import export_lines as form
from ragmem.services.transfer.exporter import export
from ragmem.storage.activity.injections import Retention
from ragmem.storage.activity.model_record import ACTIVE
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.maintenance.catalog_export import Contents
from ragmem.storage.maintenance.lifecycle_export import LifeContents
from ragmem.storage.sql.batches import batches

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SAMPLE = 20
"""Memories whose first characters are searched for at both ends."""

QUESTION_LENGTH = 200

TOLERANCE = 0.02
"""Allowed difference between the scores of two stores for one text: one keeps a byte per dimension."""

MAX_MISSES = 0.1
"""Share of the sample that may have another result, for texts of equal similarity."""

_EVER = timedelta(days=36_500)

Item = tuple[Memory, tuple[Chunk, ...]]


@dataclass(frozen=True, slots=True)
class End:
    """One end of a copy; `open_store` is called when vectors and graph are wanted."""

    catalog: Catalog
    open_store: Callable[[], Store]


@dataclass(slots=True)
class TransferResult:
    """Counts of memories that were written, unchanged, indexed, and of texts whose vectors were reused.

    `asked` counts the questions put to both ends, `agreed` those with the same best memory; where an end
    cannot be searched, none is asked and `note` says why.
    """

    written: int = 0
    unchanged: int = 0
    indexed: int = 0
    reused: int = 0
    embedded: int = 0
    asked: int = 0
    agreed: int = 0
    sha256: str = ""
    note: str = ""


class ReusingModels:
    """Models whose embedder reuses known vectors; `vectors` is text -> vector."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self.vectors: dict[str, NDArray[np.float32]] = {}
        self.reused = 0
        self.embedded = 0

    @property
    def embedder(self) -> Embedder:
        """The embedder behind the known vectors."""
        return _ReusingEmbedder(self._models.embedder, self)

    @property
    def language_model(self) -> LanguageModel | None:
        """The language model, unchanged."""
        return self._models.language_model

    def check(self) -> list[str]:
        """Return what is wrong with the models' files."""
        return self._models.check()

    def close(self) -> None:
        """Close the models."""
        self._models.close()


class _ReusingEmbedder:
    def __init__(self, embedder: Embedder, known: ReusingModels) -> None:
        self._embedder = embedder
        self._known = known

    @property
    def model_id(self) -> str:
        return self._embedder.model_id

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    def embed(self, texts: Sequence[str], *, role: Role) -> "NDArray[np.float32]":
        import numpy as np  # noqa: PLC0415 - only a copy needs it here

        known = self._known.vectors if role == "document" else {}
        missing = [text for text in texts if text not in known]
        made = iter(self._embedder.embed(missing, role=role)) if missing else iter(())
        if role == "document":
            self._known.reused += len(texts) - len(missing)
            self._known.embedded += len(missing)
        rows = [known[text] if text in known else next(made) for text in texts]
        return np.asarray(rows, np.float32).reshape(len(rows), self.dimensions)


def transfer(
    source: End,
    target: End,
    *,
    models: ReusingModels,
    merge: bool = False,
    now: datetime,
    progress: Progress,
) -> TransferResult:
    """Copy projects, memories, archive, seen files, log and sessions, index the target, verify it.

    `models` are those that the target's store embeds with. Where both ends share a catalog, only vectors and
    graph are copied. Raises UsageError where the target holds other memories and not `merge`, StorageError
    where the copy differs.
    """
    same = source.catalog.database.place == target.catalog.database.place
    done = TransferResult()
    if not same:
        target.catalog.prepare()
        _refuse_others(source, target, merge=merge)
        _copy(source, target, done, progress, merge=merge, now=now)
        _copy_extractions(source, target, merge=merge)
        for project, name, rule, at in source.catalog.names.separations():
            target.catalog.names.set_apart(project, name, rule, at=at)
        _copy_sessions(source.catalog, target.catalog, now=now)
        if target.catalog.models.read(ACTIVE) is None:
            # The only record of how to open the model of these vectors.
            target.catalog.models.write(ACTIVE, source.catalog.models.read(ACTIVE))
    _index(source, target, models, done, progress, same=same)
    done.reused, done.embedded = models.reused, models.embedded
    if not same:
        done.sha256 = _verify_contents(source, target, merge=merge, now=now)
        detail = {"from": source.catalog.database.place, "memories": done.written}
        target.catalog.log.write("migrate", detail, now=now)
    _verify_store(source, target)
    _compare_searches(source, target, done)
    return done


def plan(source: End, target: End, *, merge: bool = False) -> dict[str, int]:
    """Return how much would be copied, changing nothing; raises UsageError as `transfer` does."""
    if target.catalog.exists():
        _refuse_others(source, target, merge=merge)
    return Contents(source.catalog.database).counts()


def _refuse_others(source: End, target: End, *, merge: bool) -> None:
    others = target.catalog.memories.ids() - source.catalog.memories.ids()
    if others and not merge:
        raise UsageError(
            f'"{target.catalog.database.place}" holds {len(others):,}'
            f" {'memory that is' if len(others) == 1 else 'memories that are'} not in"
            f' "{source.catalog.database.place}"',
            hint="--merge adds to them; else choose an empty place",
        )


def _copy(
    source: End, target: End, done: TransferResult, progress: Progress, *, merge: bool, now: datetime
) -> None:
    here, there = Contents(source.catalog.database), Contents(target.catalog.database)
    with source.catalog.database.read():
        progress.begin("copy", here.counts()["memories"])
        if not merge:
            there.clear_ties()
        there.write_projects(here.projects(), replace=True)
        for batch in batches(here.memories(), BATCH):
            _copy_batch(target, there, batch, done)
            progress.advance(len(batch))
        for archived in batches(source.catalog.archive.each(), BATCH):
            target.catalog.archive.write(archived)
        _copy_lives(source, target, merge=merge, now=now)
        there.write_ties((*here.aliases(), *here.moves(), *here.forgotten()))
        there.write_files(here.files())
        there.write_log(here.log())


def _copy_lives(source: End, target: End, *, merge: bool, now: datetime) -> None:
    """Copy the lifecycle's data; without `merge` they replace those of an earlier copy."""
    there = LifeContents(target.catalog.database)
    with target.catalog.database.write():
        if not merge:
            there.clear()
        there.write(LifeContents(source.catalog.database).each(), now=now)


def _copy_extractions(source: End, target: End, *, merge: bool) -> None:
    """Copy the answers of language models, and let indexed memories be indexed again with them."""
    here, there = source.catalog.extractions, target.catalog.extractions
    added = sum(there.write_rows(rows) for rows in batches(here.rows()))
    choice = there.choice() if merge else here.choice()
    if added or choice != there.choice():
        there.choose(choice, again=target.catalog.memories.ids(states=[State.INDEXED]))


def _copy_sessions(source: Catalog, target: Catalog, *, now: datetime) -> None:
    """Copy the positions of this machine's transcripts, and the log of injections into an empty one.

    Existing entries of the target are left alone: it may have read on since.
    """
    with target.database.write():
        for transcript in source.transcripts.all():
            if target.transcripts.get(transcript.path) is None:
                target.transcripts.keep(transcript)
        if not target.injections.count():
            injected = source.injections.list()[::-1]
            target.injections.record(injected, now=now, kept=Retention(_EVER, len(injected)))


def _copy_batch(target: End, there: Contents, batch: Sequence[Item], done: TransferResult) -> None:
    with target.catalog.database.write():
        known = target.catalog.memories.get(memory.id for memory, _ in batch)
        changed = [
            (as_pending(memory), chunks)
            for memory, chunks in batch
            if memory.id not in known or as_pending(known[memory.id]) != as_pending(memory)
        ]
        there.write_memories(changed)
    done.written += len(changed)
    done.unchanged += len(batch) - len(changed)


def _index(
    source: End, target: End, models: ReusingModels, done: TransferResult, progress: Progress, *, same: bool
) -> None:
    store, memories = target.open_store(), target.catalog.memories
    present = store.memory_ids()
    ids = memories.ids(states=[State.INDEXED, State.PENDING])
    if not same:
        # With one catalog its states are those of the other store.
        ids -= present & memories.ids(states=[State.INDEXED])
    # Also memories of an earlier copy that were forgotten since.
    unwanted = present - memories.ids(states=[State.INDEXED, State.PENDING])
    if unwanted:
        store.delete(sorted(unwanted))
    origin = _origin(source, done)
    contents = Contents(target.catalog.database)
    progress.begin("index", len(ids))
    for batch in batches(sorted(ids), BATCH):
        items = list(contents.of(batch))
        if not same:
            learn_names(target.catalog, items)
        records = records_of(target.catalog, items)
        models.vectors = dict(origin.vectors(records)) if origin is not None else {}
        if same:
            store.put(records)
        else:
            index(target.catalog, store, records)
        done.indexed += len(records)
        progress.advance(len(batch))
    # A later batch may have changed the node of a name in an earlier one.
    index_pending(target.catalog, store)
    models.vectors = {}


def _origin(source: End, done: TransferResult) -> Store | None:
    try:
        return source.open_store()
    except BackendError as error:
        done.note = f"the vectors were computed again: {error}"
        return None


def _verify_contents(source: End, target: End, *, merge: bool, now: datetime) -> str:
    """Compare the contents of both ends; return their hash, an empty text after a merge."""
    if not merge:
        hashes = [export(end.catalog, len, now=now, progress=Silent()).sha256 for end in (source, target)]
        if hashes[0] == hashes[1]:
            return hashes[0]
    there = Contents(target.catalog.database)
    for batch in batches(Contents(source.catalog.database).memories(), BATCH):
        ids = [memory.id for memory, _ in batch]
        copies = _lines(there.of(ids))
        for identifier, line in _lines(batch).items():
            if copies.get(identifier) != line:
                raise _difference_error(target, f'the memory "{identifier}" differs')
    if not merge:
        raise _difference_error(target, "projects, archive, lives or seen files differ")
    return ""


def _lines(items: Iterable[Item]) -> dict[str, str]:
    return {
        memory.id: hashlib.sha256(form.dump(form.memory_line(memory, chunks))).hexdigest()
        for memory, chunks in items
    }


def _verify_store(source: End, target: End) -> None:
    wanted = source.catalog.memories.ids(states=[State.INDEXED, State.PENDING])
    missing = wanted - target.open_store().memory_ids()
    if missing:
        raise _difference_error(target, f"{len(missing):,} memories are not indexed there")


def _difference_error(target: End, what: str) -> StorageError:
    return StorageError(
        f'the copy in "{target.catalog.database.place}" is not the same: {what}',
        hint="was the memory written meanwhile? run the command again; the source is untouched",
    )


def _compare_searches(source: End, target: End, done: TransferResult) -> None:
    ids = sorted(source.catalog.memories.ids(states=[State.INDEXED]))
    step = max(1, len(ids) // SAMPLE)
    for memory in source.catalog.memories.get(ids[::step][:SAMPLE]).values():
        question = memory.indexed_text[:QUESTION_LENGTH]
        try:
            found, copied = (
                end.open_store().search(question, limit=1, projects=[memory.scope.project])
                for end in (source, target)
            )
        except BackendError as error:
            done.note = done.note or f"searches were not compared: {error}"
            return
        if not found:
            continue
        done.asked += 1
        # Of two equally similar texts, either may be first.
        done.agreed += bool(copied) and (
            copied[0].memory_id == found[0].memory_id or abs(copied[0].score - found[0].score) <= TOLERANCE
        )
    if done.agreed < done.asked * (1 - MAX_MISSES):
        raise _difference_error(target, f"of {done.asked} searches only {done.agreed} give the same results")
