"""The tool `get`: whole memories within a budget of tokens, with their successors and connections."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ragmem.domain.model import Memory
from ragmem.domain.model.document_place import describe_place
from ragmem.domain.secrets.redaction import Redactor, cover
from ragmem.domain.text.excerpts import CHARACTERS_PER_TOKEN, announces, atoms, estimate_tokens
from ragmem.errors import NotFoundError, UsageError
from ragmem.mcp.call import Call, Result, hint_of
from ragmem.mcp.frame import frame_lines, one_line
from ragmem.services.context.session_line import session_line
from ragmem.services.lifecycle.feedback import require_memory
from ragmem.services.retrieval.excerpts import REACH
from ragmem.services.retrieval.shapes import memory_shape
from ragmem.services.retrieval.supersessions import previous_version_line, superseded_line, supersession_state

MOST_IDS = 20
TITLE = 120
"""Maximum characters of a title, and one for each token that the lines above a text may have."""

CONNECTED, FORMER = 5, 3
"""Maximum number of connected and of replaced memories that are named."""

FRAME_TOKENS, CUT_TOKENS = 20, 30
"""Estimated tokens of the frame, and of the line below a text that is cut."""

LEAST_TOKENS = 20
"""Minimum tokens of a text; a memory that has less room is only named."""


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
    lines: list[str] = []
    shapes: list[dict[str, Any]] = []
    budget -= FRAME_TOKENS
    for number, memory in enumerate(memories):
        room = budget // (len(memories) - number)
        about, more = _about(call, memory, room // 2)
        head = estimate_tokens("\n".join(about))
        share = max(LEAST_TOKENS, room - head)
        if shapes and head + share > budget:
            break
        part = cut_part(memory.text, offset, share, redactor=call.redactor)
        below = []
        if part.rest is not None:
            share = max(LEAST_TOKENS, share - CUT_TOKENS)
            part = cut_part(memory.text, offset, share, redactor=call.redactor)
            left = estimate_tokens(memory.text[part.rest :])
            below = [f"[cut: about {left:,} tokens more; get it alone with offset={part.rest}]"]
        lines += [*([""] if lines else []), *about, part.text.strip("\n"), *below]
        budget -= head + part.tokens + (CUT_TOKENS if below else 0)
        shape = memory_shape(memory, redactor=call.redactor)
        shapes.append({**shape, "text": part.text, "next_offset": part.rest, **more})
    call.count_recalls(memory.id for memory in memories[: len(shapes)])
    if left_out := [memory.short_id for memory in memories[len(shapes) :]]:
        lines.append(f"[omitted, beyond the budget: {', '.join(left_out)}]")
    lines += [f"{error}; {hint_of(error)}" for error in unknown]
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
            unknown.append(error)
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
        most = range(start + 1, min(len(text), start + tokens * CHARACTERS_PER_TOKEN) + 1)
        fitting = bisect_right(most, tokens, key=lambda stop: estimate_tokens(text[start:stop]))
        end = start + max(1, fitting)
        used = estimate_tokens(text[start:end])
    base = max(0, start - REACH)
    near = text[base : end + REACH]
    shown = cover(near, redactor.find(near), start - base, end - base)
    return Part(shown, used, end if text[end:].strip() else None)


def _about(call: Call, memory: Memory, room: int) -> tuple[list[str], dict[str, Any]]:
    """Return the lines above a text (its kind, source and relations to others), and the relations as data.

    Its place and former or connected memories are told as far as they have room, in tokens.
    """
    catalog = call.memory.catalog
    state = supersession_state(catalog, memory)
    said = [f"[{memory.short_id}] {memory.event_time:%Y-%m-%d} {memory.kind.value}"]
    if memory.category.value != "none":
        said.append(memory.category.value)
    said += [
        memory.provenance,
        call.project_label(memory.scope.project),
        one_line(memory.title, min(TITLE, max(room, 20)), redactor=call.redactor),
    ]
    lines = [" | ".join(filter(None, said))]
    if link := state.link:
        lines.append(f"{superseded_line(link)}: {one_line(link.reason, 160, redactor=call.redactor)}")
    optional = [previous_version_line(former, redactor=call.redactor) for former in state.replaced[:FORMER]]
    optional.append(session_line(memory, redactor=call.redactor))
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
        optional.append("connected: " + "; ".join(f"[{one['id']}] {one['title']}" for one in connected))
    place = describe_place(call.path_label(memory.uri), memory.metadata) if memory.uri.startswith("/") else ""
    if place and estimate_tokens("\n".join([*lines, place])) <= room:
        lines[0] = f"{lines[0]} | {place}"
    for line in filter(None, optional):
        if estimate_tokens("\n".join([*lines, line])) <= room:
            lines.append(line)
    more = {
        "superseded_by": state.superseded.newer[:12] if state.superseded else None,
        "perhaps_outdated": state.outdated.newer[:12] if state.outdated else None,
        "connected": connected,
    }
    return lines, more
