"""The JSON shapes of code and of what links it with memories, the same for every command."""

from collections.abc import Sequence
from typing import Any

from ragmem.domain.code.code import Edge
from ragmem.domain.model import SHORT_ID_LENGTH
from ragmem.domain.secrets.redaction import Redactor
from ragmem.services.code.impact import Impact, Reached
from ragmem.services.code.links import CodeLink, Linked, Memories
from ragmem.services.code.targets import Target
from ragmem.storage.code.code import Located


def symbol_shape(located: Located) -> dict[str, Any]:
    """Return a symbol with the place that defines it."""
    symbol = located.symbol
    return {
        "symbol": symbol.qualified,
        "kind": symbol.kind.value,
        "file": located.path,
        "line": symbol.line,
        "end_line": symbol.end_line,
        "doc": symbol.doc,
        "test": symbol.is_test,
    }


def edge_shape(edge: Edge) -> dict[str, Any]:
    """Return how one symbol refers to another, and where."""
    return {
        "kind": edge.kind.value,
        "source": edge.source,
        "target": edge.target,
        "file": edge.path,
        "line": edge.line,
        "internal": edge.internal,
    }


def target_shape(target: Target) -> dict[str, Any]:
    """Return what was named: a file with its symbols, or a symbol with those in it."""
    return {
        "name": target.name,
        "kind": "file" if target.is_file else target.symbols[0].symbol.kind.value,
        "files": list(target.paths),
        "former_path": target.former or None,
        "symbols": [symbol_shape(one) for one in target.symbols],
    }


def reached_shape(reached: Reached) -> dict[str, Any]:
    """Return a dependent with its references to what is nearer."""
    return symbol_shape(reached.located) | {
        "depth": reached.depth,
        "score": round(reached.score, 6),
        "references": [edge_shape(edge) for edge in reached.references],
    }


def linked_shape(linked: Linked) -> dict[str, Any]:
    """Return a memory that mentions code, without its text and without secrets."""
    return {
        "id": linked.id[:SHORT_ID_LENGTH],
        "full_id": linked.id,
        "title": linked.title,
        "kind": linked.kind.value,
        "category": linked.category.value,
        "project": linked.project,
        "source": linked.source,
        "event_time": linked.event_time.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "places": [
            {"line": place.line, "quote": place.quote, "means": place.means, "how": place.how}
            for place in linked.places
        ],
    }


def memories_shape(memories: Memories, *, limit: int) -> dict[str, Any]:
    """Return the first memories, and how many there are."""
    return {
        "memories": [linked_shape(one) for one in memories.shown[:limit]],
        "memories_total": memories.total,
    }


def impact_shape(found: Impact, *, limit: int, redactor: Redactor) -> dict[str, Any]:
    """Return an impact, of each list so many at most."""
    shape: dict[str, Any] = redactor.redact_document(
        {
            "project": found.target.project,
            "complete": found.complete,
            "target": target_shape(found.target),
            "depth": found.depth,
            "depths": {str(depth): count for depth, count in found.depths.items()},
            "reached": [reached_shape(one) for one in found.reached[:limit]],
            "reached_total": len(found.reached),
            "tests": [reached_shape(one) for one in found.tests[:limit]],
            "tests_total": len(found.tests),
            "helpers": [reached_shape(one) for one in found.helpers[:limit]],
            "helpers_total": len(found.helpers),
        }
    )
    return shape | memories_shape(found.memories, limit=limit)


def links_shape(links: Sequence[CodeLink]) -> list[dict[str, Any]]:
    """Return the code that a memory mentions."""
    return [
        {
            "project": link.project,
            "file": link.path,
            "symbol": link.qualified or None,
            "line": link.line,
            "mentioned_on": list(link.lines),
            "edited": link.edited,
        }
        for link in links
    ]
