"""Recalls, feedback and pins: once a session, above the floor alone, without ever failing a question."""

import json
import os
import stat
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from ragmem.domain.model import Draft
from ragmem.domain.model.lifecycle import LifecycleState
from ragmem.errors import NotFoundError
from ragmem.services.lifecycle.recalls import MOST_CHARS, recalled_ids, session_id
from ragmem.services.retrieval.query import Question
from ragmem.storage.lifecycle.lifecycle_state import Recall

NOW = datetime(2026, 6, 1, tzinfo=UTC)
LOCK = "The harbour importer waits for a file lock, because two writers broke the tide table."
CHOICE = "We decided to use SQLite because one file is easy to back up; the tide server was too slow."
TIDES = "Tide tables ignore summer time; convert each departure to UTC before it is stored."


@pytest.fixture
def filled(memory):
    memory.ingest([Draft("notes", "lock", LOCK), Draft("notes", "tides", TIDES)])
    return memory


def asked(memory, text="why does the harbour importer wait for a file lock", **more):
    return memory.query(text, question=Question(text, **more))


def by_uri(memory, uri):
    return next(
        entry
        for entry in memory.catalog.lives.entries(policy=memory.settings.lifecycle.policy)
        if entry.memory.uri == uri
    )


def sessions_of(memory, uri="lock"):
    return by_uri(memory, uri).sessions


def spool(memory):
    return memory.settings.places.state / "recalls"


def test_what_answers_counts_once_a_session_however_often_it_is_asked(filled):
    answer = asked(filled)
    assert answer.matches[0].memory.uri == "lock"
    for session in ("a", "a", "b"):
        filled.lifecycle.recall(answer, session=session)
    assert sessions_of(filled) == 0
    assert filled.recalls.absorb() > 0
    assert sessions_of(filled) == 2
    assert by_uri(filled, "lock").memory.recalls == 2
    filled.lifecycle.recall(answer, session="a")
    filled.recalls.absorb()
    assert sessions_of(filled) == 2


def test_without_a_session_nothing_counts(filled):
    filled.lifecycle.recall(asked(filled), session=" ")
    assert not spool(filled).exists()
    assert filled.recalls.absorb() == 0


def test_only_what_answers_above_the_floor_counts(filled):
    answer = asked(filled)
    counted = recalled_ids(answer, floor=0.1)
    assert counted == [match.memory.id for match in answer.matches]
    assert recalled_ids(answer, floor=2.0) == []
    assert recalled_ids(replace(answer, question=replace(answer.question, nearest=True)), floor=0.1) == []
    assert recalled_ids(replace(answer, question=replace(answer.question, mode="mix")), floor=0.1) == []
    silent = asked(filled, "zebra quantum marmalade")
    assert silent.matches == ()
    assert recalled_ids(silent, floor=0.0) == []


def test_the_next_writer_takes_in_what_was_noted(filled):
    filled.lifecycle.recall(asked(filled), session="a")
    filled.ingest([Draft("notes", "other", "The ferry timetable is fetched at four in the morning.")])
    assert sessions_of(filled) == 1
    assert list(spool(filled).iterdir()) == []


def test_a_recall_that_was_taken_in_but_not_removed_is_counted_once(filled):
    filled.lifecycle.recall(asked(filled), session="a")
    (path,) = spool(filled).iterdir()
    kept = path.read_bytes()
    assert filled.recalls.absorb() > 0
    (spool(filled) / "again.closed").write_bytes(kept)
    assert filled.recalls.absorb() == 0
    assert (sessions_of(filled), by_uri(filled, "lock").memory.recalls) == (1, 1)


def test_what_nobody_of_ours_wrote_into_the_spool_is_passed_over(filled):
    spool(filled).mkdir(parents=True)
    (spool(filled) / "odd.closed").write_bytes(
        b'{"session": "", "ids": [], "at": 0}\n{"session": "s", "ids": ["short"], "at": 0}\n[1]\nno json\n'
        b'{"session": "s", "ids": 3, "at": 0}\n{"session": "s", "ids": ["'
        + b"a" * 26
        + b'"], "at": 9999999999999999999}\n'
    )
    assert filled.recalls.absorb() == 0
    assert filled.catalog.lives.recalls() == []


def test_a_question_is_answered_where_nothing_can_be_noted(filled):
    state = filled.settings.places.state
    (state / "recalls").parent.mkdir(parents=True, exist_ok=True)
    (state / "recalls").write_text("a file where the folder should be")
    answer = asked(filled)
    filled.lifecycle.recall(answer, session="a")
    assert filled.recalls.absorb() == 0
    assert answer.matches


def test_a_recall_waits_where_somebody_writes(filled, open_memory):
    filled.lifecycle.recall(asked(filled), session="a")
    other = open_memory()
    with other.catalog.database.write():
        assert filled.lifecycle.status(by_uri(filled, "lock").id).entry.sessions == 0
    assert filled.lifecycle.status(by_uri(filled, "lock").id).entry.sessions == 1


def test_what_is_noted_is_the_owners_alone(filled):
    filled.lifecycle.recall(asked(filled), session="a")
    assert {stat.S_IMODE(os.lstat(path).st_mode) for path in spool(filled).iterdir()} == {0o600}


def test_a_long_session_is_known_by_its_hash():
    assert session_id(" s1 ") == "s1"
    assert len(session_id("x" * (MOST_CHARS + 1))) < MOST_CHARS
    assert session_id("x" * 900) != session_id("x" * 901)


@pytest.mark.parametrize("session", ["caf\udce9", "\udcff" * 300, "nul\x00byte", "\ud800"])
def test_a_session_of_any_name_counts_and_fails_no_question(filled, session):
    lock = by_uri(filled, "lock").id
    filled.lifecycle.recall(asked(filled), session=session)
    filled.lifecycle.rate(lock, "good", session=session)
    assert sessions_of(filled) == 1
    filled.lifecycle.rate(lock, "bad", session=session)
    assert sessions_of(filled) == 0


def test_good_is_a_recall_and_bad_takes_it_back(filled):
    lock = by_uri(filled, "lock").id
    filled.lifecycle.rate(lock[:8], "good", session="a")
    entry = by_uri(filled, "lock")
    assert (entry.feedback, entry.sessions, entry.memory.recalls) == (1, 1, 1)
    filled.lifecycle.rate(lock, "bad", session="a")
    entry = by_uri(filled, "lock")
    assert (entry.feedback, entry.sessions, entry.memory.recalls) == (0, 0, 0)


def test_feedback_and_pins_of_what_is_not_there_say_so(filled):
    for act in (
        lambda: filled.lifecycle.rate("zzzz", "good"),
        lambda: filled.lifecycle.pin("zzzz"),
        lambda: filled.lifecycle.status("zzzz"),
    ):
        with pytest.raises(NotFoundError):
            act()


def test_a_pin_outlasts_a_changed_text(filled):
    lock = by_uri(filled, "lock").id
    filled.lifecycle.pin(lock)
    filled.ingest([Draft("notes", "lock", LOCK + " The lock is named after the port.")])
    entry = by_uri(filled, "lock")
    assert (entry.life, entry.pinned) == (LifecycleState.PERMANENT, True)
    filled.lifecycle.pin(lock, pinned=False)
    assert by_uri(filled, "lock").life is LifecycleState.BUFFER


def test_recalls_of_many_memories_are_told_by_id(filled):
    lock, tides = by_uri(filled, "lock").id, by_uri(filled, "tides").id
    recalls = [Recall(lock, "a", NOW), Recall(lock, "b", NOW + timedelta(seconds=1)), Recall(tides, "a", NOW)]
    assert filled.catalog.lives.add_recalls([*recalls, Recall("a" * 26, "a", NOW)]) == 3
    assert filled.catalog.lives.recalls([lock]) == recalls[:2]
    assert len(filled.catalog.lives.recalls()) == 3


def test_the_commands_count_rate_pin_and_show(inside):
    assert inside("ingest", "-", stdin=CHOICE).returncode == 0
    question = "why do we use SQLite and not a server"
    identifier = inside("query", "--ids", question, RAGMEM_SESSION="first").stdout.split()[0]
    inside("query", "--ids", "--session", "second", question)
    inside("query", "--ids", question)
    assert "good" in inside("feedback", identifier, "good").stdout
    assert inside("feedback", identifier, "fine").returncode == 2
    assert "pinned" in inside("pin", identifier).stdout
    shown = inside("inspect", "memory", identifier)
    assert "recalled in 2 sessions" in shown.stdout
    assert "keep, pinned: pinned: it never expires" in shown.stdout
    document = json.loads(inside("inspect", "memory", identifier, "--json").stdout)
    life = document["memory"]["life"]
    assert (life["sessions"], life["feedback"], life["pinned"], life["rule"]) == (2, 1, True, "pinned")
    assert "no longer pinned" in inside("pin", identifier, "--off").stdout
