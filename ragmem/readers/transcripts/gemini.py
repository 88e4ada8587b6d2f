"""Gemini's records: messages that are written again each time they grow, and documents of older versions."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from ragmem.readers.files import ReadError, Reason
from ragmem.readers.transcripts.building import ExchangeBuilder
from ragmem.readers.transcripts.cleaning import user_text
from ragmem.readers.transcripts.format import Format
from ragmem.readers.transcripts.records import parse, texts_of, word
from ragmem.readers.transcripts.tools import call_of

MAX_DOCUMENT = 64 << 20
"""Bytes of a document: it has to be held whole, unlike lines."""

LEFT_OUT = frozenset("info error warning message_update session_metadata system about".split())
_REPLIES = frozenset("gemini model assistant".split())
_TEXT = ("text",)
_BROKEN = frozenset("error cancelled".split())
_CONTEXT = 4000
"""Characters of a message in which the program tells where it runs."""

_MAX_NOTED = 1 << 20
_FOLDER = re.compile(
    r"(?:[Ww]orking (?:in the )?directory(?: is)?:|Workspace Directories:\**\s*-)\s*(/[^\n]{1,1000})"
)


class Gemini:
    """Takes the records of a Gemini session; those of a subagent only when they are asked for."""

    def __init__(self, building: ExchangeBuilder, path: Path, *, sidechains: bool) -> None:
        self._building = building
        self._sidechains = sidechains
        building.session = building.session or path.stem
        building.cwd = building.cwd or _folder_of(path)

    def passes_over(self, _line: bytes) -> bool:
        """Tell that every line is looked at: few of them hold nothing."""
        return False

    def take(self, record: Mapping[str, Any]) -> None:
        """Take the next record of the file."""
        building = self._building
        patch = record.get("$set")
        if "$rewindTo" in record:
            # What was taken back was said all the same; what follows is a new exchange.
            building.left_out["rewind"] += 1
        elif isinstance(patch, dict):
            self._heads(patch)
            self._batch(patch.get("messages"))
        elif isinstance(record.get("messages"), list) or record.get("type") == "session_metadata":
            self._heads(record)
            self._batch(record.get("messages"))
        elif "sessionId" in record and "id" not in record:
            self._heads(record)
        else:
            self._message(record)

    def take_messages(self, document: Mapping[str, Any]) -> Iterator[None]:
        """Take the messages of a document one by one; yield after each."""
        self._heads(document)
        messages = document.get("messages")
        for message in messages if isinstance(messages, list) else ():
            if isinstance(message, dict):
                self._message(message)
            yield

    def _heads(self, record: Mapping[str, Any]) -> None:
        building = self._building
        if isinstance(session := record.get("sessionId"), str) and session:
            building.session = session
        if record.get("kind") == "subagent":
            building.flags["side"] = True
            building.agent = building.session
        folders = record.get("directories")
        if not building.cwd and isinstance(folders, list) and folders and isinstance(folders[0], str):
            building.cwd = folders[0]

    def _batch(self, messages: Any) -> None:
        """Take a list that repeats what was there before and may add to it."""
        repeats = False
        for message in messages if isinstance(messages, list) else ():
            if not isinstance(message, dict):
                continue
            if message.get("type") == "user":
                repeats = self._building.has_closed(str(message.get("id", "")))
            if not repeats:
                self._message(message)

    def _message(self, message: Mapping[str, Any]) -> None:
        building = self._building
        sort = word(message, "type") or word(message, "role")
        own = str(message.get("id", ""))
        if sort in LEFT_OUT:
            building.left_out[sort] += 1
        elif building.flags.get("side") and not self._sidechains:
            building.left_out["side chain"] += 1
        elif sort == "user":
            said = texts_of(message.get("content", message.get("parts")), _TEXT)
            if not building.cwd and (found := _FOLDER.search(said[:_CONTEXT])):
                building.cwd = found[1].strip()
            building.ask(user_text(said), key=own, at=message.get("timestamp"))
        elif sort in _REPLIES:
            if not own or building.renew(own):
                self._reply(message, own)
        else:
            building.unknown(sort)

    def _reply(self, message: Mapping[str, Any], own: str) -> None:
        building = self._building
        if isinstance(model := message.get("model"), str) and model:
            building.model = model
        building.touch(message.get("timestamp"))
        building.say(texts_of(message.get("content", message.get("parts")), _TEXT), message=own)
        calls = message.get("toolCalls")
        for number, made in enumerate(calls if isinstance(calls, list) else ()):
            if not isinstance(made, dict):
                continue
            name = str(made.get("id") or f"{own}/{number}")
            building.call(
                call_of(str(made.get("name", "")), made.get("args"), building.redactor), name, message=own
            )
            if "result" in made or word(made, "status") in _BROKEN:
                failed = word(made, "status") in _BROKEN
                building.result(name, _result(made), failed=failed, message=own)
            building.touch(made.get("timestamp"))


def _document_in(path: Path) -> Mapping[str, Any] | None:
    """Return the document that a file of an older version is; None for one that is broken or half written.

    Raises ReadError for one that is too large to be held.
    """
    if path.stat().st_size > MAX_DOCUMENT:
        raise ReadError(
            path, Reason.HUGE, f"a document of more than {MAX_DOCUMENT >> 20} MB cannot be read in parts"
        )
    try:
        document = parse(path.read_bytes())
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
    """Return the folder that a session was held in, which Gemini notes beside the sessions; empty if not."""
    place = next((folder.parent for folder in path.parents if folder.name == "chats"), None)
    if place is None:
        return ""
    noted = _beginning(place / ".project_root").decode("utf-8", "replace").strip()
    if noted:
        return noted
    try:
        known = orjson.loads(_beginning(place.parent.parent / "projects.json"))
    except orjson.JSONDecodeError:
        return ""
    folders = known.get("projects") if isinstance(known, dict) else None
    for folder, name in folders.items() if isinstance(folders, dict) else ():
        # The place is named by the project, in older versions by a hash of its folder.
        if place.name in {name, hashlib.sha256(folder.encode("utf-8", "replace")).hexdigest()}:
            return str(folder)
    return ""


def _beginning(path: Path) -> bytes:
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
