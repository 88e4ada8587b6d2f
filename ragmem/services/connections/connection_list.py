"""List the connections of a memory, and the memories with the most connections."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ragmem.domain.model import Memory
from ragmem.domain.model.lifecycle import Connection
from ragmem.domain.secrets.redaction import Redactor
from ragmem.storage.home.catalog import Catalog


@dataclass(frozen=True, slots=True)
class ConnectedMemory:
    """A memory at the other end of a connection."""

    memory: Memory
    connection: Connection


@dataclass(frozen=True, slots=True)
class Hub:
    """A memory, and the number of its connections."""

    memory: Memory
    connections: int


def connected_memories(catalog: Catalog, identifier: str) -> list[ConnectedMemory]:
    """Return the connected memories of a full id, strongest first; empty for an unknown id."""
    found = {
        one.second if one.first == identifier else one.first: one
        for one in catalog.connections.neighbours(identifier)
    }
    known = catalog.memories.get(found)
    return [ConnectedMemory(known[key], link) for key, link in found.items() if key in known]


def hubs(catalog: Catalog, *, projects: Sequence[str] | None, limit: int) -> list[Hub]:
    """Return the memories of these projects (None: of all) with the most connections, most first."""
    degrees = catalog.connections.degree(projects=projects)
    order = sorted(degrees, key=lambda key: (-degrees[key], key))[:limit]
    known = catalog.memories.get(order)
    return [Hub(known[key], degrees[key]) for key in order if key in known]


def connected_memory_shape(one: ConnectedMemory, redactor: Redactor) -> dict[str, Any]:
    """Return the JSON of a connection; secrets are redacted."""
    return {
        **_memory_shape(one.memory, redactor=redactor),
        "strength": round(one.connection.strength, 4),
        "cosine": round(one.connection.cosine, 4),
        "shared": round(one.connection.shared, 4),
    }


def hub_shape(one: Hub, redactor: Redactor) -> dict[str, Any]:
    """Return the JSON of a memory with its number of connections; secrets are redacted."""
    return {**_memory_shape(one.memory, redactor=redactor), "connections": one.connections}


def _memory_shape(memory: Memory, redactor: Redactor) -> dict[str, Any]:
    return {
        "id": memory.short_id,
        "title": redactor.redact(memory.title or memory.uri)[0],
        "kind": memory.kind.value,
        "source": memory.source,
        "project": memory.scope.project,
        "event_time": memory.event_time.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
