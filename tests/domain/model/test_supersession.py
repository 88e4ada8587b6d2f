"""What is superseded gives its place to what replaces it."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragmem.domain.model import Chunk, Match, Memory, Scope, Supersession
from ragmem.domain.model.document_place import place_metadata
from ragmem.domain.model.supersession import (
    PERHAPS_OUTDATED,
    REPLACES,
    declared_references,
    direct_successors,
    mark_outdated,
    names,
    replace_superseded,
    successors,
)
from ragmem.domain.retrieval.ranking import collapse

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


def match(item: Memory, score: float) -> Match:
    return Match(item, Chunk(f"{item.id}-0", item.id, 0, item.text), score)


def test_the_newer_ranks_before_those_that_are_perhaps_outdated():
    first, second, third = (memory(f"m{day}", day=day) for day in range(3))
    marks = {
        older.id: Supersession(
            older.id, newer.id, older.event_time, newer.event_time, PERHAPS_OUTDATED, "", START
        )
        for older, newer in ((first, second), (second, third))
    }
    found = mark_outdated([match(first, 0.9), match(second, 0.5), match(third, 0.2)], marks)
    ranked = [group.match for group in collapse(found)]
    assert ranked[0].memory == third
    assert [one.score for one in ranked] == [0.9, 0.9, 0.9]
    assert [one.outdated for one in found] == [marks["m0"], marks["m1"], None]
    (alone,) = mark_outdated([match(first, 0.9)], marks)
    assert (alone.score, alone.outdated) == (0.9, marks["m0"])


def test_the_newer_takes_the_place_of_the_older():
    older, newer = memory("aaaa1"), memory("bbbb1", day=3, supersedes="aaaa1")
    (left,) = replace_superseded([match(older, 0.9), match(newer, 0.4)], {})
    assert left.memory == newer
    assert (left.score, left.terms["superseded"]) == (0.9, 0.9)
    (former,) = left.replaced
    assert (former.supersession.older, former.supersession.rule) == ("aaaa1", "declared")
    assert (former.supersession.older_at, former.supersession.newer_at) == (
        older.event_time,
        newer.event_time,
    )


def test_the_newer_keeps_its_own_score_where_that_is_better():
    older, newer = memory("aaaa1"), memory("bbbb1", supersedes="aaaa1")
    (left,) = replace_superseded([match(older, 0.4), match(newer, 0.9)], {})
    assert (left.score, "superseded" in left.terms, len(left.replaced)) == (0.9, False, 1)


def test_who_asks_for_history_gets_both_and_the_older_is_marked():
    older, newer = memory("aaaa1"), memory("bbbb1", supersedes="aaaa1")
    first, second = replace_superseded([match(older, 0.9), match(newer, 0.4)], {}, history=True)
    assert (first.memory, first.superseded.newer) == (older, "bbbb1")
    assert (second.memory, second.superseded) == (newer, None)


def test_what_was_found_out_hides_as_what_was_declared_does():
    older, newer = memory("aaaa1"), memory("bbbb1", day=1)
    known = {
        "aaaa1": Supersession("aaaa1", "bbbb1", older.event_time, newer.event_time, "value", "why", START)
    }
    (left,) = replace_superseded([match(older, 0.9), match(newer, 0.4)], known)
    assert (left.memory, left.replaced[0].supersession) == (newer, known["aaaa1"])


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
    alone = match(memory("aaaa1", superseded_by="zzzz9"), 0.5)
    assert replace_superseded([alone], {}) == [alone]


def test_a_reference_finds_its_memory_among_very_many():
    many = [memory(f"x{number:05}") for number in range(3000)]
    newer = [
        memory(f"y{number:05}", day=1, supersedes=f"/notes/x{number:05}.md") for number in range(0, 3000, 3)
    ]
    assert direct_successors([*many, *newer]) == {
        f"x{number:05}": f"y{number:05}" for number in range(0, 3000, 3)
    }


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


@pytest.mark.parametrize(
    ("uri", "reference"),
    [
        ("/n/release-#2.md", "release-#2.md"),
        ("/n/f#-ports.md", "f#-ports"),
        ("/n/f#-ports.md", "./f#-ports.md"),
        ("/n/c#/ports.md", "ports.md"),
        ("/n/c#/log.jsonl#9f3a", "log.jsonl"),
        ("/n/c#/log.jsonl#run-1/12.2", "log.jsonl#run-1/12.2"),
    ],
)
def test_a_file_may_have_a_hash_in_its_name(uri, reference):
    older, newer = memory("abcdef", uri=uri), memory("bbbb1", supersedes=reference)
    assert names(reference, older)
    assert successors([older, newer]) == {"abcdef": "bbbb1"}


def test_what_stands_before_the_hash_in_a_name_does_not_name_the_file():
    assert not names("release", memory("abcdef", uri="/n/release#2.md"))
    assert not names("release#3.md", memory("abcdef", uri="/n/release#2.md"))


def test_a_page_is_named_by_its_document_whatever_the_page_is_called():
    place = place_metadata("/n/costs.xlsx", "sheet=old.csv", "sheet old.csv")
    sheet = memory("abcdef", uri="/n/costs.xlsx#sheet=old.csv", **place)
    assert names("costs.xlsx", sheet)
    assert not names("old.csv", sheet)


def test_lists_are_read_as_frontmatter_and_json_write_them():
    metadata = {"supersedes": '["aaaa1", "bbbb1"]', "replaces": "cccc1, aaaa1"}
    assert declared_references(metadata, REPLACES) == (
        "aaaa1",
        "bbbb1",
        "cccc1",
    )


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 7), st.floats(0, 1)), min_size=8, max_size=8), st.booleans())
def test_each_match_is_shown_once_or_stands_behind_one_that_is(links, history):
    matches = [
        match(memory(f"mem{n}x", day=n, supersedes=f"mem{target}x"), score)
        for n, (target, score) in enumerate(links)
    ]
    last = successors([one.memory for one in matches])
    left = replace_superseded(matches, {}, history=history)
    shown = [one.memory.id for one in left]
    hidden = [former.supersession.older for one in left for former in one.replaced]
    assert sorted(shown + hidden) == sorted(one.memory.id for one in matches)
    marked = {one.memory.id for one in left if one.superseded}
    assert (marked, set(hidden)) == ((set(last), set()) if history else (set(), set(last)))
    best = {one.memory.id: one.score for one in matches}
    for one in left:
        assert one.score == max([best[one.memory.id], *(best[f.supersession.older] for f in one.replaced)])
