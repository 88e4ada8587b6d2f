"""Memories and questions in other languages than English, with the model that ragmem brings."""

import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from ragmem.api.memory import Ragmem
from ragmem.backends.minilm import embedder
from ragmem.domain.model import Draft, Scope
from ragmem.services.doctor.invariants import violations
from ragmem.services.retrieval.calibration import DEFAULT, write
from ragmem.services.retrieval.question import Question
from ragmem.storage.fulltext import terms

NOTES = {
    "lock": "Die Sperre für Bestellungen liegt jetzt in der Datenbank, weil der Cache beim Ausfall die"
    " Sperren verloren hat.",
    "backup": "Jede Nacht um drei laufen die Sicherungen der Datenbank auf den Server hera; das Kennwort"
    " steht im Tresor.",
    "review": "Änderungen am Schema brauchen zwei Freigaben, bevor sie in den Hauptzweig dürfen.",
    "cache": "Der Zwischenspeicher der Bilder wird nach einer Stunde geleert, sonst läuft die Platte voll.",
    "tests": "Die langsamen Tests laufen nur noch nachts, damit die Pipeline am Tag schnell bleibt.",
}
CHINESE = "数据库备份每天凌晨三点运行，失败后需要手动重启。"


@pytest.fixture
def memory(tmp_path):
    with open_home(tmp_path) as opened:
        yield opened


def open_home(folder) -> Ragmem:
    return Ragmem.open(environ={"RAGMEM_HOME": str(folder / "ragmem")}, home=folder, cwd=folder)


def fill(memory: Ragmem) -> None:
    notes = {**NOTES, "zh": CHINESE, "en": "We rotate the access keys of the bucket every ninety days."}
    memory.ingest(
        [Draft("ingest", uri, text, uri, scope=Scope("user")) for uri, text in notes.items()], rule="off"
    )


def first(memory: Ragmem, question: str) -> str:
    matches = memory.query(question).matches
    return matches[0].memory.uri if matches else ""


@pytest.mark.parametrize(
    ("question", "note"),
    [
        ("Wo werden Bestellungen gesperrt?", "lock"),
        ("Wann wird die Datenbank gesichert?", "backup"),
        ("Datenbanksicherung", "backup"),
        ("where do the database backups run at night", "backup"),
        ("how many approvals does a schema change need", "review"),
        ("when is the image cache cleared", "cache"),
        ("数据库什么时候备份", "zh"),
        ("when are access keys rotated", "en"),
    ],
)
def test_a_question_in_any_of_the_languages_finds_its_note(memory, question, note):
    fill(memory)
    found = [match.memory.uri for match in memory.query(question).matches[:2]]
    assert note in (found[:1] if note not in {"backup", "zh"} else found)


@pytest.mark.parametrize(
    "question",
    [
        "Wie viele Spieler hat eine Mannschaft beim Handball?",
        # Both share a word with a note.
        "Welche Pflanzen brauchen im Winter wenig Wasser?",
        "Wie viele Stunden Schlaf braucht ein Kind in der Nacht?",
        # Unknown words are near to each other.
        "Wie viele Stunden dauert ein Flug am Tag nach Lissabon?",
        "Welche Impfungen brauche ich für eine Reise nach Kenia?",
    ],
)
def test_a_question_about_something_else_is_met_with_silence(memory, question):
    fill(memory)
    answer = memory.query(question)
    assert answer.matches == ()
    assert answer.notes == ("no memory is relevant enough to answer this; --nearest shows the nearest",)
    assert memory.query(question, question=Question(question, nearest=True)).matches


def test_the_floor_rises_with_the_store(memory):
    fill(memory)
    museum = "Wie alt werden Schlüssel aus Gold im Museum?"
    assert memory.query(museum).matches, "a small store is no measure: its words are few"
    model = memory.models.embedder.model_id
    high = replace(DEFAULT, model=model, chunks=10, cosine=replace(DEFAULT.cosine, mean=0.3))
    write(memory.catalog.database, high)
    assert memory.query(museum).matches == ()
    assert first(memory, "Wann wird die Datenbank gesichert?") == "backup"


def test_an_everyday_question_is_answered_where_a_note_tells_it(memory):
    fill(memory)
    text = "Die Tomaten werden im Februar ausgesät und erst nach dem letzten Frost ins Beet gesetzt."
    memory.ingest([Draft("ingest", "garden", text, "garden", scope=Scope("user"))], rule="off")
    assert first(memory, "Ab wann dürfen die Tomaten nach draußen ins Beet?") == "garden"


def test_an_english_question_is_answered_by_a_foreign_note_with_a_low_cosine(memory):
    memory.ingest(
        [Draft("ingest", uri, text, uri, scope=Scope("user")) for uri, text in NOTES.items()], rule="off"
    )
    answer = memory.query("where is the passphrase kept")
    assert [match.memory.uri for match in answer.matches] == ["backup"]
    assert answer.evidence["margin"] < 0
    assert memory.query("Which rivers flow into the Black Sea?").matches == ()


def test_a_paraphrase_meets_the_floor_of_its_language(memory):
    fill(memory)
    question = "Which rivers flow into the Black Sea?"
    assert memory.query(question).matches == ()
    memory.retrieval.expand = lambda text: (("Datenbanksicherung",), "")
    matches = memory.query(question, question=Question(question, expand=True)).matches
    assert "backup" in [match.memory.uri for match in matches]


def test_an_excerpt_and_a_phrase_are_of_the_text_itself(memory):
    fill(memory)
    matches = memory.query('"zwei Freigaben"').matches
    assert [match.memory.uri for match in matches] == ["review"]
    assert matches[0].memory.text == NOTES["review"]


NAMES_OF_11 = """
DROP INDEX entity_names_by_node;
DROP INDEX entity_names_by_form;
ALTER TABLE entity_names DROP COLUMN head;
ALTER TABLE entity_names DROP COLUMN canonical;
ALTER TABLE entity_names ADD COLUMN head TEXT;
ALTER TABLE entity_names ADD COLUMN canonical TEXT;
UPDATE entity_names SET head = coalesce(spelling, name), canonical = coalesce(node, name);
ALTER TABLE entity_names DROP COLUMN spelling;
ALTER TABLE entity_names DROP COLUMN node;
"""
"""The columns of names as catalog 11 has them, of those of today."""


ROWS_OF_5 = """
DROP TRIGGER store_chunks_removed;
CREATE TEMP TABLE vectors_of_today AS SELECT * FROM store_vectors;
DROP VIEW store_vectors;
DROP TABLE store_chunk_vectors;
DROP TABLE store_vector_models;
DROP INDEX store_name_vectors_by_id;
DROP INDEX store_name_vectors_by_age;
ALTER TABLE store_name_vectors RENAME TO store_vectors;
DELETE FROM store_vectors;
INSERT INTO store_vectors SELECT *, 0 FROM vectors_of_today;
DROP INDEX store_nodes_by_name;
ALTER TABLE store_nodes DROP COLUMN folded;
ALTER TABLE store_nodes ADD COLUMN folded TEXT NOT NULL DEFAULT '';
UPDATE store_nodes SET folded = coalesce(lowered, lower(id));
UPDATE store_edges SET weight = weight / 1000;
UPDATE store_evidence SET weight = weight / 1000;
ALTER TABLE store_nodes DROP COLUMN lowered;
ALTER TABLE store_chunks DROP COLUMN nodes;
CREATE INDEX store_nodes_by_name ON store_nodes (space, folded);
"""
"""The same for the rows of store 5."""


def test_a_home_of_a_release_that_knew_english_alone_learns_the_others(tmp_path, monkeypatch):
    with monkeypatch.context() as english:
        english.setattr(embedder, "in_english", lambda text: text)
        english.setattr(terms, "foreign_language", lambda text: None)
        with open_home(tmp_path) as before:
            fill(before)
            assert first(before, "how many approvals does a schema change need") != "review"
        terms._terms_of_field.cache_clear()
    with closing(sqlite3.connect(tmp_path / "ragmem" / "data" / "memory.db")) as connection, connection:
        connection.executescript(NAMES_OF_11 + ROWS_OF_5 + "ALTER TABLE memories DROP COLUMN clean_hash;")
        connection.execute("DELETE FROM migrations WHERE component = 'catalog' AND version >= 12")
        connection.execute("DELETE FROM migrations WHERE component = 'store' AND version >= 6")
        connection.execute("PRAGMA user_version = 11")
        connection.execute("UPDATE storage_meta SET value = '5' WHERE key = 'version'")
    with open_home(tmp_path) as after:
        after.inbox.index_pending()
        assert first(after, "how many approvals does a schema change need") == "review"
        assert violations(after.catalog, after.store, deep=True) == []
