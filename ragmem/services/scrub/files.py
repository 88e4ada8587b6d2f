"""Find what is to go in the files of a home that are no database, and cover it where it lies."""

import fcntl
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from ragmem.config.places import Places
from ragmem.inbox import FOLDER as INBOX
from ragmem.inbox import SUFFIX as WAITING
from ragmem.services.processes.atomic_write import sync
from ragmem.services.scrub.forms import Needles
from ragmem.services.scrub.wanted import ScrubTarget
from ragmem.services.transfer.restore import DERIVED
from ragmem.storage.operational import OPERATIONAL_NAME
from ragmem.storage.sql.sqlite import DATABASE_NAME

MOST_TEXT = 64 * 1024 * 1024
"""Bytes of a file that is read as a text; in a larger one only what is known is looked for."""

BYTES = "bytes"
"""The sort of what was found in a file that is no text."""

TOKENS = frozenset({"serve.token"})
"""Keys that ragmem made itself; each lies in a file of its own, and means something to nobody else."""

SQLITE = b"SQLite format 3\0"
PACKED = b"\x1f\x8b"

UNFINISHED = ".scrubbed"
"""Ends the name of a file that is being written anew; a killed run may leave one, without what was to go."""

_STAR = b"*"


def files_of(places: Places) -> Iterator[Path]:
    """Yield every file below a home's data, state and cache; nothing is followed that leads elsewhere."""
    seen: set[Path] = set()
    for folder in (places.data, places.state, places.cache):
        for root, _, names in os.walk(folder):
            for name in sorted(names):
                path = Path(root, name)
                if path not in seen and path.is_file() and not path.is_symlink():
                    seen.add(path)
                    yield path


def is_of_database(path: Path, places: Places) -> bool:
    """Tell whether a file is a database of ragmem, or made of it: then its tables are looked at instead."""
    inside = path.relative_to(places.data).parts if path.is_relative_to(places.data) else ()
    return bool(inside) and (inside[0].startswith((DATABASE_NAME, OPERATIONAL_NAME)) or inside[0] in DERIVED)


def text_of(path: Path) -> str | None:
    """Return the text of a file; None for one that is no UTF-8, or too large. Raises OSError."""
    if path.stat().st_size > MOST_TEXT:
        return None
    raw = path.read_bytes()
    if b"\0" in raw:
        return None
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


def kinds_in(text: str, wanted: ScrubTarget) -> Counter[str]:
    """Return what stands in a file's text, by its sort: line by line where each line is a JSON document."""
    if _is_lines(text):
        return sum((wanted.kinds(line) for line in text.splitlines()), Counter())
    return wanted.kinds(text)


def _cover_text(text: str, wanted: ScrubTarget) -> str:
    if _is_lines(text):
        return "".join(
            wanted.stored(line.rstrip("\r\n")) + line[len(line.rstrip("\r\n")) :]
            for line in text.splitlines(keepends=True)
        )
    return wanted.stored(text)


def _is_lines(text: str) -> bool:
    lines = [line for line in text.splitlines() if line.strip()]
    return bool(lines) and all(line.startswith("{") for line in lines)


def look_at(path: Path, wanted: ScrubTarget, needles: Needles) -> Counter[str]:
    """Return what a file has of it by sort; in one that is no text, "bytes". Raises OSError."""
    text = text_of(path)
    if text is not None:
        found = kinds_in(text, wanted)
        if found:
            return found
    raw, _ = needles.within_file(path)
    return Counter({BYTES: len(raw)}) if raw else Counter()


def cover(path: Path, places: Places, wanted: ScrubTarget, needles: Needles) -> bool:
    """Take it out of a file and return whether that could be done; a database or archive is left as it is.

    A file of the cache is removed, for it can be made again. Raises OSError.
    """
    if path.is_relative_to(places.cache):
        path.unlink(missing_ok=True)
        return True
    if path.parent == places.data / INBOX and path.suffix == WAITING:
        # Its name is a checksum of what it says: the next drain takes it in, and then it can be covered.
        return False
    with path.open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        raw = file.read()
        if raw.startswith((SQLITE, PACKED)):
            return False
        text = None if b"\0" in raw else _decode(raw)
        changed = raw if text is None else _cover_text(text, wanted).encode()
        for needle in sorted(needles.within(changed), key=len, reverse=True):
            changed = changed.replace(needle, _STAR * len(needle))
        if changed != raw and path.is_relative_to(places.state):
            # In place, so that a process which is adding to a log goes on in the same file.
            file.seek(0)
            file.write(changed)
            file.truncate()
            file.flush()
            os.fsync(file.fileno())
        elif changed != raw:
            _replace(path, changed)
    return True


def _replace(path: Path, content: bytes) -> None:
    """Write a file anew, whole or not at all; one that was taken away meanwhile does not come back."""
    fresh = path.with_name(f"{path.name}{UNFINISHED}")
    try:
        with fresh.open("wb") as file:
            fresh.chmod(0o600)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            fresh.replace(path)
            sync(path.parent)
    finally:
        fresh.unlink(missing_ok=True)


def _decode(raw: bytes) -> str | None:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None
