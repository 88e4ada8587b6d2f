"""The JSON of code and of its links with memories, the same for every command."""

from collections.abc import Sequence
from typing import Any

from ragmem.domain.code.code import Edge
from ragmem.domain.model import SHORT_ID_LENGTH
from ragmem.domain.secrets.redaction import Redactor
from ragmem.services.code.impact import Impact, ImpactedSymbol
from ragmem.services.code.links import CodeLink, CodeMemory, Memories
from ragmem.services.code.targets import Target
from ragmem.storage.code.code import SymbolPlace


def symbol_shape(located: SymbolPlace) -> dict[str, Any]:
    """Return the JSON of a symbol and its place."""
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
    """Return the JSON of a reference between symbols."""
    return {
        "kind": edge.kind.value,
        "source": edge.source,
        "target": edge.target,
        "file": edge.path,
        "line": edge.line,
        "internal": edge.internal,
    }


def target_shape(target: Target) -> dict[str, Any]:
    """Return the JSON of a target: a file with its symbols, or a symbol with its members."""
    return {
        "name": target.name,
        "kind": "file" if target.is_file else target.symbols[0].symbol.kind.value,
        "files": list(target.paths),
        "former_path": target.former or None,
        "symbols": [symbol_shape(one) for one in target.symbols],
    }


def impacted_shape(reached: ImpactedSymbol) -> dict[str, Any]:
    """Return the JSON of a dependent with its references to nearer symbols."""
    return symbol_shape(reached.located) | {
        "depth": reached.depth,
        "score": round(reached.score, 6),
        "references": [edge_shape(edge) for edge in reached.references],
    }


def code_memory_shape(linked: CodeMemory) -> dict[str, Any]:
    """Return the JSON of a memory that mentions code, without its text and without secrets."""
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
    """Return the JSON of the first memories, and their total number."""
    return {
        "memories": [code_memory_shape(one) for one in memories.shown[:limit]],
        "memories_total": memories.total,
    }


def unreached(kind: str) -> str:
    """Say that nothing is known to depend on a target, and which of its uses are not followed."""
    told = "no code except tests is known to call, import or inherit it"
    if kind == "constant":
        return f"{told}; uses of its value are not followed"
    return f"{told}; uses as a type are not followed" if kind in {"class", "interface"} else told


def impact_shape(found: Impact, *, limit: int, redactor: Redactor) -> dict[str, Any]:
    """Return the JSON of an impact, with at most `limit` items per list."""
    shape: dict[str, Any] = redactor.redact_document(
        {
            "project": found.target.project,
            "complete": found.complete,
            "target": target_shape(found.target),
            "depth": found.depth,
            "depths": {str(depth): count for depth, count in found.depths.items()},
            "reached": [impacted_shape(one) for one in found.reached[:limit]],
            "reached_total": len(found.reached),
            "tests": [impacted_shape(one) for one in found.tests[:limit]],
            "tests_total": len(found.tests),
            "helpers": [impacted_shape(one) for one in found.helpers[:limit]],
            "helpers_total": len(found.helpers),
        }
    )
    return shape | memories_shape(found.memories, limit=limit)


def links_shape(links: Sequence[CodeLink]) -> list[dict[str, Any]]:
    """Return the JSON of the code that a memory mentions."""
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
