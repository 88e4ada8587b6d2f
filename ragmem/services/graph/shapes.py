"""The JSON of the graph commands, with secrets redacted."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from ragmem.domain.model import SHORT_ID_LENGTH
from ragmem.domain.retrieval.validity import validity
from ragmem.domain.secrets.redaction import Redactor
from ragmem.services.graph.evidence import Quotation
from ragmem.services.graph.scope import ScopedEntity
from ragmem.services.graph.views import Communities, EntityView, PathView, Timeline

Shape = dict[str, Any]

SHOWN_MEMBERS = 200
"""Maximum names of a community in the output; the largest have thousands."""


def top_shape(places: Sequence[ScopedEntity], redactor: Redactor) -> Shape:
    """Return the most connected entities as JSON fields."""
    return _redact(
        {
            "entities": [
                {**_place(place), "descriptions": place.entity.description.splitlines()} for place in places
            ]
        },
        redactor=redactor,
    )


def entity_shape(views: Sequence[EntityView], elsewhere: Sequence[str], redactor: Redactor) -> Shape:
    """Return an entity as JSON fields: those of its best connected project, and the lists of all."""
    first = views[0].place
    return _redact(
        {
            "entity": {
                **_place(first),
                "descriptions": first.entity.description.splitlines(),
                "projects": [{**_place(view.place), "memories": view.memories} for view in views],
                "also_in": list(elsewhere),
            },
            "memories": [_quotation(one) for view in views for one in view.quotations],
            "neighbours": [
                {
                    "project": view.place.project,
                    "name": near.entity.name,
                    "type": near.entity.type,
                    "keywords": near.relation.keywords,
                    "weight": near.relation.weight,
                    "descriptions": near.relation.description.splitlines(),
                    "valid": valid_times(near.relation.description),
                }
                for view in views
                for near in view.neighbours
            ],
        },
        redactor=redactor,
    )


def path_shape(start: str, goal: str, paths: Sequence[PathView], redactor: Redactor) -> Shape:
    """Return the paths between two entities as JSON fields."""
    return _redact(
        {
            "from": start,
            "to": goal,
            "paths": [
                {
                    "project": path.project,
                    "cost": round(path.cost, 4),
                    "names": list(path.names),
                    "steps": [
                        {
                            "from": step.source,
                            "to": step.target,
                            "keywords": step.relation.keywords,
                            "weight": step.relation.weight,
                            "valid": valid_times(step.relation.description),
                            "memory": _quotation(step.quotation) if step.quotation else None,
                        }
                        for step in path.steps
                    ],
                }
                for path in paths
            ],
        },
        redactor=redactor,
    )


def communities_shape(found: Communities, redactor: Redactor) -> Shape:
    """Return communities as JSON fields; a very large one has only its most central names."""
    return _redact(
        {
            "entities": found.entities,
            "total": found.total,
            "alone": found.alone,
            "communities": [
                {
                    "project": one.project,
                    "name": one.name,
                    "size": len(one.members),
                    "cohesion": round(one.cohesion, 4),
                    "members": list(one.members[:SHOWN_MEMBERS]),
                    "memories": [_quotation(memory) for memory in one.examples],
                }
                for one in found.shown
            ],
        },
        redactor=redactor,
    )


def timeline_shape(found: Timeline, redactor: Redactor) -> Shape:
    """Return a timeline as JSON fields."""
    return _redact(
        {
            "entity": _place(found.places[0]) | {"projects": [_place(place) for place in found.places]},
            "total": found.total,
            "first": _moment(found.first),
            "last": _moment(found.last),
            "events": [_quotation(one) for one in found.events],
        },
        redactor=redactor,
    )


def valid_times(description: str) -> str:
    """Return the times for which the sentences of a relation hold, such as "until March 2025"; or ""."""
    now = datetime.now(UTC)
    found = (validity(line, now=now) for line in description.splitlines())
    return "; ".join(dict.fromkeys(one.label for one in found if one is not None))


def _place(place: ScopedEntity) -> Shape:
    return {
        "project": place.project,
        "name": place.entity.name,
        "type": place.entity.type,
        "degree": place.degree,
        "aliases": [{"name": one.name, "rule": one.rule} for one in place.aliases],
        "spellings": list(place.spellings),
    }


def _quotation(one: Quotation) -> Shape:
    return {
        "id": one.memory_id[:SHORT_ID_LENGTH],
        "project": one.project,
        "source": one.source,
        "title": one.title,
        "event_time": _moment(one.event_time),
        "chunks": one.chunks,
        "text": one.text,
    }


def _moment(value: datetime | None) -> str | None:
    return value.strftime("%Y-%m-%dT%H:%M:%SZ") if value else None


def _redact(shape: Shape, redactor: Redactor) -> Shape:
    redacted: Shape = redactor.redact_document(shape)
    return redacted
