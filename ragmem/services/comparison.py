"""Compares memories of one project with each other, and writes what is connected."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np

from ragmem.catalog.catalog import Catalog
from ragmem.catalog.connections import Edge, Member
from ragmem.domain.connections import CONNECTED, MOST, Scale, rank, sharing, strongest
from ragmem.domain.lifecycle import Entry
from ragmem.domain.relatedness import Relatedness, strength
from ragmem.ports import ShowsVectors
from ragmem.services.neighbour_search import Near, search
from ragmem.services.project_vectors import read_space

CANDIDATES = 16
"""Nearest by vectors that are judged."""

LOWEST = 0.2
"""Place on the scale below which a cosine makes no candidate."""

AT_ONCE = 2000
"""Memories whose connections are written in one transaction: some tenths of a second."""

USUAL = 1000
"""Memories of a project that say how rare a word is there, the same ones for each comparison."""

_Pair = tuple[int, int]


class Comparison:
    """Memories of one project, as far as they are compared: with their vectors, names and words."""

    def __init__(
        self,
        catalog: Catalog,
        store: ShowsVectors,
        project: str,
        scale: Scale,
        members: Sequence[Member],
        *,
        all_of_project: bool,
    ) -> None:
        self._connections = catalog.connections
        self._project, self._scale = project, scale
        self._model = store.answering_model()
        known = {one.id: one for one in members}
        ids, self._space = read_space(
            store, project, {key: one.spec for key, one in known.items()}, all_of_project=all_of_project
        )
        self._members = [known[key] for key in ids]
        self._places = {one.number: place for place, one in enumerate(self._members)}
        self._compared = {one.number for one in self._members if one.compared}
        numbers = None if all_of_project else list(self._places)
        names = catalog.connections.names(project, numbers)
        self._sharing = sharing((self._places[n], found) for n, found in names.items() if n in self._places)
        named = {one.id: names[one.number] for one in self._members if one.number in names}
        self._relatedness = Relatedness(
            _entries(catalog, ids),
            names=named,
            usual=_entries(catalog, catalog.connections.sample(project, USUAL)),
        )

    def write_fresh(self) -> Iterator[tuple[int, int]]:
        """Compare what was not, and write it; yield how many memories and connections after each write."""
        fresh = [place for place, one in enumerate(self._members) if not one.compared]
        done: set[int] = set()
        for near in self._search(fresh):
            asked = [self._members[place] for place in near.asked.tolist()]
            done.update(one.number for one in asked)
            yield len(asked), self._write(asked, *self._judged(near), done)

    def strongest(self, ids: Iterable[str]) -> dict[str, float]:
        """Return the strength of the strongest link of these memories, of those that have vectors."""
        return {key: max(links.values(), default=0.0) for key, links in self.links(ids).items()}

    def links(self, ids: Iterable[str]) -> dict[str, dict[str, float]]:
        """Return with what each of these memories would be connected, and how strongly: by comparing all."""
        wanted = set(ids)
        asked = [place for place, one in enumerate(self._members) if one.id in wanted]
        found: dict[str, dict[str, float]] = {self._members[place].id: {} for place in asked}
        for near in self._search(asked, exact=True):
            _, own = self._judged(near)
            for number, edges in own.items():
                for edge in edges:
                    other = edge.high if edge.low == number else edge.low
                    links = found[self._members[self._places[number]].id]
                    links[self._members[self._places[other]].id] = edge.strength
        return found

    def _search(self, asked: Sequence[int], *, exact: bool = False) -> Iterator[Near]:
        bar = self._scale.cosine(LOWEST)
        rows = np.array(asked, np.intp)
        return search(self._space, rows, count=CANDIDATES, bar=bar, at_once=AT_ONCE, exact=exact)

    def _judged(self, near: Near) -> tuple[dict[_Pair, Edge], dict[int, list[Edge]]]:
        """Return all connections among the candidates of some memories, and the strongest of each memory."""
        bounds = np.searchsorted(near.places, np.arange(len(near.asked) + 1)).tolist()
        columns, cosines = near.columns.tolist(), near.cosines.tolist()
        found: dict[_Pair, Edge] = {}
        own: dict[int, list[Edge]] = {}
        for n, place in enumerate(near.asked.tolist()):
            part = slice(bounds[n], bounds[n + 1])
            others = dict(zip(columns[part], cosines[part], strict=True))
            others |= self._sharing_with(place, others)
            first = self._members[place]
            shares = self._relatedness.shared_with(first.id, [self._members[other].id for other in others])
            edges = []
            for (other, cosine), shared in zip(others.items(), shares, strict=True):
                strong = strength(self._scale.scaled(cosine), shared)
                if strong >= CONNECTED:
                    second = self._members[other].number
                    low, high = min(first.number, second), max(first.number, second)
                    edges.append(Edge(low, high, round(cosine, 4), round(shared, 4), round(strong, 4)))
            own[first.number] = sorted(edges, key=rank)[:MOST]
            found |= {(edge.low, edge.high): edge for edge in edges}
        return found, own

    def _sharing_with(self, place: int, known: Collection[int]) -> dict[int, float]:
        """Return the memories that share a rare name with one, beside those known, and their cosines."""
        matrix, specs = self._space.matrix, self._space.specs
        return {
            other: float(matrix[place] @ matrix[other])
            for other in sorted(self._sharing.get(place, ()))
            if other not in known and not (specs[place] and specs[other] and specs[place] != specs[other])
        }

    def _write(
        self,
        asked: Sequence[Member],
        edges: Mapping[_Pair, Edge],
        own: Mapping[int, Sequence[Edge]],
        done: Collection[int],
    ) -> int:
        """Write what some memories are connected with; return how many connections.

        `done` are all that were compared in this run: they have seen these already.
        """
        new = {one.number for one in asked}
        stale = [
            (edge.low, edge.high)
            for edge in self._connections.edges(one.number for one in asked if one.before)
            if edge.low not in done or edge.high not in done or new >= {edge.low, edge.high}
        ]
        kept = {(edge.low, edge.high): edge for every in own.values() for edge in every}
        # A new one may be among the strongest of those that were compared before, and push another out.
        touched = {number for pair in edges for number in pair} & self._compared
        former = {
            (one.low, one.high): one
            for one in self._connections.edges(touched)
            if one.low not in new and one.high not in new
        }
        best = strongest({**former, **edges}, of=touched)
        kept |= {pair: edges[pair] for pairs in best.values() for pair in pairs if pair in edges}
        fallen = {pair for pair in former if not any(pair in best.get(number, ()) for number in pair)}
        others = {number for pair in fallen for number in pair} - touched
        held = strongest({(one.low, one.high): one for one in self._connections.edges(others)}, of=others)
        fallen -= {pair for pairs in held.values() for pair in pairs}
        return self._connections.write(
            kept.values(),
            project=self._project,
            compared={one.number: one.content_hash for one in asked},
            model=self._model,
            without=[*stale, *fallen],
        )


def _entries(catalog: Catalog, ids: Sequence[str]) -> Iterator[Entry]:
    """Yield memories as the rules see them, some hundred of them at a time."""
    for start in range(0, len(ids), AT_ONCE):
        for memory in catalog.memories.get(ids[start : start + AT_ONCE]).values():
            yield Entry(memory, 0)
