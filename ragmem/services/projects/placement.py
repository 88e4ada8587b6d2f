"""Place the memories of sources whose texts name their projects."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from ragmem.config.settings import Settings, SourceSpec
from ragmem.domain.model import UNASSIGNED, USER, Draft, Scope
from ragmem.errors import BackendError
from ragmem.frozen import dataclass
from ragmem.ports import Store
from ragmem.readers.named_projects import NamedProjects
from ragmem.readers.scope import ProjectFinder
from ragmem.services.projects.moves import move_memories
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.sql.batches import batches


@dataclass(frozen=True, slots=True)
class Placement:
    """Drafts with their scopes, the ids of moved memories, and a note if they could not be moved."""

    drafts: Sequence[Draft]
    moved: frozenset[str] = frozenset()
    note: str = ""


def named_projects(catalog: Catalog, projects: ProjectFinder) -> NamedProjects:
    """Return a finder for the projects that texts name."""
    return NamedProjects(projects, catalog.projects if catalog.exists() else None)


def choose_project(present: str, named: str) -> str:
    """Return the project of a memory from its present one and the one that its text names.

    A memory in a project stays there if its text names none (any more); one of the user becomes unassigned.
    """
    return present if named == UNASSIGNED and present != USER else named


def place_drafts(
    catalog: Catalog,
    drafts: Sequence[Draft],
    spec: SourceSpec,
    named: NamedProjects | None,
    *,
    open_store: Callable[[], Store] | None,
    now: datetime,
) -> Placement:
    """Return drafts with the scopes that their texts name, and move their misplaced memories.

    A memory keeps its id, and its project if a person has chosen it. Without `open_store` nothing is moved.
    If the store cannot be opened, or without `named`, all memories stay where they are.
    """
    if named is None:
        return Placement(drafts)
    found = [named.assign_scope(draft, spec) for draft in drafts]
    present = _current_projects(catalog, [draft.id for draft in found])
    chosen = catalog.projects.assigned_ids(present) if present else set[str]()
    moves: dict[str, list[str]] = {}
    for number, draft in enumerate(found):
        if (here := present.get(draft.id)) is None:
            continue
        project = here if draft.id in chosen else choose_project(here, draft.scope.project)
        found[number] = replace(draft, scope=Scope(project))
        if project != here:
            moves.setdefault(project, []).append(draft.id)
    if open_store is not None:
        try:
            for project, ids in moves.items():
                move_memories(catalog, open_store, ids, project, now=now)
        except BackendError as error:
            return Placement([_keep_scope(draft, present) for draft in found], note=error.full_message)
    return Placement(found, frozenset(key for ids in moves.values() for key in ids))


def scope_drafts(
    catalog: Catalog, drafts: Sequence[Draft], spec: SourceSpec, named: NamedProjects
) -> list[Draft]:
    """Return drafts with the scopes of their memories, else those that their texts name; moves nothing."""
    found = [named.assign_scope(draft, spec) for draft in drafts]
    present = _current_projects(catalog, [draft.id for draft in found])
    return [_keep_scope(draft, present) for draft in found]


def find_misplaced(catalog: Catalog, settings: Settings, projects: ProjectFinder) -> dict[str, list[str]]:
    """Return project -> misplaced memories, whose texts name it.

    Memories that a person has assigned stay where they are.
    """
    named = named_projects(catalog, projects)
    moves: dict[str, list[str]] = {}
    for key, here, project in _named_memories(catalog, settings, named):
        if (wanted := choose_project(here, project)) != here:
            moves.setdefault(wanted, []).append(key)
    return moves


def _named_memories(
    catalog: Catalog, settings: Settings, named: NamedProjects
) -> Iterator[tuple[str, str, str]]:
    """Yield id, present project and named project of memories of sources whose texts name projects."""
    specs = {name: spec for name, spec in settings.sources.items() if spec.scope == "named"}
    ids = [key for key, _, _ in catalog.overview.places(sources=list(specs))] if specs else []
    chosen = catalog.projects.assigned_ids(ids)
    for batch in batches(key for key in ids if key not in chosen):
        for key, memory in catalog.memories.get(batch).items():
            place = Path(memory.uri.rpartition("#")[0] or memory.uri)
            said = named.project_of(memory.metadata, memory.text, place, specs[memory.source])
            yield key, memory.scope.project, said


def _current_projects(catalog: Catalog, ids: Sequence[str]) -> dict[str, str]:
    if not catalog.exists():
        return {}
    return {key: one.project for key, one in catalog.memories.outlines(ids).items()}


def _keep_scope(draft: Draft, present: Mapping[str, str]) -> Draft:
    return replace(draft, scope=Scope(present.get(draft.id, draft.scope.project)))
