"""Standard input of a hook: one JSON object, perhaps truncated or without an end, read within a time-out."""

import os
import select
import time

from ragmem import json_text

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_BYTES = 8 * 1024 * 1024
"""Bytes of the input that are kept. The rest is read and discarded, so that the writer does not fail."""

HEAD = 65_536
"""Characters in which the fields of a truncated input are searched: assistants write short ones first."""

_CLOSING = ("}", "]")

_PART = 262_144


class Payload:
    """The fields of the object, and what is wrong with the input ("" if nothing is)."""

    __slots__ = ("fields", "problem")

    def __init__(self, fields: "dict[str, Any]", problem: str = "") -> None:
        self.fields = fields
        self.problem = problem


def read_payload(descriptor: int, until: float, *, wanted: tuple[str, ...]) -> Payload:
    """Return the object that arrives by a moment of `time.monotonic`; it needs no end of file.

    Of a truncated or oversized object, the complete texts among the `wanted` fields of its head are returned.
    Never raises OSError.
    """
    try:
        if os.isatty(descriptor):
            return Payload({}, "standard input is a terminal")
        text, problem = _read(descriptor, until)
    except OSError as error:
        return Payload({}, f"standard input cannot be read: {error.strerror}")
    if not text.strip():
        return Payload({}, problem or "standard input is empty")
    try:
        # Truncated input is not parsed: some versions of Python import the json module for the error.
        fields = json_text.read(text) if text.rstrip().endswith(_CLOSING) else None
    except ValueError:
        fields = None
    if fields is None:
        return Payload(_read_torn_fields(text[:HEAD], wanted), problem or "standard input is not JSON")
    if not isinstance(fields, dict):
        return Payload({}, "standard input is not a JSON object")
    return Payload(fields)


def _read(descriptor: int, until: float) -> tuple[str, str]:
    """Return the text that arrives in time, and what is wrong with it; complete JSON ends the reading."""
    kept = bytearray()
    size = 0
    problem = ""
    while True:
        left = until - time.monotonic()
        ready = select.select([descriptor], [], [], 0)[0]
        if not ready and size <= MOST_BYTES and _is_whole(kept):
            break
        if not ready and (left <= 0 or not select.select([descriptor], [], [], left)[0]):
            problem = "standard input did not end in time"
            break
        if left <= 0:
            problem = "standard input is too long to be read in time"
            break
        part = os.read(descriptor, _PART)
        if not part:
            break
        size += len(part)
        kept += part[: max(0, MOST_BYTES - len(kept))]
    if size > MOST_BYTES:
        problem = f"standard input has more than {MOST_BYTES:,} bytes"
    return kept.decode("utf-8", "replace").removeprefix("\ufeff"), problem


def _is_whole(kept: bytearray) -> bool:
    if not kept.rstrip().endswith(b"}"):
        return False
    try:
        json_text.read(kept.decode("utf-8", "replace"))
    except ValueError:
        return False
    return True


def _read_torn_fields(head: str, wanted: tuple[str, ...]) -> "dict[str, Any]":
    """Return the first complete text of each wanted field in an object's head."""
    found: dict[str, str] = {}
    for name in wanted:
        _, here, rest = head.partition(f'"{name}"')
        rest = rest.lstrip().removeprefix(":").lstrip()
        if not here or not rest.startswith('"'):
            continue
        end = 1
        while end < len(rest) and rest[end] != '"':
            end += 2 if rest[end] == "\\" else 1
        try:
            value = json_text.read(rest[: end + 1])
        except ValueError:  # truncated within it
            continue
        if isinstance(value, str):
            found[name] = value
    return found
