"""Take out of a database's files what was deleted from its tables: freed pages, and the log."""

import sqlite3

from ragmem.storage.sql.fair_lock import turn
from ragmem.storage.sql.sqlite import SQLiteDatabase
from ragmem.storage.sql.sqlite_errors import translate

PATIENCE = 10.0
"""Seconds that readers of an older state are waited for: while one reads, the log cannot be emptied."""


def empty_of_deleted(database: SQLiteDatabase) -> bool:
    """Write the file anew without what was deleted, and empty its log; return whether the log is empty.

    Others go on reading meanwhile, and writers wait. Raises StoreBusyError, StorageError where there is no
    room for it (as much again as the file has), StoreDamagedError.
    """
    with turn(database.lock, timeout=database.busy_timeout):
        connection = database.connection()
        try:
            connection.execute("PRAGMA secure_delete = ON")
            # In a file: a memory of a gigabyte need not be held by a process of as much.
            connection.execute("PRAGMA temp_store = FILE")
            connection.execute("VACUUM")
            connection.execute("PRAGMA temp_store = MEMORY")
            connection.execute(f"PRAGMA busy_timeout = {int(PATIENCE * 1000)}")
            (busy, *_) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            connection.execute(f"PRAGMA busy_timeout = {int(database.busy_timeout * 1000)}")
        except sqlite3.Error as error:
            raise translate(error, database.path) from error
    return not busy
