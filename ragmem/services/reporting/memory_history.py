"""The history of one memory: when it was stored, changed, recalled, injected, replaced and archived."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from ragmem.domain.model import SHORT_ID_LENGTH, Memory
from ragmem.errors import NotFoundError
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.memories.memories import MIN_PREFIX

EventType = Literal["event", "stored", "changed", "recalled", "injected", "superseded", "archived"]

INJECTED = 200
"""Maximum number of listed injections, the latest ones."""

SAME_MOMENT = timedelta(seconds=1)
"""An event at most this long before its storage counts as stored at once."""


@dataclass(frozen=True, slots=True)
class HistoryEvent:
    """An event with a description."""

    at: datetime
    what: EventType
    detail: str


def find_memory(catalog: Catalog, prefix: str) -> Memory:
    """Return the memory, perhaps archived, whose id starts with the prefix; raises NotFoundError."""
    try:
        return catalog.memories.resolve(prefix)
    except NotFoundError:
        wanted = prefix.strip().lower()
        archived = catalog.archive.ids_with_prefix(wanted) if len(wanted) >= MIN_PREFIX else []
        if len(archived) != 1:
            raise
        return catalog.archive.latest(archived)[archived[0]].memory


def list_events(catalog: Catalog, memory: Memory) -> list[HistoryEvent]:
    """Return the known events of a memory, oldest first; it may be archived."""
    order = [
        *_origin_events(memory),
        *_usage_events(catalog, memory.id),
        *_replacement_events(catalog, memory.id),
        *_archive_events(catalog, memory.id),
    ]
    return sorted(order, key=lambda one: one.at)


def _origin_events(memory: Memory) -> Iterator[HistoryEvent]:
    if abs(memory.event_time - memory.created_at) >= SAME_MOMENT:
        yield HistoryEvent(memory.event_time, "event", "the event that it describes")
    yield HistoryEvent(memory.created_at, "stored", f"from {memory.source}")
    if memory.updated_at != memory.created_at:
        yield HistoryEvent(memory.updated_at, "changed", "its text, title or kind as its source has it now")


def _usage_events(catalog: Catalog, identifier: str) -> Iterator[HistoryEvent]:
    for recall in catalog.lives.recalls([identifier]):
        yield HistoryEvent(recall.at, "recalled", f"in session {recall.session}")
    for one in catalog.injections.list(memory=identifier, limit=INJECTED):
        into = f"into session {one.session}" + (f" of {one.assistant}" if one.assistant else "")
        yield HistoryEvent(one.injected_at, "injected", f"{into}, {one.event}: {one.reason}")


def _replacement_events(catalog: Catalog, identifier: str) -> Iterator[HistoryEvent]:
    for link in catalog.supersessions.replaced_by([identifier]).get(identifier, ()):
        yield HistoryEvent(
            link.made_at, "superseded", f"it replaced {link.older[:SHORT_ID_LENGTH]}: {link.reason}"
        )
    now = catalog.supersessions.in_force([identifier]).get(identifier)
    if now is not None:
        yield HistoryEvent(now.made_at, "superseded", f"by {now.newer[:SHORT_ID_LENGTH]}: {now.reason}")


def _archive_events(catalog: Catalog, identifier: str) -> Iterator[HistoryEvent]:
    item = catalog.archive.latest([identifier]).get(identifier)
    if item is not None:
        yield HistoryEvent(item.at, "archived", f"by run {item.run}, {item.rule}: {item.reason}".rstrip(": "))
