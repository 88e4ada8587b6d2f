"""What the store on LightRAG promises beyond the contract: traces, isolation from the environment, plans."""

import itertools
import os
import pickle
import random
import subprocess
import sys
import textwrap
import zlib
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ragmem.backends import fake, lightrag
from ragmem.backends.lightrag import graph_dump
from ragmem.backends.lightrag.rows import keys, names, reads, schema, vectors
from ragmem.backends.lightrag.rows.tokens import PieceTokenizer
from ragmem.backends.lightrag.vectors import maintenance
from ragmem.domain.model import USER, Entity, Extraction, Relation
from ragmem.errors import BackendError, StoreDamagedError
from ragmem.storage.sql.sqlite import SQLiteDatabase
from ragmem.testing import make_record


@pytest.fixture
def store(database):
    store = lightrag.open_store({}, fake.open_models({}), database=database)
    yield store
    store.close()


def test_two_open_stores_of_a_home_each_write_to_their_own_connection(database, store):
    """LightRAG finds a home by its folder, which is the same for both."""
    other_database = SQLiteDatabase(database.home)
    other = lightrag.open_store({}, fake.open_models({}), database=other_database)
    for first, second in ((store, other), (other, store)):
        before = first.memory_ids()
        added = make_record(f"number {len(before)}", f"text {len(before)}", entities=["Hub"])
        first.put([added])
        assert second.memory_ids() == before | {added.memory.id}
    other.close()
    other_database.close()
    elsewhere = make_record("elsewhere", "text elsewhere", entities=["Hub"], project="another")
    store.put([elsewhere])
    assert elsewhere.memory.id in store.memory_ids()
    assert len(
        store.native.native_query("Hub", "local", keywords=["Hub"], limit=5, project="another")["data"]
    )


def every_value(database):
    with database.read() as connection:
        for table in schema.TABLES:
            cursor = connection.execute(f"SELECT * FROM {table}")
            columns = [name for name, *_ in cursor.description]
            for row in cursor:
                yield table, " ".join(map(text_of, columns, row))


def text_of(column, value):
    if column == "extractions" and value is not None:
        return zlib.decompress(value).decode()
    return "" if isinstance(value, bytes) else str(value)


MENTIONS = """
SELECT s.name, o.id, c.id, 0.0 FROM store_mentions m JOIN store_nodes o ON o.n = m.node
JOIN store_chunks c ON c.n = m.chunk JOIN store_spaces s ON s.n = c.space
UNION ALL
SELECT s.name, a.id || ' - ' || b.id, c.id, m.weight FROM store_evidence m JOIN store_edges o ON o.n = m.edge
JOIN store_nodes a ON a.n = o.source JOIN store_nodes b ON b.n = o.target
JOIN store_chunks c ON c.n = m.chunk JOIN store_spaces s ON s.n = c.space
"""


def graph_of(database, project=USER):
    """The graph without what depends on when it was built."""
    nodes = {
        name: {**data, "created_at": 0, "degree": degree}
        for name, data, degree in graph_dump.node_rows(database, project)
    }
    edges = {
        (source, target): {**data, "created_at": 0}
        for source, target, data, _ in graph_dump.edge_rows(database, project)
    }
    with database.read() as connection:
        mentions = set(connection.execute(MENTIONS))
        vectors = set(connection.execute("SELECT workspace, namespace, id FROM store_vectors"))
        rows = {
            table: connection.execute(f"SELECT count(*) FROM {table}").fetchone() for table in schema.TABLES
        }
    return nodes, edges, mentions, vectors, rows


def made_up_records(count, seed):
    chance = random.Random(seed)
    words = ["Redis", "Kafka", "Postgres", "Billing", "Search", "Ledger", "Hub"]
    for number in range(count):
        entities = {"Hub", *chance.sample(words, 3), f"Own {number}"}
        pairs = {tuple(chance.sample(sorted(entities), 2)) for _ in range(4)}
        yield make_record(
            f"memory-{number}",
            f"memory {number} speaks of {' '.join(sorted(entities))}\n\nand then of nothing {number}",
            entities=sorted(entities),
            relations=sorted(pairs),
            hours=number,
        )


def test_another_process_reads_the_same_vectors_without_a_model(database, store):
    one = make_record("one", "The tap drips.")
    store.put([one])
    reader = pickle.loads(pickle.dumps(store.reader()))
    with closing(SQLiteDatabase(database.home)) as opened, closing(reader(opened)) as other:
        assert other.answering_model() == store.answering_model()
        (ours,), (theirs,) = store.vector_blocks(USER), other.vector_blocks(USER)
        assert theirs.memory_ids == ours.memory_ids == [one.memory.id]
        assert np.array_equal(theirs.vectors, ours.vectors)
        with pytest.raises(BackendError, match="is not loaded here"):
            other.search("tap", limit=1)


def test_a_deleted_memory_is_mentioned_in_no_row_of_any_table(store, database):
    records = list(made_up_records(30, seed=1))
    store.put(records[:20])
    for record in records[20:]:
        store.put([record])
    gone = records[::3]
    store.delete([record.memory.id for record in gone])
    words = [record.memory.id for record in gone]
    words += [chunk.id for record in gone for chunk in record.chunks]
    words += [f"as told by {record.memory.title}." for record in gone]
    for table, text in every_value(database):
        found = [word for word in words if word in text]
        assert not found, (table, found, text[:500])


def test_deleting_the_newest_is_as_if_it_had_never_been_put(tmp_path):
    records = list(made_up_records(12, seed=2))
    pictures = []
    for name, doomed in (("never", 0), ("deleted", 5)):
        database = SQLiteDatabase(tmp_path / name)
        store = lightrag.open_store({}, fake.open_models({}), database=database)
        kept = records[: len(records) - 5]
        for record in [*kept, *records[len(records) - doomed :]] if doomed else kept:
            store.put([record])
        store.delete([record.memory.id for record in records[len(kept) :]])
        pictures.append(graph_of(database))
        store.close()
        database.close()
    never, deleted = pictures
    assert deleted == never


def test_a_batch_gives_the_graph_that_single_puts_give(tmp_path):
    records = list(made_up_records(6, seed=3))
    pictures = []
    for name, groups in (("batch", [records]), ("single", [[record] for record in records])):
        database = SQLiteDatabase(tmp_path / name)
        store = lightrag.open_store({}, fake.open_models({}), database=database)
        for group in groups:
            store.put(group)
        pictures.append(graph_of(database))
        store.close()
        database.close()
    assert pictures[0] == pictures[1]


def test_a_hub_keeps_its_newest_descriptions_and_never_asks_a_language_model(store):
    for record in made_up_records(20, seed=4):
        store.put([record])
    [(hub, degree)] = store.entities("Hub", limit=1)
    lines = hub.description.split("\n")
    assert lines == [f"Hub as told by memory-{number}." for number in range(13, 20)]
    assert degree > 0


def test_relations_between_unnamed_entities_create_them(store):
    record = make_record("plain", "one uses two")
    extraction = Extraction(record.chunks[0].id, (), (Relation("One", "Two", "uses", "One uses Two"),))
    store.put([type(record)(record.memory, record.chunks, (extraction,))])
    assert {one.name for one, _ in store.entities()} == {"One", "Two"}
    store.delete([record.memory.id])
    assert set(store.statistics().values()) == {0}


def test_odd_names_survive_a_put_and_leave_with_their_memory(store, database):
    odd = ['say "hi"', "a<SEP>b", "  spaced \n out ", "x" * 400, "東京", "%_'", "C++", "🙂", "UPPER", "upper"]
    record = make_record("odd", "odd names", entities=odd, relations=list(itertools.pairwise(odd)))
    other = make_record("other", "others", entities=["Plain"], hours=1)
    store.put([record, other])
    found = {one.name for one, _ in store.entities(limit=99)}
    assert {'say "hi"', "a b", "spaced out", "x" * 256, "東京", "C++", "🙂", "UPPER", "upper"} <= found
    store.delete([record.memory.id])
    assert {one.name for one, _ in store.entities()} == {"Plain"}


def test_entities_and_relations_without_words_or_ends_do_no_harm(store):
    record = make_record("bare", "bare")
    extraction = Extraction(
        record.chunks[0].id,
        (Entity("", "concept", "no name"), Entity("Bare", "", "")),
        (
            Relation("Bare", "Bare", "is", "a loop"),
            Relation("", "Bare", "is", "no source"),
            Relation("Bare", "Other", "", ""),
        ),
    )
    store.put([type(record)(record.memory, record.chunks, (extraction,))])
    assert {one.name for one, _ in store.entities()} == {"Bare", "Other"}


def test_the_type_of_an_entity_does_not_depend_on_the_order_of_memories(store):
    def of_type(number, kind):
        record = make_record(str(number), f"text {number}", project="user")
        extraction = Extraction(record.chunks[0].id, (Entity("Hub", kind, f"a hub {number}"),), ())
        return type(record)(record.memory, record.chunks, (extraction,))

    def kind():
        (hub,) = [one for one, _ in store.entities() if one.name == "Hub"]
        return hub.type

    kinds = ["tool", "concept", "tool", "library", "library", "tool", "concept"]
    records = [of_type(number, kind) for number, kind in enumerate(kinds)]
    for batches in ([records], [[one] for one in records], [[one] for one in reversed(records)]):
        for batch in batches:
            store.put(batch)
        assert kind() == "tool"
        store.delete([records[0].memory.id])
        assert kind() == "library"
        store.put([records[0]])
        assert kind() == "tool"
        store.delete([one.memory.id for one in records])


def test_vectors_of_another_model_are_refused_and_a_new_put_replaces_them(database, store):
    class Other(fake.FakeEmbedder):
        model_id = "other"

    class OtherModels(fake.FakeModels):
        embedder = Other()

    record = make_record("redis", "redis", entities=["Redis"])
    store.put([record])
    other = lightrag.open_store({}, OtherModels(), database=database)
    with pytest.raises(BackendError) as caught:
        other.search("redis", limit=3)
    assert "ragmem seed --rebuild" in caught.value.hint
    other.put([record])
    assert [hit.memory_id for hit in other.search("redis", limit=3)] == [record.memory.id]
    with database.read() as connection:
        assert connection.execute("SELECT DISTINCT model FROM store_vectors").fetchall() == [("other",)]
    other.close()


def test_a_store_of_a_newer_ragmem_is_not_touched(database, store):
    store.put([make_record("one", "one")])
    with database.write() as connection:
        connection.execute("UPDATE storage_meta SET value = '99' WHERE key = 'version'")
    later = lightrag.open_store({}, fake.open_models({}), database=database)
    with pytest.raises(StoreDamagedError, match="newer ragmem"):
        later.memory_ids()
    with pytest.raises(StoreDamagedError, match="newer ragmem"):
        later.put([make_record("two", "two")])
    later.close()


def test_an_unknown_option_is_named(database):
    store = lightrag.open_store({"no_such": 1}, fake.open_models({}), database=database)
    with pytest.raises(BackendError, match="no_such"):
        store.native.native_query("one two three", "naive", keywords=(), limit=1, project=USER)
    store.close()


def test_a_failing_embedder_leaves_nothing(database):
    class Failing(fake.FakeEmbedder):
        def embed(self, texts, *, role):
            raise BackendError("no weights")

    class FailingModels(fake.FakeModels):
        embedder = Failing()

    store = lightrag.open_store({}, FailingModels(), database=database)
    with pytest.raises(BackendError, match="no weights"):
        store.put([make_record("one", "one", entities=["One"])])
    assert set(store.statistics().values()) == {0}
    store.close()


def test_a_put_embeds_texts_and_no_names(database):
    texts = []

    class Counting(fake.FakeEmbedder):
        def embed(self, given, *, role):
            texts.extend(given)
            return super().embed(given, role=role)

    class CountingModels(fake.FakeModels):
        embedder = Counting()

    store = lightrag.open_store({}, CountingModels(), database=database)
    store.put([make_record("one", "first", entities=["Redis", "Hub"], relations=[("Redis", "Hub")])])
    assert texts == ["first"]
    texts.clear()
    store.put([make_record("two", "second", entities=["Redis", "Hub"], relations=[("Redis", "Hub")])])
    assert texts == ["second"]
    texts.clear()
    store.put([make_record("two", "third", entities=["Redis", "Hub", "New"])])
    assert texts == ["third"]
    with database.read() as connection:
        assert connection.execute("SELECT DISTINCT namespace FROM store_vectors").fetchall() == [("chunks",)]
    store.close()


@given(
    st.one_of(st.floats(0, 2, width=32).map(lambda peak: peak / 127.0 or 1.0), st.floats(1e-9, 1e3)),
    st.sampled_from(["chunks", "entities"]),
)
@example(1.0, "chunks")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_scale_is_read_as_it_was_written(database, scale, namespace):
    schema.create(database)
    with database.write() as connection:
        vectors.insert(connection, [("user", namespace, "one", "", "", "m", scale, b"\x01", 0)])
        assert vectors.select(connection, "user", namespace, "m", ["one"]) == {"one": (scale, b"\x01")}
        seen = connection.execute("SELECT scale FROM store_vectors WHERE namespace = ?", (namespace,))
        assert seen.fetchone() == (scale,)


def test_scales_of_vectors_take_four_bytes(store, database):
    store.put([make_record("one", "one"), make_record("two", "two")])
    with database.read() as connection:
        scales = connection.execute("SELECT typeof(scale), abs(scale) < 1 << 31 FROM store_chunk_vectors")
        assert set(scales) == {("integer", 1)}


def test_a_chunk_that_gets_the_number_of_another_gets_no_vector_with_it(store, database):
    store.put([make_record("one", "first"), make_record("two", "second")])
    with database.write() as connection:
        (number,) = connection.execute("SELECT max(n) FROM store_chunks").fetchone()
        connection.execute("DELETE FROM store_chunks WHERE n = ?", (number,))
        connection.execute(
            "INSERT INTO store_chunks (n, space, position, id) VALUES (?, 1, 0, 'other')", (number,)
        )
        assert reads.vectors_of_chunks(connection, ["other"]) == {}
        assert connection.execute("SELECT count(*) FROM store_vectors").fetchone() == (1,)


def test_chunks_whose_text_has_not_changed_are_not_embedded_again(database):
    texts = []

    class Counting(fake.FakeEmbedder):
        def embed(self, given, *, role):
            texts.extend(given)
            return super().embed(given, role=role)

    class CountingModels(fake.FakeModels):
        embedder = Counting()

    def vectors():
        with database.read() as connection:
            return connection.execute(
                "SELECT id, scale, vector FROM store_vectors WHERE namespace = 'chunks' ORDER BY id"
            ).fetchall()

    store = lightrag.open_store({}, CountingModels(), database=database)
    ruled = make_record("one", "first\n\nsecond", entities=["Redis"])
    store.put([ruled])
    before = vectors()
    texts.clear()
    store.put([make_record("one", "first\n\nsecond", entities=["Redis", "Hub"])])
    assert texts == []
    assert vectors() == before
    # The id of a chunk does not tell of its heading, which is embedded with it.
    chunks = (ruled.chunks[0], replace(ruled.chunks[1], heading="Above"))
    store.put([replace(ruled, chunks=chunks)])
    assert "Above\nsecond" in texts
    store.close()


def test_sweep_removes_what_belongs_to_no_memory(store, database):
    records = list(made_up_records(6, seed=5))
    store.put(records)
    sound = graph_of(database)
    stray = make_record("stray", "stray", entities=["Stray", "Hub"], relations=[("Stray", "Hub")], hours=9)
    store.put([stray])
    with database.write() as connection:
        connection.execute("DELETE FROM store_documents WHERE id = ?", [stray.memory.id])
    planned = store.sweep(dry_run=True)
    # Without a catalog the store keeps the text of a document, and of a chunk, in rows of their own.
    assert (planned["documents"], planned["chunks"]) == (1, 2)
    assert planned["entities"] == planned["relations"] == planned["vectors"] == 1
    assert planned["sources"] == 2 + 1
    assert store.sweep() == planned
    assert set(store.sweep().values()) == {0}
    assert graph_of(database) == sound


def run_python(code, *arguments, folder, **environment):
    return subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", "-c", textwrap.dedent(code), *map(str, arguments)],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_neither_a_search_nor_a_put_nor_a_deletion_imports_lightrag(store, tmp_path):
    store.put([make_record("redis", "redis caches", entities=["Redis", "Hub"], relations=[("Redis", "Hub")])])
    run = run_python(
        """
        import sys
        from pathlib import Path
        from ragmem.backends import fake, lightrag
        from ragmem.storage.sql.sqlite import SQLiteDatabase
        from ragmem.testing import make_record

        store = lightrag.open_store({}, fake.open_models({}), database=SQLiteDatabase(Path(sys.argv[1])))
        assert store.search("redis", limit=3) and store.entities("r") and store.neighbours("Redis")
        assert store.memory_ids() and store.statistics() and store.subgraph("*")["nodes"]
        known = store.memory_ids()
        kafka = make_record("kafka", "kafka", entities=["Kafka", "Hub"], relations=[("Kafka", "Hub")])
        store.prepare([kafka])
        store.put([kafka])
        assert [one.name for one, _ in store.entities("k")] == ["Kafka"]
        store.put([make_record("kafka", "kafka carries", entities=["Kafka"])])
        assert store.neighbours("Kafka") == []
        store.delete([kafka.memory.id])
        assert store.memory_ids() == known and store.entities("k") == []
        assert not any(store.sweep().values()) and store.check() == []
        store.close()
        heavy = {"lightrag", "asyncio", "networkx", "httpx", "pydantic"}
        assert not heavy & set(sys.modules), heavy & set(sys.modules)
        """,
        tmp_path / "home",
        folder=tmp_path,
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


def test_the_env_file_of_a_repository_changes_nothing(tmp_path):
    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / ".env").write_text(
        "WORKSPACE=hijack\nTOP_K=7\nENTITY_TYPES=['x']\nCOSINE_THRESHOLD=0.99\nMAX_SOURCE_IDS_PER_ENTITY=1\n"
        "SUMMARY_LANGUAGE=Klingon\nUSER_PROMPT_PREFIX=obey\nLIGHTRAG_VECTOR_STORAGE=NanoVectorDBStorage\n"
    )
    (repository / "config.ini").write_text("[postgres]\nhost=nowhere\n")
    code = """
        import os, sys
        from pathlib import Path
        before = dict(os.environ)
        from ragmem.backends import fake, lightrag
        from ragmem.storage.sql.sqlite import SQLiteDatabase
        from ragmem.testing import make_record

        database = SQLiteDatabase(Path(sys.argv[1]))
        store = lightrag.open_store({}, fake.open_models({}), database=database)
        store.put([make_record("redis", "redis caches", entities=["Redis", "Hub"])])
        answer = store.native.native_query("redis", "mix", keywords=["redis"], limit=40, project="user")
        assert answer["status"] == "success", answer
        assert len(answer["data"]["chunks"]) == 1, answer
        rag = store._engine.instance("user").rag
        assert (rag.workspace, rag.top_k, rag.cosine_better_than_threshold) == ("user", 40, 0.2)
        assert rag.max_source_ids_per_entity == 32
        assert rag._resolved_summary_language == "English"
        assert rag.user_prompt_prefix == ""
        assert dict(os.environ) == before
        assert Path.cwd() == Path(sys.argv[2])
        assert "pypinyin" not in sys.modules
        with database.read() as connection:
            found = connection.execute("SELECT name FROM store_spaces").fetchall()
        assert found == [("user",)], found
        # Neither is closed: the end of the process must be quiet all the same.
    """
    for variables in ({}, {"WORKSPACE": "hijack", "ENTITY_TYPES": "['x']", "TOP_K": "7"}):
        home = tmp_path / f"home-{len(variables)}"
        run = run_python(code, home, repository, folder=repository, **variables)
        assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
        assert {path.name for path in home.iterdir()} <= {
            "memory.db",
            "memory.db-wal",
            "memory.db-shm",
            "write.lock",
        }


@pytest.mark.parametrize(
    "text", ["", "a", "plain words", "naïve 東京 🙂", "\x00\x00zero\x00", "line\r\n\tend\n", "\ud800 lone"]
)
def test_the_tokenizer_loses_nothing(text):
    tokenizer = PieceTokenizer()
    assert tokenizer.decode(tokenizer.encode(text)) == text


SPACE = "(SELECT n FROM store_spaces WHERE name = ?)"

HOT_STATEMENTS = (
    "SELECT data FROM store_kv WHERE workspace = ? AND namespace = ? AND id IN (?, ?)",
    "SELECT chunk FROM store_mentions WHERE node = ? ORDER BY chunk DESC LIMIT ?",
    "SELECT chunk FROM store_evidence WHERE edge = ? ORDER BY chunk DESC LIMIT ?",
    "SELECT node FROM store_mentions WHERE node IN (?, ?) AND chunk = ?",
    "DELETE FROM store_mentions WHERE node IN (?, ?) AND chunk = ?",
    "DELETE FROM store_evidence WHERE edge IN (?, ?) AND chunk = ?",
    "SELECT id FROM store_name_vectors WHERE workspace = ? AND namespace = ? AND id IN (?) AND +model = ?",
    "SELECT seq FROM store_name_vectors WHERE seq IN (?, ?)",
    "SELECT seq FROM store_chunk_vectors WHERE seq IN (?, ?)",
    *(
        f"{statement} {rest}"
        for namespace in (names.CHUNKS, names.ENTITIES)
        for statement, rest in (
            (maintenance.rows_of(namespace), "AND v.seq > ? ORDER BY v.seq LIMIT ?"),
            (f"SELECT 1 FROM {vectors.of_model(namespace)}", "LIMIT 1 OFFSET ?"),
        )
    ),
    "DELETE FROM store_chunk_vectors WHERE chunk = ?",
    f"SELECT n FROM (SELECT ? AS id) AS w CROSS JOIN store_chunks AS c ON {keys.has_id('c', 'w.id')}",
    "SELECT id FROM store_chunks WHERE document = ? ORDER BY position",
    (
        f"SELECT o.n FROM (SELECT {SPACE} AS space, ? AS name) AS wanted CROSS JOIN store_nodes AS o"
        f" ON o.space = wanted.space AND {keys.has_name('o', 'wanted.name')}"
    ),
    f"SELECT id FROM store_nodes WHERE space = {SPACE} AND degree > 1 ORDER BY degree DESC LIMIT ?",
    f"SELECT o.id FROM store_nodes AS o WHERE +space = {SPACE} AND n IN ({reads.NODES_BY_PREFIX})",
    "SELECT n, target FROM store_edges WHERE source IN (?)",
    "SELECT n, source FROM store_edges WHERE target IN (?)",
    "SELECT n FROM store_edges WHERE source = ? AND target = ?",
    f"SELECT n FROM store_documents WHERE id IN (?, ?) AND space = {SPACE}",
    "SELECT workspace FROM store_statuses WHERE id IN (?, ?)",
    """
    SELECT id FROM store_statuses WHERE workspace = ? AND status IN (?) AND (created_at, id) > (?, ?)
    ORDER BY created_at, id LIMIT ?
    """,
)


@pytest.mark.parametrize("statement", HOT_STATEMENTS)
def test_hot_statements_use_an_index(store, database, statement):
    store.put([make_record("one", "one", entities=["One"])])
    with database.read() as connection:
        plan = [
            row[3]
            for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", ["x"] * statement.count("?"))
        ]
    assert not [step for step in plan if step.startswith("SCAN") and "store_" in step], plan
    assert not [step for step in plan if "TEMP B-TREE FOR ORDER BY" in step], plan
    # Whole rows are found by all that was given, not by the workspace alone.
    weak = ("(workspace=?)", "(space=?)")
    if "degree DESC" not in statement and "status " not in statement:
        assert not [step for step in plan if step.endswith(weak)], plan
    if " id IN" in statement:
        assert [step for step in plan if "id=?" in step], plan


def test_ids_of_vectors_are_those_of_lightrag(tmp_path):
    from ragmem.backends.lightrag.storages.registration import import_lightrag

    import_lightrag(tmp_path)
    from lightrag.utils import compute_mdhash_id, make_relation_chunk_key

    assert names.entity_id("Redis") == compute_mdhash_id("Redis", prefix="ent-")
    assert names.relation_id("b", "a") == compute_mdhash_id("ab", prefix="rel-")
    assert names.relation_key("b", "a") == make_relation_chunk_key("a", "b")


def test_texts_of_the_graph_are_short_and_do_not_change_with_what_is_said():
    assert names.entity_text("Redis") == "Redis"
    assert names.relation_text("b", "a", "uses") == names.relation_text("a", "b", "uses")
    assert len(names.relation_text("a" * 200, "b" * 200, "uses")) == names.VECTOR_TEXT_LENGTH


def test_scores_are_those_of_the_exact_vectors(store):
    records = [make_record(f"n{number}", f"text {number} alpha beta {number * 7}") for number in range(50)]
    store.put(records)
    embedder = fake.FakeEmbedder()
    exact = (
        embedder.embed([r.chunks[0].text for r in records], role="document")
        @ embedder.embed(["alpha text 21"], role="query")[0]
    )
    found = {hit.memory_id: hit.score for hit in store.search("alpha text 21", limit=50)}
    assert np.allclose([found[r.memory.id] for r in records], exact, atol=0.01)


def test_weights_are_kept_as_they_were_given_and_summed(store):
    weights = (0.35, 1.05, 0.1234, 2.0)
    for place, weight in enumerate(weights):
        record = make_record(f"weight {place}", f"text {place}", relations=[("Redis", "Kafka")])
        [extraction] = record.extractions
        relations = tuple(replace(one, weight=weight) for one in extraction.relations)
        store.put([replace(record, extractions=(replace(extraction, relations=relations),))])
    [(found, _)] = store.neighbours("Redis")
    assert found.weight == pytest.approx(sum(weights), abs=1e-9)
    store.delete([record.memory.id])
    [(found, _)] = store.neighbours("Redis")
    assert found.weight == 3.0, "never below one for each mention that is left"


def test_entities_with_one_relation_or_none_are_listed_behind_those_with_more(store):
    relations = [("Hub", f"Leaf {place}") for place in range(3)]
    store.put([make_record("graph", "Hub", entities=["Alone"], relations=relations)])
    found = [(one.name, degree) for one, degree in store.entities(limit=99)]
    assert found == [("Hub", 3), ("Leaf 0", 1), ("Leaf 1", 1), ("Leaf 2", 1), ("Alone", 0)]
    for limit in range(5):
        assert [(one.name, degree) for one, degree in store.entities(limit=limit)] == found[:limit]
    drawn = [node["id"] for node in store.subgraph("*", limit=2, project=USER)["nodes"]]
    assert drawn == ["Hub", "Leaf 0"]


def test_names_are_found_as_they_are_written_and_by_beginnings_in_any_case(store):
    named = ["Readme", "README", "readme", "Ärger", "ärger", "ÄRGER", "Straße", "readMe.md"]
    store.put([make_record("names", "names", entities=named)])
    assert {one.name for one, _ in store.entities("rEaDmE")} == {"Readme", "README", "readme", "readMe.md"}
    assert {one.name for one, _ in store.entities("äR")} == {"Ärger", "ärger", "ÄRGER"}
    assert {one.name for one, _ in store.entities("STRAS")} == set()
    for name in named:
        assert [node["id"] for node in store.subgraph(name, project=USER)["nodes"]] == [name]
    assert [one.name for one, _ in store.nodes(USER)] == sorted(named)


def test_a_name_is_one_entity_however_often_it_is_put(store, database):
    for place in range(3):
        store.put([make_record(f"number {place}", f"text {place}", entities=["Redis", "REDIS"])])
    with database.read() as connection:
        rows = connection.execute("SELECT id, types FROM store_nodes ORDER BY id").fetchall()
    assert [name for name, _ in rows] == ["REDIS", "Redis"]
