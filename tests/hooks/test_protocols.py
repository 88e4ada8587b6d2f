"""The payloads that the real assistants sent, as scripts/try_assistants.py --record wrote them down."""

import json
from pathlib import Path

import pytest

from ragmem.assistants import load_assistant
from ragmem.hooks import query, spool
from ragmem.hooks.event import HookEvent

RECORDS = [
    json.loads(path.read_text(encoding="utf-8"))
    for path in sorted((Path(__file__).parents[1] / "data" / "protocols").glob("*.json"))
]
CALLS = [
    (record["assistant"], call["event"], call["payload"]) for record in RECORDS for call in record["calls"]
]
IDS = [
    f"{name} {event} {payload.get('tool_name') or payload.get('source') or ''}".rstrip()
    for name, event, payload in CALLS
]


def filled(payload, folder):
    text = json.dumps(payload).replace("@PROJECT@", str(folder / "project"))
    return text.replace("@HOME@", str(folder / "home")).replace("@SLUG@", "-project")


@pytest.mark.parametrize(("name", "event", "payload"), CALLS, ids=IDS)
def test_a_real_payload_is_understood_and_leaves_what_its_event_means(name, event, payload, hooks, tmp_path):
    meaning = load_assistant(name).meaning(event)

    done = hooks.call(event, "--for", name, raw=filled(payload, tmp_path).encode())

    assert (done.code, done.stderr) == (0, b"")
    left = [(one["event"], one["session"], one["cwd"]) for one in hooks.waiting()]
    ours = (meaning, "SESSION_ID-1", str(hooks.project))
    assert left == ([ours] if meaning in spool.KINDS else [])
    assert "has no event" not in hooks.log()
    assert "standard input" not in hooks.log()


@pytest.mark.parametrize("record", RECORDS, ids=[record["assistant"] for record in RECORDS])
def test_real_payloads_ask_at_the_start_with_a_prompt_of_a_file_and_of_a_failure(record, tmp_path):
    assistant = load_assistant(record["assistant"])
    asked = {}
    for call in record["calls"]:
        fields = json.loads(filled(call["payload"], tmp_path))
        request = query.request(HookEvent(assistant, call["event"], fields), max_chars=9000, research=True)
        if "op" in request:
            asked.setdefault(request["event"], request["prompt"])

    assert set(asked) == {"start", "prompt", "file", "failure"}
    assert asked["prompt"].startswith("Which CSV files does the Pelican importer take?")
    assert asked["file"] == str(tmp_path / "project" / "notes.md")
    assert "cat: no-such-file-7731: No such file or directory" in asked["failure"]


def test_all_assistants_that_can_be_tried_are_recorded():
    assert {record["assistant"] for record in RECORDS} == {
        "claude-code",
        "codex",
        "gemini",
        "opencode",
        "copilot",
    }


@pytest.mark.parametrize("record", RECORDS, ids=[record["assistant"] for record in RECORDS])
def test_a_record_holds_nothing_of_the_machine_that_made_it(record):
    texts = json.dumps(record["calls"])

    assert not [place for place in ("/tmp", "/home", "/root", "/Users", "/private") if f'"{place}' in texts]
