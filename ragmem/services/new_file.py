"""A file that appears under its name only when it is whole, readable by its owner alone."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ragmem.errors import StorageError, UsageError

SUFFIX = ".part"


def place_for(path: Path, *, force: bool) -> Path:
    """Return where a new file of this name would really lie; raises UsageError where it must not."""
    place = path.resolve()
    if not place.parent.is_dir():
        raise UsageError(f'there is no folder "{path.parent}"', hint="make it, or give another path")
    if place.is_dir():
        raise UsageError(f'"{path}" is a folder', hint="give the name of a file in it")
    if place.exists() and not place.is_file():
        raise UsageError(f'"{path}" is not a regular file', hint="give a path, or - for standard output")
    if place.exists() and not force:
        raise UsageError(f'there is a file "{path}" already', hint="say --force to replace it")
    return place


@contextmanager
def new_file(path: Path, *, force: bool = False) -> Iterator[IO[bytes]]:
    """Give a file to write; it gets its name, durably, when the block ends, and is gone when it raises.

    Raises UsageError when the name is taken and not `force`, StorageError when it cannot be written.
    """
    place = place_for(path, force=force)
    draft = None
    try:
        # mkstemp gives 0600 from the first byte.
        descriptor, name = tempfile.mkstemp(prefix=f".{place.name}.", suffix=SUFFIX, dir=place.parent)
        draft = Path(name)
        with os.fdopen(descriptor, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        place_for(path, force=force)
        draft.replace(place)
        sync(place.parent)
    except OSError as error:
        raise StorageError(
            f'cannot write "{path}": {(error.strerror or str(error)).lower()}',
            hint="check free space and permissions",
        ) from error
    finally:
        if draft is not None:
            draft.unlink(missing_ok=True)


def sync(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
