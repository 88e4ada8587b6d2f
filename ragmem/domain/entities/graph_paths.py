"""The most telling ways from one entity to another: few steps, well supported, not over hubs."""

import math
from dataclasses import dataclass
from functools import lru_cache
from heapq import heappop, heappush
from itertools import pairwise

from ragmem.domain.entities.network import Network

LEAST_STEP, MOST_STEP = 0.5, 2.0
"""What a step costs: 1 where one statement says it, 2 for a co-mention, down to 0.5 with much evidence."""

TRIES = 12
"""Searches in a row that find nothing new before there is taken to be no more: each makes what it went over
twice as dear."""


@dataclass(frozen=True, slots=True)
class Way:
    """The numbers of the entities from start to goal, each once, and the cost: lower tells more."""

    nodes: tuple[int, ...]
    cost: float


@dataclass(slots=True)
class _Surcharge:
    """What is added for places that were used already, so that the next search goes elsewhere."""

    nodes: dict[int, float]
    steps: dict[tuple[int, int], float]

    def use(self, network: Network, way: Way) -> None:
        """Make what a way goes over dearer: twice as much each time, so that any other way comes up."""
        for node in way.nodes[1:-1]:
            self.nodes[node] = 2 * self.nodes.get(node, 0.0) + network.passing(node)
        for one, other in pairwise(way.nodes):
            step = _ends(one, other)
            self.steps[step] = 2 * self.steps.get(step, 0.0) + 1.0


def ways(network: Network, start: int, goal: int, *, count: int) -> list[Way]:
    """Return up to `count` different ways, best first; none where the two are not connected.

    The first is the cheapest that there is. The others are the cheapest that keep away from what the ones
    before went over, so that each tells something else; they are not always the next cheapest.
    """
    if start == goal or count < 1:
        return []
    surcharge = _Surcharge({}, {})
    found: dict[tuple[int, ...], Way] = {}
    in_vain = 0
    while len(found) < count and in_vain < TRIES:
        nodes = _cheapest(network, start, goal, surcharge)
        if not nodes:
            break
        way = Way(nodes, _cost(network, nodes))
        in_vain = in_vain + 1 if nodes in found else 0
        found.setdefault(nodes, way)
        surcharge.use(network, way)
    return sorted(found.values(), key=lambda way: (way.cost, way.nodes))


def _ends(one: int, other: int) -> tuple[int, int]:
    return (one, other) if one < other else (other, one)


@lru_cache(maxsize=1024)
def _step(weight: float) -> float:
    return min(MOST_STEP, max(LEAST_STEP, 1.0 / math.sqrt(weight))) if weight > 0 else MOST_STEP


def _cost(network: Network, nodes: tuple[int, ...]) -> float:
    steps = [_step(dict(network.links[one])[other]) for one, other in pairwise(nodes)]
    return math.fsum([*steps, *map(network.passing, nodes[1:-1])])


def _cheapest(network: Network, start: int, goal: int, surcharge: _Surcharge) -> tuple[int, ...]:
    """Return the nodes of the cheapest way (Dijkstra's), of equal ones that of the first names; or none."""
    best = {start: 0.0}
    before: dict[int, int] = {}
    settled: set[int] = set()
    used = {node for step in surcharge.steps for node in step}
    waiting = [(0.0, start)]
    while waiting:
        cost, node = heappop(waiting)
        if node in settled:
            continue
        if node == goal:
            return _traced(before, start, goal)
        settled.add(node)
        if node != start:
            cost += network.passing(node) + surcharge.nodes.get(node, 0.0)
        is_used = node in used
        for other, weight in network.links[node]:
            if other in settled:
                continue
            further = cost + _step(weight)
            if is_used:
                further += surcharge.steps.get(_ends(node, other), 0.0)
            if further < best.get(other, math.inf):
                best[other] = further
                before[other] = node
                heappush(waiting, (further, other))
    return ()


def _traced(before: dict[int, int], start: int, goal: int) -> tuple[int, ...]:
    nodes = [goal]
    while nodes[-1] != start:
        nodes.append(before[nodes[-1]])
    return tuple(reversed(nodes))
