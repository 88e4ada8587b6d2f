"""The tool `get`: whole memories within a budget of tokens, with their successors and connections."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ragmem.domain.model import Memory
from ragmem.domain.model.document_place import describe_place
from ragmem.domain.secrets.redaction import Redactor, cover
from ragmem.domain.text.excerpts import CHARACTERS_PER_TOKEN, announces, atoms, estimate_tokens
from ragmem.errors import NotFoundError, UsageError
from ragmem.mcp.call import Call, Result
from ragmem.mcp.frame import frame_lines, one_line
from ragmem.services.context.session_line import session_line
from ragmem.services.lifecycle.feedback import require_memory
from ragmem.services.retrieval.excerpts import REACH
from ragmem.services.retrieval.shapes import memory_shape
from ragmem.services.retrieval.supersessions import previous_version_line, superseded_line, supersession_state

MOST_IDS = 20
CONNECTED, FORMER = 5, 3
"""Maximum number of connected and of replaced memories that are named."""

HEAD_TOKENS = 60
"""Estimated tokens of the lines above a memory's text."""

LEAST_TOKENS = 40
"""Minimum tokens of each memory, however many are requested."""


@dataclass(frozen=True, slots=True)
class Part:
    """The visible part of a text, and the offset of the rest; None where nothing is left."""

    text: str
    tokens: int
    rest: int | None


def get(call: Call) -> Result:
    """Return whole memories by ids or prefixes of ids, and name the unknown ids."""
    memories, unknown = _find_memories(call)
    if not memories:
        raise unknown[0]
    budget, offset = call.arguments["budget"], call.arguments["offset"]
    if offset and len(memories) > 1:
        raise UsageError("offset is for one memory", hint="give one id")
    if offset >= len(memories[0].text):
        raise UsageError(
            f"the text has {len(memories[0].text):,} characters, and the offset is {offset:,}",
            hint="give a smaller one",
        )
    call.count_recalls(memory.id for memory in memories)
    lines: list[str] = []
    shapes = []
    for number, memory in enumerate(memories):
        share = max(LEAST_TOKENS, budget // (len(memories) - number) - HEAD_TOKENS)
        part = cut_part(memory.text, offset, share, redactor=call.redactor)
        budget -= part.tokens + HEAD_TOKENS
        about, more = _about(call, memory)
        lines += [*([""] if lines else []), *about, part.text.strip("\n")]
        if part.rest is not None:
            left = estimate_tokens(memory.text[part.rest :])
            lines.append(f"[cut: about {left:,} tokens more; get it alone with offset={part.rest}]")
        shape = memory_shape(memory, redactor=call.redactor)
        shapes.append({**shape, "text": part.text, "next_offset": part.rest, **more})
    lines += [f"{error}; {error.hint}" for error in unknown]
    return Result(frame_lines(lines), {"memories": shapes, "unknown": [str(error) for error in unknown]})


def _find_memories(call: Call) -> tuple[list[Memory], list[NotFoundError]]:
    ids: Sequence[str] = call.arguments["ids"]
    if not ids:
        raise UsageError("get needs an id", hint="search lists ids")
    if len(ids) > MOST_IDS:
        raise UsageError(f"{len(ids)} ids are too many", hint=f"give up to {MOST_IDS}")
    if not call.memory.is_stored():
        raise NotFoundError("memory is empty: nothing is stored yet", hint="remember stores a text")
    found: dict[str, Memory] = {}
    unknown = []
    for prefix in dict.fromkeys(ids):
        try:
            memory = require_memory(call.memory.catalog, prefix.strip().strip("[]"))
        except NotFoundError as error:
            archived = "archive" in str(error)
            unknown.append(error if archived else NotFoundError(str(error), hint="search lists ids"))
        else:
            found[memory.id] = memory
    return list(found.values()), unknown


def cut_part(text: str, start: int, tokens: int, redactor: Redactor) -> Part:
    """Return the part of a text from `start` on that fits into `tokens`, in whole sentences, redacted.

    A single sentence or listing that is longer is cut between characters.
    """
    end, used = start, 0
    complete, spent = start, 0
    for first, last in atoms(text):
        if last <= start:
            continue
        cost = estimate_tokens(text[end:last])
        if used + cost > tokens:
            break
        end, used = last, used + cost
        if not announces(text, (first, last)):
            complete, spent = end, used
    else:
        complete, spent = end, used
    # A heading stays with the text that it announces.
    end, used = (complete, spent) if complete > start else (end, used)
    if end == start:
        end = min(len(text), start + max(1, tokens * CHARACTERS_PER_TOKEN))
        used = estimate_tokens(text[start:end])
    base = max(0, start - REACH)
    near = text[base : end + REACH]
    shown = cover(near, redactor.find(near), start - base, end - base)
    return Part(shown, used, end if text[end:].strip() else None)


def _about(call: Call, memory: Memory) -> tuple[list[str], dict[str, Any]]:
    """Return the lines above a text (its kind, source and relations to others), and the relations as data."""
    catalog = call.memory.catalog
    state = supersession_state(catalog, memory)
    said = [f"[{memory.short_id}] {memory.event_time:%Y-%m-%d} {memory.kind.value}"]
    if memory.category.value != "none":
        said.append(memory.category.value)
    said += [
        memory.provenance,
        call.project_label(memory.scope.project),
        one_line(memory.title, 120, redactor=call.redactor),
    ]
    if memory.uri.startswith("/"):
        said.append(describe_place(call.path_label(memory.uri), memory.metadata))
    lines = [" | ".join(filter(None, said))]
    if link := state.link:
        lines.append(f"{superseded_line(link)}: {one_line(link.reason, 160, redactor=call.redactor)}")
    lines += [previous_version_line(former, redactor=call.redactor) for former in state.replaced[:FORMER]]
    if held := session_line(memory, redactor=call.redactor):
        lines.append(held)
    near = catalog.connections.neighbours(memory.id)[:CONNECTED]
    others = [one.second if one.first == memory.id else one.first for one in near]
    titles = catalog.memories.get(others)
    connected = [
        {
            "id": key[:12],
            "title": one_line(titles[key].title, 80, redactor=call.redactor),
            "strength": round(one.strength, 3),
        }
        for key, one in zip(others, near, strict=True)
        if key in titles
    ]
    if connected:
        lines.append("connected: " + "; ".join(f"[{one['id']}] {one['title']}" for one in connected))
    more = {
        "superseded_by": state.superseded.newer[:12] if state.superseded else None,
        "perhaps_outdated": state.outdated.newer[:12] if state.outdated else None,
        "connected": connected,
    }
    return lines, more
