"""Memories of one project that are about one thing get connected, and no others do."""

from datetime import UTC, datetime, timedelta

import pytest

from ragmem.backends import lightrag, minilm
from ragmem.catalog.catalog import Catalog
from ragmem.domain.chunking import chunk
from ragmem.domain.lifecycle import LifecyclePolicy
from ragmem.domain.model import Extraction, Memory, Record, Scope, State, content_hash
from ragmem.services.connecting import connect

NOW = datetime(2026, 3, 1, tzinfo=UTC)
POLICY = LifecyclePolicy()

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
ALONE = "The tax office wants the receipts of last year sorted by month, in one envelope."


class World:
    """A catalog with a store, and texts that are memories of it."""

    def __init__(self, home, models):
        self.catalog = Catalog.at(home)
        self.catalog.prepare()
        self.store = lightrag.open_store({}, models, database=self.catalog.database)
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
            chunks = tuple(chunk(text, memory_id=memory.id))
            extractions = tuple(Extraction(one.id, (), ()) for one in chunks)
            records.append(Record(memory=memory, chunks=chunks, extractions=extractions))
        kept = [one.memory.id for one in records]
        self.catalog.memories.accept([(one.memory, one.chunks) for one in records])
        self.store.put(records, finish=lambda: self.catalog.memories.mark(kept, State.INDEXED))
        return kept

    def delete(self, ids):
        self.store.delete(ids, finish=lambda: self.catalog.memories.remove(ids))

    def connect(self, **options):
        return connect(self.catalog, self.store, now=NOW, policy=POLICY, **options)

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
