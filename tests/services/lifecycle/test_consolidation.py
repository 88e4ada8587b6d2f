"""Merged memories as a language model writes them, and as rules merge them where its answer is of no use."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from ragmem.api.memory import Ragmem
from ragmem.backends.fake import FakeModels
from ragmem.domain.model import Draft, Scope
from ragmem.errors import BackendError

NOW = datetime(2026, 3, 1, tzinfo=UTC)
NOTES = (
    "The damper motor stalls when the flue is wet, seen on oven 7 with firmware 2.4.1.",
    "Dry the flue before a firing, else the damper motor stalls; set DAMPER_WAIT to 30.",
    "A stalled damper motor draws 4 A and blows the fuse that flue.toml names.",
)
GOOD = (
    "When the flue is wet the damper motor stalls (oven 7, firmware 2.4.1). Dry it first, set DAMPER_WAIT to"
    " 30. A stalled motor draws 4 A and blows the fuse that flue.toml names."
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
def merged(tmp_path, monkeypatch):
    """Return a function that merges what a session said with a model's answer; it gives memory and outcome.

    The session says all of it once, and parts of it twice more.
    """

    def merge(answer, by="llm"):
        environ = {
            "RAGMEM_HOME": str(tmp_path / "ragmem"),
            "RAGMEM_MODELS_BACKEND": "fake",
            "RAGMEM_STORE_BACKEND": "fake",
            "RAGMEM_LIFECYCLE_MERGE_BY": by,
        }
        model = Writes(answer)
        plain = Ragmem.open(environ=environ, home=tmp_path, cwd=tmp_path)
        with Ragmem(plain.settings, home=tmp_path, cwd=tmp_path, models=FakeModels(model)) as memory:
            memory.ingest(
                [
                    Draft(
                        "transcripts",
                        f"/n/{n}",
                        " ".join(notes),
                        event_time=NOW + timedelta(days=n),
                        scope=Scope("shop"),
                        metadata={"session": "s1"},
                    )
                    for n, notes in enumerate((NOTES[:2], NOTES, NOTES[1:]))
                ],
                rule="off",
            )
            monkeypatch.setattr("ragmem.services.lifecycle.plan._connect_memories", lambda *_, **__: ({}, ""))
            done = memory.gc.apply(memory.gc.plan())
            (found,) = memory.catalog.memories.each()
            return found, done, model

    return merge


def test_a_model_writes_the_merged_text(merged):
    found, done, model = merged(said(GOOD))
    assert found.text == GOOD
    assert found.title == "Damper motor"
    assert found.metadata["merged_by"] == "writes"
    assert len(found.metadata["merged_from"].split()) == 3
    assert not done.note
    assert "2026-03-01: The damper motor stalls" in model.prompts[0]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (said(GOOD.replace("DAMPER_WAIT", "the wait")), 'lacks "DAMPER_WAIT"'),
        (said(GOOD.replace("4 A", "some current")), 'lacks "4"'),
        (said(GOOD.replace("flue.toml", "the file")), 'lacks "flue.toml"'),
        (said("Dry the flue."), "less than 50 characters"),
        (said(f"I'm sorry, but {GOOD}"), "i'm sorry"),
        (said(GOOD + " More of it." * 30), "1.5 times"),
        (said(""), "no text"),
        ("no JSON at all", "no text"),
        (None, "the model is down"),
    ],
)
def test_an_answer_of_no_use_leaves_what_rules_merge(merged, answer, why):
    found, done, _ = merged(answer)
    assert all(note in found.text for note in NOTES)
    assert why in done.note
    assert "merged_by" not in found.metadata


def test_nobody_is_asked_where_rules_are_to_merge(merged):
    found, done, model = merged(said(GOOD), by="rules")
    assert not model.prompts
    assert NOTES[0] in found.text
    assert not done.note
