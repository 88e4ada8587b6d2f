"""What is superseded is hidden; it comes out when one asks for history, by its id, or when it holds again."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from ragmem.domain.lifecycle.changes import changes
from ragmem.domain.model import Draft, Kind, Scope, Supersession
from ragmem.domain.model.lifecycle import LifecyclePolicy
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.services.context.context import context
from ragmem.services.ingestion.classify import classify_draft
from ragmem.services.ingestion.index import index, record_of
from ragmem.services.retrieval.query import Question
from ragmem.services.retrieval.shapes import match_shape

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
OLD = "The ferry timetable is read from tides.csv in the harbour folder."
NEW = "The ferry timetable moved from tides.csv to the tide service of the port, which knows the weather."
QUESTION = "ferry timetable read from tides.csv in the harbour folder"


def draft(uri: str, text: str, *, days: float, **more) -> Draft:
    return Draft("ingest", uri, text, uri, event_time=NOW - timedelta(days=days), **more)


def fill(memory, drafts) -> None:
    memory.prepare()
    items = [
        classify_draft(one, now=NOW, sizes=memory.settings.chunking, rule="off", redactor=DEFAULT)
        for one in drafts
    ]
    memory.catalog.memories.accept([(item.memory, item.chunks) for item in items])
    index(
        memory.catalog,
        memory.store,
        [record_of(item.memory, item.chunks, redactor=DEFAULT) for item in items],
    )


def supersede(memory) -> list[Supersession]:
    """Write down what the rules find."""
    entries = memory.catalog.lives.entries(policy=LifecyclePolicy())
    dates = {entry.id: entry.memory.event_time for entry in entries}
    found = [
        Supersession(one.older, one.newer, dates[one.older], dates[one.newer], one.rule, one.reason, NOW)
        for one in changes(entries, redactor=DEFAULT)
    ]
    memory.catalog.supersessions.put(found)
    return found


def asked(memory, text: str = QUESTION, **more):
    return memory.query(text, question=Question(text, **more), at=NOW)


@pytest.fixture
def ferry(memory):
    fill(
        memory,
        [
            draft("old", OLD, days=200),
            draft("new", NEW, days=100),
            draft("kiln", "The kiln burns gas, since wood was too slow to heat.", days=150),
        ],
    )
    (found,) = supersede(memory)
    assert found.rule == "moved"
    return memory


def uris(answer) -> list[str]:
    return [match.memory.uri for match in answer.matches]


def test_the_newer_memory_stands_in_the_place_of_the_older_and_tells_what_was_before(ferry):
    answer = asked(ferry)
    assert uris(answer)[0] == "new"
    assert "old" not in uris(answer)
    (former,) = answer.matches[0].replaced
    assert former.text == OLD
    assert answer.matches[0].terms["superseded"] == answer.matches[0].score
    shape = match_shape(answer.matches[0], redactor=DEFAULT)
    assert shape["superseded_by"] is None
    assert shape["replaced"][0]["event_time"] == "2025-11-13T12:00:00Z"
    assert shape["replaced"][0]["until"] == "2026-02-21T12:00:00Z"


def test_history_shows_both_and_marks_the_older(ferry):
    first, second = (match for match in asked(ferry, history=True).matches if match.memory.uri != "kiln")
    assert (first.memory.uri, second.memory.uri) == ("old", "new")
    assert first.superseded.newer == second.memory.id
    assert second.superseded is None


def test_a_question_for_what_was_before_needs_no_flag(ferry):
    found = asked(ferry, "where did we previously read the ferry timetable from, tides.csv?")
    assert {"old", "new"} <= set(uris(found))


def test_a_context_shows_only_what_holds_unless_it_is_asked_for_history(ferry):
    assert OLD not in context(asked(ferry), redactor=DEFAULT).text
    shown = context(asked(ferry, history=True), redactor=DEFAULT).text
    assert OLD in shown
    assert "| superseded by " in shown


def test_the_newer_memory_comes_in_where_only_the_older_was_found(memory):
    fill(
        memory,
        [
            draft("old", "The quokka parser accepts tabs.", days=20),
            draft("new", "Wholly other words.", days=9),
        ],
    )
    older, newer = (entry.memory for entry in memory.catalog.lives.entries(policy=LifecyclePolicy()))
    memory.catalog.supersessions.put(
        [Supersession(older.id, newer.id, older.event_time, newer.event_time, "declared", "said", NOW)]
    )
    assert uris(asked(memory, "quokka parser tabs")) == ["new"]
    assert uris(asked(memory, "quokka parser tabs", kinds=(Kind.PREFERENCE,))) == []


def test_its_exact_words_in_quotes_find_a_hidden_memory_and_say_what_it_is(ferry):
    (match,) = asked(ferry, '"harbour folder"').matches
    assert match.memory.uri == "old"
    assert match.superseded.rule == "moved"
    assert [one.memory.uri for one in asked(ferry, '"ferry timetable"').matches] == ["new"]


def test_the_older_memory_is_found_again_when_the_newer_one_is_gone(ferry):
    newer = asked(ferry).matches[0].memory
    ferry.catalog.memories.remove([newer.id])
    ferry.store.delete([newer.id])
    assert uris(asked(ferry))[0] == "old"
    assert asked(ferry).matches[0].superseded is None


def test_what_a_person_pins_holds_again_and_gc_leaves_it_so(ferry):
    (older,) = (item.older for item in ferry.catalog.supersessions.all())
    ferry.lifecycle.pin(older)
    assert {"old", "new"} <= set(uris(asked(ferry)))
    ferry.gc.apply(ferry.gc.plan())
    assert ferry.catalog.supersessions.all() == []
    ferry.lifecycle.pin(older, pinned=False)
    ferry.gc.apply(ferry.gc.plan())
    assert [item.older for item in ferry.catalog.supersessions.all()] == [older]


def test_an_answer_names_what_it_stands_in_place_of(ferry, inside, tmp_path):
    (item,) = ferry.catalog.supersessions.all()
    environ = {"RAGMEM_HOME": str(ferry.settings.places.data.parent), "HOME": str(tmp_path)}
    shown = inside("query", "--all", QUESTION, **environ).stdout
    assert f"in place of {item.older[:12]}" in shown
    assert "harbour folder" not in shown


def test_memories_of_two_projects_never_supersede_each_other(memory):
    fill(
        memory,
        [
            draft("old", OLD, days=200, scope=Scope("one")),
            draft("new", NEW, days=100, scope=Scope("two")),
        ],
    )
    assert supersede(memory) == []


class TestCommandLine:
    @pytest.fixture
    def ids(self, ferry):
        return {match.memory.uri: match.memory.short_id for match in asked(ferry, history=True).matches}

    @pytest.fixture
    def asking(self, inside, tmp_path):
        return lambda *arguments: inside(*arguments, RAGMEM_HOME=str(tmp_path / "ragmem"))

    def test_json_tells_what_a_memory_replaced(self, asking, ids):
        done = asking("query", "--all", "--json", QUESTION)
        first = json.loads(done.stdout)["matches"][0]
        assert (first["id"], first["replaced"][0]["id"]) == (ids["new"], ids["old"])
        assert ids["old"] not in [match["id"] for match in json.loads(done.stdout)["matches"]]

    def test_explain_tells_both_dates(self, asking, ids):
        done = asking("query", "--all", "--explain", QUESTION)
        assert f"since 2026-02-21; before (2025-11-13): {OLD}" in done.stdout

    def test_history_marks_the_older_one(self, asking, ids):
        done = asking("query", "--all", "--history", QUESTION)
        assert f"superseded by {ids['new']} on 2026-02-21" in done.stdout
        assert OLD in done.stdout

    def test_inspect_memory_tells_both_directions(self, asking, ids):
        assert f"superseded by {ids['new']} on 2026-02-21" in asking("inspect", "memory", ids["old"]).stdout
        assert f"before (2025-11-13): {OLD}" in asking("inspect", "memory", ids["new"]).stdout
        document = json.loads(asking("inspect", "memory", "--json", ids["old"]).stdout)
        assert document["memory"]["superseded_by"]["id"] == ids["new"]
