"""Whose transcript a file is, by its content first and by its place second."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import orjson

from ragmem.assistants import load_assistants
from ragmem.assistants.assistant import Assistant
from ragmem.readers.transcripts.format import Format, find_format
from ragmem.readers.transcripts.records import parse

_READABLE = {one: one.session_format or one.session_name for one in load_assistants() if one.session_name}
"""The assistants whose sessions can be read, with their format."""

ASSISTANTS = tuple(one.session_name for one in _READABLE)
"""The assistants whose sessions can be read, by the names that memories have for them."""

MOST_RECORDS = 200
"""Records of a beginning that are looked at: some transcripts begin with dozens that tell nothing."""


def find_session_format(assistant: str) -> Format:
    """Return the format of an assistant's session files."""
    return find_format(next(name for one, name in _READABLE.items() if one.session_name == assistant))


@cache
def _formats() -> Mapping[str, Format]:
    return MappingProxyType({name: find_format(name) for name in _READABLE.values()})


def assistant_of(path: Path, head: bytes) -> str | None:
    """Return whose transcript a file is that begins with these bytes; None if it is no known one.

    The content decides on the format. The place decides between assistants of one format, and between
    formats that a short or unusual beginning leaves open.
    """
    records = _records(head)
    found = next(filter(None, map(_format_of_record, records)), "")
    if found:
        return None if any(map(_formats()[found].is_foreign, records)) else _by_place(path, found)
    if not records and head.lstrip()[:1] == b"{":
        torn = next((name for name, one in _formats().items() if one.is_torn(head.lstrip())), "")
        return _by_place(path, torn) if torn else None
    may_be = any(one.may_be_record(record) for one in _formats().values() for record in records)
    return _by_place(path) if may_be else None


def _records(head: bytes) -> list[dict[str, Any]]:
    """Return the records of a beginning; the last line may be torn and is left out then."""
    found = []
    for line in head.split(b"\n", MOST_RECORDS)[:MOST_RECORDS]:
        try:
            record = parse(line)
        except orjson.JSONDecodeError:
            continue
        if isinstance(record, dict):
            found.append(record)
    return found


def _format_of_record(record: dict[str, Any]) -> str:
    """Return the format of a record that is of no other, else ""."""
    return next((name for name, one in _formats().items() if one.is_record(record)), "")


def _by_place(path: Path, name: str = "") -> str | None:
    """Return the assistant whose folders lead to a file, of a format if one is named.

    If no folder tells, it is the assistant that the format is named after.
    """
    possible = [one for one, known in _READABLE.items() if name in {"", known}]
    if len(possible) == 1:
        return possible[0].session_name
    for tells in (_is_folder, _is_session_folder):
        # The deepest folder tells most.
        for folder in reversed(path.parent.parts):
            for one in possible:
                if tells(one, folder):
                    return one.session_name
    return name or None


def _is_folder(assistant: Assistant, folder: str) -> bool:
    return folder == assistant.folder.rpartition("/")[2]


def _is_session_folder(assistant: Assistant, folder: str) -> bool:
    return folder in assistant.session_folders
