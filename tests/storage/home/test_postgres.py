"""PostgreSQL: one writer at a time, readers that never wait, errors that tell what to do and no password."""

import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragmem.errors import ConfigError, RagmemError, StorageError, StoreBusyError, StoreDamagedError
from ragmem.storage.fulltext.fulltext import search
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.home.postgres import PostgresDatabase
from ragmem.storage.home.postgres_schema import CATALOG
from ragmem.storage.maintenance.invariants import violations
from ragmem.storage.memories.edits import edits_of
from ragmem.storage.sql.migrations import TABLE, migrate
from ragmem.storage.sql.rows import MEMORY_COLUMNS, memory_values

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'ragmem[postgres]'")


@pytest.fixture
def database(postgres, tmp_path):
    made = PostgresDatabase(postgres, tmp_path / "home", busy_timeout=20.0)
    with made.write() as connection:
        connection.execute("CREATE TABLE counter (value BIGINT)")
        connection.execute("INSERT INTO counter VALUES (0)")
        connection.execute('CREATE TABLE texts (text TEXT COLLATE "C")')
    yield made
    made.close()


def value(database: PostgresDatabase) -> int:
    with database.read() as connection:
        return int(connection.execute("SELECT value FROM counter").fetchone()[0])


def set_to(database: PostgresDatabase, number: int) -> None:
    with database.write() as connection:
        connection.execute("UPDATE counter SET value = ?", (number,))


def cut_all(url: str) -> None:
    """Close the database's connections at the server, as its restart does."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


ADD = (
    "import sys\nfrom pathlib import Path\nfrom ragmem.storage.home.postgres import PostgresDatabase\n"
    "database = PostgresDatabase(sys.argv[1], Path(sys.argv[2]), busy_timeout=30.0)\n"
    "def add():\n"
    "    with database.write() as connection:\n"
    "        (before,) = connection.execute('SELECT value FROM counter').fetchone()\n"
    "        connection.execute('UPDATE counter SET value = ?', (before + 1,))\n"
)


def test_of_many_processes_and_threads_one_writes_at_a_time(database, tmp_path):
    code = ADD + (
        "import threading\n"
        "threads = [threading.Thread(target=lambda: [add() for _ in range(10)]) for _ in range(3)]\n"
        "[thread.start() for thread in threads]\n[thread.join() for thread in threads]\ndatabase.close()\n"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", code, database.url, str(tmp_path / f"home{n}")])
        for n in range(2)
    ]
    assert [process.wait(60) for process in processes] == [0, 0]
    assert value(database) == 60


def test_a_killed_writer_leaves_nothing_and_nobody_waits_for_it(database, tmp_path):
    code = ADD + (
        "with database.write() as connection:\n"
        "    connection.execute('UPDATE counter SET value = 99')\n"
        "    print('inside', flush=True)\n    sys.stdin.read()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, database.url, str(tmp_path / "other")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"inside\n"
    process.kill()
    process.communicate()
    began = time.perf_counter()
    set_to(database, 1)
    assert time.perf_counter() - began < 10
    assert value(database) == 1


def test_writers_get_their_turn_in_the_order_in_which_they_asked(database):
    order: list[int] = []

    def write(number: int) -> None:
        with database.write():
            order.append(number)

    threads = [threading.Thread(target=write, args=(number,), daemon=True) for number in range(4)]
    with database.write():
        for waiting, thread in enumerate(threads, start=1):
            thread.start()
            while True:
                with psycopg.connect(database.url) as other:
                    row = other.execute(
                        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
                    ).fetchone()
                if row == (waiting,):
                    break
                time.sleep(0.005)
    for thread in threads:
        thread.join(20)
    assert order == [0, 1, 2, 3]


def test_a_nested_write_joins_the_outer_one_and_a_read_within_sees_it(database):
    def fail_after_nested_write():
        with database.write():
            set_to(database, 5)
            assert value(database) == 5
            raise ValueError("the outer one fails")

    with pytest.raises(ValueError, match="outer"):
        fail_after_nested_write()
    assert value(database) == 0


def test_a_write_inside_of_a_read_is_refused(database):
    with database.read(), pytest.raises(RuntimeError, match="inside of a read"):
        set_to(database, 3)
    assert value(database) == 0


def test_what_fails_is_rolled_back_and_the_next_write_succeeds(database):
    def fail():
        with database.write() as connection:
            connection.execute("UPDATE counter SET value = 7")
            connection.execute("INSERT INTO no_such_table VALUES (1)")

    with pytest.raises(StorageError, match="no_such_table"):
        fail()
    assert value(database) == 0
    set_to(database, 1)
    assert value(database) == 1


def test_a_write_that_went_on_after_a_failure_is_not_taken_for_stored(database):
    def write() -> None:
        with database.write() as connection:
            connection.execute("UPDATE counter SET value = 7")
            with suppress(psycopg.Error):
                connection.execute("SELECT nothing_of_this_name")

    with pytest.raises(StorageError, match="nothing was written"):
        write()
    assert value(database) == 0
    set_to(database, 8)
    assert value(database) == 8


def test_a_reader_sees_the_snapshot_of_its_beginning_and_waits_for_no_writer(database):
    with database.read() as connection:
        assert connection.execute("SELECT value FROM counter").fetchone() == (0,)
        writer = threading.Thread(target=set_to, args=(database, 4))
        writer.start()
        writer.join(20)
        assert connection.execute("SELECT value FROM counter").fetchone() == (0,)
    with database.write() as connection:
        connection.execute("UPDATE counter SET value = 8")
        seen: list[int] = []
        reader = threading.Thread(target=lambda: seen.append(value(database)))
        reader.start()
        reader.join(20)
    assert seen == [4]


def test_a_writer_that_waits_too_long_gives_up(database):
    with database.write():
        other = PostgresDatabase(database.url, database.home, busy_timeout=0.05)
        with pytest.raises(StoreBusyError, match=r"0\.05 s"), other.write():
            pytest.fail("two writers at a time")
        other.close()
    with other.write() as connection:
        assert connection.execute("SELECT value FROM counter").fetchone() == (0,)
    other.close()


def test_a_connection_that_was_cut_while_it_lay_ready_is_made_anew(database):
    assert value(database) == 0
    cut_all(database.url)
    set_to(database, 2)
    cut_all(database.url)
    assert value(database) == 2


def test_what_was_written_when_the_connection_is_lost_is_not_there_and_the_next_call_reconnects(database):
    def cut_inside():
        with database.write() as connection:
            connection.execute("UPDATE counter SET value = 7")
            cut_all(database.url)
            connection.execute("UPDATE counter SET value = 8")

    with pytest.raises(StorageError, match="connection"):
        cut_inside()
    assert value(database) == 0
    set_to(database, 3)
    assert value(database) == 3


def test_closing_twice_is_closing_once(database):
    database.close()
    database.close()
    assert value(database) == 0


def test_threads_that_came_and_went_leave_one_connection(database):
    for _ in range(5):
        thread = threading.Thread(target=value, args=(database,))
        thread.start()
        thread.join(20)
    with psycopg.connect(database.url) as other:
        row = other.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'ragmem'"
        ).fetchone()
    assert row == (1,)


# All that a text may be in Python: PostgreSQL stores neither NUL nor half of a pair.
ANY_TEXT = st.text(st.characters() | st.sampled_from("\0\x1a\ud800\udfff0a'%?\\"), max_size=30)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(ANY_TEXT, min_size=1, max_size=5))
def test_any_text_comes_back_as_it_was(database, texts):
    with database.write() as connection:
        connection.execute("DELETE FROM texts")
        connection.executemany("INSERT INTO texts VALUES (?)", [(text,) for text in texts])
        rows = connection.execute("SELECT text FROM texts").fetchall()
        assert sorted(text for (text,) in rows) == sorted(texts)
        for text in texts:
            assert connection.execute("SELECT count(*) FROM texts WHERE text = ?", (text,)).fetchone() >= (1,)


def test_texts_are_in_the_order_of_sqlite(database):
    texts = ["b", "B", "a", "_", "é", "z", "Z", "10", "9", "", "a b", "a-b", "ab"]
    with database.write() as connection:
        connection.executemany("INSERT INTO texts VALUES (?)", [(text,) for text in texts])
        rows = connection.execute("SELECT text FROM texts ORDER BY text").fetchall()
    assert [text for (text,) in rows] == sorted(texts)


def test_question_and_per_cent_marks_in_literals_are_no_parameters(database):
    with database.read() as connection:
        assert connection.execute("SELECT '?%s', '%', ? -- ?\n, '''?'", ("x",)).fetchone() == (
            "?%s",
            "%",
            "x",
            "'?",
        )
        assert connection.execute("SELECT '?1' || ?1 || ?2 || ?1 || 5 % 3", ("a", "b")).fetchone() == (
            "?1aba2",
        )
        assert connection.execute("SELECT 7 % 4").fetchone() == (3,)


def test_a_newer_schema_is_refused(postgres, tmp_path):
    catalog = Catalog(PostgresDatabase(postgres, tmp_path))
    catalog.prepare()
    catalog.prepare()
    with catalog.database.write() as connection:
        connection.execute(f"UPDATE {TABLE} SET version = 99 WHERE component = 'catalog' AND version = 1")
    with pytest.raises(StoreDamagedError, match="newer ragmem"):
        catalog.prepare()
    catalog.close()


def test_a_database_of_the_release_before_keeps_its_memories_and_finds_them(postgres, tmp_path, make):
    database = PostgresDatabase(postgres, tmp_path)
    migrate(database, replace(CATALOG, migrations=CATALOG.migrations[:2], _checksums={}))
    memory, chunks = make("a", "the quagga sleeps", metadata={"files": "src/quagga.py"})
    # That release had no clean hashes.
    columns, values = ", ".join(MEMORY_COLUMNS[:-1]), memory_values(memory)[:-1]
    with database.write() as connection:
        (number,) = connection.execute(
            f"INSERT INTO memories ({columns}) VALUES ({', '.join('?' * len(values))}) RETURNING n", values
        ).fetchone()
        for chunk in chunks:
            connection.execute(
                "INSERT INTO chunks (id, memory, position, heading, begin_at, end_at) VALUES (?,?,?,?,?,?)",
                (chunk.id, number, chunk.order, chunk.heading, chunk.start, chunk.end),
            )
    told = []
    catalog = Catalog(database)
    catalog.announce = told.append
    for _ in range(2):
        catalog.prepare()
        assert [hit.memory_id for hit in search(database, "quagga", limit=5).hits] == [memory.id]
        assert [edit.memory_id for edit in edits_of(database, "quagga.py", projects=None)] == [memory.id]
    assert violations(catalog, deep=True) == []
    assert len(told) == 1
    catalog.close()


def test_two_machines_may_make_the_tables_at_once(postgres, tmp_path):
    failures: list[BaseException] = []

    def prepare(number: int) -> None:
        catalog = Catalog(PostgresDatabase(postgres, tmp_path / str(number)))
        try:
            catalog.prepare()
        except RagmemError as error:
            failures.append(error)
        finally:
            catalog.close()

    threads = [threading.Thread(target=prepare, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert failures == []


def test_nothing_is_stored_before_the_tables_are_made(postgres, tmp_path):
    catalog = Catalog(PostgresDatabase(postgres, tmp_path))
    assert not catalog.exists()
    catalog.prepare()
    assert catalog.exists()
    catalog.close()


def address(url: str, *, user: str = "postgres", name: str | None = None, host: str | None = None) -> str:
    parts = urlsplit(url)
    folder = host or parse_qs(parts.query)["host"][0]
    return f"postgresql://{user}@/{name or parts.path[1:]}?host={folder}"


@pytest.mark.parametrize(
    ("change", "says", "hints"),
    [
        ({"user": "guarded:wrong"}, "refuses the login", "PGPASSWORD"),
        ({"user": "guarded"}, "refuses the login", "PGPASSWORD"),
        ({"user": "nobody"}, "refuses the login", "user"),
        ({"name": "nothing"}, "does not exist", "createdb"),
        ({"host": "/nowhere"}, "cannot reach", "store.url"),
    ],
)
def test_a_refused_connection_says_why_and_what_to_do(postgres, tmp_path, change, says, hints):
    database = PostgresDatabase(address(postgres, **change), tmp_path)
    with pytest.raises(StorageError, match=says) as caught:
        database.exists()
    assert hints in caught.value.hint
    assert "wrong" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_password_may_come_from_the_address_or_the_environment(postgres, tmp_path, monkeypatch):
    given = PostgresDatabase(address(postgres, user="guarded:s3cret%2Fword"), tmp_path)
    assert not given.exists()
    monkeypatch.setenv("PGPASSWORD", "s3cret/word")
    assumed = PostgresDatabase(address(postgres, user="guarded"), tmp_path)
    assert not assumed.exists()
    given.close()
    assumed.close()


def test_who_may_not_write_is_told_so_and_may_read(database):
    with psycopg.connect(database.url, autocommit=True) as owner:
        owner.execute("GRANT USAGE ON SCHEMA ragmem TO guarded")
        owner.execute("GRANT SELECT ON ALL TABLES IN SCHEMA ragmem TO guarded")
    guest = PostgresDatabase(address(database.url, user="guarded:s3cret%2Fword"), database.home)
    assert value(guest) == 0
    with pytest.raises(StorageError, match="does not allow") as caught:
        set_to(guest, 1)
    assert "s3cret" not in str(caught.value)
    guest.close()
    with psycopg.connect(database.url, autocommit=True) as owner:
        owner.execute("DROP OWNED BY guarded")


def test_a_server_without_a_connection_left_says_so(postgres, tmp_path):
    with psycopg.connect(postgres, autocommit=True) as owner:
        name = urlsplit(postgres).path[1:]
        owner.execute(f"ALTER DATABASE {name} CONNECTION LIMIT 0")
        database = PostgresDatabase(address(postgres, user="guarded:s3cret%2Fword"), tmp_path)
        with pytest.raises(StorageError, match="no connection left"):
            database.exists()
        owner.execute(f"ALTER DATABASE {name} CONNECTION LIMIT -1")


def test_a_database_of_another_encoding_is_refused_with_the_command_that_makes_one(postgres, tmp_path):
    with psycopg.connect(postgres, autocommit=True) as owner:
        owner.execute("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
        try:
            with pytest.raises(StorageError, match="encoding LATIN1") as caught:
                PostgresDatabase(address(postgres, name="latin"), tmp_path).exists()
        finally:
            owner.execute("DROP DATABASE latin WITH (FORCE)")
    assert "createdb --encoding UTF8" in caught.value.hint


@pytest.mark.parametrize(
    "url", ["postgresql://anna:s3cret@[broken", "host=x password='s3cret' nonsense", "???"]
)
def test_what_is_no_address_is_refused_without_its_password(tmp_path, url):
    with pytest.raises(ConfigError, match=r"store\.url") as caught:
        PostgresDatabase(url, tmp_path).exists()
    assert "s3cret" not in str(caught.value)
    assert "s3cret" not in repr(caught.value.__context__)


def test_a_server_that_only_reads_is_known_as_read_only(postgres, tmp_path):
    database = PostgresDatabase(f"{postgres}&options=-c%20default_transaction_read_only%3Don", tmp_path)
    database.exists()
    assert database.read_only
    with pytest.raises(StorageError, match="read-only"), database.write() as connection:
        connection.execute("CREATE TABLE t (n BIGINT)")
    database.close()


def test_psycopg_is_not_imported_before_the_database_is_opened(tmp_path):
    code = (
        "import sys\nfrom pathlib import Path\nfrom ragmem.storage.home.postgres import PostgresDatabase\n"
        "PostgresDatabase('postgresql://x/y', Path('z')).close()\nprint('psycopg' in sys.modules)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    assert run.stdout.strip() == "False"
