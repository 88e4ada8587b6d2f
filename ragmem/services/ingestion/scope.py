"""Find the project of a path, and the projects and sources that are named in a request."""

import os.path
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from ragmem.config.settings import Settings
from ragmem.domain.model import NO_PROJECTS, Draft, Scope, digest, memory_id
from ragmem.errors import NotFoundError, UsageError
from ragmem.ports.principal import owner_of
from ragmem.readers.files import show
from ragmem.readers.roots import candidates
from ragmem.readers.scope import ProjectFinder
from ragmem.storage.home.catalog import Catalog


def project_finder(catalog: Catalog, *, home: Path) -> ProjectFinder:
    """Return a finder for the projects of paths, with the ids of the catalog."""
    if not catalog.exists():
        return ProjectFinder(home)
    catalog.prepare()
    return ProjectFinder(home, catalog.projects)


def remember_projects(catalog: Catalog, projects: ProjectFinder) -> None:
    """Store the names, folders and git data of the projects that were found."""
    for met in projects.seen_projects():
        identity = projects.refresh(met)
        root = show(identity.root) if identity.root else identity.name
        first = catalog.projects.root(identity.id)
        catalog.projects.remember(
            identity.id,
            name=identity.name,
            root=root,
            root_commit=identity.git_root_commit,
            remote=identity.remote,
            stamp=identity.stamp,
            # A second clone does not rename the project, even with another remote.
            keep_name=first not in {"", root} and os.path.isdir(first),  # noqa: PTH112 - never raises
        )


def project_at(catalog: Catalog, path: Path, *, home: Path) -> str | None:
    """Return the known project of a path; None if no memory was ever stored for it.

    A text written there would get the same project. A known folder with an unchanged repository costs no
    subprocess; a relative path belongs to no project.
    """
    if not catalog.exists() or not path.is_absolute() or "\0" in str(path):
        return None
    identity = project_finder(catalog, home=home).find_known_project(path)
    return identity.id if identity and catalog.projects.find(identity.id) else None


def project_by_path(catalog: Catalog, path: Path, *, home: Path) -> str | None:
    """Return the known project of a path by its name alone, without access to the disk."""
    if not catalog.exists() or not path.is_absolute() or "\0" in str(path):
        return None
    above = [show(Path(one)) for one in candidates(str(path), str(home))]
    places = catalog.projects.places(above)
    return next((places[one].project for one in above if one in places), None)


def assign_ids(catalog: Catalog, drafts: Sequence[Draft]) -> list[Draft]:
    """Return drafts with the ids of their memories that were moved from another project.

    If a person assigned a memory to a project, its draft has that project. What belongs to a member of a team
    alone has an id of its own: others may store the same text, or another one under the same name.
    """
    drafts = [
        replace(draft, id=digest("member", owner, memory_id(draft.source, draft.scope, draft.uri)))
        if not draft.id and (owner := owner_of(draft.scope.project))
        else draft
        for draft in drafts
    ]
    if not drafts or not catalog.exists():
        return drafts
    places = [memory_id(draft.source, draft.scope, draft.uri) for draft in drafts]
    moved = catalog.projects.moved_ids(places)
    found = [
        replace(draft, id=moved[place]) if place in moved and not draft.id else draft
        for draft, place in zip(drafts, places, strict=True)
    ]
    chosen = catalog.projects.assigned_ids(
        draft.id or place for draft, place in zip(found, places, strict=True)
    )
    present = catalog.memories.outlines(chosen) if chosen else {}
    return [
        replace(draft, id=one.id, scope=Scope(one.project, draft.scope.spec))
        if (one := present.get(draft.id or place))
        else draft
        for draft, place in zip(found, places, strict=True)
    ]


def resolve_project(catalog: Catalog, name: str) -> str:
    """Return the id of a project given by id, name or path; raises NotFoundError with the known names."""
    if name in NO_PROJECTS:
        return name
    found = catalog.projects.find(_place(name) if "/" in name else name)
    if name in found:
        return name
    if len(found) == 1:
        return found[0]
    if not found:
        names = catalog.projects.names()
        # A project without a folder has no name beside its id.
        others = catalog.overview.latest_by_project().keys() - names.keys() - NO_PROJECTS
        known = ", ".join(sorted({*names.values(), *others})) or "none yet"
        raise NotFoundError(f'there is no project "{name}"', hint=f"known projects: {known}")
    raise NotFoundError(f'several projects are called "{name}"', hint=f"use an id: {', '.join(found)}")


def _place(name: str) -> str:
    """Return the resolved path of a folder; an invalid one is returned unchanged."""
    try:
        return str(Path(name).expanduser().resolve())
    except (OSError, RuntimeError, ValueError):
        return name


def require_sources(
    catalog: Catalog, settings: Settings, names: Iterable[str], *, archived: bool = False
) -> tuple[str, ...]:
    """Return the names; raises UsageError for one that is neither configured nor the source of a memory.

    With `archived`, archived memories count as well.
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
