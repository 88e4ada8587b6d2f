"""Find memories that are mutually connected: the clusters that may become one memory each."""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ragmem.domain.lifecycle import Connection, Entry

MEAN = 0.24
"""Mean likeness between the members of two clusters that become one; two that are not alike count as 0."""

MOST_MEMBERS = 12
"""More are a field of work, not one thing."""

MOST_CHARS = 12_000
"""Characters of all members together: a merged memory of more would be read by nobody."""


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
    for one in sorted(connections, key=lambda one: (one.first, one.second)):
        if one.first in known and one.second in known and one.first != one.second:
            growing.connect(numbers[one.first], numbers[one.second], one.strength)
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
        self._members = {number: [number] for number in range(len(entries))}
        self._chars = {number: len(entry.text) for number, entry in enumerate(entries)}
        self._between: dict[int, dict[int, float]] = defaultdict(dict)
        self._within: dict[int, float] = defaultdict(float)

    def connect(self, one: int, other: int, strength: float) -> None:
        """Connect two entries of one scope."""
        first, second = self.entries[one].scope, self.entries[other].scope
        if first.project == second.project and (
            not first.spec or not second.spec or first.spec == second.spec
        ):
            self._between[one][other] = self._between[other][one] = strength

    def grow(self) -> list[tuple[list[int], float]]:
        """Join what is connected best, until nothing is enough; return members and mean strength."""
        best = [
            offer
            for one, others in self._between.items()
            for offer in self._offers(one, [other for other in others if one < other])
        ]
        heapq.heapify(best)
        while best:
            _, one, other, size, other_size = heapq.heappop(best)
            fresh = one in self._members and other in self._members
            if fresh and (len(self._members[one]), len(self._members[other])) == (size, other_size):
                for offer in self._join(one, other):
                    heapq.heappush(best, offer)
        return [
            (members, self._within[number] / max(1, len(members) * (len(members) - 1) // 2))
            for number, members in self._members.items()
        ]

    def _offers(self, one: int, others: Iterable[int]) -> Iterator[tuple[float, int, int, int, int]]:
        """Yield places in the queue, of what is connected enough; the sizes tell later whether one holds."""
        own, between = len(self._members[one]), self._between[one]
        for other in others:
            size = len(self._members[other])
            # Rounded, so that what is as strong stands in the order of ids on every machine.
            mean = round(between[other] / (own * size), 9)
            if mean >= MEAN:
                yield (-mean, one, other, own, size) if one < other else (-mean, other, one, size, own)

    def _join(self, one: int, other: int) -> list[tuple[float, int, int, int, int]]:
        """Make one cluster of two, unless it became too large; return its connections with others."""
        if (
            len(self._members[one]) + len(self._members[other]) > MOST_MEMBERS
            or self._chars[one] + self._chars[other] > MOST_CHARS
        ):
            return []
        gone = self._between.pop(other)
        self._within[one] += self._within.pop(other, 0.0) + gone.pop(one)
        del self._between[one][other]
        self._members[one] += self._members.pop(other)
        self._chars[one] += self._chars.pop(other)
        for third, total in gone.items():
            del self._between[third][other]
            both = self._between[one].get(third, 0.0) + total
            self._between[one][third] = self._between[third][one] = both
        return list(self._offers(one, self._between[one]))


def _when(entry: Entry) -> tuple[float, int, str]:
    return entry.memory.event_time.timestamp(), entry.number, entry.id
