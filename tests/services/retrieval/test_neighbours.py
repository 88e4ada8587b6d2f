"""Neighbours: a good memory brings up those before and after it in its session, and no others."""

from datetime import UTC, datetime, timedelta

import pytest

from ragmem.domain.model import Draft, Scope
from ragmem.services.retrieval.query import Question

NOW = datetime(2026, 6, 1, tzinfo=UTC)
QUESTION = "which database holds the invoices of the northern branch"
ASKED = "Which database holds the invoices of the northern branch?"
FILLER = (
    "The tide was late, so the ferry waited.",
    "Nobody had painted the fence behind the mill.",
    "Two kilns were cold and one was warm.",
    "A gull sat on the mast of the old boat.",
)


def turns(uris, text_at, *, project="user"):
    return [
        Draft(
            "ingest",
            uri,
            text_at.get(uri, f"{FILLER[n % len(FILLER)]} It was number {n}."),
            event_time=NOW - timedelta(days=9),
            scope=Scope(project),
        )
        for n, uri in enumerate(uris)
    ]


def asked(memory, **filters):
    answer = memory.query(QUESTION, question=Question(QUESTION, limit=9, **filters), at=NOW)
    return {match.memory.uri: match for match in answer.matches}


@pytest.mark.parametrize("series", ["/tmp/a.jsonl#f00d/", "conv-1/D2:", "s00d#", "a/3."])
def test_the_turn_after_a_good_one_is_found_without_its_words_and_names_it(memory, series):
    uris = [f"{series}{n}" for n in range(8, 14)]
    memory.ingest(
        turns(uris, {f"{series}10": ASKED, f"{series}11": "Cobalt, on the second floor."}), rule="off"
    )
    matches = asked(memory)
    assert next(iter(matches)) == f"{series}10"
    assert matches[f"{series}10"].neighbour == ""
    assert matches[f"{series}11"].neighbour == matches[f"{series}10"].memory.id
    assert matches[f"{series}11"].score < matches[f"{series}10"].score


def test_what_is_three_steps_away_or_in_another_session_project_or_file_is_no_neighbour(memory):
    uris = ["a/10", "a/11", "a/12", "a/13", "b/11", "a11", "a/0011", "a/11.2", "a/11.md", "a-11", "a-10"]
    memory.ingest(turns(uris, {"a/10": ASKED}), rule="off")
    memory.ingest(turns(["a/9"], {}, project="kiln"), rule="off")
    matches = asked(memory)
    assert {uri for uri, match in matches.items() if match.neighbour} == {"a/11", "a/12"}
    assert next(iter(matches)) == "a/10"
    assert {match.memory.scope.project for match in matches.values() if match.neighbour} == {"user"}


def test_the_next_one_comes_before_the_next_but_one(memory):
    memory.ingest(turns([f"a/{n}" for n in range(5)], {"a/0": ASKED}), rule="off")
    matches = list(asked(memory))
    assert matches.index("a/1") < matches.index("a/2")


def test_a_neighbour_that_a_filter_excludes_stays_out(memory):
    drafts = turns(["a/1", "a/2"], {"a/1": ASKED})
    memory.ingest([drafts[0]], rule="off")
    memory.ingest([drafts[1]], rule="off")
    assert set(asked(memory, since=NOW - timedelta(days=1))) == set()


def test_numbers_beyond_any_session_are_no_places(memory):
    memory.ingest(
        turns([f"a/{10**12}", f"a/{10**12 + 1}", "a/-1", "/", "7"], {f"a/{10**12}": ASKED}), rule="off"
    )
    assert not any(match.neighbour for match in asked(memory).values())


def test_a_long_text_gains_less_from_its_neighbours_than_a_short_one(memory):
    uris = ["a/1", "a/2", "b/1", "b/2"]
    long = " ".join(f"The {n}th boat of the harbour was painted in its own colour." for n in range(40))
    memory.ingest(turns(uris, {"a/1": ASKED, "a/2": long, "b/1": ASKED, "b/2": "Cobalt."}), rule="off")
    matches = asked(memory)
    assert matches["b/2"].terms["neighbours"] > 5 * matches["a/2"].terms["neighbours"] > 0
