"""All files of a source, each read as seed reads it."""

from collections.abc import Iterator
from pathlib import Path

from ragmem.config.settings import Settings, SourceSpec
from ragmem.readers.read_result import ReadResult
from ragmem.readers.scope import ProjectFinder
from ragmem.services.ingestion.source import Unchanged, find_files, read_file


def read_all(
    spec: SourceSpec,
    *,
    home: Path,
    settings: Settings,
    projects: ProjectFinder | None = None,
    unchanged: Unchanged | None = None,
) -> Iterator[ReadResult]:
    """Yield what came of each file, as the iterator advances."""
    finder = projects or ProjectFinder(home)
    for path in find_files(spec, home=home, settings=settings).files:
        yield read_file(path, spec, settings=settings, projects=finder, unchanged=unchanged)
