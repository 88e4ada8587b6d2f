"""One writer at a time, readers that never wait, and nothing kept of what failed."""

import sqlite3
import stat
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress
from pathlib import Path

import new_databases
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.errors import RejectionError, StorageError, StoreBusyError, StoreDamagedError
from ragmem.storage.sql import sqlite_connect
from ragmem.storage.sql.batches import PARAMETERS, padded
from ragmem.storage.sql.sqlite import SQLiteDatabase, translate
from ragmem.storage.sql.sqlite_connect import PAGE_BYTES


@pytest.fixture
def database(tmp_path: Path):
    made = SQLiteDatabase(tmp_path / "data", busy_timeout=20.0)
    with made.write() as connection:
        connection.execute("CREATE TABLE counter (value INTEGER)")
        connection.execute("INSERT INTO counter VALUES (0)")
    yield made
    made.close()


def value(database: SQLiteDatabase) -> int:
    with database.read() as connection:
        return int(connection.execute("SELECT value FROM counter").fetchone()[0])


def add_one(database: SQLiteDatabase) -> None:
    with database.write() as connection:
        (before,) = connection.execute("SELECT value FROM counter").fetchone()
        # Long enough for another writer to come in between, if one could.
        time.sleep(0.001)
        connection.execute("UPDATE counter SET value = ?", (before + 1,))


def set_to(database: SQLiteDatabase, number: int) -> None:
    with database.write() as connection:
        connection.execute("UPDATE counter SET value = ?", (number,))


def test_of_many_threads_one_writes_at_a_time(database):
    threads = [
        threading.Thread(target=lambda: [add_one(database) for _ in range(10)], daemon=True) for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert value(database) == 60


def test_of_many_processes_one_writes_at_a_time(database):
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom ragmem.storage.sql.sqlite import SQLiteDatabase\n"
        "database = SQLiteDatabase(Path(sys.argv[1]), busy_timeout=30.0)\n"
        "for _ in range(20):\n"
        "    with database.write() as connection:\n"
        "        (before,) = connection.execute('SELECT value FROM counter').fetchone()\n"
        "        time.sleep(0.001)\n"
        "        connection.execute('UPDATE counter SET value = ?', (before + 1,))\n"
        "database.close()\n"
    )
    processes = [subprocess.Popen([sys.executable, "-c", code, str(database.home)]) for _ in range(3)]
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    assert value(database) == 60


def test_a_nested_write_joins_the_outer_one(database):
    def fail_after_nested_write():
        with database.write():
            set_to(database, 5)
            raise ValueError("the outer one fails")

    with pytest.raises(ValueError, match="outer"):
        fail_after_nested_write()
    assert value(database) == 0


def test_what_fails_is_rolled_back_and_the_next_write_succeeds(database):
    def fail():
        with database.write() as connection:
            connection.execute("UPDATE counter SET value = 7")
            connection.execute("INSERT INTO no_such_table VALUES (1)")

    with pytest.raises(StorageError, match="no such table"):
        fail()
    assert value(database) == 0
    add_one(database)
    assert value(database) == 1


def test_a_write_inside_of_a_read_is_refused_and_not_lost(database):
    def write_inside():
        with database.read():
            set_to(database, 3)

    with pytest.raises(RuntimeError, match="inside of a read"):
        write_inside()
    assert value(database) == 0
    set_to(database, 3)
    assert value(database) == 3


def test_a_read_within_a_write_sees_it(database):
    with database.write():
        set_to(database, 9)
        assert value(database) == 9


def test_a_reader_sees_the_snapshot_of_its_beginning(database):
    with database.read() as connection:
        assert connection.execute("SELECT value FROM counter").fetchone() == (0,)
        writer = threading.Thread(target=set_to, args=(database, 4))
        writer.start()
        writer.join(20)
        assert connection.execute("SELECT value FROM counter").fetchone() == (0,)
    assert value(database) == 4


def test_a_reader_never_waits_for_a_writer(database):
    inside, done = threading.Event(), threading.Event()

    def write_slowly():
        with database.write() as connection:
            connection.execute("UPDATE counter SET value = 8")
            inside.set()
            done.wait(20)

    writer = threading.Thread(target=write_slowly, daemon=True)
    writer.start()
    assert inside.wait(20)
    began = time.perf_counter()
    assert value(database) == 0
    took = time.perf_counter() - began
    done.set()
    writer.join(20)
    assert value(database) == 8
    # A millisecond as a rule; a writer that it waited for would have kept it for 20 seconds.
    assert took < 10


def test_a_writer_that_waits_too_long_gives_up(database):
    with database.write():
        other = SQLiteDatabase(database.home, busy_timeout=0.05)
        with pytest.raises(StoreBusyError, match=r"0\.05 s"), other.write():
            pytest.fail("two writers at a time")
        other.close()


def test_a_writer_in_haste_gives_up_as_soon_where_another_program_writes(database):
    with closing(sqlite3.connect(database.path, isolation_level=None, check_same_thread=False)) as program:
        program.execute("BEGIN IMMEDIATE")
        end = threading.Timer(5.0, program.execute, ["COMMIT"])
        end.start()
        try:
            # Whoever waits longer gets the lock.
            with pytest.raises(StoreBusyError), database.write(patience=0.05):
                pytest.fail("two writers at a time")
        finally:
            end.join()
    assert database.connection().execute("PRAGMA busy_timeout").fetchone() == (20_000,)


def write_blob(database: SQLiteDatabase) -> None:
    with database.write() as connection:
        connection.execute("INSERT INTO blobs VALUES (?)", (b"x" * 65_536,))


@pytest.fixture
def blobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("ragmem.storage.sql.sqlite.LOG_LIMIT", 2**19)
    monkeypatch.setattr("ragmem.storage.sql.sqlite.LOG_PATIENCE", 0.3)
    made = SQLiteDatabase(tmp_path / "blobs")
    with made.write() as connection:
        connection.execute("CREATE TABLE blobs (content BLOB)")
    yield made
    made.close()


def log_of(database: SQLiteDatabase) -> int:
    return Path(f"{database.path}-wal").stat().st_size


def test_the_log_stays_short_while_readers_take_turns(blobs):
    done = threading.Event()

    def read_again_and_again() -> None:
        while not done.is_set():
            with blobs.read() as connection:
                connection.execute("SELECT count(*) FROM blobs").fetchone()
                done.wait(0.01)

    # Of three there is always one at it: SQLite alone finds no moment at which to begin the log anew.
    readers = [threading.Thread(target=read_again_and_again, daemon=True) for _ in range(3)]
    for reader in readers:
        reader.start()
    longest = 0
    for _ in range(60):
        write_blob(blobs)
        longest = max(longest, log_of(blobs))
    done.set()
    for reader in readers:
        reader.join(20)
    # Some limits, where waits were in vain on a busy machine; without them it would be all of the four MB.
    assert longest <= 2**21 + 2**18


def test_a_reader_that_stays_does_not_hold_up_every_writer(blobs, monkeypatch):
    monkeypatch.setattr("ragmem.storage.sql.sqlite.LOG_PATIENCE", 0.01)
    inside, done = threading.Event(), threading.Event()

    def stay() -> None:
        with blobs.read() as connection:
            connection.execute("SELECT count(*) FROM blobs").fetchone()
            inside.set()
            done.wait(60)

    reader = threading.Thread(target=stay, daemon=True)
    reader.start()
    assert inside.wait(20)
    statements: list[str] = []
    blobs.connection().set_trace_callback(statements.append)
    for _ in range(40):
        write_blob(blobs)
    blobs.connection().set_trace_callback(None)
    long = log_of(blobs)
    done.set()
    reader.join(20)
    # Each 512 KB one writer waits: 5 of the 40.
    assert 0 < sum("wal_checkpoint" in statement for statement in statements) < 8
    assert long > 2 * 2**20
    for _ in range(9):
        write_blob(blobs)
    assert log_of(blobs) < 2**20


def test_what_is_acknowledged_survives_a_power_cut(tmp_path: Path, monkeypatch):
    # Elsewhere tests do not wait for the disk.
    monkeypatch.setattr(sqlite_connect, "_open_to_write", new_databases.open_to_write)
    database = SQLiteDatabase(tmp_path / "data", busy_timeout=20.0)
    with database.write() as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
    # Nobody waits for the disk because of a note.
    with suppress(ZeroDivisionError), database.write(note=True) as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (1,)  # NORMAL
        1 / 0  # noqa: B018
    with database.write() as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    database.close()


def test_the_home_is_private(tmp_path: Path):
    database = SQLiteDatabase(tmp_path / "one" / "data")
    with database.write() as connection:
        connection.execute("CREATE TABLE t (x)")
        files = {path.name: stat.S_IMODE(path.stat().st_mode) for path in database.home.iterdir()}
    assert {"memory.db", "memory.db-wal", "write.lock"} <= set(files)
    assert set(files.values()) == {0o600}
    assert stat.S_IMODE(database.home.stat().st_mode) == 0o700
    database.close()


def test_closing_twice_is_closing_once(database):
    database.close()
    database.close()
    assert value(database) == 0


def test_threads_that_came_and_went_are_closed_too(database):
    thread = threading.Thread(target=value, args=(database,))
    thread.start()
    thread.join(20)
    database.close()
    assert not Path(f"{database.path}-wal").exists()


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (sqlite3.DatabaseError("file is not a database"), StoreDamagedError),
        (sqlite3.DatabaseError("database disk image is malformed"), StoreDamagedError),
        (sqlite3.OperationalError("Could not decode to UTF-8 column 'a' with text 'b'"), StoreDamagedError),
        (sqlite3.OperationalError("database is locked"), StoreBusyError),
        (sqlite3.OperationalError("database or disk is full"), StorageError),
        (sqlite3.OperationalError("attempt to write a readonly database"), StorageError),
        (sqlite3.IntegrityError("UNIQUE constraint failed"), RejectionError),
        (sqlite3.DataError("string or blob too big"), RejectionError),
        (sqlite3.ProgrammingError("Error binding parameter 1: type 'set' is not supported"), RejectionError),
        (sqlite3.ProgrammingError("Cannot operate on a closed database."), StorageError),
    ],
)
def test_an_error_of_sqlite_becomes_the_one_that_says_what_to_do(error, expected):
    found = translate(error, Path("/x/memory.db"))
    assert type(found) is expected
    assert found.hint
    assert "with text" not in str(found)


def test_what_threads_that_have_ended_left_open_is_closed(database: SQLiteDatabase) -> None:
    def open_files() -> int:
        return sum(1 for _ in Path("/dev/fd").iterdir())

    def read_in_a_thread() -> int:
        thread = threading.Thread(target=value, args=(database,))
        thread.start()
        thread.join()
        return open_files()

    first = read_in_a_thread()
    for _ in range(8):
        last = read_in_a_thread()

    # SQLite itself keeps a file open, for the next connection, as long as another one has it locked.
    assert last <= first + 2
    assert value(database) == 0


@given(st.lists(st.integers(), max_size=PARAMETERS))
def test_lists_of_any_length_need_few_statements(values):
    filled = padded(values)
    assert set(filled) == set(values)
    assert filled[: len(values)] == values
    assert len(filled) in {0, PARAMETERS, *(1 << power for power in range(9))}


def test_each_row_of_a_list_is_read_once(database):
    with database.write() as connection:
        connection.executemany("INSERT INTO counter VALUES (?)", [(number,) for number in range(1, 20)])
    for count in range(20):
        rows = database.select_in("SELECT value FROM counter WHERE value IN ({})", range(count))
        assert sorted(rows) == [(number,) for number in range(count)]


def test_a_new_file_has_small_pages_and_an_older_one_keeps_its_own(database, tmp_path):
    with database.read() as connection:
        assert connection.execute("PRAGMA page_size").fetchone() == (PAGE_BYTES,)
    older = SQLiteDatabase(tmp_path / "older")
    older.path.parent.mkdir()
    with closing(sqlite3.connect(older.path)) as connection:
        connection.execute("PRAGMA page_size = 4096")
        connection.execute("CREATE TABLE counter (value INTEGER)")
    with older.write() as connection:
        connection.execute("INSERT INTO counter VALUES (1)")
    older.vacuum()
    with older.read() as connection:
        assert connection.execute("PRAGMA page_size").fetchone() == (4096,)
    older.close()
