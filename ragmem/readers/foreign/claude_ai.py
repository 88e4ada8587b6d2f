"""claude.ai: conversations.json of its export, in the ZIP file or bare."""

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


def entries(path: Path, redactor: Redactor, left_out: LeftOut) -> Iterator[Entry]:
    """Yield the exchanges of each conversation."""
    for record in conversations_of(path, _is_conversation, tool="claude-ai", left_out=left_out):
        yield from _talks(record, redactor, left_out)


def _talks(record: Mapping[str, Any], redactor: Redactor, left_out: LeftOut) -> Iterator[Entry]:
    session = name_of(record["uuid"])
    messages = filter(None, (_message(mapping_of(one), left_out) for one in record["chat_messages"]))
    for exchange in exchanges_of(messages, assistant="claude.ai", session=session, redactor=redactor):
        yield Talk(
            exchange,
            name_of(record.get("name")),
            name_of(mapping_of(record.get("project")).get("name")),
            time_of(record.get("updated_at"), record.get("created_at")),
        )


def _message(message: Mapping[str, Any], left_out: LeftOut) -> Message | None:
    sender = message.get("sender")
    if sender not in {"human", "assistant"}:
        left_out["message of an unknown sender"] += 1
        return None
    blocks = [mapping_of(block) for block in list_of(message.get("content"))]
    said = "\n\n".join(
        text for block in blocks if block.get("type") == "text" and (text := text_of(block.get("text")))
    )
    others = sum(block.get("type") != "text" for block in blocks)
    if others:
        left_out["thought, tool call or picture"] += others
    names = [name_of(mapping_of(one).get("file_name")) for one in list_of(message.get("attachments"))]
    if any(names):
        left_out["attached file"] += len(names)
    return Message(
        sender == "human",
        said or text_of(message.get("text")),
        name_of(message.get("uuid")),
        time_of(message.get("created_at"), message.get("updated_at")),
    )


def _is_conversation(record: Mapping[str, Any]) -> bool:
    return bool(name_of(record.get("uuid"))) and isinstance(record.get("chat_messages"), list)


def _recognise(path: Path) -> bool:
    return begins_with(path, _is_conversation)


TOOL = Tool("claude-ai", "export of 2025", _recognise, entries)
