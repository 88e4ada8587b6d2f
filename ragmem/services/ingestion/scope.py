"""Which project a place on disk belongs to, and which projects a question is asked of."""

import os.path
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from ragmem.config import Settings
from ragmem.domain.model import NO_PROJECTS, Draft, Scope, memory_id
from ragmem.errors import NotFoundError, UsageError
from ragmem.readers.files import show
from ragmem.readers.roots import candidates
from ragmem.readers.scope import ProjectFinder
from ragmem.storage.home.catalog import Catalog


def finder(catalog: Catalog, *, home: Path) -> ProjectFinder:
    """Return what finds the projects of paths, under the ids that the catalog knows them by."""
    if not catalog.exists():
        return ProjectFinder(home)
    catalog.prepare()
    return ProjectFinder(home, catalog.projects)


def remember_projects(catalog: Catalog, projects: ProjectFinder) -> None:
    """Keep the names and folders of the projects that were met, and what git tells of them now."""
    for met in projects.found():
        identity = projects.looked_up(met)
        root = show(identity.root) if identity.root else identity.name
        first = catalog.projects.root(identity.id)
        catalog.projects.remember(
            identity.id,
            name=identity.name,
            root=root,
            root_commit=identity.git_root_commit,
            remote=identity.remote,
            stamp=identity.stamp,
            # A second clone, of another remote perhaps, does not name the project.
            keep_name=first not in {"", root} and os.path.isdir(first),  # noqa: PTH112 - never raises
        )


def project_at(catalog: Catalog, path: Path, *, home: Path) -> str | None:
    """Return the known project that holds a path; None where no memory was ever stored for it.

    It is the one that a text written there would get. A known folder whose repository has not changed costs
    no subprocess; a path that is not absolute belongs to none.
    """
    if not catalog.exists() or not path.is_absolute() or "\0" in str(path):
        return None
    identity = finder(catalog, home=home).known_project_of(path)
    return identity.id if identity and catalog.projects.find(identity.id) else None


def project_named_by(catalog: Catalog, path: Path, *, home: Path) -> str | None:
    """Return the known project that holds a path by its name alone; nothing on disk is looked at."""
    if not catalog.exists() or not path.is_absolute() or "\0" in str(path):
        return None
    above = [show(Path(one)) for one in candidates(str(path), str(home))]
    places = catalog.projects.places(above)
    return next((places[one].project for one in above if one in places), None)


def assign_ids(catalog: Catalog, drafts: Sequence[Draft]) -> list[Draft]:
    """Return drafts with the ids of the memories of their places that were moved from another project.

    Where a person chose the project of a memory, a draft of it has that project.
    """
    if not drafts or not catalog.exists():
        return list(drafts)
    places = [memory_id(draft.source, draft.scope, draft.uri) for draft in drafts]
    moved = catalog.projects.moved_ids(places)
    found = [
        replace(draft, id=moved[place]) if place in moved and not draft.id else draft
        for draft, place in zip(drafts, places, strict=True)
    ]
    chosen = catalog.projects.assigned(draft.id or place for draft, place in zip(found, places, strict=True))
    present = catalog.memories.outlines(chosen) if chosen else {}
    return [
        replace(draft, id=one.id, scope=Scope(one.project, draft.scope.spec))
        if (one := present.get(draft.id or place))
        else draft
        for draft, place in zip(found, places, strict=True)
    ]


def named_project(catalog: Catalog, name: str) -> str:
    """Return the id of a project given by id, name or path; raises NotFoundError with the known names."""
    if name in NO_PROJECTS:
        return name
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
