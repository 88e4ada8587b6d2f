"""The values of the lifecycle: the states of a memory, the input of the rules, and their decisions.

A memory starts in the buffer. A memory that several sessions recall is proven; proven and permanent memories
do not age. Memories of a curated source are proven from the start: the file is authoritative, so they are
never archived. Isolation, not age, ends a life; archived memories can be restored.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal, NamedTuple

from ragmem.domain.model import EPISODES, SHARED, Category, Kind, Memory, Scope
from ragmem.domain.model.document_place import is_of_document
from ragmem.frozen import dataclass


class LifecycleState(StrEnum):
    """The lifecycle state of a memory; archived memories have none."""

    BUFFER = "buffer"
    """New: it may fold behind another memory, and it ages."""
    PROVEN = "proven"
    """Recalled in several sessions, restored by hand, or curated: it does not age."""
    PERMANENT = "permanent"
    """Isolated but substantial after every reprieve, or pinned: it does not age."""


class Approval(StrEnum):
    """Whether a memory or a drafted skill counts; see docs/records.md."""

    NONE = ""
    """A person or a curated file wrote it, or approval was not asked for: it counts."""
    PROPOSED = "proposed"
    """Stored and found, but told to nobody unasked until a person has accepted it."""
    ACCEPTED = "accepted"
    REJECTED = "rejected"

    @property
    def is_withheld(self) -> bool:
        """Return whether a person has not accepted it."""
        return self in {Approval.PROPOSED, Approval.REJECTED}


class EntryType(StrEnum):
    """The type of an entry."""

    DECISION = "decision"
    THOUGHT = "thought"
    """A user's own wish, idea or permanent instruction."""
    INSIGHT = "insight"
    ERROR = "error"
    SESSION = "session"
    """A record of a session, saved at its end."""
    NOTE = "note"


PROTECTED_TYPES = frozenset({EntryType.DECISION, EntryType.THOUGHT})
"""Types that never expire by themselves."""

CURATED = (
    *("memory", "agentmemory", "projectagents", "prds", "paidocs", "skills", "commands", "claudemds"),
    *("instructions", "agents", "projectcommands", "decisions", "records"),
)
"""Curated sources, unless the settings name others."""

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
"""Values of `type` in a memory's metadata, and their entry types."""


def explicit_type(memory: Memory) -> EntryType | None:
    """Return the type in a memory's metadata; None if it has no known type."""
    # Called several times for each memory, and most have no type.
    name = memory.metadata.get("type")
    return _BY_NAME.get(name.strip().lower().replace("-", "_")) if name else None


def entry_type(memory: Memory) -> EntryType:
    """Return a memory's type: by its metadata, else by its protection, kind and source."""
    if explicit := explicit_type(memory):
        return explicit
    if memory.protected:
        return EntryType.THOUGHT if memory.kind is Kind.PREFERENCE else EntryType.DECISION
    if memory.category in {Category.ERROR_SOLUTION, Category.GOTCHA} or memory.kind is Kind.ERROR:
        return EntryType.ERROR
    if memory.category in {Category.PATTERN, Category.BEST_PRACTICE}:
        return EntryType.INSIGHT
    return EntryType.SESSION if memory.source in EPISODES else EntryType.NOTE


def proposes(memory: Memory) -> bool:
    """Return whether a memory states what would last: a decision, a rule, a preference, a trap or a fix."""
    told = memory.protected or entry_type(memory) in PROTECTED_TYPES
    lesson = memory.category in {Category.GOTCHA, Category.ERROR_SOLUTION}
    return told or lesson or memory.kind is Kind.PREFERENCE


@dataclass(frozen=True, slots=True)
class Entry:
    """The input of the lifecycle rules for one memory; `number` is its order of insertion.

    `sessions` counts the sessions that recalled it, `feedback` is good minus bad feedback. `checked_age` is
    the number of newer memories of its project at its last reprieve.
    """

    memory: Memory
    number: int
    life: LifecycleState = LifecycleState.BUFFER
    pinned: bool = False
    curated: bool = False
    reprieves: int = 0
    checked_age: int = 0
    sessions: int = 0
    feedback: int = 0
    superseded_by: str = ""
    perhaps_outdated: str = ""
    """The newer memory behind which it is shown."""
    approval: Approval = Approval.NONE

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
        """The scope of the memory."""
        return self.memory.scope

    @property
    def type(self) -> EntryType:
        """The memory's type."""
        return entry_type(self.memory)

    @property
    def is_protected(self) -> bool:
        """Return whether it never expires automatically: decisions, a user's thoughts, and pinned memories.

        What a person has not accepted, and what others have shared, is only protected by a pin.
        """
        lasting = self.memory.protected or self.type in PROTECTED_TYPES
        counts = not self.approval.is_withheld and self.memory.source != SHARED
        return self.pinned or (lasting and counts)

    @property
    def session(self) -> str:
        """The id of the session that the memory describes; "" for none."""
        return self.memory.metadata.get("session", "") if self.memory.source in EPISODES else ""

    def is_promoted(self, policy: "LifecyclePolicy") -> bool:
        """Return whether people keep it, pin it or rate it good, or enough sessions recalled it.

        What a person has not accepted never is; what others have shared is by a pin or a rating alone.
        """
        if self.approval.is_withheld:
            return False
        confirmed = self.pinned or self.curated or self.feedback > 0
        if self.memory.source == SHARED:
            return confirmed
        return confirmed or (self.sessions >= policy.promote_sessions and self.feedback >= 0)

    @property
    def is_foldable(self) -> bool:
        """Return whether it may fold behind another memory of its session, or be part of a card.

        Only automatic memories of a session may: no page of a document, nothing protected or curated, and
        nothing that a user submitted.
        """
        memory = self.memory
        whole = "merged_from" not in memory.metadata and not is_of_document(memory.metadata)
        free = not (self.is_protected or self.curated or self.superseded_by or self.approval.is_withheld)
        return self.life is LifecycleState.BUFFER and whole and free and bool(self.session)


class Connection(NamedTuple):
    """A link between two memories of one project, by their ids in ascending order.

    `cosine` is that of their vectors, `shared` (0 to 1) the overlap of their names and rare words, and
    `strength` (0 to 1) the combination: from 0.5 the two have the same subject.
    """

    first: str
    second: str
    cosine: float
    shared: float
    strength: float


Action = Literal["keep", "reprieve", "promote", "supersede", "mark", "archive", "remove", "mend", "drop"]


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision about one memory: the rule, and the reason in one line.

    `others` are the ids of related memories: its successor, or its cluster.
    """

    id: str
    action: Action
    rule: str
    reason: str
    others: tuple[str, ...] = ()
    life: LifecycleState | None = None
    """Its new state, if that changes."""
    age: int = 0
    """Number of newer memories of its project, if the rule used it."""


@dataclass(frozen=True, slots=True)
class LifecyclePolicy:
    """The parameters of the lifecycle, with the defaults of claude-memory-lifecycle.

    There they are AGE_THRESHOLD, MAX_REPRIEVES, RECALL_PROMOTE and min cluster.
    """

    age_after: int = 20
    """A memory is checked after each this many newer memories of its project."""
    reprieves: int = 3
    promote_sessions: int = 3
    min_cluster: int = 3
    curated: frozenset[str] = frozenset(CURATED)
