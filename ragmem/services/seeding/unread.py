"""What a seed saw on this machine and did not read, with the command that reads it."""

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ragmem.config.settings import REPOSITORY, Settings, SourceSpec
from ragmem.domain.sessions.transcript import SOURCE
from ragmem.readers.discover import Discovery
from ragmem.readers.files import show, size_of
from ragmem.readers.roots import marked_root
from ragmem.services.ingestion.source import RepositoryFinder, find_files
from ragmem.storage.home.catalog import Catalog

MOST_ENTRIES = 50_000
"""Entries of folders that are counted of one kind; a home has millions."""

_SHOWN = 3
"""Places that a command names."""

_OFFERED = ("transcripts", "documents")
"""Readers of sources that are turned off as shipped, because they may hold gigabytes."""

_PAGES = tuple(
    f"{REPOSITORY}/{place}"
    for place in (
        "README.md",
        "docs/**/*.md",
        "doc/**/*.md",
        "notes/**/*.md",
        "session*/**/*.md",
        "*-logs/**/*.md",
        "journal*/**/*.md",
        "research/**/*.md",
    )
)

OFF = "its source is off by default, because it may have gigabytes"
UNNAMED = "no source covers them, and they may be anything"
UNREQUESTED = "they may describe the code rather than your work; name them to read them"
OUTSIDE = "it is outside your home directory, or deep or hidden in it, and no session mentions it"
NEW = "they have changed since the last seed, or are new"
FAILED = "the last seed could not read them; the command shows why"


@dataclass(frozen=True, slots=True)
class Unread:
    """Files that no seed and no person has had read, and why; `more` if the count is incomplete.

    `places` are the folders or files that hold most of them.
    """

    what: str
    files: int
    bytes: int
    more: bool
    command: str
    reason: str
    places: tuple[str, ...] = ()


def find_unread(
    catalog: Catalog,
    settings: Settings,
    *,
    home: Path,
    cwd: Path,
    repositories: RepositoryFinder,
    seeded: Iterable[Discovery],
) -> list[Unread]:
    """Return transcripts and documents that are turned off, notes, and repositories' pages, where any are.

    The notes of the repository around `cwd` are among them if no source looks there. What was `seeded` is
    not, nor is what is stored. Notes and pages are looked for where a source names repositories. Opens no
    file.
    """
    known = _known(catalog).union(show(path) for discovery in seeded for path in discovery.files)
    found: list[Unread] = []

    def look(spec: SourceSpec, what: str, reason: str, command: str = "") -> None:
        discovery = find_files(
            spec, home=home, settings=settings, repositories=repositories, most=MOST_ENTRIES
        )
        sizes = {
            path: size for path in discovery.files if show(path) not in known and (size := size_of(path))
        }
        if sizes:
            places = tuple(quoted(place, home) for place in largest(sizes, repositories.search.repositories))
            told = command or f"ragmem ingest {' '.join(places)}"
            count = len(sizes), sum(sizes.values())
            found.append(Unread(what, *count, discovery.cut, told, reason, places))
            known.update(map(show, sizes))

    for spec in settings.sources.values():
        # Sources in repositories are on by default, so a person has turned this one off.
        of_person = any(glob.startswith(REPOSITORY) for glob in spec.globs)
        if not spec.enabled and spec.reader in _OFFERED and not of_person:
            look(spec, spec.name, OFF, f"ragmem seed --source {spec.name}")
    if not any(glob.startswith(REPOSITORY) for spec in settings.sources.values() for glob in spec.globs):
        return found
    for folder in repositories.search.notes:
        notes = SourceSpec(name="notes", globs=("**/*.md",), base=folder)
        place = quoted(folder, home)
        look(notes, f"notes in {place}", UNNAMED, f"ragmem ingest {place}")
    look(
        SourceSpec(name="pages", globs=_PAGES, base=home),
        "README, docs and notes of repositories",
        UNREQUESTED,
    )
    root = Path(marked_root(str(cwd), str(home)) or home)
    if root not in (home, *repositories.search.repositories):
        place = quoted(root, home)
        notes = SourceSpec(name="notes", globs=("**/*.md",), base=root)
        look(notes, f"notes in {place}, where you are", OUTSIDE, f"ragmem ingest {place}")
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


def largest(paths: Iterable[Path], repositories: Iterable[Path]) -> list[Path]:
    """Return the files, and the top folders of repositories, that hold most of the files, at most a few."""
    roots = set(repositories)
    counts: dict[Path, int] = {}
    for path in paths:
        root = next((one for one in path.parents if one in roots), path.parent)
        place = root / path.relative_to(root).parts[0]
        counts[place] = counts.get(place, 0) + 1
    return sorted(counts, key=lambda place: (-counts[place], place))[:_SHOWN]


def quoted(path: Path, home: Path) -> str:
    """Return a path for a shell, with `~` for the home where nothing needs quotes."""
    text = shlex.quote(show(path))
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) and text == show(path) else text
