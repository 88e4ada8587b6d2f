"""Memories that are mutually connected."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import combinations, product
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from ragmem.domain.clusters import MEAN, MOST_CHARS, MOST_MEMBERS, clusters
from ragmem.domain.lifecycle import Connection, Entry
from ragmem.domain.model import Memory, Scope, content_hash

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def entry(name: str, number: int, scope: Scope, text: str) -> Entry:
    at = NOW + timedelta(hours=number)
    memory = Memory(name, "note", name, text, "", at, at, at, content_hash(text), scope)
    return Entry(memory, number)


def entries(names: Iterable[str], scope: Scope = Scope("shop"), text: str = "text") -> list[Entry]:  # noqa: B008
    return [entry(name, number, scope, text) for number, name in enumerate(names)]


def connected(*groups: str, strength: float = 0.7) -> list[Connection]:
    """Connect all letters of each group with each other."""
    pairs = {tuple(sorted(pair)) for group in groups for pair in combinations(group, 2)}
    return [Connection(one, other, 0.6, 0.6, strength) for one, other in sorted(pairs)]


def found(known: list[Entry], connections: list[Connection], minimum: int = 3) -> list[str]:
    return [
        "".join(member.id for member in one.members) for one in clusters(known, connections, minimum=minimum)
    ]


def test_three_that_are_connected_with_each_other_are_a_cluster() -> None:
    assert found(entries("abcd"), connected("abc")) == ["abc"]


def test_two_are_no_cluster() -> None:
    assert not found(entries("abcd"), connected("ab", "cd"))


def test_a_weak_chain_is_no_cluster() -> None:
    assert not found(entries("abcdef"), connected("ab", "bc", "cd", "de", "ef", strength=0.5)[1::2])
    assert not found(entries("abc"), connected("ab", "bc", strength=0.45))


def test_a_memory_of_two_things_does_not_join_them() -> None:
    assert found(entries("abcdefg"), connected("abcd", "defg")) == ["abcd", "efg"]


def test_two_things_with_one_connection_between_are_two_clusters() -> None:
    assert sorted(found(entries("abcdef"), connected("abc", "def", "cd"))) == ["abc", "def"]


def test_members_come_by_time() -> None:
    assert found(entries("cab"), connected("abc")) == ["cab"]


def test_a_cluster_does_not_reach_beyond_its_project_or_spec() -> None:
    shop, pub = entries("ab"), entries("cd", Scope("pub"))
    assert not found([*shop, *pub], connected("abcd"))
    specs = [*entries("ab", Scope("shop", "one")), *entries("cd", Scope("shop", "two"))]
    assert not found(specs, connected("abcd"))


def test_what_is_not_among_the_entries_connects_nothing() -> None:
    assert not found(entries("ab"), connected("abx"))


def test_a_cluster_has_a_size_at_most() -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    sizes = [len(one) for one in found(entries(letters), connected(letters))]
    assert sizes
    assert max(sizes) <= MOST_MEMBERS
    long = "x" * (MOST_CHARS // 2)
    assert not found(entries("abc", text=long), connected("abc"))


@settings(deadline=None, max_examples=60)
@given(st.randoms(use_true_random=False), st.lists(st.sets(st.sampled_from("abcdefghijkl"), min_size=2)))
def test_the_order_makes_no_difference_and_each_memory_is_in_one_cluster(
    random: Random, groups: list[set[str]]
) -> None:
    known, links = entries("abcdefghijkl"), connected(*map("".join, groups))
    first = found(known, links)
    assert len("".join(first)) == len(set("".join(first)))
    random.shuffle(known)
    random.shuffle(links)
    assert found(known, links) == first


def plain(strengths: dict[frozenset[str], float], names: str) -> list[str]:
    """Join the two clusters that are connected best on average, one after the other, as it is described."""
    groups = [*names]
    while True:
        offers = []
        for one, other in combinations(sorted(groups), 2):
            total = sum(strengths.get(frozenset(pair), 0.0) for pair in product(one, other))
            mean = round(total / (len(one) * len(other)), 9)
            if mean >= MEAN and len(one) + len(other) <= MOST_MEMBERS:
                offers.append((-mean, one, other))
        if not offers:
            return sorted("".join(sorted(group)) for group in groups if len(group) > 1)
        _, one, other = min(offers)
        groups = [group for group in groups if group not in {one, other}] + [one + other]


@settings(deadline=None, max_examples=60)
@given(
    st.dictionaries(
        st.tuples(st.sampled_from("abcdefghijklmnop"), st.sampled_from("abcdefghijklmnop")).filter(
            lambda pair: pair[0] < pair[1]
        ),
        # Halves of halves: their means are the same in whatever order they are added.
        st.sampled_from([0.125, 0.25, 0.375, 0.5, 0.75, 1.0]),
        max_size=60,
    )
)
def test_the_best_connected_become_one_first(strengths: dict[tuple[str, str], float]) -> None:
    links = [Connection(one, other, 0.6, 0.6, strength) for (one, other), strength in strengths.items()]
    got = found(entries("abcdefghijklmnop"), links, minimum=2)
    assert sorted("".join(sorted(group)) for group in got) == plain(
        {frozenset(pair): strength for pair, strength in strengths.items()}, "abcdefghijklmnop"
    )
