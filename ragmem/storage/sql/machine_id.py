"""Distinguish the machines that share one database: paths belong to a machine, memories to all."""

import os
from pathlib import Path

from ragmem.errors import StorageError
from ragmem.storage.sql.database import Database

FILE_NAME = "machine-id"
_SEPARATOR = ":"


def machine_of(database: Database) -> str:
    """Return this machine's id, created on first use; an empty text for a local database.

    The id is stored in the home's data folder: two homes on one computer are two machines. Raises
    StorageError where it cannot be stored.
    """
    return "" if database.dialect == "sqlite" else _read_or_make_id(database.home / FILE_NAME)


def prefix_of(database: Database) -> str:
    """Return the prefix of this machine's paths in the tables `files` and `project_paths`."""
    machine = machine_of(database)
    return machine and machine + _SEPARATOR


def without_machine(path: str) -> str:
    """Return a path without the prefix of its machine; only for shared databases."""
    return path.partition(_SEPARATOR)[2]


def _read_or_make_id(path: Path) -> str:
    import secrets  # noqa: PLC0415 - a local database needs no id

    try:
        for _ in range(2):
            if path.is_file() and (known := path.read_text(encoding="ascii").strip()):
                return known
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            made = path.with_name(f"{FILE_NAME}.{secrets.token_hex(4)}")
            made.touch(mode=0o600)
            made.write_text(secrets.token_hex(8) + "\n", encoding="ascii")
            try:
                # Of several processes one wins, and all of them read what it wrote.
                os.link(made, path)
            except FileExistsError:
                pass
            finally:
                made.unlink()
    except (OSError, ValueError) as error:
        raise StorageError(
            f'cannot store this machine\'s id in "{path}": {error}',
            hint="a shared store needs a writable home for local data",
        ) from error
    raise StorageError(f'the machine\'s id in "{path}" is empty', hint="remove the file")
