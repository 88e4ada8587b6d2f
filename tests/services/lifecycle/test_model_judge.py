"""What a language model decides in gc: it marks what is outdated and archives what is worthless; undo."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from ragmem.domain.model import Draft, Scope
from ragmem.errors import BackendError
from ragmem.services.doctor.invariants import violations

NOW = datetime(2026, 3, 1, tzinfo=UTC)
OLD = "Crash reports of the shop app go to Bugsnag, project shop-android."
NEW = "Look at crashes in Sentry, org shop. Bugsnag is switched off since May."
OTHER = "The crash dialog of the shop app has a button that copies the log."
NOISE = "Now I will run the tests again and look at the output of the build."


class Judges:
    """A language model that answers comparisons and questions about worth, and remembers them."""

    model_id = "judges"

    def __init__(self, quote="Bugsnag is switched off since May", worthless=()):
        self.quote, self.worthless = quote, list(worthless)
        self.prompts = []

    def complete(self, prompt, *, system="", max_tokens=1024, json_schema=None):
        del system, max_tokens
        self.prompts.append(prompt)
        if self.quote is None:
            raise BackendError("the model is down", hint="start it")
        if "worthless" in json_schema["properties"]:
            return json.dumps({"worthless": self.worthless})
        if self.quote == "prose":
            return "All of them, I think."
        older = prompt.partition("<older>")[2].split("\n\n")
        found = [n for n, note in enumerate(older, start=1) if OLD in note]
        return json.dumps({"outdated": [{"note": n, "quote": self.quote} for n in found]})


@pytest.fixture
def opened(open_with_model, connect_all):
    """Return a function that stores notes, all connected with each other, and opens them with a model."""

    def open_with(model, *, by="llm", notes=(OLD, OTHER, NEW), connected=True, **variables):
        memory = open_with_model(model, RAGMEM_LIFECYCLE_JUDGE_BY=by, **variables)
        stored = memory.ingest(
            [
                Draft(
                    "notes",
                    f"/n/{n}.md",
                    note,
                    "",
                    event_time=NOW + timedelta(days=n),
                    scope=Scope("shop"),
                )
                for n, note in enumerate(notes)
            ],
            rule="off",
        )
        connect_all(memory, [one.id for one in stored] if connected else [])
        return memory, {note: one.id for note, one in zip(notes, stored, strict=True)}

    return open_with


def test_the_model_marks_what_a_newer_memory_makes_untrue_and_undo_takes_it_back(opened):
    model = Judges()
    memory, ids = opened(model)
    plan = memory.gc.plan()
    assert model.prompts == []
    assert [one.newer for one in plan.comparisons] == [ids[NEW], ids[OTHER]]
    done = memory.gc.apply(plan)
    assert (done.marked, done.archived, done.superseded, done.note) == (1, 0, 0, "")
    (mark,) = memory.catalog.supersessions.perhaps_outdated([ids[OLD]]).values()
    assert (mark.newer, mark.rule) == (ids[NEW], "judged outdated")
    assert mark.reason == 'judges: "Bugsnag is switched off since May" makes it untrue'
    first = memory.query("are crash reports of the shop in Bugsnag").matches
    assert first[0].memory.id == ids[NEW]
    assert {one.memory.id for one in first if one.outdated} == {ids[OLD]}
    # What is answered is not asked again.
    asked = len(model.prompts)
    assert memory.gc.plan().comparisons == ()
    memory.gc.apply(memory.gc.plan())
    assert len(model.prompts) == asked
    memory.gc.undo()
    assert memory.catalog.supersessions.perhaps_outdated([ids[OLD]]) == {}
    assert violations(memory.catalog, memory.store, deep=True) == []


@pytest.mark.parametrize("quote", ["Bugsnag was shut down by its makers", "prose"])
def test_without_words_of_the_newer_memory_nothing_is_marked(opened, quote):
    memory, ids = opened(Judges(quote))
    done = memory.gc.apply(memory.gc.plan())
    assert done.marked == 0
    assert memory.catalog.supersessions.perhaps_outdated(ids.values()) == {}
    assert bool(done.note) == (quote == "prose")
    # An unusable answer is no answer: it is asked again.
    assert bool(memory.gc.plan().comparisons) == (quote == "prose")


def test_a_model_that_fails_stops_nothing_and_is_asked_once(opened):
    model = Judges(None)
    memory, _ = opened(model)
    done = memory.gc.apply(memory.gc.plan())
    assert len(model.prompts) == 1
    assert done.note == "the language model did not decide everything: the model is down; start it"
    assert len(memory.gc.plan().comparisons) == 2


def test_the_model_is_not_asked_unless_set_nor_by_idle_gc_nor_beyond_the_limit(opened):
    model = Judges("no words of any note")
    memory, _ = opened(model, by="none")
    assert memory.gc.plan().comparisons is None
    memory.gc.apply(memory.gc.plan())
    assert model.prompts == []
    memory, _ = opened(model, RAGMEM_LIFECYCLE_AUTOMATIC="true", RAGMEM_LIFECYCLE_JUDGEMENTS="1")
    memory.gc.run_idle(budget_s=10)
    assert model.prompts == []
    memory.gc.apply(memory.gc.plan())
    assert len(model.prompts) == 1
    assert len(memory.gc.plan().comparisons) == 1


def test_a_person_s_memory_is_not_marked_by_an_automatic_one(opened):
    model = Judges()
    memory, ids = opened(model)
    memory.catalog.lives.pin(ids[OLD], pinned=True, now=NOW)
    assert all(ids[OLD] not in one.older for one in memory.gc.plan().comparisons)


def test_what_stands_alone_is_archived_where_the_model_calls_it_worthless_as_well(opened, monkeypatch):
    facts = [f"The pump {n} needs {n} bar, else valve {n} stays shut." for n in range(25)]
    monkeypatch.setattr(
        "ragmem.services.lifecycle.model_judge.is_perhaps_noise",
        lambda text, **_: text == NOISE or "pump 0 " in text,
    )
    strength = {}
    monkeypatch.setattr("ragmem.services.lifecycle.model_judge.nearest", lambda *_: strength)
    model = Judges(worthless=[1])
    memory, ids = opened(model, notes=(NOISE, *facts), connected=False)
    strength[ids[NOISE]] = 0.4
    assert memory.gc.apply(memory.gc.plan()).archived == 0
    (asked,) = model.prompts
    assert NOISE in asked
    assert "pump 0 " in asked
    assert "pump 1 " not in asked


def test_worthless_memories_come_back_by_undo(opened, monkeypatch):
    facts = [f"The pump {n} needs {n} bar, else valve {n} stays shut." for n in range(25)]
    monkeypatch.setattr(
        "ragmem.services.lifecycle.model_judge.is_perhaps_noise",
        lambda text, **_: text == NOISE or "pump 0 " in text,
    )
    monkeypatch.setattr(
        "ragmem.services.lifecycle.model_judge.nearest", lambda _, __, ids: dict.fromkeys(ids, 0.0)
    )
    memory, ids = opened(Judges(worthless=[1]), notes=(NOISE, *facts), connected=False)
    done = memory.gc.apply(memory.gc.plan())
    assert done.archived == 1
    assert ids[NOISE] not in memory.catalog.memories.ids()
    assert len(memory.catalog.memories.ids()) == 25
    memory.gc.undo()
    assert memory.catalog.memories.ids() == set(ids.values())
