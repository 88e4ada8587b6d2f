"""Compare the memories of one project with each other, and store the connections."""

import itertools
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ragmem.domain.code.qualified_names import ends_with, parts_of
from ragmem.domain.lifecycle.connections import Scale, strongest
from ragmem.ports import VectorIndex
from ragmem.services.connections import pair_comparison
from ragmem.services.connections.pair_comparison import (
    AT_ONCE,
    CANDIDATES,
    LOWEST,
    ConnectionBatch,
    Job,
    PairComparison,
    ProjectVectors,
    join_batches,
)
from ragmem.services.vectors.near_vectors import Neighbours
from ragmem.services.vectors.neighbour_search import search
from ragmem.services.vectors.project_vectors import read_space
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.lifecycle.connections import Edge, EdgeRow, Member

WRITES = 10
"""Memories per transaction; each transaction touches most of the table."""

USUAL = 1000
"""Sample of a project's memories for the rarity of words, the same one for each comparison."""

_Pair = tuple[int, int]


class Comparison:
    """Memories of one project to compare, with their vectors and names."""

    def __init__(
        self,
        catalog: Catalog,
        store: VectorIndex,
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
        self._known = ProjectVectors(space, self._numbers, names, usual, scale)

    def job(self) -> Job:
        """Return the job of comparing new memories, for another process."""
        numbers = dict.fromkeys([*self._known.usual, *self._numbers.tolist()])
        texts = {one[0]: one for one in self._connections.texts(numbers)}
        return Job(self._known, texts, self._fresh)

    def write_fresh(self, *, until: float | None = None) -> Iterator[tuple[int, int]]:
        """Compare the new memories and write the result; yield the numbers of memories and connections.

        When the clock (`time.monotonic`) is past `until`, the results so far are written at once.
        """
        return self.write(self._pair_comparison().connections(self._fresh), until=until)

    def write(
        self, judged: Iterable[ConnectionBatch], *, until: float | None = None
    ) -> Iterator[tuple[int, int]]:
        """Write the results of a job, as `write_fresh` does."""
        done: set[int] = set()
        parts: list[ConnectionBatch] = []
        for part in judged:
            parts.append(part)
            late = until is not None and time.monotonic() > until
            if late or sum(len(one.asked) for one in parts) >= max(
                pair_comparison.AT_ONCE, len(self._fresh) // WRITES
            ):
                yield self._write_batch(join_batches(parts), done)
                parts = []
        if parts:
            yield self._write_batch(join_batches(parts), done)

    def _write_batch(self, judged: ConnectionBatch, done: set[int]) -> tuple[int, int]:
        asked = [self._members[place] for place in judged.asked.tolist()]
        done.update(one.number for one in asked)
        return len(asked), self._write(asked, judged, done)

    def _pair_comparison(self) -> PairComparison:
        return PairComparison(self._known, self._connections.texts)

    @property
    def places(self) -> dict[str, int]:
        """The index of each memory that has vectors, by its id."""
        return {one.id: place for place, one in enumerate(self._members)}

    def strongest(self, near: Iterable[Neighbours]) -> dict[str, float]:
        """Return the strength of each given memory's strongest link, 0 without one.

        `near` are the candidates by vectors; those that share a rare name are added.
        """
        comparison = self._pair_comparison()
        found: dict[str, float] = {}
        for part in near:
            found |= {self._members[place].id: 0.0 for place in part.asked.tolist()}
            judged = comparison.among(part)
            for one, strong in zip(judged.ones.tolist(), judged.strengths.tolist(), strict=True):
                key = self._members[one].id
                found[key] = max(found[key], strong)
        return found

    def _edges(self, judged: ConnectionBatch, wanted: NDArray[np.bool_]) -> dict[_Pair, Edge]:
        return {(row[0], row[1]): Edge._make(row) for row in self._rows(judged, wanted)}

    def _rows(self, judged: ConnectionBatch, wanted: NDArray[np.bool_]) -> list[EdgeRow]:
        """Return the columns of edges, each pair once."""
        ones, others = self._numbers[judged.ones[wanted]], self._numbers[judged.others[wanted]]
        low, high = np.minimum(ones, others), np.maximum(ones, others)
        order = np.lexsort((high, low))
        low, high = low[order], high[order]
        new = (np.diff(low, prepend=-1) != 0) | (np.diff(high, prepend=-1) != 0)
        columns = (low, high, judged.cosines[wanted][order].astype(float), judged.shared[wanted][order])
        every = (*columns, judged.strengths[wanted][order])
        return list(zip(*(column[new].tolist() for column in every), strict=True))

    def _write(self, asked: Sequence[Member], judged: ConnectionBatch, done: Collection[int]) -> int:
        """Write the connections of some memories; return their number.

        `done` are all that were compared in this run: they have seen these already.
        """
        new = {one.number for one in asked}
        stale = [
            (edge.low, edge.high)
            for edge in self._connections.edges(one.number for one in asked if one.before)
            if edge.low not in done or edge.high not in done or new >= {edge.low, edge.high}
        ]
        kept = self._rows(judged, judged.own)
        # A new one may be among the strongest of an already compared memory, and displace another.
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


def with_code_names(
    catalog: Catalog, project: str, named: Mapping[int, frozenset[str]]
) -> Mapping[int, frozenset[str]]:
    """Return the names in memories, with a symbol or file of the project's code under its full name.

    `Store.put` and `put` are the same symbol if the project has only one, and so is a file under a former
    path. Ambiguous names, and names that are not code, stay unchanged.
    """
    if project not in {root.project for root in catalog.code.roots()}:
        return named
    whole = _whole_names(catalog, project, {name for names in named.values() for name in names})
    return {memory: frozenset(whole.get(name, name) for name in names) for memory, names in named.items()}


def _whole_names(catalog: Catalog, project: str, names: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    files = {name: name.rpartition("/")[2] for name in names if "." in name.rpartition("/")[2]}
    paths: dict[str, list[str]] = {}
    for path in catalog.code.paths_called(project, files.values()):
        paths.setdefault(path.rpartition("/")[2], []).append(path)
    for name, last in files.items():
        here = [path for path in paths.get(last, ()) if f"/{path}".endswith(f"/{name}")]
        if not here and (current := catalog.code.current(project, name)):
            here = [current]
        if len(here) == 1:
            found[name] = here[0]
    ends = {name: parts_of(name.removesuffix("()")) for name in names if name not in found}
    symbols: dict[str, list[str]] = {}
    for one in catalog.code.symbols_called(project, (parts[-1] for parts in ends.values() if parts)):
        symbols.setdefault(one.symbol.name, []).append(one.symbol.qualified)
    for name, parts in ends.items():
        meant = [symbol for symbol in symbols.get(parts[-1], ()) if ends_with(symbol, parts)] if parts else []
        if len(meant) == 1:
            found[name] = meant[0]
    return found


def strongest_links(
    catalog: Catalog, store: VectorIndex, project: str, scale: Scale, ids: Sequence[str]
) -> dict[str, float]:
    """Return the strength of the strongest link of memories with vectors, 0 if there is none.

    Words and names are read only of candidates. Raises BackendError.
    """
    members = catalog.connections.members(project, store.answering_model())
    known, space = read_space(store, project, {one.id: one.spec for one in members}, all_of_project=True)
    wanted = set(ids)
    asked = np.array([place for place, key in enumerate(known) if key in wanted], np.intp)
    if not len(asked):
        return {}
    every = list(search(space, asked, count=CANDIDATES, bar=-1.0, at_once=AT_ONCE, exact=True))
    some = wanted.union(catalog.connections.with_shared_names(project, ids))
    for part in every:
        some.update(known[place] for place in part.columns.tolist())
    few = [one for one in members if one.id in some]
    comparison = Comparison(catalog, store, project, scale, few, all_of_project=False)
    return comparison.strongest(_among(comparison.places, known, every, bar=scale.cosine(LOWEST)))


def _among(
    places: Mapping[str, int], known: Sequence[str], every: Sequence[Neighbours], *, bar: float
) -> Iterator[Neighbours]:
    """Yield neighbours by index instead of id, like the result of a search."""
    # Deleted memories are skipped.
    new = np.array([places.get(key, -1) for key in known], np.intp)
    asked = np.sort(np.concatenate([new[part.asked] for part in every]))
    asked = asked[asked >= 0]
    ones = np.concatenate([new[part.asked[part.places]] for part in every])
    others = np.concatenate([new[part.columns] for part in every])
    cosines = np.concatenate([part.cosines for part in every])
    there = np.flatnonzero((ones >= 0) & (others >= 0) & (cosines >= bar))
    there = there[np.argsort(ones[there], kind="stable")]
    ones, others, cosines = ones[there], others[there], cosines[there]
    for start in range(0, len(asked), AT_ONCE):
        rows = asked[start : start + AT_ONCE]
        part = slice(*np.searchsorted(ones, [rows[0], rows[-1] + 1]).tolist())
        yield Neighbours(rows, np.searchsorted(rows, ones[part]), others[part], cosines[part])
