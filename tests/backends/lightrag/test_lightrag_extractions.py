"""What was extracted from a document is stored once: a sentence as its place in the text of the memory."""

import sqlite3
import zlib
from contextlib import closing

import orjson
from hypothesis import given
from hypothesis import strategies as st

from ragmem.api.memory import Ragmem
from ragmem.backends.lightrag.rows import compaction, extractions
from tests.storage.sql.test_migrations import unpack

NAMES = st.sampled_from(["Redis", "Kafka", "a b", "é", ""])
SENTENCES = st.sampled_from(
    ["Redis holds the carts.", "It holds  them\nlong.", "Nobody wrote this.", "", "x", "\u3000wide"]
)
ENTITIES = st.fixed_dictionaries({"name": NAMES, "type": NAMES, "description": SENTENCES})
RELATIONS = st.fixed_dictionaries(
    {
        "source": NAMES,
        "target": NAMES,
        "keywords": NAMES,
        "description": SENTENCES,
        "weight": st.floats(0, 9, allow_nan=False),
    }
)
FOUND = st.dictionaries(
    st.integers(0, 5), st.tuples(st.lists(ENTITIES, max_size=3), st.lists(RELATIONS, max_size=3)), max_size=4
)
TEXTS = st.lists(SENTENCES, max_size=6).map(" ".join)

MENTION = [{"name": "Redis", "type": "tool", "description": "Redis holds the carts."}]
RELATION = [
    {"source": "Redis", "target": "Kafka", "keywords": "feeds", "description": "It feeds it.", "weight": 1.5}
]


@given(found=FOUND, text=TEXTS)
def test_what_was_extracted_is_read_with_the_text_as_it_was(found, text):
    named = {key: rows for key, rows in found.items() if any(rows)}
    described = {key: [*map(_with_description, rows)] for key, rows in named.items()}
    read = extractions.decode(extractions.encode(found, text), text)
    assert {key: [*rows] for key, rows in read.items()} == described
    assert extractions.decode(extractions.encode(found)) == read


def _with_description(rows):
    return [row | {"description": row["description"] or row.get("name", _relation_of(row))} for row in rows]


def _relation_of(row):
    return " ".join(row.get(field, "") for field in ("source", "keywords", "target"))


def test_a_sentence_of_the_text_is_not_stored_again():
    text = "First\nof all,\n\n  Redis   holds\nthe carts. It feeds it."
    stored = zlib.decompress(extractions.encode({0: (MENTION, RELATION)}, text))
    assert b"holds" not in stored
    assert b"feeds it" not in stored
    assert extractions.decode(extractions.encode({0: (MENTION, RELATION)}, text), text) == {
        0: (MENTION, RELATION)
    }


def test_what_an_earlier_release_stored_as_plain_numbers_is_read():
    text = "Kafka feeds Redis. Redis holds the carts."
    found = {
        0: ([{"name": "Kafka", "type": "tool", "description": "Kafka feeds Redis."}], []),
        2: (MENTION, [RELATION[0] | {"description": "Kafka feeds Redis."}]),
    }
    names, numbers = ["Kafka", "Redis"], [[0, 1], [0, 0], [0, 1]]
    places, chunks = [0, 18, 19, 22], [[0, 1, 0], [2, 1, 1]]
    relations = [[1], [0], [0], [0], [1.5]]
    content = [names, ["tool"], ["feeds"], [], zlib.crc32(text.encode()), places, chunks, numbers, relations]
    assert extractions.decode(zlib.compress(orjson.dumps(content)), text) == found
    assert extractions.decode(extractions.encode(found, text), text) == found


def test_names_stand_for_sentences_of_a_text_that_has_changed():
    stored = extractions.encode({2: (MENTION, RELATION)}, "Redis holds the carts. It feeds it.")
    for text in ("Redis holds the cards. It feeds it.", "", None):
        entities, relations = extractions.decode(stored, text)[2]
        assert entities == [MENTION[0] | {"description": "Redis"}]
        assert relations == [RELATION[0] | {"description": "Redis feeds Kafka"}]


def test_a_migrated_home_describes_entities_as_before(tmp_path):
    path = unpack("schema-15", tmp_path / "ragmem" / "data")
    query = "SELECT id, extractions FROM store_documents WHERE extractions IS NOT NULL"
    with closing(sqlite3.connect(path)) as connection:
        before = {key: compaction._decode_sentences(stored) for key, stored in connection.execute(query)}
    environ = {"RAGMEM_HOME": str(tmp_path / "ragmem"), "RAGMEM_MODELS_BACKEND": "fake"}
    with Ragmem.open(environ=environ, home=tmp_path, cwd=tmp_path) as memory:
        assert memory.store.memory_ids()
        with memory.catalog.database.read() as connection:
            rows = connection.execute(query).fetchall()
        texts = {one.id: one.indexed_text for one in memory.catalog.memories.each()}
        assert {key: extractions.decode(stored, texts[key]) for key, stored in rows} == before
        assert sum(len(zlib.decompress(stored)) for _, stored in rows) < sum(
            len(sentence["description"])
            for found in before.values()
            for entities, _ in found.values()
            for sentence in entities
        )
