"""Groups of entities that are linked with each other more than with the rest, found without chance.

The method of Louvain (Blondel and others, 2008): each entity goes to the group of its neighbours that raises
the modularity most, then the groups are entities of a smaller network, until nothing rises. The order is
fixed, and a group that is not connected is taken apart at the end.
"""

import math
from collections import deque
from dataclasses import dataclass

from ragmem.domain.entities.network import Network

LEAST_GAIN = 1e-9
"""Of modularity; less is rounding, and could go round in circles."""

VISITS = 20
"""Visits of one entity in a round, on average; it settles after two or three."""

_Links = list[dict[int, float]]


@dataclass(frozen=True, slots=True)
class Community:
    """The numbers of its entities, most central first.

    `cohesion` is the share, 0 to 1, of the weight of their links that stays inside; 1 for an entity alone.
    """

    members: tuple[int, ...]
    cohesion: float


def communities(network: Network) -> list[Community]:
    """Return the communities of a network, largest first; every entity is in exactly one of them.

    Links of hubs count little: a weight is divided by what it costs to pass through both ends.
    """
    links = _damped(network)
    group = _parted(links, _grouped(links))
    members: dict[int, list[int]] = {}
    for node, number in enumerate(group):
        members.setdefault(number, []).append(node)
    found = [_described(network, links, group, nodes) for nodes in members.values()]
    return sorted(found, key=lambda one: (-len(one.members), one.members))


def _damped(network: Network) -> _Links:
    passing = [network.passing(node) for node in range(len(network.names))]
    return [
        {other: weight / (passing[node] * passing[other]) for other, weight in near}
        for node, near in enumerate(network.links)
    ]


def _described(network: Network, links: _Links, group: list[int], nodes: list[int]) -> Community:
    inner = {
        node: math.fsum(weight for other, weight in links[node].items() if group[other] == group[node])
        for node in nodes
    }
    inside = math.fsum(inner.values())
    total = math.fsum(weight for node in nodes for weight in links[node].values())
    # Within its own community a hub is what many know, so its own links are not damped by itself.
    central = sorted(nodes, key=lambda node: (-round(inner[node] * network.passing(node), 9), node))
    return Community(tuple(central), min(1.0, inside / total) if total else 1.0)


def _grouped(links: _Links) -> list[int]:
    """Return the number of each entity's group."""
    group = list(range(len(links)))
    loops = [0.0] * len(links)
    while True:
        moved = _moved(links, loops)
        numbers = {old: new for new, old in enumerate(dict.fromkeys(moved))}
        moved = [numbers[number] for number in moved]
        group = [moved[number] for number in group]
        if len(numbers) == len(links):
            return group
        links, loops = _joined(links, loops, moved, len(numbers))


def _moved(links: _Links, loops: list[float]) -> list[int]:
    """Return the group of each node after moving nodes one by one while modularity rises."""
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


def _joined(links: _Links, loops: list[float], group: list[int], count: int) -> tuple[_Links, list[float]]:
    """Return the network whose nodes are the groups; what stays inside of one is its loop."""
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


def _parted(links: _Links, group: list[int]) -> list[int]:
    """Return the groups with each one that is not connected taken apart into what is."""
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
