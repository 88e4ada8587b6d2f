"""Cursor: chats in state.vscdb, and the folders of its workspaces beside it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from ragmem.domain.secrets.redaction import Redactor
from ragmem.errors import SourceError
from ragmem.readers.foreign import Tool
from ragmem.readers.foreign.conversation import Message, exchanges_of
from ragmem.readers.foreign.databases import ForeignDatabase, has_tables, open_database
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
from ragmem.readers.transcripts.cleanup import user_text
from ragmem.readers.transcripts.tools import call_of

FILE = "state.vscdb"

MAX_WORKSPACES = 2_000
MAX_WORKSPACE = 1 << 20

_TABLES = {"cursorDiskKV": ("key", "value")}
_USER, _ASSISTANT = 1, 2

_CHATS = "SELECT key FROM cursorDiskKV WHERE key >= 'composerData:' AND key < 'composerData;' ORDER BY key"
_VALUE = "SELECT value FROM cursorDiskKV WHERE key = ?"
_WORKSPACE = "SELECT value FROM ItemTable WHERE key = 'composer.composerData'"


def entries(path: Path, redactor: Redactor, left_out: LeftOut) -> Iterator[Entry]:
    """Yield the exchanges of each chat, with the folder of the workspace in which it was held."""
    file = _database_of(path)
    with open_database(file, tool="cursor") as database:
        database.require(_TABLES, TOOL.version)
        folders = _folders(file, left_out)
        for (key,) in database.rows(_CHATS):
            chat = mapping_of(_value(database, str(key)))
            session = name_of(str(key).partition(":")[2])
            if not chat or not session:
                left_out["broken record"] += 1
                continue
            messages = _messages(database, session, chat, redactor, left_out)
            folder = folders.get(session, "")
            for exchange in exchanges_of(
                messages, assistant="cursor", session=session, folder=folder, redactor=redactor
            ):
                at = time_of(chat.get("lastUpdatedAt"), chat.get("createdAt"))
                yield Talk(exchange, name_of(chat.get("name")), folder, at)


def _value(database: ForeignDatabase, key: str) -> Any:
    return next((value for (value,) in database.rows(_VALUE, (key,))), None)


def _messages(
    database: ForeignDatabase, session: str, chat: Mapping[str, Any], redactor: Redactor, left_out: LeftOut
) -> Iterator[Message]:
    inline = list_of(chat.get("conversation"))
    for one in inline or list_of(chat.get("fullConversationHeadersOnly")):
        bubble = mapping_of(one)
        if not inline:
            name = name_of(bubble.get("bubbleId"))
            bubble = mapping_of(_value(database, f"bubbleId:{session}:{name}"))
            if not bubble:
                left_out["message that is missing"] += 1
                continue
        sort, key = bubble.get("type"), name_of(bubble.get("bubbleId"))
        at = time_of(bubble.get("createdAt"), mapping_of(bubble.get("timingInfo")).get("clientRpcSendTime"))
        text = text_of(bubble.get("text"))
        if sort == _USER:
            yield Message(True, user_text(text), key, at)
        elif sort == _ASSISTANT:
            model = name_of(mapping_of(bubble.get("modelInfo")).get("modelName"))
            yield Message(False, text, key, at, model, _calls(bubble, redactor))
        else:
            left_out["message of an unknown type"] += 1


def _calls(bubble: Mapping[str, Any], redactor: Redactor) -> tuple[Any, ...]:
    tool = mapping_of(bubble.get("toolFormerData"))
    name = name_of(tool.get("name"))
    if not name:
        return ()
    given = mapping_of(tool.get("rawArgs")) or mapping_of(tool.get("params"))
    failed = tool.get("status") == "error"
    result = mapping_of(tool.get("result")).get("output")
    key = name_of(tool.get("toolCallId")) or name
    return ((key, call_of(name, given, redactor), text_of(result), failed),)


def _folders(file: Path, left_out: LeftOut) -> dict[str, str]:
    """Return chat -> folder, from the workspaces beside the global store."""
    found: dict[str, str] = {}
    parent = file.parent.parent / "workspaceStorage"
    workspaces = sorted(parent.iterdir())[:MAX_WORKSPACES] if parent.is_dir() else [file.parent]
    for workspace in workspaces:
        folder = _folder(workspace / "workspace.json")
        if not folder or not has_tables(workspace / FILE, {"ItemTable": ("key", "value")}):
            continue
        try:
            with open_database(workspace / FILE, tool="cursor") as database:
                for (value,) in database.rows(_WORKSPACE):
                    for chat in list_of(mapping_of(value).get("allComposers")):
                        if key := name_of(mapping_of(chat).get("composerId")):
                            found[key] = folder
        except SourceError:
            left_out["workspace that cannot be read"] += 1
    return found


def _folder(path: Path) -> str:
    """Return the folder of a workspace on this machine; empty for one elsewhere, or of several folders."""
    try:
        with path.open("rb") as file:
            address = urlsplit(text_of(mapping_of(file.read(MAX_WORKSPACE)).get("folder")))
    except (OSError, ValueError):
        return ""
    return unquote(address.path) if address.scheme == "file" and not address.netloc else ""


def _database_of(path: Path) -> Path:
    if not path.is_dir():
        return path
    places = (path / FILE, path / "globalStorage" / FILE, path / "User" / "globalStorage" / FILE)
    return next((one for one in places if one.is_file()), path / FILE)


def _recognise(path: Path) -> bool:
    return has_tables(_database_of(path), _TABLES)


TOOL = Tool("cursor", "1.7", _recognise, entries)
