"""Codex, Gemini, Cursor, OpenCode and Copilot: the same exchanges from other records."""

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest

from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.domain.sessions.transcript import Act, ActType
from ragmem.readers.files import ReadError
from ragmem.readers.transcripts import assistant_of, read
from tests.readers.transcript_files import exchanges, lines_of, opencode, stamp, steps, write

META = {"timestamp": stamp(0), "type": "session_meta", "payload": {"id": "c1", "cwd": "/srv/tide"}}


def event(sort: str, minute: int = 1, **payload: Any) -> dict[str, Any]:
    return {"timestamp": stamp(minute), "type": "event_msg", "payload": {"type": sort, **payload}}


def item(sort: str, minute: int = 1, **payload: Any) -> dict[str, Any]:
    return {"timestamp": stamp(minute), "type": "response_item", "payload": {"type": sort, **payload}}


def message(role: str, text: str) -> dict[str, Any]:
    sort = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": sort, "text": text}])


def test_codex_text_that_comes_as_event_and_as_item_is_said_once(tmp_path: Path) -> None:
    path = write(
        tmp_path / "rollout-1.jsonl",
        [
            META,
            message("developer", "<permissions instructions>all</permissions instructions>"),
            message("user", "<environment_context><cwd>/srv/tide</cwd></environment_context>"),
            message("user", "# AGENTS.md instructions for /srv/tide\n\n<INSTRUCTIONS>x</INSTRUCTIONS>"),
            {"type": "turn_context", "payload": {"cwd": "/srv/tide/north", "model": "gpt-x"}},
            message("user", "why is it late?"),
            event("user_message", message="why is it late?"),
            event("agent_message", message="I look."),
            message("assistant", "I look."),
            message("user", "Synthetic context for the model"),
            event("user_message", 7, message="thanks"),
            event("agent_message", 8, message="You are welcome."),
        ],
    )
    first, second = exchanges(path)
    assert (first.session, first.model, first.cwd) == ("c1", "gpt-x", "/srv/tide/north")
    assert (first.question, first.answer_text) == ("why is it late?", "I look.")
    assert (second.question, second.answer_text) == ("thanks", "You are welcome.")


def test_codex_files_without_events_are_read_from_items(tmp_path: Path) -> None:
    bare = [message(role, text)["payload"] for role, text in (("user", "why?"), ("assistant", "The moon."))]
    path = write(tmp_path / "rollout-1.jsonl", [{"id": "c0", "instructions": None}, *bare])
    (found,) = exchanges(path)
    assert (found.question, found.answer_text) == ("why?", "The moon.")


def test_codex_commands_patches_and_plans_are_acts(tmp_path: Path) -> None:
    patch = (
        "*** Begin Patch\n*** Update File: /srv/tide/a.py\n@@\n-x\n+y\n*** Add File: b.py\n+z\n*** End Patch"
    )
    plan = {"plan": [{"step": "Ask the moon", "status": "pending"}]}
    commit = '{"cmd": "git commit -qam x && git log"}'
    path = write(
        tmp_path / "rollout-1.jsonl",
        [
            META,
            event("user_message", message="fix it"),
            item("function_call", name="update_plan", call_id="1", arguments=orjson.dumps(plan).decode()),
            item(
                "function_call",
                name="shell",
                call_id="2",
                arguments='{"command": ["bash", "-lc", "rg moon"]}',
            ),
            item("custom_tool_call", name="apply_patch", call_id="3", input=patch),
            item("function_call", name="exec_command", call_id="4", arguments='{"cmd": "pytest -q"}'),
            item(
                "function_call_output",
                call_id="4",
                output="Process exited with code 1\nE   KeyError: 'moon'\n",
            ),
            item("function_call", name="exec_command", call_id="5", arguments=commit),
            item(
                "function_call_output",
                call_id="5",
                output="[main 1a2b3c4] Ask the moon once\n 1 file changed",
            ),
        ],
    )
    (found,) = exchanges(path)
    assert [act.deed for act in found.acts] == [
        ActType.PLANNED,
        ActType.READ,
        ActType.CHANGED,
        ActType.CREATED,
        ActType.TESTED,
        ActType.FAILED,
        ActType.COMMITTED,
    ]
    assert found.files == {"/srv/tide/a.py": 1, "b.py": 1}
    assert found.commits == ("1a2b3c4",)
    assert Act(ActType.FAILED, "E KeyError: 'moon'") in found.acts


def test_a_codex_subagent_is_a_side_chain(tmp_path: Path) -> None:
    source = {"subagent": {"thread_spawn": {"parent_thread_id": "c1"}}}
    meta = {"type": "session_meta", "payload": {"id": "c2", "parent_thread_id": "c1", "source": source}}
    path = write(
        tmp_path / "rollout-2.jsonl", [meta, event("user_message", message="look"), message("user", "x")]
    )
    assert exchanges(path) == []
    (found,) = exchanges(path, sidechains=True)
    assert (found.session, found.agent) == ("c1", "c2")


GEMINI: list[dict[str, Any]] = [
    {"id": "m1", "timestamp": stamp(1), "type": "user", "content": [{"text": "list the tables"}]},
    {
        "id": "m2",
        "timestamp": stamp(2),
        "type": "gemini",
        "model": "gemini-x",
        "content": "",
        "toolCalls": [
            {"id": "t1", "name": "replace", "args": {"file_path": "a.py"}, "status": "success", "result": []},
            {"id": "t2", "name": "write_file", "args": {"file_path": "b.py"}, "status": "error"},
        ],
    },
    {"id": "m3", "timestamp": stamp(3), "type": "info", "content": "Request cancelled."},
    {"id": "m4", "timestamp": stamp(4), "type": "gemini", "content": "There are two."},
]
GEMINI_HEAD = {"sessionId": "g1", "projectHash": "h", "kind": "main"}


def test_gemini_lines_and_documents_give_the_same_exchanges(tmp_path: Path) -> None:
    lined = write(tmp_path / "session-1.jsonl", [GEMINI_HEAD, *GEMINI])
    document = tmp_path / "session-1.json"
    document.write_bytes(orjson.dumps({**GEMINI_HEAD, "messages": GEMINI}, option=orjson.OPT_INDENT_2))
    compact = tmp_path / "session-2.json"
    compact.write_bytes(orjson.dumps({**GEMINI_HEAD, "messages": GEMINI}))
    (found,) = exchanges(lined)
    assert found.answer_text == "There are two."
    assert found.files == {"a.py": 1}
    assert found.model == "gemini-x"
    assert exchanges(document) == exchanges(compact) == [found]
    assert [step.position for step in steps(document)] == [0]


def test_a_gemini_message_that_is_written_again_replaces_itself(tmp_path: Path) -> None:
    grown = {**GEMINI[3], "content": "There are two: north and south."}
    everything = {"$set": {"messages": [*GEMINI[:3], grown]}}
    records = [GEMINI_HEAD, *GEMINI, {"id": "m4", "type": "message_update", "tokens": {}}, grown, everything]
    (found,) = exchanges(write(tmp_path / "s.jsonl", records))
    assert found.answer_text == "There are two: north and south."
    assert found.files == {"a.py": 1}


def test_a_gemini_list_of_all_messages_repeats_no_closed_exchange(tmp_path: Path) -> None:
    later = {"id": "m5", "type": "user", "content": "and the moon?"}
    answer = {"id": "m6", "type": "gemini", "content": "It shines."}
    everything = {"$set": {"messages": [*GEMINI, later, answer]}}
    path = write(
        tmp_path / "s.jsonl", [GEMINI_HEAD, *GEMINI, later, everything, {"$rewindTo": "m5"}, everything]
    )
    assert [(found.number, found.answer_text) for found in exchanges(path)] == [
        (1, "There are two."),
        (2, "It shines."),
    ]


def test_a_broken_gemini_document_is_left_for_the_next_time(tmp_path: Path) -> None:
    path = tmp_path / "session-1.json"
    path.write_bytes(b'{\n "sessionId": "g1",\n "projectHash": "h",\n "messages": [\n')
    (step,) = steps(path)
    assert (step.exchange, step.position, step.problems) == (None, 0, {"broken document": 1})


def test_gemini_works_in_the_folder_that_it_noted(tmp_path: Path) -> None:
    path = write(tmp_path / "tmp" / "tide" / "chats" / "session-1.jsonl", [GEMINI_HEAD, *GEMINI])
    (tmp_path / "tmp" / "tide" / ".project_root").write_text("/srv/tide\n", encoding="utf-8")
    assert [found.cwd for found in exchanges(path)] == ["/srv/tide"]


@pytest.mark.parametrize("place", ["tide", hashlib.sha256(b"/srv/tide").hexdigest()])
def test_gemini_works_in_the_folder_of_its_list_of_projects(place: str, tmp_path: Path) -> None:
    path = write(tmp_path / "tmp" / place / "chats" / "session-1.jsonl", [GEMINI_HEAD, *GEMINI])
    (tmp_path / "projects.json").write_bytes(orjson.dumps({"projects": {"/x": "y", "/srv/tide": "tide"}}))
    assert [found.cwd for found in exchanges(path)] == ["/srv/tide"]


def test_gemini_works_in_the_folder_that_it_tells_the_model(tmp_path: Path) -> None:
    context = "<session_context>\n- **Workspace Directories:**\n  - /srv/tide\n</session_context>"
    told = {"id": "m0", "type": "user", "content": [{"text": context}]}
    (found,) = exchanges(write(tmp_path / "s.jsonl", [GEMINI_HEAD, told, *GEMINI]))
    assert (found.cwd, found.question) == ("/srv/tide", "list the tables")


def cursor(role: str, *blocks: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    return {"role": role, "message": {"content": content}}


def test_a_cursor_question_is_what_stands_in_its_tag(tmp_path: Path) -> None:
    edit = {"type": "tool_use", "name": "search_replace", "input": {"file_path": "a.py"}}
    path = write(
        tmp_path / ".cursor" / "projects" / "srv-tide" / "agent-transcripts" / "c-1" / "c-1.jsonl",
        [
            cursor("user", "<attached_files>a.py</attached_files>\n<user_query>\nfix it\n</user_query>"),
            cursor("assistant", "I look.", edit, {"type": "tide"}),
            {"type": "turn_ended", "status": "ok"},
            cursor("user", {"type": "tool_result", "content": [{"type": "text", "text": "done"}]}),
            cursor("assistant", "Done."),
        ],
    )
    (step,) = steps(path)
    assert step.exchange is not None
    assert (step.exchange.session, step.exchange.question) == ("c-1", "fix it")
    assert step.exchange.answer_text == "I look.\n\nDone."
    assert step.exchange.files == {"a.py": 1}
    assert step.problems == {'unknown block "tide"': 1}


def test_a_cursor_session_belongs_to_the_folder_that_its_place_names(tmp_path: Path) -> None:
    (tmp_path / "repos" / "tide").mkdir(parents=True)
    slug = str(tmp_path / "repos" / "tide").strip("/").replace("/", "-").replace("_", "-")
    path = tmp_path / ".cursor" / "projects" / slug / "agent-transcripts" / "c1" / "c1.jsonl"
    write(path, [cursor("user", "fix it"), cursor("assistant", "Done.")])
    assert [found.cwd for found in exchanges(path)] == [str(tmp_path / "repos" / "tide")]


@pytest.mark.parametrize("name", ["..", "a b", "a;b", "%2e%2e%2f", "a.b"])
def test_a_cursor_file_whose_name_is_no_id_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.jsonl"
    path.write_bytes(lines_of([cursor("user", "fix it")]))
    with pytest.raises(ReadError, match="not the id of a session"):
        list(read(path, redactor=DEFAULT))


def test_a_file_of_another_tool_is_refused_with_a_reason(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", [{"type": "session.start", "data": {"sessionId": "s"}}])
    with pytest.raises(ReadError, match="not a transcript of claude, codex, cursor, gemini"):
        list(read(path, redactor=DEFAULT))


def test_a_summary_of_codex_that_is_readable_is_kept(tmp_path: Path) -> None:
    summary = "The tide table was late because the moon was asked twice. " * 5
    compacted = {"timestamp": stamp(2), "type": "compacted", "payload": {"message": summary}}
    asked = [
        META,
        event("user_message", message="why is it late?"),
        event("agent_message", message="The moon."),
    ]
    path = write(tmp_path / "rollout-1.jsonl", [*asked, compacted, {**compacted, "payload": {"message": ""}}])
    (found,) = exchanges(path, ended=True)
    assert found.summaries == (summary.strip(),)


def words(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, **more}


def tool(
    name: str, output: str = "", *, status: str = "completed", code: int = 0, **given: Any
) -> dict[str, Any]:
    state = {"status": status, "input": given, "output": output, "metadata": {"exit": code}}
    return {"type": "tool", "tool": name, "callID": f"call-{name}", "state": state}


AT = 1_772_445_600_000


def test_opencode_keeps_all_sessions_in_one_database(tmp_path: Path) -> None:
    path = opencode(
        tmp_path / "opencode.db",
        [
            {"id": "ses_a", "at": AT + 9},
            {"id": "ses_b", "at": AT},
            {"id": "ses_c", "at": AT, "parent": "ses_a"},
        ],
        [
            {
                "id": "m1",
                "session": "ses_a",
                "role": "user",
                "at": AT + 1,
                "parts": [words('"why is it late?"'), words("memory", synthetic=True)],
            },
            {
                "id": "m2",
                "session": "ses_a",
                "role": "assistant",
                "at": AT + 2,
                "data": {"modelID": "some-model"},
                "parts": [
                    {"type": "step-start"},
                    tool("read", "text", filePath="/srv/tide/a.py"),
                    tool("edit", "done", filePath="/srv/tide/a.py"),
                    tool("bash", "1 failed, 2 passed in 3s", command="pytest -q", code=1),
                    words("The moon is late."),
                ],
            },
            {"id": "m3", "session": "ses_b", "role": "user", "at": AT + 1, "parts": [words("and the sun?")]},
            {
                "id": "m4",
                "session": "ses_b",
                "role": "assistant",
                "at": AT + 2,
                "parts": [words("It is on time.")],
            },
            {"id": "m5", "session": "ses_c", "role": "user", "at": AT + 1, "parts": [words("look")]},
            {"id": "m6", "session": "ses_c", "role": "assistant", "at": AT + 2, "parts": [words("Seen.")]},
        ],
    )
    assert assistant_of(path, path.read_bytes()[:100]) == "opencode"
    sun, late = exchanges(path)
    assert (late.session, late.question, late.answer_text) == (
        "ses_a",
        "why is it late?",
        "The moon is late.",
    )
    assert (late.cwd, late.model, late.files) == ("/srv/tide", "some-model", {"/srv/tide/a.py": 1})
    assert Act(ActType.TESTED, "pytest -q") in late.acts
    assert (sun.session, sun.question, sun.answer_text) == ("ses_b", "and the sun?", "It is on time.")
    assert [one.agent for one in exchanges(path, sidechains=True) if one.agent] == ["ses_c"]


def test_opencode_sessions_are_read_on_from_the_latest_one(tmp_path: Path) -> None:
    def turn(session: str, number: int) -> list[dict[str, Any]]:
        asked = {"id": f"{session}-{number}", "session": session, "role": "user", "at": AT + number}
        said = {"id": f"{session}-{number}-a", "session": session, "role": "assistant", "at": AT + number}
        return [
            {**asked, "parts": [words(f"question {number}?")]},
            {**said, "parts": [words(f"answer {number}")]},
        ]

    path = tmp_path / "opencode.db"
    opencode(
        path, [{"id": "ses_a", "at": AT}, {"id": "ses_b", "at": AT}], [*turn("ses_a", 1), *turn("ses_b", 2)]
    )
    carried = steps(path)[-1].carried
    # The row of the session is older than its new messages.
    opencode(path, [], turn("ses_a", 3))

    found = [step.exchange for step in steps(path, carried=carried) if step.exchange]

    assert [(one.session, one.number, one.question) for one in found] == [
        ("ses_b", 1, "question 2?"),
        ("ses_a", 1, "question 1?"),
        ("ses_a", 2, "question 3?"),
    ]


def test_a_compaction_of_opencode_is_a_summary_of_its_session(tmp_path: Path) -> None:
    summary = "The moon was late because the table of the tides was old. " * 5
    path = opencode(
        tmp_path / "opencode.db",
        [{"id": "ses_a", "at": AT}],
        [
            {"id": "m1", "session": "ses_a", "role": "user", "at": AT, "parts": [words("why is it late?")]},
            {
                "id": "m2",
                "session": "ses_a",
                "role": "assistant",
                "at": AT + 1,
                "parts": [words("The moon.")],
            },
            {"id": "m3", "session": "ses_a", "role": "user", "at": AT + 2, "parts": [{"type": "compaction"}]},
            {
                "id": "m4",
                "session": "ses_a",
                "role": "assistant",
                "at": AT + 3,
                "data": {"summary": True},
                "parts": [words(summary)],
            },
        ],
    )
    (found,) = exchanges(path)
    assert (found.answer_text, found.summaries) == ("The moon.", (summary.strip(),))


def test_another_database_is_no_transcript(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE session (id TEXT)")
    with pytest.raises(ReadError):
        exchanges(path)


def test_copilot_events_are_read_without_those_of_subagents(tmp_path: Path) -> None:
    def happened(sort: str, minute: int, **data: Any) -> dict[str, Any]:
        return {"type": sort, "data": data, "id": f"e{minute}", "timestamp": stamp(minute), "parentId": None}

    made = [
        {"toolCallId": "1", "name": "create", "arguments": {"path": "/srv/tide/a.py", "file_text": "x"}},
        {"toolCallId": "2", "name": "bash", "arguments": {"command": "pytest -q"}},
    ]
    failed = {"content": "1 failed, 2 passed in 3s"}
    path = write(
        tmp_path / "session-state" / "p1" / "events.jsonl",
        [
            happened("session.start", 0, sessionId="p1", context={"cwd": "/srv/tide", "branch": "tides"}),
            happened(
                "user.message", 1, content="why is it late?", transformedContent="<memory> why is it late?"
            ),
            happened("user.message", 2, content="a skill", source="skill-x"),
            happened("assistant.message", 3, content="", model="some-model", toolRequests=made),
            happened("tool.execution_complete", 4, toolCallId="1", success=True, result={"content": "made"}),
            happened(
                "tool.execution_complete",
                5,
                toolCallId="2",
                success=True,
                result=failed,
                shellExecution={"exitCode": 1},
            ),
            {**happened("user.message", 6, content="look"), "agentId": "x"},
            {**happened("assistant.message", 7, content="Seen."), "agentId": "x"},
            happened("assistant.message", 8, content="The moon is late.", toolRequests=[]),
            happened("session.shutdown", 9),
        ],
    )
    assert assistant_of(path, path.read_bytes()) == "copilot"
    (found,) = exchanges(path)
    assert (found.session, found.question, found.answer_text) == (
        "p1",
        "why is it late?",
        "The moon is late.",
    )
    assert (found.cwd, found.branch, found.model) == ("/srv/tide", "tides", "some-model")
    assert found.files == {"/srv/tide/a.py": 1}
    assert Act(ActType.TESTED, "pytest -q") in found.acts


def test_of_a_template_that_codex_wrote_out_the_question_is_what_was_typed(tmp_path: Path) -> None:
    template = (
        "## User Input\n\n```text\n{}\n```\n\nYou **MUST** consider the user input before proceeding"
        " (if not empty).\n\n## Outline\n\nGoal: Reduce the ambiguity of the specification.\n\n1. Run it.\n"
    )
    asked = ("The board shows the tides", "")
    told = [
        one
        for number, text in enumerate(asked, start=1)
        for one in (
            event("user_message", number, message=template.format(text).replace("\n", "\r\n")),
            event("agent_message", number, message=f"Answer {number}."),
        )
    ]
    path = write(tmp_path / "rollout-1.jsonl", [META, *told])
    assert [one.question for one in exchanges(path)] == [
        asked[0],
        "Goal: Reduce the ambiguity of the specification.",
    ]


@pytest.mark.parametrize("indent", [False, True])
def test_an_exported_session_of_opencode_is_read_as_in_its_database(tmp_path: Path, *, indent: bool) -> None:
    asked = {"role": "user", "id": "msg_1", "time": {"created": AT + 1}}
    told = {"role": "assistant", "id": "REDACTED", "modelID": "some-model", "time": {"created": AT + 2}}
    again = {"role": "user", "id": "REDACTED", "time": {"created": AT + 3}}
    edited = [tool("edit", "done", filePath="/srv/tide/a.py"), words("The moon is late.")]
    document = {
        "info": {"id": "ses_a", "directory": "/srv/tide"},
        "messages": [
            {"info": asked, "parts": [words("why is it late?")]},
            {"info": told, "parts": edited},
            {"info": again, "parts": [words("and the sun?")]},
            {"info": {**again, "role": "assistant"}, "parts": [words("It is on time.")]},
        ],
    }
    path = tmp_path / "full.jsonl"
    path.write_bytes(orjson.dumps(document, option=orjson.OPT_INDENT_2 if indent else None))
    assert assistant_of(path, path.read_bytes()[:200]) == "opencode"
    late, sun = exchanges(path, ended=True)
    assert (late.session, late.question, late.answer_text) == (
        "ses_a",
        "why is it late?",
        "The moon is late.",
    )
    assert (late.cwd, late.files) == ("/srv/tide", {"/srv/tide/a.py": 1})
    assert (sun.question, sun.answer_text) == ("and the sun?", "It is on time.")
    path.write_bytes(path.read_bytes()[:-9])
    assert exchanges(path, ended=True) == []


def test_an_exported_session_of_a_subagent_is_a_side_chain(tmp_path: Path) -> None:
    info = {"id": "ses_c", "parentID": "ses_a"}
    messages = [{"info": {"role": role, "id": ""}, "parts": [words(role)]} for role in ("user", "assistant")]
    path = tmp_path / "full.jsonl"
    path.write_bytes(orjson.dumps({"info": info, "messages": messages}))
    assert exchanges(path, ended=True) == []
    assert [one.agent for one in exchanges(path, ended=True, sidechains=True)] == ["ses_c"]
