"""The graph of a project by number: weighted links without types and texts."""

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Network:
    """Entities in the order of their names; `links[n]` are (number, weight) of the neighbours of `names[n]`.

    The network is undirected and without loops: every link is listed at both ends.
    """

    names: tuple[str, ...]
    links: tuple[tuple[tuple[int, float], ...], ...]

    @classmethod
    def of(cls, edges: Iterable[tuple[str, str, float]], names: Iterable[str] = ()) -> "Network":
        """Build a network from (name, name, weight) and from names that may have no link.

        The weights of parallel edges are added; the order of the edges does not matter.
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
        # fsum, because a sum of floats depends on the order.
        weights |= {pair: math.fsum(parts) for pair, parts in repeated.items()}
        ordered = tuple(sorted(every))
        number = {name: n for n, name in enumerate(ordered)}
        links: list[list[tuple[int, float]]] = [[] for _ in ordered]
        # This order keeps the neighbours of each node sorted.
        for source, target in sorted(weights):
            one, other, weight = number[source], number[target], weights[source, target]
            links[one].append((other, weight))
            links[other].append((one, weight))
        return cls(ordered, tuple(map(tuple, links)))

    def node_cost(self, node: int) -> float:
        """Return the cost of a path through an entity: 1 with two neighbours, 10 with a thousand.

        The logarithm of the degree, as in the index of Adamic and Adar: two entities with a common neighbour
        `Python` may have little in common.
        """
        return math.log2(max(2, len(self.links[node])))
