"""LightRAG's own public API runs on our storages: insert, every query mode, deletion, graph edits, pages."""

import itertools

import orjson
import pytest

from ragmem.backends import fake, lightrag
from ragmem.backends.lightrag import engine
from ragmem.backends.lightrag.rows import names, sources
from ragmem.backends.lightrag.rows.schema import TABLES
from ragmem.backends.lightrag.storages import registration
from ragmem.testing import make_record

TEXTS = {
    "doc-redis": "Redis caches the sessions of Billing.",
    "doc-kafka": "Kafka carries the events of Billing.",
}


def extract(prompt):
    """Name every capitalised word; relate the neighbours."""
    text = prompt.split("---Input Text---\n```\n")[-1].split("\n```\n\n---Output---")[0]
    words = [word.strip(".,") for word in text.split() if word[0].isupper()]
    return orjson.dumps(
        {
            "entities": [{"name": w, "type": "concept", "description": f"{w} in {text}"} for w in words],
            "relationships": [
                {"source": a, "target": b, "keywords": "near", "description": f"{a} and {b} in {text}"}
                for a, b in itertools.pairwise(words)
            ],
        }
    ).decode()


class RuleModel:
    model_id = "rules"

    def complete(self, prompt, *, system="", max_tokens=1024, json_schema=None):
        return extract(prompt)


class RuleModels(fake.FakeModels):
    language_model = RuleModel()


@pytest.fixture
def store(database):
    store = lightrag.open_store({}, RuleModels(), database=database)
    store._create()
    yield store
    store.close()


@pytest.fixture
def rag(store):
    return store._engine.instance("native").rag


def run(function, *arguments, **options):
    return engine.run(lambda: function(*arguments, **options))


@pytest.fixture
def filled(rag):
    run(rag.ainsert, list(TEXTS.values()), ids=list(TEXTS), file_paths=[f"{key}.md" for key in TEXTS])
    return rag


def count_rows(database):
    """The rows of every table, but for the workspace itself and the chunk that stands for an empty list."""
    with database.read() as connection:
        return {
            table: connection.execute(
                f"SELECT count(*) FROM {table}" + (" WHERE id <> ''" if table == "store_chunks" else "")
            ).fetchone()[0]
            for table in TABLES
            if table not in {"store_spaces", "store_vector_models"}
        }


NONE = {table: 0 for table in TABLES if table not in {"store_spaces", "store_vector_models"}}


@pytest.mark.parametrize("name", ["KV", "VECTOR", "GRAPH", "DOC_STATUS"])
def test_no_abstract_method_is_missing(name, tmp_path):
    registration.import_lightrag(tmp_path)
    from lightrag.kg.factory import get_storage_class

    assert not get_storage_class(getattr(registration, name)).__abstractmethods__


def test_our_storages_pass_lightrags_own_check(tmp_path):
    registration.import_lightrag(tmp_path)
    from lightrag.kg import verify_storage_implementation

    for kind, (name, _) in registration._STORAGES.items():
        verify_storage_implementation(kind, name)


@pytest.mark.parametrize("mode", ["local", "global", "hybrid", "naive", "mix"])
def test_what_ainsert_brought_in_is_found_in_every_mode(filled, store, mode):
    answer = store.native.native_query("redis sessions", mode, keywords=["Redis"], limit=10, project="native")
    assert answer["status"] == "success"
    assert answer["data"]["chunks"][0]["content"] == TEXTS["doc-redis"]
    if mode != "naive":
        assert {one["entity_name"] for one in answer["data"]["entities"]} >= {"Redis"}
        assert answer["data"]["relationships"]


def test_the_direct_reads_see_what_ainsert_brought_in(filled, store):
    assert store.memory_ids() == set(TEXTS)
    assert store.search("redis sessions", limit=1)[0].memory_id == "doc-redis"
    [(first, degree)] = store.entities(project="native", limit=1)
    assert (first.name, degree) == ("Billing", 2)


def test_a_second_insert_of_the_same_name_is_reported_as_a_duplicate(filled, database):
    run(filled.ainsert, "Another text.", ids=["doc-other"], file_paths=["doc-redis.md"])
    counts = run(filled.doc_status.get_all_status_counts)
    assert (counts["processed"], counts["failed"]) == (2, 1)
    found = run(filled.doc_status.get_doc_by_file_basename, "doc-redis.md")
    assert found[0] == "doc-redis"
    assert type(run(filled.doc_status.resolve_doc_source_strict, "doc-redis.md")).__name__ == "SourceUnique"
    assert type(run(filled.doc_status.resolve_doc_source_strict, "none.md")).__name__ == "SourceAbsent"


def test_lightrags_own_deletion_leaves_nothing(filled, database):
    assert run(filled.adelete_by_doc_id, "doc-redis", delete_llm_cache=True).status == "success"
    assert run(filled.chunk_entity_relation_graph.get_all_labels) == ["Billing", "Kafka"]
    billing = run(filled.chunk_entity_relation_graph.get_node, "Billing")
    assert "Redis" not in billing["description"]
    assert run(filled.adelete_by_doc_id, "doc-kafka", delete_llm_cache=True).status == "success"
    assert count_rows(database) == NONE


def test_lightrag_can_delete_what_put_brought_in(store, database):
    records = [
        make_record(name, f"{name} speaks", entities=[name.upper(), "HUB"], project="native", hours=hours)
        for hours, name in enumerate(("one", "two"))
    ]
    store.put(records)
    rag = store._engine.instance("native").rag
    assert run(rag.adelete_by_doc_id, records[0].memory.id, delete_llm_cache=True).status == "success"
    assert {one.name for one, _ in store.entities(project="native")} == {"TWO", "HUB"}
    assert run(rag.chunk_entity_relation_graph.get_node, "HUB")["description"] == "HUB as told by two."
    store.delete([records[1].memory.id])
    assert count_rows(database) == NONE


def test_our_deletion_removes_what_ainsert_brought_in(filled, store, database):
    store.delete(list(TEXTS))
    assert count_rows(database) == NONE


def test_entities_can_be_edited_merged_and_removed(filled):
    graph = filled.chunk_entity_relation_graph
    run(filled.aedit_entity, "Redis", {"description": "Edited."})
    assert run(graph.get_node, "Redis")["description"] == "Edited."
    run(filled.acreate_entity, "Valkey", {"description": "A fork.", "entity_type": "concept"})
    run(filled.amerge_entities, ["Redis", "Valkey"], "Valkey")
    assert run(graph.get_all_labels) == ["Billing", "Kafka", "Valkey"]
    assert run(graph.get_node_edges, "Valkey") == [("Valkey", "Billing")]
    run(filled.adelete_by_entity, "Valkey")
    assert run(graph.get_node_edges, "Valkey") is None
    assert run(graph.node_degree, "Billing") == 1


def test_the_graph_storage_answers_as_documented(filled):
    graph = filled.chunk_entity_relation_graph
    assert run(graph.has_edge, "Billing", "Redis")
    assert run(graph.has_edge, "Redis", "Billing")
    assert not run(graph.has_edge, "Redis", "Kafka")
    assert run(graph.edge_degree, "Redis", "Billing") == 3
    assert run(graph.get_node, "none") is None
    assert run(graph.node_degree, "none") == 0
    asked = [{"src": "Redis", "tgt": "Billing"}, {"src": "Billing", "tgt": "Redis"}, {"src": "x", "tgt": "y"}]
    assert set(run(graph.get_edges_batch, asked)) == {("Redis", "Billing"), ("Billing", "Redis")}
    assert run(graph.get_popular_labels, 2) == ["Billing", "Kafka"]
    assert run(graph.search_labels, "KA") == ["Kafka"]
    assert run(graph.search_labels, "ill") == ["Billing"]
    assert run(graph.search_labels, " ") == []
    whole = run(filled.get_knowledge_graph, "*", max_depth=2, max_nodes=2)
    assert whole.is_truncated
    assert [node.id for node in whole.nodes] == ["Billing", "Kafka"]
    assert len(whole.edges) == 1
    assert len(run(graph.get_all_nodes)) == 3
    assert len(run(graph.get_all_edges)) == 2
    run(graph.upsert_node, "Kafka", {"extra": 1})
    assert run(graph.get_node, "Kafka")["entity_type"] == "concept"
    run(graph.remove_edges, [("Kafka", "Billing")])
    assert run(graph.get_node_edges, "Kafka") == []
    run(graph.delete_node, "Redis")
    assert run(graph.node_degree, "Billing") == 0


def test_the_vector_storage_answers_as_documented(filled):
    vectors = filled.chunks_vdb
    [row] = run(vectors.query, "kafka events", top_k=1)
    assert row["content"] == TEXTS["doc-kafka"]
    assert row["full_doc_id"] == "doc-kafka"
    assert row["file_path"] == "doc-kafka.md"
    assert 0.2 < row["distance"] <= 1
    assert run(vectors.get_by_id, row["id"])["content"] == TEXTS["doc-kafka"]
    assert run(vectors.get_by_ids, ["none", row["id"]])[0] is None
    assert len(run(vectors.get_vectors_by_ids, [row["id"], "none"])[row["id"]]) == fake.DIMENSIONS
    relations = filled.relationships_vdb
    run(relations.delete_entity_relation, "Kafka")
    run(relations.index_done_callback)
    gone, kept = names.relation_id("Billing", "Kafka"), names.relation_id("Billing", "Redis")
    assert run(relations.get_by_ids, [gone, kept])[0] is None
    assert run(relations.get_by_ids, [gone, kept])[1]["src_id"] == "Billing"
    # A question makes what is missing.
    assert len(run(relations.query, "Billing Redis Kafka", top_k=9)) == 2
    run(vectors.upsert, {"waiting": {"content": "waits", "full_doc_id": "d"}})
    assert run(vectors.get_by_id, "waiting")["full_doc_id"] == "d"
    run(vectors.drop_pending_index_ops)
    assert run(vectors.get_by_id, "waiting") is None


def test_a_relation_that_is_removed_and_added_again_keeps_its_vector(filled, database):
    relations = filled.relationships_vdb
    with database.read() as connection:
        before = connection.execute(
            "SELECT seq, id FROM store_vectors WHERE namespace = 'relationships'"
        ).fetchall()
    key = before[0][1]
    run(relations.delete, [key])
    assert run(relations.get_by_id, key) is None
    run(relations.upsert, {key: {"src_id": "Billing", "tgt_id": "Redis", "content": "x"}})
    run(relations.index_done_callback)
    with database.read() as connection:
        assert (
            connection.execute(
                "SELECT seq, id FROM store_vectors WHERE namespace = 'relationships'"
            ).fetchall()
            == before
        )


def test_documents_come_in_pages_in_order_of_creation(filled):
    from lightrag.base import CURSOR_END, CURSOR_START, DocStatus

    status = filled.doc_status
    rows = {
        f"d{n}": {
            "status": DocStatus.PENDING,
            "content_summary": "s",
            "content_length": 1,
            "created_at": f"2026-01-0{1 + n // 2}",
            "updated_at": "2026",
            "file_path": f"d{n}.md",
            "content_hash": f"h{n // 2}",
            "track_id": "t",
        }
        for n in range(7)
    }
    run(status.upsert, rows)
    seen, position = [], CURSOR_START
    while position is not CURSOR_END:
        page = run(
            status.get_docs_by_statuses_page, [DocStatus.PENDING], limit=3, position=position, strict=True
        )
        seen += page.docs
        position = page.next_position
    assert seen == [f"d{n}" for n in range(7)]
    assert run(status.get_doc_by_content_hash, "h1")[0] == "d2"
    assert run(status.get_doc_by_content_hash, "h1", exclude_doc_id="d2")[0] == "d3"
    assert run(status.get_doc_by_content_hash, "none") is None
    found, total = run(
        status.get_docs_paginated, status_filter=DocStatus.PENDING, page_size=10, sort_field="id"
    )
    assert (len(found), total) == (7, 7)
    assert len(run(status.get_docs_by_track_id, "t")) == 7
    assert run(status.count_docs_by_statuses, [DocStatus.PENDING, DocStatus.PROCESSED]) == 9
    run(status.update_doc_status_fields, "d0", {"status": DocStatus.FAILED})
    assert set(run(status.get_docs_by_statuses, [DocStatus.FAILED])) == {"d0"}
    assert run(status.filter_keys, {"d1", "new"}) == {"new"}
    assert set(run(status.get_docs_by_ids, ["d1", "new"])) == {"d1"}
    assert run(status.get_full_docs_by_ids, ["d1"], strict=True)["d1"].file_path == "d1.md"


def test_the_key_value_storage_answers_as_documented(filled):
    kv = filled.full_docs
    assert run(kv.get_by_ids, ["none", "doc-redis"])[0] is None
    row = run(kv.get_by_id, "doc-redis")
    assert row["_id"] == "doc-redis"
    assert row["content"] == TEXTS["doc-redis"]
    assert row["create_time"] > 0
    assert run(kv.filter_keys, {"doc-redis", "new"}) == {"new"}
    assert not run(kv.is_empty)
    assert run(kv.drop)["status"] == "success"
    assert run(kv.is_empty)
    many = {f"k{n}": {"n": n} for n in range(2500)}
    run(kv.upsert, many)
    assert [row["n"] for row in run(kv.get_by_ids, list(many))] == list(range(2500))


def test_tracking_rows_show_the_newest_and_forget_none(filled, database):
    kv = filled.entity_chunks
    every = [f"c{n}" for n in range(sources.WINDOW + 100)]
    run(kv.upsert, {"Big": {"chunk_ids": every, "count": len(every)}})
    shown = run(kv.get_by_id, "Big")["chunk_ids"]
    assert shown == every[-sources.WINDOW :]
    run(kv.upsert, {"Big": {"chunk_ids": [*shown[1:], "new"], "count": 0}})
    with database.read() as connection:
        stored = sources.newest_chunks_of(connection, "native", "entity_chunks", ["Big"], 1_000)["Big"]
    assert stored == [*(one for one in every if one != shown[0]), "new"]
    run(kv.upsert, {"None": {"chunk_ids": [], "count": 0}})
    assert run(kv.get_by_id, "None")["chunk_ids"] == []
    assert run(kv.get_by_id, "unknown") is None
    assert run(kv.filter_keys, {"Big", "unknown"}) == {"unknown"}
    run(kv.delete, ["Big"])
    assert run(kv.get_by_id, "Big") is None
