"""Which project a place on disk belongs to, and which projects a question is asked of."""

from collections.abc import Iterable
from pathlib import Path

from ragmem.catalog.catalog import Catalog
from ragmem.config import Settings
from ragmem.domain.model import USER
from ragmem.errors import NotFoundError, UsageError
from ragmem.readers.files import show
from ragmem.readers.scope import ProjectFinder


def finder(catalog: Catalog, *, home: Path) -> ProjectFinder:
    """Return what finds the projects of paths, under the ids that the catalog knows them by."""
    if not catalog.exists():
        return ProjectFinder(home)
    catalog.prepare()
    return ProjectFinder(
        home,
        known=catalog.projects.of_repository,
        placed=lambda folder: catalog.projects.at([show(folder)]),
    )


def remember_projects(catalog: Catalog, projects: ProjectFinder) -> None:
    """Keep the names and folders of the projects that were met."""
    for identity in projects.found():
        catalog.projects.remember(
            identity.id,
            name=identity.name,
            root=show(identity.root) if identity.root else identity.name,
            root_commit=identity.git_root_commit,
            remote=identity.remote,
        )


def project_at(catalog: Catalog, path: Path, *, home: Path) -> str | None:
    """Return the known project that holds a path; None where no memory was ever stored for it.

    Looks the path and its parents up first, which costs no subprocess; asks git only for an unknown
    repository, because it may have been moved.
    """
    known = known_project_at(catalog, path, home=home)
    if known is not None or not catalog.exists():
        return known
    if not any((folder / ".git").exists() for folder in _folders(path, home)):
        return None
    identity = finder(catalog, home=home).project_of(path)
    return identity.id if identity and catalog.projects.find(identity.id) else None


def known_project_at(catalog: Catalog, path: Path, *, home: Path) -> str | None:
    """Return the known project that holds a path by its name alone; nothing on disk is looked at."""
    if not catalog.exists():
        return None
    return catalog.projects.at(show(folder) for folder in _folders(path, home))


def _folders(path: Path, home: Path) -> list[Path]:
    """Return a path and what is above it; the home and above are no project of what lies inside."""
    above = [path, *path.parents]
    return above[: above.index(home)] if home in above else above


def named_project(catalog: Catalog, name: str) -> str:
    """Return the id of a project given by id, name or path; raises NotFoundError with the known names."""
    if name == USER:
        return USER
    found = catalog.projects.find(_place(name) if "/" in name else name)
    if name in found:
        return name
    if len(found) == 1:
        return found[0]
    names = catalog.projects.names()
    if not found:
        known = ", ".join(sorted(set(names.values()))) or "none yet"
        raise NotFoundError(f'there is no project "{name}"', hint=f"known projects: {known}")
    raise NotFoundError(f'several projects are called "{name}"', hint=f"give an id: {', '.join(found)}")


def _place(name: str) -> str:
    """Return the folder that a path names; what cannot be one is a name that nothing has."""
    try:
        return str(Path(name).expanduser().resolve())
    except (OSError, RuntimeError, ValueError):
        return name


def known_sources(
    catalog: Catalog, settings: Settings, names: Iterable[str], *, archived: bool = False
) -> tuple[str, ...]:
    """Return the names; raises UsageError for one that is neither configured nor the source of a memory.

    With `archived`, of one in the archive will do.
    """
    wanted = tuple(names)
    if wanted:
        known = {str(row["source"]) for row in catalog.overview.source_rows()} | set(settings.sources)
        if archived and not known.issuperset(wanted):
            known |= catalog.archive.sources()
        for name in wanted:
            if name not in known:
                raise UsageError(f'there is no source "{name}"', hint=f"sources: {', '.join(sorted(known))}")
    return wanted
