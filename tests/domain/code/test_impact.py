"""What a change reaches: depths are least distances, scores are sums over paths."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.domain.code.code import Edge, EdgeKind
from ragmem.domain.code.impact import dependents


def edges(*pairs):
    return [Edge("a.py", source, target, EdgeKind.CALLS, 1) for source, target in pairs]


def scores(found):
    return {one.qualified: (one.depth, one.score) for one in found}


def paths(pairs, source, targets, seen=()):
    """Yield the lengths of all simple paths to a target, by trying them all."""
    for target in sorted({to for frm, to in pairs if frm == source}):
        if target in targets:
            yield len(seen) + 1
        elif target not in (*seen, source):
            yield from paths(pairs, target, targets, (*seen, source))


def test_each_step_away_halves_the_score_of_a_path():
    found = scores(dependents(edges("bt", "cb", "dc", "xy"), {"t"}))
    assert found == {"b": (1, 1.0), "c": (2, 0.5), "d": (3, 0.25)}


def test_paths_add_up_to_one_at_most():
    two_ways = edges("bt", "ct", "ab", "ac")
    assert scores(dependents(two_ways, {"t"}))["a"] == (2, 1.0)
    assert scores(dependents([*two_ways, *edges("at", "za", "zb", "zc")], {"t"}))["z"] == (2, 1.0)


def test_a_longer_way_counts_beside_the_shortest():
    assert scores(dependents(edges("bt", "ab", "cb", "ac"), {"t"}))["a"] == (2, 0.75)


def test_references_at_several_places_are_one_step():
    calls = [Edge("a.py", "a", "t", EdgeKind.CALLS, line) for line in (9, 3)]
    (found,) = dependents([*calls, Edge("a.py", "a", "t", EdgeKind.IMPORTS, 1)], {"t"})
    assert (found.score, [edge.line for edge in found.references]) == (1.0, [1, 3, 9])


def test_a_circle_neither_loops_nor_raises_the_score_of_what_is_nearer():
    found = scores(dependents(edges("at", "ba", "ab", "cb", "bc", "cc"), {"t"}))
    assert found == {"a": (1, 1.0), "b": (2, 0.5), "c": (3, 0.25)}


def test_targets_that_refer_to_each_other_are_no_dependents():
    assert scores(dependents(edges("tu", "ut", "at", "au"), {"t", "u"})) == {"a": (1, 1.0)}
    assert dependents(edges("tu"), {"u", "t"}) == []


NAMES = "tabcdef"
PAIRS = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=20)


@given(PAIRS)
def test_without_a_circle_the_score_is_the_sum_over_all_paths(pairs):
    # From later letters to earlier ones only.
    forward = [(max(pair), min(pair)) if pair[0] != "t" != pair[1] else pair for pair in pairs]
    found = dependents(edges(*forward), {"t"})
    for one in found:
        lengths = list(paths(forward, one.qualified, {"t"}))
        assert one.depth == min(lengths)
        assert one.score == pytest.approx(min(1.0, sum(2.0 ** (1 - length) for length in lengths)))


@given(PAIRS)
def test_in_circles_the_score_is_between_the_best_path_and_the_sum_over_all(pairs):
    found = dependents(edges(*pairs), {"t"})
    assert {one.qualified for one in found} == {
        name for name in NAMES if name != "t" and any(paths(pairs, name, {"t"}))
    }
    for one in found:
        lengths = list(paths(pairs, one.qualified, {"t"}))
        assert one.depth == min(lengths)
        total = min(1.0, sum(2.0 ** (1 - length) for length in lengths))
        assert 2.0 ** (1 - one.depth) - 1e-9 <= one.score <= total + 1e-9


@given(PAIRS, st.randoms())
def test_the_order_of_the_references_does_not_matter(pairs, random):
    shuffled = random.sample(pairs, len(pairs))
    assert scores(dependents(edges(*pairs), {"t"})) == scores(dependents(edges(*shuffled), {"t"}))


def test_a_long_chain_and_a_great_many_paths_are_summed_at_once():
    layers = [[f"n{depth}_{place}" for place in range(10)] for depth in range(200)]
    pairs = [
        (source, target)
        for nearer, further in itertools.pairwise([["t"], *layers])
        for source in further
        for target in nearer
    ]
    pairs += [(f"c{place + 1}", f"c{place}") for place in range(20_000)] + [("c0", "t")]
    # One step for each path would never end.
    found = scores(dependents(edges(*pairs), {"t"}))
    assert found["n199_0"] == (200, 1.0)
    assert found["c20000"][0] == 20_001
