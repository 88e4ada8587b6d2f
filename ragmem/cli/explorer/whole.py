"""One memory whole, read together for its screen: text, facts, score, connections, entities, history."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ragmem.api.memory import Ragmem
from ragmem.cli.common import moment
from ragmem.cli.explorer.table import short
from ragmem.domain.model import Match, Memory
from ragmem.domain.secrets.redaction import Redactor
from ragmem.services.code.links import code_of
from ragmem.services.code.shapes import links_shape
from ragmem.services.connections.connection_list import ConnectedMemory, connected_memories
from ragmem.services.lifecycle.feedback import life_shape
from ragmem.services.reporting.memory_history import HistoryEvent, happenings
from ragmem.services.retrieval.shapes import memory_shape
from ragmem.services.retrieval.superseding import standing, told_former, told_superseded
from ragmem.storage.names.mentions import Mentions

LONGEST = 40_000
"""Characters of a text that are rendered; a screen of a novel takes seconds."""

_SKIPPED = frozenset({"metadata", "full_id"})


@dataclass(frozen=True, slots=True)
class Whole:
    """A memory and all that is known of it; `text` is without secrets and cut at LONGEST."""

    memory: Memory
    title: str
    text: str
    cut: int
    facts: Sequence[tuple[str, str]]
    links: Sequence[ConnectedMemory]
    entities: Sequence[str]
    history: Sequence[HistoryEvent]


def whole(memory: Ragmem, identifier: str) -> Whole:
    """Return a memory whole; raises NotFoundError for an id that is not there."""
    found = memory.memory(identifier)
    catalog = memory.catalog
    text = memory.redactor.redact(found.text)[0]
    return Whole(
        memory=found,
        title=memory.redactor.redact(found.title or found.uri)[0],
        text=text[:LONGEST],
        cut=max(0, len(text) - LONGEST),
        facts=_facts(memory, found),
        links=connected_memories(catalog, found.id),
        entities=Mentions(catalog.database).names(found.id),
        history=happenings(catalog, found),
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
    facts = [(name, short(value) if name == "uri" else value) for name, value in facts]
    facts.append(("id in full", found.id))
    life = life_shape(memory.lifecycle.status(found.id))
    facts += [("life", _life(life)), ("rule", f"{life['action']}, {life['rule']}: {life['reason']}")]
    superseded, replaced = standing(catalog, found)
    if superseded:
        because = memory.redactor.redact(superseded.reason)[0]
        facts.append(("state now", f"{told_superseded(superseded)}: {because}"))
    facts += [
        ("replaces", f"{former.supersession.older[:12]}, {told_former(former, redactor=memory.redactor)}")
        for former in replaced
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


def _life(life: dict[str, Any]) -> str:
    parts = [
        str(life["type"]),
        "pinned" if life["pinned"] else str(life["life"]),
        f"{life['age']} newer in its project",
        f"{life['connections']} connections",
    ]
    if life["reprieves"]:
        parts.append(f"{life['reprieves']} reprieves")
    if life["sessions"]:
        parts.append(f"recalled in {life['sessions']} sessions")
    if life["feedback"]:
        parts.append(f"feedback {life['feedback']:+d}")
    return ", ".join(parts)


def score_of(match: Match, redactor: Redactor) -> str:
    """Return the terms of a score, a line each with a bar for those between 0 and 1."""
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
        lines += ["", "behind it, the same: " + ", ".join(key[:12] for key in match.duplicates)]
    if match.replaced:
        lines += ["", *(told_former(former, redactor=redactor) for former in match.replaced)]
    if match.superseded:
        lines += ["", told_superseded(match.superseded)]
    return "\n".join(lines)


def bar(value: float, width: int = 20) -> str:
    """Return a bar for a value between 0 and 1, nothing for another."""
    return "█" * round(value * width) + "·" * (width - round(value * width)) if 0 <= value <= 1 else ""


def history_row(one: HistoryEvent, redactor: Redactor) -> tuple[str, str, str]:
    """Return when, what and how, without secrets."""
    return moment(one.at), one.what, redactor.redact(one.detail)[0]
