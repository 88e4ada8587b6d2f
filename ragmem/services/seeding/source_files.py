"""The files of a source as seed last saw them on this machine: what they gave, and which gave nothing."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from ragmem.storage.home.catalog import Catalog
from ragmem.storage.memories.files import GONE


@dataclass(frozen=True, slots=True)
class SourceFiles:
    """Paths in order, those of them that gave no memory, and what all gave: tier -> memories."""

    paths: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    tally: Mapping[str, int] = field(default_factory=dict)


def files_of(catalog: Catalog, source: str) -> SourceFiles:
    """Return the files of a source; none where nothing was ever seeded. Files that have gone are left out."""
    if not catalog.exists():
        return SourceFiles()
    there = {path: file for path, file in catalog.files.seen(source).items() if file.size != GONE}
    tally: Counter[str] = Counter()
    for file in there.values():
        tally.update({name: count for name, count in file.tally.items() if count})
    paths = tuple(sorted(there))
    without = tuple(path for path in paths if not any(there[path].tally.values()))
    return SourceFiles(paths, without, dict(sorted(tally.items())))
