"""The files of a source as seed last saw them on this machine, and the memories they gave."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from ragmem.storage.home.catalog import Catalog
from ragmem.storage.memories.files import GONE


@dataclass(frozen=True, slots=True)
class SourceFiles:
    """Paths in order, those without a memory, and the number of memories by tier."""

    paths: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    tally: Mapping[str, int] = field(default_factory=dict)


def files_of(catalog: Catalog, source: str) -> SourceFiles:
    """Return the files of a source that still exist; none where nothing was ever seeded."""
    if not catalog.exists():
        return SourceFiles()
    there = {path: file for path, file in catalog.files.seen_files(source).items() if file.size != GONE}
    tally: Counter[str] = Counter()
    for file in there.values():
        tally.update({name: count for name, count in file.tally.items() if count})
    paths = tuple(sorted(there))
    without = tuple(path for path in paths if not any(there[path].tally.values()))
    return SourceFiles(paths, without, dict(sorted(tally.items())))
