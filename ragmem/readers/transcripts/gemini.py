"""Gemini's records: messages that are written again when they grow, and documents of older versions."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from ragmem.readers.transcripts.cleanup import user_text
from ragmem.readers.transcripts.exchange_builder import ExchangeBuilder
from ragmem.readers.transcripts.format import Format, RecordReader, read_document
from ragmem.readers.transcripts.records import parse, texts_of, word
from ragmem.readers.transcripts.tools import call_of

LEFT_OUT = frozenset("info error warning message_update session_metadata system about".split())
_REPLIES = frozenset("gemini model assistant".split())
_TEXT = ("text",)
_BROKEN = frozenset("error cancelled".split())
_CONTEXT = 4000
"""Characters of a message that are searched for the working folder."""

_MAX_NOTED = 1 << 20
_FOLDER = re.compile(
    r"(?:[Ww]orking (?:in the )?directory(?: is)?:|Workspace Directories:\**\s*-)\s*(/[^\n]{1,1000})"
)


class Gemini(RecordReader):
    """Reads the records of a Gemini session; those of a subagent only with `sidechains`."""

    def __init__(self, builder: ExchangeBuilder, path: Path, *, sidechains: bool) -> None:
        self._builder = builder
        self._sidechains = sidechains
        builder.session = builder.session or path.stem
        builder.cwd = builder.cwd or _folder_of(path)

    def take(self, record: Mapping[str, Any]) -> None:
        """Take the next record of the file."""
        builder = self._builder
        patch = record.get("$set")
        if "$rewindTo" in record:
            # A rewound exchange stays; a new one follows.
            builder.left_out["rewind"] += 1
        elif isinstance(patch, dict):
            self._read_session(patch)
            self._batch(patch.get("messages"))
        elif isinstance(record.get("messages"), list) or record.get("type") == "session_metadata":
            self._read_session(record)
            self._batch(record.get("messages"))
        elif "sessionId" in record and "id" not in record:
            self._read_session(record)
        else:
            self._message(record)

    def take_messages(self, document: Mapping[str, Any]) -> Iterator[None]:
        """Read the messages of a document one by one; yield after each."""
        self._read_session(document)
        messages = document.get("messages")
        for message in messages if isinstance(messages, list) else ():
            if isinstance(message, dict):
                self._message(message)
            yield

    def _read_session(self, record: Mapping[str, Any]) -> None:
        builder = self._builder
        if session := word(record, "sessionId"):
            builder.session = session
        if record.get("kind") == "subagent":
            builder.flags["side"] = True
            builder.agent = builder.session
        folders = record.get("directories")
        if not builder.cwd and isinstance(folders, list) and folders and isinstance(folders[0], str):
            builder.cwd = folders[0]

    def _batch(self, messages: Any) -> None:
        """Read a list that repeats earlier messages and may add new ones."""
        repeats = False
        for message in messages if isinstance(messages, list) else ():
            if not isinstance(message, dict):
                continue
            if message.get("type") == "user":
                repeats = self._builder.has_closed(str(message.get("id", "")))
            if not repeats:
                self._message(message)

    def _message(self, message: Mapping[str, Any]) -> None:
        builder = self._builder
        sort = word(message, "type") or word(message, "role")
        own = str(message.get("id", ""))
        if sort in LEFT_OUT:
            builder.left_out[sort] += 1
        elif builder.flags.get("side") and not self._sidechains:
            builder.left_out["side chain"] += 1
        elif sort == "user":
            said = texts_of(message.get("content", message.get("parts")), _TEXT)
            if not builder.cwd and (found := _FOLDER.search(said[:_CONTEXT])):
                builder.cwd = found[1].strip()
            builder.ask(user_text(said), key=own, at=message.get("timestamp"))
        elif sort in _REPLIES:
            if not own or builder.replace_message(own):
                self._reply(message, own)
        else:
            builder.skip(sort, known=False)

    def _reply(self, message: Mapping[str, Any], own: str) -> None:
        builder = self._builder
        if model := word(message, "model"):
            builder.model = model
        builder.touch(message.get("timestamp"))
        builder.say(texts_of(message.get("content", message.get("parts")), _TEXT), message=own)
        calls = message.get("toolCalls")
        for number, made in enumerate(calls if isinstance(calls, list) else ()):
            if not isinstance(made, dict):
                continue
            name = str(made.get("id") or f"{own}/{number}")
            builder.call(
                call_of(str(made.get("name", "")), made.get("args"), builder.redactor), name, message=own
            )
            if "result" in made or word(made, "status") in _BROKEN:
                failed = word(made, "status") in _BROKEN
                builder.result(name, _result(made), failed=failed, message=own)
            builder.touch(made.get("timestamp"))


def _document_in(path: Path) -> Mapping[str, Any] | None:
    """Return the document of an older version in a file; None for a broken or incomplete one.

    Raises ReadError for one that is too large.
    """
    try:
        document = parse(read_document(path))
    except orjson.JSONDecodeError:
        return None
    return document if isinstance(document, dict) else None


def _is_document(path: Path, head: bytes) -> bool:
    first, _, rest = head.lstrip().partition(b"\n")
    try:
        record = parse(first)
    except orjson.JSONDecodeError:
        return bool(rest) or path.suffix == ".json"
    return path.suffix == ".json" and isinstance(record, dict) and isinstance(record.get("messages"), list)


def _result(made: Mapping[str, Any]) -> str:
    result = made.get("result")
    for part in result if isinstance(result, list) else ():
        answer = part.get("functionResponse") if isinstance(part, dict) else None
        response = answer.get("response") if isinstance(answer, dict) else None
        if isinstance(response, dict):
            said = response.get("output") or response.get("error")
            if isinstance(said, str):
                return said
    shown = made.get("resultDisplay")
    return shown if isinstance(shown, str) else ""


def _folder_of(path: Path) -> str:
    """Return the working folder of a session, which Gemini stores beside it; empty without one."""
    place = next((folder.parent for folder in path.parents if folder.name == "chats"), None)
    if place is None:
        return ""
    noted = _read_head(place / ".project_root").decode("utf-8", "replace").strip()
    if noted:
        return noted
    try:
        known = orjson.loads(_read_head(place.parent.parent / "projects.json"))
    except orjson.JSONDecodeError:
        return ""
    folders = known.get("projects") if isinstance(known, dict) else None
    for folder, name in folders.items() if isinstance(folders, dict) else ():
        # The folder is named after the project, in older versions after a hash of its path.
        if place.name in {name, hashlib.sha256(folder.encode("utf-8", "replace")).hexdigest()}:
            return str(folder)
    return ""


def _read_head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_MAX_NOTED)
    except OSError:
        return b""


def _read_document(reader: Gemini, path: Path) -> Iterator[None] | None:
    document = _document_in(path)
    return None if document is None else reader.take_messages(document)


_TYPES = frozenset(("user", "gemini", "info", "error", "warning"))


def _is_record(record: dict[str, Any]) -> bool:
    sort = word(record, "type")
    if "sessionId" in record and (sort == "session_metadata" or "projectHash" in record):
        return True
    return sort == "gemini" and "id" in record and ("content" in record or "toolCalls" in record)


def _may_be_record(record: dict[str, Any]) -> bool:
    return word(record, "type") in _TYPES and "content" in record and "id" in record


def _is_torn(head: bytes) -> bool:
    return b'"projectHash"' in head and b'"messages"' in head and b'"sessionId"' in head


FORMAT = Format(
    Gemini,
    _is_record,
    _may_be_record,
    is_torn=_is_torn,
    is_document=_is_document,
    read_document=_read_document,
)
