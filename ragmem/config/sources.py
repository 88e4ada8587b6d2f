"""sources.toml: which files are read, how, and to which project they belong."""

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, get_args

from ragmem.assistants import load_assistants, session_files
from ragmem.assistants.assistant import Assistant
from ragmem.config.documents import Document
from ragmem.config.places import expand_home
from ragmem.config.sections import from_variable
from ragmem.config.settings import (
    AUTO_MEMORY,
    REPOSITORY,
    Origin,
    ReaderName,
    SignalRule,
    SourceScope,
    SourceSpec,
)
from ragmem.config.values import Rule, check, nearest
from ragmem.config.variables import Variables
from ragmem.domain.model import Kind
from ragmem.errors import ConfigError

AUTO = "auto"

KEYS: dict[str, tuple[Any, Rule]] = {
    "glob": ((), Rule('a pattern or a list of patterns, such as "~/notes/**/*.md"')),
    "reader": ("markdown", Rule("how a file becomes drafts", choices=get_args(ReaderName))),
    "kind": (AUTO, Rule("the subject of the texts", choices=(AUTO, *Kind))),
    "scope": ("user", Rule("the owner of the texts", choices=get_args(SourceScope))),
    "signal": ("judge", Rule("the classification rule", choices=get_args(SignalRule))),
    "exclude": ((), Rule("a list of patterns in .gitignore syntax")),
    "enabled": (True, Rule("false turns the source off")),
    "description": ("", Rule("a description of the source, in one line")),
}
RESERVED = frozenset({"consolidated", "graph", "import", "ingest", "records", "shared"})
"""Sources of memories that no seed has read: `gc --missing` would look for their files."""

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
_TOP_LEVEL = ("sources", "exclude")


@dataclass(slots=True)
class _Entry:
    """A source while the documents are merged: the value and origin of each key."""

    document: Document
    values: dict[str, Any] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    base: Path = Path()


def read_sources(
    documents: Sequence[Document],
    variables: Variables,
    *,
    home: Path,
    environ: Mapping[str, str] | None = None,
) -> tuple[dict[str, SourceSpec], tuple[str, ...], list[Origin]]:
    """Return the sources by name, the global exclusions, and where each key was set.

    A later document overrides the earlier ones key by key; the lists of top-level exclusions are joined. The
    shipped source of transcripts reads the sessions of all assistants, and the shipped globs follow the
    variables of `environ` that move an assistant's folder. `{auto_memory}` is the folder that Claude Code's
    settings name; without one, its globs are left out. Raises ConfigError for unknown keys, wrong values and
    a source without a glob.
    """
    entries: dict[str, _Entry] = {}
    exclude: tuple[str, ...] = ()
    origins: list[Origin] = []
    for document in documents:
        for key in document.values:
            document.require_known(_TOP_LEVEL, key)
        if "exclude" in document.values:
            more = _check_value(document, ("exclude",), document.values["exclude"], *KEYS["exclude"])
            exclude += more
            origins.append(Origin("exclude", more, document.origin("exclude")))
        _lay_over(entries, document)
    specs = {}
    assistants = load_assistants()
    moved = [one for one in assistants if (environ or {}).get(one.variable)]
    for name, entry in entries.items():
        if (
            entry.document.shipped
            and "glob" not in entry.values
            and entry.values.get("reader") == "transcripts"
        ):
            entry.values["glob"] = session_files()
            entry.origins["glob"], entry.base = "default", entry.document.path.parent
        if entry.document.shipped and entry.origins.get("glob") == "default":
            entry.values["glob"] = tuple(
                _expand_variables(glob, environ or {}, moved) for glob in entry.values["glob"]
            )
        spec = _spec(name, entry, variables, home, names=entries)
        specs[name] = replace(spec, globs=_expand_auto_memory(spec.globs, environ or {}, moved, home))
        origins += [Origin(f"sources.{name}.{key}", entry.values[key], entry.origins[key]) for key in KEYS]
    return specs, exclude, origins


def _lay_over(entries: dict[str, _Entry], document: Document) -> None:
    tables = document.values.get("sources", {})
    if not isinstance(tables, dict):
        raise document.error('"sources" must be a table', "sources", hint="write [sources.NAME]")
    for name, table in tables.items():
        if not _NAME.fullmatch(name):
            raise document.error(
                f'"{name}" cannot be a source\'s name', "sources", name, hint="use a-z, 0-9, - and _"
            )
        if name in RESERVED:
            problem = f'"{name}" cannot be a source\'s name, because ragmem itself stores memories under it'
            raise document.error(problem, "sources", name, hint="choose another name")
        if not isinstance(table, dict):
            known = nearest(name, KEYS) if name in KEYS else f"write [sources.{name}]"
            raise document.error(f'"sources.{name}" must be a table', "sources", name, hint=known)
        entry = entries.setdefault(name, _Entry(document))
        for key, value in table.items():
            where = ("sources", name, key)
            document.require_known(KEYS, *where, table=f"sources.{name}")
            entry.values[key] = _check_value(document, where, value, *KEYS[key])
            entry.origins[key] = document.origin(*where)
            if key == "glob":
                entry.base = document.path.parent
                _refuse_bad_glob(document, name, entry.values[key])


def _check_value(document: Document, where: tuple[str, ...], value: Any, default: Any, rule: Rule) -> Any:
    try:
        return check(value, default, rule)
    except ValueError as error:
        hint = nearest(value, rule.choices) if rule.choices and isinstance(value, str) else rule.about
        raise document.error(f"{'.'.join(where)} {error}", *where, hint=hint) from error


def _refuse_bad_glob(document: Document, name: str, globs: Sequence[str]) -> None:
    for glob in globs:
        problem = glob_problem(glob)
        if problem:
            raise document.error(
                f'the glob "{glob}" {problem}', "sources", name, "glob", hint=KEYS["glob"][1].about
            )


@lru_cache(1_024)
def glob_problem(glob: str) -> str:
    """Return what is wrong with a glob, "" if nothing is."""
    if "$" in glob:
        return "contains a variable, and variables are not expanded"
    if glob.startswith("~") and glob != "~" and not glob.startswith("~/"):
        return "names another user's home directory, and only your own is expanded"
    if "\0" in glob:
        return "contains a NUL character"
    if any("**" in part and part != "**" for part in glob.split("/")):
        return "has ** next to other characters, but ** must be alone between slashes"
    if glob.rsplit("/", maxsplit=1)[-1] in {"", "**", ".", ".."}:
        return "ends in a folder, but must end in a file name"
    return _placeholder_problem(glob)


def _placeholder_problem(glob: str) -> str:
    for placeholder in (REPOSITORY, AUTO_MEMORY):
        if placeholder in glob.removeprefix(f"{placeholder}/"):
            return f"has {placeholder} but not at its start"
    if glob.startswith(REPOSITORY) and ".." in glob.split("/"):
        return "leads outside of its repository"
    return ""


def _expand_variables(glob: str, environ: Mapping[str, str], assistants: Sequence[Assistant]) -> str:
    """Return a shipped glob in the folder that an assistant's variable names, if it is set."""
    for assistant in assistants:
        own = f"~/{assistant.folder}/"
        folder = environ.get(assistant.variable, "")
        if glob.startswith(own) and folder.startswith(("/", "~/")):
            return f"{folder.rstrip('/')}/{glob.removeprefix(own)}"
    return glob


def _expand_auto_memory(
    globs: tuple[str, ...], environ: Mapping[str, str], assistants: Sequence[Assistant], home: Path
) -> tuple[str, ...]:
    if not any(glob.startswith(AUTO_MEMORY) for glob in globs):
        return globs
    file = expand_home(_expand_variables("~/.claude/settings.json", environ, assistants), home)
    try:
        named = json.loads(file.read_bytes())["autoMemoryDirectory"]
    except (OSError, ValueError, KeyError, TypeError):
        named = ""  # Claude Code itself complains about its settings.
    known = isinstance(named, str) and named.startswith(("/", "~/")) and "\0" not in named
    folder = Path(os.path.normpath(expand_home(named, home))) if known else home
    # A home is no folder for memory, and what is not there gives nothing.
    own = "" if home.is_relative_to(folder) else re.sub(r"([*?[])", r"[\1]", str(folder))
    moved = (glob.replace(AUTO_MEMORY, own, 1) for glob in globs if own or not glob.startswith(AUTO_MEMORY))
    return tuple(moved)


def _spec(name: str, entry: _Entry, variables: Variables, home: Path, *, names: Iterable[str]) -> SourceSpec:
    for key, (default, rule) in KEYS.items():
        if override := variables.find("sources", name, key):
            entry.values[key] = from_variable(*override, default, rule)
            entry.origins[key] = override[0]
            if key == "glob":
                entry.base = home
                if problem := glob_problem(override[1]):
                    raise ConfigError(f'the variable {override[0]}: the glob "{override[1]}" {problem}')
        # Documents contain no chatter, unless a person says so.
        of_documents = key == "signal" and entry.values["reader"] == "documents"
        entry.values.setdefault(key, "off" if of_documents else default)
        entry.origins.setdefault(key, "default")
    values = entry.values
    if not values["glob"]:
        hint = nearest(name, (other for other in names if other != name), otherwise=KEYS["glob"][1].about)
        raise entry.document.error(f"[sources.{name}] has no glob", "sources", name, hint=hint)
    if values["reader"] == "checkpoints":
        for glob in values["glob"]:
            if not glob.endswith("/.git"):
                problem = f'the glob "{glob}" of a checkpoints source does not end in "/.git"'
                raise entry.document.error(problem, "sources", name, hint=f"write {REPOSITORY}/.git")
    return SourceSpec(
        name=name,
        globs=values["glob"],
        base=entry.base,
        reader=values["reader"],
        kind=None if values["kind"] == AUTO else Kind(values["kind"]),
        scope=values["scope"],
        signal=values["signal"],
        exclude=values["exclude"],
        enabled=values["enabled"],
        description=values["description"],
    )
