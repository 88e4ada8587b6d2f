"""What a seed saw on this machine and did not read, with the command that reads it."""

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ragmem.config.settings import REPOSITORY, Settings, SourceSpec
from ragmem.domain.sessions.transcript import SOURCE
from ragmem.readers.discover import Discovery
from ragmem.readers.files import show
from ragmem.services.ingestion.source import RepositoryFinder, find_files
from ragmem.storage.home.catalog import Catalog

MOST_ENTRIES = 50_000
"""Entries of folders that are counted of one kind; a home has millions."""

_SHOWN = 3
"""Places that a command names."""

_OFFERED = ("transcripts", "documents")
"""Readers of sources that are turned off as shipped, because they may hold gigabytes."""

_PAGES = (f"{REPOSITORY}/README.md", f"{REPOSITORY}/docs/**/*.md", f"{REPOSITORY}/doc/**/*.md")


@dataclass(frozen=True, slots=True)
class Unread:
    """Files that no seed and no person has had read; `more` if the count is incomplete."""

    what: str
    files: int
    bytes: int
    more: bool
    command: str


def find_unread(
    catalog: Catalog,
    settings: Settings,
    *,
    home: Path,
    repositories: RepositoryFinder,
    seeded: Iterable[Discovery],
) -> list[Unread]:
    """Return transcripts and documents that are turned off, notes, and repositories' pages, where any are.

    What was `seeded` is not among them, nor is what is stored. Notes and pages are looked for where a source
    names repositories. Opens no file.
    """
    known = _known(catalog).union(show(path) for discovery in seeded for path in discovery.files)
    found: list[Unread] = []

    def look(spec: SourceSpec, what: str, command: str = "") -> None:
        discovery = find_files(
            spec, home=home, settings=settings, repositories=repositories, most=MOST_ENTRIES
        )
        sizes = {path: size for path in discovery.files if show(path) not in known and (size := _size(path))}
        if sizes:
            if not command:
                places = " ".join(_quoted(place, home) for place in _largest(sizes, repositories))
                command = f"ragmem ingest {places}"
            found.append(Unread(what, len(sizes), sum(sizes.values()), discovery.cut, command))
            known.update(map(show, sizes))

    for spec in settings.sources.values():
        if not spec.enabled and spec.reader in _OFFERED:
            look(spec, spec.name, f"ragmem seed --source {spec.name}")
    if not any(glob.startswith(REPOSITORY) for spec in settings.sources.values() for glob in spec.globs):
        return found
    for folder in repositories.search.notes:
        notes = SourceSpec(name="notes", globs=("**/*.md",), base=folder)
        look(notes, f"notes in {_quoted(folder, home)}", f"ragmem ingest {_quoted(folder, home)}")
    look(SourceSpec(name="pages", globs=_PAGES, base=home), "README and docs of repositories")
    return found


def _known(catalog: Catalog) -> set[str]:
    """Return the paths of what is stored, and of the transcripts that were read."""
    if not catalog.exists():
        return set()
    sources = [str(row["source"]) for row in catalog.overview.source_rows() if row["source"] != SOURCE]
    places = catalog.overview.places(sources=sources) if sources else []
    uris = {uri for _, _, uri in places}
    read = {one.path for one in catalog.transcripts.all()}
    return read | uris | {uri.rpartition("#")[0] for uri in uris if "#" in uri}


def _largest(sizes: Iterable[Path], repositories: RepositoryFinder) -> list[Path]:
    """Return the README files and folders of repositories that hold most of the files, at most a few."""
    roots = set(repositories.search.repositories)
    counts: dict[Path, int] = {}
    for path in sizes:
        root = next((one for one in path.parents if one in roots), path.parent)
        place = root / path.relative_to(root).parts[0]
        counts[place] = counts.get(place, 0) + 1
    return sorted(counts, key=lambda place: (-counts[place], place))[:_SHOWN]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # it has gone since
        return 0


def _quoted(path: Path, home: Path) -> str:
    """Return a path for a shell, with `~` for the home where nothing needs quotes."""
    text = shlex.quote(show(path))
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) and text == show(path) else text
