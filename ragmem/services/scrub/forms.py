"""The encodings that a text may have in a file, and a quick search for many byte strings."""

import base64
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote, quote_plus

import numpy as np
from numpy.typing import NDArray

MIN_BASE64 = 8
"""Characters of an encoded text that do not depend on its neighbours; fewer are found by chance."""

MIN_RAW = 6
"""Bytes that are searched for in binary files; fewer are found by chance in vectors and hashes."""

FEW = 24
"""Forms that are searched one after the other; with more, a table of all prefixes is used."""

_SMALL = 256
"""Bytes of a text for which a table of all prefixes costs more than it saves."""

_NESTED = 3
"""Depth of nested JSON documents: a record's fields, in a memory's metadata, in the archive."""

_PREFIX = 4
_TABLE_BITS = 20
_SPREAD = 2654435761
_PIECE = 4 * 1024 * 1024


def text_forms(value: str) -> set[str]:
    """Return the forms of a text within another text: itself, in JSON, in an address, in base64."""
    forms = {value}
    for ascii_only in (True, False):
        within = value
        for _ in range(_NESTED):
            within = json.dumps(within, ensure_ascii=ascii_only)[1:-1]
            forms.add(within)
    addresses = {quote(value), quote(value, safe=""), quote_plus(value)}
    forms |= addresses
    if value.isascii() and "%" not in value:
        forms |= {address.replace("%2F", "%2f").replace("%3D", "%3d") for address in addresses}
    return forms | base64_forms(value)


def base64_forms(value: str) -> set[str]:
    """Return the base64 of a text within a longer one, at each of the three alignments."""
    raw = value.encode()
    forms: set[str] = set()
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + raw).decode()
        inner = encoded[-(-shift * 8 // 6) : (shift + len(raw)) * 8 // 6]
        if len(inner) >= MIN_BASE64:
            forms |= {inner, inner.replace("+", "-").replace("/", "_")}
    return forms


def byte_forms(value: str) -> set[bytes]:
    """Return the forms of a text in a file: those of `text_forms`, and UTF-16."""
    forms = {form.encode("utf-8", "surrogatepass") for form in text_forms(value)}
    return forms | {value.encode(coding, "surrogatepass") for coding in ("utf-16-le", "utf-16-be")}


class Needles:
    """Byte strings that are searched for together."""

    def __init__(self, needles: Iterable[bytes]) -> None:
        self.all = sorted({needle for needle in needles if needle})
        self._longest = max(map(len, self.all), default=0)
        self._heads: dict[bytes, list[bytes]] = {}
        self._table: NDArray[np.bool_] | None = None

    def __bool__(self) -> bool:
        return bool(self.all)

    def find_in(self, data: bytes) -> set[bytes]:
        """Return the needles that the data contains."""
        if len(self.all) <= FEW or len(data) < _SMALL:
            return {needle for needle in self.all if needle in data}
        short = {needle for needle in self.all if len(needle) < _PREFIX and needle in data}
        return short | set(self._lookup(data))

    def _lookup(self, data: bytes) -> Iterator[bytes]:
        if self._table is None:
            self._heads = {}
            for needle in self.all:
                if len(needle) >= _PREFIX:
                    self._heads.setdefault(needle[:_PREFIX], []).append(needle)
            table = np.zeros(1 << _TABLE_BITS, dtype=np.bool_)
            table[_hashes(b"".join(self._heads))[::_PREFIX]] = True
            self._table = table
        for place in np.flatnonzero(self._table[_hashes(data)]).tolist():
            for needle in self._heads.get(data[place : place + _PREFIX], ()):
                if data.startswith(needle, place):
                    yield needle

    def find_in_file(self, path: Path) -> tuple[set[bytes], int]:
        """Return the needles that a file contains, and its size; reads a piece at a time. Raises OSError."""
        found: set[bytes] = set()
        size = 0
        rest = b""
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                size += len(piece)
                data = rest + piece
                found |= self.find_in(data)
                rest = data[-(self._longest - 1) :] if self._longest > 1 else b""
        return found, size


def _hashes(data: bytes) -> NDArray[np.uint32]:
    """Return a hash for each run of four bytes."""
    letters = np.frombuffer(data, np.uint8).astype(np.uint32)
    words = letters[:-3] | letters[1:-2] << 8 | letters[2:-1] << 16 | letters[3:] << 24
    return ((words * np.uint32(_SPREAD)) >> np.uint32(32 - _TABLE_BITS)).astype(np.uint32)
