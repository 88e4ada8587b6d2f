"""What is superseded is hidden; it comes out when one asks for history, by its id, or when it holds again."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from ragmem.domain.model import Draft, Kind, Supersession
from ragmem.domain.model.lifecycle import LifecyclePolicy
from ragmem.domain.model.supersession import PERHAPS_OUTDATED, RESTATED
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.services.context.context import context
from ragmem.services.ingestion.classify import classify_draft
from ragmem.services.ingestion.index import index, record_of
from ragmem.services.ingestion.options import DraftOptions
from ragmem.services.retrieval.query import Question
from ragmem.services.retrieval.shapes import match_shape

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
OLD = "The ferry timetable is read from tides.csv in the harbour folder."
NEW = "The ferry timetable moved from tides.csv to the tide service of the port, which knows the weather."
ATTEMPTS = "how many attempts does the retry budget allow"
KILN = "The kiln burns gas, since wood was too slow to heat."
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


def supersede(memory, rule: str = RESTATED) -> None:
    """Write down that "new" supersedes "old", or perhaps does."""
    known = {
        entry.memory.uri: entry.memory for entry in memory.catalog.lives.entries(policy=LifecyclePolicy())
    }
    older, newer = known["old"], known["new"]
    memory.catalog.supersessions.put(
        [Supersession(older.id, newer.id, older.event_time, newer.event_time, rule, "gave way", NOW)]
    )


def asked(memory, text: str = QUESTION, **more):
    return memory.query(text, question=Question(text, **more), at=NOW)


@pytest.fixture
def ferry(memory):
    fill(
        memory,
        [
            draft("old", OLD, days=200),
            draft("new", NEW, days=100),
            draft("kiln", KILN, days=150),
        ],
    )
    supersede(memory)
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
    assert match.superseded.rule == RESTATED
    assert [one.memory.uri for one in asked(ferry, '"ferry timetable"').matches] == ["new"]


def test_the_older_memory_is_found_again_when_the_newer_one_is_gone(ferry):
    newer = asked(ferry).matches[0].memory
    ferry.catalog.memories.remove([newer.id])
    ferry.store.delete([newer.id])
    assert uris(asked(ferry))[0] == "old"
    assert asked(ferry).matches[0].superseded is None


def test_what_a_person_pins_holds_again_and_gc_leaves_it_so(memory):
    said = "The tide import gives up on a station after {} attempts."
    fill(memory, [draft("old", said.format(3), days=200), draft("new", said.format(5), days=100)])
    memory.gc.apply(memory.gc.plan())
    ((older, rule),) = ((item.older, item.rule) for item in memory.catalog.supersessions.all())
    assert rule == RESTATED
    memory.lifecycle.pin(older)
    assert {"old", "new"} <= set(uris(asked(memory, "tide import attempts of a station")))
    memory.gc.apply(memory.gc.plan())
    assert memory.catalog.supersessions.all() == []
    memory.lifecycle.pin(older, pinned=False)
    memory.gc.apply(memory.gc.plan())
    assert [item.older for item in memory.catalog.supersessions.all()] == [older]


def test_an_answer_names_what_it_stands_in_place_of(ferry, inside, tmp_path):
    (item,) = ferry.catalog.supersessions.all()
    environ = {"RAGMEM_HOME": str(ferry.settings.places.data.parent), "HOME": str(tmp_path)}
    shown = inside("query", "--all", QUESTION, **environ).stdout
    assert f"in place of {item.older[:12]}" in shown
    assert "harbour folder" not in shown


class TestPerhapsOutdated:
    """A pair that the model is not certain of."""

    @pytest.fixture
    def doubtful(self, memory):
        old, new = ("The retry budget is 3 attempts.", "The retry budget is 5 attempts.")
        fill(memory, [draft("old", old, days=200), draft("new", new, days=100), draft("kiln", KILN, days=9)])
        return memory

    def test_gc_marks_and_never_hides_and_undo_takes_the_mark_back(self, doubtful):
        before = uris(asked(doubtful, ATTEMPTS))
        assert before[0] == "old"
        plan = doubtful.gc.plan()
        (item,) = [item for item in plan.items if item.action == "mark"]
        assert (item.rule, plan.removal_count) == (PERHAPS_OUTDATED, 0)
        done = doubtful.gc.apply(plan)
        assert done.marked == 1
        first, second = asked(doubtful, ATTEMPTS).matches[:2]
        assert (first.memory.uri, second.memory.uri) == ("new", "old")
        assert (first.outdated, second.outdated.newer) == (None, first.memory.id)
        shape = match_shape(second, redactor=DEFAULT)
        assert (shape["perhaps_outdated"]["full_id"], shape["superseded_by"]) == (first.memory.id, None)
        assert not [item for item in doubtful.gc.plan().items if item.action == "mark"]
        doubtful.gc.undo()
        assert uris(asked(doubtful, ATTEMPTS)) == before
        assert all(match.outdated is None for match in asked(doubtful, ATTEMPTS).matches)

    def test_the_mark_goes_with_the_newer_memory_and_with_a_new_text(self, doubtful):
        supersede(doubtful, PERHAPS_OUTDATED)
        older, newer = (
            doubtful.catalog.supersessions.all()[0].older,
            asked(doubtful, ATTEMPTS).matches[0].memory,
        )
        marks = doubtful.catalog.supersessions.perhaps_outdated
        assert marks([older])[older].newer == newer.id
        doubtful.forget([newer.id])
        assert marks([older]) == {}
        doubtful.gc.undo()
        assert marks([older])[older].newer == newer.id
        fill(doubtful, [draft("old", "The retry budget is one day.", days=3)])
        assert marks([older]) == {}

    def test_every_surface_names_the_newer_memory(self, doubtful, inside, tmp_path):
        supersede(doubtful, PERHAPS_OUTDATED)
        ids = {match.memory.uri: match.memory.short_id for match in asked(doubtful, ATTEMPTS).matches}
        told = f"perhaps outdated, see {ids['new']}"

        def said(*arguments: str) -> str:
            return inside(*arguments, RAGMEM_HOME=str(tmp_path / "ragmem")).stdout

        assert told in said("query", "--all", ATTEMPTS)
        assert told in said("inspect", "memory", ids["old"])
        assert told in context(asked(doubtful, ATTEMPTS), redactor=DEFAULT).text
        shown = json.loads(said("inspect", "memory", "--json", ids["old"]))["memory"]
        assert (shown["perhaps_outdated"]["id"], shown["superseded_by"]) == (ids["new"], None)


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


def test_a_record_that_names_its_successor_in_its_status_gives_way_after_gc(memory, tmp_path):
    (tmp_path / "0003-queue.md").write_text(
        "# 3. Keep mail in a queue\n\n## Status\n\nSuperseded by [12. A stream](0012-stream.md)\n\n"
        "## Decision\n\nOutgoing mail waits in a queue of Redis until the server has sent it.\n",
        encoding="utf-8",
    )
    (tmp_path / "0012-stream.md").write_text(
        "# 12. Keep mail in a stream\n\n## Decision\n\nOutgoing mail waits in a stream until it is sent.\n",
        encoding="utf-8",
    )
    memory.ingest(memory.ingestion.draft([tmp_path], DraftOptions()).drafts)
    memory.gc.apply(memory.gc.plan())
    text = "where does outgoing mail wait until the server has sent it"
    told = [match.memory.title for match in memory.query(text).matches]
    assert told[0] == "12. Keep mail in a stream"
    assert "3. Keep mail in a queue" not in told
    assert len([one for one in asked(memory, text, history=True).matches if "mail" in one.memory.title]) == 2
