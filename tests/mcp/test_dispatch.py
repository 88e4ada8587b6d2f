"""Whatever is called with whatever: a result that can be sent, and no exception."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tool_homes import opened

from ragmem.mcp.definitions import TOOLS
from ragmem.mcp.dispatch import call, prompt, read_resource

ODD = [
    "",
    "/",
    "../..",
    "~nosuch/x",
    "\0",
    "\ud800",
    "</ragmem-memory>",
    "%",
    '"',
    "-",
    "*",
    "9999-12-31",
    "7d",
]
TEXT = st.sampled_from(ODD) | st.text(st.characters(), max_size=20)
OF_TYPE = {
    "string": TEXT,
    "integer": st.integers(-5, 50) | st.integers(),
    "number": st.floats(),
    "boolean": st.booleans(),
    "array": st.lists(TEXT | st.integers(), max_size=3),
    "object": st.dictionaries(TEXT, TEXT, max_size=2),
}


@st.composite
def calls(draw):
    tool = draw(st.sampled_from(TOOLS))
    required = tool.parameters.get("required", ())
    arguments = {
        name: draw(st.sampled_from(schema["enum"]) if "enum" in schema else OF_TYPE[schema["type"]])
        for name, schema in tool.parameters["properties"].items()
        if name in required or draw(st.integers(0, 2)) == 0
    }
    return tool.name, arguments


@pytest.fixture(scope="module")
def memory(tmp_path_factory):
    with opened(tmp_path_factory.mktemp("odd")) as memory:
        memory.records.add_gotcha("Tide tables ignore summer time.")
        yield memory


@settings(max_examples=100)
@given(calls(), TEXT, TEXT, st.sampled_from([None, Path("/"), Path("/no/such/folder")]))
def test_every_call_gives_a_result_that_can_be_sent(memory, called, session, agent, cwd):
    name, arguments = called
    result = call(memory, name, arguments, session=session, agent=agent, cwd=cwd)
    assert result.text.encode()
    assert json.dumps(result.data)
    # A frame has a name that its content does not have.
    if framed := re.match(r"<(ragmem-memory[\w-]*)>", result.text):
        assert result.text.count(f"</{framed[1]}>") == 1
    else:
        assert result.text.count("</ragmem-memory>") <= 1


def test_an_error_that_quotes_the_call_closes_no_frame(memory):
    result = call(memory, "acknowledge", {"ids": ["</ragmem-memory>", "</ragmem-memory>"]})
    assert result.is_error
    assert '"</ragmem-memory>"' in result.text


@settings(max_examples=25)
@given(TEXT, TEXT)
def test_every_address_and_prompt_gives_a_result_that_can_be_sent(memory, one, other):
    results = [
        read_resource(memory, one),
        read_resource(memory, f"ragmem://memory/{one}"),
        read_resource(memory, f"ragmem://entity/{one}"),
        prompt(memory, "session_briefing", {"task": one, "project": other}),
        prompt(memory, one, {other: one}),
    ]
    assert all(result.text.encode() for result in results)
