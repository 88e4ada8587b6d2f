"""How good a hit must be in a store: measured by questions that it has no answer to."""

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.api.memory import Ragmem
from ragmem.backends import fake
from ragmem.backends.minilm.embedder import MiniLmEmbedder
from ragmem.config.settings import ChunkingSettings
from ragmem.domain.model import Draft
from ragmem.services.ingestion.ingest import ingest
from ragmem.services.models.trial import PAIRS
from ragmem.services.processes.progress import Silent
from ragmem.services.retrieval import calibration
from ragmem.services.retrieval.calibration import (
    DEFAULT,
    FROM_CHUNKS,
    Spread,
    calibration_of_model,
    generic_questions,
    on_bundled_scale,
)
from ragmem.services.retrieval.query import Question
from ragmem.services.retrieval.select import coverage_margin, relevance_margin
from ragmem.services.vectors.cosine_scale import ELSEWHERE
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.sql.sqlite import SQLiteDatabase

MODEL = fake.MODEL_ID
SUBJECTS = ("parser", "ledger", "queue", "invoice", "cache", "gateway")


@pytest.fixture
def home(tmp_path):
    database = SQLiteDatabase(tmp_path / "home")
    catalog = Catalog(database)
    catalog.prepare()
    store = fake.open_store({}, fake.open_models({}), database=database)
    drafts = [
        Draft(
            source="notes",
            uri=f"/notes/{number}",
            title=f"Decision {number} on the {subject}",
            text=f"We decided in round {number} that the {subject} writes to disk, because it lost rows.",
        )
        for number, subject in enumerate(SUBJECTS * 4)
    ]
    ingest(
        catalog,
        lambda: store,
        drafts,
        now=datetime(2026, 1, 1, tzinfo=UTC),
        sizes=ChunkingSettings(),
        progress=Silent(),
    )
    yield catalog, store
    store.close()
    database.close()


def test_generic_questions_score_lower_than_the_stores_own_titles(home):
    measured = calibration.calibrate(*home, model=MODEL)
    assert measured.own is not None
    assert measured.own.median > measured.cosine.high
    assert 0 <= measured.coverage.mean < 0.7
    assert measured.chunks == home[1].statistics()["chunks"]


def test_what_was_measured_is_kept_for_its_model(home):
    catalog, store = home
    measured = calibration.calibrate(catalog, store, model=MODEL)
    assert calibration.read(catalog.database, MODEL) is None
    calibration.write(catalog.database, measured)
    calibration.write(catalog.database, measured)
    assert calibration.read(catalog.database, MODEL) == measured
    assert calibration.read(catalog.database, "another") is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"model": "m", "chunks": 3, "cosine": 7}'])
def test_what_cannot_be_read_counts_as_not_measured(home, text):
    catalog, _ = home
    with catalog.database.write() as connection:
        connection.execute("INSERT INTO meta VALUES (?, ?)", (calibration.KEY + MODEL, text))
    assert calibration.read(catalog.database, MODEL) is None


def test_nothing_is_measured_before_there_is_a_database(tmp_path):
    database = SQLiteDatabase(tmp_path / "nowhere")
    assert calibration.read(database, MODEL) is None
    assert not database.exists()


def test_a_store_is_measured_when_it_is_large_enough_and_again_when_it_has_grown(home, monkeypatch):
    catalog, store = home
    assert calibration.refresh_calibration(catalog, store, model=MODEL) is None
    monkeypatch.setattr(calibration, "FROM_CHUNKS", 20)
    first = calibration.refresh_calibration(catalog, store, model=MODEL)
    assert first == calibration.read(catalog.database, MODEL)
    calibration.write(catalog.database, replace(first, chunks=first.chunks - 1))
    assert calibration.refresh_calibration(catalog, store, model=MODEL).chunks == first.chunks - 1
    calibration.write(catalog.database, replace(first, chunks=first.chunks // 2))
    assert calibration.refresh_calibration(catalog, store, model=MODEL).chunks == first.chunks


@given(st.integers(FROM_CHUNKS, 10**6))
def test_a_store_is_not_measured_again_at_the_same_size(chunks):
    known = replace(DEFAULT, chunks=chunks)
    assert not calibration.is_due(known, chunks)
    assert calibration.is_due(known, chunks * 2)
    assert calibration.is_due(None, chunks)
    assert not calibration.is_due(None, FROM_CHUNKS - 1)


def test_a_good_match_is_an_answer_and_a_poor_one_is_none():
    assert relevance_margin(0.5, DEFAULT).margin > 0 > relevance_margin(0.2, DEFAULT).margin


@given(st.floats(0, 0.7), st.floats(0, 0.5))
def test_a_store_where_more_is_near_by_chance_asks_for_more(relevance, background):
    quiet = replace(DEFAULT, cosine=replace(DEFAULT.cosine, mean=background))
    noisy = replace(DEFAULT, cosine=replace(DEFAULT.cosine, mean=background + 0.1))
    margin = relevance_margin(relevance, quiet).margin
    assert relevance_margin(relevance + 0.1, quiet).margin > margin
    assert relevance_margin(relevance, noisy).margin < margin


@given(st.floats(0, 0.7))
def test_a_question_of_which_no_word_is_there_asks_for_more(relevance):
    assert (
        relevance_margin(relevance, DEFAULT, by_words=False).margin
        < relevance_margin(relevance, DEFAULT).margin
    )


def test_without_vectors_coverage_decides():
    assert coverage_margin(0.9, DEFAULT).margin > 0 > coverage_margin(0.2, DEFAULT).margin


def test_a_spread_orders_its_parts():
    spread = Spread.of([0.1, 0.4, 0.2, 0.3])
    assert spread.low <= spread.median <= spread.high
    assert spread.mean == pytest.approx(0.25)


def test_the_generic_questions_are_different():
    assert len(set(generic_questions())) == len(generic_questions()) >= 80


class CloseCosines:
    """The bundled model with cosines near 0.8, as those of E5: one number more that all vectors share."""

    model_id, dimensions, window = "close", 385, 254

    def __init__(self, share):
        self._embedder, self._share = MiniLmEmbedder(), share

    def embed(self, texts, *, role):
        vectors = self._embedder.embed(texts, role=role) * (1 - self._share) ** 0.5
        return np.hstack([vectors, np.full((len(texts), 1), self._share**0.5, np.float32)])

    def close(self):
        self._embedder.close()


@pytest.mark.parametrize("share", [0.0, 0.75, 0.88])
def test_a_model_whose_cosines_lie_elsewhere_answers_a_small_store_as_the_bundled_one(share):
    embedder = CloseCosines(share)
    known, scale = on_bundled_scale(calibration_of_model(embedder))
    assert known.cosine.mean == pytest.approx(ELSEWHERE)
    notes, questions = (embedder.embed([pair[n] for pair in PAIRS], role="document") for n in (0, 1))
    plain = MiniLmEmbedder()
    original = plain.embed([PAIRS[3][1]], role="query") @ plain.embed([PAIRS[3][0]], role="document").T
    assert scale(float(questions[3] @ notes[3])) == pytest.approx(float(original[0, 0]), abs=0.01)


def test_titles_that_are_no_questions_leave_the_scale_to_notes_of_ours(home):
    catalog, store = home
    embedder = CloseCosines(0.8)
    with catalog.database.write() as connection:
        connection.execute("UPDATE memories SET title = 'Time: 20260525_15:00'")
    measured = calibration.calibrate(catalog, store, model="close", embedder=embedder)
    assert (measured.cosine, measured.own) == (
        calibration_of_model(embedder).cosine,
        calibration_of_model(embedder).own,
    )
    assert measured.chunks == store.statistics()["chunks"]
    assert on_bundled_scale(measured)[1] is not None


def test_a_model_that_knows_no_texts_apart_gets_no_calibration():
    assert calibration_of_model(fake.open_models({}).embedder) is None


def test_a_small_store_of_another_model_is_scaled_by_notes_of_ours(tmp_path, monkeypatch):
    monkeypatch.setattr("ragmem.backends.minilm.MiniLmEmbedder", lambda **_: CloseCosines(0.8))
    environ = {"RAGMEM_HOME": str(tmp_path), "RAGMEM_CONTEXT_WARM": "false"}
    with Ragmem.open(environ=environ, home=tmp_path, cwd=tmp_path) as memory:
        memory.ingest([Draft("notes", f"/{n}", note, title="") for n, (note, _) in enumerate(PAIRS)])
        memory.retrieval.calibrate()
        for note, question in PAIRS[:4]:
            (best, *_) = memory.retrieval.ask(Question(question, limit=3)).matches
            assert best.memory.text == note
            assert best.terms["cosine"] < 0.75
        assert memory.retrieval.ask(Question("what is the capital of Mongolia")).matches == ()
