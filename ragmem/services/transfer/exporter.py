"""Export the memory as JSON Lines: completely, or as far as filters select it."""

import gzip
import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from ragmem import __version__
from ragmem.services.processes.atomic_write import new_file, place_for
from ragmem.services.processes.progress import Progress
from ragmem.services.transfer import export_lines as form
from ragmem.services.transfer.life_lines import life_line
from ragmem.services.transfer.line_fields import Line
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.maintenance.catalog_export import EVERYTHING, Contents, Selection
from ragmem.storage.maintenance.lifecycle_export import LifeContents

GZIP_LEVEL = 6


@dataclass(frozen=True, slots=True)
class ExportResult:
    """What was written: counts by type, lines, bytes before compression; sha256 as in the last line."""

    counts: Mapping[str, int]
    lines: int
    bytes: int
    sha256: str


def export(
    catalog: Catalog,
    write: Callable[[bytes], Any],
    *,
    selection: Selection = EVERYTHING,
    now: datetime,
    progress: Progress,
) -> ExportResult:
    """Pass the lines of a consistent export to `write` one by one; other processes may write meanwhile.

    The same content gives the same bytes, except for `exported_at` in the first line.
    """
    contents = Contents(catalog.database)
    digest = hashlib.sha256()
    lines = length = 0
    lives = LifeContents(catalog.database)
    with catalog.database.read():
        counts = contents.counts(selection) | {"lifecycle": lives.count(selection)}
        progress.begin("export", counts["memories"])
        for line in _lines(contents, lives, selection, counts, now):
            raw = form.dump(line)
            write(raw)
            lines += 1
            length += len(raw)
            if lines > 1:
                digest.update(raw)
            if line["type"] == "memory":
                progress.advance()
    end = form.dump(form.end_line(lines=lines, sha256=digest.hexdigest()))
    write(end)
    return ExportResult(counts, lines + 1, length + len(end), digest.hexdigest())


def export_file(
    catalog: Catalog,
    path: Path,
    *,
    selection: Selection = EVERYTHING,
    force: bool = False,
    now: datetime,
    progress: Progress,
) -> ExportResult:
    """Write an export to a file that only its owner can read, compressed where its name ends in `.gz`.

    The file appears when it is complete. Raises UsageError when it exists and not `force`.
    """
    place_for(path, force=force)
    with new_file(path, force=force) as file:
        if path.suffix != ".gz":
            return export(catalog, file.write, selection=selection, now=now, progress=progress)
        # Without name and time in its header, the same export is the same file.
        with gzip.GzipFile("", "wb", GZIP_LEVEL, fileobj=file, mtime=0) as packed:
            return export(catalog, packed.write, selection=selection, now=now, progress=progress)


def _lines(
    contents: Contents, lives: LifeContents, selection: Selection, counts: Mapping[str, int], now: datetime
) -> Iterator[Line]:
    yield form.header_line(version=__version__, now=now, counts=counts)
    yield from map(form.project_line, contents.projects(selection))
    yield from map(form.tie_line, contents.aliases(selection))
    for memory, chunks in contents.memories(selection):
        yield form.memory_line(memory, chunks)
    if selection.whole:
        # The archive and the seen files only belong to a complete export.
        yield from map(form.archive_line, contents.archive.each())
    yield from map(life_line, lives.each(selection))
    yield from map(form.tie_line, contents.moves(selection))
    if selection.whole:
        yield from map(form.tie_line, contents.forgotten())
        yield from map(form.file_line, contents.files())
