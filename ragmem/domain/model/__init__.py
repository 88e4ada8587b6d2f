"""The values everything else speaks of; this docstring is the glossary.

- source: a named set of files on disk (`memory`, `prds`, ...) with a glob, a reader, a kind and a scope.
- draft: one piece of text as a reader found it, not yet judged or stored.
- memory: a draft that was accepted; its text is kept verbatim.
- chunk: a part of a memory that fits the embedder's window; what is searched.
- entity, relation: what the text speaks of, and how those things relate.
- connection: a link between two memories.
- hit: a chunk that a store found, with its rank and score. match: a memory after ranking.
- kind: what the text is about; it decides the half-life. category: what sort of knowledge it is.
- tier: what the signal is worth (ingest, summarize, discard). state: where a memory is in its life.
- scope: to whom a memory belongs: a project (and perhaps a spec in it), or the user.
- typed record: a memory of one of the types in record_types.py, whose fields are kept as data.
- plan: what an operation would do, item by item, before it does it.
"""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from ragmem.domain.secrets.marks import without_marks

USER = "user"
"""The scope of what belongs to the person and to no single project."""

UNASSIGNED = "unassigned"
"""The scope of work whose project is unknown: found by questions over all projects, but never injected,
connected or merged."""

NO_PROJECTS = frozenset({USER, UNASSIGNED})
"""Scopes that are no projects."""

EPISODES = frozenset({"sessions", "transcripts", "conversations", "reflections"})
"""Sources that record events, session by session."""

ID_LENGTH = 26
"""Characters of an id: 128 bits of sha256 in lower-case base32."""

SHORT_ID_LENGTH = 12
"""Characters of an id that people see; any unique prefix of at least 4 is accepted."""


class Tier(StrEnum):
    """The value of the signal in a text."""

    INGEST = "ingest"
    SUMMARIZE = "summarize"
    DISCARD = "discard"


class Kind(StrEnum):
    """The subject of a text; it selects the half-life in decay.json."""

    PREFERENCE = "preference"
    ARCHITECTURE = "architecture"
    ERROR = "error"
    RESEARCH = "research"
    GENERAL = "general"


class Category(StrEnum):
    """The category of knowledge in a text."""

    ERROR_SOLUTION = "error_solution"
    PATTERN = "pattern"
    BEST_PRACTICE = "best_practice"
    GOTCHA = "gotcha"
    NONE = "none"


class State(StrEnum):
    """Where a memory is in its life."""

    PENDING = "pending"
    """Accepted and durable, and in the full text; vectors and graph follow."""
    INDEXED = "indexed"
    """Chunks, vectors and graph are in the store."""
    BUFFERED = "buffered"
    """Low signal: stored verbatim and found by full text only."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The owner of a memory: a project id or `user`, and perhaps a spec within the project."""

    project: str = USER
    spec: str = ""


@dataclass(frozen=True, slots=True)
class Draft:
    """One piece of text as a reader found it.

    `uri` is stable for the same place on disk (an absolute path, or path#locator for a part of a file);
    `event_time` is when the thing happened, as far as the source tells, and is timezone-aware. `id` is that
    of the memory of this place where it does not follow from the place, because its project has changed.
    """

    source: str
    uri: str
    text: str
    title: str = ""
    event_time: datetime | None = None
    scope: Scope = Scope()
    kind: Kind | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    category: Category | None = None
    id: str = ""


@dataclass(frozen=True, slots=True)
class Memory:
    """A stored draft. `text` is verbatim; `summary` is set if the tier is summarize."""

    id: str
    source: str
    uri: str
    text: str
    title: str
    event_time: datetime
    created_at: datetime
    updated_at: datetime
    content_hash: str
    scope: Scope = Scope()
    kind: Kind = Kind.GENERAL
    category: Category = Category.NONE
    tier: Tier = Tier.INGEST
    state: State = State.PENDING
    protected: bool = False
    summary: str = ""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    recalls: int = 0

    @property
    def indexed_text(self) -> str:
        """The text that is chunked and searched: the summary of a summarized memory, else the whole text."""
        return self.summary or self.text

    @property
    def short_id(self) -> str:
        """The id in short form, for people."""
        return self.id[:SHORT_ID_LENGTH]


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a memory: `text` is `indexed_text[start:end]`; `heading` is the path of headings above it.

    That is headings, what an answer was asked for, or the names that a definition lies within.
    """

    id: str
    memory_id: str
    order: int
    text: str
    heading: str = ""
    start: int = 0
    end: int = 0

    @property
    def searchable(self) -> str:
        """The text that is embedded and indexed: the heading path and the text, without secrets."""
        return without_marks(f"{self.heading}\n{self.text}" if self.heading else self.text)


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity in a text; `type` is one of the types in extraction.py."""

    name: str
    type: str
    description: str


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation of two entities; undirected in the store, `weight` grows with the evidence."""

    source: str
    target: str
    keywords: str
    description: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Extraction:
    """The entities and relations found in one chunk."""

    chunk_id: str
    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()


@dataclass(frozen=True, slots=True)
class Record:
    """All data that a store keeps of one memory."""

    memory: Memory
    chunks: tuple[Chunk, ...]
    extractions: tuple[Extraction, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk found by a list (full text, vectors, graph): rank from 1, score on that list's own scale."""

    chunk_id: str
    memory_id: str
    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class Supersession:
    """A newer memory has superseded an older one: the rule, and when each of them happened."""

    older: str
    newer: str
    older_at: datetime
    newer_at: datetime
    rule: str
    reason: str
    made_at: datetime


@dataclass(frozen=True, slots=True)
class PreviousVersion:
    """A memory that another one replaced, and its summary in a line; "" if it no longer exists."""

    supersession: Supersession
    text: str = ""


@dataclass(frozen=True, slots=True)
class Match:
    """A memory after ranking: its best chunk, the terms of its score, and the ids of its duplicates.

    `also` are further chunks of it that were found, best first, `elsewhere` those memories behind it that
    have its text in other projects. `replaced` is what it has made untrue, `superseded` tells that it was
    made untrue itself, which only a question for what was before finds.
    """

    memory: Memory
    chunk: Chunk
    score: float
    terms: Mapping[str, float] = field(default_factory=dict)
    duplicates: tuple[str, ...] = ()
    also: tuple[Chunk, ...] = ()
    replaced: tuple[PreviousVersion, ...] = ()
    superseded: Supersession | None = None
    elsewhere: tuple[Memory, ...] = ()


def digest(*parts: str, length: int = ID_LENGTH) -> str:
    """Return a lower-case base32 sha256 of the parts; ("a", "b") and ("ab",) differ."""
    raw = hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).digest()
    return base64.b32encode(raw).decode("ascii").lower()[:length]


def memory_id(source: str, scope: Scope, uri: str) -> str:
    """Return the id of the memory at this place; it does not depend on the text."""
    return digest("memory", source, scope.project, scope.spec, uri)


def content_hash(text: str) -> str:
    """Return the hash of a text with white space normalised; equal hashes are exact duplicates."""
    return digest("content", " ".join(text.split()))
