"""Names in the catalog: what memories mention, and what follows of it, in both databases."""

import sqlite3
from contextlib import suppress
from itertools import pairwise

import hypothesis.strategies as st
from hypothesis import HealthCheck, given, settings

from ragmem.domain.entities.aliases import ACRONYM, ALIAS, Alias
from ragmem.domain.model import State
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.maintenance.invariants import violations
from ragmem.storage.maintenance.salvage import read_damaged, write_salvaged
from ragmem.storage.names.merges import merges, undone_merges
from ragmem.storage.names.names import AT_ONCE
from ragmem.storage.names.node_names import MAX_FORMS, PARTNER, STATED, NameStatements

AT = 1_000_000


def store(catalog, make, uri, names, *, aliases=(), project="user"):
    memory, chunks = make(uri, project=project)
    catalog.memories.accept([(memory, chunks)])
    catalog.memories.mark([memory.id], State.INDEXED)
    catalog.names.learn([NameStatements(memory.id, project, AT, names, tuple(aliases))])
    return memory.id


def test_a_spelling_is_mapped_to_the_name_that_came_first(catalog, make):
    store(catalog, make, "a", {"Harbor Daemon": "tool", "Pier": "tool"})
    store(catalog, make, "b", {"harbor-daemon": "tool"})

    found = catalog.names.canonical("user", ["harbor-daemon", "Harbor Daemon", "Pier", "unknown"])
    assert found == {"harbor-daemon": "Harbor Daemon"}
    (merge,) = merges(catalog.database, name="HARBOR daemon")
    assert (merge.name, merge.into, merge.rule) == ("harbor-daemon", "Harbor Daemon", "spelling")


def test_a_project_knows_nothing_of_another_ones_names(catalog, make):
    store(catalog, make, "a", {"Harbor Daemon": "tool"})
    store(catalog, make, "b", {"harbor-daemon": "tool"}, project="other")

    assert merges(catalog.database) == []


def test_learning_twice_is_learning_once(catalog, make):
    names = {"Harbor Daemon": "tool", "harbor-daemon": "tool", "HCP": "concept", "Harbor Cut Pier": "concept"}
    told = Alias("HCP", "Harbor Cut Pier", ACRONYM)
    first = store(catalog, make, "a", names, aliases=[told])
    before = merges(catalog.database)
    catalog.names.learn([NameStatements(first, "user", AT, names, (told,))])

    assert len(before) == 2
    assert merges(catalog.database) == before
    assert catalog.names.count_late() == 0


def test_what_mentions_a_name_with_another_node_waits_a_few_at_a_time(catalog, make):
    for number in range(2 * AT_ONCE + 3):
        store(catalog, make, str(number), {"tide.py": "file"})
    store(catalog, make, "long", {"pier/tide.py": "file"})

    assert len(catalog.memories.ids(states=[State.PENDING])) == AT_ONCE
    assert catalog.names.count_late() == 1
    assert catalog.names.mark_pending(1000) == AT_ONCE + 3
    assert catalog.names.mark_pending(1000) == 0
    assert len(catalog.memories.ids(states=[State.PENDING])) == 2 * AT_ONCE + 3


def test_what_only_a_forgotten_memory_mentioned_is_forgotten(catalog, make):
    store(catalog, make, "a", {"tide.py": "file"})
    gone = store(catalog, make, "b", {"pier/tide.py": "file"})
    assert merges(catalog.database)
    catalog.names.forget([gone])
    catalog.memories.remove([gone])

    assert merges(catalog.database) == []
    assert violations(catalog) == []


NAMES = (
    "Harbor Daemon",
    "harbor-daemon",
    "harbor daemon",
    "tide.py",
    "pier/tide.py",
    "HCP",
    "Harbor Cut Pier",
)
SAYINGS = st.tuples(st.sets(st.sampled_from(NAMES)), st.booleans(), st.sampled_from(["user", "other"]))


class GivenUpError(Exception):
    """Takes back what a transaction wrote."""


def _all_of(catalog):
    # When a name got its node is told by who learnt it last.
    dateless = "n, project, name, types, form, head, canonical, rule"
    reads = (
        f"{dateless} FROM entity_names ORDER BY n",
        "* FROM entity_mentions ORDER BY name, memory",
        "* FROM entity_aliases ORDER BY memory, short, long",
    )
    with catalog.database.read() as connection:
        names = [connection.execute(f"SELECT {read}").fetchall() for read in reads]
        return names, connection.execute("SELECT id, state FROM memories ORDER BY id").fetchall()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sayings=st.lists(SAYINGS, min_size=1, max_size=8), leaving=st.sets(st.integers(0, 7), min_size=1))
def test_to_forget_memories_is_to_learn_that_each_says_nothing(tmp_path_factory, make, sayings, leaving):
    catalog = Catalog.at(tmp_path_factory.mktemp("home"))
    catalog.prepare()
    stated = (Alias("HCP", "Harbor Cut Pier", ACRONYM),)
    ids = [
        store(
            catalog,
            make,
            str(number),
            {name: "file" if name.endswith(".py") else "tool" for name in sorted(names)},
            aliases=stated if states else (),
            project=project,
        )
        for number, (names, states, project) in enumerate(sayings)
    ]
    going = [(ids[number], sayings[number][2]) for number in sorted(leaving) if number < len(ids)]
    with suppress(GivenUpError), catalog.database.write():
        for key, project in going:
            catalog.names.learn([NameStatements(key, project, AT, {})])
        one_by_one = _all_of(catalog)
        raise GivenUpError
    catalog.names.forget([key for key, _ in going])
    together = _all_of(catalog)
    catalog.close()

    (names, states), (expected, before) = together, one_by_one
    assert (names, len(states)) == (expected, len(before))


def test_a_name_that_was_set_apart_stays_so(catalog, make):
    store(catalog, make, "a", {"Harbor Daemon": "tool"})
    store(catalog, make, "b", {"harbor-daemon": "tool"})
    catalog.names.set_apart("user", "harbor-daemon", "spelling", at=AT)
    store(catalog, make, "c", {"harbor-daemon": "tool", "HARBOR-DAEMON": "tool"})

    assert catalog.names.canonical("user", ["harbor-daemon"]) == {}
    assert [one.name for one in undone_merges(catalog.database)] == ["harbor-daemon"]
    catalog.names.rejoin("user", "harbor-daemon", "spelling", at=AT)
    assert catalog.names.canonical("user", ["harbor-daemon"]) == {"harbor-daemon": "Harbor Daemon"}


def test_what_was_set_apart_survives_a_salvage(tmp_path):
    damaged = Catalog.at(tmp_path / "damaged")
    damaged.prepare()
    damaged.names.set_apart("user", "harbor-daemon", "spelling", at=AT)
    damaged.close()
    fresh = Catalog.at(tmp_path / "fresh")
    fresh.prepare()
    write_salvaged(read_damaged(tmp_path / "damaged" / "memory.db"), fresh)

    assert fresh.names.separations() == [("user", "harbor-daemon", "spelling", AT)]
    fresh.close()


def test_a_name_without_its_node_is_found_out(tmp_path, make):
    catalog = Catalog.at(tmp_path / "data")
    catalog.prepare()
    store(catalog, make, "a", {"Harbor Daemon": "tool"})
    catalog.close()
    connection = sqlite3.connect(tmp_path / "data" / "memory.db")
    connection.execute("UPDATE entity_names SET node = 'nobody'")
    connection.commit()
    connection.close()
    catalog = Catalog.at(tmp_path / "data")

    assert any("node" in line for line in violations(catalog))
    assert catalog.names.update_all() == 1
    assert violations(catalog) == []
    assert catalog.names.update_all() == 0
    catalog.close()


def test_too_many_names_in_a_row_of_statements_stand_alone_whatever_came_last(catalog, make):
    words = [f"Harbor{chr(ord('a') + number)}" for number in range(MAX_FORMS + 2)]
    for at, (one, other) in enumerate(pairwise(words)):
        stated = Alias(other, one, ALIAS)
        store(catalog, make, str(at), {one: "concept", other: "concept"}, aliases=[stated])

    assert catalog.names.canonical("user", words) == {}
    assert catalog.names.update_all() == 0
    assert violations(catalog) == []


def test_names_learnt_by_earlier_rules_get_the_forms_of_these(catalog, make):
    first = store(catalog, make, "a", {"Harbor Daemon": "tool"})
    second = store(catalog, make, "b", {"harbor-daemon": "tool"})
    with catalog.database.write() as connection:
        connection.execute("UPDATE entity_names SET form = 'former', node = NULL, spelling = NULL")
        connection.execute("UPDATE entity_names SET form = 'other' WHERE name = 'Harbor Daemon'")
    catalog.names.learn([NameStatements(first, "user", AT, {"Harbor Daemon": "tool"})])
    catalog.names.learn([NameStatements(second, "user", AT, {"harbor-daemon": "tool"})])

    assert catalog.names.canonical("user", ["harbor-daemon"]) == {"harbor-daemon": "Harbor Daemon"}


def test_what_a_thousand_memories_state_is_read_once(tmp_path):
    catalog = Catalog.at(tmp_path / "data")
    catalog.prepare()
    columns = (("short_form", "long_form"), ("long_form", "short_form"))
    queries = {PARTNER.format(column=column, other=other): 3 for column, other in columns} | {STATED: 4}
    with catalog.database.read() as connection:
        for query, conditions in queries.items():
            values = ["a"] * conditions
            (row,) = connection.execute(f"EXPLAIN QUERY PLAN {query}", values).fetchall()
            assert "COVERING INDEX" in row[3]
            assert row[3].count("?") == conditions
    catalog.close()
