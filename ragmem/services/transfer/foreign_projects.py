"""The project of what another tool has stored: its folder, or a project of the same name."""

from pathlib import Path, PurePath

from ragmem.domain.model import USER, Scope
from ragmem.frozen import dataclass
from ragmem.readers.fields import clean
from ragmem.readers.scope import ProjectFinder, new_id
from ragmem.services.ingestion.scope import remember_projects
from ragmem.services.transcripts.scopes import Scopes
from ragmem.storage.home.catalog import Catalog


@dataclass(frozen=True, slots=True)
class _Named:
    """A project that only a foreign tool knows."""

    id: str
    name: str
    place: str


class ForeignProjects:
    """Finds the scopes of foreign projects, each once, and keeps those that are new."""

    def __init__(self, catalog: Catalog, tool: str, *, home: Path) -> None:
        self._catalog = catalog
        self._tool = tool
        self._finder = ProjectFinder(home, catalog.projects if catalog.exists() else None)
        self._scopes = Scopes(catalog, self._finder, home=home)
        self._by_name: dict[str, list[str]] = {}
        self._names: dict[str, str] = {}
        if catalog.exists():
            self._names.update(catalog.projects.names())
            for project, name in self._names.items():
                self._by_name.setdefault(name.casefold(), []).append(project)
        self._new: dict[str, _Named] = {}

    def scope_of(self, project: str) -> Scope:
        """Return the scope of a folder or a name; the user's for none.

        A name means the one project that is called so here. One that is unknown, or means several, becomes a
        project of its own.
        """
        if not project:
            return Scope(USER)
        if Path(project).is_absolute():
            return self._scopes.of(project)
        if project not in self._new:
            found = self._by_name.get(project.casefold(), [])
            if len(found) == 1:
                return Scope(found[0])
            name = clean(PurePath(project.replace("\\", "/")).name) or project
            parts = ("import", self._tool, project) if found else ("import", project)
            place = f"{self._tool}:{project}" if found else project
            self._new[project] = _Named(new_id(name, *parts), name, place)
        return Scope(self._new[project].id)

    def name_of(self, project: str) -> str:
        """Return the name of a project by its id."""
        for new in self._new.values():
            if new.id == project:
                return new.name
        for found in self._finder.seen_projects():
            if found.id == project:
                return self._names.get(project, found.name)
        return self._names.get(project, project)

    def remember(self) -> None:
        """Store the projects that were found, within the caller's transaction."""
        remember_projects(self._catalog, self._finder)
        for new in self._new.values():
            if new.id not in self._names:
                self._catalog.projects.remember(new.id, name=new.name, root=new.place)
                self._names[new.id] = new.name
