"""The JSON shapes of memories and matches, the same for every command and for the server."""

from typing import Any

from ragmem.domain.model import Match, Memory


def memory_shape(memory: Memory, *, text: bool = True) -> dict[str, Any]:
    """Return a memory as JSON fields; times are RFC 3339."""
    shape: dict[str, Any] = {
        "id": memory.short_id,
        "full_id": memory.id,
        "source": memory.source,
        "uri": memory.uri,
        "title": memory.title,
        "kind": memory.kind.value,
        "category": memory.category.value,
        "tier": memory.tier.value,
        "state": memory.state.value,
        "project": memory.scope.project,
        "spec": memory.scope.spec,
        "tags": list(memory.tags),
        "protected": memory.protected,
        "event_time": memory.event_time.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "created_at": memory.created_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "updated_at": memory.updated_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "metadata": dict(memory.metadata),
    }
    if text:
        shape["text"] = memory.text
        shape["summary"] = memory.summary
    return shape


def match_shape(match: Match, *, explain: bool = False) -> dict[str, Any]:
    """Return a match as JSON fields: the memory without its whole text, its best chunk, its score."""
    shape = memory_shape(match.memory, text=False) | {
        "score": round(match.score, 4),
        "heading": match.chunk.heading,
        "text": match.chunk.text.strip(),
        "duplicates": [identifier[:12] for identifier in match.duplicates],
    }
    if explain:
        shape["terms"] = {name: round(value, 4) for name, value in match.terms.items()}
    return shape
