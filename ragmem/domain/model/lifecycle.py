"""The words of the lifecycle: what a memory's life can be, what its rules see of it, and what they decide.

A memory enters in the buffer. What is recalled in several sessions is proven; a proven or permanent memory
does not age. What a person keeps (a curated source) is proven from the start: the file is the truth, and
nothing is merged or archived behind its back. Isolation, not age, ends a life, and what has ended lies in the
archive, whence it can be restored.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from ragmem.domain.model import EPISODES, Category, Kind, Memory, Scope
from ragmem.domain.model.document_place import is_of_document


class Life(StrEnum):
    """Where a memory is in its life; the archive is not a life, but the end of one."""

    BUFFER = "buffer"
    """As it came in: it may be merged, and it ages."""
    PROVEN = "proven"
    """Recalled in several sessions, restored by hand, or curated: it does not age."""
    PERMANENT = "permanent"
    """Isolated, but substantial after every reprieve, or pinned: it does not age and is never merged."""


class EntryType(StrEnum):
    """What sort of entry a memory is."""

    DECISION = "decision"
    THOUGHT = "thought"
    """A person's own wish, idea or standing instruction."""
    INSIGHT = "insight"
    ERROR = "error"
    SESSION = "session"
    """What happened in a session, saved at its end."""
    NOTE = "note"


PROTECTED_TYPES = frozenset({EntryType.DECISION, EntryType.THOUGHT})
"""Types that never expire by themselves."""

CURATED = ("memory", "prds", "paidocs", "skills", "commands", "claudemds", "records")
"""Sources that a person keeps, unless the settings say otherwise."""

_BY_NAME: Mapping[str, EntryType] = {
    "decision": EntryType.DECISION,
    "adr": EntryType.DECISION,
    "thought": EntryType.THOUGHT,
    "user": EntryType.THOUGHT,
    "feedback": EntryType.THOUGHT,
    "preference": EntryType.THOUGHT,
    "user_correction": EntryType.THOUGHT,
    "insight": EntryType.INSIGHT,
    "session_insight": EntryType.INSIGHT,
    "pattern": EntryType.INSIGHT,
    "gotcha": EntryType.ERROR,
    "error": EntryType.ERROR,
    "root_cause": EntryType.ERROR,
    "session": EntryType.SESSION,
    "session_save": EntryType.SESSION,
    "note": EntryType.NOTE,
}
"""What `type` in a memory's metadata may say, and what it means."""


def declared_type(memory: Memory) -> EntryType | None:
    """Return the type that a memory's metadata says it is; None where they say none that is known."""
    # It is asked for several times of each memory, and most do not say.
    told = memory.metadata.get("type")
    return _BY_NAME.get(told.strip().lower().replace("-", "_")) if told else None


def entry_type(memory: Memory) -> EntryType:
    """Return a memory's type: what its metadata says, else what its protection, kind and source tell."""
    if said := declared_type(memory):
        return said
    if memory.protected:
        return EntryType.THOUGHT if memory.kind is Kind.PREFERENCE else EntryType.DECISION
    if memory.category in {Category.ERROR_SOLUTION, Category.GOTCHA} or memory.kind is Kind.ERROR:
        return EntryType.ERROR
    if memory.category in {Category.PATTERN, Category.BEST_PRACTICE}:
        return EntryType.INSIGHT
    return EntryType.SESSION if memory.source in EPISODES else EntryType.NOTE


@dataclass(frozen=True, slots=True)
class Entry:
    """What the rules of the lifecycle see of one memory.

    `number` is the order in which memories came in. `sessions` counts those that recalled it, `feedback` is
    how often it was good less how often bad. `checked_age` is how many newer memories of its project there
    were at its last reprieve.
    """

    memory: Memory
    number: int
    life: Life = Life.BUFFER
    pinned: bool = False
    curated: bool = False
    reprieves: int = 0
    checked_age: int = 0
    sessions: int = 0
    feedback: int = 0
    superseded_by: str = ""

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.memory.id

    @property
    def text(self) -> str:
        """The memory's text, verbatim."""
        return self.memory.text

    @property
    def scope(self) -> Scope:
        """To whom the memory belongs."""
        return self.memory.scope

    @property
    def type(self) -> EntryType:
        """The memory's type."""
        return entry_type(self.memory)

    @property
    def protected(self) -> bool:
        """Tell whether it never expires by itself: decisions, people's thoughts, and what was pinned."""
        return self.pinned or self.memory.protected or self.type in PROTECTED_TYPES

    @property
    def session(self) -> str:
        """The session that the memory tells of, by its id; empty for what tells of none."""
        return self.memory.metadata.get("session", "") if self.memory.source in EPISODES else ""

    @property
    def mergeable(self) -> bool:
        """Tell whether it may become a part of a merged memory, as long as it is none.

        Only what came in by itself in a session may: no page of a document, nothing protected or curated, and
        nothing that a person handed in.
        """
        memory = self.memory
        whole = "merged_from" not in memory.metadata and not is_of_document(memory.metadata)
        free = not (self.protected or self.curated or self.superseded_by)
        return self.life is Life.BUFFER and whole and free and bool(self.session)


@dataclass(frozen=True, slots=True)
class Connection:
    """A link between two memories of one project, by their ids in ascending order.

    `cosine` is that of their vectors, `shared` (0 to 1) the names and rare words that both have, and
    `strength` (0 to 1) what both say together: from 0.5 the two are about one thing.
    """

    first: str
    second: str
    cosine: float
    shared: float
    strength: float


Action = Literal["keep", "reprieve", "promote", "supersede", "merge", "archive", "remove", "mend", "drop"]


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of one memory, by which rule, and why in one line for people.

    `others` are the ids it has to do with: the memory that takes its place, or its cluster.
    """

    id: str
    action: Action
    rule: str
    reason: str
    others: tuple[str, ...] = ()
    life: Life | None = None
    """What its life becomes, where that changes."""
    age: int = 0
    """Newer memories of its project there were, where the rule counted them."""


@dataclass(frozen=True, slots=True)
class LifecyclePolicy:
    """How memories live: the numbers are those of the published lifecycle, unless they say otherwise.

    They come from claude-memory-lifecycle, where they are AGE_THRESHOLD, MAX_REPRIEVES, RECALL_PROMOTE and
    min cluster.
    """

    age_after: int = 20
    """So many newer memories of its project make a memory old enough to be checked, each time anew."""
    reprieves: int = 3
    promote_sessions: int = 3
    min_cluster: int = 3
    curated: frozenset[str] = frozenset(CURATED)
