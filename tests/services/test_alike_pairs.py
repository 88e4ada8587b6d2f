"""Many pairs judged at once are judged as one by one."""

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.config import ChunkingSettings
from ragmem.domain.lifecycle import Entry
from ragmem.domain.likeness import Usual, by_words, likeness
from ragmem.domain.model import Draft, Scope
from ragmem.domain.redaction import DEFAULT
from ragmem.services.alike_pairs import _alike, _Words
from ragmem.services.judge import judge

NOW = datetime(2026, 3, 1, tzinfo=UTC)
COSINES = st.floats(-1, 1, width=32)


def entry(number, text):
    draft = Draft("notes", f"/{number}", text, scope=Scope("farm"))
    return Entry(judge(draft, now=NOW, sizes=ChunkingSettings(), rule="off", redactor=DEFAULT).memory, number)


@given(st.floats(-0.2, 0.8), st.floats(0.01, 0.5), st.lists(st.tuples(COSINES, COSINES), min_size=1))
def test_many_pairs_are_as_alike_as_one_by_one(middle, spread, pairs):
    usual = Usual(middle, spread)
    cosines, words = (np.array(part, np.float32) for part in zip(*pairs, strict=True))
    shared, strong = _alike(usual, cosines, words.astype(np.float64))
    told = zip(cosines.tolist(), words.tolist(), shared.tolist(), strong.tolist(), strict=True)
    for cosine, word, both, alike in told:
        assert both == pytest.approx(by_words(word), abs=1e-12)
        assert alike == pytest.approx(likeness(usual.standing_out(cosine), by_words(word)), abs=1e-12)


def test_the_words_of_pairs_are_compared_as_vectors_of_unit_length():
    texts = ["alpha beta gamma", "alpha beta gamma", "delta", "1 2 3", "gamma delta epsilon", "42"]
    words = _Words((entry(number, text), ()) for number, text in enumerate(texts))
    ones, others = np.array([0, 0, 0, 2, 2, 4]), np.array([1, 2, 3, 4, 5, 5])
    found = words.cosines(ones, others)
    assert found[0] == pytest.approx(1.0)
    assert found[[1, 2, 4, 5]].tolist() == [0.0, 0.0, 0.0, 0.0]
    assert 0.0 < found[3] < 1.0
    assert words.cosines(np.empty(0, np.intp), np.empty(0, np.intp)).tolist() == []
