"""The trash: whole memories by run, until they expire."""

from datetime import UTC, datetime, timedelta

NOW = datetime(2026, 6, 1, tzinfo=UTC)
KEEP = timedelta(days=30)


def test_what_is_kept_comes_back_whole(catalog, make):
    memories = [make(str(n), tags=("t",), metadata={"k": "é"}, recalls=n)[0] for n in range(3)]
    catalog.trash.put("run", [(memory, "duplicate") for memory in memories], now=NOW)
    assert sorted(catalog.trash.memories("run"), key=lambda m: m.uri) == memories


def test_keeping_twice_is_keeping_once(catalog, make):
    item = (make("a")[0], "duplicate")
    catalog.trash.put("run", [item], now=NOW)
    catalog.trash.put("run", [item], now=NOW)
    assert [(run.run, run.memories) for run in catalog.trash.runs()] == [("run", 1)]


def test_runs_come_latest_first_and_are_dropped_by_name(catalog, make):
    for days, run in enumerate(("old", "middle", "young")):
        catalog.trash.put(run, [(make(run)[0], "missing")], now=NOW + timedelta(days=days))
    assert [run.run for run in catalog.trash.runs()] == ["young", "middle", "old"]
    catalog.trash.drop("middle")
    assert [run.run for run in catalog.trash.runs()] == ["young", "old"]
    assert catalog.trash.memories("middle") == []


def test_only_what_has_expired_is_purged(catalog, make):
    catalog.trash.put("old", [(make("a")[0], "missing")], now=NOW - timedelta(days=31))
    catalog.trash.put("young", [(make("b")[0], "missing")], now=NOW - timedelta(days=30))
    assert catalog.trash.expired(now=NOW, keep=KEEP) == 1
    assert catalog.trash.purge(now=NOW, keep=KEEP) == 1
    assert catalog.trash.purge(now=NOW, keep=KEEP) == 0
    assert [run.run for run in catalog.trash.runs()] == ["young"]


def test_what_a_clock_that_went_backwards_removes_does_not_expire_with_it(catalog, make):
    catalog.log.write("seed", {}, now=NOW)
    wrong = NOW - timedelta(days=20_000)
    for run in ("first", "second", "third"):
        catalog.trash.put(run, [(make(run)[0], "missing")], now=wrong)
        catalog.log.write("gc", {}, now=wrong)
    # Undo takes the latest: that is the one of the last run, whatever the clock said.
    assert [run.run for run in catalog.trash.runs()] == ["third", "second", "first"]
    assert catalog.trash.expired(now=NOW + timedelta(days=29), keep=KEEP) == 0
    assert catalog.trash.purge(now=NOW + timedelta(days=31), keep=KEEP) == 3


def test_a_clock_that_was_ahead_once_does_not_fill_the_trash_for_ever(catalog, make):
    catalog.log.write("seed", {}, now=NOW + timedelta(days=4000))
    catalog.trash.put("ahead", [(make("a")[0], "missing")], now=NOW + timedelta(days=4000))
    for minute in range(100):
        catalog.log.write("ingest", {}, now=NOW + timedelta(minutes=minute))
    catalog.trash.put("right", [(make("b")[0], "missing")], now=NOW + timedelta(days=1))
    assert catalog.trash.purge(now=NOW + timedelta(days=32), keep=KEEP) == 1
    assert [run.run for run in catalog.trash.runs()] == ["ahead"]
