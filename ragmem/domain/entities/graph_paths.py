"""Find the most informative paths between two entities: short, well supported, and not over hubs."""

import math
from dataclasses import dataclass
from functools import lru_cache
from heapq import heappop, heappush
from itertools import pairwise

from ragmem.domain.entities.network import Network

LEAST_STEP, MOST_STEP = 0.5, 2.0
"""Cost of a step: 1 for one statement, 2 for a co-mention, down to 0.5 with much evidence."""

TRIES = 12
"""Maximum searches without a new path; each doubles the cost of used nodes."""


@dataclass(frozen=True, slots=True)
class GraphPath:
    """A path: the numbers of its entities from start to goal, and its cost; lower is more informative."""

    nodes: tuple[int, ...]
    cost: float


@dataclass(slots=True)
class _Penalty:
    """Penalties on used nodes and steps, so that the next search takes another path."""

    nodes: dict[int, float]
    steps: dict[tuple[int, int], float]

    def use(self, network: Network, path: GraphPath) -> None:
        """Double the penalty of a path, so that another one becomes cheaper."""
        for node in path.nodes[1:-1]:
            self.nodes[node] = 2 * self.nodes.get(node, 0.0) + network.node_cost(node)
        for one, other in pairwise(path.nodes):
            step = _ends(one, other)
            self.steps[step] = 2 * self.steps.get(step, 0.0) + 1.0


def shortest_paths(network: Network, start: int, goal: int, *, count: int) -> list[GraphPath]:
    """Return up to `count` different paths, best first; none if the entities are not connected.

    The first one is the cheapest. The others are the cheapest that avoid the nodes and steps of the ones
    before, so that each adds information; they are not always the next cheapest.
    """
    if start == goal or count < 1:
        return []
    penalty = _Penalty({}, {})
    found: dict[tuple[int, ...], GraphPath] = {}
    failed = 0
    while len(found) < count and failed < TRIES:
        nodes = _cheapest(network, start, goal, penalty)
        if not nodes:
            break
        path = GraphPath(nodes, _cost(network, nodes))
        failed = failed + 1 if nodes in found else 0
        found.setdefault(nodes, path)
        penalty.use(network, path)
    return sorted(found.values(), key=lambda path: (path.cost, path.nodes))


def _ends(one: int, other: int) -> tuple[int, int]:
    return (one, other) if one < other else (other, one)


@lru_cache(maxsize=1024)
def _step(weight: float) -> float:
    return min(MOST_STEP, max(LEAST_STEP, 1.0 / math.sqrt(weight))) if weight > 0 else MOST_STEP


def _cost(network: Network, nodes: tuple[int, ...]) -> float:
    steps = [_step(dict(network.links[one])[other]) for one, other in pairwise(nodes)]
    return math.fsum([*steps, *map(network.node_cost, nodes[1:-1])])


def _cheapest(network: Network, start: int, goal: int, penalty: _Penalty) -> tuple[int, ...]:
    """Return the cheapest path (Dijkstra), ties by name; () if there is none."""
    best = {start: 0.0}
    before: dict[int, int] = {}
    settled: set[int] = set()
    used = {node for step in penalty.steps for node in step}
    waiting = [(0.0, start)]
    while waiting:
        cost, node = heappop(waiting)
        if node in settled:
            continue
        if node == goal:
            return _trace(before, start, goal)
        settled.add(node)
        if node != start:
            cost += network.node_cost(node) + penalty.nodes.get(node, 0.0)
        is_used = node in used
        for other, weight in network.links[node]:
            if other in settled:
                continue
            further = cost + _step(weight)
            if is_used:
                further += penalty.steps.get(_ends(node, other), 0.0)
            if further < best.get(other, math.inf):
                best[other] = further
                before[other] = node
                heappush(waiting, (further, other))
    return ()


def _trace(before: dict[int, int], start: int, goal: int) -> tuple[int, ...]:
    nodes = [goal]
    while nodes[-1] != start:
        nodes.append(before[nodes[-1]])
    return tuple(reversed(nodes))
