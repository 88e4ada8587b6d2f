"""What the store on LightRAG's own storages promises beyond the contract: many machines, kills, isolation."""

import gc
import itertools
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
import uuid
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from ragmem.backends import fake, lightrag
from ragmem.domain.model import USER
from ragmem.errors import BackendError, ConfigError, RagmemError
from ragmem.storage.home.postgres import PostgresDatabase
from ragmem.storage.sql.sqlite import SQLiteDatabase
from ragmem.testing import make_record

WRITER = textwrap.dedent(
    """
    import sys
    from pathlib import Path
    from ragmem.backends import fake, lightrag
    from ragmem.storage.home.postgres import PostgresDatabase
    from ragmem.testing import make_record

    url, home, who, count = sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    database = PostgresDatabase(url, home)
    options = {"profile": "postgres", "url": url}
    store = lightrag.open_store(options, fake.open_models({}), database=database)
    print("ready", flush=True)
    for turn in range(count):
        name = f"{who}-{turn}"
        store.put([make_record(name, f"{name} speaks", entities=["Hub", name], relations=[("Hub", name)])])
        print(name, flush=True)
    store.close()
    database.close()
    """
)


@pytest.fixture
def shared(postgres, tmp_path):
    """Return a function that opens (store, database) of a home of the given name on one PostgreSQL."""
    opened = []

    def open_home(name="one", models=None):
        database = PostgresDatabase(postgres, tmp_path / name)
        options = {"profile": "postgres", "url": postgres}
        store = lightrag.open_store(options, models or fake.open_models({}), database=database)
        opened.append((store, database))
        return store, database

    yield open_home
    for store, database in opened:
        store.close()
        database.close()


@pytest.fixture
def files(tmp_path):
    """Return (store, database) on LightRAG's JSON files."""
    database = SQLiteDatabase(tmp_path / "home")
    store = lightrag.open_store({"profile": "json"}, fake.open_models({}), database=database)
    yield store, database
    store.close()
    database.close()


def start_writer(url, home, who, count):
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", WRITER, url, str(home), who, str(count)],
        stdout=subprocess.PIPE,
        text=True,
    )


class Renamed:
    """Models whose embedder goes by another name."""

    def __init__(self, name="another model"):
        self.embedder = self
        self.language_model = None
        self.model_id = name
        self._embedder = fake.open_models({}).embedder
        self.dimensions = self._embedder.dimensions

    def embed(self, texts, *, role):
        return self._embedder.embed(texts, role=role)

    def check(self):
        return []

    def close(self):
        """Keep nothing."""


def test_two_machines_that_write_at_once_lose_nothing(postgres, shared, tmp_path):
    writers = [start_writer(postgres, tmp_path / who, who, 8) for who in ("left", "right")]
    lines = [writer.communicate(timeout=60)[0].split() for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0]
    told = {name for found in lines for name in found if name != "ready"}
    store, _ = shared()
    assert len(store.memory_ids()) == len(told) == 16
    assert {other.name for _, other in store.neighbours("Hub")} == told
    # A description has room for the newest of them; the evidence of all is kept, so deleting works.
    keep = make_record("left-0", "", entities=[])
    store.delete(sorted(store.memory_ids() - {keep.memory.id}))
    [(hub, degree)] = store.entities("Hub")
    assert (hub.description, degree) == ("Hub as told by left-0.", 1)
    assert store.check(deep=True) == []


def test_a_killed_writer_leaves_what_was_acknowledged_and_what_can_be_made_good(postgres, shared, tmp_path):
    acknowledged = []
    for attempt, delay in enumerate((0.02, 0.15)):
        writer = start_writer(postgres, tmp_path / "killed", f"run{attempt}", 1000)
        assert writer.stdout.readline() == "ready\n"
        acknowledged.append(writer.stdout.readline().strip())
        time.sleep(delay)
        writer.send_signal(signal.SIGKILL)
        acknowledged += writer.communicate()[0].split()
    store, _ = shared()
    whole = {make_record(name, "").memory.id for name in acknowledged}
    assert whole <= store.memory_ids()
    hits = store.search("speaks", limit=200)
    assert {hit.memory_id for hit in hits} >= whole
    store.sweep()
    stored = store.memory_ids()
    # A writer may have been killed between its last commit and the word of it.
    assert whole <= stored
    assert len(stored) <= len(whole) + 2
    assert store.check(deep=True) == []
    told = {other.name for _, other in store.neighbours("Hub", limit=200)}
    assert told >= set(acknowledged)
    assert {make_record(name, "").memory.id for name in told} == stored
    assert store.statistics()["entities"] == 1 + len(stored)


def test_what_was_written_without_its_commit_is_hidden_and_put_again(files):
    store, database = files
    record = make_record("redis", "redis caches", entities=["Redis", "Cache"], relations=[("Redis", "Cache")])

    def refuse_at_commit():
        with database.write() as connection:
            connection.execute("CREATE TABLE one (id INTEGER PRIMARY KEY)")
            connection.execute("CREATE TABLE other (id REFERENCES one DEFERRABLE INITIALLY DEFERRED)")
            connection.execute("INSERT INTO other VALUES (1)")

    with pytest.raises(RagmemError, match="FOREIGN KEY"):
        store.put([record], finish=refuse_at_commit)
    assert store.search("redis", limit=5) == []
    assert store.sweep(dry_run=True) == {"documents": 1}
    store.put([record])
    assert len(store.search("redis", limit=5)) == 1
    assert store.sweep() == {"documents": 0}
    [(redis, _)] = store.entities("Redis")
    assert redis.description == "Redis as told by redis."


def test_sweeping_removes_what_was_written_without_its_commit(files):
    store, database = files
    store.put([make_record("kept", "kept here", entities=["Hub"])])

    def refuse_at_commit():
        with database.write() as connection:
            connection.execute("CREATE TABLE one (id INTEGER PRIMARY KEY)")
            connection.execute("CREATE TABLE other (id REFERENCES one DEFERRABLE INITIALLY DEFERRED)")
            connection.execute("INSERT INTO other VALUES (1)")

    with pytest.raises(RagmemError):
        store.put([make_record("lost", "lost there", entities=["Hub", "Lost"])], finish=refuse_at_commit)
    assert store.sweep() == {"documents": 1}
    assert store.memory_ids() == {make_record("kept", "").memory.id}
    assert [(one.name, one.description) for one, _ in store.entities()] == [("Hub", "Hub as told by kept.")]


def test_a_second_process_on_the_same_files_is_refused(files):
    """It would write its own state over what the first one wrote."""
    store, database = files
    store.put([make_record("one", "the first one")])
    script = (
        "import sys; from pathlib import Path\n"
        "from ragmem.backends import fake, lightrag\n"
        "from ragmem.backends.lightrag.external import engine as foreign_engine\n"
        "from ragmem.storage.sql.sqlite import SQLiteDatabase\n"
        "from ragmem.errors import StoreBusyError\n"
        "foreign_engine.PATIENCE = 0.1\n"
        "database = SQLiteDatabase(Path(sys.argv[1]))\n"
        "store = lightrag.open_store({'profile': 'json'}, fake.open_models({}), database=database)\n"
        "try:\n"
        "    print(len(store.memory_ids()))\n"
        "except StoreBusyError as error:\n"
        "    print(error)\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", script, str(database.home)]
    answers = []
    for _ in range(2):
        answers.append(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())
        store.close()
    assert answers == [f'another process uses the files in "{database.home / "lightrag-json"}"', "1"]


def test_a_hub_keeps_its_newest_descriptions_and_all_of_its_sources(files):
    store, _ = files
    records = [make_record(f"m{n}", f"number {n}", entities=["Hub"], hours=n) for n in range(40)]
    store.put(records)
    store.delete([record.memory.id for record in records[1:]])
    [(hub, _)] = store.entities("Hub")
    assert hub.description == "Hub as told by m0."


def test_a_small_project_is_found_beside_a_large_one(shared):
    """An index that is asked for the nearest of all projects would return those of the large one only."""
    store, _ = shared()
    store.put([make_record(f"m{n}", "the very words that are asked for") for n in range(60)])
    small = make_record("small", "something else", project="small")
    store.put([small])
    hits = store.search("the very words that are asked for", limit=5, projects=["small"])
    assert [hit.memory_id for hit in hits] == [small.memory.id]
    assert len(store.search("the very words that are asked for", limit=50)) == 50


def test_text_that_postgresql_refuses_is_stored_all_the_same(shared):
    store, _ = shared()
    long = "n" * 400
    odd = ["a\x00b", "東京", "%_'", "back\\slash", long, "m" * 400]
    record = make_record("odd", "zero \x00 byte\n\n🙂", entities=odd, relations=[(long, "m" * 400)])
    store.put([record])
    store.put([record])
    assert len(store.search("zero byte", limit=5)) == 2
    assert store.check(deep=True) == []
    store.delete([record.memory.id])
    assert set(store.statistics().values()) == {0}


def test_vectors_of_two_models_never_mix(shared):
    store, _ = shared()
    record = make_record("redis", "redis caches", entities=["Redis"])
    store.put([record])
    other, _ = shared("two", Renamed())
    for forbidden in (
        lambda: other.search("redis", limit=1),
        lambda: other.put([record]),
        lambda: other.native_query("redis", "naive", keywords=[], limit=1, project=USER),
    ):
        with pytest.raises(BackendError, match='of the model "fake'):
            forbidden()
    other.delete([record.memory.id])
    other.put([record])
    assert len(other.search("redis", limit=1)) == 1
    assert other.vector_models() == {("another model", other._models.embedder.dimensions): 2}
    with pytest.raises(BackendError, match='of the model "another model"'):
        store.search("redis", limit=1)


def test_nothing_around_it_decides_where_the_store_is(shared, tmp_path, monkeypatch):
    """Neither the shell's variables nor the files of the working folder, which may be any repository."""
    monkeypatch.setenv("POSTGRES_HOST", "elsewhere.invalid")
    monkeypatch.setenv("POSTGRES_WORKSPACE", "hijacked")
    Path(tmp_path / "config.ini").write_text("[postgres]\nhost = elsewhere.invalid\nworkspace = hijacked\n")
    Path(tmp_path / ".env").write_text("POSTGRES_DATABASE=hijacked\nTOP_K=1\n")
    monkeypatch.chdir(tmp_path)
    before = dict(os.environ)
    store, _ = shared()
    store.put([make_record("one", "first words"), make_record("two", "other words", project="other")])
    assert len(store.search("words", limit=5)) == 2
    assert len(store.search("words", limit=5, projects=["other"])) == 1
    assert (dict(os.environ), Path.cwd()) == (before, tmp_path)


def test_a_server_that_goes_away_is_told_of_at_once(postgres_server, postgres, shared):
    import psycopg

    store, _ = shared()
    store.put([make_record("redis", "redis caches")])
    name = psycopg.conninfo.conninfo_to_dict(postgres)["dbname"]
    with psycopg.connect(postgres_server, autocommit=True) as other:
        other.execute(f"DROP DATABASE {name} WITH (FORCE)")
        begun = time.monotonic()
        with pytest.raises(RagmemError) as raised:
            store.search("redis", limit=5)
        # LightRAG by itself would try for minutes.
        assert time.monotonic() - begun < 30
        assert "\n" not in str(raised.value)
        other.execute(f"CREATE DATABASE {name}")


def test_a_connection_that_breaks_while_tables_wait_to_be_made_is_told_of(postgres, shared):
    import psycopg

    store, _ = shared()
    asking = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE %s"
    with psycopg.connect(postgres, autocommit=True) as other, ThreadPoolExecutor(1) as pool:
        other.execute("SELECT pg_advisory_lock(1918986093, 2)")
        put = pool.submit(store.put, [make_record("redis", "redis caches")])
        while not (
            found := other.execute(asking, ("SELECT pg_try_advisory_lock(1918986093, 2)%",)).fetchall()
        ):
            assert not put.done()
            time.sleep(0.02)
        for row in found:
            other.execute("SELECT pg_terminate_backend(%s)", row)
        with pytest.raises(BackendError, match=r"the storage at .* failed"):
            put.result(timeout=60)
    store.put([make_record("redis", "redis caches")])
    assert len(store.memory_ids()) == 1


def another(server):
    """Return the URL of one more database; it goes with the server."""
    import psycopg

    name = f"another_{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return server.replace("/postgres?", f"/{name}?")


def test_two_databases_in_one_process_are_never_taken_for_one(postgres_server, shared, tmp_path):
    """LightRAG has one pool of connections; the second store would write to the first one's database."""
    store, _ = shared()
    record = make_record("redis", "redis caches")
    store.put([record])
    url = another(postgres_server)
    options = {"profile": "postgres", "url": url}
    database = PostgresDatabase(url, tmp_path / "second")
    second = lightrag.open_store(options, fake.open_models({}), database=database)
    with pytest.raises(BackendError, match="already has a store in the PostgreSQL database"):
        second.put([record])
    store.close()
    second.put([record])
    assert second.memory_ids() == {record.memory.id}
    second.close()
    database.close()
    assert store.memory_ids() == {record.memory.id}


@pytest.fixture
def closed_port():
    """Return a port of this machine where nobody listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def test_an_address_where_nobody_answers_is_named_without_its_password(closed_port, tmp_path):
    database = SQLiteDatabase(tmp_path / "home")
    url = f"postgresql://me:s3cret@127.0.0.1:{closed_port}/memories"
    options = {"profile": "postgres", "url": url}
    store = lightrag.open_store(options, fake.open_models({}), database=database)
    begun = time.monotonic()
    with pytest.raises(RagmemError) as raised:
        store.put([make_record("redis", "redis caches")])
    assert time.monotonic() - begun < 30
    assert f"127.0.0.1:{closed_port}" in str(raised.value)
    assert "s3cret" not in str(raised.value) + str(raised.value.__cause__)
    store.close()
    database.close()


JSON = {
    "kv": "JsonKVStorage",
    "vector": "NanoVectorDBStorage",
    "graph": "NetworkXStorage",
    "doc_status": "JsonDocStatusStorage",
}


def custom(database, storages=JSON, environment=None):
    options = {"profile": "custom", "storages": storages, "environment": environment or {}}
    return lightrag.open_store(options, fake.open_models({}), database=database)


@pytest.mark.parametrize(
    ("storages", "environment", "message", "hint"),
    [
        ({}, {}, 'needs [store] storages with kv, vector, graph, doc_status; "kv" is', "JsonKVStorage"),
        ({**JSON, "graf": "x"}, {}, 'no key "graf"', "kv, vector, graph, doc_status"),
        ({**JSON, "graph": "Neo4jStorage"}, {}, 'no graph storage "Neo4jStorage"', '"Neo4JStorage"'),
        (
            {**JSON, "graph": "Neo4JStorage"},
            {"NEO4J_URI": "bolt://h"},
            "NEO4J_USERNAME",
            "[store.environment]",
        ),
        ({**JSON, "vector": "PGKVStorage"}, {}, 'no vector storage "PGKVStorage"', "PGVectorStorage"),
        (JSON, {"REDIS_WORKSPACE": "x"}, "cannot set REDIS_WORKSPACE", "own workspace"),
        (JSON, {"REDIS_URI": "redis://:s3/cret@host:1"}, "REDIS_URI is not a URL", "%XX"),
        (JSON, {"QDRANT_URL": "http://[::1"}, "QDRANT_URL is not a URL", "scheme://"),
        (JSON, {"POSTGRES_DATABASE": "x", "POSTGRES_PORT": "five"}, 'POSTGRES_PORT is "five"', "5432"),
    ],
)
def test_a_wrong_configuration_of_storages_is_explained(tmp_path, storages, environment, message, hint):
    with pytest.raises(ConfigError) as raised:
        custom(SQLiteDatabase(tmp_path / "home"), storages, environment)
    assert message in str(raised.value)
    assert hint in raised.value.hint
    assert "s3" not in str(raised.value)


def test_a_missing_package_is_named_and_not_installed(tmp_path):
    storages = {**JSON, "vector": "FaissVectorDBStorage"}
    with pytest.raises(BackendError) as raised:
        custom(SQLiteDatabase(tmp_path / "home"), storages)
    assert raised.value.hint == "pip install faiss-cpu"


def test_storages_of_ones_own_choice_keep_memories(tmp_path):
    database = SQLiteDatabase(tmp_path / "home")
    store = custom(database)
    store.put([make_record("redis", "redis caches", entities=["Redis"])])
    store.close()
    again = custom(database)
    assert len(again.search("redis", limit=3)) == 1
    assert [one.name for one, _ in again.entities("r")] == ["Redis"]
    again.close()
    # Another profile of the same home has its own memories.
    files = lightrag.open_store({"profile": "json"}, fake.open_models({}), database=database)
    assert files.memory_ids() == set()
    files.close()
    database.close()


def test_an_address_that_a_storage_is_given_is_tried_first(tmp_path, closed_port, monkeypatch):
    monkeypatch.setattr("importlib.metadata.distribution", lambda name: name)
    database = SQLiteDatabase(tmp_path / "home")
    environment = {
        "NEO4J_URI": f"bolt://127.0.0.1:{closed_port}",
        "NEO4J_USERNAME": "neo4j",
        "NEO4J_PASSWORD": "s3cret",
    }
    store = custom(database, {**JSON, "graph": "Neo4JStorage"}, environment)
    with pytest.raises(BackendError, match=f"bolt://127.0.0.1:{closed_port}") as raised:
        store.put([make_record("redis", "redis caches")])
    assert "s3cret" not in str(raised.value)
    store.close()
    database.close()


def test_a_query_finds_entities_by_their_names(shared):
    """As with SQLite: a name is what is embedded of an entity, however its descriptions merge."""
    store, _ = shared()
    store.put([make_record(f"m{n}", f"text {n}", entities=["Billing Service"], hours=n) for n in range(3)])
    answer = store.native.native_query(
        "billing service", "local", keywords=["billing service"], limit=5, project=USER
    )
    assert [one["entity_name"] for one in answer["data"]["entities"]] == ["Billing Service"]


def test_only_what_is_new_is_embedded(shared):
    seen = []

    class Counting(Renamed):
        def embed(self, texts, *, role):
            seen.extend(texts)
            return super().embed(texts, role=role)

    store, _ = shared(models=Counting())
    store.put([make_record("one", "first text", entities=["Hub", "One"], relations=[("Hub", "One")])])
    seen.clear()
    later = make_record("two", "second text", entities=["Hub", "Two"], relations=[("Hub", "Two")], hours=1)
    store.put([later])
    assert sorted(seen) == ["Hub uses Two", "Two", "second text"]
    assert np.isclose(store.search("second text", limit=1)[0].score, 1, atol=0.01)


def test_vectors_that_were_made_ahead_are_kept_no_longer_than_their_put(tmp_path):
    made = []

    class Watched(Renamed):
        def embed(self, texts, *, role):
            vectors = super().embed(texts, role=role)
            made.append(weakref.ref(vectors))
            return vectors

    database = SQLiteDatabase(tmp_path / "home")
    store = lightrag.open_store({"profile": "json"}, Watched(), database=database)
    batches = [[make_record(f"m{n}", f"number {n}", entities=["Hub", f"Own {n}"])] for n in range(4)]
    store.prepare(batches[0])
    for batch, following in itertools.pairwise(batches):
        # As a build does it: a batch is embedded before the one ahead has brought in the hub that both name.
        store.prepare(following)
        store.put(batch)
    store.put(batches[-1])
    store.prepare(batches[0])
    store.put(batches[0])
    gc.collect()
    assert len(made) >= len(batches)
    assert [one for one in made if one() is not None] == []
    store.close()
    database.close()
