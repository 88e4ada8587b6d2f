"""Compares memories of one project with each other, and writes what is connected."""

import itertools
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from ragmem.catalog.catalog import Catalog
from ragmem.catalog.connections import Edge, EdgeRow, Member
from ragmem.domain.connections import CONNECTED, MOST, Scale, sharing, strongest
from ragmem.ports import ShowsVectors
from ragmem.services.near_vectors import Near, Rows, Vectors
from ragmem.services.neighbour_search import search
from ragmem.services.project_vectors import read_space
from ragmem.services.shared_code import with_code_names
from ragmem.services.shared_words import SharedWords, Told, strengths

CANDIDATES = 16
"""Nearest by vectors that are judged."""

LOWEST = 0.0
"""Place on the scale below which a cosine makes no candidate: words alone would have to say all."""

AT_ONCE = 2000
"""Memories that are judged together."""

WRITES = 10
"""Transactions in which the connections of many memories are written: each touches most of the table."""

USUAL = 1000
"""Memories of a project that say how rare a word is there, the same ones for each comparison."""

_Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Judged:
    """Connections that some memories found, by places; `own` are the strongest of each of `ones`."""

    ones: Rows
    others: Rows
    cosines: Vectors
    shared: NDArray[np.float64]
    strengths: NDArray[np.float64]
    own: NDArray[np.bool_]


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
        self._compared = np.array([one.number for one in self._members if one.compared], np.int64)
        self._numbers = np.array([one.number for one in self._members], np.int64)
        usual = catalog.connections.sampled_numbers(project, USUAL)
        numbers = None if all_of_project else [*self._places, *usual]
        self._names = with_code_names(catalog, project, catalog.connections.names(project, numbers))
        self._sharing = sharing(
            (self._places[n], found) for n, found in self._names.items() if n in self._places
        )
        self._words = SharedWords(len(ids), self._told, self._texts(usual))

    def _told(self, places: Rows) -> Iterator[Told]:
        for number, title, text, summary, names in self._texts(self._numbers[places].tolist()):
            yield self._places[number], title, text, summary, names

    def _texts(self, numbers: Iterable[int]) -> Iterator[Told]:
        for number, title, text, summary in self._connections.texts(numbers):
            yield number, title, text, summary, self._names.get(number, ())

    def write_fresh(self, *, until: float | None = None) -> Iterator[tuple[int, int]]:
        """Compare what was not, and write it; yield how many memories and connections after each write.

        When the clock (`time.monotonic`) is past `until`, what was judged is written at once.
        """
        fresh = [place for place, one in enumerate(self._members) if not one.compared]
        done: set[int] = set()
        asked: list[Member] = []
        judged: list[_Judged] = []
        for near in self._search(fresh):
            asked += [self._members[place] for place in near.asked.tolist()]
            judged.append(self._judged(near))
            late = until is not None and time.monotonic() > until
            if late or len(asked) >= max(AT_ONCE, len(fresh) // WRITES):
                yield self._written(asked, judged, done)
                asked, judged = [], []
        if asked:
            yield self._written(asked, judged, done)

    def _written(self, asked: Sequence[Member], judged: Sequence[_Judged], done: set[int]) -> tuple[int, int]:
        done.update(one.number for one in asked)
        columns = (np.concatenate([getattr(part, name.name) for part in judged]) for name in fields(_Judged))
        return len(asked), self._write(asked, _Judged(*columns), done)

    def strongest(self, ids: Iterable[str]) -> dict[str, float]:
        """Return the strength of the strongest link of these memories, of those that have vectors."""
        return {key: max(links.values(), default=0.0) for key, links in self.links(ids).items()}

    def links(self, ids: Iterable[str]) -> dict[str, dict[str, float]]:
        """Return with what each of these memories would be connected, and how strongly: by comparing all."""
        wanted = set(ids)
        asked = [place for place, one in enumerate(self._members) if one.id in wanted]
        found: dict[str, dict[str, float]] = {self._members[place].id: {} for place in asked}
        for near in self._search(asked, exact=True):
            judged = self._judged(near)
            for one, other, strong in zip(
                judged.ones[judged.own].tolist(),
                judged.others[judged.own].tolist(),
                judged.strengths[judged.own].tolist(),
                strict=True,
            ):
                found[self._members[one].id][self._members[other].id] = strong
        return found

    def _search(self, asked: Sequence[int], *, exact: bool = False) -> Iterator[Near]:
        bar = self._scale.cosine(LOWEST)
        rows = np.array(asked, np.intp)
        return search(self._space, rows, count=CANDIDATES, bar=bar, at_once=AT_ONCE, exact=exact)

    def _judged(self, near: Near) -> _Judged:
        """Return all connections among the candidates of some memories."""
        ones, others, cosines = self._candidates(near)
        shared = self._words.shared(ones, others)
        strong = strengths(self._scale, cosines, shared)
        found = np.flatnonzero(strong >= CONNECTED)
        ones, others, cosines = ones[found], others[found], cosines[found].round(4)
        strong = strong[found].round(4)
        order = np.lexsort((self._numbers[others], -cosines, -strong, ones))
        firsts = np.flatnonzero(np.diff(ones[order], prepend=-1))
        own = np.arange(len(order)) - np.repeat(firsts, np.diff(firsts, append=len(order))) < MOST
        shared = shared[found].round(4)
        return _Judged(ones[order], others[order], cosines[order], shared[order], strong[order], own)

    def _candidates(self, near: Near) -> tuple[Rows, Rows, Vectors]:
        """Return pairs that may be connected, those of one memory after each other, and their cosines."""
        matrix, specs = self._space.matrix, self._space.specs
        ones, others = near.asked[near.places], near.columns
        named = [
            (place, other) for place in near.asked.tolist() for other in sorted(self._sharing.get(place, ()))
        ]
        if not named:
            return ones, others, near.cosines
        firsts, seconds = np.array(named, np.intp).T
        new = ~np.isin(firsts * len(matrix) + seconds, ones * len(matrix) + others)
        new &= (specs[firsts] == specs[seconds]) | (specs[firsts] == 0) | (specs[seconds] == 0)
        firsts, seconds = firsts[new], seconds[new]
        ones, others = np.concatenate([ones, firsts]), np.concatenate([others, seconds])
        products = np.einsum("ij,ij->i", matrix[firsts], matrix[seconds])
        order = np.argsort(ones, kind="stable")
        return ones[order], others[order], np.concatenate([near.cosines, products])[order]

    def _edges(self, judged: _Judged, wanted: NDArray[np.bool_]) -> dict[_Pair, Edge]:
        return {(row[0], row[1]): Edge._make(row) for row in self._rows(judged, wanted)}

    def _rows(self, judged: _Judged, wanted: NDArray[np.bool_]) -> list[EdgeRow]:
        """Return the columns of edges, each pair once."""
        ones, others = self._numbers[judged.ones[wanted]], self._numbers[judged.others[wanted]]
        low, high = np.minimum(ones, others), np.maximum(ones, others)
        order = np.lexsort((high, low))
        low, high = low[order], high[order]
        new = (np.diff(low, prepend=-1) != 0) | (np.diff(high, prepend=-1) != 0)
        columns = (low, high, judged.cosines[wanted][order].astype(float), judged.shared[wanted][order])
        every = (*columns, judged.strengths[wanted][order])
        return list(zip(*(column[new].tolist() for column in every), strict=True))

    def _write(self, asked: Sequence[Member], judged: _Judged, done: Collection[int]) -> int:
        """Write what some memories are connected with; return how many connections.

        `done` are all that were compared in this run: they have seen these already.
        """
        new = {one.number for one in asked}
        stale = [
            (edge.low, edge.high)
            for edge in self._connections.edges(one.number for one in asked if one.before)
            if edge.low not in done or edge.high not in done or new >= {edge.low, edge.high}
        ]
        kept = self._rows(judged, judged.own)
        # A new one may be among the strongest of those that were compared before, and push another out.
        old = np.isin(self._numbers[judged.others], self._compared)
        touched = set(self._numbers[judged.others[old]].tolist())
        former = {
            (one.low, one.high): one
            for one in self._connections.edges(touched)
            if one.low not in new and one.high not in new
        }
        edges = self._edges(judged, old)
        best = strongest({**former, **edges}, of=touched)
        kept += [edges[pair] for pair in dict.fromkeys(itertools.chain(*best.values())) if pair in edges]
        fallen = {pair for pair in former if not any(pair in best.get(number, ()) for number in pair)}
        others = {number for pair in fallen for number in pair} - touched
        held = strongest({(one.low, one.high): one for one in self._connections.edges(others)}, of=others)
        fallen -= {pair for pairs in held.values() for pair in pairs}
        return self._connections.write(
            kept,
            project=self._project,
            compared={one.number: one.content_hash for one in asked},
            model=self._model,
            without=[*stale, *fallen],
        )
