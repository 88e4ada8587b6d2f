"""Update ragmem's block in a memory file without a change to any other byte."""

import difflib
import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ragmem.config.folders import replace_file
from ragmem.domain.injection.memory_block import InvalidMarksError, find_block, outside, with_block
from ragmem.errors import StorageError, UsageError, os_errors_as
from ragmem.services.context.refresh import Index, render

MEMORY_FILE = "MEMORY.md"
"""Claude Code's own file, of which it reads 200 lines and 25 kB at the start of a session."""

READ_LINES = 200
READ_BYTES = 25_000
MAX_BYTES = 8 * 1024 * 1024
TRIES = 3
"""Number of retries if another process has just written the file."""

_LINKED = re.compile(r"\]\(([^)\s#]{1,300}\.md)(?:#[^)\s]*)?\)")


@dataclass(frozen=True, slots=True)
class RefreshPlan:
    """A file before and after ("" if there is none), and the index of the block."""

    path: Path
    before: str
    after: str
    index: Index
    exists: bool

    @property
    def changed(self) -> bool:
        """Return whether the file has to be written."""
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


def plan(
    path: Path, find: Callable[[str, frozenset[str], int], Index], *, most: int, head: str = ""
) -> RefreshPlan:
    """Return a file with its updated block; writes nothing.

    `find` returns the index for the rest of the file, the files to exclude (this one and those that it
    links), and a number of lines. The block has at most `most` lines, and Claude Code's own file only as many
    as it reads. A new file begins with `head`. Raises UsageError for a file that is not text, and for broken
    marks.
    """
    exists = _is_there(path)
    before = _read(path) if exists else ""
    try:
        rest = outside(before)
        has_block = find_block(before) is not None
    except InvalidMarksError as error:
        raise UsageError(
            f'"{path}" line {error.line}: {error}',
            hint="restore both markers, or remove the remaining one, and run it again",
        ) from error
    known = frozenset(_sources(path, rest))
    room, size = most, MAX_BYTES
    if path.name == MEMORY_FILE:
        room = min(most, READ_LINES - len(rest.splitlines()))
        size = READ_BYTES - len(rest.encode("utf-8", "surrogateescape"))
    lines = max(0, room)
    while True:
        found = find(rest, known, lines) if lines > 0 else Index()
        told = render(found)
        over = len(told) + 2 - room
        if not told or (over <= 0 and _bytes(told) <= size):
            break
        lines = min(found.lines, lines) - max(1, over)
    if not told and not has_block:
        return RefreshPlan(path, before, before, found, exists)
    return RefreshPlan(path, before, with_block(before if exists else head, told), found, exists)


def write(planned: RefreshPlan, again: Callable[[], RefreshPlan]) -> RefreshPlan:
    """Write a planned file atomically, with its mode; a symbolic link stays one.

    If another process has just written the file, `again` makes a new plan. Raises StorageError if it cannot
    be written, or if others keep writing it.
    """
    for _ in range(TRIES):
        if not planned.changed:
            return planned
        place = planned.path.resolve()
        with os_errors_as(StorageError, f'write "{planned.path}"', hint="check free space and permissions"):
            place.parent.mkdir(parents=True, exist_ok=True)
            if _replace(place, planned):
                return planned
        planned = again()
    raise StorageError(
        f'"{planned.path}" is being written by another program', hint="run it again afterwards"
    )


def _replace(place: Path, planned: RefreshPlan) -> bool:
    return replace_file(
        place,
        planned.after.encode("utf-8", "surrogateescape"),
        mode=stat.S_IMODE(place.stat().st_mode) if planned.exists else 0o666 & ~_umask(),
        may_replace=lambda: (_read(place) if _is_there(place) else "") == planned.before,
    )


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _is_there(path: Path) -> bool:
    with os_errors_as(StorageError, f'read "{path}"', hint="give another path"):
        return path.exists()


def _read(path: Path) -> str:
    """Return a file's text with its line ends; invalid UTF-8 bytes survive a round trip."""
    with os_errors_as(StorageError, f'read "{path}"', hint="check its permissions"):
        if not path.is_file():
            raise UsageError(f'"{path}" is not a regular file', hint="give the path of a Markdown file")
        if path.stat().st_size > MAX_BYTES:
            raise UsageError(
                f'"{path}" is larger than {MAX_BYTES // 1024 // 1024} MB', hint="give a memory file"
            )
        data = path.read_bytes()
    if b"\0" in data:
        raise UsageError(f'"{path}" is not a text file', hint="give the path of a Markdown file in UTF-8")
    return data.decode("utf-8", "surrogateescape")


def _sources(path: Path, rest: str) -> set[str]:
    """Return the paths of a file and of the local files that it links."""
    here = path.parent
    files = {path, *(here / name for name in _LINKED.findall(rest))}
    return {str(one) for one in files} | {str(one.resolve()) for one in files}


def _bytes(lines: list[str]) -> int:
    return sum(len(line.encode()) + 2 for line in lines) + 200
