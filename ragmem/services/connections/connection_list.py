"""What a memory is connected with, and which memories have the most connections, for people who look."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ragmem.domain.model import Memory
from ragmem.domain.model.lifecycle import Connection
from ragmem.domain.secrets.redaction import Redactor
from ragmem.storage.home.catalog import Catalog


@dataclass(frozen=True, slots=True)
class Linked:
    """A memory at the other end of a connection."""

    memory: Memory
    connection: Connection


@dataclass(frozen=True, slots=True)
class Hub:
    """A memory, and how many others it is connected with."""

    memory: Memory
    connections: int


def linked(catalog: Catalog, identifier: str) -> list[Linked]:
    """Return what the memory of a full id is connected with, strongest first; empty for an unknown one."""
    found = {
        one.second if one.first == identifier else one.first: one
        for one in catalog.connections.neighbours(identifier)
    }
    known = catalog.memories.get(found)
    return [Linked(known[key], link) for key, link in found.items() if key in known]


def hubs(catalog: Catalog, *, projects: Sequence[str] | None, limit: int) -> list[Hub]:
    """Return the memories of these projects (None: of all) with the most connections, most first."""
    degrees = catalog.connections.degree(projects=projects)
    order = sorted(degrees, key=lambda key: (-degrees[key], key))[:limit]
    known = catalog.memories.get(order)
    return [Hub(known[key], degrees[key]) for key in order if key in known]


def linked_shape(one: Linked, redactor: Redactor) -> dict[str, Any]:
    """Return a connection as JSON fields; secrets are replaced."""
    return {
        **_named(one.memory, redactor=redactor),
        "strength": round(one.connection.strength, 4),
        "cosine": round(one.connection.cosine, 4),
        "shared": round(one.connection.shared, 4),
    }


def hub_shape(one: Hub, redactor: Redactor) -> dict[str, Any]:
    """Return a memory and its number of connections as JSON fields; secrets are replaced."""
    return {**_named(one.memory, redactor=redactor), "connections": one.connections}


def _named(memory: Memory, redactor: Redactor) -> dict[str, Any]:
    return {
        "id": memory.short_id,
        "title": redactor.redact(memory.title or memory.uri)[0],
        "kind": memory.kind.value,
        "source": memory.source,
        "project": memory.scope.project,
        "event_time": memory.event_time.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
