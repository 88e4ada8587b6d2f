"""A temporary folder beside the final place of a large file; those of killed processes are removed."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), folder.stat()):
            return descriptor
    except OSError:
        # Somebody else holds it, or has removed the folder.
        os.close(descriptor)
        return None
    os.close(descriptor)
    return None
