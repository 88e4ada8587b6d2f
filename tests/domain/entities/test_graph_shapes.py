"""Ways through a graph and its communities, on graphs of every shape."""

import itertools
import math

from hypothesis import given
from hypothesis import strategies as st

from ragmem.domain.entities import network as graph
from ragmem.domain.entities.network import Network, communities, shortest_paths

NAMES = [f"n{number}" for number in range(7)]
WEIGHTS = st.sampled_from([0.25, 0.5, 1.0, 1.0, 3.0, 9.0])
EDGES = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES), WEIGHTS), max_size=16)


def numbers(network, *names):
    return [network.names.index(name) for name in names]


def cost_by_definition(network, nodes):
    """What a way costs, as the documentation has it."""
    steps = 0.0
    for one, other in itertools.pairwise(nodes):
        weight = dict(network.links[one])[other]
        steps += min(2.0, max(0.5, 1 / math.sqrt(weight)))
    return steps + sum(math.log2(max(2, len(network.links[node]))) for node in nodes[1:-1])


def every_way(network, start, goal):
    """Yield all simple ways, by walking everywhere."""
    waiting = [(start,)]
    while waiting:
        nodes = waiting.pop()
        for other, _ in network.links[nodes[-1]]:
            if other == goal:
                yield (*nodes, other)
            elif other not in nodes:
                waiting.append((*nodes, other))


def test_asking_for_more_ways_than_there_are_costs_little(monkeypatch):
    searches = []
    search = graph._cheapest
    monkeypatch.setattr(graph, "_cheapest", lambda *given: searches.append(1) or search(*given))
    network = Network.of([("a", "b", 1.0), ("b", "c", 1.0), ("a", "d", 1.0), ("d", "c", 1.0)])
    assert len(shortest_paths(network, 0, 2, count=10_000)) == 2
    assert len(searches) < 20


@given(EDGES, st.integers(1, 4))
def test_ways_are_simple_paths_and_the_first_is_the_cheapest_of_all(edges, count):
    network = Network.of(edges, NAMES)
    found = shortest_paths(network, 0, 6, count=count)
    possible = list(every_way(network, 0, 6))

    assert bool(found) is bool(possible)
    assert len(found) <= count
    assert len({way.nodes for way in found}) == len(found)
    for way in found:
        assert way.nodes in possible
        assert math.isclose(way.cost, cost_by_definition(network, way.nodes))
    assert [way.cost for way in found] == sorted(way.cost for way in found)
    if found:
        cheapest = min(cost_by_definition(network, nodes) for nodes in possible)
        assert math.isclose(found[0].cost, cheapest)


def test_a_way_over_a_hub_loses_against_a_telling_one():
    hub = [("Python", f"thing {number}", 1.0) for number in range(50)]
    edges = [*hub, ("ledger", "Python", 1.0), ("Python", "outage", 1.0)]
    telling = [("ledger", "queue", 1.0), ("queue", "timeout", 1.0), ("timeout", "outage", 1.0)]
    network = Network.of([*edges, *telling])
    start, goal = numbers(network, "ledger", "outage")

    first, second = shortest_paths(network, start, goal, count=2)
    assert [network.names[node] for node in first.nodes] == ["ledger", "queue", "timeout", "outage"]
    assert [network.names[node] for node in second.nodes] == ["ledger", "Python", "outage"]


def test_a_direct_link_does_not_hide_the_ways_around_it():
    network = Network.of([("a", "b", 9.0), ("a", "c", 0.25), ("c", "b", 0.25)])
    start, goal = numbers(network, "a", "b")
    assert [len(way.nodes) for way in shortest_paths(network, start, goal, count=3)] == [2, 3]


def test_there_is_no_way_from_a_thing_to_itself():
    network = Network.of([("a", "b", 1.0)])
    assert shortest_paths(network, 0, 0, count=3) == []


def is_connected(network, members):
    reached, waiting = {members[0]}, [members[0]]
    while waiting:
        near = {other for other, _ in network.links[waiting.pop()]} & set(members)
        waiting += near - reached
        reached |= near
    return reached == set(members)


@given(EDGES)
def test_communities_partition_the_entities_into_connected_groups(edges):
    network = Network.of(edges, NAMES)
    found = communities(network)

    members = [node for one in found for node in one.members]
    assert sorted(members) == list(range(len(network.names)))
    assert all(is_connected(network, one.members) for one in found)
    assert all(0.0 <= one.cohesion <= 1.0 for one in found)
    sizes = [len(one.members) for one in found]
    assert sizes == sorted(sizes, reverse=True)


@given(EDGES.flatmap(lambda edges: st.tuples(st.just(edges), st.permutations(edges))))
def test_the_order_in_which_a_graph_is_read_changes_nothing(pair):
    edges, shuffled = pair
    turned = [(target, source, weight) for source, target, weight in shuffled]
    assert Network.of(edges, NAMES) == Network.of(turned, reversed(NAMES))


def test_groups_that_only_a_hub_joins_are_told_apart():
    groups = [[f"{letter}{number}" for number in range(5)] for letter in "abc"]
    inside = [(*pair, 1.0) for group in groups for pair in itertools.combinations(group, 2)]
    hub = [("Git", name, 1.0) for group in groups for name in group]
    network = Network.of([*inside, *hub])

    named = [{network.names[node] for node in one.members} - {"Git"} for one in communities(network)]
    assert sorted(map(sorted, named)) == groups


def test_an_entity_without_links_is_a_community_of_itself():
    [alone] = communities(Network.of([], ["alone"]))
    assert (alone.members, alone.cohesion) == ((0,), 1.0)
    assert communities(Network.of([])) == []
