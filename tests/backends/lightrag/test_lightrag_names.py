"""Names have vectors once one of LightRAG's modes was asked, and its rows are made from what was put."""

import pytest

from ragmem.backends import fake, lightrag
from ragmem.backends.lightrag import engine
from ragmem.backends.lightrag.rows import names
from ragmem.backends.lightrag.vectors import name_vectors
from ragmem.domain.model import USER
from ragmem.errors import BackendError
from ragmem.storage.home.catalog import Catalog
from ragmem.testing import make_record
from ragmem.testing.two_models import ModelsToChange


class Counting(fake.FakeEmbedder):
    """Keeps the texts of documents and calls what is to happen meanwhile."""

    def __init__(self):
        self.texts = []
        self.meanwhile = lambda: None

    def embed(self, texts, *, role):
        if role == "document":
            self.texts += texts
            self.meanwhile()
        return super().embed(texts, role=role)


@pytest.fixture
def models():
    return ModelsToChange(Counting())


@pytest.fixture
def store(database, models):
    store = lightrag.open_store({}, models, database=database)
    yield store
    store.close()


def run(function, *arguments, **options):
    return engine.run(lambda: function(*arguments, **options))


def ask(store, mode="local"):
    answer = store.native.native_query("what of Redis", mode, keywords=["Redis"], limit=9, project=USER)
    assert answer["status"] == "success"
    return answer["data"]


def embedded(models):
    """The texts of documents that were embedded since the last call."""
    texts, models.embedder.texts = models.embedder.texts, []
    return sorted(texts)


def related(number):
    own = f"Own {number}"
    return make_record(
        f"memory {number}", f"text {number} of Redis", entities=["Redis", own], relations=[("Redis", own)]
    )


def test_the_first_question_makes_the_vectors_of_names_and_the_next_none(store, models):
    store.put([related(1), related(2)])
    assert embedded(models) == ["text 1 of Redis", "text 2 of Redis"]
    assert ask(store)["entities"][0]["entity_name"] == "Redis"
    assert embedded(models) == ["Own 1", "Own 2", "Redis"]
    assert ask(store)["entities"]
    assert embedded(models) == []
    # Of relations as well, when a mode compares them.
    assert len(ask(store, "global")["relationships"]) == 2
    assert embedded(models) == ["Own 1 uses Redis", "Own 2 uses Redis"]
    store.put([related(3)])
    assert embedded(models) == ["text 3 of Redis"]
    assert {one["entity_name"] for one in ask(store, "hybrid")["entities"]} >= {"Own 3"}
    assert embedded(models) == ["Own 3", "Own 3 uses Redis"]
    store.delete([related(3).memory.id])
    assert {one["entity_name"] for one in ask(store, "hybrid")["entities"]} == {"Redis", "Own 1", "Own 2"}
    assert embedded(models) == []
    assert store.check(deep=True) == []


def test_of_many_entities_only_those_that_two_chunks_share_get_a_vector(store, models, monkeypatch):
    monkeypatch.setattr(name_vectors, "ALL_UP_TO", 3)
    store.put([related(number) for number in range(2)])
    embedded(models)
    ask(store)
    assert embedded(models) == ["Own 0", "Own 1", "Redis"]
    store.put([related(number) for number in range(2, 5)])
    store.put([make_record("more", "more of it", entities=["Own 3"])])
    embedded(models)
    ask(store, "hybrid")
    assert embedded(models) == ["Own 3"]


def test_a_failing_embedder_leaves_the_names_that_were_made_and_the_next_question_goes_on(
    store, models, monkeypatch
):
    monkeypatch.setattr(name_vectors, "EMBEDDED_AT_ONCE", 2)
    store.put([related(number) for number in range(4)])
    embedded(models)

    def fail():
        if len(models.embedder.texts) > 2:
            raise BackendError("no more")

    models.embedder.meanwhile = fail
    with pytest.raises(BackendError, match="no more"):
        ask(store)
    models.embedder.meanwhile = lambda: None
    assert len(embedded(models)) == 4
    ask(store)
    assert len(embedded(models)) == 3


@pytest.mark.parametrize("mode", ["local", "global"])
def test_a_memory_that_is_deleted_meanwhile_leaves_no_vector_of_a_name(store, models, mode):
    store.put([related(1), related(2)])
    models.embedder.meanwhile = lambda: store.delete([related(2).memory.id])
    ask(store, mode)
    models.embedder.meanwhile = lambda: None
    assert store.check(deep=True) == []


def test_lightrags_rows_are_made_from_what_was_put(models, tmp_path):
    catalog = Catalog.at(tmp_path / "home")
    catalog.prepare()
    record = make_record(
        "redis",
        "Redis caches the sessions.\n\nNothing is named here.",
        entities=["Redis", "Billing"],
        relations=[("Redis", "Billing"), ("Redis", "Session")],
    )
    catalog.memories.accept([(record.memory, record.chunks)])
    store = lightrag.open_store({}, models, database=catalog.database)
    store.put([record])
    rag = store._engine.instance(USER).rag
    memory, (first, second) = record.memory.id, [chunk.id for chunk in record.chunks]
    path, key = names.file_token(memory), names.cache_id(first)

    def row(storage, one):
        found = run(storage.get_by_id, one)
        return {name: value for name, value in found.items() if name not in {"create_time", "update_time"}}

    assert row(rag.full_docs, memory) == {"_id": memory, "content": record.memory.text, "file_path": path}
    chunk = row(rag.text_chunks, second)
    assert chunk.pop("tokens") > 0
    assert chunk == {
        "_id": second,
        "content": "Nothing is named here.",
        "llm_cache_list": [names.cache_id(second)],
        "chunk_order_index": 1,
        "full_doc_id": memory,
        "file_path": path,
    }
    cached = row(rag.llm_response_cache, key)
    assert (cached["chunk_id"], cached["cache_type"]) == (first, "extract")
    assert "Redis uses Session as told by redis." in cached["return"]
    assert row(rag.full_entities, memory)["entity_names"] == ["Billing", "Redis", "Session"]
    assert row(rag.full_relations, memory)["relation_pairs"] == [["Billing", "Redis"], ["Redis", "Session"]]
    assert row(rag.entity_chunks, "Redis")["chunk_ids"] == [first]
    assert row(rag.relation_chunks, names.relation_key("Redis", "Session"))["chunk_ids"] == [first]
    status = run(rag.doc_status.get_by_id, memory)
    assert (status["status"], status["chunks_list"], status["file_path"]) == (
        "processed",
        [first, second],
        path,
    )
    graph = rag.chunk_entity_relation_graph
    node = run(graph.get_node, "Redis")
    assert (node["entity_type"], node["description"]) == ("concept", "Redis as told by redis.")
    assert (node["source_id"], node["file_path"]) == (first, path)
    # Named by a relation alone.
    node = run(graph.get_node, "Session")
    assert (node["entity_type"], node["description"]) == ("UNKNOWN", "Redis uses Session as told by redis.")
    edge = run(graph.get_edge, "Session", "Redis")
    assert (edge["weight"], edge["keywords"], edge["source_id"]) == (1.0, "uses", first)
    assert edge["description"] == "Redis uses Session as told by redis."
    with catalog.database.read() as connection:
        assert connection.execute("SELECT count(*) FROM store_kv").fetchone() == (0,)
    for storage in (rag.full_docs, rag.text_chunks, rag.llm_response_cache, rag.full_entities):
        assert run(storage.get_by_id, "unknown") is None
    store.close()
    catalog.close()


def test_what_lightrag_wrote_on_a_node_stays_and_later_memories_are_added(store):
    store.put([make_record("one", "one", entities=["Redis", "Hub"], relations=[("Redis", "Hub")])])
    rag = store._engine.instance(USER).rag
    graph = rag.chunk_entity_relation_graph
    run(rag.aedit_entity, "Redis", {"description": "Edited.", "entity_type": "tool"})
    run(rag.aedit_relation, "Redis", "Hub", {"description": "Edited too.", "keywords": "caches"})
    later = make_record("two", "two", entities=["Redis", "Hub"], relations=[("Redis", "Hub")], hours=1)
    store.put([later])
    node, edge = run(graph.get_node, "Redis"), run(graph.get_edge, "Redis", "Hub")
    assert node["description"].split("<SEP>") == ["Edited.", "Redis as told by two."]
    assert node["entity_type"] == "tool"
    assert edge["description"].split("<SEP>") == ["Edited too.", "Redis uses Hub as told by two."]
    assert (edge["keywords"], edge["weight"]) == ("caches", 2.0)
    chunks = set(node["source_id"].split("<SEP>"))
    assert len(chunks) == 2
    assert later.chunks[0].id in chunks
    assert [one.type for one, _ in store.entities("redis")] == ["tool"]
    assert store.check(deep=True) == []


def test_an_entity_that_lightrag_deleted_comes_back_with_a_memory_that_names_it(store):
    one = make_record("one", "one", entities=["Redis", "Hub"], relations=[("Redis", "Hub")])
    store.put([one])
    rag = store._engine.instance(USER).rag
    run(rag.adelete_by_entity, "Redis")
    assert store.entities("redis") == []
    assert store.neighbours("Hub") == []
    assert store.check() == []
    two = make_record("two", "two", entities=["Redis"], hours=1)
    store.put([two])
    assert [name.name for name, _ in store.entities("redis")] == ["Redis"]
    assert store.check() == []
    store.delete([one.memory.id, two.memory.id])
    assert set(store.statistics().values()) == {0}


def test_chunks_of_lightrag_that_name_nothing_are_kept_by_a_sweep(store, models):
    class Silent:
        model_id = "silent"

        def complete(self, prompt, *, system="", max_tokens=1024, json_schema=None):
            return '{"entities": [], "relationships": []}'

    models.language_model = Silent()
    store._create()
    rag = store._engine.instance(USER).rag
    run(rag.ainsert, "nothing has a name here", ids=["doc"], file_paths=["doc.md"])
    assert store.check(deep=True) == []
    assert set(store.sweep().values()) == {0}
    assert [hit.memory_id for hit in store.search("nothing has a name", limit=3)] == ["doc"]
    store.delete(["doc"])
    assert set(store.statistics().values()) == {0}


def test_the_newest_mentions_are_those_of_the_latest_events_whatever_the_order_of_storing(store):
    every = [
        make_record(f"note-{hour}", f"note {hour} on the Hub", entities=["Hub"], hours=hour)
        for hour in range(6)
    ]
    # As a seed stores them, the latest first; then one of today, then one of long ago.
    for some in (every[3:5], every[1:3], every[5:], every[:1]):
        store.put(some)
    found = store.chunks_naming(["Hub"], project=USER, most=4)["Hub"]
    assert list(found) == [record.chunks[0].id for record in reversed(every[2:])]
