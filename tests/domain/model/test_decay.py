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
    Decay,
    age_days,
    exponential_recency,
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
    assert DEFAULT.recency(old, half_life) <= DEFAULT.recency(young, half_life)


@given(HALF_LIVES)
def test_published_recency_is_a_half_at_the_half_life(half_life):
    assert math.isclose(exponential_recency(half_life, half_life), 0.5)
    assert math.isclose(Decay(fresh_share=0).recency(half_life, half_life), 0.5)


def test_the_first_day_takes_more_of_the_recency_than_the_first_half_life():
    assert DEFAULT.recency(0, 60) == 1
    assert math.isclose(DEFAULT.recency(1, 1e9), 0.7)
    assert DEFAULT.recency(60, 60) == pytest.approx(0.2)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_age_takes_no_more_of_a_score_than_the_bound(relevance, recent, bound):
    policy = Decay(bound=bound)
    score = policy.score(relevance, recent)
    assert relevance * (1 - bound) - 1e-12 <= score <= relevance + 1e-12
    assert math.isclose(policy.score(relevance, 1), relevance)


RELEVANCES = st.floats(0.01, 1)
RECENCIES = st.floats(0, 1)
WEIGHTS = st.tuples(st.floats(0, 10), st.floats(0, 10)).filter(lambda pair: sum(pair) > 0)


def weighing(semantic, recent, **more):
    return Decay(semantic_weight=semantic, recency_weight=recent, **more)


@given(RELEVANCES, RECENCIES, st.floats(0.01, 100))
def test_weights_as_shipped_or_in_their_proportion_leave_the_measured_score(relevance, recent, scale):
    policy = weighing(0.7 * scale, 0.3 * scale)
    assert math.isclose(policy.score(relevance, recent), relevance * (1 - 0.2 * (1 - recent)))


@given(st.tuples(RELEVANCES, RELEVANCES), st.tuples(RECENCIES, RECENCIES), WEIGHTS, st.floats(0, 10))
def test_more_weight_of_recency_never_lowers_the_newer_one_beside_an_older_one(
    relevances, recencies, weights, more
):
    old, recent = sorted(recencies)
    newer, older = sorted(relevances)  # what is newer and more relevant is ahead anyway
    before, after = weighing(*weights), weighing(weights[0], weights[1] + more)
    leads = before.score(newer, recent) > before.score(older, old) * (1 + 1e-9)
    assert not leads or after.score(newer, recent) >= after.score(older, old) * (1 - 1e-9)


@given(RELEVANCES, RECENCIES, RECENCIES, WEIGHTS)
def test_of_the_same_relevance_the_newer_one_never_comes_second(relevance, recent, old, weights):
    old, recent = sorted((old, recent))
    policy = weighing(*weights)
    assert policy.score(relevance, recent) >= policy.score(relevance, old)


@given(RELEVANCES, RECENCIES, st.floats(0.01, 10))
def test_without_a_weight_for_recency_the_score_is_the_relevance(relevance, recent, weight):
    assert math.isclose(weighing(weight, 0).score(relevance, recent), relevance)


@given(RELEVANCES, RELEVANCES, RECENCIES)
def test_without_a_weight_for_relevance_recency_alone_decides(one, other, recent):
    policy = weighing(0, 1)
    assert policy.score(one, recent) == policy.score(other, recent)
    assert policy.score(0.2, 0.9) > policy.score(1.0, 0.8)


@given(RELEVANCES, st.floats(0.02, 0.98), st.floats(0.1, 10), st.floats(0.1, 10))
def test_each_weight_moves_the_balance_of_a_newer_and_a_better_match(relevance, recent, semantic, weight):
    def lead(policy):
        """Return by how much the new one leads, as a share of what the better one leads by relevance."""
        better, newer = policy.score(relevance, recent), policy.score(relevance, 1)
        worse = policy.score(relevance / 2, 1)
        return math.log(newer / better) / math.log(newer / worse)

    usual = lead(weighing(semantic, weight))
    assert lead(weighing(semantic, weight * 1.5)) > usual > lead(weighing(semantic * 1.5, weight))


@given(st.sampled_from(list(Kind)), st.floats(1, 1000), RELEVANCES)
def test_each_half_life_moves_the_scores_of_its_kind_alone(kind, age, relevance):
    shorter = Decay(half_lives_days={**DEFAULT_HALF_LIVES, kind: DEFAULT_HALF_LIVES[kind] / 3})
    for other in Kind:
        usual, changed = (
            policy.score(relevance, policy.recency(age, policy.half_life(other)))
            for policy in (DEFAULT, shorter)
        )
        assert changed <= usual
        assert (changed == usual) == (other is not kind) or age / DEFAULT_HALF_LIVES[kind] > 15


@given(DAYS, HALF_LIVES)
def test_recency_lies_between_nought_and_one(age, half_life):
    assert 0 <= DEFAULT.recency(age, half_life) <= 1


def test_an_event_after_the_moment_asked_of_is_as_far_away_as_one_before():
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert age_days(now + timedelta(days=3), now) == 3
    assert age_days(now - timedelta(hours=36), now) == 1.5


@given(st.floats(0, 1), st.floats(0, 1))
def test_the_score_is_the_weighted_sum(semantic, recent):
    assert math.isclose(
        DEFAULT.published_score(semantic, recent), 0.7 * semantic + 0.3 * recent, abs_tol=1e-12
    )
    assert Decay(1, 0).published_score(semantic, recent) == semantic


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
        Decay(**change)


def test_each_kind_has_its_half_life():
    assert DEFAULT.half_life(Kind.PREFERENCE) == 180
    assert DEFAULT.half_life(Kind.RESEARCH) == 30
