"""Load settings from the shipped defaults, the user's files, the project's file and the environment."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from ragmem.config.decay import read_decay
from ragmem.config.documents import Document, read_document
from ragmem.config.places import SOURCES_FILE, find_default, find_places
from ragmem.config.project import read_project
from ragmem.config.sections import read_sections
from ragmem.config.settings import ChunkingSettings, Origin, Settings
from ragmem.config.sources import read_sources
from ragmem.config.variables import Variables
from ragmem.errors import ConfigError

CONFIG_FILE = "config.toml"
DECAY_FILE = "decay.json"


def load(
    *,
    environ: Mapping[str, str],
    home: Path,
    cwd: Path | None = None,
    sources_file: Path | None = None,
    decay_file: Path | None = None,
) -> Settings:
    """Return the settings; the first place that sets a key wins.

    Order: `RAGMEM_<SECTION>_<KEY>`, the user's config.toml, sources.toml and decay.json, the shipped files.
    `sources_file` is used alone, without the user's and the shipped one; `decay_file` replaces the user's.
    `home` is the person's home folder, for `~`. `.ragmem.toml`, which may set exclude, tags and chunking
    only, is searched from `cwd` upwards (None: no project).

    Creates nothing. Raises ConfigError that names file, line and key.
    """
    places = find_places(environ, home=home, cwd=cwd)
    variables = Variables(environ)
    project, set_by_project, warnings = read_project(cwd) if cwd else (None, [], [])
    own = read_document(places.config / CONFIG_FILE)
    sections, origins, more_warnings = _settle_sections(own, variables, set_by_project)
    if sources_file:
        source_documents = [_read_named(sources_file, cwd)]
    else:
        source_documents = _layers(SOURCES_FILE, places.config / SOURCES_FILE)
    sources, exclude, more = read_sources(source_documents, variables, home=home, environ=environ)
    origins += more
    decay_documents = _layers(DECAY_FILE, places.config / DECAY_FILE)
    if decay_file:
        decay_documents = [decay_documents[0], _read_named(decay_file, cwd)]
    decay, more = read_decay(decay_documents, variables)
    origins += more
    return Settings(
        places=places,
        **sections,
        sources=sources,
        exclude=exclude,
        decay=decay,
        project=project,
        warnings=(*warnings, *more_warnings, *variables.warnings()),
        provenance=(*origins, *(item for item in set_by_project if "chunking" not in item.key)),
    )


def _settle_sections(
    own: Document | None, variables: Variables, set_by_project: Sequence[Origin]
) -> tuple[dict[str, Any], list[Origin], list[str]]:
    above = [
        replace(item, key=item.key.removeprefix("project."))
        for item in set_by_project
        if item.key.startswith("project.chunking.")
    ]
    sections, origins = read_sections(own, variables, project=above)
    warnings = []
    if above and (problem := _check_chunking(sections["chunking"])):
        # Whoever wrote the repository must not be able to stop a command.
        warnings = [f"{above[0].origin}: {problem}; the project's sizes are ignored"]
        sections, origins = read_sections(own, variables)
    if problem := _check_chunking(sections["chunking"]):
        sizes = [item.origin for item in origins if item.key.startswith("chunking.")]
        origin = next(origin for origin in sizes if origin != "default")
        raise ConfigError(f"{origin}: {problem}", hint="raise max_chars or lower min_chars")
    return sections, origins, warnings


def _check_chunking(chunking: ChunkingSettings) -> str:
    """Return what is wrong between the two sizes, or an empty text."""
    if chunking.min_chars <= chunking.max_chars:
        return ""
    return f"chunking.min_chars ({chunking.min_chars}) is above chunking.max_chars ({chunking.max_chars})"


def _layers(name: str, own: Path) -> list[Document]:
    documents = [_read_shipped(name), read_document(own)]
    return [document for document in documents if document]


@cache
def _read_shipped(name: str) -> Document | None:
    # The file is part of the package: a process that opens many homes reads it once.
    return read_document(find_default(name), shipped=True)


def _read_named(path: Path, cwd: Path | None) -> Document:
    document = read_document(cwd / path if cwd else path)
    if document is None:
        raise ConfigError(f'there is no file "{path}"', hint="check the path")
    return document
