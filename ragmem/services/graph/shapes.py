"""The JSON shapes of what the graph tells; secrets are replaced in all of them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from ragmem.domain.model import SHORT_ID_LENGTH
from ragmem.domain.secrets.redaction import Redactor
from ragmem.services.graph.evidence import Told
from ragmem.services.graph.scope import Place
from ragmem.services.graph.views import Communities, EntityView, PathView, Timeline

Shape = dict[str, Any]

SHOWN_MEMBERS = 200
"""Names of a community that are written out; the largest have thousands."""


def top_shape(places: Sequence[Place], redactor: Redactor) -> Shape:
    """Return the most connected entities as JSON fields."""
    return _redacted(
        {
            "entities": [
                {**_place(place), "descriptions": place.entity.description.splitlines()} for place in places
            ]
        },
        redactor=redactor,
    )


def entity_shape(views: Sequence[EntityView], elsewhere: Sequence[str], redactor: Redactor) -> Shape:
    """Return an entity as JSON fields: the best connected project's first, the lists of all of them."""
    first = views[0].place
    return _redacted(
        {
            "entity": {
                **_place(first),
                "descriptions": first.entity.description.splitlines(),
                "projects": [{**_place(view.place), "memories": view.memories} for view in views],
                "also_in": list(elsewhere),
            },
            "memories": [_told(one) for view in views for one in view.told],
            "neighbours": [
                {
                    "project": view.place.project,
                    "name": near.entity.name,
                    "type": near.entity.type,
                    "keywords": near.relation.keywords,
                    "weight": near.relation.weight,
                    "descriptions": near.relation.description.splitlines(),
                }
                for view in views
                for near in view.neighbours
            ],
        },
        redactor=redactor,
    )


def path_shape(start: str, goal: str, paths: Sequence[PathView], redactor: Redactor) -> Shape:
    """Return the ways between two entities as JSON fields."""
    return _redacted(
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
                            "memory": _told(step.told) if step.told else None,
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
    """Return communities as JSON fields; of a very large one the most central names."""
    return _redacted(
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
                    "memories": [_told(memory) for memory in one.examples],
                }
                for one in found.shown
            ],
        },
        redactor=redactor,
    )


def timeline_shape(found: Timeline, redactor: Redactor) -> Shape:
    """Return a timeline as JSON fields."""
    return _redacted(
        {
            "entity": _place(found.places[0]) | {"projects": [_place(place) for place in found.places]},
            "total": found.total,
            "first": _moment(found.first),
            "last": _moment(found.last),
            "events": [_told(one) for one in found.events],
        },
        redactor=redactor,
    )


def _place(place: Place) -> Shape:
    return {
        "project": place.project,
        "name": place.entity.name,
        "type": place.entity.type,
        "degree": place.degree,
        "aliases": [{"name": one.name, "rule": one.rule} for one in place.aliases],
        "spellings": list(place.spellings),
    }


def _told(one: Told) -> Shape:
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


def _redacted(shape: Shape, redactor: Redactor) -> Shape:
    redacted: Shape = redactor.redact_document(shape)
    return redacted
