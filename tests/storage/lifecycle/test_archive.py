"""The archive: whole memories by run, until they are purged."""

import gzip
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ragmem.storage.lifecycle.archive import Removal
from ragmem.storage.maintenance.salvage import read_damaged, write_salvaged
from ragmem.storage.sql.rows import to_stamp

NOW = datetime(2026, 6, 1, tzinfo=UTC)
KEEP = timedelta(days=30)
HOMES = Path(__file__).parents[2] / "data" / "homes"


def test_what_is_kept_comes_back_whole(catalog, make):
    memories = [make(str(n), tags=("t",), metadata={"k": "é"}, recalls=n)[0] for n in range(3)]
    catalog.archive.put("run", [Removal(memory, "duplicate") for memory in memories], now=NOW)
    assert sorted(catalog.archive.memories("run"), key=lambda m: m.uri) == memories


def test_keeping_twice_is_keeping_once(catalog, make):
    item = Removal(make("a")[0], "duplicate")
    catalog.archive.put("run", [item], now=NOW)
    catalog.archive.put("run", [item], now=NOW)
    assert [(run.run, run.memories) for run in catalog.archive.runs()] == [("run", 1)]


def test_runs_come_latest_first_and_are_dropped_by_name(catalog, make):
    for days, run in enumerate(("old", "middle", "young")):
        catalog.archive.put(run, [Removal(make(run)[0], "missing")], now=NOW + timedelta(days=days))
    assert [run.run for run in catalog.archive.runs()] == ["young", "middle", "old"]
    catalog.archive.drop("middle")
    assert [run.run for run in catalog.archive.runs()] == ["young", "old"]
    assert catalog.archive.memories("middle") == []


def test_only_what_has_lain_there_for_long_is_purged(catalog, make):
    catalog.archive.put("old", [Removal(make("a")[0], "missing")], now=NOW - timedelta(days=31))
    catalog.archive.put("young", [Removal(make("b")[0], "missing")], now=NOW - timedelta(days=30))
    assert catalog.archive.count_expired(now=NOW, keep=KEEP) == 1
    assert catalog.archive.purge(now=NOW, keep=KEEP) == {"old": 1}
    assert catalog.archive.purge(now=NOW, keep=KEEP) == {}
    assert [run.run for run in catalog.archive.runs()] == ["young"]


def test_what_a_clock_that_went_backwards_removes_does_not_expire_with_it(catalog, make):
    catalog.log.write("seed", {}, now=NOW)
    wrong = NOW - timedelta(days=20_000)
    for run in ("first", "second", "third"):
        catalog.archive.put(run, [Removal(make(run)[0], "missing")], now=wrong)
        catalog.log.write("gc", {}, now=wrong)
    # Undo takes the latest: that is the one of the last run, whatever the clock said.
    assert [run.run for run in catalog.archive.runs()] == ["third", "second", "first"]
    assert catalog.archive.count_expired(now=NOW + timedelta(days=29), keep=KEEP) == 0
    assert catalog.archive.purge(now=NOW + timedelta(days=31), keep=KEEP) == {
        "first": 1,
        "second": 1,
        "third": 1,
    }


def test_a_clock_that_was_ahead_once_does_not_fill_the_archive_for_ever(catalog, make):
    catalog.log.write("seed", {}, now=NOW + timedelta(days=4000))
    catalog.archive.put("ahead", [Removal(make("a")[0], "missing")], now=NOW + timedelta(days=4000))
    for minute in range(100):
        catalog.log.write("ingest", {}, now=NOW + timedelta(minutes=minute))
    catalog.archive.put("right", [Removal(make("b")[0], "missing")], now=NOW + timedelta(days=1))
    assert catalog.archive.purge(now=NOW + timedelta(days=32), keep=KEEP) == {"right": 1}
    assert [run.run for run in catalog.archive.runs()] == ["ahead"]


def test_the_last_of_one_id_is_what_it_was_archived_as_last(catalog, make):
    for days, run in enumerate(("first", "second")):
        removal = Removal(make("a", text=run)[0], "asked", f"{run} time", "successor")
        catalog.archive.put(run, [removal], now=NOW + timedelta(days=days))
    (found,) = catalog.archive.latest([make("a")[0].id]).values()
    assert (found.run, found.memory.text, found.reason, found.successor) == (
        "second",
        "second",
        "second time",
        "successor",
    )


def test_what_an_older_home_called_trash_is_saved_from_a_damaged_file(catalog, make, tmp_path):
    catalog.archive.put("run", [Removal(make("a")[0], "asked")], now=NOW)
    (lying,) = catalog.archive.each()
    with catalog.database.read() as connection:
        (text,) = connection.execute("SELECT memory FROM archive").fetchone()
    catalog.archive.drop("run")
    older = tmp_path / "older.db"
    older.write_bytes(gzip.decompress((min(HOMES.iterdir()) / "memory.db.gz").read_bytes()))
    with closing(sqlite3.connect(older)) as connection, connection:
        at = to_stamp(lying.at)
        connection.execute("DELETE FROM trash")
        connection.execute(
            "INSERT INTO trash VALUES (?,?,?,?,?)", ("run", lying.memory.id, "asked", text, at)
        )
    found = read_damaged(older)
    write_salvaged(found, catalog)
    assert list(catalog.archive.each()) == [lying]
