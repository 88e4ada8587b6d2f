"""Repair the findings of an examination: copy or salvage the database, then rebuild from the catalog."""

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ragmem.config.folders import sync
from ragmem.config.settings import ChunkingSettings
from ragmem.domain.model import Chunk, Memory, State, as_pending
from ragmem.ports import Store
from ragmem.services.doctor.home import find_exposed
from ragmem.services.doctor.invariants import find_differences
from ragmem.services.doctor.report import DoctorContext, RepairName, Report
from ragmem.services.ingestion.classify import chunks_of
from ragmem.services.ingestion.index import index_pending
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.home.schema import CATALOG
from ragmem.storage.maintenance.invariants import covers
from ragmem.storage.maintenance.repair import drop_strays, forget_unsound_code, hash_anew, rebuild_full_text
from ragmem.storage.maintenance.salvage import DAMAGED, Salvage, read_damaged, write_salvaged
from ragmem.storage.sql.backups import OF_REPAIRS, back_up
from ragmem.storage.sql.batches import batches
from ragmem.storage.sql.fair_lock import leftovers, turn
from ragmem.storage.sql.schema_check import complete
from ragmem.storage.sql.sqlite import LOCK_NAME
from ragmem.storage.sql.sqlite_files import fold_log, log_of, remove_log

PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700

ACCEPTED_AT_ONCE = 200
"""Memories per transaction."""

_WRITES: frozenset[RepairName] = frozenset({"schema", "catalog", "full text", "store", "anew", "pending"})


@dataclass(frozen=True, slots=True)
class Step:
    """A repair, its description, and its outcome (empty before)."""

    name: RepairName
    what: str
    outcome: str = ""


def plan(report: Report) -> list[Step]:
    """Return the repairs for a report, in order; changes nothing."""
    wanted = {check.mend for check in report.checks}
    if "salvage" in wanted:
        # Salvage rebuilds the unchecked parts as well.
        wanted -= _WRITES
    if "anew" in wanted:
        wanted -= {"store"}
    return [Step(name, what) for name, (what, _) in _REPAIRS.items() if name in wanted]


def repair(patient: DoctorContext, steps: list[Step]) -> Iterator[Step]:
    """Run the steps and yield each with its outcome; the database is copied before the first write.

    Every step can be repeated after an interruption. Raises BackendError before any change of the store if no
    embedder answers, StoreDamagedError if nothing can be repaired.
    """
    names = {step.name for step in steps}
    database = patient.catalog.database
    if names & _WRITES and database.path:
        copy = back_up(database.path, "before-repair", sort=OF_REPAIRS, verified=False)
        yield Step("", "back up the database", f'"{copy}"')
    for step in steps:
        yield replace(step, outcome=_REPAIRS[step.name][1](patient))


def _make_private(patient: DoctorContext) -> str:
    places = patient.settings.places
    found = find_exposed([places.data, places.state])
    for path in found:
        path.chmod(PRIVATE_FOLDER if path.is_dir() else PRIVATE_FILE)
    return f"{len(found)} made private"


def _remove_leftovers(patient: DoctorContext) -> str:
    left = leftovers(patient.catalog.database.home / LOCK_NAME)
    for path in left:
        path.unlink(missing_ok=True)
    return f"{len(left)} removed"


def rechunk(catalog: Catalog, sizes: ChunkingSettings) -> int:
    """Chunk the memories again whose chunks do not rebuild their text; return their number."""
    unsound = [
        memory for memory in catalog.memories.each() if not _fits(memory, catalog.memories.chunks(memory))
    ]
    _accept(catalog, unsound, sizes)
    return len(unsound)


def _accept(catalog: Catalog, memories: Sequence[Memory], sizes: ChunkingSettings) -> None:
    for batch in batches(memories, ACCEPTED_AT_ONCE):
        catalog.memories.accept(
            [(as_pending(memory), chunks_of(memory, sizes, redactor=catalog.redactor)) for memory in batch]
        )


def _fits(memory: Memory, chunks: tuple[Chunk, ...]) -> bool:
    return [chunk.order for chunk in chunks] == list(range(len(chunks))) and covers(
        memory.indexed_text, chunks
    )


def _mend_store(patient: DoctorContext) -> str:
    """Restore what a store's own repair removed; if that is not enough, everything."""
    catalog, store = patient.catalog, patient.open_store()
    figures = store.repair()
    put = _put_back(catalog, store)
    if store.check() or find_differences(catalog, store):
        return _make_anew(catalog, store)
    said = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in figures.items() if count)
    return f"{put} memories restored" + (f" ({said})" if said else "")


def _make_anew(catalog: Catalog, store: Store) -> str:
    store.repair(whole=True)
    return f"vectors and graph of {_put_back(catalog, store)} memories rebuilt"


def _put_back(catalog: Catalog, store: Store) -> int:
    stored, known = store.memory_ids(), catalog.memories.ids()
    store.delete(sorted(stored - known))
    catalog.memories.mark(sorted(catalog.memories.ids(states=[State.INDEXED]) - stored), State.PENDING)
    return index_pending(catalog, store)


def _complete_schema(patient: DoctorContext) -> str:
    made = complete(patient.catalog.database, CATALOG)
    rebuild_full_text(patient.catalog)
    anew = rechunk(patient.catalog, patient.settings.chunking)
    return f"made {', '.join(made) or 'the record of the steps'}; {anew} memories chunked again"


def _mend_catalog(patient: DoctorContext) -> str:
    strays = drop_strays(patient.catalog)
    altered = hash_anew(patient.catalog)
    rebuild_full_text(patient.catalog)
    anew = rechunk(patient.catalog, patient.settings.chunking)
    renamed = patient.catalog.names.update_all()
    indexed = index_pending(patient.catalog, patient.open_store())
    said = f"{strays} strays, {anew} memories chunked again, {renamed} names corrected, {indexed} indexed"
    if forgotten := forget_unsound_code(patient.catalog):
        said += f"; the code graph of {forgotten} projects was dropped: `ragmem ingest --code` rebuilds it"
    if altered:
        ids = ", ".join(identifier[:12] for identifier in altered)
        said += f"; changed texts: {ids}; `ragmem seed --rebuild` reads their sources again"
    return said


def _mend_full_text(patient: DoctorContext) -> str:
    return f"{rebuild_full_text(patient.catalog):,} chunks"


def _mend_all(patient: DoctorContext) -> str:
    return _make_anew(patient.catalog, patient.open_store())


def _index_pending(patient: DoctorContext) -> str:
    return f"{index_pending(patient.catalog, patient.open_store())} memories indexed"


def _absorb_usage(patient: DoctorContext) -> str:
    taken = patient.ledger.absorb()
    lost = f"; {taken.unreadable} lines could not be read" if taken.unreadable else ""
    return f"{taken.lines} requests added{lost}"


def salvage(patient: DoctorContext) -> str:
    """Replace a damaged database by a new one with all readable data; return a summary."""
    path, sizes = Path(patient.catalog.database.place), patient.settings.chunking
    workplace = path.parent / "salvage"
    with turn(path.parent / LOCK_NAME, timeout=patient.settings.write.busy_timeout_s):
        patient.reopen()
        found = read_damaged(path)
        shutil.rmtree(workplace, ignore_errors=True)
        fresh = Catalog.at(workplace, patient.catalog.redactor)
        try:
            fresh.prepare()
            write_salvaged(found, fresh)
            _accept(fresh, found.memories, sizes)
        finally:
            fresh.close()
        fold_log(workplace / path.name)
        sync(workplace / path.name)
        kept = _put_in_place(workplace / path.name, path)
        shutil.rmtree(workplace)
        patient.reopen()
    store = patient.open_store()
    store.repair(whole=True)
    indexed = index_pending(patient.catalog, store)
    return f'{_summary(found)}; {indexed} indexed again; the damaged file is "{kept}"'


def _put_in_place(fresh: Path, path: Path) -> Path:
    folder = path.parent / DAMAGED
    folder.mkdir(mode=0o700, exist_ok=True)
    kept = folder / f"{path.stem}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{path.stat().st_ino}.db"
    try:
        kept.hardlink_to(path)
    except OSError:  # not every file system has links
        shutil.copy2(path, kept)
    # The log belongs to the damaged file; SQLite would apply it to the new one.
    log = log_of(path)
    if log.exists() and log.stat().st_size:
        log.rename(log_of(kept))
    remove_log(path)
    fresh.replace(path)
    sync(path.parent)
    return kept


def _summary(found: Salvage) -> str:
    said = f"{len(found.memories)} memories saved"
    if found.lost:
        said += f", {len(found.lost)} lost: {', '.join(identifier[:12] for identifier in found.lost)}"
    elif "memories" not in found.incomplete:
        said += ", none lost"
    if found.incomplete:
        said += f"; an unknown part of these is lost: {', '.join(found.incomplete)}"
    return said


_REPAIRS: dict[RepairName, tuple[str, Callable[[DoctorContext], str]]] = {
    "permissions": ("make files and folders private (0600, 0700)", _make_private),
    "locks": ("remove leftovers of dead processes from the write queue", _remove_leftovers),
    "salvage": ("copy all readable memories to a new database, keep the damaged file", salvage),
    "schema": ("complete the interrupted migration to this schema", _complete_schema),
    "catalog": ("chunk inconsistent memories again, drop stray chunks, correct names", _mend_catalog),
    "full text": ("rebuild the full-text index from the chunks", _mend_full_text),
    "store": ("restore damaged vectors and graph from the catalog, rewrite the vector files", _mend_store),
    "anew": ("rebuild all vectors and the graph from the catalog", _mend_all),
    "pending": ("index the waiting memories", _index_pending),
    "usage": ("add the counted requests to the totals", _absorb_usage),
}
"""The description and the function of each repair, in their order."""
