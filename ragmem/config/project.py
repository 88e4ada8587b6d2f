"""A project's `.ragmem.toml`: text from a repository, so only what cannot harm is taken from it."""

from pathlib import Path
from typing import Any

from ragmem.config.documents import read_document
from ragmem.config.settings import Origin, ProjectSettings
from ragmem.config.values import Rule, check
from ragmem.errors import ConfigError

PROJECT_FILE = ".ragmem.toml"

MAX_ITEMS = 100
"""Entries taken of each list: more come from no person."""

_LIST = Rule("a text or a list of texts")
_ALLOWED = ("exclude", "tags")


def find_project_file(cwd: Path) -> Path | None:
    """Return the nearest `.ragmem.toml` from cwd up to the root of the git repository.

    Outside a repository only cwd itself is looked at: parents may belong to somebody else.
    """
    folders = [cwd, *cwd.parents]
    try:
        top = next((folder for folder in folders if (folder / ".git").exists()), cwd)
        candidates = folders[: folders.index(top) + 1]
        return next((found for folder in candidates if (found := folder / PROJECT_FILE).is_file()), None)
    except OSError:
        return None


def read_project(cwd: Path) -> tuple[ProjectSettings | None, list[Origin], list[str]]:
    """Return the project's settings (None without a file), their origins, and what was not applied.

    Never raises: a repository that somebody else wrote must not stop a command.
    """
    path = find_project_file(cwd)
    if path is None:
        return None, [], []
    try:
        document = read_document(path)
    except ConfigError as error:
        return None, [], [f"{error}; nothing of it is applied"]
    if document is None:
        return None, [], []
    taken: dict[str, Any] = {}
    warnings = []
    for key, value in document.values.items():
        where = f"{path}:{document.line(key)}"
        if key not in _ALLOWED:
            allowed = " and ".join(_ALLOWED)
            warnings.append(f'{where}: "{key}" is not applied: a project may set {allowed} only')
            continue
        try:
            taken[key] = check(value, (), _LIST)[:MAX_ITEMS]
        except ValueError as error:
            warnings.append(f"{where}: {key} {error}; it is not applied")
    origins = [Origin(f"project.{key}", value, document.origin(key)) for key, value in taken.items()]
    return ProjectSettings(path.parent, **taken), origins, warnings
