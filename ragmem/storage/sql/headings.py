"""Headings of chunks, stored as places in the text of their memory, where nearly all of them stand."""

from collections import defaultdict
from collections.abc import Iterable

from ragmem.storage.sql.database import Connection

MARK = "\x1f"
"""Begins a heading of places: two characters for each part of its path, its beginning and its length.
Twice, it begins a heading that is stored as it is, but begins with this character itself."""

_JOINT = " > "

_FIRST = 32
"""The character of zero: those before it are control characters."""

_SURROGATES, _BEHIND = 0xD800, 0xE000
"""Code points that no text may have."""

_MOST = 1_000_000
"""Places from here on have no character."""


def encode_all(text: str, headings: Iterable[str]) -> list[str]:
    """Return the headings of a text's chunks, in order, as they are stored.

    One with a part that the text does not have is stored as it is, and so is a short one.
    """
    places: dict[str, int] = {}
    known: dict[str, str] = {}
    stored = []
    last = 0
    for heading in headings:
        if heading not in known:
            parts = heading.split(_JOINT)
            for part in parts:
                if part not in places:
                    # Parts come in the order of the text, which is searched once then.
                    at = text.find(part, last)
                    places[part] = at if at >= 0 else text.find(part, 0, last + len(part))
                    last = max(last, at)
            known[heading] = _encode(
                heading, [number for part in parts for number in (places[part], len(part))]
            )
        stored.append(known[heading])
    return stored


def _encode(heading: str, numbers: list[int]) -> str:
    if all(0 <= number < _MOST for number in numbers):
        codes = (number + _FIRST for number in numbers)
        coded = MARK + "".join(
            chr(code + _BEHIND - _SURROGATES if code >= _SURROGATES else code) for code in codes
        )
        if heading.startswith(MARK) or len(coded.encode()) < len(heading.encode()):
            return coded
    return 2 * MARK + heading if heading.startswith(MARK) else heading


def decode(stored: str, text: str) -> str:
    """Return the heading of a chunk from what is stored, and the text of its memory."""
    if not stored.startswith(MARK):
        return stored
    if stored.startswith(MARK, 1):
        return stored[2:]
    parts = []
    codes = map(ord, stored[1:])
    for code, length in zip(codes, codes, strict=True):
        at = code - _FIRST if code < _SURROGATES else code - _FIRST - _BEHIND + _SURROGATES
        parts.append(text[at : at + length - _FIRST])
    return _JOINT.join(parts)


def place_headings(connection: Connection) -> None:
    """Write the headings of all chunks as places."""
    numbers = connection.execute("SELECT DISTINCT memory FROM chunks WHERE heading <> ''").fetchall()
    for (number,) in numbers:
        row = connection.execute(
            "SELECT CASE WHEN summary <> '' THEN summary ELSE text END FROM memories WHERE n = ?", (number,)
        ).fetchone()
        if row is None:
            continue  # a chunk without a memory: doctor tells of it
        found: defaultdict[str, list[int]] = defaultdict(list)
        for position, heading in connection.execute(
            "SELECT position, heading FROM chunks WHERE memory = ? ORDER BY position", (number,)
        ).fetchall():
            found[heading].append(position)
        connection.executemany(
            "UPDATE chunks SET heading = ? WHERE memory = ? AND position = ?",
            [
                (stored, number, position)
                for heading, stored in zip(found, encode_all(row[0], found), strict=True)
                for position in found[heading]
            ],
        )
