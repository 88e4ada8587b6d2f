"""Verified copies of the database before risky operations; a few of them are kept."""

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from ragmem.config.folders import sync
from ragmem.errors import StorageError, StoreDamagedError, os_errors_as
from ragmem.storage.sql.sqlite_connect import open_to_read
from ragmem.storage.sql.sqlite_errors import translate
from ragmem.storage.sql.sqlite_files import integrity_check, log_of

FOLDER = "backups"
"""Below the home's data folder."""

KEPT = 3
"""Copies of each kind that are kept."""

ALL, OF_MIGRATIONS, OF_REPAIRS = "before-*.db", "before-*-schema-*.db", "before-repair-*.db"
"""The kinds of copies, by the names of their files."""


def copy_database(source: Path, target: Path, *, verified: bool = True) -> None:
    """Copy the committed state of a database, which may be in use, to a file that only its owner can read.

    The copy appears when it is complete and (if `verified`) checked; an existing file is replaced. Raises
    StorageError when it cannot be written, StoreDamagedError when it is damaged.
    """
    unfinished = target.with_name(f"{target.name}.part")
    try:
        unfinished.unlink(missing_ok=True)
        os.close(os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        opened = open_to_read(source)
        with closing(opened.connection) as read, closing(sqlite3.connect(unfinished)) as written:
            read.backup(written)
            # Such a connection sees neither the log nor what is written meanwhile.
            if opened.immutable and (log_of(source).exists() or not opened.is_current()):
                raise sqlite3.OperationalError("it is being written, and its log cannot be read")
            # A single file without a -wal.
            written.execute("PRAGMA journal_mode = DELETE")
            problems = integrity_check(written, limit=20) if verified else []
            # Full text is derived; some versions of SQLite check it here, others do not.
            problems = [line for line in problems if "FTS5" not in line]
        if problems:
            raise StoreDamagedError(
                f'the database "{source}" is damaged: {problems[0]}',
                hint="see ragmem doctor",
            )
        sync(unfinished)
        unfinished.replace(target)
        sync(target.parent)
    except (sqlite3.Error, OSError) as error:
        if isinstance(error, sqlite3.Error):
            meaning = translate(error, source)
            if isinstance(meaning, StoreDamagedError):
                raise meaning from error
        problem = str(error if isinstance(error, sqlite3.Error) else error.strerror).lower()
        raise StorageError(
            f'cannot back up "{source}" to "{target.parent}": {problem}',
            hint="check free space and permissions; nothing was changed",
        ) from error
    finally:
        unfinished.unlink(missing_ok=True)


def back_up(database: Path, label: str, *, sort: str = ALL, verified: bool = True) -> Path:
    """Copy a database into its backup folder as `<label>-<UTC time>.db`; keep three of the kind."""
    folder = database.parent / FOLDER
    with os_errors_as(StorageError, f'make the folder "{folder}"', hint="check its permissions"):
        folder.mkdir(mode=0o700, exist_ok=True)
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    target = folder / f"{label}-{moment}.db"
    count = 1
    while target.exists():
        count += 1
        target = folder / f"{label}-{moment}-{count}.db"
    copy_database(database, target, verified=verified)
    for old in backups(database, sort)[KEPT:]:
        if old != target:
            old.unlink(missing_ok=True)
    return target


def backups(database: Path, sort: str = ALL) -> list[Path]:
    """Return the copies that `back_up` made of a database, the latest first."""
    found = (database.parent / FOLDER).glob(sort)
    return sorted(found, key=lambda path: (path.stat().st_mtime_ns, path.name), reverse=True)
