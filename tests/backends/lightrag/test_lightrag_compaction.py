"""A home of the release before compact rows: memories become compact, what LightRAG wrote stays."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.backends import fake, lightrag
from ragmem.backends.lightrag import engine
from ragmem.backends.lightrag.rows import keys, names
from ragmem.backends.lightrag.rows.schema import STORE
from ragmem.domain.model import USER
from ragmem.domain.text.token_types import ENTITY_TYPES

OURS, FOREIGN = "oldmemory", "doc-lightrag"


def old_rows():
    """The rows of one memory and of one document that LightRAG inserted, as they were stored before."""
    extraction = {
        "entities": [
            {"name": "Redis", "type": "service", "description": "Redis caches the carts."},
            {"name": "Carts", "type": "concept", "description": "Redis caches the carts."},
            {"name": "Edited", "type": "concept", "description": "Redis caches the carts."},
        ],
        "relationships": [
            {
                "source": "Redis",
                "target": "Carts",
                "keywords": "caches",
                "description": "Redis caches the carts.",
                "weight": 2.0,
            }
        ],
    }
    cache = "default:extract:0123"
    status = {
        "status": "processed",
        "created_at": "2026-11-01T10:00:00+00:00",
        "updated_at": "2026-11-01T10:00:00+00:00",
    }
    yield from (
        ("store_kv", (USER, namespace, key, orjson.dumps(row).decode(), 1, 1))
        for namespace, key, row in (
            ("full_docs", OURS, {"content": "Redis caches the carts.", "file_path": f"m-{OURS}"}),
            (
                "text_chunks",
                "oldchunk",
                {"content": "Redis caches the carts.", "full_doc_id": OURS, "llm_cache_list": [cache]},
            ),
            (
                "llm_response_cache",
                cache,
                {
                    "return": orjson.dumps(extraction).decode(),
                    "cache_type": "extract",
                    "chunk_id": "oldchunk",
                },
            ),
            ("full_entities", OURS, {"entity_names": ["Carts", "Edited", "Redis"], "count": 3}),
            ("full_relations", OURS, {"relation_pairs": [["Carts", "Redis"]], "count": 1}),
            ("full_docs", FOREIGN, {"content": "Kafka and Redis.", "file_path": "kafka.md"}),
            ("text_chunks", "chunk-kafka", {"content": "Kafka and Redis.", "full_doc_id": FOREIGN}),
            ("full_entities", FOREIGN, {"entity_names": ["Kafka"], "count": 1}),
            ("full_relations", FOREIGN, {"relation_pairs": [], "count": 0}),
        )
    )
    for key, path, chunks in ((OURS, f"m-{OURS}", ["oldchunk"]), (FOREIGN, "kafka.md", ["chunk-kafka"])):
        data = {**status, "file_path": path, "chunks_list": chunks, "content_hash": f"hash-{key}"}
        moments = (status["created_at"], status["updated_at"])
        row = (USER, key, "processed", *moments, path, "", f"hash-{key}", 0, "", orjson.dumps(data).decode())
        yield "store_documents", row
    described = {
        "Redis": "Redis caches the carts.",
        "Carts": "Redis caches the carts.",
        "Edited": "What a person wrote.",
        "Kafka": "Kafka as LightRAG tells it.",
    }
    for name, text in described.items():
        data = {"entity_id": name, "entity_type": "service", "description": text, "source_id": "oldchunk"}
        yield "store_nodes", (USER, name, name.lower(), 0, orjson.dumps(data).decode())
    edge = {"keywords": "caches", "description": "Redis caches the carts.", "source_id": "oldchunk"}
    yield "store_edges", (USER, "Carts", "Redis", 2.0, orjson.dumps(edge).decode())
    sources = [("entity_chunks", name, "oldchunk") for name in ("Redis", "Carts", "Edited")]
    sources += [("entity_chunks", name, "chunk-kafka") for name in ("Kafka", "Redis")]
    sources += [("relation_chunks", names.relation_key("Redis", "Carts"), "oldchunk")]
    for number, (namespace, key, chunk) in enumerate(sources, start=1):
        yield "store_sources", (number, USER, namespace, key, chunk)
    vectors = [
        ("chunks", "oldchunk", OURS, ""),
        ("chunks", "chunk-kafka", FOREIGN, ""),
        ("entities", names.entity_id("Redis"), "Redis", ""),
        ("relationships", names.relation_id("Redis", "Carts"), "Carts", "Redis"),
    ]
    for number, (namespace, key, subject, other) in enumerate(vectors, start=1):
        code = bytes([1] * fake.DIMENSIONS)
        row = (number, USER, namespace, key, subject, other, fake.FakeEmbedder().model_id, 0.1, code, 1)
        yield "store_vectors", row


@pytest.fixture
def migrated(database):
    """A store on a home that was written before."""
    with database.write() as connection:
        connection.execute(
            "CREATE TABLE migrations (component TEXT, version INTEGER, name TEXT, checksum TEXT,"
            " applied_at INTEGER, PRIMARY KEY (component, version))"
        )
        for step in STORE.migrations[:4]:
            step.run(connection)
            connection.execute(
                "INSERT INTO migrations VALUES (?, ?, ?, ?, 0)",
                ("store", step.version, step.name, step.checksum),
            )
        connection.execute("INSERT OR REPLACE INTO storage_meta VALUES ('version', '4')")
        for table, row in old_rows():
            connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
    store = lightrag.open_store({}, fake.open_models({}), database=database)
    assert store.check() == []
    yield store
    store.close()


def ask(function, *arguments):
    return engine.run(lambda: function(*arguments))


def test_rows_of_a_memory_become_compact_and_read_as_before(migrated, database):
    assert migrated.memory_ids() == {OURS, FOREIGN}
    assert migrated.check() == []
    rag = migrated._engine.instance(USER).rag
    assert ask(rag.chunk_entity_relation_graph.get_node, "Carts")["description"] == "Redis caches the carts."
    edge = ask(rag.chunk_entity_relation_graph.get_edge, "Redis", "Carts")
    assert (edge["weight"], edge["keywords"], edge["source_id"]) == (2.0, "caches", "oldchunk")
    assert ask(rag.text_chunks.get_by_id, "oldchunk")["full_doc_id"] == OURS
    assert ask(rag.full_entities.get_by_id, OURS)["entity_names"] == ["Carts", "Edited", "Redis"]
    assert ask(rag.entity_chunks.get_by_id, "Redis")["chunk_ids"] == ["oldchunk", "chunk-kafka"]
    assert ask(rag.doc_status.get_by_id, OURS)["content_hash"] == f"hash-{OURS}"
    with database.read() as connection:
        left = connection.execute("SELECT data FROM store_nodes WHERE id = 'Carts'").fetchone()
        spaces = connection.execute("SELECT DISTINCT namespace FROM store_vectors").fetchall()
    assert left == (None,)
    assert spaces == [("chunks",)]


def test_what_lightrag_or_a_person_wrote_stays(migrated):
    rag = migrated._engine.instance(USER).rag
    graph = rag.chunk_entity_relation_graph
    assert ask(graph.get_node, "Edited")["description"] == "What a person wrote."
    assert ask(graph.get_node, "Kafka")["description"] == "Kafka as LightRAG tells it."
    assert ask(rag.full_docs.get_by_id, FOREIGN)["content"] == "Kafka and Redis."
    assert ask(rag.doc_status.get_by_id, FOREIGN)["file_path"] == "kafka.md"
    migrated.delete([OURS])
    assert {one.name for one, _ in migrated.entities()} == {"Kafka", "Redis"}
    assert migrated.check() == []
    migrated.delete([FOREIGN])
    assert migrated.entities() == []
    assert migrated.memory_ids() == set()


@given(types=st.dictionaries(st.sampled_from([*ENTITY_TYPES, "UNKNOWN", "a: b", "x"]), st.integers(1, 1_200)))
def test_types_are_read_as_they_were_written_now_and_before(types):
    assert keys.read_types(keys.write_types(types)) == types
    before = "\n".join(f"{kind}:{number}" for kind, number in sorted(types.items()))
    assert keys.read_types(before) == types


def test_a_known_type_takes_a_letter_of_its_own():
    written = {kind: keys.write_types({kind: 1}) for kind in ENTITY_TYPES}
    assert all(len(letter) == 1 for letter in written.values())
    assert len(set(written.values())) == len(ENTITY_TYPES)
