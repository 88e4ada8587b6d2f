"""What lies in the inbox of a home, for people: how much waits, since when, and what could not be read."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ragmem.errors import SourceError, StorageError
from ragmem.inbox import ASIDE, folder_in, reading
from ragmem.services.ingestion.inbox_drafts import draft_of_write


@dataclass(frozen=True, slots=True)
class Waiting:
    """What lies in an inbox: how many writes, since when, and what was set aside, with the reason."""

    writes: int = 0
    since: datetime | None = None
    aside: tuple[tuple[Path, str], ...] = ()


def waiting(data: Path) -> Waiting:
    """Return what lies in the inbox of a home; nothing is changed. Raises StorageError."""
    folder = Path(folder_in(data))
    names = names_in(folder)
    since = None
    if names:
        try:
            since = datetime.fromtimestamp((folder / names[0]).lstat().st_mtime, UTC)
        except FileNotFoundError:  # taken in since
            names = names_in(folder)
    aside = folder / ASIDE
    found = sorted(aside.iterdir()) if aside.is_dir() else []
    return Waiting(len(names), since, tuple((path, _problem(path)) for path in found))


def names_in(folder: Path) -> list[str]:
    """Return the files that wait, in the order in which they were written; raises StorageError."""
    try:
        return reading.waiting(str(folder))
    except OSError as error:
        raise StorageError(
            f'cannot read "{folder}": {(error.strerror or str(error)).lower()}',
            hint="it must be a folder that is yours: move away what is there",
        ) from error


def _problem(path: Path) -> str:
    try:
        draft_of_write(reading.read(str(path)))
    except SourceError as error:
        return str(error)
    except OSError as error:
        return (error.strerror or str(error)).lower()
    return "it can be read: move it back into the folder above"
