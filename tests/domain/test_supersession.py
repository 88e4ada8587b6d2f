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
    superseded_in,
    wants_history,
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
    assert superseded_in(joined) == joined.duplicates


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


@pytest.mark.parametrize(
    "question", ["what was the log format before the change", "which port did we previously use"]
)
def test_questions_about_the_past_want_history(question):
    assert wants_history(question)


@pytest.mark.parametrize(
    "question", ["which port do we use", "how is the log file named", "what is the retry policy"]
)
def test_questions_about_the_present_do_not(question):
    assert not wants_history(question)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 7), st.floats(0, 1)), min_size=8, max_size=8))
def test_no_match_is_lost_or_doubled(links):
    groups = [
        group(memory(f"mem{n}x", day=n, supersedes=f"mem{target}x"), score)
        for n, (target, score) in enumerate(links)
    ]
    joined = behind_successors(groups)
    shown = [match.memory.id for item in joined for match in (item.match, *item.duplicates)]
    assert sorted(shown) == sorted(item.match.memory.id for item in groups)
    scores = [item.match.score for item in joined]
    assert scores == sorted(scores, reverse=True)
