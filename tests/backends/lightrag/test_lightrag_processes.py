"""Several processes on one home: nothing is lost, and a killed one leaves all or nothing."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from ragmem.backends import fake, lightrag
from ragmem.storage.sql.sqlite import SQLiteDatabase
from ragmem.testing import make_record

WRITER = textwrap.dedent(
    """
    import sys
    from pathlib import Path
    from ragmem.backends import fake, lightrag
    from ragmem.storage.sql.sqlite import SQLiteDatabase
    from ragmem.testing import make_record

    home, who, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    database = SQLiteDatabase(home)
    store = lightrag.open_store({}, fake.open_models({}), database=database)
    for turn in range(count):
        name = f"{who}-{turn}"
        record = make_record(name, f"{name} speaks\\n\\nand speaks again",
                             entities=["Hub", name], relations=[("Hub", name)], hours=turn)

        def finish(name=name):
            database.connection().execute("INSERT INTO acknowledged VALUES (?)", [name])

        store.put([record], finish=finish)
        print(name, flush=True)
        if turn % 3 == 2:
            store.delete([record.memory.id], finish=lambda name=name: database.connection().execute(
                "DELETE FROM acknowledged WHERE name = ?", [name]))
            print("-" + name, flush=True)
    store.close()
    database.close()
    """
)


@pytest.fixture
def home(tmp_path):
    home = tmp_path / "home"
    database = SQLiteDatabase(home)
    with database.write() as connection:
        connection.execute("CREATE TABLE acknowledged (name TEXT PRIMARY KEY)")
    database.close()
    return home


def start_writer(home, who, count):
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(home), who, str(count)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def assert_whole(home, expected=None):
    """Every acknowledged memory is there with all its parts, and nothing else is."""
    database = SQLiteDatabase(home)
    store = lightrag.open_store({}, fake.open_models({}), database=database)
    with database.read() as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        acknowledged = {name for (name,) in connection.execute("SELECT name FROM acknowledged")}
        vectors = dict(
            connection.execute("SELECT namespace, count(*) FROM store_vectors GROUP BY namespace").fetchall()
        )
        (mentions,) = connection.execute("SELECT count(*) FROM store_mentions").fetchone()
        (evidence,) = connection.execute("SELECT count(*) FROM store_evidence").fetchone()
    count = len(acknowledged)
    if expected is not None:
        assert acknowledged == expected
    ids = {make_record(name, "x").memory.id for name in acknowledged}
    assert store.memory_ids() == ids
    figures = store.statistics()
    assert (figures["documents"], figures["chunks"]) == (count, 2 * count)
    assert (figures["entities"], figures["relations"]) == (count + bool(count), count)
    assert vectors == ({"chunks": 2 * count} if count else {})
    assert (mentions, evidence) == (2 * count, count)
    assert store.check(deep=True) == []
    assert {one.name for one, _ in store.entities(limit=1000)} == acknowledged | ({"Hub"} if count else set())
    assert set(store.sweep(dry_run=True).values()) == {0}
    for name in list(acknowledged)[:3]:
        assert store.search(f"{name} speaks", limit=1)
    store.close()
    database.close()


def test_two_processes_writing_at_once_lose_nothing(home):
    writers = [start_writer(home, who, 12) for who in ("a", "b")]
    for writer in writers:
        _, errors = writer.communicate(timeout=120)
        assert (writer.returncode, errors) == (0, "")
    assert_whole(home, {f"{who}-{turn}" for who in "ab" for turn in range(12) if turn % 3 != 2})


def test_a_killed_writer_leaves_all_or_nothing(home):
    # The second and third writer also show that the next one goes on where a killed one left.
    for number, delay in enumerate((0.0, 0.013, 0.029)):
        writer = start_writer(home, f"k{number}", 1000)
        assert writer.stdout is not None
        said = [writer.stdout.readline().strip() for _ in range(4)]
        time.sleep(delay)
        os.kill(writer.pid, signal.SIGKILL)
        rest, _ = writer.communicate(timeout=60)
        said += rest.split()
        assert_whole(home)
        database = SQLiteDatabase(home)
        with database.read() as connection:
            stored = {name for (name,) in connection.execute("SELECT name FROM acknowledged")}
        database.close()
        put = {name for name in said if not name.startswith("-")}
        taken_back = {name[1:] for name in said if name.startswith("-")}
        # What it said was done is there; what it was at when it died is there or not.
        assert put - taken_back - {said[-1].lstrip("-")} <= stored
