"""Views of the graph: an entity, the paths between two, communities, and a timeline."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import IO

from ragmem.domain.entities.network import Community, GraphPath, Network, communities, shortest_paths
from ragmem.domain.entities.relations import CO_MENTION_WEIGHT, CO_MENTIONED
from ragmem.domain.model import Entity, Relation
from ragmem.errors import UsageError
from ragmem.ports import Store
from ragmem.services.graph.evidence import Quotation, mention_places, quotations
from ragmem.services.graph.export import ExportReport, export_graph
from ragmem.services.graph.files import GraphFormat
from ragmem.services.graph.scope import GraphScope, ScopedEntity
from ragmem.storage.home.catalog import Catalog

ALL_CHUNKS = 2**31
"""More chunks than any entity has."""

WITNESSES = 5
"""Number of latest chunks of a relation that are searched for its sentence."""

CENTRAL = 3
"""Number of entities that a community is named after."""

CORE = 8
"""Number of central entities of a community that select its example memories."""

EXAMPLES = 3
SAMPLE = 40
"""Number of latest chunks of each central entity that are counted for the examples."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The entity at the other end of a relation."""

    entity: Entity
    relation: Relation


@dataclass(frozen=True, slots=True)
class EntityView:
    """An entity in one project: its quotations, latest first, and its neighbours, heaviest first.

    `memories` is the number of memories that mention it; `quotations` has some of them.
    """

    place: ScopedEntity
    quotations: tuple[Quotation, ...]
    memories: int | None
    neighbours: tuple[Neighbour, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One relation of a path, and the latest memory that states it, if known."""

    source: str
    target: str
    relation: Relation
    quotation: Quotation | None


@dataclass(frozen=True, slots=True)
class PathView:
    """A path between two entities in one project; a lower cost is more informative."""

    project: str
    names: tuple[str, ...]
    cost: float
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class CommunityView:
    """A community of a project with all its entities, most central first, and example memories.

    `cohesion` is the share of the weight of its entities' relations that stays inside.
    """

    project: str
    members: tuple[str, ...]
    cohesion: float
    examples: tuple[Quotation, ...]

    @property
    def name(self) -> str:
        """The names of the most central entities."""
        return ", ".join(self.members[:CENTRAL])


@dataclass(frozen=True, slots=True)
class Communities:
    """The largest communities, and the totals over all selected projects."""

    shown: tuple[CommunityView, ...]
    entities: int
    total: int
    alone: int
    """Number of entities without relations, which belong to no community."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """The timeline of an entity: the latest `events` in order, of `total` between first and last."""

    places: tuple[ScopedEntity, ...]
    events: tuple[Quotation, ...]
    total: int
    first: datetime | None
    last: datetime | None


class GraphViews:
    """Views of the graphs of some projects (None: all); projects never mix."""

    def __init__(self, catalog: Catalog, store: Store, projects: Sequence[str] | None = None) -> None:
        self.scope = GraphScope(catalog, store, projects)
        self._catalog = catalog
        self._store = store

    def top(self, *, limit: int = 20) -> list[ScopedEntity]:
        """Return the most connected entities of each project."""
        return self.scope.top(limit)

    def export(
        self,
        form: GraphFormat,
        file: IO[bytes],
        *,
        around: str = "",
        depth: int = 2,
        limit: int | None = None,
    ) -> ExportReport:
        """Write the graph to a file; see `services.graph.export`."""
        return export_graph(
            self.scope, form, file, around=around, depth=depth, limit=limit, redactor=self._catalog.redactor
        )

    def entity(self, name: str, *, limit: int = 20) -> list[EntityView]:
        """Return the entity of this name in each project that has it, best connected first.

        Each view has at most `limit` memories and neighbours. Raises NotFoundError with similar names.
        """
        return [self._entity_view(place, limit) for place in self.scope.find(name)]

    def _entity_view(self, place: ScopedEntity, limit: int) -> EntityView:
        name, project = place.entity.name, place.project
        near = self._store.neighbours(name, limit=limit, project=project)
        chunks = self._store.chunks_naming([name], project=project, most=ALL_CHUNKS).get(name, ())
        found = mention_places(self._catalog, chunks)
        said = quotations(self._catalog, found[:limit], place.names)
        return EntityView(
            place, tuple(said), len(found), tuple(Neighbour(other, relation) for relation, other in near)
        )

    def timeline(self, name: str, *, since: datetime | None = None, limit: int = 50) -> Timeline:
        """Return the timeline of an entity, by the event times of the memories, since a moment.

        Raises NotFoundError with similar names.
        """
        places = self.scope.find(name)
        found = []
        for place in places:
            known = place.entity.name
            chunks = self._store.chunks_naming([known], project=place.project, most=ALL_CHUNKS).get(known, ())
            found += mention_places(self._catalog, chunks)
        found = sorted(
            (spot for spot in found if since is None or spot.event_time >= since),
            key=lambda spot: (spot.event_time, spot.memory_id),
        )
        names = list(dict.fromkeys(name for place in places for name in place.names))
        return Timeline(
            tuple(places),
            tuple(quotations(self._catalog, found[-limit:], names)),
            len(found),
            found[0].event_time if found else None,
            found[-1].event_time if found else None,
        )

    def path(self, start: str, goal: str, *, count: int = 3) -> list[PathView]:
        """Return the most informative paths between two entities, project by project; perhaps none.

        Raises NotFoundError with similar names, UsageError for two names of one entity.
        """
        begins = {place.project: place.entity.name for place in self.scope.find(start)}
        ends = {place.project: place.entity.name for place in self.scope.find(goal)}
        common = [project for project in begins if project in ends]
        if common and all(begins[project] == ends[project] for project in common):
            raise UsageError(
                f'"{start}" and "{goal}" are the same entity, "{begins[common[0]]}"',
                hint="name another one; `ragmem inspect entity NAME` shows its neighbours",
            )
        found: list[PathView] = []
        for project in common:
            network = self._network(project)
            number = {name: n for n, name in enumerate(network.names)}
            one, other = number.get(begins[project]), number.get(ends[project])
            if one is not None and other is not None:
                found += [
                    self._path_view(project, network, way)
                    for way in shortest_paths(network, one, other, count=count)
                ]
        return found

    def _network(self, project: str, *, lonely: bool = False) -> Network:
        edges = ((edge.source, edge.target, _strength(edge)) for edge in self._store.edges(project))
        names = (entity.name for entity, _ in self._store.nodes(project, described=False)) if lonely else ()
        return Network.of(edges, names)

    def _path_view(self, project: str, network: Network, way: GraphPath) -> PathView:
        names = tuple(network.names[node] for node in way.nodes)
        steps = []
        for one, other in zip(way.nodes, way.nodes[1:], strict=False):
            # Start from the end with fewer relations, because all of them are read.
            near, far = sorted((one, other), key=lambda node: len(network.links[node]))
            relation = self._relation(network, project, near, far)
            steps.append(
                Step(network.names[one], network.names[other], relation, self._witness(project, relation))
            )
        return PathView(project, names, way.cost, tuple(steps))

    def _relation(self, network: Network, project: str, near: int, far: int) -> Relation:
        name, other = network.names[near], network.names[far]
        for relation, entity in self._store.neighbours(name, limit=ALL_CHUNKS, project=project):
            if entity.name == other:
                return relation
        # It was removed since the graph was read.
        return Relation(name, other, "", "", 0.0)

    def _witness(self, project: str, relation: Relation) -> Quotation | None:
        pair = (relation.source, relation.target)
        chunks = self._store.chunks_relating([pair], project=project, most=WITNESSES).get(pair, ())
        descriptions = relation.description.splitlines()
        said = quotations(
            self._catalog, mention_places(self._catalog, chunks), pair, descriptions=descriptions
        )
        return said[0] if said else None

    def communities(self, *, limit: int = 20, around: str = "") -> Communities:
        """Return the communities of each project, largest first; with `around` only that of one entity.

        Raises NotFoundError with similar names.
        """
        wanted = {place.project: place.entity.name for place in self.scope.find(around)} if around else {}
        found: list[tuple[str, Network, Community]] = []
        entities = total = alone = 0
        for project in wanted or self.scope.projects:
            network = self._network(project, lonely=True)
            entities += len(network.names)
            parts = communities(network)
            joined = [one for one in parts if len(one.members) > 1]
            total += len(joined)
            alone += len(parts) - len(joined)
            found += [
                (project, network, one)
                for one in (parts if around else joined)
                if not around or wanted[project] in {network.names[node] for node in one.members}
            ]
        found.sort(key=lambda part: -len(part[2].members))
        shown = tuple(self._community_view(*part) for part in found[:limit])
        return Communities(shown, entities, total, alone)

    def _community_view(self, project: str, network: Network, community: Community) -> CommunityView:
        members = tuple(network.names[node] for node in community.members)
        core = members[:CORE]
        naming = self._store.chunks_naming(core, project=project, most=SAMPLE)
        counted: dict[str, set[str]] = {}
        for name, chunks in naming.items():
            for chunk in chunks:
                counted.setdefault(chunk, set()).add(name)
        found = mention_places(self._catalog, counted)
        # The sort is stable: among memories with the same number of names, the latest comes first.
        found.sort(key=lambda spot: -len(set().union(*(counted[chunk] for chunk in spot.chunks))))
        return CommunityView(
            project, members, community.cohesion, tuple(quotations(self._catalog, found[:EXAMPLES], core))
        )


def _strength(relation: Relation) -> float:
    """Return the weight of a relation; a mere co-mention weighs little, whatever the store's weight is."""
    return relation.weight * (CO_MENTION_WEIGHT if relation.keywords == CO_MENTIONED else 1.0)
