"""Store typed records, and read them by type, newest first or by relevance to a question."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypedDict

from ragmem.config.settings import ChunkingSettings
from ragmem.domain.model import Category, Draft, Memory
from ragmem.domain.records.record_fields import Value
from ragmem.domain.records.record_types import RecordType
from ragmem.domain.records.records import TypedRecord, draft_of, record_of
from ragmem.domain.secrets.redaction import Redactor
from ragmem.errors import UsageError
from ragmem.readers.scope import ProjectFinder
from ragmem.services.ingestion.classify import classify_draft
from ragmem.services.ingestion.drafts import scope_of
from ragmem.services.ingestion.ingest import Change, IngestResult
from ragmem.services.ingestion.options import DraftOptions
from ragmem.services.ingestion.scope import project_finder
from ragmem.services.retrieval.question import Answer, Question
from ragmem.services.retrieval.shapes import memory_shape
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.memories.record_queries import list_records

MIN_SCORE = 0.2
"""Score below which a record is not an answer; docs/records.md says how it was chosen."""

MOST = 10_000
"""Maximum number of discoveries of a project that are read."""


Ask = Callable[[Question, datetime | None], Answer]
"""Answers a question, with ages as of a moment (None: now)."""


class RecordContext(TypedDict, total=False):
    """The context of a record: a project (else the folder's), a spec in it, a moment (else now), tags."""

    project: str
    spec: str
    at: datetime | None
    tags: Sequence[str]


class RecordFilters(TypedDict, total=False):
    """Filters of records: by default those of this project and the user, of any time.

    `projects` are names, ids or paths; `min_score` is the lowest score of an answer, `at` the moment from
    which ages count.
    """

    projects: Sequence[str]
    everywhere: bool
    spec: str
    since: datetime | None
    min_score: float
    at: datetime | None


@dataclass(frozen=True, slots=True)
class RecordMatch:
    """A record and its memory; `score` is its relevance to a question, 0 without one."""

    record: TypedRecord
    memory: Memory
    score: float = 0.0

    @property
    def id(self) -> str:
        """The id of the memory."""
        return self.memory.id

    @property
    def type(self) -> RecordType:
        """The type of the record."""
        return self.record.type

    @property
    def fields(self) -> Mapping[str, Value]:
        """The fields of the record."""
        return self.record.fields


@dataclass(frozen=True, slots=True)
class StoredRecord(RecordMatch):
    """A stored record; `change` says whether it is new, `note` why it is not indexed yet."""

    change: Change = "new"
    note: str = ""


@dataclass(frozen=True, slots=True)
class Where:
    """A filter of records: by projects (names, ids or paths), by spec, by the time since a moment.

    No project means this one and the user's; `everywhere` means all. `session` filters episodes that are
    listed without a question.
    """

    projects: tuple[str, ...] = ()
    everywhere: bool = False
    spec: str = ""
    since: datetime | None = None
    categories: tuple[Category, ...] = ()
    session: str = ""


@dataclass(frozen=True, slots=True)
class RecordStore:
    """Stores records with checked fields, and reads them by type.

    `cwd` is the folder whose project records belong to. `ingest` stores drafts as `Ragmem.ingest` does.
    `select_projects` returns the ids of the projects of a `Where` (None: all) and raises NotFoundError.
    """

    catalog: Catalog
    sizes: ChunkingSettings
    home: Path
    cwd: Path
    ask: Ask
    ingest: Callable[..., list[IngestResult]]
    select_projects: Callable[[Where], tuple[str, ...] | None]

    def add(
        self,
        records: Sequence[TypedRecord],
        options: DraftOptions,
        *,
        now: datetime,
        folder: Path | None = None,
        by_agent: bool = False,
    ) -> list[StoredRecord]:
        """Store records of any length: durable at once, indexed right after if a model is available.

        An existing record is not stored twice; its date becomes now, or the date in `options`. Records belong
        to the project of the `folder` (None: `cwd`), unless the options name one.
        """
        drafts, projects = self._drafts(records, options, now=now, folder=folder)
        done = self.ingest(drafts, projects=projects, rule="off", by_agent=by_agent)
        return [
            StoredRecord(item, ingested.memory, change=ingested.change, note=ingested.note)
            for item, ingested in zip(records, done, strict=True)
        ]

    def preview(
        self, records: Sequence[TypedRecord], options: DraftOptions, *, now: datetime
    ) -> list[StoredRecord]:
        """Return what `add` would store, without storing it."""
        drafts, _ = self._drafts(records, options, now=now)
        redactor = self.catalog.redactor
        return [
            StoredRecord(
                item, classify_draft(draft, now=now, sizes=self.sizes, rule="off", redactor=redactor).memory
            )
            for item, draft in zip(records, drafts, strict=True)
        ]

    def _drafts(
        self,
        records: Sequence[TypedRecord],
        options: DraftOptions,
        *,
        now: datetime,
        folder: Path | None = None,
    ) -> tuple[list[Draft], ProjectFinder]:
        projects = project_finder(self.catalog, home=self.home)
        scope = scope_of(folder or self.cwd, options, catalog=self.catalog, projects=projects)
        moment, redactor = options.at or now, self.catalog.redactor
        return [
            draft_of(item, scope=scope, event_time=moment, tags=options.tags, redactor=redactor)
            for item in records
        ], projects

    def read(
        self,
        types: Sequence[RecordType],
        query: str = "",
        *,
        where: Where,
        limit: int,
        min_score: float = MIN_SCORE,
        at: datetime | None = None,
    ) -> list[RecordMatch]:
        """Return records of these types: answers to the query, best first, or without one the newest.

        The list is empty if nothing was ever stored. Raises NotFoundError for an unknown project, and
        UsageError for a limit below 1.
        """
        if limit < 1:
            raise UsageError(f"the limit is {limit}", hint="request at least one record")
        if not self.catalog.exists():
            return []
        projects = self.select_projects(where)
        if query.strip():
            question = Question(
                query,
                projects=projects,
                spec=where.spec,
                since=where.since,
                types=tuple(types),
                categories=where.categories,
                limit=limit,
                nearest=True,
            )
            return [
                RecordMatch(item, one, match.score)
                for match in self.ask(question, at).matches
                # A text in several projects is one match, but the record of each project counts.
                for one in (match.memory, *match.elsewhere)
                if match.score >= min_score and (item := record_of(one)) is not None
            ]
        ids = list_records(
            self.catalog.database,
            types,
            projects=projects,
            spec=where.spec,
            since=where.since,
            categories=where.categories,
            session=where.session,
            limit=limit,
        )
        memories = self.catalog.memories.get(ids)
        found = (memories[identifier] for identifier in ids if identifier in memories)
        return [RecordMatch(item, one) for one in found if (item := record_of(one)) is not None]


def discoveries(catalog: Catalog, *, projects: Sequence[str] | None = None, spec: str = "") -> dict[str, str]:
    """Return path -> latest purpose of the files that sessions recorded, by path.

    They come from records of single files and from the understood files of session insights.
    """
    types = (RecordType.CODEBASE_DISCOVERY, RecordType.SESSION_INSIGHT)
    ids = list_records(catalog.database, types, projects=projects, spec=spec, limit=MOST)
    memories = catalog.memories.get(ids)
    found: dict[str, str] = {}
    for identifier in ids:
        item = record_of(memories[identifier]) if identifier in memories else None
        if item is None:
            continue
        if item.type is RecordType.CODEBASE_DISCOVERY:
            found.setdefault(str(item.fields["path"]), str(item.fields["purpose"]))
            continue
        understood = item.fields.get("files_understood", {})
        if isinstance(understood, Mapping):
            for path, purpose in understood.items():
                found.setdefault(path, purpose)
    return dict(sorted(found.items()))


def record_shape(item: RecordMatch, redactor: Redactor) -> dict[str, Any]:
    """Return a record as JSON fields, without secrets: its memory's, its type and its own fields."""
    shape = memory_shape(item.memory, redactor=redactor)
    del shape["metadata"]
    fields: dict[str, Any] = redactor.redact_document(dict(item.fields))
    return {**shape, "type": item.type.value, "fields": fields, "score": item.score}
