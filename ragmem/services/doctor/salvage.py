"""Replace a database with damaged pages by a new one with all readable data."""

import shutil
import time
from dataclasses import replace
from pathlib import Path

from ragmem.config.folders import sync
from ragmem.domain.model import Memory, State
from ragmem.services.doctor.report import DoctorContext
from ragmem.services.ingestion.classify import chunks_of
from ragmem.services.ingestion.index import index_pending
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.maintenance.salvage import DAMAGED, Salvage, read_damaged, write_salvaged
from ragmem.storage.sql.batches import batches
from ragmem.storage.sql.fair_lock import turn
from ragmem.storage.sql.sqlite import LOCK_NAME
from ragmem.storage.sql.sqlite_files import fold_log, log_of, remove_log

ACCEPTED_AT_ONCE = 200
"""Memories per transaction."""


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
            for batch in batches(found.memories, ACCEPTED_AT_ONCE):
                fresh.memories.accept(
                    [
                        (as_pending(memory), chunks_of(memory, sizes, redactor=patient.catalog.redactor))
                        for memory in batch
                    ]
                )
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


def as_pending(memory: Memory) -> Memory:
    """Return the memory in the pending state, unless it is only buffered."""
    return memory if memory.state is State.BUFFERED else replace(memory, state=State.PENDING)
