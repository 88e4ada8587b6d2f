"""Move memories to another project: vectors and graph follow, and ids stay."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from ragmem.domain.model import Memory, Scope, State, memory_id
from ragmem.errors import BackendError
from ragmem.ports import Store
from ragmem.services.ingestion.archive import archive_memories, new_run
from ragmem.services.ingestion.index import index_pending
from ragmem.services.processes.progress import Progress, Silent
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.lifecycle.archive import Removal
from ragmem.storage.maintenance.catalog_export import Contents
from ragmem.storage.memories.memories import DEFERRED_SOURCES
from ragmem.storage.memories.project_joins import part_supersessions
from ragmem.storage.sql.batches import batches

BATCH = 50
"""Number of memories that are moved in one transaction."""

DUPLICATE = "joined"
"""The rule for a memory if the new project already has one at the same place."""


@dataclass(slots=True)
class MoveResult:
    """The numbers of moved memories, of moved archived ones, and of duplicates.

    `run` is the run that archived the duplicates; `note` says why vectors have to wait, if they do.
    """

    memories: int = 0
    archived: int = 0
    doubles: int = 0
    run: str = ""
    note: str = ""


def place_in(memory: Memory, project: str) -> str:
    """Return the default id of a memory at the same place in another project."""
    return memory_id(memory.source, Scope(project, memory.scope.spec), memory.uri)


def find_duplicates(catalog: Catalog, ids: Collection[str], project: str) -> dict[str, str]:
    """Return loser -> keeper for memories whose place a project has already; the last one written is kept."""
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
    return pairs


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
    """Move memories to another project; each batch is one transaction. `chosen` means by a person.

    A memory keeps its id, its dates, its life and its feedback, but loses its connections to other projects.
    Of two memories at one place the last one written stays, and the other one is archived. Vectors and graph
    are made again later: until then full text finds the memories. Raises BackendError if the store cannot be
    opened.
    """
    told = progress or Silent()
    done = MoveResult()
    store = open_store()
    pairs = find_duplicates(catalog, ids, project)
    if pairs:
        done.run = new_run("join", now, sorted(pairs))
        _archive_doubles(catalog, store, pairs, done, now=now)
    told.begin("moving", len(ids))
    for batch in batches(sorted(set(ids) - set(pairs)), BATCH):
        done.memories += _move_batch(catalog, store, batch, project, chosen=chosen)
        told.advance(len(batch))
    part_supersessions(catalog.database, ids)
    return done


def move_archived(catalog: Catalog, former: str, project: str, *, ids: Collection[str] | None = None) -> int:
    """Move archived memories of a project, or these ids of it, to another one; return their number."""
    count = 0
    for item in list(catalog.archive.each()):
        memory = item.memory
        if memory.scope.project != former or (ids is not None and memory.id not in ids):
            continue
        with catalog.database.write():
            catalog.archive.rewrite(item.run, replace(memory, scope=Scope(project, memory.scope.spec)))
            place = place_in(memory, project)
            if not catalog.memories.states([place]) and place not in catalog.projects.moved_ids([place]):
                catalog.projects.note_moves({place: (memory.id, former)})
        count += 1
    return count


def reindex(catalog: Catalog, open_store: Callable[[], Store], *, progress: Progress | None = None) -> str:
    """Make the vectors and the graph of moved memories; return why they have to wait, or ""."""
    told = progress or Silent()
    try:
        waiting = catalog.memories.pending_ids(without=DEFERRED_SOURCES)
        told.begin("vectors", len(waiting))
        if waiting:
            index_pending(catalog, open_store(), advance=told.advance, without=DEFERRED_SOURCES)
    except BackendError as error:
        return error.full_message
    return ""


def _move_batch(catalog: Catalog, store: Store, ids: Sequence[str], project: str, *, chosen: bool) -> int:
    moved = 0

    def finish() -> None:
        nonlocal moved
        # Read inside the transaction, so that concurrent changes are moved too.
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
            Removal(memory, DUPLICATE, "the other project has this place as well", pairs[memory.id])
            for memory in catalog.memories.get(pairs).values()
        ]
        catalog.gc_runs.end(done.run, now=now)
        return found

    done.doubles = len(archive_memories(catalog, store, done.run, list(pairs), removals=removals, now=now))
