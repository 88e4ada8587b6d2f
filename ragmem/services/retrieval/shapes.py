"""The JSON shapes of memories and matches, the same for every command."""

from datetime import datetime
from typing import Any

from ragmem.domain.model import Match, Memory
from ragmem.domain.model.decay import DecayPolicy, age_days, age_factor, recency
from ragmem.domain.model.document_place import LOCATOR, document_place
from ragmem.domain.records.records import FIELDS, fields_text, record_of
from ragmem.domain.secrets.redaction import Redactor, cover
from ragmem.services.retrieval.superseding import former_shape, superseded_shape

TOLD_ELSEWHERE = 3
"""Other projects with the same text that a line names; the JSON fields have all of them."""


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


def ageing_shape(memory: Memory, policy: DecayPolicy, *, now: datetime) -> dict[str, float]:
    """Return what age makes of a memory's score now, by decay.json; ages in days."""
    age, half_life = age_days(memory.event_time, now), policy.half_life(memory.kind)
    fresh = recency(age, half_life, policy)
    return {
        "age_days": round(age, 2),
        "half_life_days": half_life,
        "recency": round(fresh, 4),
        "age_factor": round(age_factor(fresh, policy), 4),
    }


def elsewhere_shapes(match: Match, redactor: Redactor) -> list[dict[str, str]]:
    """Return the memories of other projects that have just this text: id, project and place."""
    return [
        {
            "id": memory.short_id,
            "full_id": memory.id,
            "project": memory.scope.project,
            "uri": redactor.redact(memory.uri)[0],
        }
        for memory in match.elsewhere
    ]


def told_elsewhere(match: Match, redactor: Redactor) -> str:
    """Return the project of a match and the others that have just its text, and where; "" without others."""
    told = [
        f"{memory.scope.project}: {redactor.redact(memory.uri)[0]}"
        for memory in match.elsewhere[:TOLD_ELSEWHERE]
    ]
    more = len(match.elsewhere) - len(told)
    if not told:
        return ""
    others = ", ".join(told) + (f" and {more} more" if more else "")
    return f"in {match.memory.scope.project}, also in {others}"


def match_shape(match: Match, *, explain: bool = False, redactor: Redactor) -> dict[str, Any]:
    """Return a match as JSON fields: the memory without its whole text, its best chunk, its score.

    Secrets are replaced.
    """
    shape = memory_shape(match.memory, redactor=redactor) | {
        "score": round(match.score, 4),
        "heading": redactor.redact_document(match.chunk.heading),
        "text": found_text(match, redactor=redactor).strip(),
        "duplicates": [identifier[:12] for identifier in match.duplicates],
        "elsewhere": elsewhere_shapes(match, redactor=redactor),
        "replaced": [former_shape(former, redactor=redactor) for former in match.replaced],
        "superseded_by": superseded_shape(match.superseded, redactor=redactor) if match.superseded else None,
    }
    if explain:
        shape["terms"] = {name: round(value, 4) for name, value in match.terms.items()}
    return shape
