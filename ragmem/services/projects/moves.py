"""Memories change their project: vectors and graph follow, and their ids stay."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from ragmem.domain.model import Memory, Scope, State, memory_id
from ragmem.errors import BackendError
from ragmem.ports import Store
from ragmem.services.ingestion.archiving import new_run, take_out
from ragmem.services.ingestion.index import LATER, index_pending
from ragmem.services.processes.progress import Progress, Silent
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.lifecycle.archive import Removal
from ragmem.storage.maintenance.catalog_export import Contents
from ragmem.storage.memories.project_joins import part_supersessions
from ragmem.storage.sql.batches import batches

BATCH = 50
"""Memories that are moved in one transaction."""

DOUBLE = "joined"
"""The rule for a memory whose place has another one in the project that it comes to."""


@dataclass(slots=True)
class MoveResult:
    """What was done: how many memories and archived ones came over, and how many were doubles.

    `run` is the run of the archive that took the doubles out, `note` why vectors have to wait, if they do.
    """

    memories: int = 0
    archived: int = 0
    doubles: int = 0
    run: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Doubles:
    """Memories that stand at one place in both projects: loser -> keeper, the one that was written last."""

    pairs: Mapping[str, str] = field(default_factory=dict)


def place_in(memory: Memory, project: str) -> str:
    """Return the id that the memory of the same place has by itself in a project."""
    return memory_id(memory.source, Scope(project, memory.scope.spec), memory.uri)


def doubles_of(catalog: Catalog, ids: Collection[str], project: str) -> Doubles:
    """Return which of some memories stand in a project already, and which of both gives way."""
    pairs: dict[str, str] = {}
    for batch in batches(sorted(ids)):
        coming = catalog.memories.get(batch)
        places = {place_in(memory, project): key for key, memory in coming.items()}
        moved = catalog.projects.moved_ids(list(places))
        there = catalog.memories.get(moved.get(place, place) for place in places)
        for place, key in places.items():
            other = there.get(moved.get(place, place))
            if other is None or other.id == key or other.scope.project != project:
                continue
            newer = coming[key].updated_at > other.updated_at
            loser, keeper = (other.id, key) if newer else (key, other.id)
            pairs[loser] = keeper
    return Doubles(pairs)


def move_memories(
    catalog: Catalog,
    open_store: Callable[[], Store],
    ids: Collection[str],
    project: str,
    *,
    now: datetime,
    chosen: bool = False,
    progress: Progress | None = None,
) -> MoveResult:
    """Let memories belong to another project; each batch is one transaction. `chosen`: as a person says.

    A memory keeps its id, its dates, its life and what was said of it; its connections to what stays behind
    end. Of two of one place the one that was written last stays, and the other goes to the archive. Vectors
    and graph are made anew afterwards: until then full text finds it. Raises BackendError where the store
    cannot be opened.
    """
    told = progress or Silent()
    done = MoveResult()
    store = open_store()
    pairs = doubles_of(catalog, ids, project).pairs
    if pairs:
        done.run = new_run("join", now, sorted(pairs))
        _archive_doubles(catalog, store, pairs, done, now=now)
    told.begin("moving", len(ids))
    for batch in batches(sorted(set(ids) - set(pairs)), BATCH):
        done.memories += _move(catalog, store, batch, project, chosen=chosen)
        told.advance(len(batch))
    part_supersessions(catalog.database, ids)
    return done


def move_archived(catalog: Catalog, former: str, project: str, *, ids: Collection[str] | None = None) -> int:
    """Let what lies in the archive for a project, or these ids of it, belong to another; return how many."""
    count = 0
    for item in list(catalog.archive.each()):
        memory = item.memory
        if memory.scope.project != former or (ids is not None and memory.id not in ids):
            continue
        with catalog.database.write():
            catalog.archive.rewrite(item.run, replace(memory, scope=Scope(project, memory.scope.spec)))
            place = place_in(memory, project)
            if not catalog.memories.known([place]) and place not in catalog.projects.moved_ids([place]):
                catalog.projects.note_moves({place: (memory.id, former)})
        count += 1
    return count


def reindex(catalog: Catalog, open_store: Callable[[], Store], *, progress: Progress | None = None) -> str:
    """Make the vectors and the graph of what was moved; return why they have to wait, or nothing."""
    told = progress or Silent()
    try:
        waiting = catalog.memories.waiting(without=LATER)
        told.begin("vectors", len(waiting))
        if waiting:
            index_pending(catalog, open_store(), advance=told.advance, without=LATER)
    except BackendError as error:
        return error.told
    return ""


def _move(catalog: Catalog, store: Store, ids: Sequence[str], project: str, *, chosen: bool) -> int:
    moved = 0

    def finish() -> None:
        nonlocal moved
        # Read inside the transaction, so that what another process wrote meanwhile is what is moved.
        items = [item for item in Contents(catalog.database).of(ids) if item[0].scope.project != project]
        here = [
            (
                replace(
                    memory,
                    scope=Scope(project, memory.scope.spec),
                    state=memory.state if memory.state is State.BUFFERED else State.PENDING,
                ),
                chunks,
            )
            for memory, chunks in items
        ]
        catalog.names.forget([memory.id for memory, _ in items])
        catalog.memories.accept(here)
        catalog.projects.note_moves(
            {
                place_in(memory, project): (memory.id, "" if chosen else memory.scope.project)
                for memory, _ in items
            }
        )
        moved = len(items)

    store.delete(list(ids), finish=finish)
    return moved


def _archive_doubles(
    catalog: Catalog, store: Store, pairs: Mapping[str, str], done: MoveResult, *, now: datetime
) -> None:
    def removals() -> list[Removal]:
        catalog.gc_runs.begin(done.run, caller="join", now=now)
        found = [
            Removal(memory, DOUBLE, "the other project has this place as well", pairs[memory.id])
            for memory in catalog.memories.get(pairs).values()
        ]
        catalog.gc_runs.end(done.run, now=now)
        return found

    done.doubles = len(take_out(catalog, store, done.run, list(pairs), removals=removals, now=now))
