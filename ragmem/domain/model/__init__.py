"""The values of the domain; this docstring is the glossary.

- source: a named set of files on disk (`memory`, `prds`, ...) with a glob, a reader, a kind and a scope.
- draft: one piece of text from a reader, not yet classified or stored.
- memory: a draft that was accepted; its text is kept verbatim.
- chunk: a part of a memory that fits the embedder's window; the unit of search.
- entity, relation: a thing that the text names, and a link between two of them.
- connection: a link between two memories.
- hit: a chunk that a store found, with its rank and score. match: a memory after ranking.
- kind: the subject of the text; it decides the half-life. category: the type of knowledge.
- tier: the class that the signal classifier assigns (ingest, summarize, discard). state: the progress of
  indexing.
- scope: the owner of a memory: a project (and perhaps a spec in it), or the user.
- typed record: a memory of one of the types in record_types.py, whose fields are kept as data.
- plan: the changes that an operation would make, item by item.
- home: the ragmem home, the four folders (config, data, state, cache) that RAGMEM_HOME moves.
- ingest: store a text; the inbox holds buffered texts and events until they are ingested.
- inject: add memories to an assistant's session; each is logged as an injection.
"""

import base64
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from datetime import datetime
from enum import StrEnum
from functools import partial
from itertools import count
from typing import NamedTuple

from ragmem.domain.secrets.marks import without_marks
from ragmem.frozen import dataclass

USER = "user"
"""The scope of memories that belong to the user, not to a project."""

UNASSIGNED = "unassigned"
"""The scope of work whose project is unknown: questions over all projects find it, but it is never injected,
connected or merged."""

NO_PROJECTS = frozenset({USER, UNASSIGNED})
"""Scopes that are not projects."""

EPISODES = frozenset({"sessions", "transcripts", "conversations", "reflections"})
"""Sources that record events, session by session."""

SHARED = "shared"
"""The source of memories that other members have shared; they rank behind one's own and never last."""

GIVEN_FIELDS = ("given kind", "given tags", "given time")
"""Metadata of what a person set for a memory, apart from what its file says. Outputs leave it out: the memory
has it as its kind, its tags and its time."""

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
    """The progress of a memory's indexing."""

    PENDING = "pending"
    """Accepted and durable, and in the full text; vectors and graph follow."""
    INDEXED = "indexed"
    """Chunks, vectors and graph are in the store."""
    BUFFERED = "buffered"
    """Low signal: stored verbatim, found only by full text."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The owner of a memory: a project id or `user`, and perhaps a spec within the project."""

    project: str = USER
    spec: str = ""


@dataclass(frozen=True, slots=True)
class Draft:
    """One piece of text from a reader.

    `uri` is stable for the same place on disk (an absolute path, or path#locator for a part of a file);
    `event_time`, if the source has one, is timezone-aware. `id` is set only if it does not follow from the
    place, because the project of the memory has changed.
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
    """A stored draft. `text` is verbatim; `summary` is set if the tier is summarize.

    `clean_hash` is `Redactor.clean_hash` of the indexed text when it was stored; 0: not known.
    """

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
    clean_hash: int = field(default=0, compare=False)

    @property
    def indexed_text(self) -> str:
        """The text that is chunked and searched: the summary of a summarized memory, else the whole text."""
        return self.summary or self.text

    @property
    def short_id(self) -> str:
        """The id in short form, for people."""
        return self.id[:SHORT_ID_LENGTH]

    @property
    def origin(self) -> str:
        """The member who has shared it; "" for one's own."""
        return self.metadata.get("origin", "") if self.source == SHARED else ""

    @property
    def provenance(self) -> str:
        """Where it comes from, for a line about it: its source, or "from" the member who has shared it."""
        return f"from {self.origin}" if self.origin else self.source


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a memory: `text` is `indexed_text[start:end]`; `heading` is the path of headings above it.

    The path consists of headings, the question above an answer, or the names around a definition.
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


# A tuple, because a question makes some hundreds of them.
class Hit(NamedTuple):
    """A chunk found by a list (full text, vectors, graph): rank from 1, score on that list's own scale."""

    chunk_id: str
    memory_id: str
    rank: int
    score: float


def ranked_hits(chunks: Iterable[str], memories: Iterable[str], scores: Iterable[float]) -> list[Hit]:
    """Return hits with ranks from 1 on, of chunks with their memories and scores, best first."""
    # A named tuple's own constructor is a Python function, and takes three times as long.
    return list(map(partial(tuple.__new__, Hit), zip(chunks, memories, count(1), scores)))


@dataclass(frozen=True, slots=True)
class Supersession:
    """A newer memory supersedes an older one: the rule, and the event times of both."""

    older: str
    newer: str
    older_at: datetime
    newer_at: datetime
    rule: str
    reason: str
    made_at: datetime


@dataclass(frozen=True, slots=True)
class PreviousVersion:
    """A replaced memory, and its summary in a line; "" if it no longer exists."""

    supersession: Supersession
    text: str = ""


@dataclass(frozen=True, slots=True)
class Match:
    """A memory after ranking: its best chunk, the terms of its score, and the ids of its duplicates.

    `also` are its other matching chunks, best first; `elsewhere` are memories of other projects with the same
    text. `replaced` are the memories that it supersedes; `superseded` is set if it is superseded itself,
    which only a question about the past finds. `outdated` is its mark if it is perhaps outdated.
    `unmerged` is the branch on which it was made, if that is not merged into what is checked out. `approval`
    is "proposed" or "rejected" while no person has accepted it. `neighbour` is the id of the memory before or
    after it in the same session by which it was found, if that one is more relevant.
    """

    memory: Memory
    chunk: Chunk
    score: float
    terms: Mapping[str, float] = field(default_factory=dict)
    duplicates: tuple[str, ...] = ()
    also: tuple[Chunk, ...] = ()
    replaced: tuple[PreviousVersion, ...] = ()
    superseded: Supersession | None = None
    outdated: Supersession | None = None
    elsewhere: tuple[Memory, ...] = ()
    unmerged: str = ""
    neighbour: str = ""
    approval: str = ""


def as_pending(memory: Memory) -> Memory:
    """Return a memory in the state before its vectors are made; a buffered one has none."""
    return memory if memory.state is State.BUFFERED else replace(memory, state=State.PENDING)


def digest(*parts: str, length: int = ID_LENGTH) -> str:
    """Return a lower-case base32 sha256 of the parts; ("a", "b") and ("ab",) differ."""
    raw = hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).digest()
    # Five bytes are eight letters; encoding takes most of the time, and the rest is cut off anyway.
    return base64.b32encode(raw[: -(-length // 8) * 5]).decode("ascii").lower()[:length]


def memory_id(source: str, scope: Scope, uri: str) -> str:
    """Return the id of the memory at this place; it does not depend on the text."""
    return digest("memory", source, scope.project, scope.spec, uri)


def possible_files(uri: str) -> tuple[str, str]:
    """Return what the path of a memory's file may be: its URI, and this without the locator of a part.

    A path may contain a "#"; a locator never does.
    """
    return uri, uri.rpartition("#")[0]


def content_hash(text: str) -> str:
    """Return the hash of a text with white space normalised; equal hashes are exact duplicates."""
    return digest("content", " ".join(text.split()))
