"""A file that another process replaces or removes is noticed: nothing is written where nobody looks."""

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ragmem.errors import StorageError
from ragmem.storage.sql.fair_lock import turn
from ragmem.storage.sql.sqlite import SQLiteDatabase


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SQLiteDatabase]:
    made = SQLiteDatabase(tmp_path / "data", busy_timeout=20.0)
    with made.write() as connection:
        connection.execute("CREATE TABLE names (name TEXT)")
    add(made, "first")
    yield made
    made.close()


def add(database: SQLiteDatabase, name: str) -> None:
    with database.write() as connection:
        connection.execute("INSERT INTO names VALUES (?)", (name,))


def names(database: SQLiteDatabase) -> list[str]:
    with database.read() as connection:
        return [name for (name,) in connection.execute("SELECT name FROM names ORDER BY rowid")]


def seen_by_another_process(home: Path) -> list[str]:
    code = (
        "import sys\nfrom pathlib import Path\nfrom ragmem.storage.sql.sqlite import SQLiteDatabase\n"
        "database = SQLiteDatabase(Path(sys.argv[1]))\n"
        "with database.read() as connection:\n"
        "    for (name,) in connection.execute('SELECT name FROM names ORDER BY rowid'):\n"
        "        print(name)\n"
        "database.close()\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(home)], capture_output=True, text=True, timeout=60, check=True
    )
    return run.stdout.splitlines()


def backup_of(database: SQLiteDatabase, *more: str, wal: bool = True) -> Path:
    """Return a file with what the database holds, and some names more."""
    path = database.home.parent / "backup.db"
    with closing(sqlite3.connect(database.path)) as source, closing(sqlite3.connect(path)) as target:
        source.backup(target)
        target.execute(f"PRAGMA journal_mode={'WAL' if wal else 'DELETE'}")
        target.executemany("INSERT INTO names VALUES (?)", [(name,) for name in more])
        target.commit()
    return path


def put_back(database: SQLiteDatabase, backup: Path) -> None:
    """Replace the file as a process does that knows the rules: in its turn, and with the old log gone."""
    with turn(database.home / "write.lock", timeout=20):
        for suffix in ("-wal", "-shm"):
            Path(f"{database.path}{suffix}").unlink(missing_ok=True)
        backup.replace(database.path)


@pytest.mark.parametrize("wal", [True, False])
def test_a_reader_sees_the_file_that_was_put_back(database: SQLiteDatabase, *, wal: bool):
    backup = backup_of(database, "restored", wal=wal)
    add(database, "lost with the old file")
    assert names(database) == ["first", "lost with the old file"]
    put_back(database, backup)
    assert names(database) == ["first", "restored"]


@pytest.mark.parametrize("wal", [True, False])
def test_what_is_acknowledged_after_a_restore_is_in_the_new_file(database: SQLiteDatabase, *, wal: bool):
    put_back(database, backup_of(database, wal=wal))
    add(database, "acknowledged")
    assert names(database) == ["first", "acknowledged"]
    assert seen_by_another_process(database.home) == ["first", "acknowledged"]


def test_a_writer_that_waited_for_the_restore_writes_into_the_new_file(database: SQLiteDatabase):
    backup = backup_of(database, "restored")
    writer = threading.Thread(target=add, args=(database, "waited"), daemon=True)
    other = SQLiteDatabase(database.home)
    assert names(other) == ["first"]
    with turn(database.home / "write.lock", timeout=20):
        writer.start()
        while not (database.home / "write.queue").is_dir():
            pass
        for suffix in ("-wal", "-shm"):
            Path(f"{database.path}{suffix}").unlink(missing_ok=True)
        backup.replace(database.path)
    writer.join(20)
    assert names(other) == ["first", "restored", "waited"]
    other.close()


def test_closing_the_old_file_leaves_the_log_of_the_new_one_alone(database: SQLiteDatabase):
    put_back(database, backup_of(database))
    fresh = SQLiteDatabase(database.home)
    add(fresh, "only in the log")
    log = Path(f"{database.path}-wal")
    before = log.stat()
    assert before.st_size > 0
    # The last connection to a database removes its log, by its name.
    database.close()
    assert os.path.samestat(log.stat(), before)
    assert seen_by_another_process(database.home) == ["first", "only in the log"]
    fresh.close()


def test_a_transaction_that_has_begun_keeps_its_file(database: SQLiteDatabase):
    backup = backup_of(database, "restored")
    with database.read() as connection:
        assert connection.execute("SELECT count(*) FROM names").fetchone() == (1,)
        put_back(database, backup)
        assert connection.execute("SELECT count(*) FROM names").fetchone() == (1,)
    assert names(database) == ["first", "restored"]


def test_what_was_written_while_somebody_moved_the_file_is_not_acknowledged(database: SQLiteDatabase):
    backup = backup_of(database)

    def write() -> None:
        with database.write() as connection:
            connection.execute("INSERT INTO names VALUES ('nowhere')")
            backup.replace(database.path)

    with pytest.raises(StorageError, match="was replaced while it was being written"):
        write()
    Path(f"{database.path}-wal").unlink()
    assert names(database) == ["first"]


def test_a_database_that_was_removed_is_not_made_anew_behind_the_back(database: SQLiteDatabase):
    kept = database.home.parent / "kept"
    shutil.move(database.home, kept)
    for use in (names, lambda it: add(it, "nowhere")):
        with pytest.raises(StorageError, match="was removed while it was open"):
            use(database)
    assert not database.home.exists()
    shutil.move(kept, database.home)
    add(database, "second")
    assert names(database) == ["first", "second"]


def test_each_thread_notices_for_itself(database: SQLiteDatabase):
    seen: list[list[str]] = []
    ready, go = threading.Event(), threading.Event()

    def look_twice() -> None:
        seen.append(names(database))
        ready.set()
        go.wait(20)
        seen.append(names(database))

    thread = threading.Thread(target=look_twice, daemon=True)
    thread.start()
    assert ready.wait(20)
    put_back(database, backup_of(database, "restored"))
    go.set()
    thread.join(20)
    assert seen == [["first"], ["first", "restored"]]


def test_the_identity_tells_that_what_was_kept_in_memory_is_void(database: SQLiteDatabase):
    before = database.identity
    add(database, "second")
    assert database.identity == before
    put_back(database, backup_of(database))
    assert database.identity != before
