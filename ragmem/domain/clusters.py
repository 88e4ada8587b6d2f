"""Find memories that are mutually connected: the clusters that may become one memory each."""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ragmem.domain.lifecycle import Connection, Entry

MEAN = 0.24
"""Mean likeness between the members of two clusters that become one; two that are not alike count as 0."""

MOST_MEMBERS = 12
"""More are a field of work, not one thing."""

MOST_CHARS = 12_000
"""Characters of all members together: a merged memory of more would be read by nobody."""


_Offer: TypeAlias = tuple[float, int, int, int, int]
"""That two clusters become one: their mean likeness with a minus, both numbers, and the sizes they had."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Memories about one thing, by event time; `mean` is the mean strength between any two of them."""

    members: tuple[Entry, ...]
    mean: float


def clusters(entries: Iterable[Entry], connections: Iterable[Connection], *, minimum: int) -> list[Cluster]:
    """Return the clusters of so many memories or more, none of which is in two; the strongest first.

    Clusters grow from single memories: those become one that are connected best on average, between all of
    their members (average linkage; Sokal and Michener 1958). So a memory that belongs to two things does not
    join them, and of a component that speaks of several things each becomes its own cluster. A connection
    with an id that is not among the entries, or between projects or specs, counts for nothing. The order of
    entries and connections does not matter.
    """
    known = {entry.id: entry for entry in entries}
    growing = _Growing(sorted(known.values(), key=lambda entry: entry.id))
    numbers = {entry.id: number for number, entry in enumerate(growing.entries)}
    for one in connections:
        first, second = numbers.get(one.first), numbers.get(one.second)
        if first is not None and second is not None and first != second:
            growing.connect(first, second, one.strength)
    found = [
        Cluster(tuple(sorted((growing.entries[member] for member in members), key=_when)), mean)
        for members, mean in growing.grow()
        if len(members) >= minimum
    ]
    return sorted(found, key=lambda cluster: (-round(cluster.mean, 9), cluster.members[0].id))


class _Growing:
    """Clusters that grow; each has the number of one of its members."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = entries
        self._scopes = [entry.scope for entry in entries]
        self._members = [[number] for number in range(len(entries))]
        self._sizes = [1] * len(entries)
        """Of a cluster that became a part of another one: 0."""
        self._chars = [len(entry.text) for entry in entries]
        self._between: list[dict[int, float]] = [{} for _ in entries]
        self._within = [0.0] * len(entries)

    def connect(self, one: int, other: int, strength: float) -> None:
        """Connect two entries of one scope."""
        first, second = self._scopes[one], self._scopes[other]
        if first.project == second.project and (
            not first.spec or not second.spec or first.spec == second.spec
        ):
            self._between[one][other] = self._between[other][one] = strength

    def grow(self) -> list[tuple[list[int], float]]:
        """Join what is connected best, until nothing is enough; return members and mean strength."""
        singles = [
            offer
            for one, others in enumerate(self._between)
            for offer in self._offers(one, [other for other in others if one < other])
        ]
        # Most come from single memories: put in order once, the best last, they are faster than in a heap.
        singles.sort(reverse=True)
        grown: list[_Offer] = []
        while singles or grown:
            single = not grown or (singles and singles[-1] < grown[0])
            _, one, other, size, other_size = singles.pop() if single else heapq.heappop(grown)
            if self._sizes[one] == size and self._sizes[other] == other_size:
                for offer in self._join(one, other):
                    heapq.heappush(grown, offer)
        return [
            (members, self._within[number] / max(1, len(members) * (len(members) - 1) // 2))
            for number, members in enumerate(self._members)
            if members
        ]

    def _offers(self, one: int, others: Iterable[int]) -> Iterator[_Offer]:
        """Yield places in the queue, of what is connected enough; the sizes tell later whether one holds."""
        own, chars, between = self._sizes[one], self._chars[one], self._between[one]
        for other in others:
            size = self._sizes[other]
            if own + size > MOST_MEMBERS or chars + self._chars[other] > MOST_CHARS:
                continue
            # Rounded, so that what is as strong stands in the order of ids on every machine.
            mean = round(between[other] / (own * size), 9)
            if mean >= MEAN:
                yield (-mean, one, other, own, size) if one < other else (-mean, other, one, size, own)

    def _join(self, one: int, other: int) -> Iterator[_Offer]:
        """Make one cluster of two; return its connections with others."""
        gone, kept = self._between[other], self._between[one]
        self._within[one] += self._within[other] + gone.pop(one)
        del kept[other]
        self._members[one] += self._members[other]
        self._sizes[one] += self._sizes[other]
        self._chars[one] += self._chars[other]
        self._members[other], self._sizes[other], self._between[other] = [], 0, {}
        for third, total in gone.items():
            theirs = self._between[third]
            del theirs[other]
            kept[third] = theirs[one] = kept.get(third, 0.0) + total
        return self._offers(one, kept)


def _when(entry: Entry) -> tuple[float, int, str]:
    return entry.memory.event_time.timestamp(), entry.number, entry.id
