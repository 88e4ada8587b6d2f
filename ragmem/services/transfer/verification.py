"""Extract a backup and check all of it: hashes, pages, counts, and whether this ragmem can use it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ragmem.errors import NotFoundError, SourceError, StoreDamagedError, UsageError
from ragmem.services.transfer.backup_file import CONFIG_FILES, DATABASE, EXPORT, read_archive
from ragmem.storage.maintenance.summary import read_summary
from ragmem.storage.sql.backups import copy_database
from ragmem.storage.sql.sqlite import DATABASE_NAME
from ragmem.storage.sql.sqlite_files import integrity_check_of

_SQLITE = b"SQLite format 3\0"
_GZIP = b"\x1f\x8b"

Config = Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Source:
    """An extracted and verified backup: a database or an export, and the configuration (None: none)."""

    folder: Path
    counts: Mapping[str, int]
    schemas: Mapping[str, int]
    config: Config | None = None

    @property
    def database(self) -> Path:
        """The path of the database."""
        return self.folder / DATABASE

    @property
    def export(self) -> Path | None:
        """The path of the export that replaces a database other than SQLite."""
        path = self.folder / EXPORT
        return path if path.exists() else None


def verify(path: Path, desk: Path, *, usable: Callable[[Path], None]) -> Source:
    """Extract a backup into a folder and check all of it: hashes, pages, schema, counts.

    It may be an archive, a database, or a folder that a restore has set aside. `usable` gets the folder of
    the database and raises StoreDamagedError where this ragmem cannot use it. Raises StoreDamagedError for a
    backup that is damaged or was written by a newer ragmem.
    """
    config: Config | None = None
    manifest = None
    (desk / "data").mkdir(mode=0o700)
    if path.is_dir():
        if not (path / DATABASE_NAME).is_file():
            raise UsageError(f'the folder "{path}" holds no {DATABASE_NAME}', hint="ragmem backup --list")
        copy_database(path / DATABASE_NAME, desk / DATABASE)
        config = _config_in(path / "config")
    else:
        head = _head(path)
        if head.startswith(_GZIP):
            manifest = read_archive(path, desk)
            config = _config_in(desk / "config")
        elif head == _SQLITE:
            copy_database(path, desk / DATABASE)
        else:
            raise StoreDamagedError(
                f'"{path}" is not a backup: neither an archive nor a database',
                hint="`ragmem import` takes an export; `ragmem backup --list` names the backups",
            )
    if manifest is not None and not manifest.has_database:
        return Source(desk, manifest.counts, manifest.schemas, config)
    schemas, counts = read_summary(desk / DATABASE, name=path)
    if problems := integrity_check_of(desk / DATABASE):
        raise StoreDamagedError(
            f'the database in "{path}" is damaged: {problems[0]}',
            hint="`ragmem backup --list` names the others; nothing was changed",
        )
    if manifest is not None and dict(manifest.counts) != counts:
        raise StoreDamagedError(
            f'"{path}" does not have the counts of its manifest', hint="ragmem backup --list"
        )
    usable(desk / "data")
    return Source(desk, counts, schemas, config)


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE))
    except FileNotFoundError:
        raise NotFoundError(
            f'there is no file "{path}"', hint="`ragmem backup --list` names the backups"
        ) from None
    except OSError as error:
        raise SourceError(f'cannot read "{path}": {(error.strerror or "").lower()}') from error


def _config_in(folder: Path) -> Config:
    return {name: (folder / name).read_bytes() for name in CONFIG_FILES if (folder / name).is_file()}
