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
