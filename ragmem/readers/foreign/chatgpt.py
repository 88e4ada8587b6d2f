"""ChatGPT: conversations.json of its export, in the ZIP file or bare."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ragmem.domain.secrets.redaction import Redactor
from ragmem.readers.foreign import Tool
from ragmem.readers.foreign.archives import begins_with, conversations_of
from ragmem.readers.foreign.conversation import Message, exchanges_of
from ragmem.readers.foreign.entries import (
    Entry,
    LeftOut,
    Talk,
    list_of,
    mapping_of,
    name_of,
    text_of,
    time_of,
)

MAX_MESSAGES = 100_000
"""Messages on the way from the last one to the first; a tree that is a circle has no first one."""

_PROJECT = "g-p-"
"""Begin of the ids of ChatGPT's projects; other ids are those of custom GPTs."""

# Marks of citations, in characters of the private use area.
_CITATION = re.compile("\ue200[^\ue201]{0,2000}\ue201|[\ue200-\ue206]|【\\d{1,4}[^】]{0,200}】")


def entries(path: Path, redactor: Redactor, left_out: LeftOut) -> Iterator[Entry]:
    """Yield the exchanges of each conversation, along the branch that was shown last."""
    for record in conversations_of(path, _is_conversation, tool="chatgpt", left_out=left_out):
        yield from _talks(record, redactor, left_out)


def _talks(record: Mapping[str, Any], redactor: Redactor, left_out: LeftOut) -> Iterator[Entry]:
    nodes, session = record["mapping"], name_of(record.get("conversation_id")) or name_of(record.get("id"))
    template = name_of(record.get("conversation_template_id")) or name_of(record.get("gizmo_id"))
    messages = filter(None, (_message(one, left_out) for one in _branch(nodes, record.get("current_node"))))
    for exchange in exchanges_of(messages, assistant="chatgpt", session=session, redactor=redactor):
        yield Talk(
            exchange,
            name_of(record.get("title")),
            f"chatgpt-{template}" if template.startswith(_PROJECT) else "",
            time_of(record.get("update_time"), record.get("create_time")),
        )


def _branch(nodes: Mapping[str, Any], last: Any) -> list[Mapping[str, Any]]:
    """Return the messages from the first to the last one of a branch."""
    if not isinstance(last, str) or last not in nodes:
        leaves = [key for key, node in nodes.items() if not list_of(mapping_of(node).get("children"))]
        last = max(leaves, key=lambda key: _sent(nodes[key]), default=None)
    found: list[Mapping[str, Any]] = []
    seen: set[str] = set()
    while isinstance(last, str) and last in nodes and last not in seen and len(seen) < MAX_MESSAGES:
        seen.add(last)
        node = mapping_of(nodes[last])
        found.append(mapping_of(node.get("message")))
        last = node.get("parent")
    return found[::-1]


def _sent(node: Any) -> float:
    at = time_of(mapping_of(mapping_of(node).get("message")).get("create_time"))
    return at.timestamp() if at else 0.0


def _message(message: Mapping[str, Any], left_out: LeftOut) -> Message | None:
    role = mapping_of(message.get("author")).get("role")
    if role not in {"user", "assistant"}:
        if role in {"tool", "system"}:
            left_out[f"message of the {role}"] += 1
        return None
    more, content = mapping_of(message.get("metadata")), mapping_of(message.get("content"))
    if more.get("is_visually_hidden_from_conversation") or message.get("recipient") not in {None, "all"}:
        left_out["message that was not shown"] += 1
        return None
    if content.get("content_type") not in {"text", "multimodal_text"}:
        left_out["thought or other message without an answer"] += 1
        return None
    text = _CITATION.sub("", "\n\n".join(filter(None, map(_part, list_of(content.get("parts")))))).strip()
    return Message(
        role == "user",
        text,
        name_of(message.get("id")),
        time_of(message.get("create_time")),
        name_of(more.get("model_slug")),
    )


def _part(part: Any) -> str:
    # A transcription of speech is the one part of a picture or a recording that is text.
    return text_of(part) or text_of(mapping_of(part).get("text") if isinstance(part, dict) else "")


def _is_conversation(record: Mapping[str, Any]) -> bool:
    key = name_of(record.get("conversation_id")) or name_of(record.get("id"))
    return bool(key) and isinstance(record.get("mapping"), dict)


def _recognise(path: Path) -> bool:
    return begins_with(path, _is_conversation)


TOOL = Tool("chatgpt", "export of 2025", _recognise, entries)
