"""List the waiting texts and events and the rejected files, for people; changes nothing."""

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from ragmem.config.settings import Settings
from ragmem.domain.secrets.redaction import Redactor
from ragmem.errors import SourceError, StorageError, os_errors_as
from ragmem.hooks import spool
from ragmem.inbox import inbox_folder, reader
from ragmem.services.ingestion.inbox_status import inbox_status, list_writes
from ragmem.storage.home.catalog import Catalog

SHOWN = 200
"""Default number of listed entries; the counts include all of them."""


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """A waiting text, or a waiting event of an assistant's hook."""

    what: str
    since: datetime | None
    text: str


@dataclass(frozen=True, slots=True)
class RejectedFile:
    """An unreadable file, and the reason."""

    path: Path
    problem: str


@dataclass(frozen=True, slots=True)
class Queue:
    """Counts of waiting texts, events and vectors, with the oldest entries and the rejected files."""

    texts: int
    events: int
    oldest: tuple[QueueEntry, ...]
    aside: tuple[RejectedFile, ...]
    vectors: int

    @property
    def empty(self) -> bool:
        """Return whether nothing waits and nothing was set aside."""
        return not (self.texts or self.events or self.aside or self.vectors)


def queue(catalog: Catalog, settings: Settings, *, named: int = SHOWN) -> Queue:
    """Return the queue of a home, also of one without memories; raises StorageError.

    It lists the oldest texts and events, at most `named` of each.
    """
    data = settings.places.data
    held = inbox_status(data)
    with os_errors_as(
        StorageError,
        f'read "{spool.folder(data)}"',
        hint="it must be a folder that you own: move the present one aside",
    ):
        events, events_aside = spool.list_events(data), spool.list_aside(data)
    inbox = Path(inbox_folder(data))
    texts = (
        [_text_entry(inbox / name, redactor=catalog.redactor) for name in list_writes(inbox)[:named]]
        if held.writes
        else []
    )
    return Queue(
        texts=held.writes,
        events=len(events),
        oldest=(*texts, *map(partial(_event_entry, redactor=catalog.redactor), events[:named])),
        aside=(
            *(RejectedFile(path, problem) for path, problem in held.aside),
            *(RejectedFile(Path(path), event_problem(path)) for path in events_aside),
        ),
        vectors=catalog.overview.count_by("state").get("pending", 0) if catalog.exists() else 0,
    )


def _text_entry(path: Path, redactor: Redactor) -> QueueEntry:
    try:
        write = reader.read(str(path))
        told = write.fields.get("title") or write.text
    except (SourceError, OSError) as error:  # the next drain sets it aside
        told = f"cannot be read: {error}"
    return QueueEntry("text", queued_at(str(path)), _line(told, redactor=redactor))


def _event_entry(path: str, redactor: Redactor) -> QueueEntry:
    try:
        said = spool.read(path)
        parts = (said.get("assistant"), said.get("event"), said.get("file") or said.get("transcript"))
        told = " ".join(str(part) for part in parts if part)
    except (ValueError, OSError) as error:
        told = f"cannot be read: {error}"
    return QueueEntry("event", queued_at(path), _line(told, redactor=redactor))


def _line(text: str, redactor: Redactor) -> str:
    return " ".join(redactor.redact(text[:2000])[0].split())[:200]


def queued_at(path: str) -> datetime | None:
    """Return when a waiting event or text was written; None if it is gone by now."""
    try:
        return datetime.fromtimestamp(os.lstat(path).st_mtime, UTC)
    except OSError:
        return None


def event_problem(path: str) -> str:
    """Return the problem of an event that was set aside."""
    try:
        spool.read(path)
    except (ValueError, OSError) as error:
        return getattr(error, "strerror", "") or str(error)
    return "it is readable: move it back to the parent folder"


def queue_shape(found: Queue) -> dict[str, Any]:
    """Return a queue as JSON fields."""
    since = min((one.since for one in found.oldest if one.since), default=None)
    return {
        "texts": found.texts,
        "events": found.events,
        "since": since.strftime("%Y-%m-%dT%H:%M:%SZ") if since else None,
        "waiting": [
            {
                "what": one.what,
                "since": one.since.strftime("%Y-%m-%dT%H:%M:%SZ") if one.since else None,
                "told": one.text,
            }
            for one in found.oldest
        ],
        "aside": [{"path": str(one.path), "problem": one.problem} for one in found.aside],
        "vectors": found.vectors,
    }
