"""Knowledge and episodes: what was learnt and what happened, as typed records that are asked for by type."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragmem.domain.model import Category
from ragmem.domain.records.record_types import RecordType
from ragmem.domain.records.records import record
from ragmem.domain.secrets.redaction import Redactor
from ragmem.services.ingestion.drafts import HandIn
from ragmem.services.records.records import Recorded, Remembers, Stored, Where, add, read

if TYPE_CHECKING:
    from collections.abc import Mapping

KNOWING = (
    RecordType.KNOWLEDGE,
    RecordType.PATTERN,
    RecordType.GOTCHA,
    RecordType.ROOT_CAUSE,
    RecordType.USER_CORRECTION,
)
"""Types of records that hold what was learnt: each of them has a category."""

MOST_CHARS = 4_000
"""Characters of a content that a list shows."""


def store_knowledge(
    memory: Remembers,
    fields: "Mapping[str, object]",
    *,
    now: datetime,
    tags: Sequence[str] = (),
    project: str = "",
    folder: Path | None = None,
) -> Stored:
    """Store what was learnt: category, title and content; the same again is not doubled."""
    wish = HandIn(tags=tuple(tags), project=project)
    [stored] = add(memory, [record(RecordType.KNOWLEDGE, fields)], wish, now=now, folder=folder)
    return stored


def record_episode(
    memory: Remembers,
    fields: "Mapping[str, object]",
    *,
    now: datetime,
    project: str = "",
    folder: Path | None = None,
) -> Stored:
    """Store what happened: event_type, title, content, and perhaps session, agent and importance."""
    wish = HandIn(project=project)
    [stored] = add(memory, [record(RecordType.EPISODE, fields)], wish, now=now, folder=folder)
    return stored


def search_knowledge(
    memory: Remembers,
    query: str,
    *,
    category: Category | None = None,
    projects: Sequence[str] | None = None,
    limit: int = 5,
) -> list[Recorded]:
    """Return what was learnt and answers a question, best first, of these projects (None: of all).

    Of a category the best of that category, whatever others answer better.
    """
    categories = () if category is None else (category,)
    return read(memory, KNOWING, query, where=_where(projects, categories=categories), limit=limit)


def search_episodes(
    memory: Remembers, query: str, *, projects: Sequence[str] | None = None, limit: int = 5
) -> list[Recorded]:
    """Return the episodes that answer a question, best first, of these projects (None: of all)."""
    return read(memory, [RecordType.EPISODE], query, where=_where(projects), limit=limit)


def recent_episodes(
    memory: Remembers,
    *,
    session: str = "",
    current: str = "",
    projects: Sequence[str] | None = None,
    limit: int = 10,
) -> list[Recorded]:
    """Return the last episodes of a session, newest first, of whatever project.

    Without one those of the `current` session, and then of others of these projects (None: of all): at its
    beginning a session has none of its own.
    """
    if session:
        return read(memory, [RecordType.EPISODE], where=_where(None, session=session), limit=limit)
    own = (
        read(memory, [RecordType.EPISODE], where=_where(None, session=current), limit=limit)
        if current
        else []
    )
    known = {item.id for item in own}
    others = read(memory, [RecordType.EPISODE], where=_where(projects), limit=limit + len(own))
    return [*own, *(item for item in others if item.id not in known)][:limit]


def content_of(item: Recorded, redactor: Redactor) -> str:
    """Return what a record says below its heading, without secrets; of a very long one the beginning."""
    said = item.fields.get("content") or item.memory.text.partition("\n\n")[2]
    text = redactor.redact(str(said).strip())[0]
    return text if len(text) <= MOST_CHARS else text[: MOST_CHARS - 1].rstrip() + "…"


def knowledge_shape(item: Recorded, redactor: Redactor) -> dict[str, Any]:
    """Return what was learnt as JSON fields."""
    return {
        "id": item.memory.short_id,
        "title": redactor.redact(item.memory.title)[0],
        "content": content_of(item, redactor=redactor),
        "category": item.memory.category.value,
        "relevance_score": round(item.score, 4),
    }


def episode_shape(item: Recorded, redactor: Redactor) -> dict[str, Any]:
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
