"""The cosines of other models than the bundled one mean what those of the bundled one mean."""

import pytest

from ragmem.api.memory import Ragmem
from ragmem.domain.model import Draft
from ragmem.services.retrieval.calibration import Calibration, Spread, write
from ragmem.services.retrieval.query import Question
from ragmem.services.vectors.cosine_scale import ELSEWHERE, OWN, scale_between

QUESTION = "which driver do we pin because of the leak"


@pytest.fixture
def memory(tmp_path):
    environ = {
        "RAGMEM_HOME": str(tmp_path),
        "RAGMEM_MODELS_BACKEND": "fake",
        "RAGMEM_CONTEXT_WARM": "false",
    }
    with Ragmem.open(environ=environ, home=tmp_path, cwd=tmp_path) as opened:
        opened.ingest(
            [
                Draft(
                    "notes", f"/{n}", f"We decided to pin driver {n} because of leak {n}.", title=f"Note {n}"
                )
                for n in range(5)
            ]
        )
        yield opened


def calibrate(memory, *, elsewhere, own, deviation=0.01):
    flat = Spread(elsewhere, deviation, elsewhere, elsewhere, elsewhere)
    known = Calibration(
        memory.models.embedder.model_id, 5, flat, Spread(0.3, 0.1, 0, 0.3, 0.6), Spread(own, 0, own, own, own)
    )
    write(memory.catalog.database, known)


def first(memory, question=QUESTION):
    answer = memory.retrieval.ask(Question(question, limit=5))
    return {match.memory.title: match.terms for match in answer.matches}


@pytest.mark.parametrize(("elsewhere", "own"), [(0.8, 0.9), (0.1, 0.6), (0.2, 0.7), (-0.1, 0.95)])
def test_the_landmarks_of_a_model_become_those_of_the_bundled_one(elsewhere, own):
    scale = scale_between(elsewhere, own, deviation=0.01)
    assert scale(elsewhere) == pytest.approx(ELSEWHERE)
    assert scale(own) == pytest.approx(OWN)
    assert -1 <= scale(-1) < scale(elsewhere) < scale(own) < scale(1) <= 1 or scale(1) == 1


@pytest.mark.parametrize(
    ("elsewhere", "own", "deviation"),
    [(0.925, 0.948, 0.022), (0.5, 0.6, 0.06), (0.6, 0.0, 0.01), (0.6, 0.6, 0.0)],
)
def test_landmarks_that_tell_nothing_give_no_scale(elsewhere, own, deviation):
    assert scale_between(elsewhere, own, deviation=deviation) is None


def test_an_answer_has_the_cosines_of_the_scale(memory):
    plain = first(memory)
    calibrate(memory, elsewhere=-0.5, own=0.75)
    scaled = first(memory)
    assert scaled.keys() == plain.keys()
    for title, terms in scaled.items():
        assert terms["cosine"] == pytest.approx(0.4 * plain[title]["cosine"] + 0.4)


def test_a_question_about_something_else_is_answered_with_nothing(memory):
    asked = "we simmer lentils because of hunger"
    assert first(memory, asked), "without a calibration no question is"
    raw = max(terms["cosine"] for terms in first(memory, asked).values())
    calibrate(memory, elsewhere=raw + 0.2, own=raw + 0.4)
    assert first(memory, asked) == {}


def test_a_model_that_knows_no_texts_apart_keeps_its_cosines(memory):
    plain = first(memory)
    calibrate(memory, elsewhere=0.9, own=0.91)
    found = memory.retrieval.ask(Question(QUESTION, limit=5, nearest=True)).matches
    assert found[0].terms["cosine"] == pytest.approx(plain[found[0].memory.title]["cosine"])
