from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.domain.model import Chunk, Hit, Match, Memory, Scope, content_hash
from ragmem.domain.ranking import collapse, reciprocal_rank_fusion

NOW = datetime(2026, 1, 1, tzinfo=UTC)
IDS = st.lists(st.text("abcdef", min_size=1, max_size=4), unique=True, max_size=20)


def hits(ids):
    return [Hit(chunk_id, f"memory of {chunk_id}", rank, 1.0 / rank) for rank, chunk_id in enumerate(ids, 1)]


def match(identifier, text, score, *, project="p"):
    memory = Memory(
        identifier, "memory", identifier, text, "", NOW, NOW, NOW, content_hash(text), scope=Scope(project)
    )
    return Match(memory, Chunk(f"c-{identifier}", identifier, 0, text), score)


@given(IDS)
def test_fusing_a_single_list_keeps_its_order(ids):
    assert [item.chunk_id for item in reciprocal_rank_fusion({"text": hits(ids)})] == ids


@given(IDS, IDS)
def test_fusion_returns_every_chunk_once_whatever_the_order_of_the_lists(one, other):
    fused = reciprocal_rank_fusion({"a": hits(one), "b": hits(other)})
    assert sorted(item.chunk_id for item in fused) == sorted({*one, *other})
    swapped = reciprocal_rank_fusion({"b": hits(other), "a": hits(one)})
    assert [item.chunk_id for item in swapped] == [item.chunk_id for item in fused]
    assert all(before.score >= after.score for before, after in pairwise(fused))


def test_two_lists_that_agree_beat_one_that_leads():
    fused = reciprocal_rank_fusion({"text": hits(["x", "both"]), "vector": hits(["y", "both"])})
    assert fused[0].chunk_id == "both"
    assert fused[0].score == pytest.approx(2 / 62)
    assert fused[0].ranks == {"text": 2, "vector": 2}
    assert fused[0].memory_id == "memory of both"


def test_a_weight_moves_a_list_and_nought_silences_it():
    lists = {"text": hits(["x"]), "vector": hits(["y"])}
    assert [item.chunk_id for item in reciprocal_rank_fusion(lists)] == ["x", "y"]
    assert [item.chunk_id for item in reciprocal_rank_fusion(lists, weights={"vector": 2})] == ["y", "x"]
    assert [item.chunk_id for item in reciprocal_rank_fusion(lists, weights={"text": 0})] == ["y"]


def test_nothing_fuses_to_nothing_and_a_negative_weight_is_refused():
    assert reciprocal_rank_fusion({}) == []
    with pytest.raises(ValueError, match="negative"):
        reciprocal_rank_fusion({"text": []}, weights={"text": -1})


LONG = " ".join(f"word{number}" for number in range(40))


def test_duplicates_stand_behind_the_best_one():
    groups = collapse(
        [match("b", LONG, 0.5), match("a", LONG + "  ", 0.9), match("c", "something else", 0.7)]
    )
    assert [group.match.memory.id for group in groups] == ["a", "c"]
    assert [other.memory.id for other in groups[0].duplicates] == ["b"]


def test_nearly_the_same_words_are_a_duplicate_and_half_of_them_are_not():
    near, far = LONG + " more", LONG[: len(LONG) // 2]
    groups = collapse([match("a", LONG, 0.9), match("b", near, 0.8), match("c", far, 0.7)])
    assert [group.match.memory.id for group in groups] == ["a", "c"]


def test_twins_of_two_projects_are_not_duplicates():
    assert len(collapse([match("a", LONG, 0.9), match("b", LONG, 0.8, project="q")])) == 2


def test_equal_scores_are_ordered_by_id():
    groups = collapse([match("b", "one", 0.5), match("a", "two", 0.5)])
    assert [group.match.memory.id for group in groups] == ["a", "b"]


@given(
    st.lists(st.tuples(st.sampled_from([LONG, LONG + " x", "other words", ""]), st.floats(0, 1)), max_size=8)
)
def test_collapsing_loses_no_match_and_twice_is_once(items):
    matches = [match(str(at), text, score) for at, (text, score) in enumerate(items)]
    groups = collapse(matches)
    seen = [one.memory.id for group in groups for one in (group.match, *group.duplicates)]
    assert sorted(seen) == sorted(one.memory.id for one in matches)
    assert [group.match for group in collapse([group.match for group in groups])] == [
        group.match for group in groups
    ]
