"""The graph of a project by number: weighted links, the paths between two entities, and the communities."""

import math
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from heapq import heappop, heappush
from itertools import pairwise

LEAST_STEP, MOST_STEP = 0.5, 2.0
"""Cost of a step: 1 for one statement, 2 for a co-mention, down to 0.5 with much evidence."""

TRIES = 12
"""Maximum searches without a new path; each doubles the cost of used nodes."""

LEAST_GAIN = 1e-9
"""Smallest gain of modularity; less is rounding and could cause an endless loop."""

VISITS = 20
"""Average visits of one entity in a round; the groups settle after two or three."""

_Links = list[dict[int, float]]


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


@dataclass(frozen=True, slots=True)
class Community:
    """The numbers of the entities of a community, most central first.

    `cohesion` is the share, 0 to 1, of the weight of their links that stays inside; 1 for a single entity.
    """

    members: tuple[int, ...]
    cohesion: float


def communities(network: Network) -> list[Community]:
    """Return the communities of a network, largest first; every entity is in exactly one of them.

    Links of hubs count little: a weight is divided by the node cost of both ends.
    """
    links = _damp(network)
    group = _split_disconnected(links, _louvain(links))
    members: dict[int, list[int]] = {}
    for node, number in enumerate(group):
        members.setdefault(number, []).append(node)
    found = [_describe(network, links, group, nodes) for nodes in members.values()]
    return sorted(found, key=lambda one: (-len(one.members), one.members))


def _damp(network: Network) -> _Links:
    passing = [network.node_cost(node) for node in range(len(network.names))]
    return [
        {other: weight / (passing[node] * passing[other]) for other, weight in near}
        for node, near in enumerate(network.links)
    ]


def _describe(network: Network, links: _Links, group: list[int], nodes: list[int]) -> Community:
    inner = {
        node: math.fsum(weight for other, weight in links[node].items() if group[other] == group[node])
        for node in nodes
    }
    inside = math.fsum(inner.values())
    total = math.fsum(weight for node in nodes for weight in links[node].values())
    # Within its own community a hub is the common topic, so its own links are not damped.
    central = sorted(nodes, key=lambda node: (-round(inner[node] * network.node_cost(node), 9), node))
    return Community(tuple(central), min(1.0, inside / total) if total else 1.0)


def _louvain(links: _Links) -> list[int]:
    """Return the number of each entity's group."""
    group = list(range(len(links)))
    loops = [0.0] * len(links)
    while True:
        moved = _move_nodes(links, loops)
        numbers = {old: new for new, old in enumerate(dict.fromkeys(moved))}
        moved = [numbers[number] for number in moved]
        group = [moved[number] for number in group]
        if len(numbers) == len(links):
            return group
        links, loops = _aggregate(links, loops, moved, len(numbers))


def _move_nodes(links: _Links, loops: list[float]) -> list[int]:
    """Move nodes one by one while modularity rises; return the group of each node."""
    strength = [math.fsum(near.values()) + loop for near, loop in zip(links, loops, strict=True)]
    whole = math.fsum(strength)
    group = list(range(len(links)))
    weight_of = strength.copy()
    waiting = deque(range(len(links)))
    is_waiting = [True] * len(links)
    visits = VISITS * len(links)
    while waiting and visits:
        visits -= 1
        node = waiting.popleft()
        is_waiting[node] = False
        own = group[node]
        toward: dict[int, float] = {own: 0.0}
        for other, weight in links[node].items():
            near = group[other]
            toward[near] = toward.get(near, 0.0) + weight
        weight_of[own] -= strength[node]
        share = strength[node] / whole if whole else 0.0
        best, most = own, toward[own] - weight_of[own] * share
        for near in sorted(toward):
            gain = toward[near] - weight_of[near] * share
            if gain > most + LEAST_GAIN:
                best, most = near, gain
        weight_of[best] += strength[node]
        if best != own:
            group[node] = best
            for other in links[node]:
                if group[other] != best and not is_waiting[other]:
                    is_waiting[other] = True
                    waiting.append(other)
    return group


def _aggregate(links: _Links, loops: list[float], group: list[int], count: int) -> tuple[_Links, list[float]]:
    """Return the network of the groups; the inner links of a group become its loop."""
    wider: _Links = [{} for _ in range(count)]
    around = [0.0] * count
    for node, near in enumerate(links):
        number = group[node]
        around[number] += loops[node]
        for other, weight in near.items():
            if group[other] == number:
                around[number] += weight
            else:
                wider[number][group[other]] = wider[number].get(group[other], 0.0) + weight
    return wider, around


def _split_disconnected(links: _Links, group: list[int]) -> list[int]:
    part = [-1] * len(links)
    for first in range(len(links)):
        if part[first] >= 0:
            continue
        part[first] = first
        reached = [first]
        while reached:
            node = reached.pop()
            for other in links[node]:
                if part[other] < 0 and group[other] == group[node]:
                    part[other] = first
                    reached.append(other)
    return part
