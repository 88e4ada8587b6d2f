"""Settings files of other programs: read whole, and replaced atomically unless somebody changed them."""

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ragmem.config.folders import replace_file, sync
from ragmem.errors import ConfigError, StorageError, os_errors_as, os_reason

MAX_BYTES = 5_000_000
"""Bytes of the largest settings file."""


class ChangedMeanwhileError(Exception):
    """Somebody has changed the file since it was read."""


def read_settings(path: Path) -> str | None:
    """Return a file's text, its byte order mark and line ends included; None where there is no such file.

    Raises ConfigError if it is not a file, not UTF-8, too large, or cannot be read.
    """
    try:
        if not path.exists():
            if path.is_symlink():
                raise ConfigError(f'"{path}" is a broken link', hint="fix the link, or remove it")
            return None
        if not path.is_file():
            raise ConfigError(f'"{path}" is not a file', hint="move it aside")
        if path.stat().st_size > MAX_BYTES:
            raise ConfigError(f'"{path}" is larger than {MAX_BYTES:,} bytes', hint="check its contents")
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise ConfigError(
            f'"{path}" is not UTF-8 (byte {error.start})', hint="save the file as UTF-8"
        ) from error
    except OSError as error:
        raise ConfigError(
            f'cannot read "{path}": {os_reason(error)}', hint="check its permissions"
        ) from error


def replace_settings(path: Path, before: str | None, after: str | None) -> None:
    """Replace `before` by `after`; None means no file. The file keeps its mode, a link stays a link.

    Raises ChangedMeanwhileError where the file has changed, StorageError where it cannot be written; then it
    stays unchanged.
    """
    place = path.resolve()
    with os_errors_as(
        StorageError, f'write "{path}"', hint="`--dry-run` shows the change, so that you can make it manually"
    ):
        place.parent.mkdir(parents=True, exist_ok=True)
        with _lock(place.parent):
            if read_settings(path) != before:
                raise ChangedMeanwhileError
            if after is None:
                place.unlink()
                sync(place.parent)
            else:
                # It may hold keys: only the owner can read it, unless the person has decided otherwise.
                mode = stat.S_IMODE(place.stat().st_mode) if place.exists() else 0o600
                replace_file(place, after.encode(), mode=mode)


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Lock a folder against other processes of ragmem, whichever home they have; leaves no file behind."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def missing_folders(path: Path) -> list[Path]:
    """Return the folders that writing a file would create, the innermost first."""
    return [folder for folder in path.resolve().parents if not folder.exists()]


def remove_empty(folders: list[Path]) -> None:
    """Remove those of the folders that are empty."""
    for folder in folders:
        with suppress(OSError):  # somebody has put something into it, or it is gone
            folder.rmdir()
