"""What language models found: by text and model, and whose the store has."""

from dataclasses import replace
from datetime import UTC, datetime

from ragmem.domain.entities.extraction_answer import Answer
from ragmem.domain.model import Entity, Relation, State
from ragmem.storage.activity.extractions import RULES, Choice
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.maintenance.salvage import read_damaged, write_salvaged

NOW = datetime(2026, 6, 1, tzinfo=UTC)
FULL = Answer(
    (Entity("Tide Board", "project", "It is “moved” to 北.\n"), Entity("pier.db", "file", "")),
    (Relation("Tide Board", "pier.db", "stored in", "so it says"),),
    invented=3,
)
INVALID = Answer(invented=1, problem="is no JSON", excerpt='"Sure!')
EMPTY = Answer()


def test_an_answer_comes_back_as_it_was_for_its_model_alone(catalog):
    extractions = catalog.extractions
    extractions.keep("one", {"a": FULL, "b": INVALID, "c": EMPTY}, again=(), now=NOW)
    extractions.keep("other", {"a": EMPTY}, again=(), now=NOW)
    assert extractions.answers("one", ["a", "b", "c", "d"]) == {"a": FULL, "b": INVALID, "c": EMPTY}
    assert extractions.answered_texts("one") == {"a": True, "b": False, "c": True}
    assert extractions.answers("other", ["a"]) == {"a": EMPTY}
    extractions.forget(["a", "d"])
    assert (extractions.texts(), extractions.answered_texts("other")) == ({"b", "c"}, {})


def test_a_choice_lasts_and_is_by_rules_before(catalog):
    assert catalog.extractions.choice() == RULES
    for choice in (Choice("both", "one"), Choice("llm", "other", "third"), Choice(ner="third"), RULES):
        catalog.extractions.choose(choice, again=())
        assert catalog.extractions.choice() == choice


def test_only_what_is_indexed_waits_to_be_put_again(catalog, make):
    states = (State.INDEXED, State.BUFFERED, State.PENDING)
    items = [(replace(memory, state=state), chunks) for state in states for memory, chunks in [make(state)]]
    catalog.memories.accept(items)
    ids = [memory.id for memory, _ in items]
    catalog.extractions.keep("one", {"a": FULL}, again=[*ids, "gone"], now=NOW)
    assert catalog.memories.ids(states=[State.PENDING]) == {ids[0], ids[2]}
    assert catalog.memories.ids(states=[State.BUFFERED]) == {ids[1]}


def test_a_standing_tells_of_the_model_and_of_every_indexed_chunk(catalog, make):
    seen = {catalog.extractions.fingerprint("one"), catalog.extractions.fingerprint("other")}
    for number in range(2):
        memory, chunks = make(str(number), f"text {number}", state=State.INDEXED)
        catalog.memories.accept([(memory, chunks)])
        seen.add(catalog.extractions.fingerprint("one"))
    assert len(seen) == 4
    last = catalog.extractions.fingerprint("one")
    catalog.memories.accept([(replace(memory, recalls=7, tags=("new",)), chunks)])
    catalog.memories.accept([make("waits", state=State.PENDING)])
    assert catalog.extractions.fingerprint("one") == last
    catalog.extractions.finish(last)
    assert catalog.extractions.is_finished(last)
    other = catalog.extractions.fingerprint("other")
    assert not catalog.extractions.is_finished(other)
    catalog.extractions.finish(other)
    assert catalog.extractions.is_finished(last)
    catalog.extractions.finish("third")
    assert [catalog.extractions.is_finished(one) for one in (last, other, "third")] == [False, True, True]
    catalog.extractions.forget(["any"])
    assert not catalog.extractions.is_finished("third")


def test_rows_written_to_another_catalog_leave_what_is_there(catalog, tmp_path):
    catalog.extractions.keep("one", {"a": FULL, "b": INVALID}, again=(), now=NOW)
    other = Catalog.at(tmp_path / "other")
    other.prepare()
    other.extractions.keep("one", {"a": EMPTY}, again=(), now=NOW)
    assert other.extractions.write_rows(list(catalog.extractions.rows())) == 1
    assert other.extractions.answers("one", ["a", "b"]) == {"a": EMPTY, "b": INVALID}
    other.close()


def test_a_home_that_knows_no_models_has_asked_nothing(catalog):
    with catalog.database.write() as connection:
        connection.execute("DROP TABLE extractions")
    assert catalog.extractions.answered_texts("one") == {}
    assert list(catalog.extractions.rows()) == []
    assert catalog.extractions.choice() == RULES


def test_what_was_paid_for_is_saved_from_a_damaged_file(tmp_path):
    damaged = Catalog.at(tmp_path / "damaged")
    damaged.prepare()
    damaged.extractions.keep("one", {"a": FULL}, again=(), now=NOW)
    damaged.extractions.choose(Choice("both", "one"), again=())
    damaged.close()
    found = read_damaged(tmp_path / "damaged" / "memory.db")
    fresh = Catalog.at(tmp_path / "fresh")
    fresh.prepare()
    write_salvaged(found, fresh)
    assert found.incomplete == []
    assert fresh.extractions.answers("one", ["a"]) == {"a": FULL}
    assert fresh.extractions.choice() == Choice("both", "one")
    fresh.close()
