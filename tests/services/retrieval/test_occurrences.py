"""Questions about time are answered from dated sentences, without a language model."""

import json
from datetime import UTC, datetime

import pytest

from ragmem.domain.model import Draft
from ragmem.services.retrieval.query import Question

NOW = datetime(2026, 3, 18, tzinfo=UTC)
WRITTEN = datetime(2025, 9, 1, tzinfo=UTC)
FAIR = datetime(2025, 8, 4, tzinfo=UTC)
LOG = (
    "# Kiln log\n\n## 2025-03-02\n\nThe kiln burst at noon. The shop was closed.\n\n"
    "## 2025-04-11\n\nThe kiln burst again, and the kiln burst loudly.\n\n"
    "## 2025-05-20\n\nThe kiln did not burst. If the kiln bursts, call Ana. Will the kiln burst?\n"
)
LETTER = "The kiln burst on 30 June 2025 after the delivery. The oven was built on 2024-02-03."
DIARY = "Yesterday the kiln burst, two days after the fair."


@pytest.fixture
def told(memory):
    """Return a function that answers a question from the log, the letter and the diary."""
    memory.ingest(
        [
            Draft("notes", "log", LOG, title="Kiln log", event_time=WRITTEN),
            Draft("notes", "letter", LETTER, title="Letter", event_time=WRITTEN),
            Draft("notes", "diary", DIARY, title="Diary", event_time=datetime(2025, 8, 7, 9, tzinfo=UTC)),
            Draft("notes", "fair", "The fair took place.", title="Fair", event_time=FAIR),
        ]
    )  # fmt: skip
    return lambda text, **filters: memory.retrieval.answer_by_timeline(Question(text, **filters), now=NOW)


@pytest.mark.parametrize(
    "question",
    [
        "how many times did the kiln burst?",
        "How often has the kiln burst",
        "the kiln burst how often",
        "wie oft: kiln burst",
    ],
)
def test_the_dated_mentions_of_an_event_are_counted(told, question):
    found = told(question)
    days = [one.day for one in found.occurrences]
    assert days == ["2025-03-02", "2025-04-11", "2025-06-30", "2025-08-06"]
    assert found.line == "found 4 dated mentions on 4 dates, from 2025-03-02 to 2025-08-06:"
    assert [one.dated_by for one in found.occurrences] == ["sentence", "heading", "sentence", "sentence"]
    assert found.note


def test_only_the_time_that_is_asked_for_counts(told):
    assert [one.day for one in told("how often did the kiln burst in April 2025").occurrences] == [
        "2025-04-11"
    ]
    assert told("how often did the kiln burst in 2019").occurrences == ()


def test_a_date_of_the_memory_is_told_as_such(told):
    found = told("when was the fair")
    assert ("2025-08-04", "memory") in [(one.day, one.dated_by) for one in found.occurrences]
    assert "by the date of the memory" in found.line


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("The inspection of the chimney is on 3 February.", "2026-02-03"),
        ("Die Prüfung (inspection) des chimney ist am 9. März.", "2026-03-09"),
        ("The inspection of the chimney was on 20 December.", "2025-12-20"),
        ("The inspection of the chimney was on 4 August.", "2025-08-04"),
        ("The inspection of the chimney was on 3 February 2025.", "2025-02-03"),
        ("Last week was the inspection of the chimney.", "2026-01-05"),
    ],
)
def test_a_day_without_a_year_may_be_one_of_the_next_weeks(memory, text, day):
    written = datetime(2026, 1, 14, tzinfo=UTC)
    memory.ingest([Draft("notes", "minutes", text, title="Minutes", event_time=written)])
    found = memory.retrieval.answer_by_timeline(Question("when is the chimney inspection"), now=NOW)
    assert [f"{one.start:%Y-%m-%d}" for one in found.occurrences] == [day]


def test_of_two_events_the_earlier_date_comes_first(told):
    found = told("which came first, the kiln burst or the oven built?")
    assert found.line == '"oven built" is first dated 2024-02-03, "kiln burst" 2025-03-02:'
    assert told("was the oven built before the kiln burst").line == found.line


def test_an_unknown_event_leaves_the_order_open(told):
    found = told("which came first, the oven built or the picnic?")
    assert "picnic" in found.line
    assert "not known" in found.line


def test_what_came_after_an_event_is_listed_by_time(told):
    found = told("what happened after the oven built")
    assert [one.memory.title for one in found.occurrences][:2] == ["Fair", "Diary"]
    assert found.line.startswith('"oven built" is dated 2024-02-03')
    assert "4 dates" in told("what happened after the kiln burst").line


@pytest.mark.parametrize(
    "question",
    [
        "why did the kiln burst",
        "how many shelves has the kiln",
        "what happened after March 2025",
        "how often",
        "when should I open the kiln",
    ],
)
def test_other_questions_are_none_about_time(told, question):
    assert told(question) is None


def test_the_command_line_lists_and_counts(told, inside, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    home = {"RAGMEM_HOME": str(tmp_path / "ragmem"), "HOME": str(tmp_path / "home")}
    shown = inside("query", "--all", "--answer", "how often did the kiln burst", **home)
    assert shown.returncode == 0
    assert shown.stdout.splitlines()[0].startswith("found 4 dated mentions")
    assert "2025-06-30" in shown.stdout
    listed = json.loads(
        inside("query", "--all", "--answer", "--json", "how often did the kiln burst", **home).stdout
    )
    assert [one["start"][:10] for one in listed["occurrences"]] == [
        "2025-03-02",
        "2025-04-11",
        "2025-06-30",
        "2025-08-06",
    ]
    assert inside("query", "--all", "--answer", "how often did the moon burst", **home).returncode == 1
    assert inside("query", "--all", "--answer", "why did the kiln burst", **home).returncode == 4
