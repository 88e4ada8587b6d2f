"""The JSON shapes of memories and matches, the same for every command."""

from typing import Any

from ragmem.domain.document_place import LOCATOR, document_place
from ragmem.domain.model import Match, Memory
from ragmem.domain.records import FIELDS, fields_text, record_of
from ragmem.domain.redaction import Redactor, cover
from ragmem.services.superseding import former_shape, superseded_shape


def memory_shape(memory: Memory, *, verbatim: bool = False, redactor: Redactor) -> dict[str, Any]:
    """Return a memory as JSON fields, without secrets and texts; `verbatim` as it is stored, with its texts.

    Times are RFC 3339.
    """
    shape: dict[str, Any] = {
        "id": memory.short_id,
        "full_id": memory.id,
        "source": memory.source,
        "uri": memory.uri,
        "title": memory.title,
        "place": document_place(memory.metadata),
        "locator": memory.metadata.get(LOCATOR, ""),
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
    if verbatim:
        return shape | {"text": memory.text, "summary": memory.summary}
    redacted: dict[str, Any] = redactor.redact_document(shape)
    if item := record_of(memory):
        # In the text that a JSON document is, a quoted secret stands between other marks and is not seen.
        redacted["metadata"][FIELDS] = fields_text(redactor.redact_document(dict(item.fields)))
    return redacted


def found_text(match: Match, redactor: Redactor) -> str:
    """Return the text of the best chunk without secrets, those that reach beyond it included."""
    whole, chunk = match.memory.indexed_text, match.chunk
    return cover(whole, redactor.find(whole), chunk.start, chunk.end)


def match_shape(match: Match, *, explain: bool = False, redactor: Redactor) -> dict[str, Any]:
    """Return a match as JSON fields: the memory without its whole text, its best chunk, its score.

    Secrets are replaced.
    """
    shape = memory_shape(match.memory, redactor=redactor) | {
        "score": round(match.score, 4),
        "heading": redactor.redact_document(match.chunk.heading),
        "text": found_text(match, redactor=redactor).strip(),
        "duplicates": [identifier[:12] for identifier in match.duplicates],
        "replaced": [former_shape(former, redactor=redactor) for former in match.replaced],
        "superseded_by": superseded_shape(match.superseded, redactor=redactor) if match.superseded else None,
    }
    if explain:
        shape["terms"] = {name: round(value, 4) for name, value in match.terms.items()}
    return shape
