"""The life of one memory for people, and their feedback: good, bad, pinned."""

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
    """The state of a memory's life, and what the next gc would decide if nothing else changes."""

    entry: Entry
    newer: int
    connections: int
    decision: Decision


def feedback_state(catalog: Catalog, identifier: str, *, policy: LifecyclePolicy) -> FeedbackState:
    """Return the state of a memory; raises NotFoundError for an unknown full id."""
    entry = catalog.lives.entry(identifier, policy=policy)
    if entry is None:
        raise NotFoundError(
            f'no memory has the id "{identifier}"', hint="`ragmem query --ids TEXT` prints ids"
        )
    newer = catalog.lives.count_newer(identifier)
    connections = catalog.connections.degree([identifier]).get(identifier, 0)
    return FeedbackState(entry, newer, connections, decide_entry(entry, newer, connections, policy))


def life_shape(standing: FeedbackState) -> dict[str, Any]:
    """Return a state as JSON fields."""
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
        "approval": entry.approval.value,
        "action": decision.action,
        "rule": decision.rule,
        "reason": decision.reason,
    }


def pin(catalog: Catalog, identifier: str, *, pinned: bool, now: datetime) -> None:
    """Pin or unpin a memory; a pinned one never expires and is never superseded."""
    with catalog.database.write():
        catalog.lives.pin(identifier, pinned=pinned, now=now)
        if pinned:
            catalog.supersessions.drop([identifier])


def require_memory(catalog: Catalog, prefix: str) -> Memory:
    """Return the memory whose id starts with the prefix.

    Raises NotFoundError for none and for several, with the next step for an archived one.
    """
    try:
        return catalog.memories.resolve(prefix)
    except NotFoundError:
        wanted = prefix.strip().lower()
        if len(wanted) >= MIN_PREFIX and wanted.isalnum():
            archived = catalog.archive.ids_with_prefix(wanted)
            if len(archived) == 1 and not catalog.memories.get(archived):
                short = archived[0][:SHORT_ID_LENGTH]
                raise NotFoundError(
                    f'the memory "{prefix}" is archived',
                    hint=f"restore it first: ragmem gc --restore {short}",
                ) from None
        raise


def rate(catalog: Catalog, identifier: str, verdict: Verdict, session: str, *, now: datetime) -> None:
    """Record that a memory was useful or not.

    A bad one does not count as recalled by the session, and is not shown to it again.
    """
    with catalog.database.write():
        catalog.lives.rate(identifier, 1 if verdict == "good" else -1, now=now)
        if verdict == "bad" and session_id(session):
            catalog.lives.remove_recall(identifier, session_id(session))
            catalog.sessions.refuse(session_id(session), identifier)
