"""Find communities of linked entities, deterministically, by the Louvain method.

The method of Louvain (Blondel and others, 2008): each entity goes to the group of its neighbours that raises
the modularity most, then the groups are entities of a smaller network, until nothing rises. The order is
fixed, and a group that is not connected is taken apart at the end.
"""

import math
from collections import deque
from dataclasses import dataclass

from ragmem.domain.entities.network import Network

LEAST_GAIN = 1e-9
"""Smallest gain of modularity; less is rounding and could cause an endless loop."""

VISITS = 20
"""Average visits of one entity in a round; the groups settle after two or three."""

_Links = list[dict[int, float]]


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
