"""Memories of sources whose texts name their projects: they are put where their texts say."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from ragmem.config import Settings, SourceSpec
from ragmem.domain.model import UNASSIGNED, USER, Draft, Scope
from ragmem.errors import BackendError
from ragmem.ports import Store
from ragmem.readers.named import NamedProjects
from ragmem.readers.scope import ProjectFinder
from ragmem.services.projects.moves import move_memories
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.sql.batches import batches


@dataclass(frozen=True, slots=True)
class Placement:
    """Drafts with their scopes, which of their memories had another one, and why these still have it."""

    drafts: Sequence[Draft]
    moved: frozenset[str] = frozenset()
    note: str = ""


def named_projects(catalog: Catalog, projects: ProjectFinder) -> NamedProjects:
    """Return what finds the projects that texts name."""
    return NamedProjects(projects, catalog.projects if catalog.exists() else None)


def kept_in(present: str, named: str) -> str:
    """Return the project of a memory by where it is and what its text names.

    What is in a project and names none (any more) stays there; what is the user's only for want of a
    project goes to none.
    """
    return present if named == UNASSIGNED and present != USER else named


def find_place(
    catalog: Catalog,
    drafts: Sequence[Draft],
    spec: SourceSpec,
    named: NamedProjects | None,
    *,
    open_store: Callable[[], Store] | None,
    now: datetime,
) -> Placement:
    """Return drafts with the scopes that their texts name, and move their memories that lie elsewhere.

    A memory keeps its id, and where a person has chosen its project that one. Without `open_store` nothing is
    moved. Where the store cannot be opened, all stay where they are; so they do without `named`.
    """
    if named is None:
        return Placement(drafts)
    found = [named.placed(draft, spec) for draft in drafts]
    present = _present(catalog, [draft.id for draft in found])
    chosen = catalog.projects.assigned(present) if present else set[str]()
    moves: dict[str, list[str]] = {}
    for number, draft in enumerate(found):
        if (here := present.get(draft.id)) is None:
            continue
        project = here if draft.id in chosen else kept_in(here, draft.scope.project)
        found[number] = replace(draft, scope=Scope(project))
        if project != here:
            moves.setdefault(project, []).append(draft.id)
    if open_store is not None:
        try:
            for project, ids in moves.items():
                move_memories(catalog, open_store, ids, project, now=now)
        except BackendError as error:
            return Placement([_leftovers(draft, present) for draft in found], note=error.told)
    return Placement(found, frozenset(key for ids in moves.values() for key in ids))


def left_in_place(
    catalog: Catalog, drafts: Sequence[Draft], spec: SourceSpec, named: NamedProjects
) -> list[Draft]:
    """Return drafts with the scopes that their texts name, or that their memories have: a hook moves none."""
    found = [named.placed(draft, spec) for draft in drafts]
    present = _present(catalog, [draft.id for draft in found])
    return [_leftovers(draft, present) for draft in found]


def find_misplaced(catalog: Catalog, settings: Settings, projects: ProjectFinder) -> dict[str, list[str]]:
    """Return project -> the memories whose texts name it, or none, and that lie elsewhere.

    What a person has given to a project stays there.
    """
    named = named_projects(catalog, projects)
    moves: dict[str, list[str]] = {}
    for key, here, project in _named_project(catalog, settings, named):
        if (wanted := kept_in(here, project)) != here:
            moves.setdefault(wanted, []).append(key)
    return moves


def _named_project(
    catalog: Catalog, settings: Settings, named: NamedProjects
) -> Iterator[tuple[str, str, str]]:
    """Yield id, present project and named project of the memories of sources whose texts name theirs."""
    specs = {name: spec for name, spec in settings.sources.items() if spec.scope == "named"}
    ids = [key for key, _, _ in catalog.overview.places(sources=list(specs))] if specs else []
    chosen = catalog.projects.assigned(ids)
    for batch in batches(key for key in ids if key not in chosen):
        for key, memory in catalog.memories.get(batch).items():
            place = Path(memory.uri.rpartition("#")[0] or memory.uri)
            said = named.project_of(memory.metadata, memory.text, place, specs[memory.source])
            yield key, memory.scope.project, said


def _present(catalog: Catalog, ids: Sequence[str]) -> dict[str, str]:
    if not catalog.exists():
        return {}
    return {key: one.project for key, one in catalog.memories.outlines(ids).items()}


def _leftovers(draft: Draft, present: Mapping[str, str]) -> Draft:
    return replace(draft, scope=Scope(present.get(draft.id, draft.scope.project)))
