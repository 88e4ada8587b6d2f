"""Bring the block of ragmem in a memory file up to date, and leave every other byte of it as it is."""

import difflib
import os
import re
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ragmem.domain.injection.memory_block import BrokenMarksError, outside, place_of, with_block
from ragmem.errors import StorageError, UsageError
from ragmem.services.context.refresh import Index, rendered
from ragmem.services.processes.atomic_write import sync

MEMORY_FILE = "MEMORY.md"
"""Claude Code's own, of which it reads 200 lines and 25 kB when a session begins."""

READ_LINES = 200
READ_BYTES = 25_000
MAX_BYTES = 8 * 1024 * 1024
TRIES = 3
"""How often a file is read again because somebody else has just written it."""

_LINKED = re.compile(r"\]\(([^)\s#]{1,300}\.md)(?:#[^)\s]*)?\)")


@dataclass(frozen=True, slots=True)
class Refreshed:
    """A file as it is ("" where there is none) and as it is to be, and what the block tells."""

    path: Path
    before: str
    after: str
    index: Index
    exists: bool

    @property
    def changed(self) -> bool:
        """Tell whether the file has to be written."""
        return self.before != self.after

    @property
    def diff(self) -> str:
        """The change as a unified diff."""
        old, new = (text.splitlines(keepends=True) for text in (self.before, self.after))
        name = str(self.path)
        return "".join(
            line if line.endswith("\n") else f"{line}\n"
            for line in difflib.unified_diff(old, new, name if self.exists else "/dev/null", name)
        )


def plan(path: Path, find: Callable[[str, frozenset[str], int], Index], *, most: int) -> Refreshed:
    """Return a file with its block as it should be; writes nothing.

    `find` gives the index for what the rest of the file says, for the files that it may not be from (this one
    and those that it links), and for so many lines. The block has `most` lines at most, and Claude Code's own
    file as many as it reads. Raises UsageError for what is no text file, and for broken marks.
    """
    exists = _is_there(path)
    before = _read(path) if exists else ""
    try:
        rest = outside(before)
        has_block = place_of(before) is not None
    except BrokenMarksError as error:
        raise UsageError(
            f'"{path}" line {error.line}: {error}',
            hint="put both marks back, or take out the one that is left, and run it again",
        ) from error
    known = frozenset(_sources(path, rest))
    room, size = most, MAX_BYTES
    if path.name == MEMORY_FILE:
        room = min(most, READ_LINES - len(rest.splitlines()))
        size = READ_BYTES - len(rest.encode("utf-8", "surrogateescape"))
    lines = max(0, room)
    while True:
        found = find(rest, known, lines) if lines > 0 else Index()
        told = rendered(found)
        over = len(told) + 2 - room
        if not told or (over <= 0 and _bytes(told) <= size):
            break
        lines = min(found.lines, lines) - max(1, over)
    if not told and not has_block:
        return Refreshed(path, before, before, found, exists)
    return Refreshed(path, before, with_block(before, told), found, exists)


def write(planned: Refreshed, again: Callable[[], Refreshed]) -> Refreshed:
    """Write a planned file whole or not at all, with the mode it has; a symbolic link stays one.

    Where somebody else has just written the file, it is planned `again`. Raises StorageError where it cannot
    be written or does not come to rest.
    """
    for _ in range(TRIES):
        if not planned.changed:
            return planned
        place = planned.path.resolve()
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            if _replaced(place, planned):
                return planned
        except OSError as error:
            raise StorageError(
                f'cannot write "{planned.path}": {(error.strerror or str(error)).lower()}',
                hint="check free space and permissions",
            ) from error
        planned = again()
    raise StorageError(
        f'"{planned.path}" is being written by another program', hint="run it again when that is done"
    )


def _replaced(place: Path, planned: Refreshed) -> bool:
    descriptor, name = tempfile.mkstemp(prefix=".ragmem-refresh-", dir=place.parent)
    draft = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(planned.after.encode("utf-8", "surrogateescape"))
            file.flush()
            os.fsync(file.fileno())
        draft.chmod(stat.S_IMODE(place.stat().st_mode) if planned.exists else 0o666 & ~_umask())
        if (_read(place) if _is_there(place) else "") != planned.before:
            return False
        draft.replace(place)
        sync(place.parent)
        return True
    finally:
        with suppress(FileNotFoundError):
            draft.unlink()


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError as error:
        raise StorageError(
            f'cannot read "{path}": {(error.strerror or str(error)).lower()}', hint="give another path"
        ) from error


def _read(path: Path) -> str:
    """Return a file's text with its line ends; bytes that are no UTF-8 come back as they were."""
    try:
        if not path.is_file():
            raise UsageError(f'"{path}" is not a regular file', hint="give the path of a Markdown file")
        if path.stat().st_size > MAX_BYTES:
            raise UsageError(
                f'"{path}" is larger than {MAX_BYTES // 1024 // 1024} MB', hint="give a memory file"
            )
        data = path.read_bytes()
    except OSError as error:
        raise StorageError(
            f'cannot read "{path}": {(error.strerror or str(error)).lower()}', hint="check its permissions"
        ) from error
    if b"\0" in data:
        raise UsageError(f'"{path}" is not a text file', hint="give the path of a Markdown file in UTF-8")
    return data.decode("utf-8", "surrogateescape")


def _sources(path: Path, rest: str) -> set[str]:
    """Return the paths of a file and of the files beside it that it links: who reads it has those at hand."""
    here = path.parent
    files = {path, *(here / name for name in _LINKED.findall(rest))}
    return {str(one) for one in files} | {str(one.resolve()) for one in files}


def _bytes(lines: list[str]) -> int:
    return sum(len(line.encode()) + 2 for line in lines) + 200
