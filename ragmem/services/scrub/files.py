"""Find secrets in the files of a home other than databases, and redact them in place."""

import fcntl
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from ragmem.config.folders import sync
from ragmem.config.places import Places
from ragmem.inbox import FOLDER as INBOX
from ragmem.inbox import SUFFIX as WAITING
from ragmem.services.scrub.forms import Needles
from ragmem.services.scrub.target import ScrubTarget
from ragmem.services.transfer.restore import DERIVED
from ragmem.storage.operational import OPERATIONAL_NAME
from ragmem.storage.sql.sqlite import DATABASE_NAME

MAX_TEXT = 64 * 1024 * 1024
"""Bytes of a file that is read as text; a larger one is only searched for known values."""

BYTES = "bytes"
"""The kind of a match in a file that is not text."""

TOKENS = frozenset({"serve.token"})
"""Files with a key that ragmem generated; nobody else can use it."""

SQLITE = b"SQLite format 3\0"
PACKED = b"\x1f\x8b"

PARTIAL_SUFFIX = ".scrubbed"
"""Suffix of a file that is being rewritten; a killed run may leave one, without the secret."""

_STAR = b"*"


def home_files(places: Places) -> Iterator[Path]:
    """Yield every file below a home's data, state and cache folders; links are not followed."""
    seen: set[Path] = set()
    for folder in (places.data, places.state, places.cache):
        for root, _, names in os.walk(folder):
            for name in sorted(names):
                path = Path(root, name)
                if path not in seen and path.is_file() and not path.is_symlink():
                    seen.add(path)
                    yield path


def is_database_file(path: Path, places: Places) -> bool:
    """Return whether a file is a database of ragmem or derived from one: its tables are searched instead."""
    inside = path.relative_to(places.data).parts if path.is_relative_to(places.data) else ()
    return bool(inside) and (inside[0].startswith((DATABASE_NAME, OPERATIONAL_NAME)) or inside[0] in DERIVED)


def read_text(path: Path) -> str | None:
    """Return the text of a file; None for one that is not UTF-8, or too large. Raises OSError."""
    return None if path.stat().st_size > MAX_TEXT else _decode(path.read_bytes())


def _count_kinds(text: str, target: ScrubTarget) -> Counter[str]:
    """Count the matches in a file's text by kind: line by line where each line is a JSON document."""
    if _is_lines(text):
        return sum((target.count_kinds(line) for line in text.splitlines()), Counter())
    return target.count_kinds(text)


def _cover_text(text: str, target: ScrubTarget) -> str:
    if _is_lines(text):
        return "".join(
            target.cover_value(line.rstrip("\r\n")) + line[len(line.rstrip("\r\n")) :]
            for line in text.splitlines(keepends=True)
        )
    return target.cover_value(text)


def _is_lines(text: str) -> bool:
    lines = [line for line in text.splitlines() if line.strip()]
    return bool(lines) and all(line.startswith("{") for line in lines)


def scan_file(path: Path, target: ScrubTarget, needles: Needles) -> Counter[str]:
    """Return the matches in a file by kind; "bytes" in one that is not text. Raises OSError."""
    text = read_text(path)
    if text is not None and (found := _count_kinds(text, target)):
        return found
    raw, _ = needles.find_in_file(path)
    return Counter({BYTES: len(raw)}) if raw else Counter()


def cover_file(path: Path, places: Places, target: ScrubTarget, needles: Needles) -> bool:
    """Redact a file and return whether that was possible; a database or archive is left as it is.

    A file of the cache is removed, since it can be made again. Raises OSError.
    """
    if path.is_relative_to(places.cache):
        path.unlink(missing_ok=True)
        return True
    if path.parent == places.data / INBOX and path.suffix == WAITING:
        # Its name is a checksum of its content: the next drain stores it, and then it can be redacted.
        return False
    with path.open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        raw = file.read()
        if raw.startswith((SQLITE, PACKED)):
            return False
        text = _decode(raw)
        changed = raw if text is None else _cover_text(text, target).encode()
        for needle in sorted(needles.find_in(changed), key=len, reverse=True):
            changed = changed.replace(needle, _STAR * len(needle))
        if changed != raw and path.is_relative_to(places.state):
            # In place, so that a process that appends to a log continues in the same file.
            file.seek(0)
            file.write(changed)
            file.truncate()
            file.flush()
            os.fsync(file.fileno())
        elif changed != raw:
            _replace(path, changed)
    return True


def _replace(path: Path, content: bytes) -> None:
    """Rewrite a file atomically; one that was removed meanwhile does not come back."""
    fresh = path.with_name(f"{path.name}{PARTIAL_SUFFIX}")
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
        return None if b"\0" in raw else raw.decode()
    except UnicodeDecodeError:
        return None
