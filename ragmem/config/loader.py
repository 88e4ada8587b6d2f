"""Load settings from the shipped defaults, the user's files, the project's file and the environment."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from ragmem.config.documents import Document, Key, read_document
from ragmem.config.places import SOURCES_FILE, find_default, find_places
from ragmem.config.project import read_project
from ragmem.config.sections import from_variable, read_sections
from ragmem.config.settings import ChunkingSettings, Origin, Settings
from ragmem.config.sources import read_sources
from ragmem.config.values import Rule, check, nearest
from ragmem.config.variables import Variables
from ragmem.domain.model import Kind
from ragmem.domain.model.decay import Decay
from ragmem.errors import ConfigError

_WEIGHT = Rule("a number of at least 0", low=0)
_HALF_LIFE = Rule("a number of days above 0", low=0)
_SHARE = Rule("a number between 0 and 1", low=0, high=1)
_KEYS: dict[Key, Rule] = {
    ("weights", "semantic"): _WEIGHT,
    ("weights", "recency"): _WEIGHT,
    **{("half_lives_days", kind.value): _HALF_LIFE for kind in Kind},
    ("min_score_threshold",): _SHARE,
    ("bound",): _SHARE,
    ("fresh_share",): _SHARE,
    ("fresh_days",): _HALF_LIFE,
}

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


def read_decay(documents: Sequence[Document], variables: Variables) -> tuple[Decay, list[Origin]]:
    """Return the policy and where each key was set; later documents override earlier ones key by key.

    Raises ConfigError for an unknown key or kind and for numbers that Decay refuses.
    """
    values: dict[Key, tuple[float, str]] = {}
    for document in documents:
        _lay_over(values, document)
    for key, rule in _KEYS.items():
        if override := variables.find("decay", *key):
            values[key] = from_variable(*override, 0.0, rule), override[0]
    named: dict[Key, float] = {key: value for key, (value, _) in values.items()}
    try:
        policy = Decay(
            semantic_weight=named["weights", "semantic"],
            recency_weight=named["weights", "recency"],
            half_lives_days={kind: named["half_lives_days", kind.value] for kind in Kind},
            min_score=named["min_score_threshold",],
            bound=named["bound",],
            fresh_share=named["fresh_share",],
            fresh_days=named["fresh_days",],
        )
    except KeyError as error:
        raise _refusal(documents, error.args[0], f"{'.'.join(error.args[0])} is missing") from error
    except ValueError as error:
        culprit = next((key for key in _KEYS if str(error).startswith(".".join(key))), ("weights",))
        origin = values.get(culprit, (0, ""))[1]
        if origin.startswith("RAGMEM_"):
            raise ConfigError(f"the variable {origin}: {error}", hint=_KEYS[culprit].about) from error
        raise _refusal(documents, culprit, str(error)) from error
    return policy, [Origin(f"decay.{'.'.join(key)}", *values[key]) for key in _KEYS]


def _lay_over(values: dict[Key, tuple[float, str]], document: Document) -> None:
    for key, value in _flat(document):
        if key not in _KEYS:
            siblings = [known[-1] for known in _KEYS if known[:-1] == key[:-1]]
            what = "kind" if key[0] == "half_lives_days" else "key"
            raise document.error(f'unknown {what} "{key[-1]}"', *key, hint=nearest(key[-1], siblings))
        try:
            values[key] = check(value, 0.0, _KEYS[key]), document.origin(*key)
        except ValueError as error:
            raise document.error(f"{'.'.join(key)} {error}", *key, hint=_KEYS[key].about) from error


def _flat(document: Document) -> list[tuple[Key, Any]]:
    tables = {key[0] for key in _KEYS if len(key) > 1}
    top_level = dict.fromkeys(key[0] for key in _KEYS)
    flat: list[tuple[Key, Any]] = []
    for name, value in document.values.items():
        document.require_known(top_level, name)
        if name not in tables:
            flat.append(((name,), value))
        elif isinstance(value, dict):
            flat += [((name, key), number) for key, number in value.items()]
        else:
            raise document.error(f'"{name}" must be an object', name, hint=f'"{name}": {{...}}')
    return flat


def _refusal(documents: Sequence[Document], key: Key, problem: str) -> ConfigError:
    document = next(
        (item for item in reversed(documents) if item.lines.keys() & {key, key[:1]}), documents[-1]
    )
    return document.error(problem, *key, hint=_KEYS[key].about if key in _KEYS else "")
