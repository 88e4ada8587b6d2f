"""Count the files of given folders before anything is read."""

from collections.abc import Sequence
from pathlib import Path

from ragmem.config.settings import Settings, SourceSpec
from ragmem.frozen import dataclass
from ragmem.readers.discover import base_of, discover, is_any_named
from ragmem.readers.files import size_of
from ragmem.services.ingestion.drafts import find_in_folder, readable_files

MANY_FILES = 200
"""More files than expected in a folder of notes; embedding them takes half a minute."""

MANY_BYTES = 20_000_000
"""The same for their size."""

MOST_ENTRIES = 50_000
"""Maximum number of counted entries, which takes about a second; a home or a disk has millions."""


@dataclass(frozen=True, slots=True)
class FolderSurvey:
    """The files of a folder that would be read; `more` if the count is incomplete.

    `sources` are the sources of seed that read files of it, also hidden ones.
    """

    folder: Path
    files: int
    bytes: int
    more: bool
    sources: tuple[str, ...]

    @property
    def is_large(self) -> bool:
        """Return whether a person should confirm first."""
        return self.more or self.files > MANY_FILES or self.bytes > MANY_BYTES


def survey_folders(paths: Sequence[Path], *, settings: Settings, home: Path, cwd: Path) -> list[FolderSurvey]:
    """Return a survey of each folder among the paths; named files are not counted."""
    folders = [path for path in (Path(cwd, given.expanduser()) for given in paths) if path.is_dir()]
    return [_survey(folder, settings=settings, home=home) for folder in folders]


def _survey(folder: Path, *, settings: Settings, home: Path) -> FolderSurvey:
    discovery = find_in_folder(folder, settings=settings, home=home, most=MOST_ENTRIES)
    files = readable_files(discovery)
    place = folder.resolve()
    sources = tuple(
        name
        for name, spec in settings.sources.items()
        if is_any_named(files, spec, home=home) or _finds_files_in(place, spec, home)
    )
    return FolderSurvey(folder, len(files), sum(map(size_of, files)), discovery.cut, sources)


def _finds_files_in(folder: Path, spec: SourceSpec, home: Path) -> bool:
    """Return whether a source finds a file in a folder, even a hidden one, by a glob of its own place."""
    bases = (base.resolve() for glob in spec.globs if (base := base_of(glob, spec, home=home)))
    if not any(base.is_relative_to(folder) and base.is_dir() for base in bases):
        return False
    found = discover(spec, home=home, most=MOST_ENTRIES).files
    return any(file.resolve().is_relative_to(folder) for file in found)
