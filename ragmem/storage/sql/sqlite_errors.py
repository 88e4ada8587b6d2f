"""Translate errors of SQLite for people."""

import errno
import os
import sqlite3
from pathlib import Path

from ragmem.errors import RagmemError, RejectionError, StorageError, StoreBusyError, StoreDamagedError

_DAMAGED = ("malformed", "not a database", "corrupt", "database schema has changed", "could not decode")
_BUSY = ("locked", "busy")
_UNWRITABLE = ("readonly", "read-only", "full", "unable to open", "disk i/o")
_OF_VALUES = (sqlite3.DataError, sqlite3.IntegrityError, sqlite3.InterfaceError)
_PAGE = 4096


def translate(error: sqlite3.Error, path: Path) -> RagmemError:
    """Return the RagmemError for a SQLite error."""
    # The rest of the message is the text that could not be decoded, perhaps a whole memory.
    problem = str(error).partition(" with text ")[0]
    text = problem.lower()
    if any(word in text for word in _DAMAGED):
        return _damage_error(path, problem)
    if any(word in text for word in _BUSY):
        return StoreBusyError(
            f'the database "{path}" is locked by another process', hint="try again in a moment"
        )
    if any(word in text for word in _UNWRITABLE):
        return StorageError(
            f'cannot {"open" if "unable to open" in text else "write"} "{path}": {_cause(path) or problem}',
            hint="check free space and permissions, or set RAGMEM_HOME to another folder",
        )
    if isinstance(error, _OF_VALUES) or "binding" in text:
        return RejectionError(
            f'the database "{path}" rejects a value: {problem}', hint="please report it, with the stored text"
        )
    if isinstance(error, sqlite3.DatabaseError) and not isinstance(
        error, sqlite3.OperationalError | sqlite3.IntegrityError | sqlite3.ProgrammingError
    ):
        return _damage_error(path, problem)
    return StorageError(
        f'the database "{path}" failed: {problem}', hint="please report it, with the command that failed"
    )


def _cause(path: Path) -> str:
    """Return the cause of an I/O error or a file that cannot be opened, if the system knows it."""
    try:
        room = os.statvfs(path.parent)
        os.close(os.open(path.parent, os.O_RDONLY))
    except OSError as error:
        return "too many open files" if error.errno in {errno.EMFILE, errno.ENFILE} else ""
    # Without a page left, the log or the index of the log could not grow.
    return "database or disk is full" if room.f_bavail * room.f_frsize < _PAGE else ""


def _damage_error(path: Path, problem: str) -> StoreDamagedError:
    return StoreDamagedError(
        f'the database "{path}" is damaged: {problem}',
        hint="restore a backup: `ragmem doctor` names the newest; --repair saves readable memories",
    )


def removal_error(path: Path) -> StorageError:
    """Return the error for a database that is gone while somebody has it open."""
    return StorageError(
        f'"{path}" was removed while it was open',
        hint="put it back, or restart the programs that use it, such as `ragmem serve`",
    )
