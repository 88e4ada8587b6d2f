"""Drain the inbox into the catalog: each write exactly once, despite crashes and concurrent drains.

A file leaves the inbox only after its memory is durable in the catalog; after a crash the next drain finds it
and skips what the catalog has already. No model is needed: full text finds the new memories, and the next
writer indexes them.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from ragmem.config.settings import Settings
from ragmem.domain.model import GIVEN_FIELDS, Draft, Memory, State, Tier
from ragmem.domain.model.lifecycle import PROTECTED_TYPES, entry_type
from ragmem.errors import SourceError, StorageError, StoreBusyError, os_errors_as
from ragmem.inbox import inbox_folder, reader, set_aside
from ragmem.readers.commit_dates import SECONDS, CommitDates
from ragmem.readers.failures import failure, isolate_failures
from ragmem.services.ingestion.classify import ClassifiedMemory, classify_draft
from ragmem.services.ingestion.inbox_drafts import drafts_of
from ragmem.services.ingestion.inbox_status import list_writes
from ragmem.services.ingestion.options import keep_given
from ragmem.services.ingestion.scope import assign_ids, project_finder, remember_projects
from ragmem.storage.home.catalog import Catalog

BATCH = 32
"""Writes in one transaction."""

BATCH_BYTES = 400_000

QUICK_FILES = 50
QUICK_SECONDS = 0.2
QUICK_BYTES = 100_000
"""Limits of the drain before a question: number of files, time, and total size."""

AT_LEAST = 4
"""Files that are drained regardless of the time; otherwise a slow machine might never drain any."""

_, _GIVEN_TAGS, _ = GIVEN_FIELDS

STALE = timedelta(hours=1)
"""Age from which an unfinished write counts as left by a killed process."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a drain; None: no limit."""

    files: int | None = None
    seconds: float | None = None
    bytes: int | None = None


ALL = Limits()
QUICK = Limits(QUICK_FILES, QUICK_SECONDS, QUICK_BYTES)


@dataclass(slots=True)
class DrainResult:
    """The result of a drain: ids of new or changed memories, duplicates, files set aside and left."""

    ids: list[str] = field(default_factory=list)
    duplicates: int = 0
    aside: int = 0
    left: int = 0
    rejected: dict[str, str] = field(default_factory=dict)
    """For files set aside: name -> why the database or a rule rejects it."""

    @property
    def writes(self) -> int:
        """The number of drained writes."""
        return len(self.ids) + self.duplicates


@dataclass(slots=True)
class _Item:
    """A file of the inbox with its classified memories."""

    path: Path
    classified: list[ClassifiedMemory]


def drain(
    catalog: Catalog, settings: Settings, *, home: Path, now: datetime, limits: Limits = ALL
) -> DrainResult:
    """Move writes into the catalog, oldest first; each batch is one transaction.

    Unreadable or rejected writes are set aside and block nothing. An empty inbox costs one look into a
    folder. Raises StoreBusyError or StorageError if the catalog cannot be written; batches before that are
    stored, and the rest waits.
    """
    folder = Path(inbox_folder(settings.places.data))
    names = list_writes(folder)
    if not names:
        return DrainResult()
    _sweep(folder, now)
    catalog.prepare()
    work = _Drain(catalog, settings, home=home, now=now, limits=limits)
    for batch in _batches(_select_files(folder, names, limits)):
        work.drain(batch)
        if work.is_late():
            break
    work.result.left = len(list_writes(folder))
    return work.result


def drain_quickly(catalog: Catalog, settings: Settings, *, home: Path, now: datetime) -> str:
    """Drain within the limits of a question; return a note about the rest, or ""."""
    try:
        left = drain(catalog, settings, home=home, now=now, limits=QUICK).left
    except (StorageError, StoreBusyError) as error:
        return f"some writes in the inbox were not searched: {error.full_message}"
    if not left:
        return ""
    waits = "1 write waits" if left == 1 else f"{left:,} writes wait"
    return f"{waits} in the inbox: `ragmem ingest --drain` ingests them"


def _select_files(folder: Path, names: Sequence[str], limits: Limits) -> Iterator[tuple[Path, int]]:
    """Yield the files to drain with their lengths.

    A file above the limits is kept for later, together with later writes for the same place, because it would
    otherwise overwrite them.
    """
    kept_back: set[bytes] = set()
    chosen = size = 0
    for name in names:
        path = folder / name
        try:
            length = path.lstat().st_size
        except FileNotFoundError:
            continue
        too_large = limits.bytes is not None and length > limits.bytes
        try:
            places = reader.read_places(str(path)) if too_large or kept_back else frozenset()
        except OSError:  # deleted since, or not a file: reading it in full reports the problem
            places = frozenset()
        if too_large:
            kept_back |= places
        elif not places & kept_back:
            chosen, size = chosen + 1, size + length
            if limits.bytes is not None and size > limits.bytes:
                return
            yield path, length
            if chosen == limits.files:
                return


def _batches(chosen: Iterable[tuple[Path, int]]) -> Iterator[list[Path]]:
    """Yield the files of each batch."""
    batch: list[Path] = []
    size = 0
    for path, length in chosen:
        if batch and (len(batch) >= BATCH or size + length > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(path)
        size += length
    if batch:
        yield batch


class _Drain:
    """One drain with its time limit and its result."""

    def __init__(
        self, catalog: Catalog, settings: Settings, *, home: Path, now: datetime, limits: Limits
    ) -> None:
        self._catalog = catalog
        self._settings = settings
        self._now = now
        self._seconds = limits.seconds
        self._projects = project_finder(catalog, home=home)
        # A question does not wait for the history of git.
        self._commits = CommitDates(SECONDS if limits.seconds is None else limits.seconds)
        self.result = DrainResult()
        self._began = time.monotonic()

    def is_late(self) -> bool:
        """Return whether the time is up."""
        return self._seconds is not None and time.monotonic() - self._began > self._seconds

    def drain(self, batch: Sequence[Path]) -> None:
        """Store the writes of a batch in one transaction, and set the rejected ones aside."""
        items: list[_Item] = []
        for path in batch:
            if len(items) >= AT_LEAST and self.is_late():
                break
            item = self._read(path)
            if item is not None:
                items.append(item)
            else:
                self.result.aside += _set_aside(path)
        patience = None
        if self._seconds is not None:
            patience = max(0.02, self._seconds - (time.monotonic() - self._began))
        for item, reason in isolate_failures(items, partial(self._store, patience=patience)):
            self.result.rejected[item.path.name] = reason
            self.result.aside += _set_aside(item.path)

    def _read(self, path: Path) -> _Item | None:
        """Return a file with its memories, none if it was deleted; None if it is not a write."""
        catalog, settings = self._catalog, self._settings
        try:
            drafts = drafts_of(
                reader.read(str(path)),
                catalog=catalog,
                projects=self._projects,
                settings=settings,
                commits=self._commits,
            )
            # The secrets of a draft are removed here, before it is classified or stored.
            drafts = keep_given(catalog, assign_ids(catalog, drafts))
            return _Item(path, [_classify(draft, settings, now=self._now) for draft in drafts])
        except FileNotFoundError:
            return _Item(path, [])
        except (SourceError, OSError):
            return None
        except Exception as error:  # noqa: BLE001 - one write never stops the others
            self.result.rejected[path.name] = failure(error)
            return None

    def _store(self, items: Sequence[_Item], *, patience: float | None) -> None:
        """Store the memories of some files in one transaction, then remove the files."""
        catalog = self._catalog
        with catalog.database.write(patience=patience):
            # A concurrent drain may have stored a write, and gc may have archived it since.
            present = [item for item in items if item.path.exists()]
            fresh, said, doubled = _find_new(catalog, [one for item in present for one in item.classified])
            if fresh:
                remember_projects(catalog, self._projects)
                catalog.memories.accept([(one.memory, one.chunks) for one in fresh])
            ids = [one.memory.id for one in fresh]
            again = [identifier for identifier in _reinstate(catalog, said) if identifier not in ids]
            ids += again
            doubled -= len(again)
            if ids:
                catalog.log.write("inbox", {"memories": len(ids), "duplicates": doubled}, now=self._now)
        self.result.ids += ids
        self.result.duplicates += doubled
        for item in present:
            with os_errors_as(
                StorageError,
                f'remove "{item.path}", which is stored already',
                hint=f'make "{item.path.parent}" writable',
            ):
                item.path.unlink(missing_ok=True)


def _classify(draft: Draft, settings: Settings, *, now: datetime) -> ClassifiedMemory:
    """Classify a draft; one with a protected type is always indexed."""
    is_protected = draft.metadata.get("type") in PROTECTED_TYPES
    return classify_draft(
        draft,
        now=now,
        sizes=settings.chunking,
        rule="off" if is_protected else "judge",
        redactor=settings.redactor,
    )


def _set_aside(path: Path) -> bool:
    try:
        set_aside(str(path))
    except OSError:
        # Deleted, or in a read-only folder: it blocks nothing there, and `doctor` reports it.
        return False
    return True


def _find_new(
    catalog: Catalog, judged: Sequence[ClassifiedMemory]
) -> tuple[list[ClassifiedMemory], dict[str, datetime], int]:
    """Return new memories (the last of each id), id -> time of repeated ones, and a count of duplicates."""
    known = catalog.memories.get(item.memory.id for item in judged)
    alike = catalog.memories.with_hashes(item.memory.content_hash for item in judged)
    fresh: dict[str, ClassifiedMemory] = {}
    said: dict[str, datetime] = {}
    doubled = 0
    for item in judged:
        memory = item.memory
        before = known.get(memory.id)
        if before is not None and before.content_hash == memory.content_hash:
            said[before.id] = memory.event_time
            merged = _merge(before, memory)
            if merged is None:
                doubled += 1
                continue
            item = replace(item, memory=merged)  # noqa: PLW2901 - the same write, with what was said before
        elif before is None and (told := _find_duplicate(memory, [known.get(one.id, one) for one in alike])):
            said[told.id] = memory.event_time
            doubled += 1
            continue
        elif before is not None and memory.state is State.BUFFERED and before.state is not State.BUFFERED:
            # The store has its previous text until it is indexed again.
            whole = replace(memory, state=State.PENDING, tier=Tier.INGEST)
            item = replace(item, memory=whole)  # noqa: PLW2901 - the same write
        known[memory.id] = item.memory
        alike.append(item.memory)
        fresh[memory.id] = item
    return list(fresh.values()), said, doubled


def _reinstate(catalog: Catalog, said: Mapping[str, datetime]) -> list[str]:
    """Reinstate superseded or marked memories that were repeated since, with a new date; return their ids."""
    links = catalog.supersessions.perhaps_outdated(said) | catalog.supersessions.in_force(said)
    held = {
        identifier: said[identifier] for identifier in links if said[identifier] > links[identifier].newer_at
    }
    catalog.memories.redate(held)
    catalog.supersessions.drop(held)
    return list(held)


def _merge(before: Memory, memory: Memory) -> Memory | None:
    """Return a memory with the type and tags of a second write of its text; None if they are not new.

    A protected type is never replaced by an unprotected one.
    """
    said = memory.metadata.get("type")
    weaker = entry_type(before) in PROTECTED_TYPES and entry_type(memory) not in PROTECTED_TYPES
    tags = tuple(dict.fromkeys((*before.tags, *memory.tags)))
    if said and said != before.metadata.get("type") and not weaker:
        merged = replace(
            memory,
            event_time=before.event_time,
            title=before.title,
            metadata={**before.metadata, **memory.metadata},
            protected=before.protected or memory.protected,
        )
    elif tags != before.tags:
        state = before.state if before.state is State.BUFFERED else State.PENDING
        merged = replace(before, state=state)
    else:
        return None
    # A later call without tags keeps those of both writes.
    said_tags = "\n".join(one.metadata.get(_GIVEN_TAGS, "") for one in (before, memory))
    given = "\n".join(dict.fromkeys(filter(None, said_tags.split("\n"))))
    return replace(merged, tags=tags, metadata={**merged.metadata, **({_GIVEN_TAGS: given} if given else {})})


def _find_duplicate(memory: Memory, alike: Sequence[Memory]) -> Memory | None:
    """Return another memory of the same scope with the same text and at least the same protection."""
    protected = memory.protected or entry_type(memory) in PROTECTED_TYPES
    for other in alike:
        same = other.content_hash == memory.content_hash and other.scope == memory.scope
        if same and (not protected or other.protected or entry_type(other) in PROTECTED_TYPES):
            return other
    return None


def _sweep(folder: Path, now: datetime) -> None:
    """Remove unfinished writes of killed processes, which were never acknowledged."""
    for name in reader.list_unfinished(str(folder)):
        path = folder / name
        try:
            if now.timestamp() - path.lstat().st_mtime > STALE.total_seconds():
                path.unlink()
        except OSError:  # finished or removed since, or not ours to remove
            continue
