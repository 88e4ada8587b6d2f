"""Take what is to go out of the backups below a home: each is cleaned as the memory is, and replaced."""

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from ragmem.config import ChunkingSettings
from ragmem.config.places import Places
from ragmem.errors import RagmemError, StoreDamagedError
from ragmem.ports import Store
from ragmem.services.processes.atomic_write import sync
from ragmem.services.processes.staging import workspace
from ragmem.services.scrub.catalog import clean, find_in_tables
from ragmem.services.scrub.files import BYTES, text_of
from ragmem.services.scrub.wanted import ScrubTarget
from ragmem.services.transfer.backup import SUFFIX, backups, folder_of
from ragmem.services.transfer.backup_file import DATABASE, Manifest, part_of, read_archive, write_archive
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.maintenance.salvage import DAMAGED
from ragmem.storage.maintenance.summary import read_summary
from ragmem.storage.sql.backups import copy_database
from ragmem.storage.sql.sqlite import DATABASE_NAME
from ragmem.storage.sql.sqlite_files import fold_log, remove_log

OpenHome = Callable[[Path], AbstractContextManager[tuple[Catalog, Store]]]
"""Opens the catalog and store of another data folder, brought up to date."""


@dataclass(slots=True)
class FoundBackup:
    """A backup with what it has of it by sort; `problem` says why it could not be looked into."""

    path: Path
    kinds: Counter[str]
    problem: str = ""


@dataclass(slots=True)
class Treatment:
    """How backups are opened and what is done with them; nothing where `now` is None."""

    places: Places
    open_home: OpenHome
    wanted: ScrubTarget
    sizes: ChunkingSettings
    now: datetime | None = None


def look_into(how: Treatment) -> list[FoundBackup]:
    """Return the backups that have any of it, and those that cannot be read; none is changed."""
    return list(_each(how))


def clean_backups(how: Treatment) -> list[FoundBackup]:
    """Write those anew that have any of it; return what is left of it in which, and why."""
    return list(_each(how))


def _each(how: Treatment) -> Iterator[FoundBackup]:
    for path in copies(how.places):
        try:
            with workspace(path.parent) as desk:
                found = _treat(path, desk, how)
        except (RagmemError, OSError) as error:
            yield FoundBackup(path, Counter(), str(error))
            continue
        if found:
            yield FoundBackup(path, found)


def copies(places: Places) -> list[Path]:
    """Return the backups of a home, the latest first, and the damaged databases that a repair put aside."""
    damaged = places.data / DAMAGED
    return [
        *(backup.path for backup in backups(places)),
        *(sorted(damaged.glob("*.db")) if damaged.is_dir() else ()),
    ]


def is_of_copies(path: Path, places: Places) -> bool:
    """Tell whether a file is a backup or a part of one, which is treated as a whole."""
    below = (folder_of(places), places.data / DAMAGED)
    whole = path.name.endswith((".db", ".db-wal", ".db-shm", SUFFIX))
    return whole and any(map(path.is_relative_to, below))


def _treat(path: Path, desk: Path, how: Treatment) -> Counter[str]:
    """Return what a backup has of it; where it is cleaned, what is left of it then."""
    database = path / DATABASE_NAME if path.is_dir() else path
    packed = path.name.endswith(SUFFIX)
    (desk / "packed").mkdir(mode=0o700)
    manifest = read_archive(path, desk / "packed") if packed else None
    if manifest is not None and manifest.has_database:
        database = desk / "packed" / DATABASE
    found = _of_others(manifest, desk, how.wanted) if manifest else Counter[str]()
    if manifest is not None and not manifest.has_database:
        return found
    home = desk / "home"
    home.mkdir(mode=0o700)
    copy_database(database, home / DATABASE_NAME, verified=False)
    before, left = _treat_database(home, how)
    if how.now is None:
        return found + before
    if before:
        if manifest is None:
            _put_back(home / DATABASE_NAME, database)
        else:
            _pack(path, manifest, desk, home / DATABASE_NAME)
    return found + left


def _of_others(manifest: Manifest, desk: Path, wanted: ScrubTarget) -> Counter[str]:
    """Return what the other files of an archive have of it: the configuration, an export."""
    found = Counter[str]()
    for part in manifest.files:
        text = text_of(desk / "packed" / part.name) if part.name != DATABASE else None
        found += wanted.kinds(text) if text else Counter()
    return found


def _treat_database(home: Path, how: Treatment) -> tuple[Counter[str], Counter[str]]:
    """Return what a copy of a database has of it, and what is left of it after it was cleaned, if it was."""
    file = home / DATABASE_NAME
    with how.open_home(home) as (catalog, store):
        before = find_in_tables(catalog, how.wanted).kinds
        before += _bytes_in(file, how.wanted)
        if how.now is None or not before:
            return before, Counter()
        clean(catalog, store, how.wanted, sizes=how.sizes, now=how.now)
        catalog.database.vacuum()
        left = find_in_tables(catalog, how.wanted.again()).kinds
    fold_log(file)
    return before, left + _bytes_in(file, how.wanted)


def _bytes_in(file: Path, wanted: ScrubTarget) -> Counter[str]:
    found, _ = wanted.needles().within_file(file)
    return Counter({BYTES: len(found)}) if found else Counter()


def _put_back(fresh: Path, path: Path) -> None:
    """Let a cleaned database take the place of a backup, with its date, by which backups are ordered."""
    moment = path.stat()
    remove_log(path)
    os.utime(fresh, ns=(moment.st_atime_ns, moment.st_mtime_ns))
    sync(fresh)
    fresh.replace(path)
    sync(path.parent)


def _pack(path: Path, manifest: Manifest, desk: Path, database: Path) -> None:
    moment = path.stat()
    files = {part.name: desk / "packed" / part.name for part in manifest.files} | {DATABASE: database}
    schemas, counts = read_summary(database)
    parts = tuple(part_of(name, file) for name, file in files.items())
    fresh = desk / path.name
    written = replace(manifest, schemas=schemas, counts=counts, files=parts)
    with fresh.open("xb") as target:
        fresh.chmod(0o600)
        write_archive(target, written, files)
    if read_archive(fresh) != written:
        raise StoreDamagedError(f'"{path}" is not what was written', hint="check the disk")
    os.utime(fresh, ns=(moment.st_atime_ns, moment.st_mtime_ns))
    sync(fresh)
    fresh.replace(path)
    sync(path.parent)


def remove(found: FoundBackup) -> None:
    """Delete a backup; raises OSError."""
    if found.path.is_dir():
        shutil.rmtree(found.path)
    else:
        found.path.unlink(missing_ok=True)
