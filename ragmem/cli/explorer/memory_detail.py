"""The details of one memory for its screen: text, facts, score, connections, entities, history."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ragmem.api.memory import Ragmem
from ragmem.cli.common import shorten_home
from ragmem.cli.inspect.lines import describe_life
from ragmem.domain.model import Match, Memory
from ragmem.domain.secrets.redaction import Redactor
from ragmem.services.code.links import code_of
from ragmem.services.code.shapes import links_shape
from ragmem.services.connections.connection_list import ConnectedMemory, connected_memories
from ragmem.services.lifecycle.feedback import life_shape
from ragmem.services.reporting.memory_history import HistoryEvent, list_events
from ragmem.services.retrieval.shapes import memory_shape
from ragmem.services.retrieval.supersessions import previous_version_line, superseded_line, supersession_state
from ragmem.storage.names.mentions import Mentions

LONGEST = 40_000
"""Characters of a text that are rendered; more would take seconds."""

_SKIPPED = frozenset({"metadata", "full_id"})


@dataclass(frozen=True, slots=True)
class MemoryDetail:
    """A memory and everything known about it; `text` has no secrets and is cut at LONGEST."""

    memory: Memory
    title: str
    text: str
    cut: int
    facts: Sequence[tuple[str, str]]
    links: Sequence[ConnectedMemory]
    entities: Sequence[str]
    history: Sequence[HistoryEvent]


def read_detail(memory: Ragmem, identifier: str) -> MemoryDetail:
    """Return the details of a memory; raises NotFoundError for an unknown id."""
    found = memory.memory(identifier)
    catalog = memory.catalog
    text = memory.redactor.redact(found.text)[0]
    return MemoryDetail(
        memory=found,
        title=memory.redactor.redact(found.title or found.uri)[0],
        text=text[:LONGEST],
        cut=max(0, len(text) - LONGEST),
        facts=_facts(memory, found),
        links=connected_memories(catalog, found.id),
        entities=Mentions(catalog.database).names(found.id),
        history=list_events(catalog, found),
    )


def _facts(memory: Ragmem, found: Memory) -> list[tuple[str, str]]:
    catalog = memory.catalog
    shape = memory_shape(found, redactor=memory.redactor)
    names = catalog.projects.names()
    facts = [
        (
            name.replace("_", " "),
            _value(names.get(value, value) if name == "project" else value, redactor=memory.redactor),
        )
        for name, value in shape.items()
        if name not in _SKIPPED and value not in ("", [], {}, False)
    ]
    facts += [
        (str(name), _value(value, redactor=memory.redactor)) for name, value in shape["metadata"].items()
    ]
    facts = [(name, shorten_home(value) if name == "uri" else value) for name, value in facts]
    facts.append(("full id", found.id))
    life = life_shape(memory.lifecycle.status(found.id))
    facts += [("life", describe_life(life)), ("rule", f"{life['action']}, {life['rule']}: {life['reason']}")]
    state = supersession_state(catalog, found)
    if standing := state.link:
        because = memory.redactor.redact(standing.reason)[0]
        facts.append(("state now", f"{superseded_line(standing)}: {because}"))
    facts += [
        (
            "replaces",
            f"{former.supersession.older[:12]}, {previous_version_line(former, redactor=memory.redactor)}",
        )
        for former in state.replaced
    ]
    facts += [("merged from", key[:12]) for key in catalog.gc_runs.originals([found.id]).get(found.id, ())]
    chunks = catalog.memories.chunks(found)
    facts.append(("chunks", f"{len(chunks)}"))
    facts += [
        ("", f"{one.start:,} to {one.end:,}  {memory.redactor.redact(one.heading)[0]}") for one in chunks[:40]
    ]
    for link in links_shape(code_of(catalog, found))[:20]:
        place = f", {link['file']}:{link['line']}" if link["symbol"] else ""
        facts.append(("code", f"{link['symbol'] or link['file']}{place}"))
    if found.summary:
        facts.append(("summary", memory.redactor.redact(found.summary)[0]))
    return facts


def _value(value: Any, redactor: Redactor) -> str:
    if isinstance(value, list):
        return ", ".join(str(one) for one in value)
    return str(redactor.redact_document(value))


def score_of(match: Match, redactor: Redactor) -> str:
    """Return the terms of a score, one a line, with a bar for values between 0 and 1."""
    ranks = [
        f"found by {name.removesuffix('_rank')} on place {value:.0f}"
        for name, value in match.terms.items()
        if name.endswith("_rank")
    ]
    terms = [
        f"{name:<14} {value:>7.3f}  {bar(value) if name != 'age_days' else ''}".rstrip()
        for name, value in match.terms.items()
        if not name.endswith("_rank")
    ]
    lines = [f"score {match.score:.3f}", "", *ranks, "", *terms]
    if match.duplicates:
        lines += ["", "duplicates: " + ", ".join(key[:12] for key in match.duplicates)]
    if match.replaced:
        lines += ["", *(previous_version_line(former, redactor=redactor) for former in match.replaced)]
    if link := match.superseded or match.outdated:
        lines += ["", superseded_line(link)]
    return "\n".join(lines)


def bar(value: float, width: int = 20) -> str:
    """Return a bar for a value between 0 and 1, "" for others."""
    return "█" * round(value * width) + "·" * (width - round(value * width)) if 0 <= value <= 1 else ""
