"""Compares memories of one project with each other, and writes what is connected."""

import itertools
import time
from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ragmem.domain.lifecycle.connections import Scale, strongest
from ragmem.ports import ShowsVectors
from ragmem.services.connections import judging
from ragmem.services.connections.judging import Job, Judged, Judging, Known, together
from ragmem.services.connections.shared_code import with_code_names
from ragmem.services.vectors.near_vectors import Near
from ragmem.services.vectors.project_vectors import read_space
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.lifecycle.connections import Edge, EdgeRow, Member

WRITES = 10
"""Transactions in which the connections of many memories are written: each touches most of the table."""

USUAL = 1000
"""Memories of a project that say how rare a word is there, the same ones for each comparison."""

_Pair = tuple[int, int]


class Comparison:
    """Memories of one project, as far as they are compared: with their vectors and names."""

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
        self._project = project
        self._model = store.answering_model()
        known = {one.id: one for one in members}
        ids, space = read_space(
            store, project, {key: one.spec for key, one in known.items()}, all_of_project=all_of_project
        )
        self._members = [known[key] for key in ids]
        self._fresh = [place for place, one in enumerate(self._members) if not one.compared]
        self._compared = np.array([one.number for one in self._members if one.compared], np.int64)
        self._numbers = np.array([one.number for one in self._members], np.int64)
        usual = catalog.connections.sampled_numbers(project, USUAL)
        numbers = None if all_of_project else [*self._numbers.tolist(), *usual]
        names = with_code_names(catalog, project, catalog.connections.names(project, numbers))
        self._known = Known(space, self._numbers, names, usual, scale)

    def job(self) -> Job:
        """Return what is to be judged of the memories that were not compared, for another process."""
        numbers = dict.fromkeys([*self._known.usual, *self._numbers.tolist()])
        texts = {one[0]: one for one in self._connections.texts(numbers)}
        return Job(self._known, texts, self._fresh)

    def write_fresh(self, *, until: float | None = None) -> Iterator[tuple[int, int]]:
        """Compare what was not, and write it; yield how many memories and connections after each write.

        When the clock (`time.monotonic`) is past `until`, what was judged is written at once.
        """
        return self.write(self._judging().judged(self._fresh), until=until)

    def write(self, judged: Iterable[Judged], *, until: float | None = None) -> Iterator[tuple[int, int]]:
        """Write what the memories that were not compared came to, as `write_fresh` does."""
        done: set[int] = set()
        parts: list[Judged] = []
        for part in judged:
            parts.append(part)
            late = until is not None and time.monotonic() > until
            if late or sum(len(one.asked) for one in parts) >= max(
                judging.AT_ONCE, len(self._fresh) // WRITES
            ):
                yield self._written(together(parts), done)
                parts = []
        if parts:
            yield self._written(together(parts), done)

    def _written(self, judged: Judged, done: set[int]) -> tuple[int, int]:
        asked = [self._members[place] for place in judged.asked.tolist()]
        done.update(one.number for one in asked)
        return len(asked), self._write(asked, judged, done)

    def _judging(self) -> Judging:
        return Judging(self._known, self._connections.texts)

    @property
    def places(self) -> dict[str, int]:
        """The place of each memory that has vectors, by its id."""
        return {one.id: place for place, one in enumerate(self._members)}

    def strongest(self, near: Iterable[Near]) -> dict[str, float]:
        """Return the strength of the strongest link of each memory that was asked for, 0 without one.

        `near` is what may be connected with them beside what shares a rare name.
        """
        judging = self._judging()
        found: dict[str, float] = {}
        for part in near:
            found |= {self._members[place].id: 0.0 for place in part.asked.tolist()}
            judged = judging.among(part)
            for one, strong in zip(judged.ones.tolist(), judged.strengths.tolist(), strict=True):
                key = self._members[one].id
                found[key] = max(found[key], strong)
        return found

    def _edges(self, judged: Judged, wanted: NDArray[np.bool_]) -> dict[_Pair, Edge]:
        return {(row[0], row[1]): Edge._make(row) for row in self._rows(judged, wanted)}

    def _rows(self, judged: Judged, wanted: NDArray[np.bool_]) -> list[EdgeRow]:
        """Return the columns of edges, each pair once."""
        ones, others = self._numbers[judged.ones[wanted]], self._numbers[judged.others[wanted]]
        low, high = np.minimum(ones, others), np.maximum(ones, others)
        order = np.lexsort((high, low))
        low, high = low[order], high[order]
        new = (np.diff(low, prepend=-1) != 0) | (np.diff(high, prepend=-1) != 0)
        columns = (low, high, judged.cosines[wanted][order].astype(float), judged.shared[wanted][order])
        every = (*columns, judged.strengths[wanted][order])
        return list(zip(*(column[new].tolist() for column in every), strict=True))

    def _write(self, asked: Sequence[Member], judged: Judged, done: Collection[int]) -> int:
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
