"""The MCP server goes into any settings and out again, and every other character stays."""

import json
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from settings_files import CODEX_CONFIGS, SETTINGS

from ragmem.assistants import load_assistant, load_assistants
from ragmem.services.wiring import json_servers, servers, toml_settings
from ragmem.services.wiring.command import Program
from ragmem.services.wiring.hook_insertion import InsertionRecord, ShapeError
from ragmem.services.wiring.json_text import read_json

HERE = Program(("/opt/my tools/bin/ragmem",))
NEWER = Program(("/opt/newer/bin/ragmem",))
ELSEWHERE = Program(("/opt/my tools/bin/ragmem",), (("RAGMEM_HOME", "/data/it's mine"),))
CODEX = load_assistant("codex")
IN_JSON = [one for one in load_assistants() if one.name != "codex"]
TEXTS = [content.decode() for _, content in SETTINGS.values()]


@pytest.mark.parametrize("assistant", IN_JSON, ids=lambda one: one.name)
def test_json_is_as_before_when_the_server_is_taken_out(assistant):
    for text in TEXTS:
        after, wiring = json_servers.insert_server(text, assistant, ELSEWHERE, InsertionRecord())
        child = json_servers.find_server(after, assistant)

        assert child is not None, text
        assert child.node.value == servers.make_entry(assistant, ELSEWHERE)
        assert json_servers.insert_server(after, assistant, ELSEWHERE, wiring) == (after, wiring)
        assert json_servers.remove_server(after, assistant, ELSEWHERE, wiring) == text
        # Another home's hands are kept off it.
        assert json_servers.remove_server(after, assistant, HERE, wiring) == after


@pytest.mark.parametrize("content", CODEX_CONFIGS.values(), ids=CODEX_CONFIGS)
@pytest.mark.parametrize("program", [HERE, ELSEWHERE])
def test_toml_is_as_before_when_the_server_is_taken_out(content, program):
    text = content.decode()

    after, wiring = toml_settings.insert_server(text, CODEX, program, InsertionRecord())

    assert tomllib.loads(after)["mcp_servers"]["ragmem"] == servers.make_entry(CODEX, program)
    assert toml_settings.insert_server(after, CODEX, program, wiring) == (after, wiring)
    assert toml_settings.remove_server(after, CODEX, program, wiring) == text
    by_sense = toml_settings.remove_server(after, CODEX, program, None)
    assert tomllib.loads(by_sense) == tomllib.loads(text)


@settings(max_examples=60, deadline=None)
@given(
    others=st.dictionaries(
        st.text(st.characters(codec="utf-8", exclude_characters="\x7f"), max_size=6),
        st.sampled_from([{"command": "npx", "args": ["-y", "x"]}, {"url": "http://127.0.0.1/mcp"}]),
        max_size=3,
    ),
    indent=st.sampled_from([None, 2, 4, "\t"]),
    assistant=st.sampled_from(IN_JSON),
)
def test_servers_of_others_stay(others, indent, assistant):
    others.pop(servers.NAME, None)
    text = json.dumps({"theme": "dark", assistant.servers_key: others}, indent=indent)

    after, wiring = json_servers.insert_server(text, assistant, HERE, InsertionRecord())

    value = read_json(after).value[assistant.servers_key]
    assert {name: said for name, said in value.items() if name != servers.NAME} == others
    assert json_servers.remove_server(after, assistant, HERE, wiring) == text


def test_another_version_takes_the_place_of_the_former_and_keeps_what_a_person_has_added():
    claude = load_assistant("claude-code")
    first, wiring = json_servers.insert_server("{}", claude, HERE, InsertionRecord())
    edited = first.replace('"mcp"', '"mcp", "--profile", "full"').replace(
        '"type": "stdio"', '"type": "stdio", "timeout": 5'
    )

    second, wiring = json_servers.insert_server(edited, claude, NEWER, wiring)
    found = json_servers.find_server(second, claude)

    assert found is not None
    assert found.node.value == {
        "type": "stdio",
        "command": "/opt/newer/bin/ragmem",
        "args": ["mcp", "--profile", "full"],
        "timeout": 5,
    }
    assert read_json(json_servers.remove_server(second, claude, NEWER, wiring)).value == {}


def test_what_somebody_else_calls_ragmem_stays():
    text = '{"mcpServers": {"ragmem": {"command": "docker", "args": ["run", "ragmem"]}}}'
    cursor = load_assistant("cursor")

    assert json_servers.insert_server(text, cursor, HERE, InsertionRecord()) == (text, InsertionRecord())
    assert json_servers.remove_server(text, cursor, HERE, None) == text


@pytest.mark.parametrize("text", ['mcp_servers = "none"', "mcp_servers = { other = { command = 'x' } }"])
def test_toml_that_takes_no_table_is_refused(text):
    with pytest.raises(ShapeError):
        toml_settings.insert_server(text, CODEX, HERE, InsertionRecord())
