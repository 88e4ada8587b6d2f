"""The sources of candidates that only some questions have: records, files, edits and commits, dates."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ragmem.domain.model import Hit
from ragmem.domain.retrieval.question import Query
from ragmem.domain.text.spans import selective_spans
from ragmem.frozen import dataclass
from ragmem.patterns import lazy
from ragmem.ports import Store
from ragmem.services.retrieval.question import Question
from ragmem.storage.fulltext.terms import LexicalHits
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.lifecycle.recent import in_spans
from ragmem.storage.memories.edits import Edit, commits_of, edits_of, plain_path, stored_files
from ragmem.storage.memories.record_queries import list_records
from ragmem.storage.memories.rules import Rule

if TYPE_CHECKING:
    from ragmem.domain.retrieval.rule_moment import Moment

FURTHER = 50
"""Maximum hits of a source besides words and vectors."""

RULE_IN_SCOPE = "rule in scope: "
"""The beginning of the term of a score by which a rule applies; the reason follows."""

MAX_OPENING = 80
"""Characters of a question that tell whether it may begin work."""

_ASKING = frozenset(
    "why who whom whose when what what's where which how did does is are was were has explain find list"
    " describe tell warum wieso wann wer wo was welche pourquoi quand qui combien por cuando quien"
    " donde".split()
)
_INTENDING = frozenset("should shall can could do to soll sollte dois debo a an any".split())
"""Words near the beginning of a question that asks how something is to be done."""

MOST_RULES = 12
"""Maximum rules that apply to a question."""

MOST_RECORDS = 500
"""Maximum number of latest records that are compared with a question, which is as fast as other filters;
older ones are found by words or vectors only."""

FIRST, LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)

_ABSOLUTE = lazy(r"/|~/|[A-Za-z]:/")


@dataclass(frozen=True, slots=True)
class Search:
    """The input of a source: where it searches, the question, and the number of memories.

    `seeds` are the best candidates of the other sources, best first, and `words` what the words of the
    question tell of their chunks, for a source that starts from them.
    """

    catalog: Catalog
    store: Store | None
    question: Question
    query: Query
    depth: int
    share: int = 1
    """Factor by which more hits are read, because filters exclude some of them."""
    seeds: tuple[Hit, ...] = ()
    words: LexicalHits = field(default_factory=LexicalHits)


@dataclass(frozen=True, slots=True)
class Source:
    """A list of candidates under a name, best first.

    If it `speaks`, its scores are evidence; else its hits are only compared with the question. A source that
    `follows` starts from the best candidates of the others.
    """

    name: str
    find: Callable[[Search], Sequence[Hit]]
    speaks: bool = True
    follows: bool = False


def edits(search: Search) -> list[Hit]:
    """Return memories that edited the files in a question, else those of its commits."""
    catalog, query, projects = search.catalog, search.query, search.question.projects
    found = edits_of_files(catalog, query.paths, projects=projects, limit=FURTHER)
    return found or edits_of_commits(catalog, query.commits, projects=projects, limit=FURTHER)


def files(search: Search) -> list[Hit]:
    """Return the memories that were read from the files in a question."""
    return memories_of_files(search.catalog, search.query.paths, projects=search.question.projects)


def memories_of_files(catalog: Catalog, paths: Iterable[str], *, projects: Sequence[str] | None) -> list[Hit]:
    """Return the first chunks of memories that were read from any of these files, with scores of 1.

    A path may be the uri or its end. One that several files have matches none.
    """
    found: list[Hit] = []
    for path in dict.fromkeys(map(plain_path, paths)):
        near = stored_files(catalog.database, path.rpartition("/")[2], projects=projects)
        same = [one for one in near if one.uri == path or _ends_with(one.uri, path)]
        if len({one.uri for one in same}) == 1:
            found += [Hit(one.chunk_id, one.memory_id, 1, 1.0) for one in same]
    return found


def edits_of_files(
    catalog: Catalog, paths: Iterable[str], *, projects: Sequence[str] | None, limit: int
) -> list[Hit]:
    """Return the first chunks of memories that edited any of these files: most edits first, then the latest.

    A path may be the stored path, its end (`session.go`, `cmd/session.go`), or an absolute path that ends
    with it. Exact matches exclude others. A name without folders that matches several files matches none. A
    hit's score is the number of edits.
    """
    counted: dict[str, tuple[int, Edit]] = {}
    for path in dict.fromkeys(map(plain_path, paths)):
        for edit in _matching_edits(
            path, edits_of(catalog.database, path.rpartition("/")[2], projects=projects)
        ):
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
    """Return the first chunks of memories with these commits, latest first."""
    found = {
        edit.memory_id: edit
        for commit in commits
        for edit in commits_of(catalog.database, commit, projects=projects)
    }
    ranked = sorted(found.values(), key=lambda edit: (-edit.event_at, edit.memory_id))[: max(0, limit)]
    return [Hit(edit.chunk_id, edit.memory_id, rank, 1.0) for rank, edit in enumerate(ranked, start=1)]


def _matching_edits(path: str, edits: Sequence[Edit]) -> list[Edit]:
    """Return the edits of the file with a path, from the edits of all files of the same name."""
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
    """Return whether a path ends with another one, whole names of folders compared."""
    return path.endswith(f"/{end.lstrip('/')}")


def dates(search: Search) -> list[Hit]:
    """Return the first chunks of memories in the time spans of a question, newest first.

    Open spans, and those longer than five weeks, are ignored, unless only times are asked for. Memories of a
    time of day come before the others of that day. The scores fall from 1 for the newest towards 0.5.
    """
    query, question = search.query, search.question
    limit = FURTHER * search.share
    spans = selective_spans(query.times)
    if query.only_times:
        spans = [(start or FIRST, end or LAST) for start, end in query.times]
    found = in_spans(search.catalog.database, spans, projects=question.projects, limit=limit)
    if query.days and len(found) < limit:
        rest = in_spans(
            search.catalog.database, selective_spans(query.days), projects=question.projects, limit=limit
        )
        found = list(dict.fromkeys((*found, *rest)))[:limit]
    return [
        Hit(chunk_id, memory_id, rank, 1 - (rank - 1) / (2 * limit))
        for rank, (memory_id, chunk_id) in enumerate(found, start=1)
    ]


def records(search: Search) -> list[Hit]:
    """Return the first chunks of the records of the question's types, newest first, with scores of 0."""
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


def rules(search: Search) -> list[Hit]:
    """Return the chunks with the rules that apply to what a question sets out to do, with scores of 1."""
    if not may_begin_work(search.query.text):
        return []
    from ragmem.domain.retrieval.rule_moment import moment_of_text  # noqa: PLC0415 - few questions need it

    catalog = search.catalog
    applying = rules_for(catalog, moment_of_text(search.query.text), projects=search.question.projects)
    return [
        Hit(catalog.rules.chunk_at(rule), rule.memory_id, rank, 1.0)
        for rank, (rule, _) in enumerate(applying, start=1)
    ]


def may_begin_work(text: str) -> bool:
    """Return whether a question may be what somebody is about to do: "how do I", "add a", and no "why is"."""
    words = text[:MAX_OPENING].casefold().split()
    return bool(words) and (words[0] not in _ASKING or not _INTENDING.isdisjoint(words[1:4]))


def rule_reason(text: str, title: str, question: str) -> str:
    """Return why a text has a rule that applies to a question, such as "release"; "" if none does."""
    from ragmem.domain.retrieval.rule_moment import moment_of_text  # noqa: PLC0415 - few questions need it
    from ragmem.domain.retrieval.rule_scope import MAX_CHARS, known_scopes_of  # noqa: PLC0415

    moment = moment_of_text(question)
    # As much of the text as the storage reads, so that its scopes are known.
    scopes = known_scopes_of(text[:MAX_CHARS], title)
    return next(filter(None, (scope.reason(moment) for scope in scopes)), "")


def rules_for(
    catalog: Catalog, moment: "Moment", *, projects: Sequence[str] | None
) -> list[tuple[Rule, str]]:
    """Return the rules that apply to a moment, each with the reason: one of each memory, the latest first."""
    found: dict[str, tuple[Rule, str]] = {}
    for rule in catalog.rules.of(projects) if moment else ():
        if rule.memory_id not in found and (reason := rule.scope.reason(moment)):
            found[rule.memory_id] = rule, reason
            if len(found) == MOST_RULES:
                break
    return list(found.values())
