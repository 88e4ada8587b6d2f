"""Find the known project that a text names; a text that names none belongs to none."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from ragmem.config.settings import SourceSpec
from ragmem.domain.model import NO_PROJECTS, UNASSIGNED, USER, Draft, Scope, digest, memory_id
from ragmem.domain.records.named_projects import (
    SESSION_KEYS,
    find_addresses,
    find_in_fields,
    find_in_head,
    find_paths,
)
from ragmem.patterns import lazy
from ragmem.readers.git import normalize_remote
from ragmem.readers.roots import candidates
from ragmem.readers.scope import ProjectFinder
from ragmem.readers.slugs import resolve_slug, slug_of

MAJORITY = 2 / 3
"""Share of the paths and addresses in a text that decides for one project among several."""

FEWEST = 3
"""Minimum number of paths and addresses for that decision."""

_DATE_PREFIX = lazy(r"^[\d_:T.-]*\d[\d_:T.-]*[_-]")
"""The time before the name of a folder."""


class Directory(Protocol):
    """The known projects and everything that identifies them."""

    def names(self) -> Mapping[str, str]:
        """Return project id -> name."""

    def aliases(self) -> Mapping[str, str]:
        """Return former id -> current project."""

    def former_names(self) -> Mapping[str, str]:
        """Return former id -> former name."""

    def remotes(self) -> Mapping[str, Sequence[str]]:
        """Return project id -> its remotes so far."""

    def folders(self) -> Mapping[str, str]:
        """Return path -> project, on this machine."""

    def sessions(self) -> Mapping[str, str]:
        """Return session of an assistant -> project."""


class NamedProjects:
    """Finds the project that a text names among those of the catalog and of this run."""

    def __init__(self, finder: ProjectFinder, directory: Directory | None) -> None:
        self._finder = finder
        self._directory = directory
        self._sessions: Mapping[str, str] | None = None
        self._home = finder.home
        self._given: dict[str, set[str]] = {}
        self._derived: dict[str, set[str]] = {}
        self._remotes: dict[str, set[str]] = {}
        self._folders: dict[str, str] = {}
        if directory:
            for project, name in directory.names().items():
                self._add(self._given, project, project)
                self._add(self._given, name, project)
            former = directory.former_names()
            for alias, project in directory.aliases().items():
                self._add(self._given, alias, project)
                self._add(self._derived, former.get(alias, ""), project)
            for project, remotes in directory.remotes().items():
                for remote in remotes:
                    self._add_remote(remote, project)
            for folder, project in directory.folders().items():
                self._add_folder(folder, project)
        for met in finder.seen_projects():
            self._add(self._given, met.id, met.id)
            self._add(self._derived, met.name, met.id)
            self._add_remote(met.remote, met.id)
            if met.root:
                self._add_folder(str(met.root), met.id)

    @property
    def fingerprint(self) -> str:
        """Return a value that changes when a text may name another project than before."""
        names = [
            f"{table}:{name}={project}"
            for table, known in enumerate((self._given, self._derived, self._remotes))
            for name, projects in known.items()
            for project in projects
        ]
        folders = [f"{folder}={project}" for folder, project in self._folders.items()]
        return digest("named projects", *sorted({*names, *folders}), length=12)

    def assign_scope(self, draft: Draft, spec: SourceSpec) -> Draft:
        """Return a draft with the scope that its text names; its id does not depend on the scope."""
        place = Path(draft.uri.rpartition("#")[0] or draft.uri)
        project = self.project_of(draft.metadata, draft.text, place, spec)
        # The id is that of a file without a project: so the file keeps its memory whatever its text says, and
        # forgotten texts stay forgotten.
        own = draft.id or memory_id(draft.source, Scope(USER), draft.uri)
        return replace(draft, scope=Scope(project), id=own)

    def project_of(self, fields: Mapping[str, str], text: str, path: Path, spec: SourceSpec) -> str:
        """Return the project that a text names: by fields, its head, session, paths, or else its folder.

        A text that names an unknown project, or several, belongs to none. Never raises.
        """
        for said in (find_in_fields(fields), find_in_head(text)):
            found = {project for one in said if (project := self._resolve(one.value))}
            if found:
                return found.pop() if len(found) == 1 else UNASSIGNED
            # The home is not the folder of a project.
            if any(one.binds and self._absolute(one.value) != str(self._home) for one in said):
                return UNASSIGNED
        if project := self._find_by_session(fields):
            return project
        counts = Counter(self._mentioned_projects(text))
        if counts:
            project, most = counts.most_common(1)[0]
            clear = most == counts.total() or (most >= FEWEST and most >= MAJORITY * counts.total())
            return project if clear else UNASSIGNED
        return self._find_by_folder_name(path, spec) or UNASSIGNED

    def _resolve(self, value: str) -> str:
        """Return the project of a name, a folder or an address; empty for an unknown one."""
        if value.lower() in NO_PROJECTS:
            return value.lower()
        if place := self._absolute(value):
            return self._find_by_folder(place) or self._find_on_disk(place)
        return self._find_by_address(value) or self._find_by_name(value)

    def _find_by_name(self, value: str) -> str:
        for known in (self._given, self._derived):
            if len(found := known.get(_fold(value), ())) == 1:
                return next(iter(found))
        return ""

    def _find_by_address(self, value: str) -> str:
        parts = normalize_remote(value).split("/")
        for end in range(len(parts), 1, -1):
            if len(found := self._remotes.get("/".join(parts[:end]).lower(), ())) == 1:
                return next(iter(found))
        return ""

    def _absolute(self, value: str) -> str:
        if value == "~" or value.startswith("~/"):
            value = str(self._home) + value[1:]
        return value.rstrip("/") if value.startswith("/") and "\0" not in value else ""

    def _find_by_folder(self, place: str) -> str:
        above = candidates(place, str(self._home))
        return next((self._folders[one] for one in above if one in self._folders), "")

    def _find_on_disk(self, place: str) -> str:
        """Return the project of an existing folder, perhaps below the home of another machine."""
        folder = Path(place) if _is_folder(Path(place)) else resolve_slug(slug_of(place), self._home)
        found = self._finder.find_known_project(folder) if folder else None
        return found.id if found else ""

    def _find_by_session(self, fields: Mapping[str, str]) -> str:
        """Return the project of the session that wrote a text, if its transcript was read."""
        session = next((fields[key] for key in SESSION_KEYS if fields.get(key)), "")
        if not session or self._directory is None:
            return ""
        if self._sessions is None:
            self._sessions = self._directory.sessions()
        return self._sessions.get(session, "")

    def _mentioned_projects(self, text: str) -> Iterable[str]:
        for path in find_paths(text):
            if project := self._find_by_folder(self._absolute(path)):
                yield project
        for address in find_addresses(text):
            if project := self._find_by_address(address):
                yield project

    def _find_by_folder_name(self, path: Path, spec: SourceSpec) -> str:
        """Return the project that the file's folder is named after.

        A folder that the source names without a wildcard says nothing about its files.
        """
        name = path.parent.name
        if any(name in glob.split("/") for glob in spec.globs):
            return ""
        return self._find_by_name(name) or self._find_by_name(_DATE_PREFIX.sub("", name))

    def _add(self, known: dict[str, set[str]], name: str, project: str) -> None:
        if folded := _fold(name):
            known.setdefault(folded, set()).add(project)

    def _add_remote(self, remote: str, project: str) -> None:
        if remote:
            self._add(self._derived, remote.rpartition("/")[2], project)
            self._add(self._derived, "/".join(remote.split("/")[-2:]), project)
            self._remotes.setdefault(remote.lower(), set()).add(project)

    def _add_folder(self, folder: str, project: str) -> None:
        self._add(self._derived, folder.rpartition("/")[2], project)
        if folder.startswith("/"):
            self._folders[folder] = project


def _fold(name: str) -> str:
    return slug_of(name.strip().casefold()).strip("-")


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False
