"""Each thing that can be wrong with the store's tables is told, and a sound store is told to be sound."""

import pytest

from ragmem.backends import fake, lightrag
from ragmem.domain.model import USER
from ragmem.errors import StoreDamagedError
from ragmem.testing import StoreContract

DAMAGES = {
    "DELETE FROM store_documents": "chunks in the store belong to no document",
    "DELETE FROM store_documents WHERE rowid = 1": "chunks in the store belong to no document",
    "UPDATE store_chunks SET document = 99": "chunks in the store belong to no document",
    "UPDATE store_kv SET id = 'x' WHERE namespace = 'full_docs' AND rowid = 1": "LightRAG wrote belong to no",
    "DELETE FROM store_chunk_vectors": "chunks in the store have no vector",
    "UPDATE store_chunk_vectors SET model = 99": "chunks in the store have no vector",
    "UPDATE store_chunk_vectors SET chunk = chunk + 99": "vectors belong to no chunk",
    "UPDATE store_name_vectors SET workspace = 'x'": "vectors belong to no entity",
    "UPDATE store_name_vectors SET subject = 'x' WHERE namespace = 'entities'": "vectors belong to no entity",
    "UPDATE store_nodes SET present = 0 WHERE id = 'Redis'": "vectors belong to no entity",
    "UPDATE store_name_vectors SET object = 'x' WHERE namespace = 'relationships'": "belong to no relation",
    "DELETE FROM store_nodes WHERE id = 'Redis'": "relations have an end that is not an entity",
    "INSERT INTO store_nodes (space, id) SELECT space, id FROM store_nodes WHERE id = 'Kafka'": "than once",
    "INSERT INTO store_chunks (space, position, id) SELECT space, 9, id FROM store_chunks LIMIT 1": (
        "chunks are stored more than once"
    ),
    "DELETE FROM store_edges": "vectors belong to no relation",
    "UPDATE store_edges SET present = 0": "vectors belong to no relation",
    "UPDATE store_nodes SET degree = degree + 1": "the degree of entities is not their number of relations",
    "UPDATE store_mentions SET chunk = chunk + 99": "mentions come from a chunk that does not exist",
    "UPDATE store_evidence SET chunk = chunk + 99": "mentions come from a chunk that does not exist",
    "UPDATE store_mentions SET node = node + 99": "mentions refer to an entity that does not exist",
    "UPDATE store_evidence SET edge = edge + 99": "mentions refer to a relation that does not exist",
    "DELETE FROM store_evidence": "relations are mentioned nowhere",
    "UPDATE store_chunk_vectors SET vector = x'0102' WHERE seq = 1": "vectors of one model differ",
}

DEEP_DAMAGES = {
    "UPDATE store_chunk_vectors SET scale = scale * 2": "vectors cannot come from the model",
    "UPDATE store_documents SET extractions = x'00' WHERE n = 1": "extractions of documents are unreadable",
    "UPDATE store_documents SET extractions = NULL WHERE n = 1": "other mentions than extractions",
    "DELETE FROM store_mentions WHERE chunk = 1 AND node IN (SELECT n FROM store_nodes WHERE id = 'Redis')": (
        "other mentions than extractions"
    ),
    "UPDATE store_chunks SET nodes = NULL WHERE n = 1": "chunks do not list all that they mention",
    "UPDATE store_chunks SET position = 1 - position WHERE document = 2": "other mentions than extractions",
}


@pytest.fixture
def store(database):
    store = lightrag.open_store({}, fake.open_models({}), database=database)
    store.put([StoreContract.REDIS, StoreContract.KAFKA])
    # Makes the vectors of names.
    store.native.native_query("redis of billing", "hybrid", keywords=["Redis"], limit=5, project=USER)
    assert store.check(deep=True) == []
    yield store
    store.close()


def damage(database, statement):
    with database.write() as connection:
        assert connection.execute(statement).rowcount > 0


@pytest.mark.parametrize("statement", DAMAGES)
def test_rows_that_contradict_each_other_are_told(store, database, statement):
    damage(database, statement)
    assert any(DAMAGES[statement] in line for line in store.check())


@pytest.mark.parametrize("statement", DEEP_DAMAGES)
def test_a_deep_check_reads_vectors_and_evidence(store, database, statement):
    damage(database, statement)
    assert store.check() == []
    assert any(DEEP_DAMAGES[statement] in line for line in store.check(deep=True))


def test_a_violation_is_one_line_that_counts_and_names(store, database):
    damage(database, "UPDATE store_nodes SET degree = 7 WHERE id = 'Redis'")
    assert store.check() == ["the degree of entities is not their number of relations: 1 (Redis)"]


def test_an_entity_that_nothing_mentions_is_told(store, database):
    damage(
        database,
        "INSERT INTO store_nodes (space, id, lowered) SELECT n, 'Lone', 'lone' FROM store_spaces",
    )
    assert store.check() == ["entities are mentioned nowhere: 1 (Lone)"]


def test_a_repair_puts_aside_a_memory_whose_extractions_cannot_be_read(store, database):
    damage(database, "UPDATE store_documents SET extractions = x'00' WHERE n = 1")
    with pytest.raises(StoreDamagedError, match="cannot be read"):
        store.entities()
    assert store.repair()["memories"] == 1
    assert store.check(deep=True) == []
    store.put([StoreContract.REDIS, StoreContract.KAFKA])
    assert [(one.name, degree) for one, degree in store.entities()] == [
        ("Billing", 2),
        ("Kafka", 1),
        ("Redis", 1),
    ]
    assert store.check(deep=True) == []


def test_an_entity_that_is_there_twice_is_told_and_repaired(store, database):
    damage(
        database, "INSERT INTO store_nodes (space, id) SELECT space, id FROM store_nodes WHERE id = 'Redis'"
    )
    newest = "(SELECT max(n) FROM store_nodes)"
    damage(database, f"INSERT INTO store_mentions SELECT {newest}, chunk FROM store_mentions LIMIT 1")
    assert any("entities are stored more than once: 1 (Redis)" in line for line in store.check())
    store.repair()
    assert store.check(deep=True) == []
    store.put([StoreContract.REDIS, StoreContract.KAFKA])
    assert [one.name for one, _ in store.entities()] == ["Billing", "Kafka", "Redis"]
    assert store.check(deep=True) == []


def test_names_without_vectors_are_sound(store, database):
    damage(database, "DELETE FROM store_name_vectors")
    assert store.check(deep=True) == []
