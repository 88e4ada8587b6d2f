"""Hooks by a command, by the MCP server and by `ragmem serve`: the same reply, once, and never an error."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp_talk import Talk, environment, request
from warm_homes import wait_until

from ragmem import client
from ragmem.api.memory import Ragmem
from ragmem.assistants import load_assistant
from ragmem.assistants.assistant import HOOK_PATH, HOOK_TOOL, TOKEN_VARIABLE
from ragmem.client import runtime
from ragmem.hooks.entry import reply
from ragmem.hooks.log import NAME as LOG
from ragmem.server.security.audit import FILE_NAME as AUDIT

from .conftest import fill, serving

CLAUDE = load_assistant("claude-code")
PROMPT = "why do we deploy PostgreSQL with Kubernetes and who resized the full volume"
HANDLERS = ("command", "mcp", "http")
STAYING = ("mcp", "http")
ERROR = "Error: connection reset by psycopg"
MOMENTS: dict[str, dict[str, Any]] = {
    "UserPromptSubmit": {"prompt": PROMPT},
    "UserPromptExpansion": {"command_args": PROMPT, "prompt": f"/look {PROMPT}", "command_name": "look"},
    "PreToolUse": {"tool_name": "WebSearch", "tool_input": {"query": PROMPT}},
    "PostToolUse": {
        "tool_name": "Bash",
        "tool_input": {"command": "make"},
        "tool_response": {"stdout": ERROR, "stderr": "", "interrupted": False},
    },
    "PostToolUseFailure": {
        "tool_name": "Bash",
        "tool_input": {"command": "make"},
        "error": f"Exit code 1\n{ERROR}",
        "is_interrupt": False,
    },
    "SubagentStart": {"agent_id": "a1", "agent_type": "general-purpose"},
}
"""The events within a session, as Claude Code sends them."""


def filled_in(template: Any, fields: dict[str, Any]) -> Any:
    """Return an input as Claude Code 2.1.332 fills it in: "" for what is missing, JSON for an object."""
    if isinstance(template, dict):
        return {name: filled_in(value, fields) for name, value in template.items()}

    def value_of(found: re.Match[str]) -> str:
        value: Any = fields
        for name in found[1].split("."):
            value = value.get(name, "") if isinstance(value, dict) else ""
        return value if isinstance(value, str) else json.dumps(value)

    return re.sub(r"\$\{([\w.]+)\}", value_of, template)


@dataclass
class World:
    """A home with a server and an MCP server, and the three ways to hand an event over."""

    home: Path
    talk: Talk
    url: str
    token: str
    process: Any
    number: int = 0

    def fields(self, event: str, session: str, **more: Any) -> dict[str, Any]:
        common = {"session_id": session, "transcript_path": "", "cwd": str(self.home / "notes")}
        return {**common, "hook_event_name": event, **more}

    def reply(self, handler: str, event: str, session: str, **more: Any) -> dict[str, Any] | None:
        """Return the JSON that an event gets, None for nothing; fails where it is an error."""
        fields = self.fields(event, session, **more)
        if handler == "command":
            done = subprocess.run(
                [sys.executable, "-m", "ragmem", "hook", event, "--for", "claude-code"],
                input=json.dumps(fields).encode(),
                env=environment(self.home),
                cwd=self.home,
                capture_output=True,
                check=True,
            )
            text = done.stdout.decode()
        elif handler == "mcp":
            entry: Any = CLAUDE.handler_entry("mcp", event, f"ragmem hook {event} --for claude-code", 5)
            text = self.call(filled_in(entry["hooks"][0]["input"], fields))
        else:
            answer = self.post(event, json=fields)
            assert answer.status_code == (200 if answer.content else 204)
            text = answer.text
        return json.loads(text) if text else None

    def call(self, arguments: Any) -> str:
        self.number += 1
        told = self.talk.ask("tools/call", self.number, name=HOOK_TOOL, arguments=arguments)
        assert "result" in told, told
        assert told["result"]["isError"] is False
        return "".join(part["text"] for part in told["result"]["content"])

    def post(self, event: str, **options: Any) -> httpx.Response:
        options.setdefault("headers", {"Authorization": f"Bearer {self.token}"})
        return httpx.post(f"{self.url}{HOOK_PATH}/claude-code/{event}", timeout=30, **options)

    def last_lines(self, count: int = 1) -> list[str]:
        """Return the last lines of the hooks' log."""
        return (self.home / "ragmem" / "state" / LOG).read_text().splitlines()[-count:]


@contextmanager
def serving_both(home: Path, **variables: str) -> Iterator[World]:
    with Ragmem.open(environ=environment(home), home=home, cwd=home) as memory:
        fill(home, memory)
    everywhere = {"RAGMEM_WARM_IDLE_MINUTES": "1", **variables}
    with serving(home, **everywhere) as server, Talk(home, **variables) as talk:
        talk.begin()
        place = runtime.runtime_folder(str(home / "ragmem" / "data"))
        assert wait_until(lambda: runtime.read_record(place)[-1:] == [runtime.SERVES])
        yield World(home, talk, server.url, server.token, server.process)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    # On a machine that is busy the reply counts, not the time.
    with serving_both(tmp_path_factory.mktemp("all"), RAGMEM_HOOKS_QUERY_DEADLINE_S="60") as found:
        yield found


def test_these_are_all_events_that_ask_within_a_session():
    assert [event for event in CLAUDE.events if CLAUDE.asks_within_session(event)] == list(MOMENTS)


@pytest.mark.parametrize("event", MOMENTS)
def test_an_event_gets_the_same_reply_whatever_hands_it_over(event, world, tmp_path):
    task = {"type": "tool_use", "id": "t1", "name": "Agent", "input": {"prompt": PROMPT}}
    transcript = tmp_path / "s.jsonl"
    transcript.write_text(json.dumps({"type": "assistant", "message": {"content": [task]}}) + "\n")
    more = {**MOMENTS[event], "transcript_path": str(transcript)}

    replies = [world.reply(handler, event, f"{event} by {handler}", **more) for handler in HANDLERS]

    assert replies[0]["hookSpecificOutput"]["hookEventName"] == event
    assert "<ragmem-memory>" in replies[0]["hookSpecificOutput"]["additionalContext"]
    assert replies == replies[:1] * 3
    outcomes = [line.partition(" injected ")[2].rpartition(" [")[0] for line in world.last_lines(3)]
    assert outcomes[0].startswith("1: ")
    assert outcomes == outcomes[:1] * 3


@pytest.mark.parametrize("first", HANDLERS)
def test_a_session_is_told_nothing_twice_by_different_handlers(first, world):
    session = f"told first by {first}"
    others = [handler for handler in HANDLERS if handler != first]

    assert world.reply(first, "PreToolUse", session, **MOMENTS["PreToolUse"])
    for other in others:
        assert world.reply(other, "PreToolUse", session, **MOMENTS["PreToolUse"]) is None

    with Ragmem.open(environ=environment(world.home), home=world.home, cwd=world.home) as memory:
        told = memory.injections.log(session=session, memory="", since=None, limit=9)
    assert len(told) == 1


@pytest.mark.parametrize("handler", HANDLERS)
def test_what_says_nothing_gets_no_reply(handler, world):
    for event, more in {
        "UserPromptSubmit": {"prompt": "/compact"},
        "UserPromptExpansion": {"command_args": "", "prompt": "/look"},
        "PreToolUse": {"tool_name": "Read", "tool_input": {"file_path": "/a"}},
        "PostToolUse": {"tool_name": "Bash", "tool_response": {"stdout": "12 passed", "stderr": ""}},
        "PostToolUseFailure": {"tool_name": "Bash", "error": ERROR, "is_interrupt": True},
    }.items():
        assert world.reply(handler, event, f"silent by {handler}", **more) is None, event


@pytest.mark.parametrize("handler", STAYING)
def test_a_written_document_is_kept_as_a_command_keeps_it(handler, world):
    document = world.home / "notes" / f"{handler}.md"
    document.write_text("---\nphase: complete\n---\n# Queue\n\nWe decided to bound the queue.\n")
    written = {"tool_name": "Write", "tool_input": {"file_path": str(document), "content": "..."}}

    assert world.reply(handler, "PostToolUse", f"writes by {handler}", **written) is None

    assert any("stored, to be ingested by the warm process" in line for line in world.last_lines(5))


@pytest.mark.parametrize("handler", STAYING)
def test_what_begins_or_ends_a_session_is_left_to_commands(handler, world):
    line = {"SessionEnd": "", "Stop": "", "SessionStart": "", "NoSuchEvent": ""}
    for event in line:
        if handler == "mcp":
            assert world.call({"call": f"ragmem hook {event} --for claude-code", "session_id": "s"}) == ""
        else:
            assert world.post(event, json=world.fields(event, "s")).status_code == 204
    log = (world.home / "ragmem" / "state" / LOG).read_text()
    assert all(f'"{event}" of "claude-code" needs a hook of type command' in log for event in line)
    # The written document of another test is kept, and may be told late.
    assert not [line for line in log.splitlines() if " stored" in line and " writes by " not in line]


def test_the_tool_for_hooks_is_in_no_list(world):
    listed = world.talk.ask("tools/list", 10_000)["result"]["tools"]

    assert listed
    assert HOOK_TOOL not in [tool["name"] for tool in listed]
    with Talk(world.home, "--profile", "full") as full:
        full.begin()
        assert HOOK_TOOL not in [tool["name"] for tool in full.ask("tools/list")["result"]["tools"]]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"call": ""},
        {"call": 5, "session_id": ["s"], "prompt": {"a": 1}},
        {"call": "rm -rf / hook"},
        {"call": "ragmem hook UserPromptSubmit --for nobody", "session_id": "s", "prompt": PROMPT},
        {"call": "ragmem hook PreToolUse --for claude-code", "tool_input": "{", "tool_name": "WebSearch"},
        {"call": "ragmem hook PreToolUse --for claude-code", "tool_input": "[" * 90_000, "tool_name": "Grep"},
        {"call": "ragmem hook UserPromptSubmit --for claude-code", "session_id": "\0" * 300, "cwd": "\0"},
    ],
)
def test_garbage_over_mcp_is_answered_with_nothing(arguments, world):
    assert world.call(arguments) == ""


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"null",
        b"[1]",
        b"\xff\xfe{",
        b'{"session_id": 5, "prompt": ["x"], "cwd": {}}',
        b'{"prompt": ' + b"[" * 90_000,
        b'{"session_id": "s", "prompt": "\\ud800 why", "cwd": "\\u0000"}',
    ],
)
def test_garbage_over_http_is_answered_with_nothing(content, world):
    answer = world.post("UserPromptSubmit", content=content)

    assert (answer.status_code, answer.content) == (204, b"")


def test_what_is_huge_harms_nobody(world):
    long = {"prompt": f"{PROMPT} {'x' * 3_000_000}"}
    assert world.reply("mcp", "UserPromptSubmit", "long by mcp", **long)
    assert world.reply("http", "UserPromptSubmit", "long by http", **long)
    assert world.post("UserPromptSubmit", content=b"{" + b" " * 17_000_000).status_code == 413

    world.talk.say(request("tools/call", 1, name=HOOK_TOOL, arguments={"call": "x" * 5_000_000}))
    assert "error" in world.talk.hear()

    for handler in STAYING:
        assert world.reply(
            handler, "UserPromptSubmit", f"after that by {handler}", **MOMENTS["UserPromptSubmit"]
        )


def test_a_wrong_token_is_told_nothing(world):
    for headers in ({}, {"Authorization": "Bearer"}, {"Authorization": "Bearer wrong"}):
        asked = world.fields("UserPromptSubmit", "wrong", prompt=PROMPT)
        answer = world.post("UserPromptSubmit", json=asked, headers=headers)
        assert answer.status_code == 401
        assert "Kubernetes" not in answer.text
    assert world.reply("http", "UserPromptSubmit", "wrong", prompt=PROMPT)


def test_the_token_in_the_environment_of_an_assistant_is_no_setting_of_another_process():
    assert (
        runtime.identity({}) == runtime.identity({TOKEN_VARIABLE: "t"}) != runtime.identity({"RAGMEM_X": "t"})
    )


def test_hooks_that_are_turned_off_are_so_by_every_handler(world):
    with Talk(world.home, RAGMEM_HOOKS="off", RAGMEM_HOOKS_QUERY_DEADLINE_S="60") as talk:
        talk.begin()
        off = World(world.home, talk, world.url, world.token, world.process)
        assert off.reply("mcp", "UserPromptSubmit", "turned off", prompt=PROMPT) is None
    config = world.home / "ragmem" / "config" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    config.write_text("[hooks]\nenabled = false\n")
    try:
        for handler in HANDLERS:
            assert world.reply(handler, "UserPromptSubmit", "turned off", prompt=PROMPT) is None
    finally:
        config.unlink()


def test_a_memory_that_hangs_costs_the_deadline_and_then_nothing(tmp_path):
    with serving_both(tmp_path, RAGMEM_HOOKS_QUERY_DEADLINE_S="1") as world:
        world.process.send_signal(signal.SIGSTOP)
        try:
            for count in (1, 2, 3):
                began = time.monotonic()
                assert world.reply("mcp", "UserPromptSubmit", f"s{count}", prompt=PROMPT) is None
                assert 0.5 < time.monotonic() - began < 5
                assert f"no answer in time, {count} in a row" in world.last_lines()[0]
            began = time.monotonic()
            assert world.reply("mcp", "UserPromptSubmit", "s4", prompt=PROMPT) is None
            assert time.monotonic() - began < 0.5
        finally:
            world.process.send_signal(signal.SIGCONT)
        assert world.reply("http", "UserPromptSubmit", "s5", prompt=PROMPT) is None
        assert all("too many deadlines were missed" in line for line in world.last_lines(2))


@pytest.mark.parametrize("handler", STAYING)
def test_a_deadline_that_cannot_be_kept_gets_no_reply(handler, tmp_path):
    with serving_both(tmp_path, RAGMEM_HOOKS_QUERY_DEADLINE_S="0.1") as world:
        assert world.reply(handler, "UserPromptSubmit", "s", prompt=PROMPT) is None
        assert "no answer in time, 1 in a row" in world.last_lines()[0]


def test_a_process_of_replaced_code_asks_nobody(tmp_path, monkeypatch):
    """It would end the warm process of the new version at each event."""
    folders = tuple(str(tmp_path / name) for name in ("config", "data", "state"))
    (tmp_path / "data").mkdir()
    asked = []
    monkeypatch.setattr(client, "ask", lambda *given, **_: asked.append(given))
    call = ["UserPromptSubmit", "--for", "claude-code"]
    fields = {"session_id": "s", "cwd": "/", "prompt": PROMPT}

    assert reply(call, fields, began=time.monotonic(), folders=folders) is None
    assert len(asked) == 1
    code = tmp_path / "__init__.py"
    code.touch()
    monkeypatch.setattr(runtime.ragmem, "__file__", str(code))
    for _ in range(2):
        assert reply(call, fields, began=time.monotonic(), folders=folders) is None
    assert len(asked) == 1
    assert (tmp_path / "state" / LOG).read_text().count("ragmem was updated") == 1


def test_events_of_hooks_leave_no_entries_in_the_audit_log(filled, connect):
    with connect(filled) as one:
        asked = one.post(f"{HOOK_PATH}/claude-code/UserPromptSubmit", session_id="s", prompt="/compact")
        kept = one.post("/v1/memory/memories", text="We decided to bound the queue at 700 entries.")

    assert (asked.status_code, kept.status_code) == (204, 200)
    audit = (filled.settings.places.state / AUDIT).read_text().splitlines()
    assert [json.loads(line)["route"] for line in audit] == ["/v1/memory/memories"]
