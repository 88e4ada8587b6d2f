"""impact, status, resources and the briefing: what an agent is told of code, memory, and at a start."""

import pytest
from tool_homes import opened

from ragmem.domain.model import Draft, Scope
from ragmem.mcp.dispatch import call as calling
from ragmem.mcp.dispatch import prompt, read_resource

SOURCE = '''"""Tides."""


def parse(text):
    """Return the tides in a text."""
    return text.split()


def load(path):
    return parse(path)
'''
TEST = "from tides import parse\n\n\ndef test_parse():\n    assert parse('a') == ['a']\n"
NOTE = "We decided that parse() in tides.py converts to UTC at once because tables ignore summer time."


@pytest.fixture(scope="module")
def coded(tmp_path_factory):
    """A memory of a project with code and one note, which no test changes."""
    with opened(tmp_path_factory.mktemp("coded")) as memory:
        (memory.cwd / "tides.py").write_text(SOURCE)
        (memory.cwd / "tests").mkdir()
        (memory.cwd / "tests" / "test_tides.py").write_text(TEST)
        memory.code.ingest(memory.cwd)
        assert not calling(memory, "remember", {"text": NOTE, "title": "UTC at once"}).is_error
        yield memory


def told(memory, name, **arguments):
    result = calling(memory, name, arguments, session="s-1")
    assert not result.is_error, result.text
    return result


def test_an_impact_names_callers_tests_and_memories(coded):
    found = told(coded, "impact", symbol="tides.parse")
    assert "function tides.parse (tides.py:4)\nReturn the tides in a text." in found.text
    assert "reached, 1:\n  1 tides.load tides.py:9 (calls)" in found.text
    assert "tests, 1:\n  1 tests.test_tides.test_parse tests/test_tides.py:4" in found.text
    assert "memories about it, 1:\n  [" in found.text
    assert "| UTC at once: We decided that parse() in tides.py" in found.text
    assert told(coded, "impact", symbol="tides.py").data["target"]["kind"] == "file"


def test_code_that_is_not_there_is_told_with_the_next_step(coded, tmp_path):
    unknown = calling(coded, "impact", {"symbol": "nosuch"})
    assert unknown.is_error
    assert 'there is no symbol or file "nosuch"\nhint: ' in unknown.text


@pytest.mark.parametrize("symbol", ["tides.parse(text)", "tides.load()", "(*tides).parse"])
def test_a_symbol_may_be_written_as_a_call_or_with_a_receiver(coded, symbol):
    assert told(coded, "impact", symbol=symbol).data["target"]["kind"] == "function"


def test_the_code_of_another_project_is_no_answer(coded, tmp_path):
    (tmp_path / ".ragmem.toml").touch()
    elsewhere = calling(coded, "impact", {"symbol": "tides.parse"}, cwd=tmp_path)
    assert elsewhere.is_error
    assert "there is no code graph of this folder" in elsewhere.text
    anywhere = calling(coded, "impact", {"symbol": "tides.parse", "project": "*"}, cwd=tmp_path)
    assert not anywhere.is_error, anywhere.text


def test_the_state_has_counts_what_waits_the_model_and_no_troubles(coded):
    found = told(coded, "status")
    assert "1 memory in project harbour and the user's memories\n" in found.text
    assert "waits: nothing" in found.text
    assert "health: nothing to do" in found.text
    assert found.data["memories"] == 1


def test_what_waits_and_what_was_set_aside_is_told(memory, call):
    call("remember", text=NOTE)
    memory.ingest([Draft("sessions", "/s", "ok thanks", scope=Scope("user"))])
    aside = memory.settings.places.data / "inbox"
    aside.mkdir(exist_ok=True)
    (aside / f"{'0' * 32}.write").write_bytes(b"no write of the inbox")
    found = call("status")
    assert "discarded, found by full text only: 1;" in found.text
    assert "rejected from the inbox: 1" in found.text


def test_resources_are_read_by_their_addresses(coded):
    key = told(coded, "search", query="tables ignore summer time").data["matches"][0]["id"]
    assert NOTE in read_resource(coded, f"ragmem://memory/{key}").text
    assert read_resource(coded, "ragmem://status").text == told(coded, "status").text
    assert NOTE in read_resource(coded, "ragmem://briefing").text
    entity = read_resource(coded, "ragmem://entity/tides.py")
    assert "tides.py: file" in entity.text
    assert key in entity.text


@pytest.mark.parametrize(
    "uri",
    [
        "file:///etc/passwd",
        "ragmem://",
        "ragmem://memory/",
        "ragmem://memory/../../etc/passwd",
        "ragmem://entity/No%20Such%20Thing",
        "ragmem://other/x",
        "memory/abcdef",
        "ragmem://status/x",
        "ragmem://entity/\ud800",
    ],
)
def test_an_address_that_leads_nowhere_is_an_error_with_a_hint(coded, uri):
    refused = read_resource(coded, uri)
    assert refused.is_error
    assert "\nhint: " in refused.text


def test_a_briefing_is_what_a_session_should_know_within_its_budget(coded):
    found = prompt(coded, "session_briefing", {"budget": "400"})
    assert NOTE in found.text
    assert "get returns the full text; search finds more" in found.text
    assert "ragmem query" not in found.text
    assert NOTE in prompt(coded, "session_briefing", {"task": "parse the tides", "budget": ""}).text


def test_a_briefing_that_has_no_room_says_so_and_not_that_nothing_is_known(coded):
    found = prompt(coded, "session_briefing", {"task": "parse the tides", "budget": "100"})
    assert not found.data["ids"]
    assert "none of the 1 memories found has room in this budget" in found.text
    assert "Nothing is known" not in found.text


def test_a_briefing_of_an_empty_memory_says_so(memory):
    assert "Memory is empty" in prompt(memory, "session_briefing", {}).text
    assert "Memory is empty" in read_resource(memory, "ragmem://briefing").text


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("session_briefing", {"budget": "many"}, 'the budget is "many"'),
        ("session_briefing", {"budget": "99"}, "from 100 to 20,000"),
        ("session_briefing", {"project": "quay"}, 'no project "quay"'),
        ("session_briefing", {"topic": "x"}, 'no argument "topic"'),
        ("recall", {}, 'there is no prompt "recall"'),
    ],
)
def test_a_prompt_that_cannot_be_given_says_why(coded, name, arguments, message):
    found = prompt(coded, name, arguments)
    assert found.is_error
    assert message in found.text
