"""Arguments come as models write them: each is taken as it is meant, or refused with the next step."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragmem.errors import UsageError
from ragmem.mcp.arguments import check_arguments
from ragmem.mcp.definitions import TOOLS, find_tool

SEARCH, GET, EPISODE = find_tool("search"), find_tool("get"), find_tool("record_episode")

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=60)
@given(st.sampled_from(TOOLS), st.data())
def test_whatever_is_handed_in_is_taken_or_refused(tool, data):
    names = [*tool.parameters["properties"], "other"]
    given_ = data.draw(st.dictionaries(st.sampled_from(names), ANYTHING))
    refusal = None
    try:
        taken = check_arguments(tool, given_)
    except UsageError as error:
        refusal = error
    if refusal is None:
        assert set(taken) <= set(tool.parameters["properties"])
        assert check_arguments(tool, taken) == taken
    else:
        assert "\n" not in str(refusal)
        assert refusal.hint


def test_what_is_empty_is_not_given_and_defaults_fill_in():
    given = check_arguments(SEARCH, {"query": "x", "kind": "", "since": None})
    assert given == {"query": "x", "limit": 8, "all_tiers": False, "all_branches": False}


def test_a_number_or_list_as_text_is_meant_as_such():
    assert check_arguments(SEARCH, {"query": "x", "limit": "3"})["limit"] == 3
    assert check_arguments(SEARCH, {"query": "x", "limit": 3.0})["limit"] == 3
    assert check_arguments(SEARCH, {"query": "7"})["query"] == "7"
    assert check_arguments(GET, {"ids": "abcd"})["ids"] == ["abcd"]
    assert check_arguments(GET, {"ids": '["abcd", "efgh"]'})["ids"] == ["abcd", "efgh"]
    assert check_arguments(find_tool("acknowledge"), {"ids": "7"})["ids"] == [7]
    assert check_arguments(find_tool("acknowledge"), {"ids": ["7", 8]})["ids"] == [7, 8]
    assert check_arguments(SEARCH, {"query": "x", "all_tiers": "True"})["all_tiers"] is True
    assert check_arguments(SEARCH, {"query": "x", "kind": "Error"})["kind"] == "error"


def test_ids_may_be_copied_as_they_are_shown():
    assert check_arguments(find_tool("acknowledge"), {"ids": "1, 2"})["ids"] == [1, 2]
    assert check_arguments(GET, {"ids": "abcd, efgh"})["ids"] == ["abcd", "efgh"]
    assert check_arguments(GET, {"ids": "[abcd]"})["ids"] == ["abcd"]
    knowledge = {"category": "pattern", "title": "x", "content": "y", "tags": "tide tables, berths"}
    assert check_arguments(find_tool("store_knowledge"), knowledge)["tags"] == ["tide tables, berths"]


def test_a_whole_number_for_a_text_is_its_digits():
    assert check_arguments(find_tool("add_session_insight"), {"session": 7})["session"] == "7"
    assert check_arguments(GET, {"ids": [2345]})["ids"] == ["2345"]


@pytest.mark.parametrize(
    ("tool", "arguments", "message", "hint"),
    [
        (SEARCH, {}, 'search needs the argument "query"', "query: "),
        (SEARCH, {"query": " "}, 'search needs the argument "query"', "query: "),
        (SEARCH, {"query": "x", "q": 1}, 'search has no argument "q"', "it has: query, project"),
        (SEARCH, {"query": ["x"]}, 'query is "["x"]", not a text', "query: "),
        (SEARCH, {"query": "x", "kind": "bug"}, 'there is no kind "bug"', "one of: preference"),
        (SEARCH, {"query": "x", "limit": 99}, "limit is 99", "give a number from 1 to 30"),
        (SEARCH, {"query": "x", "limit": True}, 'limit is "true", not a whole number', "limit: "),
        (GET, {"ids": {"a": 1}}, 'ids is "{"a": 1}", not a list, each item a text', "ids: "),
        (GET, {"ids": [["abcd"]]}, 'ids is "[["abcd"]]", not a list, each item a text', "ids: "),
        (
            EPISODE,
            {"event_type": "error", "title": "x", "content": "y", "importance": 2},
            "importance is 2",
            "0 to 1",
        ),
        (find_tool("wait_for_events"), {"timeout_seconds": 301}, "timeout_seconds is 301", "1 to 300"),
    ],
)
def test_what_is_wrong_is_refused_with_the_next_step(tool, arguments, message, hint):
    with pytest.raises(UsageError) as refused:
        check_arguments(tool, arguments)
    assert message in str(refused.value)
    assert hint in refused.value.hint
