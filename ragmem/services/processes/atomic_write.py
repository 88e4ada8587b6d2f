"""Write files atomically, readable by their owner only."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ragmem.config.folders import sync
from ragmem.errors import StorageError, UsageError, os_errors_as
from ragmem.services.processes.workspace import workspace


def place_for(path: Path, *, force: bool) -> Path:
    """Return the real path of a new file; raises UsageError if it is not allowed there."""
    place = path.resolve()
    if not place.parent.is_dir():
        raise UsageError(f'there is no folder "{path.parent}"', hint="make it, or give another path")
    if place.is_dir():
        raise UsageError(f'"{path}" is a folder', hint="give the name of a file in it")
    if place.exists() and not place.is_file():
        raise UsageError(f'"{path}" is not a regular file', hint="give the name of a new file")
    if place.exists() and not force:
        raise UsageError(f'there is a file "{path}" already', hint="look at it, and name another file")
    return place


@contextmanager
def new_file(path: Path, *, force: bool = False) -> Iterator[IO[bytes]]:
    """Open a temporary file that is renamed to its final name at the end of the block.

    Then it is durable under its name. Raises UsageError if that exists and not `force`, StorageError if it
    cannot be written.
    """
    place = place_for(path, force=force)
    with (
        os_errors_as(StorageError, f'write "{path}"', hint="check free space and permissions"),
        workspace(place.parent) as desk,
    ):
        draft = desk / place.name
        with open(draft, "x+b", opener=_privately) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        place_for(path, force=force)
        draft.replace(place)
        sync(place.parent)


def _privately(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
