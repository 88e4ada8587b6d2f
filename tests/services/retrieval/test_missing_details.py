"""A question with a name, a number or a file that no match has is told so, and the nearest are shown."""

from datetime import UTC, datetime

import pytest

from ragmem.domain.model import Draft, Scope
from ragmem.services.context.context import context
from ragmem.services.retrieval.query import Question

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
NOTES = {
    "prometheus": "Prometheus listens on port 9090 of the monitoring host, behind the proxy.",
    "redis": "The janitor takes its lock in Redis 7.2, because two of them ran at once.",
    "config": "The timeout of the gateway stands in gateway.toml, below [http].",
    "maria": "Maria Lopez bought a telescope and a warm coat for the winter camp.",
    "deutsch": "Die Sperre für Bestellungen liegt in der Datenbank, weil der Cache sie verloren hat.",
}


@pytest.fixture
def filled(memory):
    memory.ingest(
        [Draft("ingest", uri, text, uri, event_time=NOW, scope=Scope("user")) for uri, text in NOTES.items()],
        rule="off",
    )
    return memory


def asked(memory, text, **more):
    return memory.query(text, question=Question(text, **more), at=NOW)


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("Which port does Grafana listen on?", ("Grafana",)),
        (
            "which port does the Prometheus host listen on for Grafana Loki and Jaeger?",
            ("Grafana Loki", "Jaeger"),
        ),
        ("Does the janitor take its lock in Redis 6.14?", ("6.14",)),
        ("Which timeout of the gateway is in proxy_rules.yaml?", ("proxy_rules.yaml",)),
        ('What is the "quorum" of the lock that the janitor takes in Redis?', ("quorum",)),
        ("What did Pedro buy for the winter camp?", ("Pedro",)),
        ("Did Maria Lopez pay $12,500 for the telescope?", ("12,500",)),
    ],
)
def test_a_detail_that_no_match_has_is_told_before_the_nearest(filled, question, missing):
    answer = asked(filled, question)
    assert answer.matches
    assert answer.missing == missing
    assert f'no memory mentions "{missing[0]}"' in answer.notes[0]
    assert answer.notes[0] in context(answer, redactor=filled.redactor).text


@pytest.mark.parametrize(
    "question",
    [
        "Which port does Prometheus listen on?",
        "what did MARIA LOPEZ buy for the winter camp",
        "Where does the gateway.toml set the timeout?",
        "What did Maria buy on 14 May 2019, a Tuesday?",
        "Grafana port of the monitoring host",
        "Welchen Port der Datenbank sperrt Grafana beim Ausfall?",
        "Which orders does the Sperre für Bestellungen in der Datenbank hold for Grafana?",
        "?!",
    ],
)
def test_nothing_is_missing_where_the_names_stand_or_nobody_can_tell(filled, question):
    assert asked(filled, question).missing == ()


def test_no_detail_is_missing_where_nothing_is_found_or_the_nearest_are_wanted(filled, memory):
    assert asked(filled, "Which port does Grafana listen on?", nearest=True).missing == ()
    assert asked(filled, "Which port does Grafana listen on?", projects=("nowhere",)).missing == ()


def test_the_longest_question_is_answered(filled):
    answer = asked(filled, "Which port does Grafana listen on? " * 500)
    assert answer.missing in {(), ("Grafana",)}


def test_what_another_speaker_says_is_told_as_no_answer(filled):
    talk = "Nadia: I finally sold the old sailing boat in Bergen.\nPavel: What did you spend the money on?"
    filled.ingest([Draft("ingest", "talk", talk, event_time=NOW, scope=Scope("user"))], rule="off")
    assert asked(filled, "Where did Nadia sell the old sailing boat?").missing == ()
    answer = asked(filled, "Where did Pavel sell the old sailing boat?")
    assert answer.matches
    assert answer.missing == ("this about Pavel",)
    assert answer.notes[0] == "no memory mentions this about Pavel; these are the nearest"
    club = Draft("notes", "club", "The boat club meets on Mondays.", event_time=NOW, scope=Scope("user"))
    filled.ingest([club], rule="off")
    assert asked(filled, "Where did Pavel sell the old sailing boat?").missing == ("this about Pavel",)
    of_notes = asked(filled, "Where did Pavel sell the old sailing boat?", sources=("notes",))
    assert of_notes.matches
    assert of_notes.missing == ()
    assert answer.notes[0] in context(answer, redactor=filled.redactor).text


@pytest.mark.parametrize("name", ["CV", "Prometheus"])
def test_abbreviations_and_the_subject_of_a_store_are_no_missing_details(filled, name):
    bought = "rope stove lantern axe tent blanket kettle compass whistle map".split()
    more = [f"Maria Lopez bought a {thing} for the winter camp." for thing in bought]
    filled.ingest(
        [Draft("ingest", text, text, event_time=NOW, scope=Scope("user")) for text in more], rule="off"
    )
    assert asked(filled, f"What did Maria Lopez buy for the winter camp of {name}?").missing == ()
