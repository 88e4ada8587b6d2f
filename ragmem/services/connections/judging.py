"""Judges which memories of one project are connected, from vectors, names and texts that others have read."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from ragmem.domain.lifecycle.connections import CONNECTED, MOST, Scale, sharing
from ragmem.services.connections.shared_words import SharedWords, Told, strengths
from ragmem.services.vectors.near_vectors import Near, Rows, Space, Vectors
from ragmem.services.vectors.neighbour_search import search
from ragmem.storage.lifecycle.connections import Text
from ragmem.storage.sql.batches import batches

CANDIDATES = 16
"""Nearest by vectors that are judged."""

LOWEST = 0.0
"""Place on the scale below which a cosine makes no candidate: words alone would have to say all."""

AT_ONCE = 2000
"""Memories that are judged together."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of some memories of a project, each by its place; it can be handed to another process."""

    space: Space
    numbers: NDArray[np.int64]
    names: Mapping[int, frozenset[str]]
    """By number, of these memories and of those that say how rare a word is."""
    usual: Sequence[int]
    """Numbers of the memories that say how rare a word is."""
    scale: Scale


@dataclass(frozen=True, slots=True)
class Judged:
    """Connections that the `asked` found, all by places; `own` are the strongest of each of `ones`."""

    asked: Rows
    ones: Rows
    others: Rows
    cosines: Vectors
    shared: NDArray[np.float64]
    strengths: NDArray[np.float64]
    own: NDArray[np.bool_]


def together(parts: Sequence[Judged]) -> Judged:
    """Return several, at least one, as one."""
    return Judged(*(np.concatenate([getattr(part, name.name) for part in parts]) for name in fields(Judged)))


@dataclass(frozen=True, slots=True)
class Job:
    """Memories of a project that are to be compared with all of it, with all that this asks for."""

    known: Known
    texts: Mapping[int, Text]
    """By number, also those of the memories that say how rare a word is."""
    fresh: Sequence[int]


def judged_of(job: Job) -> list[Judged]:
    """Return what a job comes to."""
    return list(Judging(job.known, lambda numbers: _read(job.texts, numbers)).judged(job.fresh))


def _read(texts: Mapping[int, Text], numbers: Iterable[int]) -> Iterator[Text]:
    """Yield texts as the catalog does, for of words that tell as much those count that are met first."""
    for part in batches(numbers):
        yield from (texts[number] for number in sorted(part) if number in texts)


class Judging:
    """Compares memories of one project."""

    def __init__(self, known: Known, texts: Callable[[Iterable[int]], Iterable[Text]]) -> None:
        """`texts` gives those of memories by their numbers, when they are first asked for."""
        self._known, self._texts = known, texts
        self._places = {number: place for place, number in enumerate(known.numbers.tolist())}
        self._sharing = sharing(
            (self._places[n], found) for n, found in known.names.items() if n in self._places
        )
        self._words = SharedWords(len(known.numbers), self._told, self._named(known.usual))

    def _told(self, places: Rows) -> Iterator[Told]:
        for number, title, text, summary, names in self._named(self._known.numbers[places].tolist()):
            yield self._places[number], title, text, summary, names

    def _named(self, numbers: Iterable[int]) -> Iterator[Told]:
        for number, title, text, summary in self._texts(numbers):
            yield number, title, text, summary, self._known.names.get(number, ())

    def judged(self, asked: Sequence[int]) -> Iterator[Judged]:
        """Yield the connections of the memories at these places, of some at a time."""
        bar = self._known.scale.cosine(LOWEST)
        rows = np.array(asked, np.intp)
        for near in search(self._known.space, rows, count=CANDIDATES, bar=bar, at_once=AT_ONCE):
            yield self.among(near)

    def among(self, near: Near) -> Judged:
        """Return all connections among the candidates of some memories."""
        ones, others, cosines = self._candidates(near)
        shared = self._words.shared(ones, others)
        strong = strengths(self._known.scale, cosines, shared)
        found = np.flatnonzero(strong >= CONNECTED)
        ones, others, cosines = ones[found], others[found], cosines[found].round(4)
        shared, strong = shared[found].round(4), strong[found].round(4)
        order = np.lexsort((self._known.numbers[others], -cosines, -strong, ones))
        firsts = np.flatnonzero(np.diff(ones[order], prepend=-1))
        own = np.arange(len(order)) - np.repeat(firsts, np.diff(firsts, append=len(order))) < MOST
        return Judged(
            near.asked, ones[order], others[order], cosines[order], shared[order], strong[order], own
        )

    def _candidates(self, near: Near) -> tuple[Rows, Rows, Vectors]:
        """Return pairs that may be connected, those of one memory after each other, and their cosines."""
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
