"""Two sessions of Claude Code, every event in its order: what the first decided, the second is told."""

import shutil
import tempfile
import time
from pathlib import Path

import pytest
from claude_sessions import Session
from hook_calls import Hooks
from warm_homes import processes, wait_until

from ragmem import client
from ragmem.client import runtime
from ragmem.hooks import spool

ASKED_FIRST = "How shall we store the sessions of the harbour portal?"
DECIDED = (
    "We decided to keep the portal's sessions in PostgreSQL 16 instead of Redis, because Redis lost them at "
    "each restart of the harbour cluster. Root cause: it had no persistent volume."
)
ASKED = "Where are the sessions of the harbour portal stored, and why not in Redis?"
UNRELATED = "Please translate the greeting card for grandmother's birthday party into Portuguese verse."


@pytest.fixture
def person(monkeypatch):
    """Return the hooks of a home on the bundled model, with a warm process and drains of their own."""
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    folder = Path(tempfile.mkdtemp(prefix="hooks-")).resolve()
    hooks = Hooks(folder)
    hooks.environ |= {
        "RAGMEM_MODELS_BACKEND": "minilm",
        "RAGMEM_STORE_BACKEND": "lightrag",
        "RAGMEM_WARM": "on",
        "RAGMEM_HOOKS_QUERY_DEADLINE_S": "60",
        "HOME": str(folder),
    }
    for name, value in hooks.environ.items():
        # The client tells by these whether a process is of these settings.
        if name.startswith("RAGMEM_") or name == "HOME":
            monkeypatch.setenv(name, value)
    yield hooks
    client.stop(str(hooks.data), deadline=time.monotonic() + 5)
    assert wait_until(lambda: not processes(hooks.data), 5.0)
    shutil.rmtree(runtime.runtime_folder(str(hooks.data)), ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.slow
def test_what_one_session_decided_the_next_is_told_once_and_nothing_else_is_told(person):
    first = Session(person.transcript, name="s1", cwd=person.project)
    assert person.call("SessionStart", source="startup").said is None
    assert person.call("UserPromptSubmit", prompt=ASKED_FIRST).said is None
    person.call("PreToolUse", tool_name="Grep", tool_input={"pattern": "redis"}, tool_use_id="t1")
    person.call("PostToolUse", tool_name="Write", tool_input={"file_path": "a.py"}, tool_response={})
    first.turn(ASKED_FIRST, DECIDED)
    assert person.call("Stop", stop_hook_active=False).stdout == b""
    assert person.call("PreCompact", trigger="auto").stdout == b""
    person.call("SessionStart", source="compact")
    assert person.call("SessionEnd", reason="prompt_input_exit").stdout == b""
    assert wait_until(lambda: spool.is_empty(person.data), 60.0), person.log()

    searched = {"tool_name": "WebSearch", "tool_input": {"query": ASKED}}
    # The session that decided it has it before its eyes.
    assert person.call("PreToolUse", **searched).said is None

    second = {"session_id": "s2", "transcript_path": str(person.transcript.with_name("s2.jsonl"))}
    begun = person.call("SessionStart", source="startup", **second)
    asked = person.call("UserPromptSubmit", prompt=ASKED, **second)
    told = begun.told + asked.told
    assert "PostgreSQL 16 instead of Redis" in told, person.log()
    assert told.count("PostgreSQL 16 instead of Redis") == 1

    assert person.call("UserPromptSubmit", prompt=ASKED, **second).said is None
    assert person.call("SessionStart", source="resume", **second).said is None
    assert person.call("PreToolUse", **searched, **second).said is None
    assert person.call("UserPromptSubmit", prompt=UNRELATED, **second).said is None
    assert person.call("PreToolUse", **searched, **second, agent_id="a1").said is None

    again = person.call("SessionStart", source="compact", **second)
    assert "PostgreSQL 16" in again.told, person.log()

    third = {"session_id": "s3"}
    research = person.call("PreToolUse", **searched, **third)
    assert research.said["hookSpecificOutput"]["hookEventName"] == "PreToolUse"
    assert "PostgreSQL 16" in research.told
    assert person.call("PreToolUse", **searched, **third).said is None
    assert len(processes(person.data)) == 1
