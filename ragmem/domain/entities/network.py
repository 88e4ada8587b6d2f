"""A project's graph by numbers: who is linked with whom and how heavily, without types and texts."""

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Network:
    """Entities in the order of their names; `links[n]` are (number, weight) of the neighbours of `names[n]`.

    Undirected and without loops: every link stands on both sides.
    """

    names: tuple[str, ...]
    links: tuple[tuple[tuple[int, float], ...], ...]

    @classmethod
    def of(cls, edges: Iterable[tuple[str, str, float]], names: Iterable[str] = ()) -> "Network":
        """Return the network of (name, name, weight) and of names that may have no link.

        Of two edges between the same entities the weights are added; the order of the edges does not matter.
        """
        weights: dict[tuple[str, str], float] = {}
        repeated: dict[tuple[str, str], list[float]] = {}
        every = set(names)
        for source, target, weight in edges:
            every.add(source)
            every.add(target)
            if source == target:
                continue
            pair = (source, target) if source < target else (target, source)
            if pair in weights:
                repeated.setdefault(pair, [weights[pair]]).append(weight)
            else:
                weights[pair] = weight
        # fsum, since the sum of a few floats depends on their order.
        weights |= {pair: math.fsum(parts) for pair, parts in repeated.items()}
        ordered = tuple(sorted(every))
        number = {name: n for n, name in enumerate(ordered)}
        links: list[list[tuple[int, float]]] = [[] for _ in ordered]
        # In this order the neighbours of each node come in theirs.
        for source, target in sorted(weights):
            one, other, weight = number[source], number[target], weights[source, target]
            links[one].append((other, weight))
            links[other].append((one, weight))
        return cls(ordered, tuple(map(tuple, links)))

    def passing(self, node: int) -> float:
        """Return what it costs to pass through an entity: 1 with two neighbours, 10 with a thousand.

        The logarithm of the degree, as in the index of Adamic and Adar: that two things know `Python` tells
        little about them.
        """
        return math.log2(max(2, len(self.links[node])))
