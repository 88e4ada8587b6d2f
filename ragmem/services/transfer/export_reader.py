"""Read an export from a file or a stream: every line is checked before the first one is used."""

import gzip
import hashlib
import io
import stat
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, Self

from ragmem.domain.model import Chunk, Memory
from ragmem.errors import NotFoundError, SourceError, UsageError
from ragmem.services.transfer import export_lines as form
from ragmem.services.transfer import life_lines
from ragmem.services.transfer.line_fields import Line, LineError
from ragmem.storage.lifecycle.archive import ArchiveEntry
from ragmem.storage.maintenance.catalog_export import Move, Project, Tie
from ragmem.storage.maintenance.lifecycle_export import LifeContent
from ragmem.storage.memories.files import SeenFile

MAX_LINE = 256 * 1024 * 1024
"""Bytes of a line; a memory is one line, and a file that is not an export may have no line end."""

MAX_HEADER = 64 * 1024

_GZIP = b"\x1f\x8b"

Entry = Project | Tie | tuple[Memory, tuple[Chunk, ...]] | ArchiveEntry | LifeContent | SeenFile


class _CopyingReader(io.RawIOBase):
    """A stream that is copied while it is read."""

    def __init__(self, source: IO[bytes], copy: IO[bytes]) -> None:
        self._source = source
        self._copy = copy

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read some bytes and copy them."""
        data = self._source.read(len(buffer))
        self._copy.write(data)
        buffer[: len(data)] = data
        return len(data)


class ExportReader:
    """An export that can be read several times; plain or gzip, by its content and not its name.

    Errors call it `name`. Raises NotFoundError or UsageError for a file that cannot be opened.
    """

    def __init__(self, path: Path | None, *, stream: IO[bytes] | None = None) -> None:
        self.name = "standard input" if path is None else str(path)
        self._stack = ExitStack()
        self._first: io.BufferedReader | None = None
        if path is not None:
            try:
                opened = path.open("rb")
            except (FileNotFoundError, NotADirectoryError):
                raise NotFoundError(
                    f'there is no file "{path}"', hint="give a path, or - for standard input"
                ) from None
            except IsADirectoryError:
                raise UsageError(
                    f'"{path}" is a folder',
                    hint="give an export, or name the tool: ragmem import --from NAME PATH",
                ) from None
            except OSError as error:
                raise SourceError(f'cannot read "{path}": {(error.strerror or "").lower()}') from error
            stream = self._stack.enter_context(opened)
            if stat.S_ISREG(path.stat().st_mode):
                self._file: Any = stream
                return
        assert stream is not None
        # It has no name, so that it disappears with the process.
        copy = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the reader
        self._file = self._stack.enter_context(copy)
        self._first = io.BufferedReader(_CopyingReader(stream, self._file), 1024 * 1024)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def check(self) -> dict[str, int]:
        """Read all of it and count the lines of each type; raises SourceError at the first fault."""
        counts: dict[str, int] = {}
        for line, _ in self._entries(checking=True):
            counts[line["type"]] = counts.get(line["type"], 0) + 1
        return counts

    def entries(self) -> Iterator[Entry]:
        """Yield what the export holds, in its order; raises SourceError."""
        for _, entry in self._entries(checking=False):
            if entry is not None:
                yield entry

    def _entries(self, *, checking: bool) -> Iterator[tuple[Line, Entry | None]]:
        digest = hashlib.sha256()
        place = (0, "", "")
        ended = False
        number = 0
        for number, raw in self._lines():
            try:
                if ended:
                    raise LineError("it follows the end")
                line = form.parse(raw)
                if number == 1:
                    form.read_header(line)
                    yield line, None
                elif line["type"] == "end":
                    if form.read_end(line) != (number - 1, digest.hexdigest()) and checking:
                        raise LineError("the lines before it differ from what was written")
                    ended = True
                else:
                    place, entry = _entry(line, place)
                    yield line, entry
            except LineError as error:
                raise self._wrong(f"line {number}: {error}") from error
            if checking and number > 1:
                digest.update(raw)
        if not ended:
            raise self._wrong(f"it is truncated after line {number}" if number else "it is empty")

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        source, self._first = self._first, None
        if source is None:
            source = self._file
            source.seek(0)
        packed = source.peek(2)[:2] == _GZIP
        lines: Any = gzip.GzipFile(fileobj=source) if packed else source
        number = 0
        while True:
            limit = MAX_LINE if number else MAX_HEADER
            try:
                raw = lines.readline(limit + 1)
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise self._wrong(f"it is truncated or damaged after line {number}") from error
            if not raw:
                return
            number += 1
            if len(raw) > limit:
                raise self._wrong(f"line {number}: longer than {limit:,} bytes")
            yield number, raw

    def _wrong(self, what: str) -> SourceError:
        newer = "a newer ragmem" in what
        return SourceError(
            f'cannot import "{self.name}": {what}',
            hint="update ragmem: pip install --upgrade ragmem"
            if newer
            else "nothing was imported; it takes an export of ragmem, or --from NAME for another tool",
        )


def _entry(line: Line, before: tuple[int, str, str]) -> tuple[tuple[int, str, str], Entry]:
    """Return the entry of a line and its place in the order; raises LineError where it is out of order."""
    kind = line["type"]
    entry: Entry
    if kind == "project":
        entry = form.read_project(line)
        key = (entry.id, "")
    elif kind in {"alias", "move", "forgotten"}:
        entry = form.read_tie(line)
        key = (entry.place if isinstance(entry, Move) else entry.id, "")
    elif kind == "memory":
        entry = form.read_memory(line)
        key = (entry[0].id, "")
    elif kind in {"archive", form.TRASH}:
        entry = form.read_archive(line)
        key = (entry.run, entry.memory.id)
    elif kind == "file":
        entry = form.read_file(line)
        key = (entry.source, entry.path)
    elif kind in life_lines.READERS:
        entry = life_lines.READERS[kind](line)
        key = life_lines.key_of(entry)
    else:
        raise LineError("a second header")
    place = (form.ORDER.index("archive" if kind == form.TRASH else kind), *key)
    # A strict order, which is cheap to check, excludes duplicates.
    if place <= before:
        raise LineError("out of order, or a duplicate")
    return place, entry
