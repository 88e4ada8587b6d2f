"""Detect the assistant of a transcript by its content, then by its path."""

from codecs import BOM_UTF8
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import orjson

from ragmem.assistants import load_assistants
from ragmem.assistants.assistant import Assistant
from ragmem.readers.transcripts.format import SQLITE, Format, find_format
from ragmem.readers.transcripts.records import parse

_READABLE = {one: one.session_format or one.session_name for one in load_assistants() if one.session_name}
"""The assistants whose sessions can be read, with their format."""

ASSISTANTS = tuple(one.session_name for one in _READABLE)
"""The assistants whose sessions can be read, by their names in memories."""

OTHERS = ("specstory", "aider", "cline")
"""Formats of programs that cannot be connected: exports of any assistant's sessions, Aider's and Cline's."""

MOST_RECORDS = 200
"""Records to examine: some transcripts begin with dozens that do not show their format."""


def find_session_format(assistant: str) -> Format:
    """Return the format of an assistant's session files, or of an export."""
    if assistant in OTHERS:
        return find_format(assistant)
    return find_format(next(name for one, name in _READABLE.items() if one.session_name == assistant))


@cache
def _formats() -> Mapping[str, Format]:
    return MappingProxyType({name: find_format(name) for name in _READABLE.values()})


def assistant_of(path: Path, head: bytes) -> str | None:
    """Return the assistant, or the export, of a transcript that begins with these bytes; None for neither.

    The content determines the format. The path decides between assistants of one format, and between formats
    where the beginning is short or unusual.
    """
    if head.startswith(SQLITE):
        return next(
            (_assistant_by_place(path, name) for name, one in _formats().items() if one.is_database(path)),
            None,
        )
    if exported := next((name for name in OTHERS if find_format(name).is_document(path, head)), ""):
        return exported
    records = _records(head)
    found = next((name for one in records for name, form in _formats().items() if form.is_record(one)), "")
    if found:
        return None if any(map(_formats()[found].is_foreign, records)) else _assistant_by_place(path, found)
    if not records and head.lstrip()[:1] == b"{":
        torn = next((name for name, one in _formats().items() if one.is_torn(head.lstrip())), "")
        return _assistant_by_place(path, torn) if torn else None
    may_be = any(one.may_be_record(record) for one in _formats().values() for record in records)
    return _assistant_by_place(path) if may_be else None


def _records(head: bytes) -> list[dict[str, Any]]:
    """Return the records at the beginning of a file, without an incomplete last line."""
    found = []
    for line in head.removeprefix(BOM_UTF8).split(b"\n", MOST_RECORDS)[:MOST_RECORDS]:
        try:
            record = parse(line)
        except orjson.JSONDecodeError:
            continue
        if isinstance(record, dict):
            found.append(record)
    return found


def _assistant_by_place(path: Path, name: str = "") -> str | None:
    """Return the assistant whose folders are in a path, among those of a format if one is named.

    Without such a folder it is the assistant that the format is named after.
    """
    possible = [one for one, known in _READABLE.items() if name in {"", known}]
    if len(possible) == 1:
        return possible[0].session_name
    for tells in (_is_folder, _is_session_folder):
        # The deepest folder is the most specific.
        for folder in reversed(path.parent.parts):
            for one in possible:
                if tells(one, folder):
                    return one.session_name
    return name or None


def _is_folder(assistant: Assistant, folder: str) -> bool:
    return folder == assistant.folder.rpartition("/")[2]


def _is_session_folder(assistant: Assistant, folder: str) -> bool:
    return folder in assistant.session_folders
