"""Forget memories that a person names: archive them, or delete them for good."""

import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ragmem import client
from ragmem.domain.model import Memory
from ragmem.errors import NotFoundError, UsageError
from ragmem.ports import Store
from ragmem.services.entities.extraction_texts import forget_unused
from ragmem.services.ingestion.archive import FORGET, archive_by_request
from ragmem.services.lifecycle.undo import adopt_run
from ragmem.services.scrub import scrub
from ragmem.services.scrub.target import ScrubTarget
from ragmem.services.transfer.restore import DERIVED
from ragmem.storage.fulltext import lexicon
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.lifecycle.forgotten_texts import end_purge, mark_purge, purge_is_unfinished
from ragmem.storage.memories.memories import MIN_PREFIX
from ragmem.storage.sql.batches import batches

RULE = "asked"
"""The rule for memories that were archived on request."""

KIND = "forgotten"
"""The kind of the values that a search after a purge looks for."""

MAX_PIECE, MIN_PIECE = 200, 12
"""Characters of a text's longest line by which it is searched for."""

MAX_PIECES = 2000
"""Texts that are searched for after a purge; more take minutes."""

PAGE = 200


@dataclass(frozen=True, slots=True)
class Choice:
    """A filter for memories, which all conditions apply to; None and empty ones are ignored.

    `stored` is the moment of the run that stored them, see `storage.activity.storing_runs`.
    """

    ids: frozenset[str] | None = None
    sources: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    stored: datetime | None = None

    @property
    def has_filters(self) -> bool:
        """Return whether there are conditions other than ids."""
        return bool(self.sources or self.projects or self.stored)

    def matches(self, memory: Memory) -> bool:
        """Return whether all conditions apply to a memory."""
        return (
            (self.ids is None or memory.id in self.ids)
            and (not self.sources or memory.source in self.sources)
            and (not self.projects or memory.scope.project in self.projects)
            and (self.stored is None or memory.updated_at == self.stored)
        )


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory that would be forgotten, as people know it."""

    id: str
    title: str
    uri: str
    source: str
    project: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What would be forgotten, of `total` memories.

    `archived` are ids in the archive, which only a purge deletes. `mixed` are merged memories of which only
    some parts are chosen; they stay.
    """

    going: tuple[Candidate, ...]
    total: int
    archived: tuple[str, ...] = ()
    mixed: tuple[Candidate, ...] = ()

    @property
    def empty(self) -> bool:
        """Return whether there is nothing to forget."""
        return not (self.going or self.archived)

    @property
    def large(self) -> bool:
        """Return whether more than half of all memories would go; a single one is never too many."""
        return len(self.going) > max(1, self.total // 2)


@dataclass(frozen=True, slots=True)
class ForgetResult:
    """The run for undo ("" where nothing was archived), and the number of memories that were forgotten.

    After a purge `purged` counts the deleted memories, archived ones included. `left` names each place in
    which a search found one of the texts, `sources` the files on disk that they came from; `searched` counts
    the texts that were searched for. `note` says what could not be done.
    """

    run: str = ""
    forgotten: int = 0
    purged: int = 0
    left: tuple[str, ...] = ()
    sources: tuple[Path, ...] = ()
    searched: int = 0
    note: str = ""


def choose(
    catalog: Catalog,
    prefixes: Iterable[str] = (),
    *,
    sources: Sequence[str] = (),
    projects: Sequence[str] = (),
    run: str = "",
    purge: bool = False,
) -> Choice:
    """Return the memories that a person means; `projects` are ids, `run` is one that stored memories.

    For a purge an id may be in the archive. Raises NotFoundError for an unknown id or run, UsageError without
    any condition.
    """
    prefixes = list(prefixes)
    if not (prefixes or sources or projects or run):
        raise UsageError(
            "no memories were named",
            hint="name ids (`ragmem query --ids TEXT` prints them), a --source, a --project or an --ingest",
        )
    stored = catalog.storing_runs.moment(run) if run else None
    if run and stored is None:
        raise NotFoundError(
            f'no run "{run}" has stored anything', hint="`ragmem inspect runs` lists the runs that did"
        )
    ids = frozenset(_resolve(catalog, prefix, purge=purge) for prefix in prefixes) if prefixes else None
    return Choice(ids, tuple(sources), tuple(projects), stored)


def _resolve(catalog: Catalog, prefix: str, *, purge: bool) -> str:
    try:
        return catalog.memories.resolve(prefix).id
    except NotFoundError:
        folded = prefix.strip().lower()
        is_prefix = len(folded) >= MIN_PREFIX and folded.isalnum()
        archived = catalog.archive.ids_with_prefix(folded) if is_prefix else []
        if len(archived) != 1 or catalog.memories.get(archived):
            raise
        if purge:
            return archived[0]
        raise NotFoundError(
            f'the memory "{prefix}" is already in the archive',
            hint=f"to restore it: `ragmem gc --restore {prefix}`",
        ) from None


def plan(catalog: Catalog, chosen: Choice, *, purge: bool = False) -> Plan:
    """Return what would be forgotten; changes nothing."""
    picked = catalog.memories.select(sources=chosen.sources, projects=chosen.projects, stored=chosen.stored)
    going = [key for key in picked if chosen.ids is None or key in chosen.ids]
    mixed: list[str] = []
    if chosen.has_filters and chosen.ids is None:
        whole, mixed = _merged_memories(catalog, chosen)
        parts = set(mixed)
        going = [key for key in dict.fromkeys([*going, *whole]) if key not in parts]
    archived: dict[str, None] = {}
    if purge:
        originals = catalog.gc_runs.originals(going)
        merged = {one for some in originals.values() for one in some}
        archived = dict.fromkeys(
            item.memory.id
            for item in catalog.archive.each()
            if item.memory.id in merged or chosen.matches(item.memory)
        )
        for key in going:
            archived.pop(key, None)
    return Plan(
        tuple(_candidates(catalog, going)),
        len(catalog.memories.ids()),
        tuple(archived),
        tuple(_candidates(catalog, mixed)),
    )


def _merged_memories(catalog: Catalog, chosen: Choice) -> tuple[list[str], list[str]]:
    """Return the merged memories of which all parts are chosen, and those of which some are."""
    whole: list[str] = []
    mixed: list[str] = []
    for page in batches(catalog.gc_runs.merged_ids(), PAGE):
        present = catalog.memories.get(page)
        originals = catalog.gc_runs.originals(present)
        every = {one for some in originals.values() for one in some}
        known = {key: item.memory for key, item in catalog.archive.latest(every).items()}
        known |= catalog.memories.get(every)
        for key, some in originals.items():
            if chosen.sources and present[key].source in chosen.sources and chosen.stored is None:
                continue  # it is chosen as a whole
            hits = [one in known and chosen.matches(known[one]) for one in some]
            if all(hits):
                whole.append(key)
            elif any(hits) or chosen.matches(present[key]):
                mixed.append(key)
    return whole, mixed


def _candidates(catalog: Catalog, ids: Sequence[str]) -> Iterator[Candidate]:
    for page in batches(ids, PAGE):
        found = catalog.memories.get(page)
        for key in page:
            if key in found:
                one = found[key]
                title = catalog.redactor.redact(one.title or one.uri)[0]
                yield Candidate(key, title, one.uri, one.source, one.scope.project)


def forget(
    catalog: Catalog,
    open_store: Callable[[], Store],
    planned: Plan,
    *,
    now: datetime,
    allow_large: bool = False,
) -> ForgetResult:
    """Archive the planned memories in one transaction.

    Raises UsageError where more than half of the memories would go without permission, and the errors of a
    store; nothing was done then.
    """
    refuse_large(planned, allow_large=allow_large)
    if not planned.going:
        return ForgetResult()
    run = archive_by_request(catalog, open_store(), [one.id for one in planned.going], rule=RULE, now=now)
    return ForgetResult(run, len(planned.going))


def refuse_large(planned: Plan, *, allow_large: bool) -> None:
    """Raise UsageError where more than half of the memories would go without permission."""
    if planned.large and not allow_large:
        raise UsageError(
            f"this would forget {len(planned.going)} of {planned.total} memories, more than half",
            hint="check them with --dry-run; docs/lifecycle.md explains how to allow it",
        )


def purge(tools: scrub.ScrubContext, planned: Plan, *, allow_large: bool = False) -> ForgetResult:
    """Archive the planned memories, delete them for good, and search for remains.

    Rows are deleted in one transaction; then the database is rewritten, which needs its size again in free
    space, and the files of vectors are removed, which the next search makes anew. The next purge finishes one
    that was killed. Backups are searched and left as they are. Raises the errors of `forget`, StoreBusyError
    and StorageError.
    """
    done = forget(tools.catalog, tools.open_store, planned, now=tools.now, allow_large=allow_large)
    ids = [*(one.id for one in planned.going), *planned.archived]
    pieces, uris = _traces(tools.catalog, ids)
    # It may hold the texts in its memory.
    client.stop(str(tools.places.data), deadline=time.monotonic() + scrub.STOP_SECONDS)
    purged = _delete(tools, ids)
    note = end_unfinished_purge(tools)
    left, searched = _find_leftovers(tools, pieces)
    files = tuple(path for path in scrub.source_paths(uris) if path.is_file())
    return ForgetResult(done.run, done.forgotten, purged, left, files, searched, note)


def _traces(catalog: Catalog, ids: Sequence[str]) -> tuple[list[str], set[str]]:
    """Return a recognizable piece of each archived text of these ids, and the URIs they came from."""
    wanted = set(ids)
    pieces: dict[str, None] = {}
    uris: set[str] = set()
    for item in catalog.archive.each():
        if item.memory.id in wanted:
            uris.add(item.memory.uri)
            piece = max(item.memory.text.splitlines() or [""], key=len).strip()[:MAX_PIECE]
            if len(piece) >= MIN_PIECE:
                pieces[piece] = None
    return list(pieces), uris


def _delete(tools: scrub.ScrubContext, ids: Sequence[str]) -> int:
    """Delete memories from the archive, and all data about those alone; return how many were deleted."""
    catalog = tools.catalog
    with catalog.database.write() as connection:
        for run, some in catalog.archive.runs_of(ids).items():
            adopt_run(catalog, run)
            catalog.archive.drop(run, some)
            catalog.gc_runs.add(run, {"purge": len(some)}, archived=-len(some))
        gone = set(ids) - catalog.memories.ids()
        catalog.lives.forget(gone)
        catalog.projects.forget_moves(gone)
        catalog.supersessions.forget(gone)
        catalog.injections.forget(gone)
        catalog.shared.forget_texts(gone)
        catalog.gc_runs.forget_memories(gone)
        lexicon.forget_dead(connection)
        if gone:
            mark_purge(connection)
            catalog.log.write("purge", {"memories": len(gone)}, now=tools.now)
    return len(gone)


def end_unfinished_purge(tools: scrub.ScrubContext) -> str:
    """Remove from the files what a purge deleted from the tables; return an obstacle, or an empty text."""
    catalog = tools.catalog
    with catalog.database.read() as connection:
        if not purge_is_unfinished(connection):
            return ""
    forget_unused(catalog, tools.sizes)
    database = catalog.database
    if database.path is None:
        note = scrub.POSTGRES_NOTE
    else:
        for name in DERIVED:
            shutil.rmtree(tools.places.data / name, ignore_errors=True)
        if not database.vacuum():
            # It is tried again by the next purge.
            return "another process still reads the old data: purge again when it has finished"
        note = ""
    with database.write() as connection:
        end_purge(connection)
    return note


def _find_leftovers(tools: scrub.ScrubContext, pieces: Sequence[str]) -> tuple[tuple[str, ...], int]:
    """Return the places below the home that still hold one of the texts, and how many were searched for."""
    searched = pieces[:MAX_PIECES]
    if not searched:
        return (), 0
    found = scrub.plan(tools, ScrubTarget(tools.catalog.redactor, values=dict.fromkeys(searched, KIND)))
    lines = [
        f"the {'archived ' if one.archived else ''}memory {one.id[:12]}: {one.title}".rstrip(": ")
        for one in found.memories
    ]
    own = {"memories", "chunks", "archive"}
    lines += [
        f"the database, {place}: {count}"
        for place, count in sorted(found.places.items())
        if place.partition(".")[0] not in own and not found.memories
    ]
    lines += [f"the file {path}" for path in (*found.files, *found.config)]
    lines += [f"the backup {one.path}" + (f": {one.problem}" if one.problem else "") for one in found.backups]
    return tuple(lines), len(searched)


def require_run(catalog: Catalog, run: str) -> str:
    """Return a run of `forget` that can be undone; raises NotFoundError or UsageError for any other."""
    known = catalog.gc_runs.of(run)
    if known is None:
        raise NotFoundError(f'there is no run "{run}"', hint="`ragmem gc --history` lists the runs")
    if known.caller != FORGET:
        raise UsageError(f'the run "{run}" belongs to {known.caller}', hint=f"ragmem gc --undo --run {run}")
    if not known.archived:
        state = "was undone already" if known.undone else "was purged and cannot be undone"
        raise UsageError(f'the run "{run}" {state}', hint="`ragmem gc --history` lists the runs")
    return run
