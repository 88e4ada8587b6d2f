"""What each assistant says and wants to hear, field by field."""

import json

import pytest

from ragmem.assistants import load_assistants
from ragmem.hooks import capture, query, rules, spool
from ragmem.hooks.event import HookEvent

ASSISTANTS = {one.name: one for one in load_assistants()}
TRANSCRIPT = "/home/sam/.claude/projects/-p/s1.jsonl"

# assistant, its own name of an event, its fields -> what it is to ragmem, and what is read of it.
EVENTS = [
    ("claude-code", "SessionStart", {"source": "startup", "model": "m"}, "start", {}),
    ("claude-code", "UserPromptSubmit", {"prompt": "why"}, "prompt", {}),
    ("claude-code", "PreToolUse", {"tool_name": "Grep", "tool_input": {}}, "before-tool", {"tool": "Grep"}),
    ("claude-code", "PostToolUse", {"tool_name": "Write", "tool_input": {}}, "after-tool", {"tool": "Write"}),
    ("claude-code", "PreCompact", {"trigger": "auto", "custom_instructions": ""}, "pre-compact", {}),
    ("claude-code", "Stop", {"stop_hook_active": False}, "stop", {}),
    (
        "claude-code",
        "SubagentStop",
        {"agent_id": "a7", "agent_type": "Explore", "agent_transcript_path": "/t/agent-a7.jsonl"},
        "subagent-stop",
        {"agent": "a7", "transcript": "/t/agent-a7.jsonl"},
    ),
    ("claude-code", "SessionEnd", {"reason": "clear"}, "session-end", {}),
    ("codex", "SessionStart", {"source": "startup"}, "start", {}),
    ("codex", "UserPromptSubmit", {"prompt": "why", "turn_id": "t"}, "prompt", {}),
    ("codex", "PreCompact", {"trigger": "manual"}, "pre-compact", {}),
    ("codex", "Stop", {"last_assistant_message": "done", "turn_id": "t"}, "stop", {}),
    ("gemini", "SessionStart", {"source": "resume", "timestamp": "2026-01-01T00:00:00Z"}, "start", {}),
    ("gemini", "BeforeAgent", {"prompt": "why"}, "prompt", {}),
    ("gemini", "AfterTool", {"tool_name": "replace", "tool_input": {}}, "after-tool", {"tool": "replace"}),
    ("gemini", "PreCompress", {"trigger": "auto"}, "pre-compact", {}),
    ("gemini", "AfterAgent", {"prompt": "why", "prompt_response": "so"}, "stop", {}),
    ("gemini", "SessionEnd", {"reason": "exit"}, "session-end", {}),
    ("opencode", "SessionStart", {"source": "startup"}, "start", {}),
    ("claude-code", "UserPromptExpansion", {"command_name": "look"}, "prompt", {}),
    ("claude-code", "PostCompact", {"compact_summary": "so far"}, "post-compact", {}),
    ("codex", "SessionEnd", {"reason": "other"}, "session-end", {}),
    ("copilot", "SessionEnd", {"reason": "complete"}, "session-end", {}),
    ("opencode", "PostToolUse", {"tool_name": "Edit", "tool_input": {}}, "after-tool", {"tool": "Edit"}),
]


@pytest.mark.parametrize(("assistant", "name", "fields", "what", "read"), EVENTS)
def test_an_event_is_read_by_its_assistants_contract(assistant, name, fields, what, read):
    common = {"session_id": "s1", "cwd": "/p", "transcript_path": TRANSCRIPT, "hook_event_name": name}
    happened = HookEvent(ASSISTANTS[assistant], name, {**common, **fields})

    found = {
        slot: getattr(happened, slot) for slot in ("what", "session", "cwd", "transcript", "agent", "tool")
    }
    wanted = {"what": what, "session": "s1", "cwd": "/p", "transcript": TRANSCRIPT, "agent": "", "tool": ""}
    assert found == {**wanted, **read}


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("sessionStart", "start"),
        ("stop", "stop"),
        ("preCompact", "pre-compact"),
        ("sessionEnd", "session-end"),
        ("afterFileEdit", "after-tool"),
    ],
)
def test_cursor_calls_a_session_a_conversation_and_has_its_folders_in_a_list(name, what):
    fields = {"conversation_id": "c-1", "generation_id": "g", "workspace_roots": ["/p", "/q"]}
    happened = HookEvent(ASSISTANTS["cursor"], name, {**fields, "transcript_path": None})

    assert (happened.what, happened.session, happened.cwd, happened.transcript) == (what, "c-1", "/p", "")


@pytest.mark.parametrize("assistant", ASSISTANTS.values(), ids=ASSISTANTS)
def test_an_event_is_known_however_its_name_is_spelled(assistant):
    for name in assistant.events:
        kebab = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("-")
        assert assistant.find_event(kebab) == name
        assert assistant.find_event(name.lower()) == name
        assert assistant.find_event(kebab.replace("-", "_")) == name
    assert assistant.find_event("", "party") == ""


@pytest.mark.parametrize(
    ("assistant", "event"),
    [
        ("claude-code", "SessionStart"),
        ("claude-code", "UserPromptSubmit"),
        ("claude-code", "PreToolUse"),
        ("codex", "SessionStart"),
        ("codex", "UserPromptSubmit"),
        ("codex", "PreToolUse"),
        ("gemini", "SessionStart"),
        ("gemini", "BeforeAgent"),
        ("gemini", "AfterTool"),
        ("opencode", "UserPromptSubmit"),
    ],
)
def test_text_is_handed_over_under_the_name_of_the_event_that_fired(assistant, event):
    said = ASSISTANTS[assistant].answer(event, "known")

    assert said == {"hookSpecificOutput": {"hookEventName": event, "additionalContext": "known"}}
    assert ASSISTANTS[assistant].answer(event, "") is None


@pytest.mark.parametrize(
    ("assistant", "event"),
    [
        (name, event)
        for name, known in ASSISTANTS.items()
        for event, (what, _) in known.events.items()
        if what in spool.KINDS
    ]
    + [("cursor", "afterFileEdit")],
)
def test_an_event_that_takes_no_text_is_never_answered(assistant, event):
    assert ASSISTANTS[assistant].answer(event, "known") is None


def test_cursor_is_told_to_go_on_with_a_prompt_and_handed_text_as_a_field_of_its_own():
    cursor = ASSISTANTS["cursor"]

    assert cursor.answer("beforeSubmitPrompt", "") == {"continue": True}
    assert cursor.answer("beforeSubmitPrompt", "known") == {"continue": True, "additional_context": "known"}
    assert cursor.answer("sessionStart", "known") == {"additional_context": "known"}


def claude(event="PreToolUse", **fields):
    common = {"session_id": "s1", "cwd": "/p", "transcript_path": TRANSCRIPT}
    return HookEvent(ASSISTANTS["claude-code"], event, {**common, **fields})


def asked(happened, assistant="claude-code", **options):
    return query.request(happened, **{"max_chars": 9000, "research": True, **options})


@pytest.mark.parametrize(
    ("tool", "given", "question"),
    [
        ("Task", {"description": "find locks", "prompt": "Where?"}, "find locks Where?"),
        ("Agent", {"prompt": "Where is the lock?", "subagent_type": "Explore"}, "Where is the lock?"),
        ("WebSearch", {"query": "sqlite wal checkpoint"}, "sqlite wal checkpoint"),
        ("WebFetch", {"url": "https://sqlite.org/wal", "prompt": "How?"}, "How? https://sqlite.org/wal"),
        ("Grep", {"pattern": r"def\s+open_store\(", "path": "/p"}, "def open_store"),
        ("Glob", {"pattern": "**/migrations/*.sql"}, "migrations/ sql"),
    ],
)
def test_research_is_asked_by_what_the_tool_was_called_with(tool, given, question):
    said = asked(claude(tool_name=tool, tool_input=given))

    assert (said["event"], said["session"], said["cwd"]) == ("research", "s1", "/p")
    assert said["prompt"].split() == question.replace("migrations/", "migrations").split()


@pytest.mark.parametrize(
    "fields",
    [
        {"tool_name": "Read", "tool_input": {"file_path": "/p/a.py"}},
        {"tool_name": "Glob", "tool_input": {"pattern": "**/*.py"}},
        {"tool_name": "Grep", "tool_input": {"pattern": ".*"}},
        {"tool_name": "Grep", "tool_input": "a text"},
        {"tool_name": "WebSearch", "tool_input": {"query": 3}},
        {"tool_name": "Task", "tool_input": {"prompt": "run `ragmem query locks` and tell me"}},
        {
            "tool_name": "Grep",
            "tool_input": {"pattern": "open_store", "path": "/home/sam/.local/share/ragmem"},
        },
        {"tool_name": "Task", "tool_input": {"prompt": "Where is the lock?"}, "agent_id": "a7"},
        {"tool_name": "Task", "tool_input": {"prompt": "Where is the lock?"}, "isSidechain": True},
        {"tool_name": ["Task"], "tool_input": {"prompt": "Where is the lock?"}},
    ],
)
def test_nothing_is_asked_of_other_tools_of_ourselves_and_within_subagents(fields):
    assert set(asked(claude(**fields))) == {"reason"}


def test_research_can_be_switched_off_alone():
    happened = claude(tool_name="WebSearch", tool_input={"query": "sqlite wal"})

    assert set(asked(happened, research=False)) == {"reason"}


@pytest.mark.parametrize(
    "prompt", ["", "   \n", "/clear", "/model opus", "/ragmem:find locks", "<task-notification>x"]
)
def test_a_prompt_that_asks_nobody_anything_is_not_asked(prompt):
    assert set(asked(claude("UserPromptSubmit", prompt=prompt))) == {"reason"}


@pytest.mark.parametrize("prompt", ["/etc/hosts is wrong, why?", "/ is full", "Why is the lock held?"])
def test_a_prompt_that_only_looks_like_a_command_is_asked(prompt):
    said = asked(claude("UserPromptSubmit", prompt=prompt))

    assert (said["event"], said["prompt"]) == ("prompt", prompt)


def test_of_a_paste_its_beginning_and_its_end_are_asked():
    said = asked(claude("UserPromptSubmit", prompt="why this? " + "x" * 1_000_000 + " and where?"))

    assert said["prompt"].startswith("why this?")
    assert said["prompt"].endswith("and where?")
    assert len(said["prompt"]) < 20_000


@pytest.mark.parametrize(
    ("source", "again"), [("startup", False), ("resume", False), ("clear", True), ("compact", True)]
)
def test_a_session_is_told_again_after_it_was_compacted_or_cleared(source, again):
    assert asked(claude("SessionStart", source=source))["again"] is again


def test_a_fork_is_told_nothing_at_its_start_because_it_repeats_what_its_session_was_told():
    assert set(asked(claude("SessionStart", source="fork"))) == {"reason"}


@pytest.mark.parametrize("source", ["system", "loop_wakeup", "schedule_wakeup", "poll_event", "news_of_2027"])
def test_a_prompt_that_no_person_sent_is_not_asked(source):
    assert set(asked(claude("UserPromptSubmit", prompt="Why is the lock held?", source=source))) == {"reason"}


@pytest.mark.parametrize("source", ["user", "sdk"])
def test_a_prompt_of_a_person_or_a_script_is_asked(source):
    said = asked(claude("UserPromptSubmit", prompt="Why is the lock held?", source=source))

    assert said["prompt"] == "Why is the lock held?"


def test_a_command_that_is_expanded_is_asked_by_its_arguments():
    fields = {"prompt": "/look at the lock", "command_name": "look", "expansion_type": "slash_command"}

    said = asked(claude("UserPromptExpansion", command_args="at the lock", **fields))

    assert (said["event"], said["prompt"]) == ("prompt", "at the lock")
    assert set(asked(claude("UserPromptExpansion", command_args="", **fields))) == {"reason"}


def test_a_session_without_an_id_goes_by_the_name_of_its_transcript():
    assert asked(claude("SessionStart", session_id=None))["session"] == "s1"
    assert set(asked(claude("SessionStart", session_id="", transcript_path=""))) == {"reason"}


def left(happened, assistant="claude-code"):
    return capture.events(happened)


def test_the_reason_of_an_end_is_kept_where_it_is_a_word_and_not_where_it_is_a_text():
    said = "the token gh" + "p_" + "4f7Kq2LmN8" * 3 + " has expired"
    (event,) = left(claude("SessionEnd", reason=said, trigger=said))
    assert said not in event.values()


def test_a_session_end_says_whose_and_why():
    (event,) = left(claude("SessionEnd", reason="logout"))

    del event["at"]
    assert {name: value for name, value in event.items() if value} == {
        "assistant": "claude-code",
        "event": "session-end",
        "session": "s1",
        "cwd": "/p",
        "transcript": TRANSCRIPT,
        "reason": "logout",
    }


def test_last_words_are_those_of_a_turn_of_a_session_that_can_be_told():
    def said(event, fields, assistant="claude-code"):
        return rules.last_words(HookEvent(ASSISTANTS[assistant], event, fields))

    words = {"session_id": "s1", "last_assistant_message": "All tests pass."}
    assert said("Stop", words) == said("SubagentStop", words) == "All tests pass."
    assert said("SessionEnd", words) == said("Stop", words | {"session_id": ""}) == ""
    assert said("Stop", words | {"last_assistant_message": "x" * 300_000 + "end"}).endswith("xend")
    assert said("AfterAgent", {"session_id": "s1", "prompt_response": "Done."}, "gemini") == "Done."


@pytest.mark.parametrize(
    ("head", "kept"),
    [
        ("---\nphase: complete\n---\n", True),
        ("---\ntitle: x\nStatus: 'Done'  # at last\n---\n", True),
        ("\ufeff---\r\nstatus: completed\r\n---\r\n", True),
        ("---\nphase: plan\n---\n", False),
        ("---\nphase: incomplete\n---\n", False),
        ("---\ntitle: x\n---\nstatus: complete\n", False),
        ("status: complete\n", False),
        ("", False),
    ],
)
def test_a_document_is_left_only_when_its_frontmatter_says_that_it_is_finished(head, kept, tmp_path):
    path = tmp_path / "PRD.md"
    path.write_text(head + "text\n" * 2000, encoding="utf-8")

    events = left(claude("PostToolUse", tool_name="Edit", tool_input={"file_path": str(path)}))

    assert [event["file"] for event in events] == [str(path)] * kept


@pytest.mark.parametrize(
    ("assistant", "event", "fields"),
    [
        ("claude-code", "PostToolUse", {"tool_name": "Write", "tool_input": {"file_path": "PATH"}}),
        ("claude-code", "PostToolUse", {"tool_name": "MultiEdit", "tool_input": {"file_path": "PATH"}}),
        ("claude-code", "PostToolUse", {"tool_name": "Write", "tool_input": {"file_path": "PRD.md"}}),
        ("opencode", "PostToolUse", {"tool_name": "Edit", "tool_input": {"file_path": "PATH"}}),
        ("gemini", "AfterTool", {"tool_name": "write_file", "tool_input": {"file_path": "PATH"}}),
        ("cursor", "afterFileEdit", {"file_path": "PATH", "edits": [], "conversation_id": "s1"}),
        (
            "codex",
            "PostToolUse",
            {
                "tool_name": "apply_patch",
                "tool_input": {"command": "*** Begin Patch\n*** Update File: PRD.md\n"},
            },
        ),
    ],
)
def test_each_assistant_names_the_file_that_it_wrote(assistant, event, fields, tmp_path):
    path = tmp_path / "PRD.md"
    path.write_text("---\nphase: complete\n---\n")
    said = json.loads(
        json.dumps({"session_id": "s1", "cwd": str(tmp_path), **fields}).replace("PATH", str(path))
    )

    events = left(HookEvent(ASSISTANTS[assistant], event, said), assistant)

    assert [(one["event"], one["file"]) for one in events] == [("file-written", str(path))]


def test_a_file_of_lines_is_left_while_it_is_fresh(tmp_path):
    import os
    import time

    path = tmp_path / "reflections.jsonl"
    path.write_text("{}\n")
    happened = claude("PostToolUse", tool_name="Write", tool_input={"file_path": str(path)})
    assert len(left(happened)) == 1

    os.utime(path, (time.time() - 200, time.time() - 200))
    assert left(happened) == []


@pytest.mark.parametrize("path", ["a.py", "/nowhere/PRD.md", "/dev/zero", "x\0.md", "", 3])
def test_what_is_no_document_leaves_nothing(path):
    assert left(claude("PostToolUse", tool_name="Write", tool_input={"file_path": path})) == []


@pytest.mark.parametrize(
    ("line", "output", "is_failure"),
    [
        ("sed -n '1,40p' a.md", "raise BerthException(name)", False),
        ("cd src && rg -n Berth | head -5", "a.py:3: raise BerthException(name)", False),
        ("sed -n 1p a.md", "sed: can't read a.md: No such file or directory\nexited with code 2", True),
        ("cat a.md", "cat: a.md: No such file or directory", True),
        ("pytest -q | head -5", "raise BerthException(name)", True),
        ("tail -5 server.log", "raise BerthException(name)", True),
        (" ", "raise BerthException(name)", True),
    ],
)
def test_a_text_that_a_command_shows_is_no_failure_of_it(line, output, is_failure):
    ran = claude("PostToolUse", tool_name="Bash", tool_input={"command": line}, tool_response=output)

    assert (asked(ran).get("event") == "failure") is is_failure
