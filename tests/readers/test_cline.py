"""Tasks of Cline and its forks become exchanges, with a person's words and without the program's."""

from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragmem.assistants import OTHER_SESSION_FILES
from ragmem.config.settings import SourceSpec
from ragmem.domain.model import Scope
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.domain.sessions.transcript import ActType, Exchange
from ragmem.readers.discover import discover
from ragmem.readers.repositories import working_folders
from ragmem.readers.transcripts import assistant_of, drafts_of
from tests.readers.transcript_files import exchanges, steps

HISTORY = "api_conversation_history.json"
TASK = "1772445600000"  # 2026-03-02T10:00:00Z
AT = 1772445600000
FOLDER = "# Current Working Directory (/srv/tide) Files\nqueue.py\n"
REMINDER = "# task_progress RECOMMENDED\n\n1. Include a todo list.\n\n- [ ] Set up the project"


def environment(*parts: str) -> str:
    """Return what the program tells of the editor."""
    told = "\n\n".join(("# VSCode Open Tabs\nqueue.py", *parts, "# Current Mode\nACT MODE"))
    return f"<environment_details>\n{told}\n</environment_details>"


def texts(*parts: str) -> list[dict[str, Any]]:
    """Return blocks of text."""
    return [{"type": "text", "text": part} for part in parts]


def asks(*parts: str, minute: int | None = None, role: str = "user") -> dict[str, Any]:
    """Return a message of the user, which the program writes."""
    timed = {} if minute is None else {"ts": AT + minute * 60_000}
    return {"role": role, "content": texts(*parts), **timed}


def begins(words: str, *parts: str, minute: int | None = None) -> dict[str, Any]:
    """Return the first message of a task."""
    return asks(f"<task>\n{words}\n</task>", *parts, environment(FOLDER), minute=minute)


def says(*parts: str) -> dict[str, Any]:
    """Return a message of the assistant, with the calls of tools as XML."""
    return asks(*parts, role="assistant")


def xml(tool: str, **given: str) -> str:
    """Return the call of a tool."""
    inner = "\n".join(f"<{name}>{value}</{name}>" for name, value in given.items())
    return f"<{tool}>\n{inner}\n</{tool}>"


def calls(*made: tuple[str, str, dict[str, Any]], said: str = "") -> dict[str, Any]:
    """Return a message of the assistant, with the calls of tools as blocks."""
    blocks = [{"type": "tool_use", "id": own, "name": name, "input": told} for own, name, told in made]
    return {
        "role": "assistant",
        "content": [*texts(*filter(None, [said])), *blocks],
        "modelInfo": {"modelId": "acme/tide-4", "providerId": "acme", "mode": "act"},
        "ts": AT + 60_000,
    }


def store(folder: Path, *messages: Any, task: str = TASK) -> Path:
    """Write the messages of a task and return the file."""
    path = folder / "tasks" / task / HISTORY
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(orjson.dumps(messages))
    return path


def acts(exchange: Exchange) -> list[tuple[str, str]]:
    """Return what was said and done."""
    return [(act.deed.value, act.text) for act in exchange.acts]


def test_a_task_of_today_is_read_with_its_folder_model_and_times(tmp_path):
    path = store(
        tmp_path,
        begins(
            "Bound the queue in 'queue.py' (see below for file content)",
            '<file_content path="queue.py">\nclass Queue: ...\n</file_content>',
            REMINDER,
            minute=0,
        ),
        calls(
            ("t1", "read_file", {"path": "queue.py", "task_progress": "- [ ] Read it\n- [x] Bound it ✓"}),
            said="<thinking>\nhm\n</thinking>\n\nI look at the queue first.",
        ),
        asks("[read_file for 'queue.py'] Result:\n<feedback>\nnot a person\n</feedback>", REMINDER),
        calls(("t2", "write_to_file", {"absolutePath": "/srv/tide/queue.py", "content": "<task>x</task>"})),
        asks("[write_to_file for '/srv/tide/queue.py'] Result:\nThe content was successfully saved."),
        calls(("t3", "execute_command", {"command": "pytest -q", "requires_approval": False})),
        asks(
            "[execute_command for 'pytest -q'] Result:\n"
            "Command failed with exit code 1.\nOutput:\n1 failed, 2 passed"
        ),
        calls(
            ("t4", "attempt_completion", {"result": "The queue is bounded now, because readers are slow."})
        ),
        asks(
            "[attempt_completion] Result: Done",
            "The user has provided feedback on the results. Consider their input to continue the task.",
            "<feedback>\nCommit that, please.\n</feedback>",
            environment(),
            minute=5,
        ),
        calls(("t5", "execute_command", {"command": "git commit -am 'fix: Bound the queue'"})),
        asks(
            "[execute_command for 'git commit'] Result:\n"
            "Command executed.\nOutput:\n[main 1a2b3c4] fix: Bound the queue"
        ),
    )
    assert assistant_of(path, path.read_bytes()) == "cline"
    first, second = exchanges(path, ended=True)
    assert first.question == "Bound the queue in 'queue.py'"
    assert (first.assistant, first.session, first.model) == ("cline", TASK, "acme/tide-4")
    assert first.cwd == "/srv/tide"
    assert first.began.isoformat() == "2026-03-02T10:00:00+00:00"
    assert acts(first) == [
        ("said", "I look at the queue first."),
        ("planned", "Read it"),
        ("planned", "Bound it"),
        ("read", "queue.py"),
        ("created", "/srv/tide/queue.py"),
        ("tested", "pytest -q"),
        ("reported", "1 failed, 2 passed"),
        ("said", "The queue is bounded now, because readers are slow."),
    ]
    assert second.question == "Commit that, please."
    assert second.commits == ("1a2b3c4",)
    [draft] = drafts_of(first, path=path, scope=Scope(), redactor=DEFAULT)
    assert draft.metadata["files"] == "queue.py"


def test_the_calls_of_older_versions_are_xml_and_their_results_blocks_of_text(tmp_path):
    path = store(
        tmp_path,
        begins("Bound the queue"),
        says(
            "I change the queue.\n\n"
            + xml("replace_in_file", path="queue.py", diff="<<<<<<< SEARCH\n<path>no.py</path>")
            + "\n\n"
            + xml("attempt_completion", result="It is done.")
        ),
        asks(
            "[replace_in_file for 'queue.py'] Result:",
            "The content was successfully saved to queue.py.",
            "Tool [attempt_completion] was not executed because a tool has already been used.",
            environment(),
        ),
        says(xml("execute_command", command="cd src &amp;&amp; pytest -q")),
        asks("[execute_command for 'pytest -q'] Result:", "Command executed.\nOutput:\n3 passed in 0.1s"),
        says("```xml\n" + xml("attempt_completion", result="The queue has a bound of 64.") + "\n```"),
        asks(
            "[attempt_completion] Result:", "Read this.\n<feedback>\nMake it 32.\n</feedback>", environment()
        ),
        says("[Response interrupted by user]"),
    )
    first, second = exchanges(path, ended=True)
    assert acts(first) == [
        ("said", "I change the queue."),
        ("changed", "queue.py"),
        ("tested", "pytest -q"),
        ("reported", "3 passed in 0.1s"),
        ("said", "The queue has a bound of 64."),
    ]
    assert first.files == {"queue.py": 1}
    assert (second.question, second.interrupted, first.interrupted) == ("Make it 32.", True, False)


def test_what_the_person_refused_was_not_done_and_the_reason_is_kept(tmp_path):
    path = store(
        tmp_path,
        begins("Bound the queue"),
        says(xml("write_to_file", path="a.py", content="x"), xml("write_to_file", path="b.py", content="x")),
        asks(
            "[write_to_file for 'a.py'] Result:",
            "The user denied this operation and provided the following feedback:\n"
            "<feedback>\nNot there.\n</feedback>",
            "Skipping tool [write_to_file for 'b.py'] due to user rejecting a previous tool.",
        ),
        says(xml("apply_diff", path="c.py", diff="x")),
        asks(
            "[apply_diff for 'c.py'] Result:",
            "The tool execution failed with the following error:\n<error>\n?\n</error>",
        ),
        says(xml("execute_command", command="make deploy")),
        asks("[execute_command for 'make deploy'] Result:", "The user denied this operation."),
        calls(("t1", "write_to_file", {"path": "d.py", "content": "x"}), ("t2", "edit", {"path": "e.py"})),
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t1",
                    "content": '{"status":"approved","feedback":"Add a \\"test\\" too."}\n\nSaved.',
                },
                {
                    "type": "tool_result",
                    "tool_use_id": "t2",
                    "content": '{"status":"denied","feedback":"Leave it."}',
                },
            ],
        },
    )
    [only] = exchanges(path, ended=True)
    assert acts(only) == [
        ("added", "Not there."),
        ("created", "d.py"),
        ("added", 'Add a "test" too.\n\nLeave it.'),
    ]


def test_a_suggested_answer_belongs_to_the_exchange_and_typed_words_begin_one(tmp_path):
    question = xml("ask_followup_question", question="Which bound?", options='["32", "64"]')
    path = store(
        tmp_path,
        begins("Bound the queue"),
        says(question),
        asks("[ask_followup_question for 'Which bound?'] Result:\n<answer>\n64\n</answer>"),
        says(question),
        asks(
            "[ask_followup_question for 'Which bound?'] Result:\n<answer>\nNone, drop the queue.\n</answer>"
        ),
        calls(("t1", "plan_mode_respond", {"response": "I would drop the queue and its tests."})),
        asks("[plan_mode_respond] Result:\n[The user has switched to ACT MODE, so you may now proceed.]"),
        says("The queue is gone.\n" + xml("write_to_file", path="pool.py", content="x")),
        asks(
            "[TASK RESUMPTION] This task was interrupted. The current working directory is now '/srv/ebb'.",
            "New instructions for task continuation:\n<user_message>\nDrop the pool.\n</user_message>",
        ),
        says("Both are gone."),
    )
    first, second, third = exchanges(path, ended=True)
    assert acts(first) == [
        ("said", "Which bound?\n- 32\n- 64"),
        ("added", "64"),
        ("said", "Which bound?\n- 32\n- 64"),
    ]
    assert second.question == "None, drop the queue."
    assert [text for _, text in acts(second)] == [
        "I would drop the queue and its tests.",
        "The queue is gone.",
    ]
    assert (third.question, second.cwd, third.cwd) == ("Drop the pool.", "/srv/tide", "/srv/ebb")


def test_a_fork_is_named_and_its_summaries_subtasks_and_lists_are_read(tmp_path):
    extension = tmp_path / "globalStorage" / "rooveterinaryinc.roo-cline"
    summary = "The queue has a bound of 64, because slow readers filled the memory. " * 4
    path = store(
        extension,
        begins("Bound the queue"),
        calls(
            ("t1", "update_todo_list", {"todos": "[x] Read the queue\n[-] Bound it"}),
            ("t2", "new_task", {"mode": "code", "message": "Write the tests"}),
        ),
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "Todo list updated successfully."},
                {
                    "type": "tool_result",
                    "tool_use_id": "t2",
                    "content": "Subtask 7 completed.\n\nResult:\n"
                    + "The tests cover a full and an empty queue. " * 3,
                },
            ],
        },
        {"role": "user", "content": texts(summary, environment()), "isSummary": True, "ts": AT + 120_000},
        {"type": "reasoning", "role": "", "summary": []},
        says(xml("attempt_completion", result="The queue has a bound.")),
    )
    [only] = exchanges(path, ended=True)
    assert only.assistant == "roo-code"
    assert only.summaries == (summary.strip(),)
    deeds = [deed for deed, _ in acts(only)]
    assert deeds == ["planned", "planned", "delegated", "returned", "said"]

    child = store(extension, begins("Write the tests"), says("They are written."), task="7")
    child.with_name("history_item.json").write_bytes(
        orjson.dumps({"parentTaskId": TASK, "workspace": "/srv/tide"})
    )
    [step] = steps(child, ended=True)
    assert (step.exchange, step.left_out) == (None, {"side chain": 2})
    [found] = exchanges(child, ended=True, sidechains=True)
    assert (found.session, found.agent) == (TASK, "7")


def test_paths_of_windows_are_relative_to_the_folder(tmp_path):
    path = store(
        tmp_path,
        asks(
            "<task>\nBound it\n</task>",
            environment("# Current Working Directory (c:/Work/tide) Files\nqueue.py"),
        ),
        calls(
            ("t1", "write_to_file", {"absolutePath": "c:\\Work\\tide\\src\\queue.py", "content": ""}),
            said="Done.",
        ),
    )
    [only] = exchanges(path, ended=True)
    [draft] = drafts_of(only, path=path, scope=Scope(), redactor=DEFAULT)
    assert draft.metadata["files"] == "src/queue.py"


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("3/2/2026, 4:25:53 PM (America/Los_Angeles, UTC-7:00)", "2026-03-02T23:25:53+00:00"),
        ("02/03/2026, 9:20:09 am (Pacific/Auckland, UTC+12:00)", "2026-03-01T21:20:09+00:00"),
        ("2026/3/2 下午12:50:44 (Asia/Shanghai, UTC+8:00)", "2026-03-02T04:50:44+00:00"),
        ("2026. 3. 2. 오전 12:00:01 (Asia/Seoul, UTC+9:00)", "2026-03-01T15:00:01+00:00"),
        ("2.3.2026, 16:25:53 (Asia/Kolkata, UTC+5.5:00)", "2026-03-02T10:55:53+00:00"),
        ("Current time in ISO 8601 UTC format: 2026-03-02T19:21:52.101Z", "2026-03-02T19:21:52.101000+00:00"),
        ("99/99/2026, 9:20:09 am (Pacific/Auckland, UTC+12:00)", "2026-03-02T10:00:00+00:00"),
        ("soon", "2026-03-02T10:00:00+00:00"),
    ],
)
def test_times_come_from_the_environment_in_any_language_or_from_the_name_of_the_task(
    told, expected, tmp_path
):
    path = store(
        tmp_path, asks("<task>\nBound it\n</task>", environment(f"# Current Time\n{told}")), says("Done.")
    )
    [only] = exchanges(path, ended=True)
    assert only.began.isoformat() == expected


def test_the_name_of_a_newer_task_holds_its_time_too(tmp_path):
    path = store(tmp_path, begins("Bound it"), says("Done."), task="019cae1f-1000-7abc-8def-0123456789ab")
    [only] = exchanges(path, ended=True)
    assert only.began.date().isoformat() == "2026-03-02"


def test_a_session_of_version_4_is_read_without_its_subagents(tmp_path):
    path = tmp_path / "sessions" / "1772445600000_abcde" / "1772445600000_abcde.messages.json"
    path.parent.mkdir(parents=True)
    document = {
        "version": 1,
        "agent": "lead",
        "sessionId": "1772445600000_abcde",
        "messages": [
            {
                "role": "user",
                "ts": AT,
                "content": texts(
                    '<mode_notice>Switched.</mode_notice><user_input mode="act">Bound it</user_input>'
                ),
            },
            {
                "role": "assistant",
                "ts": AT,
                "modelInfo": {"id": "acme/tide-4", "provider": "acme"},
                "content": [
                    *texts("I look."),
                    {
                        "type": "tool_use",
                        "id": "t1",
                        "name": "run_commands",
                        "input": {"commands": ["make", "pytest"]},
                    },
                    {"type": "tool_use", "id": "t2", "name": "editor", "input": {"path": "/srv/tide/a.py"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "t1",
                        "content": [
                            {"query": "make", "result": "ok"},
                            {"query": "pytest", "result": "3 passed in 1s"},
                        ],
                    },
                    {
                        "type": "tool_result",
                        "tool_use_id": "t2",
                        "content": '{"query":"edit","result":"Edited"}',
                    },
                ],
            },
            {"role": "user", "content": texts("and now the pool")},
        ],
        "system_prompt": "You help.\n4. Working Directory: /srv/tide\n",
    }
    path.write_bytes(orjson.dumps(document))
    assert assistant_of(path, path.read_bytes()) == "cline"
    first, second = exchanges(path, ended=True)
    assert (first.question, first.cwd, first.model) == ("Bound it", "/srv/tide", "acme/tide-4")
    assert acts(first)[1:] == [
        ("ran", "make"),
        ("tested", "pytest"),
        ("changed", "/srv/tide/a.py"),
        ("reported", "3 passed in 1s"),
    ]
    assert second.question == "and now the pool"
    path.write_bytes(orjson.dumps({**document, "agent": "subagent"}))
    assert exchanges(path, ended=True) == []


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("messages.json", [begins("Bound it")], None),
        ("messages.json", {"messages": [begins("Bound it")]}, None),
        ("a.messages.json", {"sessionId": "a", "messages": []}, None),
        (HISTORY, {"messages": []}, None),
        (HISTORY, [], "cline"),
    ],
)
def test_other_arrays_of_messages_are_none_of_cline(name, content, expected, tmp_path):
    path = tmp_path / name
    path.write_bytes(orjson.dumps(content))
    assert assistant_of(path, path.read_bytes()) == expected


def test_a_task_that_is_being_written_or_broken_is_reported(tmp_path):
    path = store(tmp_path, begins("Bound the queue"), says("Done."))
    path.write_bytes(path.read_bytes()[:-10])
    [step] = steps(path, ended=True)
    assert (step.exchange, step.problems) == (None, {"broken document": 1})


def test_the_tasks_of_all_editors_are_found_and_name_their_folders(tmp_path):
    places = (
        ".config/Code - Insiders/User/globalStorage/saoudrizwan.claude-dev",
        "Library/Application Support/Cursor/User/globalStorage/kilocode.kilo-code",
        "AppData/Roaming/VSCodium/User/globalStorage/rooveterinaryinc.roo-cline",
        ".vscode-server/data/User/globalStorage/saoudrizwan.claude-dev",
        ".cline/data",
    )
    made = {store(tmp_path / place, begins("Bound it"), says("Done.")) for place in places}
    (tmp_path / ".config" / "gone").symlink_to("/nowhere")
    found = discover(SourceSpec(name="transcripts", globs=OTHER_SESSION_FILES, base=tmp_path), home=tmp_path)
    assert (set(found.files), found.skipped) == (made, ())
    assert working_folders(tmp_path) == [Path("/srv/tide")]


VALUES = st.recursive(
    st.none()
    | st.integers(-9, 10**15)
    | st.sampled_from(
        [
            *"user assistant text tool_use tool_result read_file new_task use_mcp_tool".split(),
            "attempt_completion",
            "[new_task] Result:",
            environment("# Current Time\n3/2/9999, 4:25:53 PM (UTC, UTC+0:00)"),
            '<feedback>{"status":"denied","feedback":"\\u"',
            "<read_file>\n<path>",
        ]
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                "role content type text tool_use_id id name input arguments files follow_up options ts"
                " modelInfo messages sessionId agent question".split()
            ),
            inner,
            max_size=6,
        )
    ),
    max_leaves=20,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(document=VALUES)
def test_no_document_breaks_reading(document, tmp_path):
    path = tmp_path / HISTORY
    content = orjson.dumps([document] if not isinstance(document, list) else document)
    path.write_bytes(content)
    for step in steps(path, ended=True):
        assert not step.problems.get("broken document")
    path = tmp_path / "a.messages.json"
    path.write_bytes(orjson.dumps({"sessionId": "a", "agent": "lead", "messages": document}))
    steps(path, ended=True)


def test_a_file_that_is_written_again_gives_the_same_exchanges(tmp_path):
    messages = [
        begins("Bound the queue"),
        says("Done."),
        asks("<user_message>\nAnd the pool\n</user_message>"),
    ]
    path = store(tmp_path, *messages)
    before = exchanges(path, ended=True)
    store(tmp_path, *messages, says("Done too."))
    after = exchanges(path, ended=True)
    assert after[0] == before[0]
    assert [(one.session, one.number, one.key) for one in after] == [
        (one.session, one.number, one.key) for one in before
    ]
    assert after[1].acts[-1].deed is ActType.SAID
