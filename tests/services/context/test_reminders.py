"""A session is told which rules it broke, and nothing is taken for told that it did not see."""

import time
from datetime import UTC, datetime

import pytest

from ragmem.api.memory import Ragmem
from ragmem.services.context.anticipation import AnticipatedContext
from ragmem.services.context.context import Context
from ragmem.services.context.reminders import MAX_CHARS, with_reminder

NOW = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.fixture
def catalog(tmp_path):
    environ = {"RAGMEM_HOME": str(tmp_path), "RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake"}
    with Ragmem.open(environ=environ, home=tmp_path, cwd=tmp_path) as memory:
        memory.prepare()
        broken = [(f"rule-{number}", "never say `sorry`", f"I am sorry {number}.") for number in range(3)]
        memory.catalog.violations.keep(broken, session="s1", now=NOW)
        yield memory.catalog


def reminded(catalog, *, told="", max_chars=9000, **options):
    given = AnticipatedContext(Context(told), "a topic begins")
    return with_reminder(given, catalog, session="s1", max_chars=max_chars, now=NOW, **options).context.text


def test_a_session_is_reminded_once_before_what_it_is_told_besides(catalog):
    text = reminded(catalog, told="what is known")
    assert text.endswith("what is known")
    assert len(text) <= MAX_CHARS + len("\nwhat is known")
    assert all(f"rule-{number}" in text for number in range(3))
    assert reminded(catalog, told="what is known") == "what is known"


def test_a_reminder_takes_nothing_away_that_counts_as_shown_and_waits_for_room(catalog):
    known = "x" * 8_900
    assert reminded(catalog, told=known) == known
    assert "rule-2" in reminded(catalog)


def test_a_reminder_that_finds_no_room_is_not_taken_for_told(catalog):
    assert reminded(catalog, max_chars=100) == ""
    assert "rule-2" in reminded(catalog)


def test_a_reminder_for_which_nobody_waits_any_more_is_not_taken_for_told(catalog):
    assert reminded(catalog, until=time.monotonic()) == ""
    assert "rule-2" in reminded(catalog, until=time.monotonic() + 60)
