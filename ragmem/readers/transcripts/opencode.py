"""OpenCode's records: messages and their parts, in the database of all sessions or in an export of one."""

import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson

from ragmem.readers.transcripts.cleanup import summary_text, user_text
from ragmem.readers.transcripts.exchange_builder import MAX_NAME, ExchangeBuilder
from ragmem.readers.transcripts.format import Format, RecordReader, SessionRead, read_document
from ragmem.readers.transcripts.records import mapping, parse, word
from ragmem.readers.transcripts.tools import call_of

LEFT_OUT = frozenset(
    "reasoning step-start step-finish patch snapshot file agent subtask retry compaction".split()
)
"""Types of parts without words or work, or with copies of them."""

_EXPORT = re.compile(rb'\s*\{\s*"info"\s*:\s*\{\s*"id"\s*:\s*"ses_')
_OWN = "msg_"
"""The beginning of a message's id."""

BUSY_S = 2.0
"""Seconds to wait for a database that OpenCode has locked."""

_TABLES = {"session", "message", "part"}
# A session is newer than its own row where its last message is.
_SESSIONS = """
    SELECT id, coalesce(parent_id, ''), coalesce(directory, ''), max(time_updated, coalesce(
        (SELECT max(time_updated) FROM message WHERE session_id = session.id), 0)) AS updated
    FROM session WHERE updated >= ? ORDER BY updated, id
"""
_MESSAGES = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
_PARTS = "SELECT data FROM part WHERE message_id = ? ORDER BY id"


class OpenCode(RecordReader):
    """Reads the messages of one session; those of a subagent only with `sidechains`."""

    def __init__(self, builder: ExchangeBuilder, _path: Path, *, sidechains: bool) -> None:
        self._builder = builder
        self._sidechains = sidechains

    def take(self, record: Mapping[str, Any]) -> None:
        """Take the next message, with its `id` and its `parts`."""
        builder = self._builder
        if builder.agent and not self._sidechains:
            builder.left_out["side chain"] += 1
            return
        role, listed = word(record, "role"), record.get("parts")
        parts = [part for part in (listed if isinstance(listed, list) else ()) if isinstance(part, dict)]
        times = record.get("time")
        at = times if isinstance(times, dict) else {}
        words = "\n\n".join(
            word(part, "text") for part in parts if word(part, "type") == "text" and not part.get("synthetic")
        )
        if role == "user":
            builder.ask(user_text(_unquote(words)), key=word(record, "id"), at=at.get("created"))
        elif role != "assistant":
            builder.skip(f"message of {role}", known=False)
        elif record.get("summary"):
            builder.summarize(summary_text(words))
        else:
            builder.model = word(record, "modelID") or builder.model
            for part in parts:
                self._part(part)
            if (
                isinstance(failed := record.get("error"), dict)
                and word(failed, "name") == "MessageAbortedError"
            ):
                builder.interrupt()
            builder.touch(at.get("completed") or at.get("created"))

    def take_document(self, document: Mapping[str, Any]) -> Iterator[None]:
        """Take the messages of an exported session; yield after each."""
        builder, info = self._builder, mapping(document.get("info"))
        own, parent = word(info, "id"), word(info, "parentID")
        builder.session, builder.agent = parent or own, own if parent else ""
        builder.cwd = word(info, "directory")
        listed = document.get("messages")
        for message in listed if isinstance(listed, list) else ():
            told = mapping(mapping(message).get("info"))
            # Entire has replaced some ids by the same word.
            key = told["id"] if word(told, "id").startswith(_OWN) else ""
            self.take({**told, "id": key, "parts": mapping(message).get("parts")})
            yield

    def _part(self, part: Mapping[str, Any]) -> None:
        builder = self._builder
        sort, state = word(part, "type"), part.get("state")
        if sort == "text":
            if not part.get("synthetic"):
                builder.say(word(part, "text"))
        elif sort == "tool" and isinstance(state, dict):
            name = word(part, "callID")
            builder.call(call_of(word(part, "tool"), state.get("input"), builder.redactor), name)
            metadata = state.get("metadata")
            code = metadata.get("exit") if isinstance(metadata, dict) else None
            said = word(state, "output") or word(state, "error")
            failed = word(state, "status") == "error"
            builder.result(name, f"Exit code: {code}\n{said}" if code else said, failed=failed)
        elif sort not in LEFT_OUT:
            builder.problems[f'unknown part "{sort[:MAX_NAME]}"'] += 1


def read_sessions(
    path: Path, carried: str, make: Callable[[], ExchangeBuilder], *, sidechains: bool
) -> Iterator[SessionRead]:
    """Yield the sessions that have changed since `carried`, those that changed last at the end.

    Raises OSError for a database that cannot be read.
    """
    state = orjson.loads(carried) if carried else {}
    try:
        with closing(_open(path)) as database:
            # One snapshot for all of them, while OpenCode continues to write.
            database.execute("BEGIN")
            for session, parent, folder, updated in database.execute(_SESSIONS, (state.get("updated", 0),)):
                builder = make()
                builder.session, builder.agent = parent or session, session if parent else ""
                builder.cwd = folder
                reader = OpenCode(builder, path, sidechains=sidechains)
                after = orjson.dumps({"updated": updated}).decode()
                yield SessionRead(_take_messages(database, session, reader, builder), builder, after)
    except sqlite3.Error as error:
        raise OSError(str(error)) from error


def _take_messages(
    database: sqlite3.Connection, session: str, reader: OpenCode, builder: ExchangeBuilder
) -> Iterator[None]:
    for own, data in database.execute(_MESSAGES, (session,)):
        try:
            message = parse(_bytes(data))
            parts = [parse(_bytes(part)) for (part,) in database.execute(_PARTS, (own,))]
        except orjson.JSONDecodeError:
            builder.problems["broken message"] += 1
            continue
        if isinstance(message, dict):
            reader.take({**message, "id": own, "parts": parts})
        yield


def _unquote(asked: str) -> str:
    """Return a question without the quotes that `opencode run` puts around several words."""
    inner = asked[1:-1]
    return inner if asked == f'"{inner}"' and '"' not in inner else asked


def _bytes(data: Any) -> bytes:
    return data.encode("utf-8", "replace") if isinstance(data, str) else data or b""


def _open(path: Path) -> sqlite3.Connection:
    # Without a log nobody writes; as immutable it is read without making files in the folder of OpenCode.
    mode = "mode=ro" if path.with_name(f"{path.name}-wal").exists() else "mode=ro&immutable=1"
    return sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, timeout=BUSY_S)


def _is_database(path: Path) -> bool:
    try:
        with closing(_open(path)) as database:
            found = {
                name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            }
    except sqlite3.Error:
        return False
    return found >= _TABLES


def _is_export(head: bytes) -> bool:
    return _EXPORT.match(head) is not None


def _read_document(reader: OpenCode, path: Path) -> Iterator[None] | None:
    try:
        document = parse(read_document(path))
    except orjson.JSONDecodeError:
        return None
    return reader.take_document(mapping(document))


def _is_record(record: dict[str, Any]) -> bool:
    return word(mapping(record.get("info")), "id").startswith("ses_") and "messages" in record


FORMAT = Format(
    OpenCode,
    _is_record,
    is_torn=_is_export,
    is_document=lambda _path, head: _is_export(head),
    read_document=_read_document,
    is_database=_is_database,
    read_sessions=read_sessions,
)
