"""Cosines of chunks that another list found: as a search would score them, from the files where there are."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.backends import fake, lightrag
from ragmem.backends.lightrag.rows import schema
from ragmem.backends.lightrag.rows import vectors as rows
from ragmem.backends.lightrag.vectors import segments
from ragmem.backends.lightrag.vectors.vector_index import VectorIndex
from ragmem.storage.sql.sqlite import SQLiteDatabase
from ragmem.testing import make_record

MODEL = "made-up"
COUNT = 4000
RECORD = make_record("redis", "redis caches the sessions\n\nkafka carries the events")


def clustered(count, *, seed=0):
    chance = np.random.default_rng(seed)
    rows = chance.normal(size=(60, 64))[chance.integers(60, size=count)] + 0.8 * chance.normal(
        size=(count, 64)
    )
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def add(database, vectors, *, start=0, workspace="user", namespace="chunks", model=MODEL):
    with database.write() as connection:
        rows.insert(
            connection,
            [
                (workspace, namespace, f"{workspace}-{start + n}", "m", "", model, *segments.quantise(row), 0)
                for n, row in enumerate(vectors)
            ],
        )


@pytest.fixture
def database(tmp_path):
    database = SQLiteDatabase(tmp_path / "home")
    schema.create(database)
    yield database
    database.close()


@pytest.fixture
def vectors(database):
    vectors = clustered(COUNT)
    add(database, vectors)
    return vectors


class CountingModels:
    """The fake's models, and how many texts were embedded as questions."""

    def __init__(self):
        self._embedder = fake.open_models({}).embedder
        self.model_id, self.dimensions = self._embedder.model_id, self._embedder.dimensions
        self.embedder = self
        self.questions = 0

    def embed(self, texts, *, role):
        self.questions += len(texts) if role == "query" else 0
        return self._embedder.embed(texts, role=role)


@pytest.mark.parametrize("searched_before", [True, False])
def test_mapped_rows_and_rows_put_since_score_as_in_a_search(database, vectors, searched_before):
    index = VectorIndex(database)
    if searched_before:
        index.search("chunks", MODEL, vectors[0], limit=1)
    add(database, clustered(30, seed=5), start=COUNT)
    question = clustered(1, seed=9)[0]
    scores = {hit.id: hit.score for hit in index.search("chunks", MODEL, question, limit=COUNT + 30)}
    keys = [f"user-{n}" for n in (0, 17, COUNT - 1, COUNT, COUNT + 29)]
    found = index.similarities(MODEL, question, [*keys, "user-99999"])
    assert set(found) == set(keys)
    for key in keys:
        assert found[key] == pytest.approx(scores.get(key, found[key]), abs=1e-5)
        exact = float(np.vstack([vectors, clustered(30, seed=5)])[int(key[5:])] @ question)
        assert found[key] == pytest.approx(exact, abs=0.02)


def test_a_chunk_that_was_deleted_is_absent_though_the_files_have_it(database, vectors):
    index = VectorIndex(database)
    index.search("chunks", MODEL, vectors[0], limit=1)
    with database.write() as connection:
        connection.execute("DELETE FROM store_chunks WHERE id = 'user-3'")
    assert set(index.similarities(MODEL, vectors[0], ["user-3", "user-4"])) == {"user-4"}


def test_vectors_of_another_model_or_kind_are_no_chunks(database, vectors):
    add(database, vectors[:1], namespace="entities", workspace="entity")
    add(database, vectors[:1], model="another", workspace="another")
    index = VectorIndex(database)
    assert index.similarities(MODEL, vectors[0], ["entity-0", "another-0"]) == {}
    assert set(index.similarities("another", vectors[0], ["another-0", "user-0"])) == {"another-0"}


def test_a_question_that_was_searched_is_not_embedded_again(database):
    models = CountingModels()
    store = lightrag.open_store({}, models, database=database)
    store.put([RECORD])
    chunks = [chunk.id for chunk in RECORD.chunks]
    store.search("sessions", limit=3)
    assert set(store.similarities("sessions", chunks)) == set(chunks)
    assert models.questions == 1
    store.similarities("events", chunks)
    assert models.questions == 2
    store.close()


@given(
    held=st.sets(st.integers(1, 60), min_size=1),
    asked=st.sets(st.integers(0, 61)),
    copied=st.sampled_from([0, segments.COPIED]),
)
def test_rows_are_found_by_their_numbers_wherever_they_stand(held, asked, copied):
    scale, codes = segments.quantise(np.ones(64, np.float32))
    segment = segments.from_rows([(seq, "user", scale, codes) for seq in sorted(held)], 64)
    with mock.patch.object(segments, "COPIED", copied):
        places = segment.places_of(np.array(list(asked), np.int64))
    assert segment.seqs[places].tolist() == sorted(held & asked)


def test_what_another_process_has_removed_or_put_since_is_known(database, vectors):
    index, keys = VectorIndex(database), ["user-0", "user-9999"]
    assert index.search("chunks", MODEL, vectors[0], limit=1)[0].id == "user-0"
    assert index.similarities(MODEL, vectors[0], keys).keys() == {"user-0"}
    other = SQLiteDatabase(database.home)
    with other.write() as connection:
        connection.execute("DELETE FROM store_chunks WHERE id = 'user-0'")
    add(other, vectors[:1], start=9999)
    other.close()
    assert index.similarities(MODEL, vectors[0], keys).keys() == {"user-9999"}
    assert index.search("chunks", MODEL, vectors[0], limit=1)[0].id == "user-9999"
