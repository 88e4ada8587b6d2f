"""Store typed records, and read them by type, newest first or as they answer a question."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, Unpack

from ragmem.config import Settings
from ragmem.config.settings import SignalRule
from ragmem.domain.model import Category, Draft, Memory
from ragmem.domain.records.record_fields import Value
from ragmem.domain.records.record_types import RecordType
from ragmem.domain.records.records import TypedRecord, draft_of, record_of
from ragmem.domain.secrets.redaction import Redactor
from ragmem.errors import UsageError
from ragmem.readers.scope import ProjectFinder
from ragmem.services.ingestion.classify import judge
from ragmem.services.ingestion.drafts import HandIn, scope_of
from ragmem.services.ingestion.ingest import Change, Ingested
from ragmem.services.ingestion.scope import finder
from ragmem.services.retrieval.asking import Answer, Question
from ragmem.services.retrieval.shapes import memory_shape
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.memories.recorded import recorded

if TYPE_CHECKING:
    from ragmem.services.processes.progress import Progress

MIN_SCORE = 0.2
"""Score below which a record is not taken for an answer; see docs/records.md for how it was found."""

MOST = 10_000
"""Discoveries of a project that are read."""


class Remembers(Protocol):
    """What of an open memory records need; `ragmem.api.memory.Ragmem` has it, with what `Recording` adds."""

    catalog: Catalog
    settings: Settings
    home: Path
    cwd: Path

    def prepare(self) -> None:
        """Create the database where it is missing."""
        ...

    def default_projects(self) -> tuple[str, ...] | None:
        """Return the projects a question is asked of."""
        ...

    def named_projects(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the ids of projects given by name, id or path."""
        ...

    def query(self, text: str, *, question: Question | None = None, at: datetime | None = None) -> Answer:
        """Return the memories that answer a question."""
        ...

    def ingest(
        self,
        drafts: Sequence[Draft],
        *,
        projects: ProjectFinder | None = None,
        rule: SignalRule = "graded",
        progress: "Progress | None" = None,
    ) -> list[Ingested]:
        """Store drafts."""
        ...

    def add_records(
        self,
        records: Iterable[tuple[RecordType | str, Mapping[str, object]]],
        **belonging: Unpack["Belonging"],
    ) -> list[str]:
        """Store records, each given as its type and fields."""
        ...

    def get_records(
        self,
        types: RecordType | str | Iterable[RecordType | str] = (),
        query: str = "",
        **wanted: Unpack["Wanted"],
    ) -> "list[Recorded]":
        """Return records of some types."""
        ...


class Belonging(TypedDict, total=False):
    """To what a record belongs: a project (else the folder's), a spec in it, a moment (else now), tags."""

    project: str
    spec: str
    at: datetime | None
    tags: Sequence[str]


class Among(TypedDict, total=False):
    """Among which records is looked: by default those of this project and the user, of whatever time.

    `projects` are names, ids or paths; `min_score` is the least score where something is asked, `at` the
    moment from which ages count.
    """

    projects: Sequence[str]
    everywhere: bool
    spec: str
    since: datetime | None
    min_score: float
    at: datetime | None


class Wanted(Among, total=False):
    """Which records are wanted, and how many: ten unless another limit is given."""

    limit: int


@dataclass(frozen=True, slots=True)
class Recorded:
    """A record with the memory that it is; `score` is how well it answers, 0 where nothing was asked."""

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
class Stored(Recorded):
    """A record that was stored; `change` tells whether it is new, `note` why it is not indexed yet."""

    change: Change = "new"
    note: str = ""


@dataclass(frozen=True, slots=True)
class Where:
    """Which records are meant: of these projects (names, ids or paths), of this spec, since then.

    No project means this one and the user's, as a question does; `everywhere` all of them. `session` is that
    of episodes, and only for what is not found by a question.
    """

    projects: tuple[str, ...] = ()
    everywhere: bool = False
    spec: str = ""
    since: datetime | None = None
    categories: tuple[Category, ...] = ()
    session: str = ""


def add(
    memory: Remembers,
    records: Sequence[TypedRecord],
    wish: HandIn,
    *,
    now: datetime,
    folder: Path | None = None,
) -> list[Stored]:
    """Store records whole, however short: durable at once, indexed right after as far as a model can be had.

    One that is there already is not doubled; its date becomes that of now, or the one that is wished. They
    belong to the project of the `folder` (None: that of the memory's own), unless the wish names one.
    """
    drafts, projects = _drafts(memory, records, wish, now=now, folder=folder)
    done = memory.ingest(drafts, projects=projects, rule="off")
    return [
        Stored(item, ingested.judged.memory, change=ingested.change, note=ingested.note)
        for item, ingested in zip(records, done, strict=True)
    ]


def shown_only(
    memory: Remembers, records: Sequence[TypedRecord], wish: HandIn, *, now: datetime
) -> list[Stored]:
    """Return what `add` would store, without storing it."""
    drafts, _ = _drafts(memory, records, wish, now=now)
    sizes = memory.settings.chunking
    return [
        Stored(item, judge(draft, now=now, sizes=sizes, rule="off", redactor=memory.catalog.redactor).memory)
        for item, draft in zip(records, drafts, strict=True)
    ]


def _drafts(
    memory: Remembers,
    records: Sequence[TypedRecord],
    wish: HandIn,
    *,
    now: datetime,
    folder: Path | None = None,
) -> tuple[list[Draft], ProjectFinder]:
    projects = finder(memory.catalog, home=memory.home)
    scope = scope_of(folder or memory.cwd, wish, catalog=memory.catalog, projects=projects)
    drafts = [
        draft_of(
            item, scope=scope, event_time=wish.at or now, tags=wish.tags, redactor=memory.catalog.redactor
        )
        for item in records
    ]
    return drafts, projects


def read(
    memory: Remembers,
    types: Sequence[RecordType],
    query: str = "",
    *,
    where: Where,
    limit: int,
    min_score: float = MIN_SCORE,
    at: datetime | None = None,
) -> list[Recorded]:
    """Return records of these types: those that answer the query, best first, or without one the newest.

    None where nothing was ever stored. Raises NotFoundError for an unknown project, and UsageError for a
    limit below 1.
    """
    if limit < 1:
        raise UsageError(f"the limit is {limit}", hint="ask for at least one record")
    if not memory.catalog.exists():
        return []
    projects = projects_of(memory, where)
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
        matches = memory.query(query, question=question, at=at).matches
        return [
            Recorded(item, one, match.score)
            for match in matches
            # One text in several projects is one match; a record of each project counts.
            for one in (match.memory, *match.elsewhere)
            if match.score >= min_score and (item := record_of(one)) is not None
        ]
    ids = recorded(
        memory.catalog.database,
        types,
        projects=projects,
        spec=where.spec,
        since=where.since,
        categories=where.categories,
        session=where.session,
        limit=limit,
    )
    memories = memory.catalog.memories.get(ids)
    found = (memories[identifier] for identifier in ids if identifier in memories)
    return [Recorded(item, one) for one in found if (item := record_of(one)) is not None]


def projects_of(memory: Remembers, where: Where) -> tuple[str, ...] | None:
    """Return the ids of the projects that are meant, None for all; raises NotFoundError."""
    memory.prepare()
    if where.everywhere:
        return None
    return memory.named_projects(where.projects) or memory.default_projects()


def discoveries(catalog: Catalog, *, projects: Sequence[str] | None = None, spec: str = "") -> dict[str, str]:
    """Return path -> purpose of the files that sessions recorded, the latest word on each, by path.

    Both what was recorded of a file alone and what a session insight says of the files it understood.
    """
    types = (RecordType.CODEBASE_DISCOVERY, RecordType.SESSION_INSIGHT)
    ids = recorded(catalog.database, types, projects=projects, spec=spec, limit=MOST)
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


def record_shape(item: Recorded, redactor: Redactor) -> dict[str, Any]:
    """Return a record as JSON fields, without secrets: its memory's, its type and its own fields."""
    shape = memory_shape(item.memory, redactor=redactor)
    del shape["metadata"]
    fields: dict[str, Any] = redactor.redact_document(dict(item.fields))
    return {**shape, "type": item.type.value, "fields": fields, "score": item.score}
