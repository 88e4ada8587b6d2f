"""The status of the inbox, for people: how much waits, since when, and what could not be read."""

from datetime import UTC, datetime
from pathlib import Path

from ragmem.errors import SourceError, StorageError, os_errors_as, os_reason
from ragmem.frozen import dataclass
from ragmem.inbox import ASIDE, inbox_folder, reader
from ragmem.services.ingestion.inbox_drafts import draft_of_write


@dataclass(frozen=True, slots=True)
class InboxStatus:
    """The status of an inbox: the number of writes, since when, and the files set aside with the reason."""

    writes: int = 0
    since: datetime | None = None
    aside: tuple[tuple[Path, str], ...] = ()


def inbox_status(data: Path) -> InboxStatus:
    """Return the status of the inbox of a home; changes nothing. Raises StorageError."""
    folder = Path(inbox_folder(data))
    names = list_writes(folder)
    since = None
    if names:
        try:
            since = datetime.fromtimestamp((folder / names[0]).lstat().st_mtime, UTC)
        except FileNotFoundError:  # drained since
            names = list_writes(folder)
    aside = folder / ASIDE
    found = sorted(aside.iterdir()) if aside.is_dir() else []
    return InboxStatus(len(names), since, tuple((path, _problem(path)) for path in found))


def list_writes(folder: Path) -> list[str]:
    """Return the names of the waiting files, oldest first; raises StorageError."""
    with os_errors_as(
        StorageError, f'read "{folder}"', hint="it must be a folder that you own: move the present one aside"
    ):
        return reader.list_writes(str(folder))


def _problem(path: Path) -> str:
    try:
        draft_of_write(reader.read(str(path)))
    except SourceError as error:
        return str(error)
    except OSError as error:
        return os_reason(error)
    return "it is readable: move it back to the parent folder"
