"""Neighbours: the memories before and after a good one in the same session or file.

The answer to a question often has none of its words: they are in the turn before it. Of the turns that full
text and vectors miss, a third lie within two turns of a hit.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from ragmem.domain.model import Hit, Match, Scope, memory_id
from ragmem.domain.retrieval.scoring import ScoredMemory
from ragmem.patterns import lazy
from ragmem.services.retrieval.sources import Search
from ragmem.storage.memories.memories import Place

STARTS = 5
"""Number of best memories whose neighbours are looked up; those of others reach no place that is shown."""

NEXT, NEXT_BUT_ONE = 1.0, 0.9
"""Share of a memory's relevance that counts for its neighbours at each distance."""

SHORT = 300
"""Characters up to which a text needs its neighbours fully to be understood; a longer one speaks for itself.
Without this limit the long turns of an assistant take the places of the right ones."""

_NUMBERED = lazy(r"(.*[#:/.])(0|[1-9]\d{0,8})", re.DOTALL)
"""The place of a part: the session or file, a separator, and the number of the part. The numbers of names, as
in "ADR-12", are no places."""


def neighbours(search: Search) -> Sequence[Hit]:
    """Return the first chunks of the neighbours of the best seeds, best first.

    A hit's score is the relevance of the best seed beside it, less for the next but one and for a long text.
    """
    seeds = search.seeds[:STARTS]
    places = search.catalog.memories.places(hit.memory_id for hit in seeds)
    best: dict[str, float] = {}
    for hit in seeds:
        for neighbour, share in _beside(places.get(hit.memory_id)):
            best[neighbour] = max(best.get(neighbour, 0.0), share * hit.score)
    if not best:
        return []
    found = []
    for memory, (chunk, length) in search.catalog.memories.extents(best).items():
        found.append((best[memory] * min(1.0, SHORT / max(1, length)), memory, chunk))
    found.sort(key=lambda one: (-one[0], one[1]))
    return [Hit(chunk, memory, rank, score) for rank, (score, memory, chunk) in enumerate(found, start=1)]


def name_neighbours(matches: Sequence[Match], scores: Iterable[ScoredMemory]) -> list[Match]:
    """Return the matches, each with the id of the more relevant neighbour that supports it."""
    own = {item.memory_id: item.own for item in scores}

    def speaking(match: Match) -> str:
        memory = match.memory
        if match.terms.get("neighbours", 0.0) <= own.get(memory.id, 0.0):
            return ""
        place = Place(memory.source, memory.scope.project, memory.scope.spec, memory.uri)
        beside = ((share * own[other], other) for other, share in _beside(place) if other in own)
        return max(beside, default=(0.0, ""))[1]

    return [replace(match, neighbour=other) if (other := speaking(match)) else match for match in matches]


def _beside(place: Place | None) -> Iterator[tuple[str, float]]:
    """Yield the ids of the memories that are beside a place, if they exist, with their shares."""
    found = _NUMBERED.fullmatch(place.uri) if place else None
    if place is None or found is None:
        return
    series, number = found.group(1), int(found.group(2))
    for step, share in ((-1, NEXT), (1, NEXT), (-2, NEXT_BUT_ONE), (2, NEXT_BUT_ONE)):
        if number + step >= 0:
            yield _id_at(place.source, place.project, place.spec, f"{series}{number + step}"), share


@lru_cache(maxsize=4_096)
def _id_at(source: str, project: str, spec: str, uri: str) -> str:
    """Return the id of the memory at a place; questions come back to the same sessions and files."""
    return memory_id(source, Scope(project, spec), uri)
