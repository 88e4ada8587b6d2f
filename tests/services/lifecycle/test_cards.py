"""Texts that a language model writes of connected memories of a session: checked, beside them, taken back."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from ragmem.domain.model import Draft, Scope
from ragmem.errors import BackendError
from ragmem.services.doctor.invariants import violations

NOW = datetime(2026, 3, 1, tzinfo=UTC)
NOTES = (
    "The damper motor stalls when the flue is wet, seen on oven 7 with firmware 2.4.1.",
    "Dry the flue before a firing, else the damper motor stalls; set DAMPER_WAIT to 30.",
    "A stalled damper motor draws 4 A and blows the fuse that flue.toml names.",
)
GOOD = (
    "When the flue is wet the damper motor stalls (oven 7, firmware 2.4.1). Dry the flue before a firing and"
    " set DAMPER_WAIT to 30. A stalled motor draws 4 A and blows the fuse that flue.toml names."
)


class Writes:
    """A language model that gives one answer, and remembers what it was asked."""

    model_id = "writes"

    def __init__(self, answer):
        self.answer = answer
        self.prompts = []

    def complete(self, prompt, *, system="", max_tokens=1024, json_schema=None):
        del system, max_tokens, json_schema
        self.prompts.append(prompt)
        if self.answer is None:
            raise BackendError("the model is down", hint="start it")
        return self.answer


def said(text, title="Damper motor"):
    return json.dumps({"title": title, "text": text})


@pytest.fixture
def opened(open_with_model, connect_all):
    """Return a function that stores connected memories of sessions, with a model that gives one answer."""

    def open_with(answer, by="llm", sessions=("s1", "s1", "s1")):
        model = Writes(answer)
        memory = open_with_model(model, RAGMEM_LIFECYCLE_MERGE_BY=by)
        stored = memory.ingest(
            [
                Draft(
                    "transcripts",
                    f"/n/{n}",
                    note,
                    f"note {n}",
                    event_time=NOW + timedelta(days=n),
                    scope=Scope("shop"),
                    metadata={"session": session},
                )
                for n, (note, session) in enumerate(zip(NOTES, sessions, strict=True))
            ],
            rule="off",
        )
        ids = {one.id for one in stored}
        connect_all(memory, ids)
        return memory, model, ids

    return open_with


def test_a_model_writes_a_text_beside_the_memories_and_undo_takes_it_out(opened):
    memory, model, ids = opened(said(GOOD))
    before = memory.catalog.memories.get(ids)
    done = memory.gc.apply(memory.gc.plan())
    assert (done.made, done.archived, done.note) == (1, 0, "")
    assert memory.catalog.memories.get(ids) == before
    (card,) = (one for one in memory.catalog.memories.each() if one.id not in ids)
    assert (card.text, card.title, card.source) == (GOOD, "Damper motor", "consolidated")
    assert card.metadata["merged_by"] == "writes"
    assert "2026-03-01: note 0\nThe damper motor stalls" in model.prompts[0]
    for note in NOTES:
        assert memory.query(note).matches[0].memory.id in ids
    # What has a text is not written of again.
    assert memory.gc.plan().empty
    assert memory.gc.undo().kept == 0
    assert memory.catalog.memories.ids() == ids
    assert violations(memory.catalog, memory.store, deep=True) == []


def test_a_text_that_somebody_uses_outlasts_the_undo(opened):
    memory, _, ids = opened(said(GOOD))
    memory.gc.apply(memory.gc.plan())
    (card,) = memory.catalog.memories.ids() - ids
    memory.catalog.lives.pin(card, pinned=True, now=NOW)
    assert memory.gc.undo().kept == 1
    assert card in memory.catalog.memories.ids()


def test_nothing_is_written_across_sessions_or_unless_the_settings_say_so(opened):
    memory, model, _ = opened(said(GOOD), sessions=("s1", "s2", "s3"))
    assert memory.gc.plan().empty
    for by in ("none", "rules"):
        memory, model, _ = opened(said(GOOD), by=by)
        assert memory.gc.plan().empty
        assert not model.prompts


def test_an_idle_gc_asks_no_model(opened, monkeypatch):
    memory, model, ids = opened(said(GOOD))
    monkeypatch.setattr("ragmem.services.connections.connect.connect", lambda *_, **__: None)
    monkeypatch.setenv("RAGMEM_LIFECYCLE_AUTOMATIC", "yes")
    assert len(memory.gc.plan().cards) == 1
    assert memory.gc.run_idle(budget_s=30).finished
    assert not model.prompts
    assert memory.catalog.memories.ids() == ids


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (said(GOOD.replace("DAMPER_WAIT", "the wait")), 'lacks "DAMPER_WAIT"'),
        (said(GOOD.replace("4 A", "some current")), 'lacks "4"'),
        (said(GOOD.replace("flue.toml", "the file")), 'lacks "flue.toml"'),
        (
            said(GOOD.replace("Dry the flue before a firing and set", "Set")),
            'does not say "Dry the flue before',
        ),
        (said("Dry the flue."), "less than 50 characters"),
        (said(f"I'm sorry, but {GOOD}"), "i'm sorry"),
        (said(GOOD + " More of it." * 40), "1.5 times"),
        (said(""), "no text"),
        ("no JSON at all", "no text"),
        (None, "the model is down"),
    ],
)
def test_an_answer_of_no_use_is_thrown_away(opened, answer, why):
    memory, _, ids = opened(answer)
    done = memory.gc.apply(memory.gc.plan())
    assert done.made == 0
    assert why in done.note
    assert memory.catalog.memories.ids() == ids
