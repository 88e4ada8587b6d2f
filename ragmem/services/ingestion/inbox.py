"""Take what waits in the inbox into the catalog, each write once, whoever is killed or does it at a time.

A file leaves the inbox only after its memory is durable in the catalog; until then it is found there by the
next drain, which leaves alone what the catalog has already. No model is needed: full text finds what was
taken in, and whoever indexes next makes the rest.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from ragmem.config import Settings
from ragmem.domain.model import Draft, Memory, State, Tier
from ragmem.domain.model.lifecycle import PROTECTED_TYPES, entry_type
from ragmem.errors import SourceError, StorageError, StoreBusyError
from ragmem.inbox import folder_in, reading
from ragmem.readers.commit_dates import SECONDS, CommitDates
from ragmem.readers.failures import failure
from ragmem.readers.scope import ProjectFinder
from ragmem.services.ingestion.classify import Classified, classify_draft
from ragmem.services.ingestion.inbox_drafts import drafts_of
from ragmem.services.ingestion.inbox_waiting import names_in
from ragmem.services.ingestion.scope import assign_ids, finder, remember_projects
from ragmem.services.processes.refusals import each
from ragmem.storage.home.catalog import Catalog

BATCH = 32
"""Writes in one transaction."""

BATCH_BYTES = 400_000

QUICK_FILES = 50
QUICK_SECONDS = 0.2
QUICK_BYTES = 100_000
"""What a question takes in before it is answered: so many files, in so much time, of that size together."""

AT_LEAST = 4
"""Files that are taken in whatever the time: a slow machine would never come to the first else."""

STALE = timedelta(hours=1)
"""Age at which the draft of a write is one that a killed process left."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a drain may do; None: everything, however long it takes."""

    files: int | None = None
    seconds: float | None = None
    bytes: int | None = None


ALL = Limits()
QUICK = Limits(QUICK_FILES, QUICK_SECONDS, QUICK_BYTES)


@dataclass(slots=True)
class DrainResult:
    """What became of the writes: ids of new or changed memories, duplicates, files set aside and left."""

    ids: list[str] = field(default_factory=list)
    duplicates: int = 0
    aside: int = 0
    left: int = 0
    rejected: dict[str, str] = field(default_factory=dict)
    """Of those set aside: name -> why the database, or a rule, rejects it."""

    @property
    def writes(self) -> int:
        """How many were taken in."""
        return len(self.ids) + self.duplicates


@dataclass(slots=True)
class _Item:
    """A file of the inbox and what it says, as far as that is still wanted."""

    path: Path
    judged: list[Classified]


def drain(
    catalog: Catalog,
    settings: Settings,
    *,
    home: Path,
    now: datetime,
    limits: Limits = ALL,
) -> DrainResult:
    """Take writes into the catalog in the order in which they were written; each batch is one transaction.

    What cannot be read as a write, or what the database rejects, is set aside and blocks nothing. Costs one
    look into a folder where nothing waits. Raises StoreBusyError and StorageError where the catalog cannot
    be written; what was taken in before is, and the rest waits.
    """
    folder = Path(folder_in(settings.places.data))
    names = names_in(folder)
    done = DrainResult()
    if not names:
        return done
    _sweep(folder, now)
    catalog.prepare()
    projects = finder(catalog, home=home)
    # A question waits for no history of git.
    commits = CommitDates(SECONDS if limits.seconds is None else limits.seconds)
    began = time.monotonic()
    for batch in _batches(_chosen(folder, names, limits)):
        items: list[_Item] = []
        for path in batch:
            if len(items) >= AT_LEAST and _is_late(began, limits):
                break
            item = _read(path, catalog, settings, projects, commits=commits, done=done, now=now)
            if item is not None:
                items.append(item)
            elif _set_aside(path):
                done.aside += 1
        if items:
            rest = None if limits.seconds is None else max(0.02, limits.seconds - (time.monotonic() - began))
            take_in = partial(_take_in, catalog, projects=projects, done=done, now=now, patience=rest)
            for item, reason in each(items, take_in):
                done.rejected[item.path.name] = reason
                done.aside += _set_aside(item.path)
        if _is_late(began, limits):
            break
    done.left = len(names_in(folder))
    return done


def drain_quickly(catalog: Catalog, settings: Settings, *, home: Path, now: datetime) -> str:
    """Take in what a question has the time for; return what a person should know of the rest, or nothing."""
    try:
        left = drain(catalog, settings, home=home, now=now, limits=QUICK).left
    except (StorageError, StoreBusyError) as error:
        return f"not all that waits in the inbox was asked: {error.told}"
    if not left:
        return ""
    waits = "1 write waits" if left == 1 else f"{left:,} writes wait"
    return f"{waits} in the inbox: `ragmem ingest --drain` takes in all of them"


def _is_late(began: float, limits: Limits) -> bool:
    return limits.seconds is not None and time.monotonic() - began > limits.seconds


def _chosen(folder: Path, names: Sequence[str], limits: Limits) -> Iterator[tuple[Path, int]]:
    """Yield the files to be taken in with their lengths.

    One too large for the limits stays for another time, and with it what was written later for its place: it
    would replace that, when its time comes.
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
            places = reading.places(str(path)) if too_large or kept_back else frozenset()
        except OSError:  # gone since, or no file: whoever reads all of it tells what is wrong
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
    """Yield the files to be taken in together."""
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


def _read(
    path: Path,
    catalog: Catalog,
    settings: Settings,
    projects: ProjectFinder,
    *,
    commits: CommitDates,
    done: DrainResult,
    now: datetime,
) -> _Item | None:
    """Return what a file says; None where it is no write. One that has gone says nothing."""
    try:
        write = reading.read(str(path))
        read = drafts_of(write, catalog=catalog, projects=projects, settings=settings, commits=commits)
        drafts = assign_ids(catalog, read)
        # Here the secrets of a draft are taken out, before anything of it is judged or kept.
        return _Item(path, [_judged(draft, settings, now=now) for draft in drafts])
    except FileNotFoundError:
        return _Item(path, [])
    except (SourceError, OSError):
        return None
    except Exception as error:  # noqa: BLE001 - one write never stops the others
        done.rejected[path.name] = failure(error)
        return None


def _judged(draft: Draft, settings: Settings, *, now: datetime) -> Classified:
    """Judge a draft; what was called a decision or thought is never of too little worth for the index."""
    if draft.metadata.get("type") in PROTECTED_TYPES:
        return classify_draft(draft, now=now, sizes=settings.chunking, rule="off", redactor=settings.redactor)
    return classify_draft(
        draft, now=now, sizes=settings.chunking, keep_discarded=True, redactor=settings.redactor
    )


def _set_aside(path: Path) -> bool:
    try:
        reading.set_aside(str(path.parent), path.name)
    except OSError:
        # Gone, or in a folder that cannot be written: it blocks nothing where it is, and `doctor` tells.
        return False
    return True


def _take_in(
    catalog: Catalog,
    items: Sequence[_Item],
    *,
    projects: ProjectFinder,
    done: DrainResult,
    now: datetime,
    patience: float | None,
) -> None:
    """Make the memories of some files durable in one transaction, then remove the files."""
    with catalog.database.write(patience=patience):
        # What another drain has taken in meanwhile may even have been archived since.
        present = [item for item in items if item.path.exists()]
        fresh, said, doubled = _fresh(catalog, [judged for item in present for judged in item.judged])
        if fresh:
            remember_projects(catalog, projects)
            catalog.memories.accept([(judged.memory, judged.chunks) for judged in fresh])
        ids = [judged.memory.id for judged in fresh]
        again = [identifier for identifier in _held_again(catalog, said) if identifier not in ids]
        ids += again
        doubled -= len(again)
        if ids:
            catalog.log.write("inbox", {"memories": len(ids), "duplicates": doubled}, now=now)
    done.ids += ids
    done.duplicates += doubled
    for item in present:
        try:
            item.path.unlink(missing_ok=True)
        except OSError as error:
            raise StorageError(
                f'cannot remove "{item.path}", which is taken in: {(error.strerror or str(error)).lower()}',
                hint=f'make "{item.path.parent}" writable',
            ) from error


def _fresh(
    catalog: Catalog, judged: Sequence[Classified]
) -> tuple[list[Classified], dict[str, datetime], int]:
    """Return what the catalog lacks, the last of each id; when what it has was said again; and how much."""
    known = catalog.memories.get(item.memory.id for item in judged)
    alike = catalog.memories.alike(item.memory.content_hash for item in judged)
    fresh: dict[str, Classified] = {}
    said: dict[str, datetime] = {}
    doubled = 0
    for item in judged:
        memory = item.memory
        before = known.get(memory.id)
        if before is not None and before.content_hash == memory.content_hash:
            said[before.id] = memory.event_time
            merged = _raise_problem(before, memory)
            if merged is None:
                doubled += 1
                continue
            item = replace(item, memory=merged)  # noqa: PLW2901 - the same write, with what was said before
        elif before is None and (told := _teller(memory, [known.get(one.id, one) for one in alike])):
            said[told.id] = memory.event_time
            doubled += 1
            continue
        elif before is not None and memory.state is State.BUFFERED and before.state is not State.BUFFERED:
            # The store has its former text until it is indexed again.
            whole = replace(memory, state=State.PENDING, tier=Tier.INGEST)
            item = replace(item, memory=whole)  # noqa: PLW2901 - the same write
        known[memory.id] = item.memory
        alike.append(item.memory)
        fresh[memory.id] = item
    return list(fresh.values()), said, doubled


def _held_again(catalog: Catalog, said: Mapping[str, datetime]) -> list[str]:
    """Let what was superseded, and has been said again since, hold again as of then; return the ids."""
    links = catalog.supersessions.in_force(said)
    held = {
        identifier: said[identifier] for identifier in links if said[identifier] > links[identifier].newer_at
    }
    catalog.memories.redate(held)
    catalog.supersessions.drop(held)
    return list(held)


def _raise_problem(before: Memory, memory: Memory) -> Memory | None:
    """Return a memory with what a second write of its text says of it; None where that is nothing new.

    A type that protects is never taken away by a write that says another.
    """
    said = memory.metadata.get("type")
    if not said or said == before.metadata.get("type"):
        return None
    if entry_type(before) in PROTECTED_TYPES and entry_type(memory) not in PROTECTED_TYPES:
        return None
    return replace(
        memory,
        event_time=before.event_time,
        title=before.title,
        tags=tuple(dict.fromkeys((*before.tags, *memory.tags))),
        metadata={**before.metadata, **memory.metadata},
        protected=before.protected or memory.protected,
    )


def _teller(memory: Memory, alike: Sequence[Memory]) -> Memory | None:
    """Return another memory of the same scope that has the text, and protects it as well."""
    protected = memory.protected or entry_type(memory) in PROTECTED_TYPES
    for other in alike:
        same = other.content_hash == memory.content_hash and other.scope == memory.scope
        if same and (not protected or other.protected or entry_type(other) in PROTECTED_TYPES):
            return other
    return None


def _sweep(folder: Path, now: datetime) -> None:
    """Remove drafts of writes whose process was killed: nobody was ever told that they are stored."""
    for name in reading.unfinished(str(folder)):
        path = folder / name
        try:
            if now.timestamp() - path.lstat().st_mtime > STALE.total_seconds():
                path.unlink()
        except OSError:  # finished or swept since, or not ours to remove
            continue
