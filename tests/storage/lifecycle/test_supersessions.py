"""What was superseded by what: chains, circles, and memories that come and go."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragmem.domain.model import Supersession
from ragmem.domain.model.lifecycle import LifecyclePolicy
from ragmem.domain.model.supersession import PERHAPS_OUTDATED

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def link(older: str, newer: str, day: int = 0, rule: str = "value") -> Supersession:
    moment = NOW + timedelta(days=day)
    return Supersession(older, newer, moment, moment + timedelta(days=1), rule, f"{older} {newer}", NOW)


@pytest.fixture
def three(catalog, make):
    """The ids of three memories."""
    items = [make(name) for name in ("one", "two", "three")]
    catalog.memories.accept(items)
    return [memory.id for memory, _ in items]


def test_what_is_put_is_told_from_both_sides(catalog, three):
    one, two, _ = three
    assert catalog.supersessions.put([link(one, two)]) == 1
    assert catalog.supersessions.of([one]) == catalog.supersessions.of([two]) == [link(one, two)]
    assert catalog.supersessions.replaced_by([two]) == {two: [link(one, two)]}
    assert catalog.supersessions.in_force(three) == {one: link(one, two)}


def test_putting_twice_is_putting_once(catalog, three):
    one, two, _ = three
    catalog.supersessions.put([link(one, two)])
    catalog.supersessions.put([link(one, two)])
    assert catalog.supersessions.all() == [link(one, two)]
    assert catalog.supersessions.drop([one]) == 1
    assert catalog.supersessions.drop([one]) == 0


def test_a_chain_ends_at_the_last_memory_that_holds(catalog, three):
    one, two, three_ = three
    catalog.supersessions.put([link(one, two, 0), link(two, three_, 1)])
    found = catalog.supersessions.in_force([one, two])
    assert {older: item.newer for older, item in found.items()} == {one: three_, two: three_}
    assert found[one].older_at == NOW
    assert found[one].newer_at == NOW + timedelta(days=2)


def test_what_would_close_a_circle_is_left_out(catalog, three):
    one, two, three_ = three
    written = catalog.supersessions.put(
        [link(one, two), link(two, three_), link(three_, one), link(one, one)]
    )
    assert written == 2
    assert set(catalog.supersessions.in_force(three)) == {one, two}


def test_an_older_memory_holds_again_when_its_successor_is_gone_and_not_when_that_comes_back(
    catalog, make, three
):
    one, two, _ = three
    catalog.supersessions.put([link(one, two)])
    catalog.memories.remove([two])
    assert catalog.supersessions.in_force([one]) == {}
    catalog.memories.accept([make("two")])
    assert set(catalog.supersessions.in_force([one])) == {one}


def test_a_chain_goes_on_behind_a_memory_that_is_gone(catalog, three):
    one, two, three_ = three
    catalog.supersessions.put([link(one, two), link(two, three_)])
    catalog.memories.remove([two])
    assert catalog.supersessions.in_force([one])[one].newer == three_


def test_a_successor_that_was_merged_is_found_in_the_merged_memory(catalog, three):
    one, two, three_ = three
    catalog.supersessions.put([link(one, two)])
    with catalog.database.write() as connection:
        connection.execute(
            "INSERT INTO merged_from (merged, original, run) VALUES (?, ?, 'r')", (three_, two)
        )
    assert catalog.supersessions.in_force([one])[one].newer == two
    catalog.memories.remove([two])
    assert catalog.supersessions.in_force([one])[one].newer == three_


def test_a_new_text_of_either_memory_ends_a_supersession(catalog, make, three):
    one, two, _ = three
    for changed in ("one", "two"):
        catalog.supersessions.put([link(one, two)])
        catalog.memories.accept([make(changed)])
        assert set(catalog.supersessions.in_force([one])) == {one}
        catalog.memories.accept([make(changed, f"another lock of {changed}")])
        assert catalog.supersessions.all() == []


def test_a_memory_that_is_forgotten_leaves_its_place_in_the_chain_to_the_next(catalog, three):
    one, two, three_ = three
    catalog.supersessions.put([link(one, two), link(two, three_)])
    catalog.memories.remove([two])
    catalog.supersessions.forget([two])
    assert [(item.older, item.newer) for item in catalog.supersessions.all()] == [(one, three_)]
    catalog.supersessions.forget([three_])
    assert catalog.supersessions.all() == []


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    links=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=14),
    gone=st.sets(st.integers(0, 6)),
)
def test_whatever_is_put_no_memory_is_replaced_by_one_that_is_not_there_or_replaced_too(
    catalog, make, links, gone
):
    items = [make(f"h{number}") for number in range(7)]
    ids = [memory.id for memory, _ in items]
    catalog.memories.accept(items)
    catalog.supersessions.drop(ids)
    catalog.supersessions.put([link(ids[older], ids[newer]) for older, newer in links])
    catalog.memories.remove([ids[number] for number in gone])
    left = [key for number, key in enumerate(ids) if number not in gone]
    found = catalog.supersessions.in_force(left)
    assert {item.newer for item in found.values()} <= set(left) - found.keys()


def test_a_mark_hides_nothing_and_is_no_part_of_a_chain(catalog, make, three):
    one, two, three_ = three
    catalog.supersessions.put([link(one, two), link(two, three_, 1, PERHAPS_OUTDATED)])
    assert {older: item.newer for older, item in catalog.supersessions.in_force(three).items()} == {one: two}
    assert set(catalog.supersessions.perhaps_outdated(three)) == {two}
    assert catalog.supersessions.replaced_by([three_]) == {}
    entries = {entry.id: entry for entry in catalog.lives.entries(policy=LifecyclePolicy())}
    assert (entries[two].superseded_by, entries[two].perhaps_outdated) == ("", three_)
    assert (entries[one].superseded_by, entries[one].perhaps_outdated) == (two, "")
    catalog.supersessions.forget([two])
    assert catalog.supersessions.all() == []


def test_a_mark_names_what_holds_in_the_place_of_the_newer_memory(catalog, make, three):
    one, two, three_ = three
    catalog.supersessions.put([link(one, two, 0, PERHAPS_OUTDATED), link(two, three_, 1)])
    assert catalog.supersessions.perhaps_outdated([one])[one].newer == three_
    catalog.memories.remove([two])
    assert catalog.supersessions.perhaps_outdated([one]) == {}
    catalog.memories.accept([make("two")])
    assert set(catalog.supersessions.perhaps_outdated([one])) == {one}
