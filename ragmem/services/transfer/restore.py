"""Restore a backup: verify it, switch to it atomically, and keep the replaced files.

The database is prepared beside the present one and renamed over it in the writers' queue, so that a killed
process leaves either the old memory or the new one. Readers and writers of other processes notice the new
file (storage/sql/sqlite.py) and continue with it. The configuration follows file by file, each atomically.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from ragmem.config.folders import sync
from ragmem.config.places import Places
from ragmem.errors import StorageError, StoreBusyError, StoreDamagedError, UsageError, os_errors_as
from ragmem.ports import Store
from ragmem.services.processes.atomic_write import new_file, workspace
from ragmem.services.processes.progress import Progress
from ragmem.services.transfer.backup import REPLACED, folder_of, moment_name
from ragmem.services.transfer.backup_file import CONFIG_FILES
from ragmem.services.transfer.export_reader import ExportReader
from ragmem.services.transfer.importer import import_export
from ragmem.services.transfer.verification import Config, Source, verify
from ragmem.storage.activity.model_record import ACTIVE
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.maintenance.catalog_export import Contents
from ragmem.storage.sql.fair_lock import turn
from ragmem.storage.sql.sqlite import DATABASE_NAME, LOCK_NAME
from ragmem.storage.sql.sqlite_files import empty_log, fold_log, log_of, remove_log

MAX_REPLACED = 3
"""Replaced homes that are kept, the latest of them."""

DERIVED = ("vectors",)
"""Folders of the data that are rebuilt from the database."""

_ADDRESS_FIELDS = frozenset({"url", "key_variable", "options"})
"""Fields of a model's recipe that name a provider and its key."""


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """The restored content; `replaced` is the folder with the former files, None where there were none."""

    counts: Mapping[str, int] = field(default_factory=dict)
    schemas: Mapping[str, int] = field(default_factory=dict)
    replaced: Path | None = None


def restore(
    path: Path,
    catalog: Catalog,
    places: Places,
    *,
    open_store: Callable[[], Store],
    usable: Callable[[Path], None],
    agree: Callable[[Source], None],
    dry_run: bool = False,
    busy_timeout: float,
    now: datetime,
    progress: Progress,
) -> RestoreResult:
    """Verify a backup and restore it, keeping the replaced files.

    `agree` gets the verified backup, and raises to cancel. A dry run ends there. The catalog must not be in
    use by this process. See `verify` and `put_in_place` for the errors.

    An archive with an export, because its home had a shared database, is imported into an empty memory only:
    a shared database is restored with its own tools. Raises UsageError for these two.
    """
    parent = places.data if places.data.is_dir() else None
    if not dry_run:
        places.data.mkdir(mode=0o700, parents=True, exist_ok=True)
        parent = places.data
    with workspace(parent or Path(tempfile.gettempdir())) as desk:
        source = verify(path, desk, usable=usable)
        if source.export is None and catalog.database.path is None:
            raise UsageError(
                f'"{path}" holds a database, and this memory is in "{catalog.database.place}"',
                hint="restore it into a home of its own, then `ragmem store migrate --to postgres` there",
            )
        if source.export is not None and catalog.exists():
            catalog.prepare()
            if Contents(catalog.database).counts()["memories"]:
                raise UsageError(
                    f'"{path}" holds an export, and "{catalog.database.place}" is not empty',
                    hint="restore it into an empty home, or restore the server's own backup",
                )
        agree(source)
        if dry_run:
            return RestoreResult(source.counts, source.schemas)
        if source.export is not None:
            with ExportReader(source.export) as reader:
                import_export(catalog, open_store, reader, keep="incoming", now=now, progress=progress)
            return RestoreResult(source.counts, source.schemas)
        return put_in_place(source, places, busy_timeout=busy_timeout, label=path.name, now=now)


def put_in_place(
    source: Source, places: Places, *, busy_timeout: float, label: str, now: datetime
) -> RestoreResult:
    """Switch the home to a verified backup that holds a database.

    Raises StoreBusyError where another process reads or writes for longer than `busy_timeout` seconds, and
    StorageError where the ragmem home cannot be written; nothing has changed then.
    """
    fresh = source.database
    _prepare_database(fresh.parent, label, now, trusted=source.config is not None)
    with (
        os_errors_as(
            StorageError,
            f'restore into "{places.data}"',
            hint="check free space and permissions; the memory is the former one or the restored one",
        ),
        turn(places.data / LOCK_NAME, timeout=busy_timeout),
    ):
        replaced = _keep_aside(places, with_config=source.config is not None, now=now, patience=busy_timeout)
        _drop_derived(places.data)
        present = places.data / DATABASE_NAME
        # Its content is in the file or in the copy; beside the new file it would be taken for its log.
        remove_log(present)
        fresh.replace(present)
        sync(places.data)
        _drop_derived(places.data)
        if source.config is not None:
            _switch_config(places.config, source.config)
        _prune(folder_of(places))
    return RestoreResult(source.counts, source.schemas, replaced)


def _prepare_database(folder: Path, label: str, now: datetime, *, trusted: bool) -> None:
    """Add the restore to the log of the new database, and leave one durable file."""
    catalog = Catalog.at(folder)
    catalog.prepare()
    if not trusted and (active := catalog.models.read(ACTIVE)) is not None:
        # It may come from a stranger: it must not choose where questions and keys of this machine are sent.
        recipe = {name: value for name, value in active.recipe.items() if name not in _ADDRESS_FIELDS}
        catalog.models.write(ACTIVE, replace(active, recipe=recipe))
    catalog.log.write("restore", {"from": label}, now=now)
    catalog.close()
    fold_log(folder / DATABASE_NAME)
    sync(folder / DATABASE_NAME)


def _keep_aside(places: Places, *, with_config: bool, now: datetime, patience: float) -> Path | None:
    """Copy the present database and configuration into a new folder; return it, None without a database."""
    present = places.data / DATABASE_NAME
    if not present.is_file():
        return None
    _fold_present(present, patience)
    backups = folder_of(places)
    backups.mkdir(mode=0o700, exist_ok=True)
    for left in backups.glob(f".{REPLACED}*"):
        # Left by a killed restore: in the queue there is no other one.
        shutil.rmtree(left)
    name = f"{REPLACED}{moment_name(now)}"
    number = 1
    while (backups / name).exists():
        number += 1
        name = f"{REPLACED}{moment_name(now)}-{number}"
    draft = backups / f".{name}"
    draft.mkdir(mode=0o700)
    # A hard link keeps the file for its readers, and costs nothing.
    try:
        os.link(present, draft / DATABASE_NAME)
    except OSError:
        shutil.copy2(present, draft / DATABASE_NAME)
    log = log_of(present)
    if log.is_file() and log.stat().st_size:
        shutil.copy2(log, draft / log.name)
    if with_config:
        (draft / "config").mkdir(mode=0o700)
        for file in CONFIG_FILES:
            if (places.config / file).is_file():
                shutil.copy2(places.config / file, draft / "config" / file)
    for path in (*draft.rglob("*"), draft):
        sync(path)
    draft.rename(backups / name)
    sync(backups)
    return backups / name


def _prune(backups: Path) -> None:
    kept = sorted(backups.glob(f"{REPLACED}*"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
    for path in kept[MAX_REPLACED:]:
        shutil.rmtree(path)


def _fold_present(present: Path, patience: float) -> None:
    """Write the log of the database into its file; a damaged database stays as it is."""
    try:
        emptied = empty_log(present, patience=patience)
    except StoreDamagedError:
        # Damage may be the reason for the restore: the log is copied with the file.
        return
    if not emptied:
        raise StoreBusyError(
            f"another process has been reading for {patience:g} s", hint="end it, then restore again"
        )


def _drop_derived(data: Path) -> None:
    for name in DERIVED:
        with suppress(FileNotFoundError):
            shutil.rmtree(data / name)


def _switch_config(folder: Path, config: Config) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in CONFIG_FILES:
        if name in config:
            with new_file(folder / name, force=True) as file:
                file.write(config[name])
        else:
            (folder / name).unlink(missing_ok=True)
    sync(folder)
