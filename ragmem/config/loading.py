"""Shipped defaults, the user's files, the project's file and the environment become one Settings."""

from collections.abc import Mapping
from pathlib import Path

from ragmem.config.decay import read_decay
from ragmem.config.documents import Document, read_document
from ragmem.config.places import find_places
from ragmem.config.project import read_project
from ragmem.config.sections import read_sections
from ragmem.config.settings import Settings
from ragmem.config.sources import read_sources
from ragmem.config.variables import Variables
from ragmem.errors import ConfigError

CONFIG_FILE = "config.toml"
SOURCES_FILE = "sources.toml"
DECAY_FILE = "decay.json"

_PACKAGE = Path(__file__).resolve().parents[1]
# The wheel carries the files inside the package; in a checkout they lie at the top of the repository.
_SHIPPED = (_PACKAGE / "defaults", _PACKAGE.parent)


def load(
    *,
    environ: Mapping[str, str],
    home: Path,
    cwd: Path | None = None,
    sources_file: Path | None = None,
    decay_file: Path | None = None,
) -> Settings:
    """Return the settings; the first that names a key wins.

    Order: `RAGMEM_<SECTION>_<KEY>`, the user's config.toml, sources.toml and decay.json, what ragmem ships.
    `sources_file` is used alone, without the user's and the shipped one; `decay_file` replaces the user's.
    `home` is the person's home folder: `~` means it. `cwd` (None: no project) is where `.ragmem.toml` is
    looked for, which may set excludes and tags only.

    Creates nothing. Raises ConfigError that names file, line and key.
    """
    places = find_places(environ, home=home, cwd=cwd)
    variables = Variables(environ)
    sections, origins = read_sections(read_document(places.config / CONFIG_FILE), variables)
    if sources_file:
        source_documents = [_named(sources_file, cwd)]
    else:
        source_documents = _layers(SOURCES_FILE, places.config / SOURCES_FILE)
    sources, exclude, more = read_sources(source_documents, variables, home=home)
    origins += more
    decay_documents = _layers(DECAY_FILE, places.config / DECAY_FILE)
    if decay_file:
        decay_documents = [decay_documents[0], _named(decay_file, cwd)]
    decay, more = read_decay(decay_documents, variables)
    origins += more
    project, more, warnings = read_project(cwd) if cwd else (None, [], [])
    return Settings(
        places=places,
        **sections,
        sources=sources,
        exclude=exclude,
        decay=decay,
        project=project,
        warnings=(*warnings, *variables.warnings()),
        provenance=(*origins, *more),
    )


def shipped(name: str) -> Path:
    """Return the path of a default that ragmem ships; raises ConfigError where the installation lacks it."""
    for folder in _SHIPPED:
        if (folder / name).is_file():
            return folder / name
    raise ConfigError(f"the shipped {name} is missing", hint="install ragmem again")


def _layers(name: str, own: Path) -> list[Document]:
    documents = [read_document(shipped(name), shipped=True), read_document(own)]
    return [document for document in documents if document]


def _named(path: Path, cwd: Path | None) -> Document:
    document = read_document(cwd / path if cwd else path)
    if document is None:
        raise ConfigError(f'there is no file "{path}"', hint="check the path")
    return document
