"""What a handshake sends: few tokens, no import, and the published parameters."""

import json
import subprocess
import sys

import pytest

from ragmem.domain.model import Category, Kind
from ragmem.domain.records.record_types import RECORD_SCHEMAS, EpisodeType, RecordType
from ragmem.mcp import definitions
from ragmem.mcp.definitions import RESOURCES, TOOLS, find_tool, tools_of
from ragmem.mcp.dispatch import _HANDLERS


def tokens(profile):
    listed = json.dumps({"tools": [tool.to_json() for tool in tools_of(profile)]}, separators=(",", ":"))
    return len(listed) / 4


def test_six_tools_are_offered_by_default_and_take_few_tokens():
    assert [tool.name for tool in tools_of("default")] == [
        "search",
        "get",
        "remember",
        "timeline",
        "impact",
        "status",
    ]
    assert tokens("default") < 1_000
    assert tokens("full") < 2_600
    assert len(definitions.INSTRUCTIONS) / 4 < 150


def test_the_definitions_import_nothing_else():
    code = (
        "import sys; before = set(sys.modules); import ragmem.mcp.definitions;"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["ragmem", "ragmem.mcp", "ragmem.mcp.definitions"]


def test_words_to_choose_from_are_those_of_the_domain():
    assert tuple(Kind) == definitions.KINDS
    assert tuple(one for one in Category if one is not Category.NONE) == definitions.CATEGORIES
    assert tuple(EpisodeType) == definitions.EVENT_TYPES


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_tool_has_a_handler_and_a_schema_that_is_one(tool):
    properties = tool.parameters["properties"]
    assert tool.parameters["type"] == "object"
    assert set(tool.parameters.get("required", ())) <= set(properties)
    for schema in properties.values():
        assert schema["type"] in {"string", "integer", "number", "array", "object", "boolean"}
        assert ("items" in schema) == (schema["type"] == "array")
    listed = tool.to_json()
    assert set(listed) == {"name", "description", "inputSchema", "annotations"}
    assert listed["annotations"].get("readOnlyHint", False) == tool.read_only
    assert ("destructiveHint" in listed["annotations"]) == (not tool.read_only)
    assert tool.name in _HANDLERS


PUBLISHED = {
    "store_knowledge": ({"category", "title", "content"}, {"tags"}, {}),
    "search_knowledge": ({"query"}, {"category", "limit"}, {"limit": 5}),
    "record_episode": (
        {"event_type", "title", "content"},
        {"project", "importance"},
        {"importance": 0.5},
    ),
    "get_recent_episodes": (set(), {"session_id", "limit"}, {"limit": 10}),
    "search_episodes": ({"query"}, {"project", "limit"}, {"limit": 5}),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_knowledge_and_episodes_have_the_published_parameters(name):
    required, others, defaults = PUBLISHED[name]
    schema = find_tool(name).parameters
    assert set(schema.get("required", ())) == required
    assert set(schema["properties"]) == required | others
    told = {key: one["default"] for key, one in schema["properties"].items() if "default" in one}
    assert told == defaults
    assert find_tool(name).profile == "full"


def test_waiting_takes_up_to_five_minutes_and_one_by_default():
    timeout = find_tool("wait_for_events").parameters["properties"]["timeout_seconds"]
    assert (timeout["minimum"], timeout["maximum"], timeout["default"]) == (1, 300, 60)
    assert find_tool("wait_for_events").waits


def test_a_session_insight_takes_every_field_of_the_record():
    offered = set(find_tool("add_session_insight").parameters["properties"])
    fields = {field.name for field in RECORD_SCHEMAS[RecordType.SESSION_INSIGHT].fields}
    assert offered == fields | {"project", "spec"}


def test_a_resource_with_a_part_to_fill_in_is_a_template():
    listed = [resource.to_json() for resource in RESOURCES]
    assert {one["uriTemplate"] for one in listed if "uriTemplate" in one} == {
        "ragmem://memory/{id}",
        "ragmem://entity/{name}",
    }
    assert all(("uri" in one) != ("uriTemplate" in one) for one in listed)
