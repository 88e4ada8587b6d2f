"""Standard input of a hook: one JSON object, perhaps torn, perhaps without an end, within a time-out."""

import os
import select
import time

from ragmem import json_text

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_BYTES = 8 * 1024 * 1024
"""Bytes of the input that are kept. The rest is read and dropped, so that the writer does not fail."""

HEAD = 65_536
"""Characters in which the fields of a torn input are looked for: assistants write the short ones first."""

_CLOSING = ("}", "]")

_PART = 262_144


class Payload:
    """What was read: the object's fields, and what was wrong with it, if anything."""

    __slots__ = ("fields", "problem")

    def __init__(self, fields: "dict[str, Any]", problem: str = "") -> None:
        self.fields = fields
        self.problem = problem


def read_payload(descriptor: int, until: float, *, wanted: tuple[str, ...]) -> Payload:
    """Return the object that stands there by a moment of `time.monotonic`; its end need not be seen.

    Of one that is torn or too large, the wanted texts of its head are returned as far as they are whole.
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
        # What is torn is not parsed: some versions of Python import the json module to tell why not.
        fields = json_text.read(text) if text.rstrip().endswith(_CLOSING) else None
    except ValueError:
        fields = None
    if fields is None:
        return Payload(_torn(text[:HEAD], wanted), problem or "standard input is no JSON")
    if not isinstance(fields, dict):
        return Payload({}, "standard input is no JSON object")
    return Payload(fields)


def _read(descriptor: int, until: float) -> tuple[str, str]:
    """Return what can be read by a moment, and what is missing; whole JSON ends it without an end of file."""
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


def _torn(head: str, wanted: tuple[str, ...]) -> "dict[str, Any]":
    """Return the wanted texts of an object's head, each where it stands first."""
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
        except ValueError:  # torn within it
            continue
        if isinstance(value, str):
            found[name] = value
    return found
