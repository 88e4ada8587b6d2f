"""Find entities by name in the selected projects."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice

from ragmem.domain.model import Entity
from ragmem.errors import NotFoundError
from ragmem.ports import Store
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.names.aliases import OtherName, entity_of, other_names

FIRST, MANY = 50, 5_000
"""Number of entities read by a prefix: the most connected; more if the name is not among them."""

NEAR = 6
"""Maximum suggestions for an unknown name."""


@dataclass(frozen=True, slots=True)
class ScopedEntity:
    """An entity in one project with the number of its relations.

    `aliases` were merged into it; `spellings` are other entities whose names differ in case only.
    """

    project: str
    entity: Entity
    degree: int
    aliases: tuple[OtherName, ...] = ()
    spellings: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All names of the entity, its own first."""
        return (self.entity.name, *(one.name for one in self.aliases))


class GraphScope:
    """The graphs of some projects (None: of all with memories), searched one by one."""

    def __init__(self, catalog: Catalog, store: Store, projects: Sequence[str] | None) -> None:
        self.catalog = catalog
        self.store = store
        self.every = tuple(catalog.overview.count_by("project"))
        self.projects = self.every if projects is None else tuple(dict.fromkeys(projects))

    def find(self, name: str) -> list[ScopedEntity]:
        """Return the entity of this name in each project that has it, most connected first.

        Case is ignored. A project without this name gives the entity it was merged into; if no project has
        either, a unique entity with this prefix is taken. Raises NotFoundError with similar names.
        """
        found = self._find_by_name(name, self.projects) or self._with_prefix(name)
        if not found:
            raise NotFoundError(f'there is no entity "{name}"', hint=self._hint(name))
        return sorted(found, key=lambda place: (-place.degree, place.project))

    def elsewhere(self, name: str) -> list[str]:
        """Return the other projects that have an entity of this name."""
        others = [project for project in self.every if project not in self.projects]
        return [place.project for place in self._find_by_name(name, others)]

    def top(self, limit: int, prefix: str = "") -> list[ScopedEntity]:
        """Return the most connected entities, or those with this prefix in any case.

        An entity of several projects is listed once for each.
        """
        found = [
            ScopedEntity(project, entity, degree)
            for project in self.projects
            for entity, degree in self.store.entities(prefix, limit=limit, project=project)
        ]
        return sorted(found, key=lambda place: (-place.degree, place.entity.name, place.project))[:limit]

    def _exact(self, name: str, projects: Sequence[str]) -> list[ScopedEntity]:
        found = []
        wanted = " ".join(name.split()).lower()
        for project in projects:
            for limit in (FIRST, MANY):
                read = self.store.entities(wanted, limit=limit, project=project) if wanted else []
                same = [pair for pair in read if pair[0].name.lower() == wanted]
                if same:
                    # Most connected first, but the exact spelling before any other.
                    entity, degree = min(same, key=lambda pair: pair[0].name != name)
                    others = tuple(one.name for one, _ in same if one.name != entity.name)
                    aliases = other_names(self.catalog.database, project, entity.name)
                    found.append(ScopedEntity(project, entity, degree, tuple(aliases), others))
                if same or len(read) < limit:
                    break
        return found

    def _find_by_name(self, name: str, projects: Sequence[str]) -> list[ScopedEntity]:
        found = self._exact(name, projects)
        has = {place.project for place in found}
        wanted = " ".join(name.split())
        for project in projects:
            merged = None if project in has else entity_of(self.catalog.database, project, wanted)
            if merged is not None:
                found += self._exact(merged, [project])
        return found

    def _with_prefix(self, name: str) -> list[ScopedEntity]:
        if not name.strip():
            return []
        near = {
            entity.name
            for project in self.projects
            for entity, _ in self.store.entities(name, limit=2, project=project, described=False)
        }
        return self._exact(near.pop(), self.projects) if len(near) == 1 else []

    def _hint(self, name: str) -> str:
        if others := self.elsewhere(name):
            names = self.catalog.projects.names()
            return f"it is in {', '.join(names.get(one, one) for one in others)}: use --all"
        near: dict[str, None] = {}
        for length in (len(name), len(name) // 2, 1):
            if length and len(near) < NEAR:
                known = [
                    entity.name
                    for project in self.projects
                    for entity, _ in self.store.entities(name[:length], limit=FIRST * 4, project=project)
                ]
                small = {one.lower(): one for one in known}
                close = get_close_matches(name.lower(), small, n=NEAR) if length < len(name) else small
                near |= dict.fromkeys(small[one] for one in close)
        if not near:
            near = dict.fromkeys(islice(self._with_substring(name.strip().lower()), NEAR))
        proposed, _ = self.catalog.redactor.redact(", ".join(list(near)[:NEAR]))
        return (
            f"similar names: {proposed}"
            if proposed
            else "`ragmem inspect graph` lists the most connected ones"
        )

    def _with_substring(self, part: str) -> Iterator[str]:
        """Yield the names that contain a text; reads all of them if there are few."""
        if part:
            for project in self.projects:
                every = self.store.nodes(project, described=False)
                yield from (one.name for one, _ in every if part in one.name.lower())
