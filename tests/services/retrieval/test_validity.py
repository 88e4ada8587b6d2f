"""A question about now passes what has ended; one about a past time prefers what held then."""

from datetime import UTC, datetime

import pytest

from ragmem.domain.model import Draft

NOW = datetime(2026, 3, 18, tzinfo=UTC)
WRITTEN = datetime(2026, 3, 1, tzinfo=UTC)
ENDED = "Which kiln the pottery uses: we used the gas kiln for the pottery until 2023."
CURRENT = "The kiln that we use for the pottery is fired with wood, and the pottery keeps it behind the barn."


def ask(memory, texts, question):
    memory.ingest([Draft("notes", text, text, event_time=WRITTEN) for text in texts])
    found = memory.query(question, at=NOW).matches
    return [match.memory.text for match in found], {match.memory.text: match.terms for match in found}


def test_what_has_ended_stands_behind_what_holds(memory):
    found, terms = ask(memory, [ENDED, CURRENT], "which kiln do we use for the pottery")
    assert found == [CURRENT, ENDED]
    assert terms[ENDED]["ended"] < terms[ENDED]["score"]


@pytest.mark.parametrize(
    "question",
    [
        "which kiln did we use for the pottery",
        "when did we use the gas kiln",
        "which kiln of the pottery was used before",
    ],
)
def test_a_question_about_the_past_passes_nothing(memory, question):
    _, terms = ask(memory, [ENDED, CURRENT], question)
    assert "ended" not in terms[ENDED]


@pytest.mark.parametrize(
    "text",
    [
        f"{ENDED} Now it is fired with wood.",
        "Which kiln we use for the pottery: the pottery no longer has a gas kiln.",
        f"{ENDED} The pottery has used wood since 2024.",
        "Which kiln the pottery uses: the gas kiln must be ready for the pottery until 2023.",
    ],
)
def test_a_memory_that_tells_what_came_next_keeps_its_place(memory, text):
    _, terms = ask(memory, [text, CURRENT], "which kiln do we use for the pottery")
    assert "ended" not in terms[text]


def test_a_question_about_a_past_time_prefers_what_held_then(memory):
    other = ENDED.replace("gas", "oil").replace("until 2023", "until 2020")
    found, terms = ask(memory, [other, ENDED], "which kiln did the pottery use in 2022")
    assert found == [ENDED, other]
    assert "valid_then" in terms[ENDED]
    assert "valid_then" not in terms[other]
