import json
import math
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.domain.model import Kind
from ragmem.domain.model.decay import (
    DEFAULT,
    DEFAULT_HALF_LIVES,
    DecayPolicy,
    age_days,
    bounded_score,
    final_score,
    published_recency,
    recency,
)

DAYS = st.floats(min_value=0, max_value=1e5)
HALF_LIVES = st.floats(min_value=0.01, max_value=1e4)


def test_the_defaults_are_those_of_the_shipped_file():
    shipped = json.loads((Path(__file__).parents[3] / "decay.json").read_text(encoding="utf-8"))
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


RELEVANCES = st.floats(0.01, 1)
RECENCIES = st.floats(0, 1)
WEIGHTS = st.tuples(st.floats(0, 10), st.floats(0, 10)).filter(lambda pair: sum(pair) > 0)


def weighing(semantic, recent, **more):
    return DecayPolicy(semantic_weight=semantic, recency_weight=recent, **more)


@given(RELEVANCES, RECENCIES, st.floats(0.01, 100))
def test_weights_as_shipped_or_in_their_proportion_leave_the_measured_score(relevance, recent, scale):
    policy = weighing(0.7 * scale, 0.3 * scale)
    assert math.isclose(bounded_score(relevance, recent, policy), relevance * (1 - 0.2 * (1 - recent)))


@given(st.tuples(RELEVANCES, RELEVANCES), st.tuples(RECENCIES, RECENCIES), WEIGHTS, st.floats(0, 10))
def test_more_weight_of_recency_never_lowers_the_newer_one_beside_an_older_one(
    relevances, recencies, weights, more
):
    old, recent = sorted(recencies)
    newer, older = sorted(relevances)  # what is newer and more relevant is ahead anyway
    before, after = weighing(*weights), weighing(weights[0], weights[1] + more)
    leads = bounded_score(newer, recent, before) > bounded_score(older, old, before) * (1 + 1e-9)
    assert not leads or bounded_score(newer, recent, after) >= bounded_score(older, old, after) * (1 - 1e-9)


@given(RELEVANCES, RECENCIES, RECENCIES, WEIGHTS)
def test_of_the_same_relevance_the_newer_one_never_comes_second(relevance, recent, old, weights):
    old, recent = sorted((old, recent))
    policy = weighing(*weights)
    assert bounded_score(relevance, recent, policy) >= bounded_score(relevance, old, policy)


@given(RELEVANCES, RECENCIES, st.floats(0.01, 10))
def test_without_a_weight_for_recency_the_score_is_the_relevance(relevance, recent, weight):
    assert math.isclose(bounded_score(relevance, recent, weighing(weight, 0)), relevance)


@given(RELEVANCES, RELEVANCES, RECENCIES)
def test_without_a_weight_for_relevance_recency_alone_decides(one, other, recent):
    policy = weighing(0, 1)
    assert bounded_score(one, recent, policy) == bounded_score(other, recent, policy)
    assert bounded_score(0.2, 0.9, policy) > bounded_score(1.0, 0.8, policy)


@given(RELEVANCES, st.floats(0.02, 0.98), st.floats(0.1, 10), st.floats(0.1, 10))
def test_each_weight_moves_the_balance_of_a_newer_and_a_better_match(relevance, recent, semantic, weight):
    def lead(policy):
        """Return by how much the new one leads, as a share of what the better one leads by relevance."""
        better, newer = bounded_score(relevance, recent, policy), bounded_score(relevance, 1, policy)
        worse = bounded_score(relevance / 2, 1, policy)
        return math.log(newer / better) / math.log(newer / worse)

    usual = lead(weighing(semantic, weight))
    assert lead(weighing(semantic, weight * 1.5)) > usual > lead(weighing(semantic * 1.5, weight))


@given(st.sampled_from(list(Kind)), st.floats(1, 1000), RELEVANCES)
def test_each_half_life_moves_the_scores_of_its_kind_alone(kind, age, relevance):
    shorter = DecayPolicy(half_lives_days={**DEFAULT_HALF_LIVES, kind: DEFAULT_HALF_LIVES[kind] / 3})
    for other in Kind:
        usual, changed = (
            bounded_score(relevance, recency(age, policy.half_life(other), policy), policy)
            for policy in (DEFAULT, shorter)
        )
        assert changed <= usual
        assert (changed == usual) == (other is not kind) or age / DEFAULT_HALF_LIVES[kind] > 15


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
        ({"semantic_weight": 0, "bound": 0}, "bound must be above 0"),
    ],
)
def test_a_policy_that_makes_no_sense_names_its_key(change, key):
    with pytest.raises(ValueError, match=key):
        DecayPolicy(**change)


def test_each_kind_has_its_half_life():
    assert DEFAULT.half_life(Kind.PREFERENCE) == 180
    assert DEFAULT.half_life(Kind.RESEARCH) == 30
