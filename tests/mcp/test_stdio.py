"""`ragmem mcp`: real processes, asked by the official SDK's client and by clients that know no manners."""

import asyncio
import json
import signal
import subprocess
import sys
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp_talk import QUESTION, Talk, environment, fill, request

from ragmem import client
from ragmem.client import runtime
from ragmem.mcp.definitions import TOOLS, tools_of

DEFAULT = [tool.name for tool in tools_of("default")]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A home that holds the notes of a project; its warm process ends with the module."""
    home = tmp_path_factory.mktemp("mcp")
    fill(home)
    yield home
    client.stop(str(home / "ragmem" / "data"), deadline=time.monotonic() + 5)


@pytest.fixture(scope="module")
def talk(home):
    """One process for the tests that leave nothing behind."""
    with Talk(home) as one:
        one.begin()
        yield one


async def _everything(home, mode):
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client
    from mcp.shared.exceptions import MCPError

    server = StdioServerParameters(
        command=sys.executable, args=["-m", "ragmem", "mcp"], env=environment(home), cwd=home / "notes"
    )
    said = {}
    # The SDK's default is the `sys.stderr` of its first import: within a test that captures it, no file.
    async with Client(stdio_client(server, errlog=sys.__stderr__), mode=mode) as one:
        said["version"] = one.protocol_version
        listed = (await one.list_tools()).tools
        said["tools"] = [tool.name for tool in listed]
        search = await one.call_tool("search", {"query": QUESTION})
        said["search"] = search.content[0].text
        known = said["search"].partition("[")[2].partition("]")[0]
        for name, arguments in {
            "get": {"ids": [known]},
            "remember": {"text": f"The importer writes to stdin in {mode} mode since the queue broke."},
            "timeline": {},
            "impact": {"symbol": "nothing_that_is_there"},
            "status": {},
        }.items():
            said[name] = await one.call_tool(name, arguments)
        said["wrong"] = await one.call_tool("get", {"ids": 5})
        said["resources"] = [str(each.uri) for each in (await one.list_resources()).resources]
        said["templates"] = [
            each.uri_template for each in (await one.list_resource_templates()).resource_templates
        ]
        said["memory"] = (await one.read_resource(f"ragmem://memory/{known}")).contents[0].text
        said["prompts"] = [each.name for each in (await one.list_prompts()).prompts]
        said["briefing"] = (
            (await one.get_prompt("session_briefing", {"task": "deploy"})).messages[0].content.text
        )
        for refused in (
            one.call_tool("no_such_tool", {}),
            one.read_resource("ragmem://nowhere/x"),
            one.get_prompt("no_such_prompt"),
        ):
            try:
                await refused
            except MCPError as error:
                said.setdefault("codes", []).append(error.error.code)
    return said


@pytest.mark.parametrize(("mode", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28")])
def test_the_sdks_client_reaches_everything(home, mode, version):
    said = asyncio.run(_everything(home, mode))

    assert said["version"] == version
    assert said["tools"] == DEFAULT
    assert "Kubernetes" in said["search"]
    assert "there is no code graph yet" in said["impact"].content[0].text
    for name in ("get", "remember", "timeline", "status"):
        assert not said[name].is_error, said[name].content[0].text
    assert "Kubernetes" in said["get"].content[0].text
    assert said["wrong"].is_error
    assert "hint" in said["wrong"].content[0].text
    assert "ragmem://status" in said["resources"]
    assert "ragmem://memory/{id}" in said["templates"]
    assert "Kubernetes" in said["memory"]
    assert said["prompts"] == ["session_briefing"]
    assert said["briefing"]
    assert said["codes"] == [-32602, -32602 if mode == "auto" else -32002, -32602]


@pytest.mark.parametrize(
    ("asked", "spoken"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ],
)
def test_a_client_gets_its_version_or_the_newest_that_begins_so(talk, asked, spoken):
    told = talk.ask("initialize", protocolVersion=asked, capabilities={})["result"]

    assert told["protocolVersion"] == spoken
    assert told["serverInfo"]["name"] == "ragmem"
    assert told["instructions"]


STATELESS = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def test_a_request_that_carries_its_version_stands_alone(home):
    with Talk(home) as talk:
        listed = talk.ask("tools/list", _meta=STATELESS)["result"]
        refused = talk.ask("ping", _meta=STATELESS)["error"]
        old = talk.ask(
            "tools/list", _meta={**STATELESS, "io.modelcontextprotocol/protocolVersion": "2030-01-01"}
        )
        lame = talk.ask("tools/list", _meta={"io.modelcontextprotocol/protocolVersion": "2026-07-28"})

    assert listed["resultType"] == "complete"
    assert listed["ttlMs"] > 0
    assert refused["code"] == -32601
    assert old["error"]["code"] == -32022
    assert old["error"]["data"] == {"supported": ["2026-07-28"], "requested": "2030-01-01"}
    assert lame["error"]["code"] == -32602


DEEP = b"[" * 100_000


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", -32700),
        (b"\xff\xfe", -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"} x', -32700),
        (DEEP, -32700),
        (b"1" * 10_000, -32700),
        (b'{"id":1,"method":"ping"}', -32600),
        (b'"ping"', -32600),
        (b"[]", -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600),
        (b'{"jsonrpc":"2.0","id":1}', -32600),
        (b" " * 5_000_000 + b"1", -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"tasks/list"}', -32601),
        (b'{"jsonrpc":"2.0","id":1,"method":"server/discover"}', -32601),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"initialize"}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"loud"}}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":{}}}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":[]}}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"heartbeat"}}', -32602),
    ],
    ids=lambda value: value[:40].decode("latin-1") if isinstance(value, bytes) else None,
)
def test_what_is_wrong_has_its_code_and_the_next_request_its_answer(talk, line, code):
    # Others may have begun with a version that takes arrays.
    talk.begin()
    talk.say(line)

    assert talk.hear()["error"]["code"] == code
    assert talk.ask("ping", "again") == {"jsonrpc": "2.0", "id": "again", "result": {}}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
METHODS = st.sampled_from(
    [
        "initialize",
        "ping",
        "tools/list",
        "prompts/list",
        "logging/setLevel",
        "notifications/cancelled",
        "x",
        "",
    ]
)
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | VALUES,
        "id": st.integers() | st.text(max_size=4) | VALUES,
        "method": METHODS | VALUES,
        "params": st.dictionaries(
            st.sampled_from(["_meta", "cursor", "level", "protocolVersion", "requestId", "clientInfo"]),
            VALUES,
        )
        | VALUES,
        "result": VALUES,
    },
)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(MESSAGES.map(json.dumps).map(str.encode) | st.binary(max_size=60), max_size=4))
def test_whatever_is_said_only_json_rpc_is_answered_and_it_lives_on(talk, lines):
    talk.say(*lines, request("ping", "the last"))

    said = talk.hear()
    # An answer to each line at most, and the ping's behind them.
    for _ in range(200):
        if said == {"jsonrpc": "2.0", "id": "the last", "result": {}}:
            break
        said = talk.hear()
    else:
        raise AssertionError(said)


def test_an_array_of_messages_is_answered_by_one_where_the_version_has_them(home):
    with Talk(home) as talk:
        talk.begin("2025-03-26")
        call = {"name": "search", "arguments": {"query": QUESTION}}
        talk.say([request("ping", 1), {"jsonrpc": "2.0", "method": "x"}, 5, request("tools/call", 2, **call)])
        told = talk.hear()
        talk.say([{"jsonrpc": "2.0", "method": "notifications/initialized"}])
        last = talk.ask("ping", 3)

    assert {one["id"]: "error" in one for one in told} == {1: False, None: True, 2: False}
    assert last["id"] == 3


def waiting(number=7, **more):
    arguments = {"timeout_seconds": 30, "agent_id": "me", **more}
    return request("tools/call", number, name="wait_for_events", arguments=arguments)


def test_a_call_that_takes_long_holds_nobody_up_and_a_cancelled_one_is_not_answered(home):
    with Talk(home, "--profile", "full") as talk:
        talk.begin()
        talk.say(waiting())
        pong = talk.ask("ping", "while it waits")
        talk.say(
            waiting(), {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
        )
        twice = talk.hear()
        said, seconds = talk.rest()

    assert pong["id"] == "while it waits"
    assert twice["error"]["code"] == -32600
    assert said == []
    assert seconds < 10


def test_a_question_is_answered_beside_many_calls_that_wait(home):
    with Talk(home, "--profile", "full") as talk:
        talk.begin()
        talk.say(*(waiting(number, agent_id=f"agent-{number}") for number in range(100, 120)))
        told = talk.ask("tools/call", "a question", name="status", arguments={})
        talk.rest()

    assert told["id"] == "a question"


def test_who_waits_is_told_as_soon_as_something_happens(home):
    with Talk(home, "--profile", "full") as talk, Talk(home, "--profile", "full") as other:
        talk.begin()
        other.begin()
        first = talk.ask(
            "tools/call", name="report_status", arguments={"agent_id": "me", "status": "working"}
        )
        assert not first["result"]["isError"], first
        talk.say(waiting(event_types=["message"]))
        time.sleep(1)
        sent = other.ask(
            "tools/call", name="send_to_agent", arguments={"to": "me", "from": "you", "message": "look here"}
        )
        began = time.monotonic()
        told = talk.hear()

    assert not sent["result"]["isError"], sent
    assert "look here" in told["result"]["content"][0]["text"]
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("end", ["input", "SIGTERM", "output"])
def test_it_ends_at_once_whatever_it_does(home, end):
    with Talk(home, "--profile", "full") as talk:
        talk.begin()
        talk.say(waiting())
        talk.ask("ping")
        began = time.monotonic()
        if end == "input":
            talk.process.stdin.close()
        elif end == "SIGTERM":
            talk.process.send_signal(signal.SIGTERM)
        else:
            talk.process.stdout.close()
            talk.say(request("ping", 2))
        code = talk.process.wait(60)

    assert code == 0
    assert time.monotonic() - began < 10


READS = """
import signal, sys, threading, time
from ragmem.mcp import stdio

def ended():
    time.sleep(0.3)
    # Taken by this thread, it interrupts no read, as one that comes just before a read begins.
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

threading.Thread(target=ended, daemon=True).start()
sys.exit(stdio.run(stdio.Options()))
"""


def test_a_signal_that_interrupts_no_read_ends_it_all_the_same(home):
    with subprocess.Popen(
        [sys.executable, "-c", READS],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env=environment(home),
        cwd=home,
    ) as process:
        try:
            assert process.wait(20) == 0
        finally:
            process.kill()


def test_without_a_warm_process_it_answers_by_itself(home):
    data = str(home / "ragmem" / "data")
    client.stop(data, deadline=time.monotonic() + 5)

    with Talk(home, RAGMEM_WARM="off") as talk:
        talk.begin()
        told = talk.ask("tools/call", name="search", arguments={"query": QUESTION, "project": "*"})
        running = runtime.is_running(data)

    assert "Kubernetes" in told["result"]["content"][0]["text"]
    assert not running


def test_settings_that_are_wrong_are_told_and_the_next_call_finds_them_mended(home, tmp_path):
    config = tmp_path / "ragmem" / "config" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[query\nlimit = 3\n")

    with Talk(home, cwd=home, RAGMEM_HOME=str(tmp_path / "ragmem"), RAGMEM_WARM="off") as talk:
        talk.begin()
        call = {"name": "status", "arguments": {}}
        wrong = talk.ask("tools/call", **call)["result"]
        unread = talk.ask("resources/read", uri="ragmem://status")["error"]
        config.write_text("[query]\nlimit = 3\n")
        mended = talk.ask("tools/call", **call)["result"]

    assert wrong["isError"]
    assert "config.toml" in wrong["content"][0]["text"]
    assert "hint: " in wrong["content"][0]["text"]
    assert "config.toml" in unread["message"]
    assert not mended["isError"]


def test_the_project_is_the_one_that_the_client_has_open(home, tmp_path):
    elsewhere = tmp_path / "else where"
    (elsewhere / ".git").mkdir(parents=True)
    call = {"name": "search", "arguments": {"query": QUESTION}}
    roots = {"roots": [{"uri": (home / "notes").as_uri()}]}

    with Talk(home, cwd=elsewhere) as talk:
        talk.begin(roots={})
        asked = talk.hear()
        talk.say(request("tools/call", 1, **call), {"jsonrpc": "2.0", "id": asked["id"], "result": roots})
        by_root = talk.hear()
    with Talk(home, "--project", str(home / "notes"), cwd=elsewhere) as talk:
        talk.begin(roots={})
        by_option = talk.ask("tools/call", **call)
    with Talk(home, cwd=elsewhere, CLAUDE_PROJECT_DIR=str(home / "notes")) as talk:
        talk.begin()
        by_variable = talk.ask("tools/call", **call)
    with Talk(home, cwd=elsewhere) as talk:
        talk.begin()
        outside = talk.ask("tools/call", **call)

    assert asked["method"] == "roots/list"
    for told in (by_root, by_option, by_variable):
        assert "Kubernetes" in told["result"]["content"][0]["text"]
    assert "Kubernetes" not in outside["result"]["content"][0]["text"]


def test_answers_are_data_too_where_a_program_wants_them(home):
    call = {"name": "search", "arguments": {"query": QUESTION, "project": "*"}}
    with Talk(home) as plain, Talk(home, "--structured") as structured:
        plain.begin()
        structured.begin()
        told, data = plain.ask("tools/call", **call), structured.ask("tools/call", **call)

    assert "structuredContent" not in told["result"]
    assert isinstance(data["result"]["structuredContent"], dict)


def test_the_full_profile_lists_every_tool(home):
    with Talk(home, "--profile", "full") as talk:
        listed = talk.ask("tools/list")["result"]["tools"]

    assert [tool["name"] for tool in listed] == [tool.name for tool in TOOLS]
    assert all(tool["inputSchema"]["type"] == "object" for tool in listed)
