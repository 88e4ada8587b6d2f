"""Read an inbox: list the waiting files, parse each, and set aside what is not a write."""

import os
import stat

from ragmem.errors import SourceError
from ragmem.inbox import (
    ASIDE,
    ESCAPES,
    EVENTS,
    MAGIC,
    MOST_BYTES,
    MOST_HEADER_BYTES,
    UNFINISHED,
    checksum,
    list_oldest_first,
)

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_PLACES = (b"file", b"folder", b"root")
"""Fields whose values may be invalid UTF-8, because they are names of files."""


class Write:
    """A write as it was accepted; `fields` has no empty values."""

    __slots__ = ("fields", "metadata", "tags", "text")

    def __init__(
        self, text: str, fields: "Mapping[str, str]", tags: "tuple[str, ...]", metadata: "Mapping[str, str]"
    ) -> None:
        self.text = text
        self.fields = fields
        self.tags = tags
        self.metadata = metadata


def is_empty(inbox: str) -> bool:
    """Return whether nothing waits; an empty inbox costs a question only this.

    A folder that cannot be read is not empty, so that the drain reports it.
    """
    try:
        return not any(map(_is_write, os.listdir(inbox)))
    except FileNotFoundError:
        return True
    except OSError:
        return False


def list_writes(inbox: str) -> list[str]:
    """Return the names of the waiting files, oldest first."""
    return list_oldest_first(inbox, _is_write)


def _is_write(name: str) -> bool:
    return name not in (ASIDE, EVENTS) and not name.startswith(".")


def list_unfinished(inbox: str) -> list[str]:
    """Return the names of unfinished files: those being written, and those of killed processes."""
    try:
        return [name for name in os.listdir(inbox) if name.startswith(".") and name.endswith(UNFINISHED)]
    except FileNotFoundError:
        return []


def read(path: str) -> Write:
    """Return the write in a file; raises SourceError with the reason if it is none, or OSError."""
    most = MOST_BYTES + MOST_HEADER_BYTES + 1024
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise SourceError("it is not a regular file")
        with open(descriptor, "rb", closefd=False) as file:
            whole = file.read(most + 1) if status.st_size <= most else b""
    finally:
        os.close(descriptor)
    if status.st_size > most or len(whole) > most:
        raise SourceError("it is too large for a write")
    first, _, rest = whole.partition(b"\n")
    if not first.startswith(MAGIC.rstrip("1 ").encode()):
        raise SourceError("it is not a write of ragmem")
    if not first.startswith(MAGIC.encode()):
        raise SourceError("another release of ragmem wrote it")
    if first != f"{MAGIC}{checksum(rest)}".encode():
        raise SourceError("it is damaged: the checksum does not match")
    return _parse_write(rest)


def read_places(path: str) -> frozenset[bytes]:
    """Return the lines `file` and `uri` of a write, reading only its header; raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(descriptor, "rb") as file:
        head = file.read(MOST_HEADER_BYTES + 1024).partition(b"\n\n")[0]
    return frozenset(line for line in head.split(b"\n") if line.startswith((b"file ", b"uri ")))


def _parse_write(rest: bytes) -> Write:
    header, _, content = rest.partition(b"\n\n")
    fields: dict[str, str] = {}
    tags: list[str] = []
    metadata: dict[str, str] = {}
    try:
        text = content.decode("utf-8")
        for line in header.split(b"\n"):
            name, _, raw = line.partition(b" ")
            value = raw.decode("utf-8", "surrogateescape" if name in _PLACES else "strict")
            if name == b"tag":
                tags.append(_unescape(value))
            elif name == b"metadata":
                key, _, said = value.partition("\t")
                metadata[_unescape(key)] = _unescape(said)
            else:
                fields[name.decode("utf-8")] = _unescape(value)
    except UnicodeDecodeError as error:
        raise SourceError("it is not UTF-8") from error
    if not text.strip():
        raise SourceError("it has no text")
    return Write(text, fields, tuple(tags), metadata)


def _unescape(text: str) -> str:
    parts = text.split("\\\\")
    for character, written in ESCAPES:
        parts = [part.replace(written, character) for part in parts]
    return "\\".join(parts)
