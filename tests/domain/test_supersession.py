"""Superseded memories stand behind their successors."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragmem.domain.model import Chunk, Match, Memory, Scope
from ragmem.domain.ranking import Collapsed
from ragmem.domain.supersession import (
    behind_successors,
    declared,
    names,
    successors,
)

START = datetime(2026, 1, 1, tzinfo=UTC)


def memory(key: str, *, day: int = 0, project: str = "p", uri: str = "", **metadata: str) -> Memory:
    moment = START + timedelta(days=day)
    return Memory(
        key,
        "memory",
        uri or f"/notes/{key}.md",
        key,
        key,
        moment,
        moment,
        moment,
        key,
        Scope(project),
        metadata=metadata,
    )


def group(item: Memory, score: float) -> Collapsed:
    return Collapsed(Match(item, Chunk(f"{item.id}-0", item.id, 0, item.text), score))


def test_the_older_stands_behind_the_newer_which_takes_its_place():
    older, newer = memory("aaaa1"), memory("bbbb1", supersedes="aaaa1")
    (joined,) = behind_successors([group(older, 0.9), group(newer, 0.4)])
    assert joined.match.memory == newer
    assert joined.match.score == 0.9
    assert joined.match.terms["superseded"] == 0.9
    assert [match.memory.id for match in joined.duplicates] == ["aaaa1"]


def test_a_successor_that_says_nearly_the_same_comes_out_from_behind_the_older():
    older, newer = memory("aaaa1"), memory("bbbb1", supersedes="aaaa1")
    alike = Collapsed(group(older, 0.9).match, (group(newer, 0.8).match,))
    (joined,) = behind_successors([alike])
    assert (joined.match.memory, joined.match.score) == (newer, 0.9)
    assert [match.memory.id for match in joined.duplicates] == ["aaaa1"]


def test_the_older_goes_behind_the_memory_that_its_successor_is_a_duplicate_of():
    older, newer, twin = memory("aaaa1"), memory("bbbb1", supersedes="aaaa1"), memory("cccc1")
    alike = Collapsed(group(twin, 0.8).match, (group(newer, 0.7).match,))
    (joined,) = behind_successors([group(older, 0.9), alike])
    assert (joined.match.memory, joined.match.score) == (twin, 0.9)
    assert [match.memory.id for match in joined.duplicates] == ["bbbb1", "aaaa1"]


def test_the_older_may_tell_it_too():
    older, newer = memory("aaaa1", superseded_by="/notes/bbbb1.md"), memory("bbbb1")
    assert successors([older, newer]) == {"aaaa1": "bbbb1"}


def test_a_chain_ends_at_the_last():
    chain = [memory("aaaa1"), memory("bbbb1", supersedes="aaaa1"), memory("cccc1", supersedes="bbbb1")]
    assert successors(chain) == {"aaaa1": "cccc1", "bbbb1": "cccc1"}


def test_a_circle_replaces_nothing():
    circle = [memory("aaaa1", supersedes="bbbb1"), memory("bbbb1", supersedes="aaaa1")]
    assert successors(circle) == {}
    assert successors([*circle, memory("cccc1", superseded_by="aaaa1")]) == {}


def test_projects_never_replace_each_other():
    assert successors([memory("aaaa1", project="p"), memory("bbbb1", project="q", supersedes="aaaa1")]) == {}


def test_of_two_successors_the_later_one_counts():
    two = [memory("bbbb1", day=1, supersedes="aaaa1"), memory("cccc1", day=2, supersedes="aaaa1")]
    assert successors([memory("aaaa1"), *two]) == {"aaaa1": "cccc1"}


def test_a_superseded_memory_without_its_successor_stays():
    alone = group(memory("aaaa1", superseded_by="zzzz9"), 0.5)
    assert behind_successors([alone]) == [alone]


@pytest.mark.parametrize(
    ("reference", "named"),
    [
        ("abcd", True),
        ("abc", False),
        ("/n/0001-db.md", True),
        ("0001-db", True),
        ("n/0001-db.md", True),
        ("db", False),
    ],
)
def test_a_memory_is_named_by_id_uri_or_file(reference, named):
    assert names(reference, memory("abcdef", uri="/n/0001-db.md")) is named


def test_a_part_of_a_file_is_not_named_by_the_file():
    assert not names("log", memory("abcdef", uri="/n/log.md#3"))


def test_lists_are_read_as_frontmatter_and_json_write_them():
    assert declared({"supersedes": '["aaaa1", "bbbb1"]', "replaces": "cccc1, aaaa1"}) == (
        "aaaa1",
        "bbbb1",
        "cccc1",
    )


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 7), st.floats(0, 1)), min_size=8, max_size=8),
    st.lists(st.integers(0, 7), min_size=8, max_size=8),
)
def test_no_match_is_lost_or_doubled(links, alike):
    matches = [
        group(memory(f"mem{n}x", day=n, supersedes=f"mem{target}x"), score).match
        for n, (target, score) in enumerate(links)
    ]
    together = {}
    for match, number in zip(matches, alike, strict=True):
        together.setdefault(number, []).append(match)
    groups = [Collapsed(first, tuple(rest)) for first, *rest in together.values()]
    joined = behind_successors(groups)
    shown = [match.memory.id for item in joined for match in (item.match, *item.duplicates)]
    assert sorted(shown) == sorted(match.memory.id for match in matches)
    assert not {item.match.memory.id for item in joined} & successors([m.memory for m in matches]).keys()
    scores = [item.match.score for item in joined]
    assert scores == sorted(scores, reverse=True)
