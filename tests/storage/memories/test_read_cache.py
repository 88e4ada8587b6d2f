"""What was read of a database is read again once it was written, and not before."""

import threading
from contextlib import closing

import pytest

from ragmem.ports.principal import Principal, acting_as
from ragmem.storage.memories.read_cache import ReadCache
from ragmem.storage.sql.sqlite import SQLiteDatabase


@pytest.fixture
def database(tmp_path):
    with closing(SQLiteDatabase(tmp_path / "data")) as made:
        with made.write() as connection:
            connection.execute("CREATE TABLE names (name TEXT)")
        add(made)
        yield made


@pytest.fixture
def kept(database):
    def read():
        kept.readings += 1
        with database.read() as connection:
            return connection.execute("SELECT count(*) FROM names").fetchone()[0]

    kept = ReadCache(database, read)
    kept.readings = 0
    return kept


def add(database):
    with database.write() as connection:
        connection.execute("INSERT INTO names VALUES ('a')")


def in_thread(work):
    found = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


def replace_file(database, folder):
    """Put the file of a new database in the place of another one."""
    with closing(SQLiteDatabase(folder)) as other:
        with other.write() as connection:
            connection.execute("CREATE TABLE names (name TEXT)")
        other.close()
        other.path.replace(database.path)
        for name in ("wal", "shm"):
            database.path.with_name(f"{database.path.name}-{name}").unlink()


def test_it_is_read_once_while_nothing_is_written(kept):
    assert [kept.value() for _ in range(3)] == [1, 1, 1]
    assert kept.readings == 1


def test_it_is_read_anew_after_a_write_of_this_thread_another_one_or_another_process(
    kept, database, tmp_path
):
    assert kept.value() == 1
    add(database)
    assert kept.value() == 2
    in_thread(lambda: add(database))
    assert kept.value() == 3
    with closing(SQLiteDatabase(tmp_path / "data")) as other:
        add(other)
    assert kept.value() == 4
    with database.write() as connection:
        connection.execute("DELETE FROM names")
    assert kept.value() == 0


def test_each_thread_sees_what_another_wrote(kept, database):
    assert kept.value() == in_thread(kept.value) == 1
    in_thread(lambda: add(database))
    assert kept.value() == in_thread(kept.value) == 2


def test_it_is_read_anew_where_another_file_takes_the_place(kept, database, tmp_path):
    assert kept.value() == 1
    replace_file(database, tmp_path / "other")
    assert kept.value() == 0


def note(database):
    with database.write(note=True) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS notes (text TEXT)")
        connection.execute("INSERT INTO notes VALUES ('shown')")


@pytest.fixture
def watched(kept, database):
    """A value that was read anew once, from when on notes are told from other writes."""
    kept.value()
    add(database)
    assert kept.value() == 2
    add(database)
    assert kept.value() == 3
    kept.readings = 0
    return kept


def test_a_note_of_this_thread_or_another_makes_nothing_be_read_anew(watched, database):
    note(database)
    assert watched.value() == 3
    in_thread(lambda: note(database))
    note(database)
    assert watched.value() == 3
    assert watched.readings == 0


def test_what_was_written_between_notes_is_found(watched, database, tmp_path):
    note(database)
    add(database)
    note(database)
    assert watched.value() == 4
    with closing(SQLiteDatabase(tmp_path / "data")) as other:
        add(other)
    note(database)
    assert watched.value() == 5
    in_thread(lambda: add(database))
    note(database)
    assert watched.value() == 6


def test_a_note_within_another_write_is_no_note(watched, database):
    with database.write():
        note(database)
        add(database)
    assert watched.value() == 4


def test_a_snapshot_from_before_a_write_tells_nothing_of_what_is_there_after_it(watched, database):
    note(database)
    with database.read() as connection:
        connection.execute("SELECT count(*) FROM names").fetchone()
        in_thread(lambda: add(database))
        assert watched.value() == 3
    note(database)
    assert watched.value() == 4


def test_another_file_is_another_epoch(watched, database, tmp_path):
    replace_file(database, tmp_path / "other")
    note(database)
    assert watched.value() == 0


@pytest.fixture
def shared(postgres, tmp_path):
    from ragmem.storage.home.postgres import PostgresDatabase

    with closing(PostgresDatabase(postgres, tmp_path / "one")) as made:
        with made.write() as connection:
            connection.execute("CREATE TABLE names (name TEXT)")
        add(made)
        yield made


@pytest.fixture
def kept_of_shared(shared):
    def read():
        kept.readings += 1
        return shared.select_int("SELECT count(*) FROM names")

    kept = ReadCache(shared, read)
    kept.readings = 0
    return kept


def test_postgresql_is_read_once_while_nothing_is_written(kept_of_shared, shared):
    assert [kept_of_shared.value() for _ in range(3)] == [1, 1, 1]
    with shared.read():
        assert kept_of_shared.value() == 1
    assert kept_of_shared.readings == 1


def test_postgresql_is_read_anew_after_a_write_of_this_process_or_another(
    kept_of_shared, shared, postgres, tmp_path
):
    from ragmem.storage.home.postgres import PostgresDatabase

    assert kept_of_shared.value() == 1
    add(shared)
    assert kept_of_shared.value() == in_thread(kept_of_shared.value) == 2
    with closing(PostgresDatabase(postgres, tmp_path / "two")) as other:
        add(other)
        assert kept_of_shared.value() == 3
        with other.write() as connection:
            connection.execute("DELETE FROM names")
            # Not yet committed.
            assert in_thread(kept_of_shared.value) == 3
    assert kept_of_shared.value() == in_thread(kept_of_shared.value) == 0


def test_what_began_before_another_write_keeps_its_snapshot(kept_of_shared, shared):
    with shared.read():
        assert kept_of_shared.value() == 1
        in_thread(lambda: add(shared))
        assert kept_of_shared.value() == 1
    assert kept_of_shared.value() == 2


def test_within_a_write_of_postgresql_nothing_is_kept(kept_of_shared, shared):
    with shared.write() as connection:
        connection.execute("INSERT INTO names VALUES ('b')")
        assert kept_of_shared.value() == 2
        connection.execute("INSERT INTO names VALUES ('c')")
        assert kept_of_shared.value() == 3
    assert kept_of_shared.value() == 3


def test_members_of_a_team_have_values_of_their_own(kept_of_shared):
    def value_for(member):
        with acting_as(member):
            return kept_of_shared.value()

    one, two = (Principal(name, "admin") for name in ("ada", "bob"))
    assert [value_for(member) for member in (one, two, None, one, two, None)] == [1] * 6
    assert kept_of_shared.readings == 3
