"""The sources of candidates that only some questions have: records, edits and commits, dates."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from ragmem.domain.model import Hit
from ragmem.domain.retrieval.question import Query
from ragmem.domain.text.spans import short
from ragmem.ports import Store
from ragmem.services.retrieval.asking import Question
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.lifecycle.recent import within
from ragmem.storage.memories.edits import Edit, commits_of, edits_of, plain_path
from ragmem.storage.memories.recorded import list_records

FURTHER = 50
"""Hits of a source beside words and vectors."""

MOST_RECORDS = 500
"""Latest records that are compared with a question, which takes as long as any other filter; older ones are
found where words or vectors lead to them."""

FIRST, LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)

_ABSOLUTE = re.compile(r"/|~/|[A-Za-z]:/")


@dataclass(frozen=True, slots=True)
class Search:
    """What each source is given: where it searches, for which question, and how many memories it finds.

    `seeds` are the best candidates of the other sources, best first, for a source that starts from them.
    """

    catalog: Catalog
    store: Store | None
    question: Question
    query: Query
    depth: int
    share: int = 1
    """How many times as many hits are read, because filters leave some of them out."""
    seeds: tuple[Hit, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """A list of candidates under a name, best first.

    Where it `speaks`, its scores are evidence; else its hits are only compared with the question. One that
    `follows` starts from the best candidates of the others.
    """

    name: str
    find: Callable[[Search], Sequence[Hit]]
    speaks: bool = True
    follows: bool = False


def edits(search: Search) -> list[Hit]:
    """Return memories that edited the files which a question names, else those of its commits."""
    catalog, query, projects = search.catalog, search.query, search.question.projects
    found = edits_of_files(catalog, query.paths, projects=projects, limit=FURTHER)
    return found or edits_of_commits(catalog, query.commits, projects=projects, limit=FURTHER)


def edits_of_files(
    catalog: Catalog, paths: Iterable[str], *, projects: Sequence[str] | None, limit: int
) -> list[Hit]:
    """Return the first chunks of memories that edited any of these files: most edits first, then the latest.

    A path is that of the file, or its end (`session.go`, `cmd/session.go`), or an absolute one that ends with
    what was stored. Where a file has just this path, others that only end so do not count. A name without
    folders that several files end with means none of them. A hit's score is the number of edits.
    """
    counted: dict[str, tuple[int, Edit]] = {}
    for path in dict.fromkeys(map(plain_path, paths)):
        for edit in _meant(path, edits_of(catalog.database, path.rpartition("/")[2], projects=projects)):
            before = counted.get(edit.memory_id)
            counted[edit.memory_id] = (edit.edits + (before[0] if before else 0), edit)
    ranked = sorted(counted.values(), key=lambda pair: (-pair[0], -pair[1].event_at, pair[1].memory_id))
    return [
        Hit(edit.chunk_id, edit.memory_id, rank, float(count))
        for rank, (count, edit) in enumerate(ranked[: max(0, limit)], start=1)
    ]


def edits_of_commits(
    catalog: Catalog, commits: Iterable[str], *, projects: Sequence[str] | None, limit: int
) -> list[Hit]:
    """Return the first chunks of memories in which these commits were made, latest first."""
    found = {
        edit.memory_id: edit
        for commit in commits
        for edit in commits_of(catalog.database, commit, projects=projects)
    }
    ranked = sorted(found.values(), key=lambda edit: (-edit.event_at, edit.memory_id))[: max(0, limit)]
    return [Hit(edit.chunk_id, edit.memory_id, rank, 1.0) for rank, edit in enumerate(ranked, start=1)]


def _meant(path: str, edits: Sequence[Edit]) -> list[Edit]:
    """Return the edits of the file that is meant, from the edits of all files of one name."""
    exact = [edit for edit in edits if edit.path == path]
    if exact:
        return exact
    whole = bool(_ABSOLUTE.match(path))
    ending = [
        edit for edit in edits if _ends_with(edit.path, path) or (whole and _ends_with(path, edit.path))
    ]
    if "/" not in path and len({edit.path for edit in ending}) > 1:
        return []
    return ending


def _ends_with(path: str, end: str) -> bool:
    """Tell whether a path ends with another one, whole names of folders compared."""
    return path.endswith(f"/{end.lstrip('/')}")


def dates(search: Search) -> list[Hit]:
    """Return the first chunks of memories that happened when the question says, the newest first.

    A span that is open, or longer than five weeks, leads to none, unless nothing but times is asked for.
    Behind the memories of a time of day stand the others of that day. The scores fall from 1 for the newest
    towards a half.
    """
    query, question = search.query, search.question
    limit = FURTHER * search.share
    spans = short(query.times)
    if query.only_times:
        spans = [(start or FIRST, end or LAST) for start, end in query.times]
    found = within(search.catalog.database, spans, projects=question.projects, limit=limit)
    if query.days and len(found) < limit:
        rest = within(search.catalog.database, short(query.days), projects=question.projects, limit=limit)
        found = list(dict.fromkeys((*found, *rest)))[:limit]
    return [
        Hit(chunk_id, memory_id, rank, 1 - (rank - 1) / (2 * limit))
        for rank, (memory_id, chunk_id) in enumerate(found, start=1)
    ]


def records(search: Search) -> list[Hit]:
    """Return the first chunks of the records that a question is asked of, the newest first; scores of 0."""
    catalog, question = search.catalog, search.question
    ids = list_records(
        catalog.database,
        question.types,
        projects=question.projects,
        spec=question.spec,
        since=question.since,
        until=question.until,
        categories=question.categories,
        limit=MOST_RECORDS,
    )
    openings = catalog.memories.openings(ids)
    return [
        Hit(openings[memory_id], memory_id, rank, 0.0)
        for rank, memory_id in enumerate(ids, start=1)
        if memory_id in openings
    ]
