"""What a search in PostgreSQL promises: all projects at once, and the answers of LightRAG's own search."""

import psycopg
import pytest

from ragmem.backends import fake, lightrag
from ragmem.backends.lightrag.external.workspaces import Workspaces
from ragmem.errors import BackendError
from ragmem.storage.home.postgres import PostgresDatabase
from ragmem.testing import make_record

PROJECTS = ("one", "two", "three")
QUESTION = "which note speaks about locks"


@pytest.fixture
def open_store(postgres, tmp_path):
    """Return a function that opens a store on one PostgreSQL, with LightRAG's settings if given."""
    opened = []

    def open_one(**environment):
        database = PostgresDatabase(postgres, tmp_path / "home")
        options = {"profile": "postgres", "url": postgres, "environment": environment}
        store = lightrag.open_store(options, fake.open_models({}), database=database)
        opened.append((store, database))
        return store

    yield open_one
    for store, database in opened:
        store.close()
        database.close()


@pytest.fixture
def questions_of_lightrag(monkeypatch):
    """Return a list to which each question that LightRAG's own storages ask of the server is added."""
    from lightrag.kg.postgres_impl import PostgreSQLDB

    asked, query = [], PostgreSQLDB.query

    async def noted(self, sql, *arguments, **options):
        asked.append(sql)
        return await query(self, sql, *arguments, **options)

    monkeypatch.setattr(PostgreSQLDB, "query", noted)
    return asked


def filled(store):
    """Put three notes into each project; return the ids of their chunks."""
    records = [
        make_record(f"{project}-{number}", f"note {number} of {project} about locks", project=project)
        for project in PROJECTS
        for number in range(3)
    ]
    store.put(records)
    return [chunk.id for record in records for chunk in record.chunks]


@pytest.mark.parametrize("projects", [None, ["one"], ["three", "one", "none such"], []])
def test_it_answers_as_lightrags_own_storage_does(open_store, monkeypatch, projects):
    store = open_store()
    chunks = filled(store)
    hits = store.search(QUESTION, limit=4, projects=projects)
    cosines = store.similarities(QUESTION, [*chunks, "unknown"], projects=projects)
    monkeypatch.setattr(Workspaces, "vector_search", lambda self, project: None)
    expected = store.search(QUESTION, limit=4, projects=projects)
    assert [hit.chunk_id for hit in hits] == [hit.chunk_id for hit in expected]
    assert [hit.score for hit in hits] == pytest.approx([hit.score for hit in expected], abs=1e-5)
    compared = store.similarities(QUESTION, [*chunks, "unknown"], projects=projects)
    assert cosines == pytest.approx(dict(compared), abs=1e-5)
    assert len(cosines) == (9 if projects is None else 3 * len({"one", "three"}.intersection(projects)))


def test_all_projects_are_searched_at_once(open_store, questions_of_lightrag):
    store = open_store()
    chunks = filled(store)
    store.search(QUESTION, limit=4)
    questions_of_lightrag.clear()
    assert len(store.search(QUESTION, limit=4)) == 4
    assert len(store.similarities(QUESTION, chunks)) == 9
    assert [len(hits) for hits in store.nearest_to(vectors_of(store), limit=2, project="two")] == [2, 2, 2]
    assert [sql for sql in questions_of_lightrag if "content_vector <=>" in sql] == []
    # The vectors that `vectors_of` reads, of one project.
    assert len(questions_of_lightrag) <= 3


def vectors_of(store):
    (block,) = store.vector_blocks("two")
    return block.vectors


def test_what_an_index_leaves_out_of_a_small_project_is_compared(postgres, open_store):
    """Without an iterative scan an index returns the nearest of all projects, and none of the small one."""
    with psycopg.connect(postgres, autocommit=True) as connection:
        name = connection.info.dbname
        for setting in ("enable_seqscan", "enable_bitmapscan", "enable_sort"):
            connection.execute(f"ALTER DATABASE {name} SET {setting} = off")
        try:
            store = open_store(
                POSTGRES_VECTOR_INDEX_TYPE="HNSW", POSTGRES_SERVER_SETTINGS="hnsw.ef_search=5&work_mem=1MB"
            )
            store.put([make_record(f"large-{number}", f"{QUESTION} {number}") for number in range(60)])
            small = [make_record(f"small-{n}", f"something else {n}", project="small") for n in range(4)]
            store.put(small)
            found = store.search(QUESTION, limit=3, projects=["small"])
        finally:
            connection.execute(f"ALTER DATABASE {name} RESET ALL")
    assert {hit.memory_id for hit in found} <= {record.memory.id for record in small}
    assert len(found) == 3


def test_a_document_whose_put_was_not_committed_is_not_found(postgres, open_store):
    store = open_store()
    chunks = filled(store)
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("DELETE FROM ragmem.store_placements WHERE project = 'one'")
    assert len(store.search(QUESTION, limit=9)) == 6
    assert len(store.similarities(QUESTION, chunks)) == 6
    assert store.search(QUESTION, limit=2, projects=["one"]) == []


def test_connections_that_the_server_has_closed_are_replaced(postgres, open_store):
    store = open_store()
    filled(store)
    assert len(store.search(QUESTION, limit=3)) == 3
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    assert len(store.search(QUESTION, limit=3)) == 3


def test_a_search_that_the_server_refuses_is_told_of_as_a_failure_of_the_store(postgres, open_store):
    store = open_store()
    filled(store)
    assert len(store.search(QUESTION, limit=3)) == 3
    with psycopg.connect(postgres, autocommit=True) as connection:
        (table,) = connection.execute(
            "SELECT tablename FROM pg_tables WHERE tablename LIKE 'lightrag_vdb_chunks%'"
        ).fetchone()
        connection.execute(f"DROP TABLE {table}")
    with pytest.raises(BackendError, match=table[:20]):
        store.search(QUESTION, limit=3)


def test_it_counts_without_reading_what_it_counts(open_store, monkeypatch, questions_of_lightrag):
    store = open_store()
    filled(store)
    store.put([make_record("named", "A and B", entities=["A", "B"], relations=[("A", "B")], project="one")])
    counted = dict(store.statistics())
    assert counted == {
        "documents": 10,
        "chunks": 10,
        "vectors": 13,
        "entities": 2,
        "relations": 1,
        "workspaces": 3,
    }
    questions_of_lightrag.clear()
    assert store.statistics() == counted
    assert questions_of_lightrag == []
    store.put([make_record("more", "one more", project="four")])
    assert store.statistics()["documents"] == 11
    monkeypatch.setattr(Workspaces, "vector_search", lambda self, project: None)
    assert store.statistics() == {**counted, "documents": 11, "chunks": 11, "vectors": 14, "workspaces": 4}
