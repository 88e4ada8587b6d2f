from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from ragmem.domain.model import Chunk, Match, Memory, Scope, content_hash
from ragmem.domain.retrieval.ranking import collapse

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LONG = " ".join(f"word{number}" for number in range(40))


def match(identifier, text, score, *, project="p", passage=None, **terms):
    memory = Memory(
        identifier, "memory", identifier, text, "", NOW, NOW, NOW, content_hash(text), scope=Scope(project)
    )
    return Match(memory, Chunk(f"c-{identifier}", identifier, 0, passage or text), score, terms)


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


def test_one_text_in_two_projects_is_one_match_that_names_both():
    (group,) = collapse([match("a", LONG, 0.9), match("b", f" {LONG}\n", 0.8, project="q")])
    assert [memory.id for memory in group.elsewhere] == ["b"]
    assert [other.memory.id for other in group.duplicates] == ["b"]


def test_nearly_the_same_text_of_no_known_project_is_two_matches():
    groups = collapse(
        [match("a", LONG, 0.9, project="unassigned"), match("b", LONG + " more", 0.8, project="unassigned")]
    )
    assert [group.match.memory.id for group in groups] == ["a", "b"]


def test_nearly_the_same_text_in_two_projects_is_two_matches():
    assert len(collapse([match("a", LONG, 0.9), match("b", LONG + " more", 0.8, project="q")])) == 2


def test_a_copy_in_the_same_project_is_not_elsewhere():
    (group,) = collapse([match("a", LONG, 0.9), match("b", LONG, 0.8)])
    assert group.elsewhere == ()


COMMON = " ".join(f"said{number} and done{number}." for number in range(400))


@given(
    st.sampled_from([COMMON, COMMON * 3]),
    st.integers(5, 60),
    st.sampled_from(["{common} {own}", "{own} {common}", "{half} {own} {half}"]),
)
def test_texts_that_share_most_and_were_found_for_what_is_their_own_both_answer(common, length, form):
    matches = []
    for name in ("pear", "plum"):
        own = " ".join(f"{name}{number}" for number in range(length))
        text = form.format(common=common, own=own, half=common[: len(common) // 2])
        matches.append(match(name, text, 0.5, passage=own))
    assert len(collapse(matches)) == 2


def test_texts_that_share_most_and_were_found_for_what_they_share_are_one_match():
    one, other = (match(name, f"{COMMON} {name}", 0.5, passage=COMMON[:900]) for name in ("pear", "plum"))
    assert len(collapse([one, other])) == 1


def test_a_version_whose_parts_begin_elsewhere_is_a_duplicate():
    new = match("new", f"Version two. {COMMON}", 0.6, passage=COMMON[100:1000])
    old = match("old", COMMON, 0.5, passage=COMMON[200:1200])
    assert len(collapse([new, old])) == 1


def test_a_text_that_goes_on_where_the_other_one_ends_is_no_duplicate():
    longer = match("longer", f"{COMMON} {COMMON[:5000]}", 0.6, passage=COMMON[:900])
    assert len(collapse([longer, match("shorter", COMMON, 0.5, passage=COMMON[:900])])) == 2


def test_what_was_found_by_its_own_edits_is_no_duplicate_of_what_says_nearly_the_same():
    one, other = (match(name, f"{LONG} {name}", 0.5, edits=1.0) for name in ("pear", "plum"))
    assert len(collapse([one, other])) == 2


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


def test_two_versions_are_two_matches_where_their_difference_is_the_answer():
    matches = [match("a", LONG, 0.9), match("b", LONG + " more", 0.8), match("c", LONG, 0.7)]
    groups = collapse(matches, versions=True)
    assert [[group.match.memory.id, *(one.memory.id for one in group.duplicates)] for group in groups] == [
        ["a", "c"],
        ["b"],
    ]
