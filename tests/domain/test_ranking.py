from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from ragmem.domain.model import Chunk, Match, Memory, Scope, content_hash
from ragmem.domain.ranking import collapse

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LONG = " ".join(f"word{number}" for number in range(40))


def match(identifier, text, score, *, project="p"):
    memory = Memory(
        identifier, "memory", identifier, text, "", NOW, NOW, NOW, content_hash(text), scope=Scope(project)
    )
    return Match(memory, Chunk(f"c-{identifier}", identifier, 0, text), score)


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


def test_behind_what_is_shown_only_equal_texts_collapse():
    near = LONG + " more"
    matches = [
        match("a", LONG, 0.9),
        match("b", near, 0.8),
        match("c", LONG, 0.7),
        match("d", "other words", 0.6),
    ]
    groups = collapse(matches, shown=1)
    assert [[group.match.memory.id, *(one.memory.id for one in group.duplicates)] for group in groups] == [
        ["a", "c"],
        ["b"],
        ["d"],
    ]
