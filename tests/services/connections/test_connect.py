"""Memories of one project that are about one thing get connected, and no others do."""

from datetime import UTC, datetime, timedelta

import pytest

from ragmem.backends import fake, lightrag, minilm
from ragmem.domain.lifecycle.connections import MOST, Scale
from ragmem.domain.model import Extraction, Memory, Record, Scope, State, content_hash
from ragmem.domain.model.lifecycle import LifecyclePolicy
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.domain.text.chunking import chunk
from ragmem.services.connections import comparison, pair_comparison
from ragmem.services.connections import connect as connect_module
from ragmem.services.connections.connect import connect, nearest
from ragmem.services.lifecycle.plan import plan
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.home.postgres import PostgresDatabase
from ragmem.storage.lifecycle.connections import Connections
from ragmem.storage.maintenance.invariants import violations
from ragmem.storage.names.node_names import NameStatements

NOW = datetime(2026, 3, 1, tzinfo=UTC)

BREAD = (
    "The sourdough starter doubles in six hours at 24 degrees; feed it with rye flour in the morning.",
    "Feed the sourdough starter with rye flour each morning, it doubles within six hours when it is warm.",
    "At 24 degrees the rye starter doubles in about six hours; below 20 the sourdough needs a whole night.",
)
BOATS = (
    "The diesel engine of the ferry loses oil at the rear crankshaft seal; the seal was ordered in Bergen.",
    "Ordered a new crankshaft seal from Bergen, because the ferry's diesel engine drips oil at the rear.",
    "The rear crankshaft seal of the ferry's diesel is replaced; the engine no longer loses oil.",
)
THANKS = (
    "Thanks, the sourdough bread looks really good to me.",
    "Thanks, your sourdough bread really looks good.",
)
ALONE = "The tax office wants the receipts of last year sorted by month, in one envelope."


class World:
    """A catalog with a store, and texts that are memories of it."""

    def __init__(self, home, models, *, catalog=None, backend=lightrag):
        self.catalog = catalog or Catalog.at(home)
        self.catalog.prepare()
        self.store = backend.open_store({}, models, database=self.catalog.database)
        self.put_so_far = 0

    def put(self, texts, *, project="atlas", spec="", ids=None):
        """Store texts as memories; return their ids."""
        records = []
        for n, text in enumerate(texts):
            self.put_so_far += 1
            moment = NOW + timedelta(minutes=self.put_so_far)
            memory = Memory(
                id=ids[n] if ids else f"{content_hash(project + spec + text)[:26]}",
                source="notes",
                uri=f"/notes/{self.put_so_far}",
                text=text,
                title="",
                event_time=moment,
                created_at=moment,
                updated_at=moment,
                content_hash=content_hash(text),
                scope=Scope(project, spec),
            )
            chunks = tuple(chunk(text, memory_id=memory.id, redactor=DEFAULT))
            extractions = tuple(Extraction(one.id, (), ()) for one in chunks)
            records.append(Record(memory=memory, chunks=chunks, extractions=extractions))
        kept = [one.memory.id for one in records]
        self.catalog.memories.accept([(one.memory, one.chunks) for one in records])
        self.store.put(records, finish=lambda: self.catalog.memories.mark(kept, State.INDEXED))
        return kept

    def delete(self, ids):
        self.store.delete(ids, finish=lambda: self.catalog.memories.remove(ids))

    def connect(self, **options):
        return connect(self.catalog, self.store, now=NOW, **options)

    def pairs(self):
        return {(one.first, one.second) for one in self.catalog.connections.of()}

    def close(self):
        self.store.close()
        self.catalog.close()


@pytest.fixture(scope="module")
def models():
    """The bundled model, loaded once."""
    opened = minilm.open_models({})
    yield opened
    opened.close()


@pytest.fixture
def world(tmp_path, models):
    opened = World(tmp_path / "home", models)
    yield opened
    opened.close()


def pair(*ids):
    return tuple(sorted(ids))


def test_memories_about_one_thing_are_connected_and_strangers_are_not(world):
    bread, boats, (alone,) = world.put(BREAD), world.put(BOATS), world.put([ALONE])
    done = world.connect()
    assert (done.new, done.waiting, done.note) == (7, 0, "")
    assert world.pairs() == {
        pair(one, other) for every in (bread, boats) for one in every for other in every if one < other
    }
    assert done.connections == 6
    assert world.catalog.connections.degree() == dict.fromkeys([*bread, *boats], 2)
    assert world.catalog.connections.neighbours(alone) == []
    assert all(one.strength >= 0.5 for one in world.catalog.connections.of())


def test_what_was_compared_is_not_compared_again(world):
    world.put(BREAD)
    assert world.connect().new == 3
    again = world.connect()
    assert (again.new, again.connections) == (0, 0)


def test_twins_in_two_projects_are_never_connected(world):
    world.put(BREAD[:1], project="atlas")
    world.put(BREAD[:2], project="borealis")
    world.connect()
    [connection] = world.catalog.connections.of()
    assert world.catalog.connections.of(["borealis"]) == [connection]
    assert world.catalog.connections.of(["atlas"]) == []


def test_connecting_as_they_come_is_connecting_at_once(tmp_path, models):
    texts = [*BREAD, *BOATS, ALONE]
    at_once, one_by_one = World(tmp_path / "a", models), World(tmp_path / "b", models)
    at_once.put(texts)
    at_once.connect()
    for text in reversed(texts):
        one_by_one.put([text])
        one_by_one.connect()
    assert one_by_one.pairs() == at_once.pairs() != set()
    at_once.close()
    one_by_one.close()


def test_looking_up_a_few_finds_what_comparing_all_does(tmp_path, models, monkeypatch):
    found = []
    for few in (1, 10**9):
        monkeypatch.setattr(connect_module, "FEW_SHARE", few)
        world = World(tmp_path / str(few), models)
        world.put([*BREAD[:2], *BOATS, ALONE])
        world.connect()
        world.put(BREAD[2:])
        assert world.connect().new == 1
        found.append(world.pairs())
        world.close()
    assert found[0] == found[1] != set()


def test_what_was_written_before_a_stop_stays_and_the_rest_follows(tmp_path, models, monkeypatch):
    whole, stopped = World(tmp_path / "a", models), World(tmp_path / "b", models)
    for world in (whole, stopped):
        world.put([*BREAD, *BOATS, ALONE])
    whole.connect()
    monkeypatch.setattr(pair_comparison, "AT_ONCE", 2)
    first = stopped.connect(budget_s=0)
    assert (first.new, first.waiting) == (2, 5)
    assert first.note
    assert violations(stopped.catalog, deep=True) == []
    assert stopped.pairs() < whole.pairs()
    last = stopped.connect()
    assert (last.new, last.waiting) == (5, 0)
    assert stopped.pairs() == whole.pairs()
    whole.close()
    stopped.close()


def test_other_processes_find_what_this_one_does(tmp_path, models, monkeypatch):
    alone, beside = World(tmp_path / "a", models), World(tmp_path / "b", models)
    for world in (alone, beside):
        named = world.put([*BREAD, " ".join([*BREAD, *BOATS, ALONE])], project="atlas")
        world.put([*BREAD[:2], BOATS[0]], project="borealis", spec="tides")
        world.put([*THANKS, *BOATS, ALONE], project="calypso")
        world.catalog.names.learn([NameStatements(key, "atlas", 0, {"the_starter": "code"}) for key in named])
    alone.connect()
    monkeypatch.setattr(connect_module, "MANY", 1)
    monkeypatch.setattr(connect_module, "LARGEST", 4)
    first = beside.connect(workers=2, budget_s=0)
    assert (first.new, first.waiting) == (4, 9)
    assert {one.first for one in beside.catalog.connections.of()} <= set(named)
    last = beside.connect(workers=2)
    assert (last.new, last.waiting) == (9, 0)
    assert beside.catalog.connections.of() == alone.catalog.connections.of() != []
    assert violations(beside.catalog, deep=True) == []
    alone.close()
    beside.close()


def test_a_run_that_is_out_of_time_writes_what_it_has_judged_and_reads_no_further(world, monkeypatch):
    texts = [
        f"Rule {n} of the harbour: no ship of line {n} may enter before the pilot has left." for n in range(8)
    ]
    for n, text in enumerate(texts):
        world.put([text], spec=f"spec{n // 2}")
    monkeypatch.setattr(pair_comparison, "AT_ONCE", 2)
    monkeypatch.setattr(comparison, "WRITES", 1)
    monkeypatch.setattr(comparison, "USUAL", 2)
    read = []
    texts_of = Connections.texts

    def counted(connections, numbers):
        for row in texts_of(connections, numbers):
            read.append(row)
            yield row

    monkeypatch.setattr(Connections, "texts", counted)
    first = world.connect(budget_s=0)
    assert (first.new, first.waiting) == (2, 6)
    assert len(read) < len(texts)
    last = world.connect()
    assert (last.new, last.waiting) == (6, 0)


def test_a_text_that_changed_is_connected_anew(world):
    bread, boats = world.put(BREAD), world.put(BOATS)
    world.connect()
    world.put(
        ["The rear crankshaft seal of the diesel engine leaks oil again; the ferry stays in."], ids=bread[:1]
    )
    assert world.connect().new == 1
    assert {one.first for one in world.catalog.connections.neighbours(bread[0])} | {
        one.second for one in world.catalog.connections.neighbours(bread[0])
    } == {bread[0], *boats}
    assert violations(world.catalog) == []


def test_what_is_deleted_takes_its_connections_along(world):
    bread = world.put(BREAD)
    world.connect()
    world.delete(bread[:1])
    assert world.pairs() == {pair(*bread[1:])}
    assert violations(world.catalog) == []
    assert world.connect().new == 0


def test_a_memory_that_moves_to_another_project_leaves_its_connections_behind(world):
    bread = world.put(BREAD)
    world.connect()
    world.put(BREAD[:1], project="borealis", ids=bread[:1])
    assert violations(world.catalog) == []
    assert world.connect().new == 1
    assert world.pairs() == {pair(*bread[1:])}


def test_two_specs_of_a_project_are_not_connected_but_both_with_what_has_none(world):
    (one,), (other,) = world.put(BREAD[:1], spec="tides"), world.put(BREAD[1:2], spec="winds")
    (common,) = world.put(BREAD[2:])
    world.connect()
    assert world.pairs() == {pair(one, common), pair(other, common)}


def test_a_long_text_of_many_things_is_not_connected_with_each_of_them(world):
    things = (
        "choir bus plum swimming clock harbour chess tailor cinema bakery rowing museum lantern violin"
        " orchard bicycle chimney parade kitten glacier notebook saddle carpet thunder pepper window curtain"
        " marble pigeon ladder meadow button castle pencil tunnel basket feather copper village needle mirror"
        " candle bridge hammer pillow garden stable ticket puppet anchor helmet jacket rabbit sailor"
        " teapot walnut"
    ).split()
    diary = [
        f"The {thing} is behind the {other}, and nobody knows whose {thing} that {other} hides."
        for step in (1, 7, 13)
        for thing, other in zip(things, things[step:] + things[:step], strict=True)
    ]
    short = world.put([*BREAD, *BOATS, ALONE])
    (long,) = world.put(["\n\n".join([*diary[:80], BREAD[0], BOATS[0], ALONE, *diary[80:]])])
    world.connect()
    assert not {pair(long, one) for one in short} & world.pairs()
    assert world.catalog.connections.count() == 6


def test_memories_that_share_a_rare_name_are_candidates_though_their_vectors_are_not_near(world):
    names = [f"retry_budget_{n}" for n in range(4)]
    one, other = world.put(
        [
            f"Raised {' '.join(names)} after the night of the storm.",
            f"Why is the importer slow? See {' '.join(reversed(names))}: the owner is on leave until Monday.",
        ]
    )
    world.put([*BREAD, *BOATS, ALONE])
    assert world.catalog.connections.with_shared_names("atlas", [one]) == []
    told = [NameStatements(key, "atlas", 0, dict.fromkeys(names, "code")) for key in (one, other)]
    world.catalog.names.learn(told)
    assert set(world.catalog.connections.with_shared_names("atlas", [one])) == {one, other}
    members = world.catalog.connections.members("atlas", world.store.answering_model())
    assert len(world.catalog.connections.names("atlas", [members[0].number])[members[0].number]) == 4
    world.connect()
    assert pair(one, other) in world.pairs()


@pytest.mark.parametrize("at_once", [1, 2000])
def test_the_nearest_is_told_of_all_that_can_be_compared(world, monkeypatch, at_once):
    monkeypatch.setattr(comparison, "AT_ONCE", at_once)
    bread, (alone,) = world.put(BREAD), world.put([ALONE])
    assert nearest(world.catalog, world.store, bread) == {}
    world.connect()
    found = nearest(world.catalog, world.store, [*bread, alone, "unknown"])
    strongest = {key: world.catalog.connections.neighbours(key)[0].strength for key in bread}
    assert found == {**strongest, alone: 0.0}


def test_a_memory_keeps_its_strongest_connections_only(world):
    copies = world.put([f"{BREAD[0]} Noted on day {n} of the course." for n in range(MOST + 8)])
    world.put([f"{text} It was day {n}." for text in (*BOATS, ALONE) for n in range(30)])
    world.connect()
    degrees = world.catalog.connections.degree(copies)
    assert min(degrees.values()) >= MOST
    assert len(degrees) == len(copies)
    assert world.catalog.connections.count() <= MOST * (len(copies) + 120)


def test_an_unknown_model_connects_nothing_until_there_are_enough_memories(tmp_path):
    models = fake.open_models({})
    world = World(tmp_path / "home", models)
    world.put(BREAD)
    done = world.connect()
    assert (done.new, done.waiting, done.scale) == (0, 3, None)
    assert "30 memories" in done.note
    assert nearest(world.catalog, world.store, world.catalog.memories.ids()) == {}
    world.put([f"{text} {n}" for n in range(10) for text in (*BOATS, ALONE)])
    done = world.connect()
    assert (done.waiting, done.note) == (0, "")
    assert done.scale.scale.memories == 43
    world.close()


def test_a_scale_that_changed_judges_all_anew(world):
    world.put([*BREAD, *BOATS])
    world.connect()
    model = world.store.answering_model()
    kept = world.catalog.connections.scale(model)
    assert kept.measured_at == NOW
    world.catalog.connections.keep_scale(model, Scale(0.8, 0.9, memories=1), now=NOW, anew=True)
    assert sum(world.catalog.connections.count_uncompared(model).values()) == 6
    before = world.pairs()
    assert world.connect().new == 6
    assert world.pairs() == before
    assert world.catalog.connections.scale(model).scale == kept.scale


def test_memories_are_looked_up_without_a_walk_through_all_others(world):
    ids = world.put(BREAD)
    connections, model = world.catalog.connections, world.store.answering_model()
    asked = []
    with world.catalog.database.read() as connection:
        connection.set_trace_callback(asked.append)
        every = connections.members("atlas", model)
        assert connections.waiting_members("atlas", model) == every
        assert connections.members("atlas", model, ids=ids) == every
        assert sorted(connections.sampled_numbers("atlas", 9)) == [one.number for one in every]
        connection.set_trace_callback(None)
        plans = [connection.execute(f"EXPLAIN QUERY PLAN {sql}").fetchone()[3] for sql in asked]
    by_project, by_id = "memories_by_project (project=?)", "sqlite_autoindex_memories_1 (id=?)"
    wanted = [by_project, by_project, by_id, by_project]
    assert all(index in plan for index, plan in zip(wanted, plans, strict=True))


def test_a_shared_database_gives_the_same_connections(tmp_path, models, postgres):
    here = World(tmp_path / "here", models)
    catalog = Catalog(PostgresDatabase(postgres, tmp_path / "there"))
    there = World(tmp_path / "there", models, catalog=catalog, backend=fake)
    for world in (here, there):
        ids = world.put([*BREAD, *BOATS])
        world.connect()
        world.put([BOATS[0]], ids=ids[:1])
        world.put([ALONE])
        world.connect()
        told = [NameStatements(key, "atlas", 0, {"the_seal": "code"}) for key in ids[:2]]
        world.catalog.names.learn(told)
    assert there.pairs() == here.pairs() != set()
    assert there.catalog.connections.degree() == here.catalog.connections.degree()
    assert there.catalog.connections.with_shared_names("atlas", ids[:1]) == ids[:2]
    assert violations(there.catalog) == []
    there.catalog.connections.drop()
    assert there.catalog.connections.count() == 0
    here.close()
    there.close()


def test_forgotten_connections_are_found_again(world):
    bread = world.put(BREAD)
    world.connect()
    before = world.pairs()
    world.catalog.connections.drop(bread[:1])
    assert world.pairs() == {pair(*bread[1:])}
    world.catalog.connections.drop()
    assert world.pairs() == set()
    assert world.connect().new == 3
    assert world.pairs() == before


def test_gc_archives_none_as_alone_whose_connections_a_quick_search_had_missed(world):
    # Worthless to the judge, all three.
    thanks = world.put(
        [
            "Thanks! All tests pass now, let me know if you need anything else.",
            "Great, thanks! All tests pass now. Let me know if you need anything else.",
        ]
    )
    (alone,) = world.put(["Perfect! Now let me check the output:"])
    world.put([*BREAD, *BOATS, ALONE])
    world.connect()
    with world.catalog.database.write() as connection:
        connection.execute("DELETE FROM connections")
    found = plan(
        world.catalog,
        world.store,
        now=NOW,
        policy=LifecyclePolicy(age_after=5, min_cluster=9),
        keep=timedelta(days=30),
    )
    decided = {item.id: (item.action, item.rule) for item in found.items}
    assert [decided[key] for key in thanks] == [("keep", "connected")] * 2
    assert decided[alone] == ("archive", "cold")
