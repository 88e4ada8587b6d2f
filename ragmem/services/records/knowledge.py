"""Knowledge and episodes: search and list the records of facts and events."""

from collections.abc import Sequence
from typing import Any

from ragmem.domain.model import Category
from ragmem.domain.records.record_types import RecordType
from ragmem.domain.secrets.redaction import Redactor
from ragmem.services.records.records import RecordMatch, RecordStore, Where

KNOWLEDGE_TYPES = (
    RecordType.KNOWLEDGE,
    RecordType.PATTERN,
    RecordType.GOTCHA,
    RecordType.ROOT_CAUSE,
    RecordType.USER_CORRECTION,
)
"""Types of records that hold knowledge; each has a category."""

MAX_CHARS = 4_000
"""Maximum characters of a content in a list."""


def search_knowledge(
    store: RecordStore,
    query: str,
    *,
    category: Category | None = None,
    projects: Sequence[str] | None = None,
    limit: int = 5,
) -> list[RecordMatch]:
    """Return the knowledge that answers a question, best first, of these projects (None: of all).

    With a category, only its records compete.
    """
    categories = () if category is None else (category,)
    return store.read(KNOWLEDGE_TYPES, query, where=_where(projects, categories=categories), limit=limit)


def search_episodes(
    store: RecordStore, query: str, *, projects: Sequence[str] | None = None, limit: int = 5
) -> list[RecordMatch]:
    """Return the episodes that answer a question, best first, of these projects (None: of all)."""
    return store.read([RecordType.EPISODE], query, where=_where(projects), limit=limit)


def recent_episodes(
    store: RecordStore,
    *,
    session: str = "",
    current: str = "",
    projects: Sequence[str] | None = None,
    limit: int = 10,
) -> list[RecordMatch]:
    """Return the last episodes of a session, newest first, of any project.

    Without `session`, return those of the `current` session first, then others of these projects (None: of
    all), because a new session has no episodes yet.
    """
    if session:
        return store.read([RecordType.EPISODE], where=_where(None, session=session), limit=limit)
    own = (
        store.read([RecordType.EPISODE], where=_where(None, session=current), limit=limit) if current else []
    )
    known = {item.id for item in own}
    others = store.read([RecordType.EPISODE], where=_where(projects), limit=limit + len(own))
    return [*own, *(item for item in others if item.id not in known)][:limit]


def content_of(item: RecordMatch, redactor: Redactor) -> str:
    """Return the content of a record below its heading, without secrets, cut at MAX_CHARS."""
    content = item.fields.get("content") or item.memory.text.partition("\n\n")[2]
    text = redactor.redact(str(content).strip())[0]
    return text if len(text) <= MAX_CHARS else text[: MAX_CHARS - 1].rstrip() + "…"


def knowledge_shape(item: RecordMatch, redactor: Redactor) -> dict[str, Any]:
    """Return knowledge as JSON fields."""
    return {
        "id": item.memory.short_id,
        "title": redactor.redact(item.memory.title)[0],
        "content": content_of(item, redactor=redactor),
        "category": item.memory.category.value,
        "relevance_score": round(item.score, 4),
    }


def episode_shape(item: RecordMatch, redactor: Redactor) -> dict[str, Any]:
    """Return an episode as JSON fields."""
    return {
        "id": item.memory.short_id,
        "event_type": str(item.fields["event_type"]),
        "title": redactor.redact(item.memory.title)[0],
        "content": content_of(item, redactor=redactor),
        "session_id": redactor.redact(str(item.fields.get("session", "")))[0],
        "created_at": item.memory.event_time.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def _where(
    projects: Sequence[str] | None, *, categories: tuple[Category, ...] = (), session: str = ""
) -> Where:
    return Where(tuple(projects or ()), projects is None, categories=categories, session=session)
