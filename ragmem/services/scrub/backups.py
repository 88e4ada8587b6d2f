"""Remove secrets from the backups of a home: each is cleaned like the database, and replaced."""

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from ragmem.config.folders import sync
from ragmem.config.places import Places
from ragmem.config.settings import ChunkingSettings
from ragmem.errors import RagmemError, StoreDamagedError
from ragmem.ports import Store
from ragmem.services.processes.atomic_write import workspace
from ragmem.services.scrub.catalog import clean, find_in_tables
from ragmem.services.scrub.files import BYTES, read_text
from ragmem.services.scrub.target import ScrubTarget
from ragmem.services.transfer.backup import SUFFIX, backups, folder_of
from ragmem.services.transfer.backup_file import DATABASE, Manifest, part_of, read_archive, write_archive
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.maintenance.salvage import DAMAGED
from ragmem.storage.maintenance.summary import read_summary
from ragmem.storage.sql.backups import copy_database
from ragmem.storage.sql.sqlite import DATABASE_NAME
from ragmem.storage.sql.sqlite_files import fold_log, remove_log

OpenHome = Callable[[Path], AbstractContextManager[tuple[Catalog, Store]]]
"""Opens the catalog and store of another data folder, after migrations."""


@dataclass(slots=True)
class BackupFindings:
    """A backup with its matches by kind; `problem` says why it could not be read."""

    path: Path
    kinds: Counter[str]
    problem: str = ""


@dataclass(slots=True)
class BackupScan:
    """How backups are opened and searched; they are cleaned as well unless `now` is None."""

    places: Places
    open_home: OpenHome
    target: ScrubTarget
    sizes: ChunkingSettings
    now: datetime | None = None


def scan_backups(job: BackupScan) -> Iterator[BackupFindings]:
    """Yield the backups with matches and those that cannot be read; after cleaning, with what is left."""
    for path in backup_paths(job.places):
        try:
            with workspace(path.parent) as desk:
                found = _scan_backup(path, desk, job)
        except (RagmemError, OSError) as error:
            yield BackupFindings(path, Counter(), str(error))
            continue
        if found:
            yield BackupFindings(path, found)


def backup_paths(places: Places) -> list[Path]:
    """Return the backups of a home, latest first, then the damaged databases that a repair set aside."""
    damaged = places.data / DAMAGED
    return [
        *(backup.path for backup in backups(places)),
        *(sorted(damaged.glob("*.db")) if damaged.is_dir() else ()),
    ]


def is_backup_file(path: Path, places: Places) -> bool:
    """Return whether a file is a backup or a part of one."""
    below = (folder_of(places), places.data / DAMAGED)
    whole = path.name.endswith((".db", ".db-wal", ".db-shm", SUFFIX))
    return whole and any(map(path.is_relative_to, below))


def _scan_backup(path: Path, desk: Path, job: BackupScan) -> Counter[str]:
    """Return the matches in a backup by kind; after cleaning, those that are left."""
    database = path / DATABASE_NAME if path.is_dir() else path
    packed = path.name.endswith(SUFFIX)
    (desk / "packed").mkdir(mode=0o700)
    manifest = read_archive(path, desk / "packed") if packed else None
    if manifest is not None and manifest.has_database:
        database = desk / "packed" / DATABASE
    found = _count_in_files(manifest, desk, job.target) if manifest else Counter[str]()
    if manifest is not None and not manifest.has_database:
        return found
    home = desk / "home"
    home.mkdir(mode=0o700)
    copy_database(database, home / DATABASE_NAME, verified=False)
    before, left = _scan_database(home, job)
    if job.now is None:
        return found + before
    if before:
        if manifest is None:
            _replace(database, home / DATABASE_NAME)
        else:
            _pack(path, manifest, desk, home / DATABASE_NAME)
    return found + left


def _count_in_files(manifest: Manifest, desk: Path, target: ScrubTarget) -> Counter[str]:
    """Count the matches in the other files of an archive: the configuration, an export."""
    found = Counter[str]()
    for part in manifest.files:
        text = read_text(desk / "packed" / part.name) if part.name != DATABASE else None
        found += target.count_kinds(text) if text else Counter()
    return found


def _scan_database(home: Path, job: BackupScan) -> tuple[Counter[str], Counter[str]]:
    """Return the matches in a copy of a database, and those that are left if it was cleaned."""
    file = home / DATABASE_NAME
    with job.open_home(home) as (catalog, store):
        before = find_in_tables(catalog, job.target).kinds
        before += _count_bytes(file, job.target)
        if job.now is None or not before:
            return before, Counter()
        clean(catalog, store, job.target, sizes=job.sizes, now=job.now)
        catalog.database.vacuum()
        left = find_in_tables(catalog, job.target.unscanned_copy()).kinds
    fold_log(file)
    return before, left + _count_bytes(file, job.target)


def _count_bytes(file: Path, target: ScrubTarget) -> Counter[str]:
    found, _ = target.needles().find_in_file(file)
    return Counter({BYTES: len(found)}) if found else Counter()


def _replace(path: Path, fresh: Path) -> None:
    """Replace a backup by its cleaned copy, which keeps the date, by which backups are ordered."""
    moment = path.stat()
    remove_log(path)
    os.utime(fresh, ns=(moment.st_atime_ns, moment.st_mtime_ns))
    sync(fresh)
    fresh.replace(path)
    sync(path.parent)


def _pack(path: Path, manifest: Manifest, desk: Path, database: Path) -> None:
    files = {part.name: desk / "packed" / part.name for part in manifest.files} | {DATABASE: database}
    schemas, counts = read_summary(database)
    parts = tuple(part_of(name, file) for name, file in files.items())
    fresh = desk / path.name
    written = replace(manifest, schemas=schemas, counts=counts, files=parts)
    with fresh.open("xb") as file:
        fresh.chmod(0o600)
        write_archive(file, written, files)
    if read_archive(fresh) != written:
        raise StoreDamagedError(f'"{path}" differs from what was written', hint="check the disk")
    _replace(path, fresh)


def remove_backup(path: Path) -> None:
    """Delete a backup; raises OSError."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
