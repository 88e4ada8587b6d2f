"""A project's `.ragmem.toml`: text from a repository, so only harmless keys are read."""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from ragmem.config.documents import Document, read_document
from ragmem.config.settings import ChunkingSettings, Origin, ProjectSettings
from ragmem.config.values import Rule, check
from ragmem.errors import ConfigError

PROJECT_FILE = ".ragmem.toml"

MAX_ITEMS = 100
"""Maximum number of entries of each list; no person writes more."""

MAX_BYTES = 32 * 1024
"""Maximum size; a larger TOML file could take the parser minutes."""

_LIST = Rule("a text or a list of texts")
_RULES: dict[tuple[str, ...], tuple[Any, Rule]] = {
    ("exclude",): ((), _LIST),
    ("tags",): ((), _LIST),
    **{("chunking", item.name): (item.default, item.metadata["rule"]) for item in fields(ChunkingSettings)},
}


def project_keys() -> Mapping[str, tuple[Any, Rule]]:
    """Return the keys that a project may set, with their defaults and rules."""
    return {".".join(key): rule for key, rule in _RULES.items()}


def find_project_file(cwd: Path) -> Path | None:
    """Return the nearest `.ragmem.toml` from cwd up to the root of the git repository.

    Outside a repository only cwd itself is searched: parents may belong to somebody else.
    """
    folders = [cwd, *cwd.parents]
    try:
        top = next((folder for folder in folders if (folder / ".git").exists()), cwd)
        candidates = folders[: folders.index(top) + 1]
        return next((found for folder in candidates if (found := folder / PROJECT_FILE).is_file()), None)
    except OSError:
        return None


def read_project(cwd: Path) -> tuple[ProjectSettings | None, list[Origin], list[str]]:
    """Return the project's settings (None without a file), their origins, and warnings about ignored keys.

    Never raises: a repository that somebody else wrote must not stop a command.
    """
    path = find_project_file(cwd)
    if path is None:
        return None, [], []
    try:
        document = read_document(path, max_bytes=MAX_BYTES)
    except ConfigError as error:
        return None, [], [f"{error}; the file is ignored"]
    if document is None:
        return None, [], []
    taken: dict[tuple[str, ...], Any] = {}
    warnings = []
    for key, value in _flat(document):
        where, name = f"{path}:{document.line(*key)}", ".".join(key)
        if key not in _RULES:
            keys = "only exclude, tags and [chunking]"
            warnings.append(f'{where}: "{name}" is ignored: a project may set {keys}')
            continue
        try:
            checked = check(value, *_RULES[key])
        except ValueError as error:
            warnings.append(f"{where}: {name} {error}; it is ignored")
        else:
            taken[key] = checked[:MAX_ITEMS] if isinstance(checked, tuple) else checked
    project = ProjectSettings(
        path.parent,
        exclude=taken.get(("exclude",), ()),
        tags=taken.get(("tags",), ()),
        chunking={key[1]: value for key, value in taken.items() if len(key) > 1},
    )
    origins = [
        Origin(".".join(("project", *key)), value, document.origin(*key)) for key, value in taken.items()
    ]
    return project, origins, warnings


def _flat(document: Document) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, value in document.values.items():
        if name == "chunking" and isinstance(value, dict):
            yield from (((name, key), number) for key, number in value.items())
        else:
            yield (name,), value
