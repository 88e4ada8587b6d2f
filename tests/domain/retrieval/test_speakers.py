"""What a talk tells of one speaker is no answer to a question about the other one."""

from datetime import UTC, datetime

import pytest

from ragmem.domain.retrieval.near_misses import possible_speakers, told_of_another
from ragmem.domain.retrieval.question import parse
from ragmem.domain.text.keywords import is_stop_word

BOAT = "Nadia: I finally sold the old sailing boat in Bergen.\nPavel: What did you spend the money on?"
BEES = "Pavel: We moved our beehives to the hill behind the school.\nNadia: How lovely, send a photo!"
ASKING = "Pavel: Where did you learn to weld copper pipes?"


def told(question, *texts):
    query = parse(question, now=datetime(2026, 6, 1, tzinfo=UTC))
    words = [word.strip("?").lower() for word in question.split()]
    frequencies = {word: 0.02 for word in words if not is_stop_word(word)}
    return told_of_another(possible_speakers(query), frequencies, texts)


@pytest.mark.parametrize(
    ("question", "speaker"),
    [
        ("Where did Pavel sell the old sailing boat?", "Pavel"),
        ("Where did Nadia sell the old sailing boat?", ""),
        ("Where did Nadia move the beehives?", "Nadia"),
        ("Where did Pavel move the beehives?", ""),
        # Both, or a stranger, are nobody's business.
        ("Did Pavel and Nadia sell the old sailing boat?", ""),
        ("Where did Ingrid sell the old sailing boat?", ""),
        ("where did pavel sell the old sailing boat?", ""),
        # One word is enough if only the other one says it.
        ("Where is the boat of Pavel?", "Pavel"),
        ("Where is the boat of Nadia?", ""),
    ],
)
def test_a_statement_of_the_other_speaker_is_no_answer(question, speaker):
    assert told(question, BOAT, BEES) == speaker


def test_you_is_the_other_speaker_and_a_question_that_is_put_to_others_is_about_them():
    assert told("Where did Nadia learn to weld copper pipes?", ASKING, BOAT) == ""
    assert told("Where did Pavel learn to weld copper pipes?", ASKING, BOAT) == "Pavel"


def test_what_both_say_or_stands_outside_of_the_talk_answers():
    question = "Where did Pavel sell the old sailing boat?"
    assert told(question, "Pavel: I sold my old sailing boat too.\n" + BOAT) == ""
    assert told(question, "Notes: the old sailing boat was sold by Pavel.\n\n" + BOAT) == ""
    assert told(question, f"How the old sailing boat was sold.\n{BOAT}") == ""


def test_among_many_speakers_the_other_must_be_further_ahead():
    question = "Where did Pavel sell the old sailing boat in summer?"
    own = "Pavel: I like sailing in summer."
    assert told(question, own, BOAT) == "Pavel"
    assert told(question, own, BOAT, "Ingrid: Good morning!") == ""


@pytest.mark.parametrize(
    "text",
    [
        "**Nadia:** I sold my old sailing boat.\n**Pavel:** Ok.",
        "[10:02] Nadia: I sold my old sailing boat.\nPavel: ok",
    ],
)
def test_labels_have_many_forms(text):
    assert told("Where did Pavel sell the old sailing boat?", text) == "Pavel"


def test_names_of_components_are_no_speakers_who_tell_of_each_other():
    text = "Redis: keeps the session tokens of the gateway.\nPostgres: keeps the orders of the shop."
    assert told("Which orders of the shop does Redis keep?", text) == ""
    assert told("Which orders of the shop does Redis keep?", f"{text}\nRedis: I am only a cache.") == "Redis"
    assert told("Who wrote the text?", "Who: me\nWhy: because") == ""


def test_a_long_text_is_no_question_about_a_speaker():
    assert told("Where did Pavel sell the old sailing boat? " * 10, BOAT) == ""
