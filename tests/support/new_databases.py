"""Gives a new home of the tests its tables as a copy of a database whose migrations ran once in this process.

All steps of the schema take longer than the rest of opening a home. The real `prepare` runs after the copy.
What is written is not waited for until the disk has it: tests write little, and very often.
"""

import contextlib
import os
import tempfile
from functools import cache
from pathlib import Path

from ragmem.storage.home.catalog import Catalog
from ragmem.storage.sql import sqlite_connect
from ragmem.storage.sql.sqlite import SQLiteDatabase

take_all_steps = Catalog.prepare
"""The method of ragmem itself."""

open_to_write = sqlite_connect._open_to_write
"""The function of ragmem itself."""


def install() -> None:
    """Let `Catalog.prepare` copy, in this process, where there is no database yet; and wait for no disk."""
    Catalog.prepare = _prepare
    sqlite_connect._open_to_write = _open_to_write
    os.fsync = lambda _: None


def _open_to_write(*arguments) -> sqlite_connect.OpenFile:
    opened = open_to_write(*arguments)
    # Nobody needs these databases after a power cut; a killed process loses nothing by it.
    if not opened.obstacle:
        opened.connection.execute("PRAGMA synchronous=OFF")
    return opened


def _prepare(catalog: Catalog) -> None:
    database = catalog.database
    if isinstance(database, SQLiteDatabase):
        # What cannot be copied is left to ragmem, which says why it cannot be written. A log without its
        # file is too.
        with contextlib.suppress(OSError):
            if not any(Path(f"{database.path}{end}").exists() for end in ("", "-wal", "-shm")):
                _place(database.path)
    take_all_steps(catalog)


def _place(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, name = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_template())
        os.link(name, path)  # fails where another thread or process was first
    finally:
        os.unlink(name)  # noqa: PTH108 - tests make methods of Path fail


@cache
def _template() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        made = Catalog.at(Path(folder))
        take_all_steps(made)
        made.close()
        return made.database.path.read_bytes()
