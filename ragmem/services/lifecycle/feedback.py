"""The life of one memory as people see it, and what they say of it: good, bad, pinned."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from ragmem.domain.lifecycle.ageing import decide_entry
from ragmem.domain.model import SHORT_ID_LENGTH, Memory
from ragmem.domain.model.lifecycle import Decision, Entry, LifecyclePolicy
from ragmem.errors import NotFoundError
from ragmem.services.lifecycle.recalls import session_id
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.memories.memories import MIN_PREFIX

Verdict = Literal["good", "bad"]


@dataclass(frozen=True, slots=True)
class FeedbackState:
    """Where a memory is in its life, and what the next gc would decide of it if nothing else touched it."""

    entry: Entry
    newer: int
    connections: int
    decision: Decision


def standing_of(catalog: Catalog, identifier: str, *, policy: LifecyclePolicy) -> FeedbackState:
    """Return the standing of a memory; raises NotFoundError where there is none with this full id."""
    entry = catalog.lives.entry(identifier, policy=policy)
    if entry is None:
        raise NotFoundError(
            f'no memory has the id "{identifier}"', hint="`ragmem query --ids TEXT` prints ids"
        )
    newer = catalog.lives.newer(identifier)
    connections = catalog.connections.degree([identifier]).get(identifier, 0)
    return FeedbackState(entry, newer, connections, decide_entry(entry, newer, connections, policy))


def life_shape(standing: FeedbackState) -> dict[str, Any]:
    """Return a standing as data."""
    entry, decision = standing.entry, standing.decision
    return {
        "type": entry.type.value,
        "life": entry.life.value,
        "age": standing.newer,
        "connections": standing.connections,
        "reprieves": entry.reprieves,
        "sessions": entry.sessions,
        "feedback": entry.feedback,
        "pinned": entry.pinned,
        "superseded_by": entry.superseded_by,
        "action": decision.action,
        "rule": decision.rule,
        "reason": decision.reason,
    }


def pin(catalog: Catalog, identifier: str, *, pinned: bool, now: datetime) -> None:
    """Let a memory never expire, or no longer so; what is pinned is hidden behind no newer memory either."""
    with catalog.database.write():
        catalog.lives.pin(identifier, pinned=pinned, now=now)
        if pinned:
            catalog.supersessions.drop([identifier])


def require_living(catalog: Catalog, prefix: str) -> Memory:
    """Return the one memory whose id starts with the prefix.

    Raises NotFoundError for none and for several, and says where one that was archived can be had.
    """
    try:
        return catalog.memories.resolve(prefix)
    except NotFoundError:
        wanted = prefix.strip().lower()
        if len(wanted) >= MIN_PREFIX and wanted.isalnum():
            archived = catalog.archive.beginning(wanted)
            if len(archived) == 1 and not catalog.memories.get(archived):
                short = archived[0][:SHORT_ID_LENGTH]
                raise NotFoundError(
                    f'the memory "{prefix}" lies in the archive',
                    hint=f"bring it back first: ragmem gc --restore {short}",
                ) from None
        raise


def rate(catalog: Catalog, identifier: str, verdict: Verdict, session: str, *, now: datetime) -> None:
    """Keep that a memory was of use or not.

    What was none to a session was not recalled by it either, and it is not told of it again.
    """
    with catalog.database.write():
        catalog.lives.rate(identifier, 1 if verdict == "good" else -1, now=now)
        if verdict == "bad" and session_id(session):
            catalog.lives.unrecall(identifier, session_id(session))
            catalog.sessions.refuse(session_id(session), identifier)
