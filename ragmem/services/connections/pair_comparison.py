"""Decide which memories of one project are connected, from their vectors, names and texts."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from ragmem.domain.lifecycle.connections import CONNECTED, MOST, Scale, memories_sharing_names
from ragmem.services.connections.shared_words import SharedWords, Told, strengths
from ragmem.services.vectors.near_vectors import Neighbours, Rows, Space, Vectors
from ragmem.services.vectors.neighbour_search import search
from ragmem.storage.lifecycle.connections import Text
from ragmem.storage.sql.batches import batches

CANDIDATES = 16
"""Number of nearest vectors that are candidates."""

LOWEST = 0.0
"""Minimum scaled cosine of a candidate: below it, words alone would have to decide."""

AT_ONCE = 2000
"""Memories that are processed together."""


@dataclass(frozen=True, slots=True)
class ProjectVectors:
    """The vectors and names of some memories of a project, by index; can be sent to another process."""

    space: Space
    numbers: NDArray[np.int64]
    names: Mapping[int, frozenset[str]]
    """By number, for these memories and for the sample of the rarity of words."""
    usual: Sequence[int]
    """Numbers of the memories in the sample of the rarity of words."""
    scale: Scale


@dataclass(frozen=True, slots=True)
class ConnectionBatch:
    """The connections of the `asked` memories, by index; `own` are the strongest of each of `ones`."""

    asked: Rows
    ones: Rows
    others: Rows
    cosines: Vectors
    shared: NDArray[np.float64]
    strengths: NDArray[np.float64]
    own: NDArray[np.bool_]


def join_batches(parts: Sequence[ConnectionBatch]) -> ConnectionBatch:
    """Join at least one batch to one."""
    return ConnectionBatch(
        *(np.concatenate([getattr(part, name.name) for part in parts]) for name in fields(ConnectionBatch))
    )


@dataclass(frozen=True, slots=True)
class Job:
    """New memories of a project that must be compared with all of it, and all data for that."""

    known: ProjectVectors
    texts: Mapping[int, Text]
    """By number, including the sample of the rarity of words."""
    fresh: Sequence[int]


def run_job(job: Job) -> list[ConnectionBatch]:
    """Return the connections of a job."""
    return list(PairComparison(job.known, lambda numbers: _read(job.texts, numbers)).connections(job.fresh))


def _read(texts: Mapping[int, Text], numbers: Iterable[int]) -> Iterator[Text]:
    """Yield texts in the order of the catalog, because the first of equally distinctive words count."""
    for part in batches(numbers):
        yield from (texts[number] for number in sorted(part) if number in texts)


class PairComparison:
    """Compares the memories of one project."""

    def __init__(self, known: ProjectVectors, texts: Callable[[Iterable[int]], Iterable[Text]]) -> None:
        """`texts` returns the texts of memories by number, on demand."""
        self._known, self._texts = known, texts
        self._places = {number: place for place, number in enumerate(known.numbers.tolist())}
        self._sharing = memories_sharing_names(
            (self._places[n], found) for n, found in known.names.items() if n in self._places
        )
        self._words = SharedWords(
            len(known.numbers), self._texts_of_places, self._texts_with_names(known.usual)
        )

    def _texts_of_places(self, places: Rows) -> Iterator[Told]:
        for number, title, text, summary, names in self._texts_with_names(
            self._known.numbers[places].tolist()
        ):
            yield self._places[number], title, text, summary, names

    def _texts_with_names(self, numbers: Iterable[int]) -> Iterator[Told]:
        for number, title, text, summary in self._texts(numbers):
            yield number, title, text, summary, self._known.names.get(number, ())

    def connections(self, asked: Sequence[int]) -> Iterator[ConnectionBatch]:
        """Yield the connections of the memories at these indexes, in batches."""
        bar = self._known.scale.cosine(LOWEST)
        rows = np.array(asked, np.intp)
        for near in search(self._known.space, rows, count=CANDIDATES, bar=bar, at_once=AT_ONCE):
            yield self.among(near)

    def among(self, near: Neighbours) -> ConnectionBatch:
        """Return all connections among the candidates of some memories."""
        ones, others, cosines = self._candidates(near)
        shared = self._words.overlap(ones, others)
        strong = strengths(self._known.scale, cosines, shared)
        found = np.flatnonzero(strong >= CONNECTED)
        ones, others, cosines = ones[found], others[found], cosines[found].round(4)
        shared, strong = shared[found].round(4), strong[found].round(4)
        order = np.lexsort((self._known.numbers[others], -cosines, -strong, ones))
        firsts = np.flatnonzero(np.diff(ones[order], prepend=-1))
        own = np.arange(len(order)) - np.repeat(firsts, np.diff(firsts, append=len(order))) < MOST
        return ConnectionBatch(
            near.asked, ones[order], others[order], cosines[order], shared[order], strong[order], own
        )

    def _candidates(self, near: Neighbours) -> tuple[Rows, Rows, Vectors]:
        """Return candidate pairs, grouped by memory, and their cosines."""
        matrix, specs = self._known.space.matrix, self._known.space.specs
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
