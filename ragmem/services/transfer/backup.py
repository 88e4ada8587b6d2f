"""Back the home up into one archive, verified by reading it back; list the backups."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from ragmem import __version__
from ragmem.config.places import Places
from ragmem.errors import StorageError, StoreDamagedError, os_errors_as
from ragmem.services.processes.atomic_write import new_file, place_for, workspace
from ragmem.services.processes.progress import Progress, Silent
from ragmem.services.transfer.backup_file import (
    CONFIG_FILES,
    DATABASE,
    EXPORT,
    Manifest,
    part_of,
    read_archive,
    read_manifest,
    write_archive,
)
from ragmem.services.transfer.exporter import export_file
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.maintenance.summary import read_summary
from ragmem.storage.sql.backups import FOLDER, copy_database
from ragmem.storage.sql.sqlite import DATABASE_NAME

PREFIX = "ragmem-"
SUFFIX = ".tar.gz"
REPLACED = "replaced-"
"""Prefix of the folders that keep what a restore has replaced."""


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup; `problem` says why its content is unknown."""

    path: Path
    at: datetime
    bytes: int
    schemas: Mapping[str, int]
    counts: Mapping[str, int]
    problem: str = ""


def folder_of(places: Places) -> Path:
    """Return the default folder of backups."""
    return places.data / FOLDER


def moment_name(now: datetime) -> str:
    """Return a moment as a part of a file name."""
    return now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")


def back_up(
    catalog: Catalog,
    places: Places,
    *,
    profile: str,
    target: Path | None = None,
    force: bool = False,
    now: datetime,
    progress: Progress,
) -> Backup:
    """Write the home into an archive that only its owner can read, and return it as it was read back.

    The database is copied consistently while others write; the files of vectors are left out, because they
    are made anew from it, and so are locks and tokens. A database other than SQLite is exported. Raises
    UsageError where the target exists and not `force`, StorageError where it cannot be written,
    StoreDamagedError where the database is damaged.
    """
    if target is None:
        folder = folder_of(places)
        with os_errors_as(
            StorageError, f'make the folder "{folder}"', hint="name another place: ragmem backup FILE"
        ):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        target = _free_name(folder, now)
    place = place_for(target, force=force)
    progress.begin("back up", 4)
    with (
        os_errors_as(
            StorageError,
            f'back up to "{place.parent}"',
            hint="check free space and permissions, or name another place: ragmem backup FILE",
        ),
        workspace(place.parent) as desk,
    ):
        manifest, files = _collect(catalog, places, desk, profile=profile, now=now, progress=progress)
        progress.advance()
        with new_file(target, force=force) as file:
            write_archive(file, manifest, files)
            progress.advance()
            file.flush()
            # Before it gets its name: an unreadable file never looks like a backup.
            if read_archive(Path(file.name)) != manifest:
                raise StoreDamagedError(f'"{target}" differs from what was written', hint="check the disk")
        progress.advance()
    return describe(target)


def _free_name(folder: Path, now: datetime) -> Path:
    name = f"{PREFIX}{moment_name(now)}"
    candidate = folder / f"{name}{SUFFIX}"
    number = 1
    while candidate.exists():
        number += 1
        candidate = folder / f"{name}-{number}{SUFFIX}"
    return candidate


def _collect(
    catalog: Catalog, places: Places, desk: Path, *, profile: str, now: datetime, progress: Progress
) -> tuple[Manifest, dict[str, Path]]:
    """Collect the files of a backup; return the manifest and the path of each file.

    Messages of agents are left out: after a restore they would be delivered again, orders to stop included.
    """
    files: dict[str, Path] = {}
    if catalog.database.path:
        files[DATABASE] = desk / DATABASE_NAME
        copy_database(catalog.database.path, files[DATABASE])
        schemas, counts = read_summary(files[DATABASE])
    else:
        files[EXPORT] = desk / "memory.jsonl"
        counts = dict(export_file(catalog, files[EXPORT], now=now, progress=Silent()).counts)
        schemas = {}
    progress.advance()
    for name in CONFIG_FILES:
        path = places.config / name
        if path.is_file():
            # Copied first, so that the hashed bytes are the written ones.
            copy = desk / name
            copy.write_bytes(path.read_bytes())
            files[f"config/{name}"] = copy
    parts = tuple(part_of(name, path) for name, path in files.items())
    return Manifest(__version__, now.astimezone(UTC), profile, schemas, counts, parts), files


def describe(path: Path) -> Backup:
    """Describe an archive, a database or a folder with one, even a damaged one."""
    file = path / DATABASE_NAME if path.is_dir() else path
    status = file.stat()
    found = Backup(path, datetime.fromtimestamp(status.st_mtime, UTC), status.st_size, {}, {})
    try:
        if file.name.endswith(SUFFIX):
            manifest = read_manifest(file)
            return replace(found, at=manifest.created_at, schemas=manifest.schemas, counts=manifest.counts)
        schemas, counts = read_summary(file)
    except StoreDamagedError as error:
        return replace(found, problem=str(error))
    return replace(found, schemas=schemas, counts=counts)


def backups(places: Places) -> list[Backup]:
    """Return the backups of a home, the latest first, including copies made before a migration."""
    return sorted(
        (describe(path) for path in _paths(folder_of(places))), key=lambda one: one.at, reverse=True
    )


def _paths(folder: Path) -> Iterator[Path]:
    if not folder.is_dir():
        return
    for path in folder.iterdir():
        whole = path.name.endswith(SUFFIX) or path.suffix == ".db"
        if (whole and path.is_file()) or (
            path.name.startswith(REPLACED) and (path / DATABASE_NAME).is_file()
        ):
            yield path


def prune(places: Places, keep: int) -> list[Path]:
    """Remove all but the latest archives of a home and return the removed ones; other files stay."""
    archives = sorted(folder_of(places).glob(f"{PREFIX}*{SUFFIX}"), key=_age, reverse=True)
    for path in archives[keep:]:
        path.unlink()
    return archives[keep:]


def _age(path: Path) -> tuple[str, int, str]:
    """Return a sort key: the moment in the name of an archive, then its number within a second."""
    moment, _, number = path.name.removeprefix(PREFIX).removesuffix(SUFFIX).partition("-")
    return moment, int(number) if number.isdecimal() else 0, path.name
