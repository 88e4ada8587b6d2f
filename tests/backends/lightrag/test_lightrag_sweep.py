"""A sweep: what a dry run counts is what it removes, and what it frees is used again."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragmem.backends import fake, lightrag
from ragmem.backends.lightrag import sweep
from ragmem.backends.lightrag.rows.schema import TABLES
from ragmem.domain.model import USER
from ragmem.storage.sql.sqlite import SQLiteDatabase
from ragmem.testing import make_record


def related(number):
    """Return a record with an entity and two relations of its own, and some that it shares with others."""
    shared = ["Hub", f"Third{number % 3}"]
    return make_record(
        f"memory {number}",
        f"text of memory {number} " * 40,
        entities=[f"Own{number}", *shared],
        relations=[(f"Own{number}", name) for name in shared] + [("Hub", shared[1])],
        hours=number,
    )


LINKS = [(f"Link{n}", f"Link{n + 1}") for n in range(3)]
CHAIN = make_record("chain", "a chain", entities=[a for a, _ in LINKS] + ["Link3"], relations=LINKS)

KEYS = {"store_mentions": ("chunk", "node"), "store_evidence": ("chunk", "edge")}
"""The keys of the tables without row ids."""


def key_of(table):
    return KEYS.get(table, ("rowid",))


def dump(database):
    with database.read() as connection:
        return {table: sorted(map(repr, connection.execute(f"SELECT * FROM {table}"))) for table in TABLES}


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """Return a home of some memories that share entities, and the (table, row) of all that it holds."""
    home = tmp_path_factory.mktemp("template") / "home"
    database = SQLiteDatabase(home)
    store = lightrag.open_store({}, fake.open_models({}), database=database)
    store.put([related(number) for number in range(8)])
    store.put([CHAIN])
    # Makes the vectors of names.
    store.native.native_query("the hub of all", "hybrid", keywords=["Hub"], limit=5, project=USER)
    store.close()
    with database.read() as connection:
        rows = [
            (table, row)
            for table in TABLES
            for row in connection.execute(
                f"SELECT {', '.join(key_of(table))} FROM {table} ORDER BY 1, {len(key_of(table))}"
            )
        ]
    database.close()
    return home, rows


@given(data=st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_dry_run_counts_what_the_sweep_then_removes(template, data):
    home, rows = template
    # Documents are lost together with any other rows: what hangs on them becomes an orphan step by step.
    lost = data.draw(st.lists(st.sampled_from(rows), max_size=12, unique=True))
    with tempfile.TemporaryDirectory() as folder:
        database = SQLiteDatabase(shutil.copytree(home, Path(folder) / "home"))
        with database.write() as connection:
            for table, row in lost:
                condition = " AND ".join(f"{column} = ?" for column in key_of(table))
                connection.execute(f"DELETE FROM {table} WHERE {condition}", row)
        before = dump(database)
        planned = sweep.sweep(database, dry_run=True)
        assert sweep.sweep(database, dry_run=True) == planned
        assert dump(database) == before
        assert sweep.sweep(database, dry_run=False) == planned
        assert sum(map(len, before.values())) - sum(map(len, dump(database).values())) == sum(
            planned.values()
        )
        database.close()


def test_orphans_of_orphans_are_counted(template, tmp_path):
    home, _ = template
    database = SQLiteDatabase(shutil.copytree(home, tmp_path / "home"))
    assert set(sweep.sweep(database, dry_run=True).values()) == {0}
    with database.write() as connection:
        connection.execute("DELETE FROM store_documents WHERE id = ?", [CHAIN.memory.id])
    planned = sweep.sweep(database, dry_run=True)
    # Without a catalog the store keeps the text of a document, and of a chunk, in rows of their own.
    assert planned["documents"] == 1
    assert planned["chunks"] == 2
    assert planned["sources"] == 7
    assert planned["relations"] == 3
    assert planned["entities"] == 4
    assert planned["vectors"] == 1 + 3 + 4
    database.close()


def test_a_dry_run_works_on_a_home_that_cannot_be_written(template, tmp_path, monkeypatch):
    home, _ = template
    database = SQLiteDatabase(shutil.copytree(home, tmp_path / "home"))
    with database.write() as connection:
        connection.execute("DELETE FROM store_documents")
    database.close()
    # Permissions do not bind root.
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    reader = SQLiteDatabase(database.home)
    planned = sweep.sweep(reader, dry_run=True)
    assert reader.read_only
    assert (planned["chunks"], planned["entities"]) == (2 * 9, 8 + 4 + 4)
    reader.close()


def test_a_dry_run_takes_no_lock_and_leaves_no_trace(template, tmp_path):
    home, _ = template
    database = SQLiteDatabase(shutil.copytree(home, tmp_path / "home"), busy_timeout=0.1)
    with database.write() as connection:
        connection.execute("DELETE FROM store_documents")
    other = SQLiteDatabase(database.home, busy_timeout=0.1)
    store = lightrag.open_store({}, fake.open_models({}), database=other)
    with database.write():
        planned = store.sweep(dry_run=True)
    assert planned["chunks"] == 2 * 9
    # Within a transaction it sees what that has done, and leaves no trace in it.
    with database.write() as connection:
        connection.execute("DELETE FROM store_kv")
        connection.execute("DELETE FROM store_chunks")
        assert sweep.sweep(database, dry_run=True)["chunks"] == 0
        assert connection.execute("SELECT count(*) FROM sqlite_temp_master").fetchone() == (0,)
    store.close()
    other.close()
    database.close()


def pages(database, what):
    with database.read() as connection:
        (count,) = connection.execute(f"PRAGMA {what}").fetchone()
    return count


def test_what_a_sweep_frees_is_used_before_the_file_grows(tmp_path):
    database = SQLiteDatabase(tmp_path / "home")
    store = lightrag.open_store({}, fake.open_models({}), database=database)
    store.put([related(number) for number in range(160)])
    full = pages(database, "page_count")
    store.delete([related(number).memory.id for number in range(80)])
    assert set(store.sweep().values()) == {0}
    free = pages(database, "freelist_count")
    assert free > 0.2 * full
    added = 160
    while pages(database, "freelist_count") > 0.05 * full:
        store.put([related(added)])
        added += 1
        assert pages(database, "page_count") == full
    assert added - 160 >= 40
    store.close()
    database.close()
