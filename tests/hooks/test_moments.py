"""Moments of need, through the hooks of Claude Code, Codex and Gemini: a file, a failure, a subagent."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hook_calls import Hooks
from warm_homes import processes, wait_until

from ragmem import client
from ragmem.api.memory import Ragmem
from ragmem.assistants import load_assistants
from ragmem.client import runtime
from ragmem.domain.model import Draft, Scope
from ragmem.domain.retrieval.rule_topics import vocabulary
from ragmem.hooks import query
from ragmem.hooks.event import HookEvent
from ragmem.hooks.task import last_task

ASSISTANTS = {one.name: one for one in load_assistants()}
PROJECT = "p-harbour"
MADE = datetime(2026, 3, 1, tzinfo=UTC)

TRAP = (
    "The tide table in `src/tides/table_reader.py` must never be read without its lock, because the nightly "
    "import writes it in place."
)
WORK = "Looked at `src/tides/plain_report.py` and ran the tests."
KNOWN_ERROR = (
    '`psycopg.errors.UndefinedTable: relation "berth_calls" does not exist` after a fresh clone. '
    "Fix: run the migrations of the harbour schema first."
)
FAILED = (
    "Exit code 1\n2026-04-02 10:00:01 starting\n"
    'psycopg.errors.UndefinedTable: relation "berth_calls" does not exist\nLINE 88: SELECT 1\n'
)


@pytest.fixture
def hooks(monkeypatch):
    """Return the hooks of a home that knows a trap and an error of a project, with a warm process."""
    folder = Path(tempfile.mkdtemp(prefix="moments-")).resolve()
    found = Hooks(folder)
    found.environ |= {"RAGMEM_WARM": "on", "RAGMEM_HOOKS_QUERY_DEADLINE_S": "60", "HOME": str(folder)}
    for name, value in found.environ.items():
        if name.startswith("RAGMEM_") or name == "HOME":
            monkeypatch.setenv(name, value)
    (found.project / "src" / "tides").mkdir(parents=True)
    for name in ("table_reader.py", "plain_report.py"):
        (found.project / "src" / "tides" / name).write_text("def read():\n    return 1\n")
    with Ragmem.open(environ=os.environ, cwd=found.project) as memory:
        for name, text in (("trap", TRAP), ("work", WORK), ("error", KNOWN_ERROR)):
            memory.ingest([Draft("memory", f"/n/{name}.md", text, name, MADE, Scope(PROJECT))])
        memory.catalog.projects.remember(PROJECT, name="harbour", root=str(found.project))
    with found.hold_drain():
        yield found
    client.stop(str(found.data), deadline=time.monotonic() + 5)
    assert wait_until(lambda: not processes(found.data), 5.0)
    shutil.rmtree(runtime.runtime_folder(str(found.data)), ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)


def touched(name):
    return {"tool_name": "Read", "tool_input": {"file_path": f"src/tides/{name}"}, "tool_response": {}}


def edited(name):
    return {"tool_name": "Edit", "tool_input": {"file_path": f"src/tides/{name}", "old_string": "a"}}


def test_a_file_that_is_touched_brings_its_trap_once_a_session_and_a_report_of_work_never(hooks):
    first = hooks.call("PostToolUse", **touched("table_reader.py"))
    assert first.said["hookSpecificOutput"]["hookEventName"] == "PostToolUse"
    assert "must never be read without its lock" in first.told, hooks.log()
    assert len(first.told) <= 800
    assert hooks.call("PreToolUse", **edited("table_reader.py")).said is None
    assert hooks.call("PostToolUse", **touched("plain_report.py")).said is None

    other = hooks.call("PreToolUse", **edited("table_reader.py"), session_id="s2")
    assert "must never be read" in other.told
    # A subagent does not see what its session was told.
    within = hooks.call("PreToolUse", **edited("table_reader.py"), session_id="s2", agent_id="a1")
    assert "must never be read" in within.told


def test_a_failure_brings_the_known_fix_once_whatever_its_numbers_and_paths(hooks):
    failed = {"tool_name": "Bash", "tool_input": {"command": "make test"}, "error": FAILED}
    first = hooks.call("PostToolUseFailure", **failed)
    assert first.said["hookSpecificOutput"]["hookEventName"] == "PostToolUseFailure"
    assert "run the migrations" in first.told, hooks.log()
    assert len(first.told) <= 1_000
    again = {**failed, "error": FAILED.replace("88", "91").replace("10:00:01", "11:30:59")}
    assert hooks.call("PostToolUseFailure", **again).said is None
    codex = {"tool_name": "Bash", "tool_input": {"command": ["make"]}, "tool_response": FAILED}
    assert "run the migrations" in hooks.call("PostToolUse", "--for", "codex", **codex, session_id="s3").told
    gemini = {"tool_name": "run_shell_command", "tool_response": {"llmContent": FAILED}}
    assert "run the migrations" in hooks.call("AfterTool", "--for", "gemini", **gemini, session_id="s4").told
    other = {**failed, "error": FAILED.replace("berth_calls", "crane_calls")}
    assert hooks.call("PostToolUseFailure", **other, session_id="s5").said is None


def test_silence_is_counted_and_what_was_told_is_listed_by_moment(hooks):
    hooks.call("PostToolUse", **touched("table_reader.py"))
    hooks.call("PostToolUse", **touched("plain_report.py"))
    done = subprocess.run(
        [sys.executable, "-m", "ragmem", "inspect", "injections", "--by-moment", "--json"],
        capture_output=True,
        check=True,
        env=hooks.environ,
        cwd=hooks.project,
        timeout=60,
    )
    figures = {one["moment"]: one for one in json.loads(done.stdout)["moments"]}
    assert (figures["file"]["told"], figures["file"]["silent"]) == (1, 1)
    assert figures["file"]["reasons"] == {"no memory about it is worth injecting": 1}
    assert figures["failure"]["told"] == 0


def asked(assistant, event, **fields):
    common = {"session_id": "s1", "cwd": "/p", "hook_event_name": event}
    happened = HookEvent(ASSISTANTS[assistant], event, {**common, **fields})
    return query.request(happened, max_chars=9000, research=True)


@pytest.mark.parametrize(
    ("assistant", "event", "fields", "moment", "prompt"),
    [
        (
            "claude-code",
            "PreToolUse",
            {"tool_name": "Write", "tool_input": {"file_path": "/p/a.py"}},
            "file",
            "/p/a.py",
        ),
        (
            "claude-code",
            "PreToolUse",
            {"tool_name": "NotebookEdit", "tool_input": {"notebook_path": "/p/a.ipynb"}},
            "file",
            "/p/a.ipynb",
        ),
        (
            "codex",
            "PreToolUse",
            {
                "tool_name": "apply_patch",
                "tool_input": {"command": "*** Begin Patch\n*** Update File: a.py\n*** Add File: b.py\n"},
            },
            "file",
            "/p/a.py\n/p/b.py",
        ),
        (
            "claude-code",
            "PreToolUse",
            {"tool_name": "Bash", "tool_input": {"command": "cd web && npm install zod"}},
            "command",
            "cd web && npm install zod",
        ),
        (
            "codex",
            "PreToolUse",
            {"tool_name": "Bash", "tool_input": {"command": ["git", "push"]}},
            "command",
            "git push",
        ),
        (
            "gemini",
            "AfterTool",
            {"tool_name": "replace", "tool_input": {"file_path": "a.py"}},
            "file",
            "/p/a.py",
        ),
        (
            "claude-code",
            "PostToolUse",
            {
                "tool_name": "Bash",
                "tool_input": {"command": "make"},
                "tool_response": {"stdout": "ok", "exitCode": 2},
            },
            "failure",
            "ok",
        ),
    ],
)
def test_a_tool_is_asked_about_by_what_it_touches(assistant, event, fields, moment, prompt):
    said = asked(assistant, event, **fields)
    assert (said["event"], said["prompt"]) == (moment, prompt)


def test_a_command_of_which_no_rule_speaks_is_not_asked_about():
    for line in ("ls -la", "", "ragmem query git"):
        said = asked("claude-code", "PreToolUse", tool_name="Bash", tool_input={"command": line})
        assert said == {"reason": "no rule can apply to this command"}
    assert set(vocabulary().programs) == query.PROGRAMS


def test_moments_can_be_switched_off_alone():
    fields = {"session_id": "s1", "cwd": "/p", "tool_name": "Edit", "tool_input": {"file_path": "a.py"}}
    happened = HookEvent(ASSISTANTS["claude-code"], "PreToolUse", fields)
    off = query.request(happened, max_chars=9000, research=True, moments=False)
    assert off == {"reason": "[hooks] moments is off"}


@pytest.mark.parametrize(
    ("event", "fields"),
    [
        ("PostToolUse", {"tool_name": "Bash", "tool_input": {}, "tool_response": {"stdout": "12 passed"}}),
        ("PostToolUseFailure", {"tool_name": "Bash", "error": "Exit code 130", "is_interrupt": True}),
        (
            "PostToolUseFailure",
            {"tool_name": "Bash", "tool_input": {"command": "ragmem query x"}, "error": "no"},
        ),
        ("PostToolUse", {"tool_name": "Edit", "tool_input": {"file_path": "/p/a.py"}}),
        ("PreToolUse", {"tool_name": "Read", "tool_input": {"file_path": "/p/a.py"}}),
        ("SubagentStart", {"agent_id": "a1", "agent_type": "Explore"}),
    ],
)
def test_what_tells_nothing_is_not_asked_about(event, fields):
    assert set(asked("claude-code", event, **fields)) == {"reason"}


def call_of(name, number, **given):
    content = [{"type": "tool_use", "id": f"t{number}", "name": name, "input": given}]
    return json.dumps({"type": "assistant", "message": {"role": "assistant", "content": content}})


def test_the_task_of_a_subagent_is_read_in_the_transcript_of_its_session(tmp_path):
    path = tmp_path / "s.jsonl"
    answered = {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t1"}]}}
    lines = [
        '{"cut off',
        call_of("Task", 1, prompt="an old task", subagent_type="Explore"),
        json.dumps(answered),
        call_of("Task", 2, prompt="find the tide lock", subagent_type="Explore"),
        call_of("Task", 3, prompt="plan the quay", subagent_type="Plan"),
    ]
    path.write_text("\n".join(lines))
    tools = ASSISTANTS["claude-code"].tasks
    assert last_task(str(path), tools, kind="Explore") == "find the tide lock"
    assert last_task(str(path), tools, kind="Plan") == "plan the quay"
    # Of two that wait, none is the one for sure.
    assert last_task(str(path), tools) == ""
    assert last_task(str(tmp_path / "none.jsonl"), tools) == ""
    started = {"agent_id": "a1", "agent_type": "Explore", "transcript_path": str(path)}
    said = asked("claude-code", "SubagentStart", **started)
    assert (said["event"], said["prompt"], said["agent"]) == ("subagent", "find the tide lock", "a1")


def test_a_task_that_is_written_a_moment_after_the_event_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(query, "WRITTEN_WITHIN_S", 20.0, raising=False)
    path = tmp_path / "s.jsonl"
    path.write_text("")
    later = threading.Timer(0.1, path.write_text, [call_of("Agent", 1, prompt="find the tide lock") + "\n"])
    later.start()
    said = asked("claude-code", "SubagentStart", agent_id="a1", transcript_path=str(path))
    assert said["prompt"] == "find the tide lock"


def test_the_task_of_a_subagent_in_the_background_is_that_of_its_launch(tmp_path):
    """Claude Code 2.1.332 answers the call at once, and writes down which agent it has launched."""
    path = tmp_path / "s.jsonl"
    lines = []
    for number, task in enumerate(("find the tide lock", "plan the quay")):
        content = [{"type": "tool_result", "tool_use_id": f"t{number}", "content": "launched"}]
        launch = {"isAsync": True, "status": "async_launched", "agentId": f"a{number}", "prompt": task}
        lines.append(call_of("Agent", number, prompt=task, subagent_type="Explore"))
        lines.append(json.dumps({"type": "user", "message": {"content": content}, "toolUseResult": launch}))
    path.write_text("\n".join(lines))

    for agent, task in (("a0", "find the tide lock"), ("a1", "plan the quay"), ("a2", None)):
        started = {"agent_id": agent, "agent_type": "Explore", "transcript_path": str(path)}
        assert asked("claude-code", "SubagentStart", **started).get("prompt") == task
