"""Claude Code's records become exchanges; what is no exchange is left out by rule."""

from datetime import UTC, datetime
from pathlib import Path
from time import thread_time
from typing import Any

import pytest

from ragmem.domain.model import Scope
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.domain.sessions.transcript import Act, ActType
from ragmem.readers.transcripts import assistant_of, drafts_of, read
from ragmem.readers.transcripts.cleanup import team_messages
from tests.readers.transcript_files import (
    SESSION,
    asks,
    exchanges,
    gives,
    head,
    lines_of,
    says,
    steps,
    uses,
    write,
)

QUESTION = "why is the tide table late?"


def test_lines_of_one_message_are_one_answer(tmp_path: Path) -> None:
    path = write(
        tmp_path / "s.jsonl",
        [
            asks("u1", QUESTION, 1),
            says("a1", {"type": "thinking", "thinking": "hm"}, minute=2, message="m"),
            says("a2", "I look.", minute=3, message="m"),
            says("a3", uses("Read", file_path="/srv/tide/table.py"), minute=4, message="m"),
            gives("u2", "def table(): ...", minute=5),
            says("a4", "The moon was asked twice.", minute=9),
        ],
    )
    (found,) = exchanges(path, ended=True)
    assert found.question == QUESTION
    assert found.answer_text == "I look.\n\nThe moon was asked twice."
    assert Act(ActType.READ, "/srv/tide/table.py") in found.acts
    assert (found.session, found.cwd, found.branch, found.model) == (SESSION, "/srv/tide", "main", "claude-x")
    assert found.began == datetime(2026, 3, 2, 10, 1, tzinfo=UTC)
    assert found.ended == datetime(2026, 3, 2, 10, 9, tzinfo=UTC)
    assert found.finished


LEFT_OUT: list[dict[str, Any]] = [
    asks("x", "Caveat: shown to nobody", isMeta=True),
    asks("x", "This session is being continued", isCompactSummary=True),
    asks("x", "search the tests", isSidechain=True, agentId="a7"),
    asks("x", "<task-notification>\n<status>completed</status>\n</task-notification>"),
    asks("x", "List files", origin={"kind": "task-notification"}),
    asks("x", "<local-command-stdout>Bye!</local-command-stdout>"),
    asks("x", "<system-reminder>todo list is empty</system-reminder>"),
    asks("x", [{"type": "image", "source": {"data": "aGVsbG8="}}]),
    asks("x", "[Request interrupted by user]"),
    says("x", "API Error: 529", isApiErrorMessage=True),
    head("x", type="system", content="turn took 3 s"),
    {"type": "summary", "summary": "Tide tables", "leafUuid": "u1"},
    {"type": "file-history-snapshot", "snapshot": {}},
    {"type": "progress", "data": {"type": "hook_progress"}},
    {"type": "queue-operation", "operation": "enqueue", "content": "why"},
]


@pytest.mark.parametrize("record", LEFT_OUT, ids=lambda record: str(record.get("message") or record)[:40])
def test_what_no_person_asked_leaves_the_exchange_as_it_was(record: dict[str, Any], tmp_path: Path) -> None:
    plain = [asks("u1", QUESTION), says("a1", "It waits."), says("a2", "For the moon.")]
    without = exchanges(write(tmp_path / "a" / "s.jsonl", plain), ended=True)
    found = exchanges(write(tmp_path / "b" / "s.jsonl", [*plain[:2], record, *plain[2:]]), ended=True)
    assert len(found) == 1
    assert (found[0].question, found[0].acts) == (without[0].question, without[0].acts)


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        (f"<system-reminder>be brief</system-reminder>{QUESTION}", QUESTION),
        (f"<ide_opened_file>The user opened a.py</ide_opened_file>\n{QUESTION}", QUESTION),
        (f"{QUESTION}\n<ragmem-memory>\nFrom earlier work, most useful first\n</ragmem-memory>", QUESTION),
        (f"{QUESTION} <private>the moon pays</private>", QUESTION),
        (f"{QUESTION} [Image #1]", QUESTION),
        ("is `List<String>` a <b>type</b>?", "is `List<String>` a <b>type</b>?"),
        (
            "<command-name>/review</command-name>\n<command-args>the tide</command-args>",
            "/review the tide",
        ),
    ],
)
def test_a_question_is_what_the_person_wrote(written: str, asked: str, tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", [asks("u1", written), says("a1", "Yes.")])
    assert [found.question for found in exchanges(path)] == [asked]


@pytest.mark.parametrize(
    "repeated", ["<skill>", "<rules ", "<bash-input>", "<private>", "\n", "Tests", "[main "]
)
def test_the_time_is_linear_whatever_is_unclosed(repeated: str, tmp_path: Path) -> None:
    long = repeated * (1_000_000 // len(repeated))
    ran = uses("Bash", command="pytest; git commit -m x")
    records = [
        asks("u1", f"{QUESTION} {long}"),
        says("a1", ran),
        gives("u2", long, failed=True),
        says("a2", "Yes."),
    ]
    began = thread_time()
    (found,) = exchanges(write(tmp_path / "s.jsonl", records))
    assert found.answer_text == "Yes."
    assert thread_time() - began < 5


def test_messages_without_an_answer_between_them_are_one_question(tmp_path: Path) -> None:
    records = [asks("u0", "<command-name>/clear</command-name>"), asks("u1", "look"), asks("u2", QUESTION)]
    (found,) = exchanges(write(tmp_path / "s.jsonl", [*records, says("a1", "It waits.")]))
    assert (found.number, found.question) == (1, f"look\n\n{QUESTION}")


def test_a_copy_of_earlier_lines_gives_no_second_exchange(tmp_path: Path) -> None:
    earlier = [asks("u1", "one"), says("a1", "first"), asks("u2", "two"), says("a2", "second")]
    path = write(tmp_path / "s.jsonl", [*earlier, *earlier, asks("u3", "three"), says("a3", "third")])
    assert [(found.number, found.question, found.answer_text) for found in exchanges(path)] == [
        (1, "one", "first"),
        (2, "two", "second"),
        (3, "three", "third"),
    ]


def test_a_line_that_comes_twice_is_said_once(tmp_path: Path) -> None:
    edit = says("a1", uses("Edit", file_path="/srv/tide/a.py"))
    (found,) = exchanges(write(tmp_path / "s.jsonl", [asks("u1", QUESTION), edit, edit]))
    assert found.files == {"/srv/tide/a.py": 1}


def test_side_chains_are_read_when_they_are_asked_for(tmp_path: Path) -> None:
    records = [
        asks("u1", "find the tests", isSidechain=True, agentId="a7"),
        says("a1", "Here they are.", isSidechain=True, agentId="a7"),
    ]
    path = write(tmp_path / SESSION / "subagents" / "agent-a7.jsonl", records)
    assert exchanges(path) == []
    (found,) = exchanges(path, sidechains=True)
    assert (found.session, found.agent, found.question) == (SESSION, "a7", "find the tests")


def test_what_was_said_meanwhile_stands_in_the_exchange(tmp_path: Path) -> None:
    queued = {"type": "queued_command", "prompt": "and mind the moon"}
    records = [asks("u1", QUESTION), says("a1", "I look."), head("x", type="attachment", attachment=queued)]
    (found,) = exchanges(write(tmp_path / "s.jsonl", records))
    assert Act(ActType.ADDED, "and mind the moon") in found.acts


def test_the_answers_to_questions_of_the_assistant_are_kept(tmp_path: Path) -> None:
    ask = uses("AskUserQuestion", questions=[{"question": "Which table?"}])
    result = 'User has answered your questions: "Which table?"="the northern one"'
    (found,) = exchanges(
        write(tmp_path / "s.jsonl", [asks("u1", QUESTION), says("a1", ask), gives("u2", result)])
    )
    assert found.acts[-1] == Act(ActType.ADDED, result)


@pytest.mark.parametrize(
    ("printed", "act"),
    [
        (
            "[main 1a2b3c4] Ask the moon once\n 1 file changed",
            Act(ActType.COMMITTED, "1a2b3c4 Ask the moon once"),
        ),
        ("", Act(ActType.RAN, "git commit -qam 'Ask the moon once'")),
    ],
)
def test_a_commit_is_told_by_its_hash_or_else_by_its_command(printed: str, act: Act, tmp_path: Path) -> None:
    ran = uses("Bash", command="git commit -qam 'Ask the moon once'")
    (found,) = exchanges(
        write(tmp_path / "s.jsonl", [asks("u1", QUESTION), says("a1", ran), gives("u2", printed)])
    )
    assert found.acts == (act,)


@pytest.mark.parametrize(
    ("command", "deed"),
    [
        ("cd /srv/tide && rg -n 'rm -rf' | head -5", ActType.READ),
        ("git -C /srv/tide log --oneline", ActType.READ),
        ("git log --oneline && git status", ActType.READ),
        ("sed -i s/a/b/ table.py", ActType.RAN),
        ("echo 1 > table.py", ActType.RAN),
        ("uv run pytest -q tests", ActType.TESTED),
        ("npm run lint", ActType.TESTED),
        ("docker compose up -d", ActType.RAN),
    ],
)
def test_a_command_looks_tests_or_does(command: str, deed: ActType, tmp_path: Path) -> None:
    records = [asks("u1", QUESTION), says("a1", uses("Bash", command=command))]
    (found,) = exchanges(write(tmp_path / "s.jsonl", records))
    assert [act.deed for act in found.acts] == [deed]


def test_an_edit_that_was_refused_was_not_made(tmp_path: Path) -> None:
    refused = (
        "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to"
        " proceed, the user said:\nuse the northern table"
    )
    edit = uses("Edit", file_path="/srv/tide/a.py")
    records = [asks("u1", QUESTION), says("a1", edit), gives("u2", refused, failed=True)]
    (found,) = exchanges(write(tmp_path / "s.jsonl", records))
    assert found.files == {}
    assert found.acts == (Act(ActType.ADDED, "use the northern table"),)


def test_a_line_of_a_key_is_no_line_worth_keeping(tmp_path: Path) -> None:
    body = "\n".join("MIIEvQIBADANBgkqhkiG9w0BAQEFAASC" + chr(65 + number) * 32 for number in range(30))
    key = f"-----BEGIN {'PRIVATE'} KEY-----\n{body}\n-----END {'PRIVATE'} KEY-----"
    for printed in (key, f"error: no\n{key}\nerror: none", f"{'x' * 90}\n" * 900 + key):
        records = [
            asks("u1", QUESTION),
            says("a1", uses("Bash", command="deploy")),
            gives("u2", printed, failed=True),
        ]
        (found,) = exchanges(write(tmp_path / "s.jsonl", records))
        assert "MIIEvQ" not in " ".join(act.text for act in found.acts)


def test_unknown_records_and_broken_lines_are_counted_and_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    known = lines_of([asks("u1", QUESTION)]), lines_of([says("a1", "It waits.")])
    path.write_bytes(known[0] + b'{"type": "tide-change"}\n{"half": \n[1]\n\n' + known[1] + b"\xff\xfe\n")
    (step,) = steps(path)
    assert step.exchange is not None
    assert step.exchange.answer_text == "It waits."
    assert step.problems == {'unknown record "tide-change"': 1, "broken line": 3}


def test_half_a_character_that_a_program_cut_loses_no_line(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    whole = lines_of([asks("u1", "why HALF?"), says("a1", r"It is `C:\ud8` and BOTH, cut at HALF")])
    halves = whole.replace(b"HALF", rb"\ud83d", 1).replace(b"HALF", rb"\udfff\ud83d")
    path.write_bytes(halves.replace(b"BOTH", rb"\ud83c\udf0a"))
    assert assistant_of(path, path.read_bytes()) == "claude"
    (step,) = steps(path)
    assert step.exchange is not None
    assert step.exchange.question == "why \ufffd?"
    assert step.exchange.answer_text == "It is `C:\\ud8` and \U0001f30a, cut at \ufffd\ufffd"
    assert step.problems == {}


def test_a_line_of_many_megabytes_costs_no_memory_that_stays(tmp_path: Path) -> None:
    picture = {"type": "image", "source": {"type": "base64", "data": "A" * 3_000_000}}
    path = tmp_path / "s.jsonl"
    path.write_bytes(
        lines_of([asks("u1", QUESTION), says("a1", uses("Read", file_path="/srv/tide/moon.png"))])
    )
    with path.open("ab") as file:
        file.write(lines_of([gives("u2", [picture, {"type": "text", "text": "x" * 2_000_000}])]))
        file.write(lines_of([says("a2", "A moon.")]))
    (step,) = read(path, redactor=DEFAULT)
    assert step.exchange is not None
    assert step.exchange.answer_text == "A moon."
    assert sum(len(act.text) for act in step.exchange.acts) < 100
    assert len(step.carried) < 500


@pytest.mark.parametrize(
    ("head_of_file", "assistant"),
    [
        (lines_of([{"type": "permission-mode", "sessionId": "s"}, asks("u1", QUESTION)]), "claude"),
        (b"// a comment\n" + lines_of([asks("u1", QUESTION)]), "claude"),
        (lines_of([{"timestamp": "t", "type": "session_meta", "payload": {"id": "1"}}]), "codex"),
        (lines_of([{"type": "message", "role": "user", "content": [{"type": "input_text"}]}]), "codex"),
        (lines_of([{"sessionId": "s", "projectHash": "h", "kind": "main"}]), "gemini"),
        (b'{\n "sessionId": "s",\n "projectHash": "h",\n "messages": [', "gemini"),
        (lines_of([{"role": "user", "message": {"content": []}}]), "cursor"),
        (lines_of([{"uuid": "1", "parentUuid": None, "sessionId": "s", "message": {"parts": []}}]), None),
        (lines_of([{"type": "session.start", "data": {"sessionId": "s"}}]), None),
        (lines_of([{"role": "user", "content": "hello"}]), None),
        (lines_of([asks("u1", "x" * 9000)])[:5000], "claude"),
        (lines_of([{"type": "event_msg", "payload": {"type": "user_message"}}])[:60], "codex"),
        (lines_of([{"role": "user", "message": {"content": "x" * 9000}}])[:5000], "cursor"),
        (b"# Notes\n", None),
        (b"", None),
    ],
)
def test_the_content_tells_whose_transcript_it_is(head_of_file: bytes, assistant: str | None) -> None:
    assert assistant_of(Path("/x/y.jsonl"), head_of_file) == assistant


LONG_TEXT = "Sum this up: " + "User: why? Agent: because of the moon. " * 50


@pytest.mark.parametrize(
    ("asked", "answer", "entry", "memories"),
    [
        (LONG_TEXT, "<summary>They spoke of\nthe moon.</summary>", "", 0),
        (LONG_TEXT, '{"summary": "They spoke of the moon."}', "cli", 0),
        (LONG_TEXT, "They spoke of the moon.", "sdk-py", 0),
        (LONG_TEXT, "They spoke of the moon.", "cli", 1),
        (QUESTION, "It waits for the moon.", "sdk-cli", 1),
        (QUESTION, "<b>It waits</b> for the moon, see `{table}`", "", 1),
        (QUESTION, "[the table](table.md) waits for [moon]", "", 1),
    ],
)
def test_what_a_program_asked_for_words_alone_is_no_memory(
    asked: str, answer: str, entry: str, memories: int, tmp_path: Path
) -> None:
    def kept(*records: dict[str, Any]) -> int:
        path = write(tmp_path / "s.jsonl", [asks("u1", asked, entrypoint=entry), *records])
        return sum(
            len(drafts_of(one, path=path, scope=Scope("p"), redactor=DEFAULT))
            for one in exchanges(path, ended=True)
        )

    assert kept(says("a1", answer)) == memories
    edit = uses("Edit", file_path="/srv/tide/table.py")
    assert kept(says("a1", edit), says("a2", answer)) == 1


def test_how_the_assistant_was_started_is_known_where_reading_goes_on(tmp_path: Path) -> None:
    records = [asks("u1", QUESTION, entrypoint="sdk-py"), says("a1", "It waits.")]
    path = write(tmp_path / "s.jsonl", [*records, asks("u2", "and the moon?")])
    first = steps(path)[0]
    assert first.exchange is not None
    (left, *_) = steps(path, position=first.position, carried=first.carried, ended=True)
    assert left.exchange is not None
    assert left.exchange.entry == "sdk-py"


@pytest.mark.parametrize(
    "command",
    [
        "printenv DB_PASSWORD; make lint",
        "cat /run/secrets/db && ./migrate.sh",
        "vault kv get -field=pw secret/db; false",
    ],
)
def test_a_failed_command_that_prints_a_secret_leaves_nothing_of_its_last_line(
    tmp_path: Path, command: str
) -> None:
    records = [
        asks("u1", QUESTION),
        says("a1", uses("Bash", command=command)),
        gives("u2", "Exit code 1\nswordfish", failed=True),
    ]
    (found,) = exchanges(write(tmp_path / "s.jsonl", records))
    assert "swordfish" not in str(found)
    # Of any other command the last line tells why it failed.
    records[1] = says("a1", uses("Bash", command="./migrate.sh"))
    (found,) = exchanges(write(tmp_path / "s.jsonl", records))
    assert "swordfish" in str(found)


REPORT = (
    "Only `tide.py` calls the moon, and it does so twice a table.\n\n## Callers\n\n- `tide.py` line 7\n" * 2
)


@pytest.mark.parametrize(
    "records",
    [
        [
            gives(
                "u2",
                f"{REPORT}agentId: a411d5c (for resuming)\n<usage>total_tokens: 37502\ntool_uses: 7</usage>",
            )
        ],
        [
            gives(
                "u2", "Async agent launched successfully.\nagentId: a9e09c2 (internal ID)" + " it works" * 20
            ),
            asks(
                "u3",
                '<task-notification>\n<task-id>a9e09c2</task-id>\n<summary>Agent "Find the callers" completed'
                f"</summary>\n<result>{REPORT}</result>\n</task-notification>\n"
                "Read the output file to retrieve the result: /tmp/tasks/a9e09c2.output",
            ),
            asks(
                "u4",
                '<task-notification>\n<summary>Agent "Find the callers" completed</summary>\n'
                f"<result>{REPORT}</result>\n</task-notification>",
                origin={"kind": "task-notification"},
            ),
        ],
    ],
)
def test_the_report_of_a_subagent_belongs_to_the_exchange_that_asked_for_it(
    tmp_path: Path, records: list[dict[str, Any]]
) -> None:
    path = write(
        tmp_path / "s.jsonl",
        [
            asks("u1", QUESTION),
            says("a1", uses("Task", description="Find the callers", prompt="Who calls the moon?")),
            *records,
            says("a2", "The moon was asked twice."),
        ],
    )
    (found,) = exchanges(path, ended=True)
    (draft,) = drafts_of(found, path=path, scope=Scope(), redactor=DEFAULT)
    assert draft.text.count("Report of a subagent (Find the callers):\n\nOnly `tide.py` calls") == 1
    assert "total_tokens" not in draft.text
    assert "launched" not in draft.text
    assert draft.title == "The moon was asked twice."


SUMMARY = (
    "1. Primary Request:\n   The tide table was late because the moon was asked twice.\n"
    + "It is fast now. " * 20
)
CONTINUED = (
    "This session is being continued from a previous conversation that ran out of context. The summary below "
    "covers the earlier portion of the conversation.\n\nAnalysis:\nLet me go through it.\n\nSummary:\n"
    f"{SUMMARY}\nPlease continue the conversation from where we left it off without asking the user further "
    "questions."
)


@pytest.mark.parametrize("first", [True, False])
def test_the_summary_of_a_compaction_is_a_memory_of_its_session(tmp_path: Path, *, first: bool) -> None:
    compacted = asks("c1", CONTINUED, isCompactSummary=True)
    asked = [asks("u1", QUESTION, 1), says("a1", "The moon was asked twice.", minute=2)]
    path = write(tmp_path / "s.jsonl", [compacted, *asked] if first else [*asked, compacted])
    (found,) = exchanges(path, ended=True)
    exchange, summary = drafts_of(found, path=path, scope=Scope(), redactor=DEFAULT)
    assert exchange.title == "The moon was asked twice."
    assert summary.text.startswith("Summary:\n1. Primary Request")
    assert "continue the conversation" not in summary.text
    assert "Let me go" not in summary.text
    assert (
        summary.title
        == "Session summary: Primary Request: The tide table was late because the moon was asked twice."
    )
    assert (summary.metadata["session"], summary.metadata["compaction"]) == (SESSION, "yes")
    assert summary.uri == f"{exchange.uri}.summary1"


def test_a_summary_before_the_first_question_survives_a_pause_in_reading(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", [asks("c1", CONTINUED, isCompactSummary=True)])
    last = steps(path)[-1]
    with path.open("ab") as file:
        file.write(lines_of([asks("u1", QUESTION, 1), says("a1", "The moon was asked twice.", minute=2)]))
    (found,) = exchanges(path, ended=True, position=last.position, carried=last.carried)
    assert len(found.summaries) == 1


def test_an_interrupted_exchange_is_marked_and_a_bare_order_is_none(tmp_path: Path) -> None:
    path = write(
        tmp_path / "s.jsonl",
        [
            asks("u1", QUESTION),
            says("a1", "I look at `moon.py`.", uses("Edit", file_path="/srv/tide/moon.py")),
            asks("u2", "[Request interrupted by user]"),
            asks("u3", "continue"),
            says("a3", "Sure."),
        ],
    )
    drafts = [
        draft
        for found in exchanges(path, ended=True)
        for draft in drafts_of(found, path=path, scope=Scope(), redactor=DEFAULT)
    ]
    assert [(one.metadata.get("asked"), one.metadata.get("interrupted")) for one in drafts] == [
        (QUESTION, "yes")
    ]


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ("Sure, I go on with the next one.", False),
        ("决定订单服务使用端口 8080,旧端口下周关闭。", True),
        ("Der Dienst läuft jetzt auf Port 8080, der alte ist zu.", True),
    ],
)
def test_a_short_answer_that_cannot_be_read_is_kept_behind_a_bare_order(
    tmp_path: Path, *, answer: str, kept: bool
) -> None:
    path = write(tmp_path / "s.jsonl", [asks("u1", "ok"), says("a1", answer)])
    (found,) = exchanges(path, ended=True)
    assert bool(drafts_of(found, path=path, scope=Scope(), redactor=DEFAULT)) == kept


def test_an_order_is_not_the_question_before_the_next_one(tmp_path: Path) -> None:
    said = [asks("u1", QUESTION), says("a1", "It asks the moon twice.")]
    for number, asked in enumerate(("continue", "continue", "which file?"), start=2):
        said += [asks(f"u{number}", asked), says(f"a{number}", f"Step {number}.")]
    path = write(tmp_path / "s.jsonl", said)
    assert [one.before for one in exchanges(path)] == ["", QUESTION, QUESTION, QUESTION]


def test_a_file_that_windows_wrote_is_read_from_its_first_line(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", [asks("u1", QUESTION), says("a1", "It asks the moon twice.")])
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    (found,) = exchanges(path)
    assert (found.question, found.answer_text) == (QUESTION, "It asks the moon twice.")


def test_a_file_of_windows_is_one_of_its_folder(tmp_path: Path) -> None:
    folder = {"cwd": r"C:\Users\ana\tide"}
    edit = {
        "type": "tool_use",
        "id": "t1",
        "name": "Edit",
        "input": {"file_path": r"C:\Users\ana\tide\src\moon.py"},
    }
    said = [
        asks("u1", QUESTION, **folder),
        says("a1", edit, **folder),
        says("a2", "It asks once now.", **folder),
    ]
    (found,) = exchanges(write(tmp_path / "s.jsonl", said))
    (draft,) = drafts_of(found, path="s.jsonl", scope=Scope(), redactor=DEFAULT)
    assert draft.metadata["files"] == "src/moon.py"


def from_member(sender: str, said: str) -> str:
    return f'<teammate-message teammate_id="{sender}" color="blue">\n{said}\n</teammate-message>'


def test_a_member_of_a_team_is_asked_by_its_lead(tmp_path: Path) -> None:
    team = {"teamName": "tides", "agentName": "moon-dev"}
    task = (
        '{"type": "task_assignment", "taskId": "1", "subject": "Ask once", "description": "Cache the moon."}'
    )
    told = from_member("team-lead", QUESTION)
    said = [
        asks("u1", f"{told}\n\n{from_member('team-lead', task)}", **team),
        says("a1", "It asks the moon once now.", **team),
        asks("u2", from_member("sea-dev", "The sea is done."), **team),
        says("a2", "The sea is of no interest here.", **team),
        asks("u3", from_member("team-lead", '{"type": "shutdown_request"}'), **team),
    ]
    (found,) = exchanges(write(tmp_path / "s.jsonl", said), ended=True)
    assert (found.question, found.agent) == (f"{QUESTION}\n\nAsk once\n\nCache the moon.", "moon-dev")
    assert found.answer_text == "It asks the moon once now.\n\nThe sea is of no interest here."


def test_what_a_member_reports_belongs_to_the_question_of_the_lead(tmp_path: Path) -> None:
    report = (
        "The moon is asked twice, because the tide table and the board do not share what they know of it."
    )
    said = [asks("u1", QUESTION), says("a1", "I ask the team."), asks("u2", from_member("moon-dev", report))]
    (found,) = exchanges(write(tmp_path / "s.jsonl", said), ended=True)
    assert report in "\n".join(act.text for act in found.acts)


def test_messages_of_a_team_that_never_end_are_read_in_linear_time() -> None:
    begun = '<teammate-message teammate_id="a">' * 60_000
    began = thread_time()
    assert team_messages(from_member("team-lead", "Ask once.") + begun) == [("team-lead", "Ask once.")]
    assert thread_time() - began < 5
