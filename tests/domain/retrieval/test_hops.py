"""Questions of two hops: their form, the names that may lead on, and what a text leaves open."""

import pytest

from ragmem.domain.retrieval.hops import LONGEST, capitalized_names, needs_hops, rest_of


@pytest.mark.parametrize(
    "question",
    [
        "Who founded the company that maintains the cache?",
        "When was the director of the film by the studio born?",
        "Where does the night manager's deputy keep the keys?",
        "Who is the head of Marta's team?",
        "Are the author of the parser and the author of the lexer the same person?",
        "Wer leitet die Firma, die den Scanner gebaut hat?",
        "Wie heißt der Leiter der Abteilung, deren Server ausfiel?",
        "Qui dirige l'équipe qui maintient le cache?",
        "¿Quién dirige el equipo que mantiene la cola?",
    ],
)
def test_a_thing_that_is_described_or_compared_takes_two_hops(question):
    assert needs_hops(question)


@pytest.mark.parametrize(
    "question",
    [
        "",
        "   ",
        "Kestrel",
        "who wrote that",
        "how do we deploy the worker",
        "what's the port on the staging host",
        "Which database does Kestrel use?",
        "where is the backup",
        "What are Marta's plans this summer?",
        "Which of the two queues is older, Kestrel or Heron?",
        "In which file are the expired keys?",
        "What happened when the deploy failed?",
        "What is the port of the broker in the staging network?",
        "What is the name of Marta's team?",
        "What kind of report does Marta's team write?",
        "どのデータベースを使っていますか",
        "It's the third time it fails on the runner",
    ],
)
def test_a_plain_question_takes_one(question):
    assert not needs_hops(question)


def test_a_pasted_text_takes_one():
    assert not needs_hops("the team that runs the broker which failed " * (LONGEST // 40 + 1))


def test_names_are_runs_of_capitals_with_their_parts_and_titles_in_quotes():
    text = 'The Lighthouse of Genoa was drawn by Anna Berg\'s pupil for "the long night", in May 1902.'
    found = capitalized_names(text)
    assert {"Lighthouse of Genoa", "Genoa", "Anna Berg", "the long night", "May 1902"} <= set(found)
    assert "drawn" not in found
    assert len(found) == len(set(found))


def test_a_text_without_capitals_names_nothing():
    assert capitalized_names("") == capitalized_names("the broker runs at night") == []
    assert capitalized_names("夜間に動きます") == []


def test_the_rest_is_what_a_text_does_not_answer():
    known = frozenset({"checkout", "page", "broker"})
    rest = rest_of(
        "Which team answers for the broker behind the checkout pages?", known, {"the", "for", "which"}
    )
    assert rest == "Which team answers for the behind the"
    assert rest_of("", known, set()) == ""
