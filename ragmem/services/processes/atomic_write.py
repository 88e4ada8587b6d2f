"""Write files atomically, readable by their owner only, and large ones beside their final place."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ragmem.config.folders import sync
from ragmem.errors import StorageError, UsageError, os_errors_as
from ragmem.storage.sql.fair_lock import take


def place_for(path: Path, *, force: bool) -> Path:
    """Return the real path of a new file; raises UsageError if it is not allowed there."""
    place = path.resolve()
    if not place.parent.is_dir():
        raise UsageError(f'there is no folder "{path.parent}"', hint="create it, or give another path")
    if place.is_dir():
        raise UsageError(f'"{path}" is a folder', hint="give the name of a file in it")
    if place.exists() and not place.is_file():
        raise UsageError(f'"{path}" is not a regular file', hint="give the name of a new file")
    if place.exists() and not force:
        raise UsageError(f'the file "{path}" already exists', hint="check it, and name another file")
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
        with open(draft, "x+b", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        place_for(path, force=force)
        draft.replace(place)
        sync(place.parent)


PREFIX = ".ragmem-unfinished-"
"""Only ragmem uses it: whatever has this prefix, in any folder that is written to, is removed."""


@contextmanager
def workspace(parent: Path) -> Iterator[Path]:
    """Give an empty private folder in `parent`, which is removed when the block ends.

    Folders of killed processes are removed first: a living process holds the lock of its folder.
    """
    for left in parent.glob(f"{PREFIX}*"):
        descriptor = _lock(left)
        if descriptor is not None:
            shutil.rmtree(left, ignore_errors=True)
            os.close(descriptor)
    descriptor = None
    while descriptor is None:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        # Another process may have removed the folder already.
        descriptor = _lock(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def _lock(folder: Path) -> int | None:
    """Return the descriptor that holds a folder's lock until it is closed; None if it is unavailable."""
    try:
        return take(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
