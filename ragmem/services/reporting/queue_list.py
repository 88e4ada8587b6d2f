"""What waits to be taken in, and what nobody could read, for people who look; nothing is changed."""

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from ragmem.config import Settings
from ragmem.domain.secrets.redaction import Redactor
from ragmem.errors import SourceError, StorageError
from ragmem.hooks import spool
from ragmem.inbox import folder_in, reading
from ragmem.services.ingestion.inbox_waiting import names_in, waiting
from ragmem.storage.home.catalog import Catalog

SHOWN = 200
"""Things that wait that are named unless another number is wished for; of all of them there are counts."""


@dataclass(frozen=True, slots=True)
class Waits:
    """One thing that waits: a text handed in, or an event of an assistant's hook."""

    what: str
    since: datetime | None
    told: str


@dataclass(frozen=True, slots=True)
class Aside:
    """A file that nobody could read, and why."""

    path: Path
    problem: str


@dataclass(frozen=True, slots=True)
class Queue:
    """How many texts and events wait, the oldest of them, what was set aside; memories without vectors."""

    texts: int
    events: int
    oldest: tuple[Waits, ...]
    aside: tuple[Aside, ...]
    vectors: int

    @property
    def empty(self) -> bool:
        """Tell whether nothing waits and nothing was set aside."""
        return not (self.texts or self.events or self.aside or self.vectors)


def queue(catalog: Catalog, settings: Settings, *, named: int = SHOWN) -> Queue:
    """Return what waits in a home, also in one without memories; raises StorageError.

    Of texts and of events the oldest are named, so many of each.
    """
    data = settings.places.data
    held = waiting(data)
    try:
        events, events_aside = spool.waiting(data), spool.aside(data)
    except OSError as error:
        raise StorageError(
            f'cannot read "{spool.folder(data)}": {(error.strerror or str(error)).lower()}',
            hint="it must be a folder that is yours: move away what is there",
        ) from error
    inbox = Path(folder_in(data))
    texts = (
        [_text(inbox / name, redactor=catalog.redactor) for name in names_in(inbox)[:named]]
        if held.writes
        else []
    )
    return Queue(
        texts=held.writes,
        events=len(events),
        oldest=(*texts, *map(partial(_event, redactor=catalog.redactor), events[:named])),
        aside=(
            *(Aside(path, problem) for path, problem in held.aside),
            *(Aside(Path(path), problem_of(path)) for path in events_aside),
        ),
        vectors=catalog.overview.count_by("state").get("pending", 0) if catalog.exists() else 0,
    )


def _text(path: Path, redactor: Redactor) -> Waits:
    try:
        write = reading.read(str(path))
        told = write.fields.get("title") or write.text
    except (SourceError, OSError) as error:  # whoever takes it in sets it aside
        told = f"cannot be read: {error}"
    return Waits("text", left_at(str(path)), _line(told, redactor=redactor))


def _event(path: str, redactor: Redactor) -> Waits:
    try:
        said = spool.read(path)
        parts = (said.get("assistant"), said.get("event"), said.get("file") or said.get("transcript"))
        told = " ".join(str(part) for part in parts if part)
    except (ValueError, OSError) as error:
        told = f"cannot be read: {error}"
    return Waits("event", left_at(path), _line(told, redactor=redactor))


def _line(text: str, redactor: Redactor) -> str:
    return " ".join(redactor.redact(text[:2000])[0].split())[:200]


def left_at(path: str) -> datetime | None:
    """Return when an event or a text that waits was left; None for one that is taken up by now."""
    try:
        return datetime.fromtimestamp(os.lstat(path).st_mtime, UTC)
    except OSError:
        return None


def problem_of(path: str) -> str:
    """Return what is wrong with an event that was set aside."""
    try:
        spool.read(path)
    except (ValueError, OSError) as error:
        return getattr(error, "strerror", "") or str(error)
    return "it can be read: move it back into the folder above"


def queue_shape(found: Queue) -> dict[str, Any]:
    """Return it as JSON fields."""
    since = min((one.since for one in found.oldest if one.since), default=None)
    return {
        "texts": found.texts,
        "events": found.events,
        "since": since.strftime("%Y-%m-%dT%H:%M:%SZ") if since else None,
        "waiting": [
            {
                "what": one.what,
                "since": one.since.strftime("%Y-%m-%dT%H:%M:%SZ") if one.since else None,
                "told": one.told,
            }
            for one in found.oldest
        ],
        "aside": [{"path": str(one.path), "problem": one.problem} for one in found.aside],
        "vectors": found.vectors,
    }
