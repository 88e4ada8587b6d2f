"""Read the items of a JSON array one by one: no more than one item is in memory."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from ragmem.errors import SourceError, os_errors_as
from ragmem.readers.files import show
from ragmem.readers.foreign.entries import LeftOut, json_of

BLOCK = 1 << 18

MAX_ITEM = 64 << 20
"""Bytes of one item; a longer one is passed over."""

MAX_KEY = 200

_OUTSIDE = re.compile(rb'["{}\[\]]')
_INSIDE = re.compile(rb'["\\]')
_KEY = re.compile(rb'"([^"\\]{0,200})"\s{0,100}:\s{0,100}\Z')


class BrokenJSONError(SourceError):
    """A document breaks off or is not JSON."""


def items_of(file: BinaryIO, name: str, *, keys: Collection[str] = ()) -> Iterator[bytes | None]:
    """Yield the objects of the array that a document is, or has under one of these keys.

    One that is longer than MAX_ITEM comes as None. Raises BrokenJSONError for a document that breaks off, or
    is neither an array nor an object; `name` is what errors call it.
    """
    splitter = _Splitter(name, {key.encode() for key in keys})
    head = file.read(BLOCK).removeprefix(b"\xef\xbb\xbf")
    while head and not (block := head.lstrip()):
        head = file.read(BLOCK)
    if not head:
        raise BrokenJSONError(f'cannot import "{name}": it is empty', hint="give the tool's export")
    if block[:1] != b"[" and not (keys and block[:1] == b"{"):
        raise BrokenJSONError(f'cannot import "{name}": it is not JSON', hint="give the tool's export")
    while block:
        yield from splitter.split(block)
        block = file.read(BLOCK)
    if splitter.depth:
        raise BrokenJSONError(f'cannot import "{name}": it is truncated', hint="export it again")


class _Splitter:
    """Cuts a document into the items of its array, block by block."""

    def __init__(self, name: str, keys: Collection[bytes]) -> None:
        self.depth = 0
        self._name = name
        self._keys = keys
        self._has_ended = False
        self._level = -1
        """The depth inside the array, -1 outside."""
        self._held: list[bytes] = []
        self._size = 0
        self._before = b""
        self._in_text = False
        self._skip = 0

    def split(self, block: bytes) -> Iterator[bytes | None]:
        """Yield the items that end in a block."""
        begin = 0
        for mark, at in self._brackets(block):
            if self._has_ended:
                # JSON Lines, such as ragmem's own export, are no array; the rest need not be read.
                raise BrokenJSONError(f'cannot import "{self._name}": it is not JSON', hint="export it again")
            if mark in b"{[":
                if self._level < 0 and mark == b"[" and self._is_wanted(block[:at]):
                    self._level = self.depth + 1
                elif self.depth == self._level:
                    begin, self._held, self._size = at, [], 0
                self.depth += 1
                continue
            self.depth -= 1
            self._has_ended = self.depth == 0
            if self.depth == self._level:
                self._hold(block[begin : at + 1])
                yield b"".join(self._held) if self._size <= MAX_ITEM else None
                begin, self._held, self._size = at + 1, [], 0
            elif self.depth < self._level:
                self._level = -1
        if 0 <= self._level < self.depth:
            self._hold(block[begin:])
        self._before = (self._before + block[-2 * MAX_KEY :])[-2 * MAX_KEY :]

    def _hold(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > MAX_ITEM:
            self._held = []
        else:
            self._held.append(part)

    def _brackets(self, block: bytes) -> Iterator[tuple[bytes, int]]:
        """Yield the brackets outside of texts, with their positions."""
        at, self._skip = self._skip, 0
        while found := (_INSIDE if self._in_text else _OUTSIDE).search(block, at):
            at = found.end()
            if found[0] == b"\\":
                # The character after it is literal, also in the next block.
                at += 1
            elif found[0] == b'"':
                self._in_text = not self._in_text
            else:
                yield found[0], found.start()
        self._skip = max(0, at - len(block))

    def _is_wanted(self, before: bytes) -> bool:
        """Return whether the array that begins here is the document, or the value of a wanted key of it."""
        if self.depth != 1 or not self._keys:
            return self.depth == 0
        found = _KEY.search((self._before + before[-2 * MAX_KEY :])[-2 * MAX_KEY :])
        return found is not None and found[1] in self._keys


Test = Callable[[Mapping[str, Any]], bool]
"""Tells whether a record is one of a tool."""


def _any(_record: Mapping[str, Any]) -> bool:
    return True


def open_items(
    path: Path, is_wanted: Test, *, keys: Collection[str] = (), left_out: LeftOut
) -> Iterator[Mapping[str, Any]]:
    """Yield the records of a JSON file; raises SourceError, also for a file that cannot be read."""
    with (
        os_errors_as(SourceError, f'read "{show(path)}"', hint="check its permissions"),
        path.open("rb") as file,
    ):
        yield from records_of(file, show(path), is_wanted, keys=keys, left_out=left_out)


def records_of(
    file: BinaryIO, name: str, is_wanted: Test = _any, *, keys: Collection[str] = (), left_out: LeftOut
) -> Iterator[Mapping[str, Any]]:
    """Yield the wanted records of a JSON document, and count those that are too long, broken or others.

    Raises SourceError where the first record is another: the document is that of another program.
    """
    is_first = True
    for raw in items_of(file, name, keys=keys):
        if raw is None:
            left_out[f"record of more than {MAX_ITEM >> 20} MB"] += 1
            continue
        record = json_of(raw)
        if not isinstance(record, dict):
            left_out["broken record"] += 1
        elif is_wanted(record):
            is_first = False
            yield record
        elif is_first:
            raise SourceError(
                f'cannot import "{name}": its records are those of another program',
                hint="name the tool that wrote it: ragmem import --from NAME PATH",
            )
        else:
            left_out["record of another form"] += 1


def is_first_item(path: Path, is_wanted: Test, *, keys: Collection[str] = ()) -> bool:
    """Return whether the first record of a JSON file is a wanted one; False for any file that has none."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            first = next(records_of(file, "", keys=keys, left_out=LeftOut()), None)
    except (OSError, SourceError):
        return False
    return first is not None and is_wanted(first)
