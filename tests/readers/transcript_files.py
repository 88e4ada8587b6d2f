"""Transcripts as the assistants write them, built record by record."""

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson

from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.domain.sessions.transcript import Exchange
from ragmem.readers.transcripts import Step, read

SESSION = "3f1c2b7a-0000-4000-8000-000000000001"


def lines_of(records: Iterable[Any]) -> bytes:
    """Return records as the lines of a file."""
    return b"".join(orjson.dumps(record) + b"\n" for record in records)


def write(path: Path, records: Iterable[Any]) -> Path:
    """Write a transcript and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lines_of(records))
    return path


def steps(path: Path, **options: Any) -> list[Step]:
    """Return all steps of a transcript."""
    return list(read(path, redactor=DEFAULT, **options))


def exchanges(path: Path, **options: Any) -> list[Exchange]:
    """Return all exchanges of a transcript."""
    return [step.exchange for step in steps(path, **options) if step.exchange]


def stamp(minute: int) -> str:
    """Return a time of the session."""
    return f"2026-03-02T{10 + minute // 60:02}:{minute % 60:02}:00.000Z"


def head(uuid: str, minute: int = 0, **more: Any) -> dict[str, Any]:
    """Return what each of Claude Code's records of a conversation bears."""
    return {
        "parentUuid": None,
        "isSidechain": False,
        "cwd": "/srv/tide",
        "sessionId": SESSION,
        "gitBranch": "main",
        "uuid": uuid,
        "timestamp": stamp(minute),
        **more,
    }


def asks(uuid: str, text: Any, minute: int = 0, **more: Any) -> dict[str, Any]:
    """Return a record of Claude Code in which a person asks."""
    return head(uuid, minute, type="user", message={"role": "user", "content": text}, **more)


def says(uuid: str, *blocks: Any, minute: int = 0, message: str = "", **more: Any) -> dict[str, Any]:
    """Return a line of a message of Claude Code's; a block that is a string is text."""
    content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    said = {"id": message or f"msg_{uuid}", "role": "assistant", "model": "claude-x", "content": content}
    return head(uuid, minute, type="assistant", message=said, **more)


def uses(name: str, identifier: str = "t1", **given: Any) -> dict[str, Any]:
    """Return the block in which Claude Code calls a tool."""
    return {"type": "tool_use", "id": identifier, "name": name, "input": given}


def gives(
    uuid: str, text: Any, identifier: str = "t1", *, failed: bool = False, **more: Any
) -> dict[str, Any]:
    """Return the record in which a tool's result comes back."""
    block = {"type": "tool_result", "tool_use_id": identifier, "content": text, "is_error": failed}
    return asks(uuid, [block], toolUseResult={}, **more)


def opencode(path: Path, sessions: list[dict[str, Any]], messages: list[dict[str, Any]]) -> Path:
    """Write a database with the tables and columns of OpenCode that are read."""
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(
            "CREATE TABLE IF NOT EXISTS session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT,"
            " time_updated INTEGER);"
            "CREATE TABLE IF NOT EXISTS message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER,"
            " time_updated INTEGER, data TEXT);"
            "CREATE TABLE IF NOT EXISTS part (id TEXT PRIMARY KEY, message_id TEXT, data TEXT);"
        )
        for one in sessions:
            row = (one["id"], one.get("parent"), "/srv/tide", one["at"])
            database.execute("INSERT OR REPLACE INTO session VALUES (?, ?, ?, ?)", row)
        for one in messages:
            data = {
                "role": one["role"],
                "time": {"created": one["at"], "completed": one["at"]},
                **one.get("data", {}),
            }
            row = (one["id"], one["session"], one["at"], one["at"], orjson.dumps(data).decode())
            database.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", row)
            for number, part in enumerate(one["parts"]):
                row = (f"{one['id']}-{number}", one["id"], orjson.dumps(part).decode())
                database.execute("INSERT INTO part VALUES (?, ?, ?)", row)
    return path
