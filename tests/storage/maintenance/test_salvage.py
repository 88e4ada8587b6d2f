"""What can be read of a damaged file is saved: memories, and what was told of sessions."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime

import pytest

from ragmem.storage.activity.injections import Injection
from ragmem.storage.activity.transcripts import Transcript
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.maintenance.salvage import read_damaged, write_salvaged
from ragmem.storage.sql.sqlite_connect import PAGE_BYTES

NOW = datetime(2026, 6, 1, tzinfo=UTC)
READ = Transcript("/t/a.jsonl", "claude", "s1", "p", "head", 900, 10**18, 800, 3, "{}", "r1", NOW)


@pytest.fixture
def damaged(tmp_path, make):
    made = Catalog.at(tmp_path / "damaged")
    made.prepare()
    made.memories.accept([make("a"), make("b")])
    made.transcripts.keep(READ)
    made.injections.record([Injection(NOW, "s1", "prompt", "m1", score=0.5)], now=NOW)
    made.violations.keep([("no-force", "never force", "push --force")], session="s1", now=NOW)
    yield made
    made.close()


@pytest.fixture
def fresh(tmp_path):
    made = Catalog.at(tmp_path / "fresh")
    made.prepare()
    yield made
    made.close()


def rows(catalog, table):
    with catalog.database.read() as connection:
        return [tuple(row) for row in connection.execute(f"SELECT * FROM {table}").fetchall()]


def test_where_nothing_was_lost_transcripts_are_read_on_from_where_they_were(damaged, fresh):
    write_salvaged(read_damaged(damaged.database.path), fresh)
    assert fresh.transcripts.all() == [READ]
    for table in ("injections", "violations"):
        assert rows(fresh, table) == rows(damaged, table) != []


def test_where_a_memory_was_lost_transcripts_are_read_from_their_beginning(damaged, fresh):
    with damaged.database.write() as connection:
        connection.execute("UPDATE memories SET text = 'torn' WHERE id = (SELECT min(id) FROM memories)")
    found = read_damaged(damaged.database.path)
    assert len(found.lost) == 1
    write_salvaged(found, fresh)
    assert fresh.transcripts.all() == []
    assert rows(fresh, "injections") == rows(damaged, "injections") != []


def test_the_memories_before_and_behind_a_spoilt_page_are_saved(tmp_path, make):
    made = Catalog.at(tmp_path / "spoilt")
    made.prepare()
    made.memories.accept([make(str(number), f"the berth of boat {number} " * 40) for number in range(30)])
    path = made.database.path
    made.close()
    with closing(sqlite3.connect(path)) as connection:
        ids = [key for (key,) in connection.execute("SELECT id FROM memories ORDER BY n")]
        # The text of each memory goes on, from its row, to pages of its own.
        page = path.read_bytes().index(b"the berth of boat 12 ") // PAGE_BYTES
    with path.open("r+b") as file:
        file.seek(page * PAGE_BYTES)
        file.write(b"\xa5" * PAGE_BYTES)
    found = read_damaged(path)
    saved = [memory.id for memory in found.memories]
    assert found.lost == sorted(set(ids) - set(saved)) != []
    assert ids[0] in saved
    assert ids[-1] in saved
