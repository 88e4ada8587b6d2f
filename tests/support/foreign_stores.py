"""The stores of other tools: those in tests/data/imports, and exports written after published formats."""

import gzip
import json
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

STORED = Path(__file__).parent.parent / "data" / "imports"

QUESTION = "Why do the tide tables jump by an hour in March?"
ANSWER = "The reader takes local time for UTC, so I store a fixed offset with each table and convert it once."
BEGAN = 1_772_000_000.5
"""25 February 2026."""


def unpack(name: str, folder: Path, *, called: str = "") -> Path:
    """Unpack a stored database into a folder and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (called or name.removesuffix(".gz"))
    path.write_bytes(gzip.decompress((STORED / name).read_bytes()))
    return path


def make_palace(folder: Path) -> Path:
    """Make a palace with its graph and return its folder."""
    unpack("mempalace-chroma.db.gz", folder, called="chroma.sqlite3")
    unpack("mempalace-graph.db.gz", folder, called="knowledge_graph.sqlite3")
    return folder


def chatgpt_conversation(key: str = "6f1c", *, asked: str = QUESTION, **more: Any) -> dict[str, Any]:
    """Return a conversation with a hidden message, a thought and an abandoned branch."""

    def node(name: str, parent: str | None, *children: str, **message: Any) -> dict[str, Any]:
        return {"id": name, "parent": parent, "children": list(children), "message": message or None}

    def said(role: str, text: str, at: float, **message: Any) -> dict[str, Any]:
        content = {"content_type": "text", "parts": [text]}
        return {
            "author": {"role": role},
            "create_time": at,
            "content": content,
            "recipient": "all",
            **message,
        }

    thought = {"content_type": "thoughts", "thoughts": [{"content": "hm"}]}
    hidden = {"is_visually_hidden_from_conversation": True}
    nodes = {
        "root": node("root", None, "s"),
        "s": node("s", "root", "q", **said("system", "You are helpful.", BEGAN, metadata=hidden)),
        "q": node("q", "s", "t", "old", **said("user", asked, BEGAN, id="q")),
        "old": node("old", "q", **said("assistant", "An abandoned answer.", BEGAN + 1)),
        "t": node("t", "q", "a", **said("assistant", "", BEGAN + 2, content=thought)),
        "a": node("a", "t", **said("assistant", ANSWER, BEGAN + 3, metadata={"model_slug": "gpt-5"})),
    }
    return {
        "title": "Tide tables",
        "create_time": BEGAN,
        "update_time": BEGAN + 3,
        "mapping": nodes,
        "current_node": "a",
        "conversation_id": key,
        "gizmo_id": None,
        **more,
    }


def claude_conversation(key: str = "9a2b", *, asked: str = QUESTION, **more: Any) -> dict[str, Any]:
    """Return a conversation of claude.ai."""

    def said(sender: str, text: str, at: str) -> dict[str, Any]:
        content = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text}]
        return {
            "uuid": f"{key}-{sender}",
            "sender": sender,
            "text": text,
            "content": content,
            "created_at": at,
        }

    return {
        "uuid": key,
        "name": "Tide tables",
        "created_at": "2026-02-25T06:13:20.000000Z",
        "updated_at": "2026-02-25T06:14:20.000000Z",
        "account": {"uuid": "someone"},
        "chat_messages": [
            said("human", asked, "2026-02-25T06:13:20.000000Z"),
            said("assistant", ANSWER, "2026-02-25T06:14:20.000000Z"),
        ],
        **more,
    }


def zip_of(path: Path, documents: dict[str, Any]) -> Path:
    """Write a ZIP archive of JSON documents, or of bytes as they are, and return its path."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, document in documents.items():
            archive.writestr(name, document if isinstance(document, bytes) else json.dumps(document))
    return path


def make_cursor(user: Path, folder: str) -> Path:
    """Make Cursor's folder of a user, with one chat in a workspace, and return the folder."""
    chat = {
        "composerId": "c1",
        "name": "Tide tables",
        "createdAt": int(BEGAN * 1000),
        "fullConversationHeadersOnly": [{"bubbleId": "b1", "type": 1}, {"bubbleId": "b2", "type": 2}],
    }
    edit = {"name": "edit_file", "rawArgs": json.dumps({"target_file": "tides.py"}), "status": "completed"}
    asked = {"bubbleId": "b1", "type": 1, "text": QUESTION, "createdAt": "2026-02-25T06:13:20.000Z"}
    said = {"bubbleId": "b2", "type": 2, "text": ANSWER, "toolFormerData": edit}
    values = {"composerData:c1": chat, "bubbleId:c1:b1": asked, "bubbleId:c1:b2": said, "other": {}}
    _make_vscdb(user / "globalStorage", "cursorDiskKV", values)
    workspace = user / "workspaceStorage" / "0f3a"
    _make_vscdb(workspace, "ItemTable", {"composer.composerData": {"allComposers": [{"composerId": "c1"}]}})
    (workspace / "workspace.json").write_text(json.dumps({"folder": Path(folder).as_uri()}))
    return user


def _make_vscdb(folder: Path, table: str, values: dict[str, Any]) -> None:
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / "state.vscdb")) as database, database:
        for name in ("ItemTable", "cursorDiskKV"):
            database.execute(f"CREATE TABLE {name} (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
        rows = [(key, json.dumps(value)) for key, value in values.items()]
        database.executemany(f"INSERT INTO {table} VALUES (?, ?)", rows)


def make_opencode_files(storage: Path) -> Path:
    """Make the folder of JSON files that OpenCode kept before it had a database, and return it."""
    files = {
        "session/p1/s1.json": {"id": "s1", "directory": "/work/harbour", "title": "Tide tables"},
        "message/s1/m1.json": {"id": "m1", "role": "user", "time": {"created": BEGAN * 1000}},
        "message/s1/m2.json": {"id": "m2", "role": "assistant", "time": {"created": BEGAN * 1000 + 9}},
        "part/m1/p1.json": {"type": "text", "text": QUESTION},
        "part/m2/p1.json": {"type": "text", "text": ANSWER},
    }
    for name, record in files.items():
        path = storage / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record))
    return storage
