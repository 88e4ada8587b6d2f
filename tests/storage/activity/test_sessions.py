"""What is kept of assistants' sessions: each memory given once, old ones forgotten, never much."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from ragmem.storage.activity.sessions import KEEP, MAX_SESSIONS, MAX_SHOWN, NEW_SESSIONS

NOW = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.fixture
def sessions(catalog):
    return catalog.sessions


def keep(sessions, identifier, *shown, topic=None, now=NOW):
    return sessions.keep(identifier, project="user", topic=topic, shown=shown, now=now)


def test_a_session_keeps_its_topic_and_all_that_it_was_given(sessions):
    assert sessions.get("s") is None
    keep(sessions, "s", "a", "b", topic={"x": [1.5]})
    keep(sessions, "s", "c", topic={"x": [2.5]}, now=NOW + timedelta(minutes=1))
    found = sessions.get("s")
    assert (found.shown, found.topic, found.project) == (("a", "b", "c"), {"x": [2.5]}, "user")
    assert found.seen_at == NOW + timedelta(minutes=1)


def test_what_was_given_already_is_named_and_nothing_is_kept_then(sessions):
    keep(sessions, "s", "a", topic="first")
    assert keep(sessions, "s", "a", "b", topic="second") == {"a"}
    assert (sessions.get("s").shown, sessions.get("s").topic) == (("a",), "first")
    assert keep(sessions, "other", "a") == frozenset()


def test_of_calls_at_once_only_one_gives_a_memory(sessions):
    with ThreadPoolExecutor(6) as pool:
        refused = list(pool.map(lambda _: keep(sessions, "s", "a"), range(6)))
    assert sorted(map(len, refused)) == [0, 1, 1, 1, 1, 1]
    assert sessions.get("s").shown == ("a",)


def test_calls_at_once_lose_nothing_of_each_other(sessions):
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda number: keep(sessions, "s", f"m{number}"), range(12)))
    assert set(sessions.get("s").shown) == {f"m{number}" for number in range(12)}


def test_a_session_that_was_not_seen_for_long_is_forgotten(sessions):
    keep(sessions, "old")
    keep(sessions, "young", now=NOW + timedelta(days=1))
    keep(sessions, "now", now=NOW + KEEP + timedelta(hours=1))
    assert sessions.get("old") is None
    assert sessions.get("young") is not None


def test_neither_many_sessions_nor_a_long_one_grow_without_end(sessions, catalog):
    with catalog.database.write():
        for number in range(MAX_SESSIONS + 5):
            keep(sessions, f"s{number:04}", now=NOW + timedelta(seconds=number))
        keep(
            sessions, "long", *(f"m{number}" for number in range(MAX_SHOWN + 5)), now=NOW + timedelta(days=1)
        )
    assert sessions.get("s0005") is None
    assert sessions.get("s0006") is not None
    assert len(sessions.get("long").shown) == MAX_SHOWN
    assert sessions.get("long").shown[-1] == f"m{MAX_SHOWN + 4}"


def test_many_sessions_within_an_hour_are_limited(sessions, catalog):
    for number in range(MAX_SESSIONS + 2 * NEW_SESSIONS):
        keep(sessions, f"s{number:04}", now=NOW + timedelta(seconds=number))
    (count,) = catalog.database.select("SELECT count(*) FROM sessions")[0]
    assert MAX_SESSIONS <= count < MAX_SESSIONS + NEW_SESSIONS


def test_what_is_no_json_begins_anew(sessions, catalog):
    keep(sessions, "s", "a", topic="t")
    with catalog.database.write() as connection:
        connection.execute("UPDATE sessions SET topic = 'x{', shown = '{}'")
    assert (sessions.get("s").topic, sessions.get("s").shown) == (None, ())
