"""Each thing that can be wrong with the store's tables is told, and a sound store is told to be sound."""

import pytest

from ragmem.backends import fake, lightrag
from ragmem.testing import StoreContract

DAMAGES = {
    "DELETE FROM store_kv WHERE namespace = 'full_docs'": "documents have no row in full_docs",
    "DELETE FROM store_kv WHERE namespace = 'full_entities'": "documents have no row in full_entities",
    "DELETE FROM store_kv WHERE namespace = 'full_relations'": "documents have no row in full_relations",
    "DELETE FROM store_documents": "chunks of the store are of no document",
    "DELETE FROM store_documents WHERE rowid = 1": "rows are of no document",
    "DELETE FROM store_kv WHERE namespace = 'text_chunks'": "documents name other chunks than they have",
    "UPDATE store_documents SET data = json_set(data, '$.chunks_list', json('[]'))": (
        "chunks of the store are not named by their document"
    ),
    "DELETE FROM store_vectors WHERE namespace = 'chunks'": "chunks of the store have no vector",
    "UPDATE store_vectors SET subject = 'x' WHERE namespace = 'chunks'": "chunks of the store have no vector",
    "UPDATE store_vectors SET id = 'x' || id WHERE namespace = 'chunks'": "vectors are of no chunk",
    "DELETE FROM store_kv WHERE namespace = 'llm_response_cache'": "cached extractions that a chunk names",
    "UPDATE store_kv SET data = json_set(data, '$.chunk_id', 'x') WHERE namespace = 'llm_response_cache'": (
        "cached extractions are of no chunk"
    ),
    "DELETE FROM store_vectors WHERE namespace = 'entities'": "entities have no vector",
    "UPDATE store_vectors SET subject = 'x' WHERE namespace = 'entities'": "vectors are of no entity",
    "DELETE FROM store_vectors WHERE namespace = 'relationships'": "relations have no vector",
    "UPDATE store_vectors SET object = 'x' WHERE namespace = 'relationships'": "vectors are of no relation",
    "DELETE FROM store_nodes WHERE id = 'Redis'": "relations have an end that is no entity",
    "DELETE FROM store_edges": "vectors are of no relation",
    "UPDATE store_nodes SET degree = degree + 1": "entities have another degree than relations",
    "UPDATE store_sources SET chunk_id = 'x' || chunk_id": "mentions are by a chunk that does not exist",
    "UPDATE store_sources SET key = 'x' WHERE namespace = 'entity_chunks' AND key = 'Redis'": (
        "mentions are of an entity that does not exist"
    ),
    "UPDATE store_sources SET key = 'x<SEP>y' WHERE namespace = 'relation_chunks'": (
        "mentions are of a relation that does not exist"
    ),
    "DELETE FROM store_sources WHERE namespace = 'relation_chunks'": "relations are mentioned nowhere",
    "UPDATE store_vectors SET vector = x'0102' WHERE seq = 1": "vectors of one model have several lengths",
}

DEEP_DAMAGES = {
    "UPDATE store_vectors SET scale = scale * 2 WHERE namespace = 'chunks'": "vectors cannot be of the model",
    "UPDATE store_nodes SET data = json_set(data, '$.source_id', 'gone')": "name chunks that do not exist",
}


@pytest.fixture
def store(database):
    store = lightrag.open_store({}, fake.open_models({}), database=database)
    store.put([StoreContract.REDIS, StoreContract.KAFKA])
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
    assert store.check() == ["entities have another degree than relations: 1 (Redis)"]


def test_an_entity_that_nothing_mentions_is_told(store, database):
    damage(
        database,
        "INSERT INTO store_nodes (workspace, id, folded, data) VALUES ('user', 'Lone', 'lone', '{}')",
    )
    lines = store.check()
    assert "entities are mentioned nowhere: 1 (Lone)" in lines
    assert "entities have no vector: 1 (Lone)" in lines
