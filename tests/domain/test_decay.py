import json
import math
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.domain.decay import (
    DEFAULT,
    DEFAULT_HALF_LIVES,
    DecayPolicy,
    age_days,
    bounded_score,
    final_score,
    published_recency,
    recency,
)
from ragmem.domain.model import Kind

DAYS = st.floats(min_value=0, max_value=1e5)
HALF_LIVES = st.floats(min_value=0.01, max_value=1e4)


def test_the_defaults_are_those_of_the_shipped_file():
    shipped = json.loads((Path(__file__).parents[2] / "decay.json").read_text(encoding="utf-8"))
    assert shipped["weights"] == {"semantic": DEFAULT.semantic_weight, "recency": DEFAULT.recency_weight}
    assert shipped["half_lives_days"] == {str(kind): days for kind, days in DEFAULT.half_lives_days.items()}
    assert shipped["min_score_threshold"] == DEFAULT.min_score
    assert [shipped[key] for key in ("bound", "fresh_share", "fresh_days")] == [
        DEFAULT.bound,
        DEFAULT.fresh_share,
        DEFAULT.fresh_days,
    ]


@given(DAYS, DAYS, HALF_LIVES)
def test_recency_never_rises_with_age(one, other, half_life):
    young, old = sorted((one, other))
    assert recency(old, half_life) <= recency(young, half_life)


@given(HALF_LIVES)
def test_published_recency_is_a_half_at_the_half_life(half_life):
    assert math.isclose(published_recency(half_life, half_life), 0.5)
    assert math.isclose(recency(half_life, half_life, DecayPolicy(fresh_share=0)), 0.5)


def test_the_first_day_takes_more_of_the_recency_than_the_first_half_life():
    assert recency(0, 60) == 1
    assert math.isclose(recency(1, 1e9), 0.7)
    assert recency(60, 60) == pytest.approx(0.2)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_age_takes_no_more_of_a_score_than_the_bound(relevance, recent, bound):
    policy = DecayPolicy(bound=bound)
    score = bounded_score(relevance, recent, policy)
    assert relevance * (1 - bound) - 1e-12 <= score <= relevance + 1e-12
    assert math.isclose(bounded_score(relevance, 1, policy), relevance)


@given(DAYS, HALF_LIVES)
def test_recency_lies_between_nought_and_one(age, half_life):
    assert 0 <= recency(age, half_life) <= 1


def test_an_event_after_the_moment_asked_of_is_as_far_away_as_one_before():
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert age_days(now + timedelta(days=3), now) == 3
    assert age_days(now - timedelta(hours=36), now) == 1.5


@given(st.floats(0, 1), st.floats(0, 1))
def test_the_score_is_the_weighted_sum(semantic, recent):
    assert math.isclose(final_score(semantic, recent), 0.7 * semantic + 0.3 * recent, abs_tol=1e-12)
    assert final_score(semantic, recent, DecayPolicy(1, 0)) == semantic


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"semantic_weight": -0.1}, "weights.semantic"),
        ({"recency_weight": math.nan}, "weights.recency"),
        ({"semantic_weight": 0, "recency_weight": 0}, "weights"),
        ({"half_lives_days": {**DEFAULT_HALF_LIVES, Kind.ERROR: 0}}, "half_lives_days.error"),
        ({"half_lives_days": {**DEFAULT_HALF_LIVES, Kind.ERROR: math.inf}}, "half_lives_days.error"),
        ({"half_lives_days": {Kind.ERROR: 1}}, "half_lives_days.preference"),
        ({"min_score": 1.5}, "min_score_threshold"),
        ({"min_score": math.nan}, "min_score_threshold"),
        ({"bound": -0.1}, "bound"),
        ({"fresh_share": 1.1}, "fresh_share"),
        ({"fresh_days": 0}, "fresh_days"),
    ],
)
def test_a_policy_that_makes_no_sense_names_its_key(change, key):
    with pytest.raises(ValueError, match=key):
        DecayPolicy(**change)


def test_each_kind_has_its_half_life():
    assert DEFAULT.half_life(Kind.PREFERENCE) == 180
    assert DEFAULT.half_life(Kind.RESEARCH) == 30
