"""Settings of other programs: read whole, and replaced at once or not at all if nobody has changed them."""

import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ragmem.errors import ConfigError, StorageError
from ragmem.services.processes.atomic_write import sync

LARGEST = 5_000_000
"""Bytes; beyond that it is no settings file."""


class ChangedMeanwhileError(Exception):
    """Somebody has changed the file since it was read."""


def read_settings(path: Path) -> str | None:
    """Return a file's text, its byte order mark and line ends included; None where there is no such file.

    Raises ConfigError if it is not a file, not UTF-8, too large, or cannot be read.
    """
    try:
        if not path.exists():
            if path.is_symlink():
                raise ConfigError(
                    f'"{path}" is a link that leads nowhere', hint="mend the link, or remove it"
                )
            return None
        if not path.is_file():
            raise ConfigError(f'"{path}" is not a file', hint="move it away")
        if path.stat().st_size > LARGEST:
            raise ConfigError(f'"{path}" is larger than {LARGEST:,} bytes', hint="look at what is in it")
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise ConfigError(
            f'"{path}" is not UTF-8 (byte {error.start})', hint="save the file as UTF-8"
        ) from error
    except OSError as error:
        raise ConfigError(f'cannot read "{path}": {_reason(error)}', hint="check its permissions") from error


def replace_settings(path: Path, before: str | None, after: str | None) -> None:
    """Put `after` in the place of `before`; None is no file. The file keeps its mode, a link stays a link.

    Raises ChangedMeanwhileError where the file is no longer as it was, StorageError where it cannot be
    written; then it is as it was.
    """
    place = path.resolve()
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with _alone(place.parent):
            if read_settings(path) != before:
                raise ChangedMeanwhileError
            if after is None:
                place.unlink()
            else:
                _write(place, after)
            sync(place.parent)
    except OSError as error:
        raise StorageError(
            f'cannot write "{path}": {_reason(error)}',
            hint="`--dry-run` shows the change, for you to make it by hand",
        ) from error


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other processes of ragmem out of a folder, whichever home they have; nothing is left behind."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _write(place: Path, text: str) -> None:
    descriptor, draft = tempfile.mkstemp(prefix=f".{place.name}-", dir=place.parent)
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123 - it is open already
            file.write(text.encode())
            file.flush()
            os.fsync(descriptor)
            # What may hold keys is its owner's alone, unless the person has decided otherwise.
            os.fchmod(descriptor, stat.S_IMODE(place.stat().st_mode) if place.exists() else 0o600)
        Path(draft).replace(place)
    finally:
        with suppress(FileNotFoundError):  # it is in its place
            Path(draft).unlink()


def made_folders(path: Path) -> list[Path]:
    """Return the folders that writing a file would make, the innermost first."""
    return [folder for folder in path.resolve().parents if not folder.exists()]


def remove_empty(folders: list[Path]) -> None:
    """Remove those of the folders that are empty."""
    for folder in folders:
        with suppress(OSError):  # somebody has put something into it, or it is gone
            folder.rmdir()


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
