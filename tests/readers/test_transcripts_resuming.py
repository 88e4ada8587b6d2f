"""A transcript that grows is read on from where it was left, whatever has been written by then."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragmem.domain.model import Scope
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.domain.sessions.transcript import Exchange
from ragmem.errors import SourceError
from ragmem.readers.transcripts import ASSISTANTS, assistant_of, drafts_of, exchange_builder, read
from tests.readers.transcript_files import asks, exchanges, gives, lines_of, says, steps, uses

QUICK = settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)

WORDS = st.sampled_from(["why does it fail", "yes", "ok", "/clear", "<b>café</b>", "fix the tide table", ""])


def _claude(draw: Any) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    for number in range(draw(st.integers(0, 14))):
        name = draw(st.sampled_from(["q", "q", "a", "b", "c", "d"])) + str(draw(st.integers(0, 9)))
        match draw(st.integers(0, 7)):
            case 0 | 1:
                records.append(asks(name, draw(WORDS), number))
            case 2 | 3:
                records.append(says(name, draw(WORDS) * draw(st.sampled_from([1, 1, 900])), minute=number))
            case 4:
                records.append(says(name, uses("Bash", name, command="pytest -q"), minute=number))
            case 5:
                records.append(gives(name, "1 failed, 2 passed in 3s", f"a{number % 10}", failed=True))
            case 6:
                records.append(
                    says(name, uses("Edit", name, file_path=f"/srv/tide/{name}.py"), minute=number)
                )
            case _:
                records.append({"type": "progress", "data": {}, "uuid": name})
    return records


def _codex(draw: Any) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = [{"type": "session_meta", "payload": {"id": "s1", "cwd": "/srv/tide"}}]
    for number in range(draw(st.integers(0, 12))):
        text = draw(WORDS)
        match draw(st.integers(0, 4)):
            case 0:
                payload: dict[str, Any] = {"type": "user_message", "message": text}
                records.append({"type": "event_msg", "payload": payload})
            case 1:
                records.append({"type": "event_msg", "payload": {"type": "agent_message", "message": text}})
            case 2:
                content = [{"type": "input_text", "text": text}]
                payload = {"type": "message", "role": draw(st.sampled_from(["user", "assistant"]))}
                records.append({"type": "response_item", "payload": {**payload, "content": content}})
            case 3:
                call = {"type": "function_call", "name": "shell", "call_id": f"c{number % 3}"}
                payload = {**call, "arguments": '{"cmd": "git commit -m x"}'}
                records.append({"type": "response_item", "payload": payload})
            case _:
                result = {"type": "function_call_output", "call_id": f"c{number % 3}"}
                payload = {**result, "output": "[main abc1234] Say it"}
                records.append({"type": "response_item", "payload": payload})
    return records


def _gemini(draw: Any) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = [{"sessionId": "g1", "projectHash": "0", "kind": "main"}]
    sent: list[dict[str, Any]] = []
    for _ in range(draw(st.integers(0, 12))):
        identifier = f"m{draw(st.integers(0, 7))}"
        match draw(st.integers(0, 5)):
            case 0 | 1:
                sent.append({"id": identifier, "type": "user", "content": [{"text": draw(WORDS)}]})
                records.append(sent[-1])
            case 2 | 3:
                sent.append(
                    {"id": identifier, "type": "gemini", "content": draw(WORDS) * draw(st.integers(1, 3))}
                )
                records.append(sent[-1])
            case 4:
                records.append({"$set": {"messages": list(sent)}})
            case _:
                records.append({"$rewindTo": identifier})
    return records


def _cursor(draw: Any) -> list[dict[str, Any]]:
    records = []
    for _ in range(draw(st.integers(1, 12))):
        role = draw(st.sampled_from(["user", "assistant"]))
        block: dict[str, Any] = {"type": "text", "text": draw(WORDS)}
        if draw(st.booleans()) and role == "assistant":
            block = {"type": "tool_use", "name": "edit_file", "input": {"target_file": "a.py"}}
        records.append({"role": role, "message": {"content": [block]}})
    return records


def _copilot(draw: Any) -> list[dict[str, Any]]:
    context = {"cwd": "/srv/tide", "branch": "main"}
    records: list[dict[str, Any]] = [
        {
            "type": "session.start",
            "data": {"sessionId": "p1", "context": context},
            "id": "e",
            "parentId": None,
        }
    ]
    for number in range(draw(st.integers(0, 12))):
        match draw(st.integers(0, 2)):
            case 0:
                sort, data = "user.message", {"content": draw(WORDS)}
            case 1:
                made = {"toolCallId": f"c{number % 3}", "name": "bash", "arguments": {"command": "pytest -q"}}
                sort, data = "assistant.message", {"content": draw(WORDS), "toolRequests": [made]}
            case _:
                result = {"content": "1 failed, 2 passed in 3s"}
                sort = "tool.execution_complete"
                data = {"toolCallId": f"c{number % 3}", "success": True, "result": result}
        records.append({"type": sort, "data": data, "id": f"e{number}", "parentId": "e"})
    return records


MADE = {"claude": _claude, "codex": _codex, "gemini": _gemini, "cursor": _cursor, "copilot": _copilot}


def _place(exchange: Exchange) -> tuple[str, int, int]:
    return exchange.session, exchange.number, exchange.part


@pytest.mark.parametrize("assistant", MADE)
@QUICK
@given(data=st.data())
def test_reading_in_pieces_gives_the_exchanges_of_reading_at_once(
    assistant: str, data: st.DataObject, tmp_path: Path
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(exchange_builder, "MAX_PART", data.draw(st.sampled_from([40, 24_000])))
        _compare(assistant, data, tmp_path)


def _compare(assistant: str, data: st.DataObject, tmp_path: Path) -> None:
    content = lines_of(MADE[assistant](data.draw))
    path = tmp_path / "s1.jsonl"
    path.write_bytes(content)
    whole = {_place(found): found for found in exchanges(path, assistant=assistant, ended=True)}
    position, carried = 0, ""
    pieces: dict[tuple[str, int, int], Exchange] = {}
    cuts = sorted(data.draw(st.lists(st.integers(0, len(content)), max_size=5)))
    for cut in (*cuts, len(content)):
        path.write_bytes(content[:cut])
        # Any step may be the last one that was stored.
        stored = steps(
            path, assistant=assistant, position=position, carried=carried, ended=cut == len(content)
        )
        for step in stored[: None if cut == len(content) else data.draw(st.integers(0, len(stored)))]:
            position, carried = step.position, step.carried
            if step.exchange:
                pieces[_place(step.exchange)] = step.exchange
    assert pieces == whole


@pytest.mark.parametrize("assistant", ASSISTANTS)
@QUICK
@given(content=st.binary(max_size=600), cut=st.integers(0, 600))
def test_no_bytes_break_reading(assistant: str, content: bytes, cut: int, tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_bytes(content)
    assistant_of(path, content)
    for step in steps(path, assistant=assistant, position=min(cut, len(content)), ended=True):
        if step.exchange:
            drafts_of(step.exchange, path=path, scope=Scope(), redactor=DEFAULT)


KEYS = """
type role message content text payload id uuid name input arguments output item todos plan cwd toolCalls
result status timestamp $set messages parts origin attachment prompt command
""".split()
VALUES = """
user assistant gemini model text tool_use tool_result event_msg response_item message function_call
session_meta attachment queued_command user_message Bash apply_patch TodoWrite exec
""".split()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS), inner | st.sampled_from(VALUES), max_size=6)
    ),
    max_leaves=20,
)


@pytest.mark.parametrize("assistant", ASSISTANTS)
@QUICK
@given(records=st.lists(JSON, max_size=6))
def test_no_records_break_reading(assistant: str, records: list[Any], tmp_path: Path) -> None:
    try:
        content = lines_of([asks("u1", "why"), *records] if assistant == "claude" else records)
    except (TypeError, ValueError):
        return
    path = tmp_path / "s1.jsonl"
    path.write_bytes(content)
    assistant_of(path, content)
    for step in read(path, assistant, ended=True, sidechains=True, redactor=DEFAULT):
        if step.exchange:
            drafts_of(step.exchange, path=path, scope=Scope(), redactor=DEFAULT)


def test_a_torn_last_line_is_left_for_the_next_time(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    first, second = lines_of([asks("u1", "why does it fail")]), lines_of([says("a1", "the tide turned")])
    path.write_bytes(first + second[:-20])
    (open_one,) = steps(path)
    assert open_one.exchange is not None
    assert open_one.exchange.acts == ()
    assert not open_one.exchange.finished
    path.write_bytes(first + second)
    (again,) = steps(path, position=open_one.position, carried=open_one.carried)
    assert again.exchange is not None
    assert (again.exchange.number, again.exchange.answer_text) == (1, "the tide turned")


def test_an_open_exchange_is_read_again_from_its_question(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    done = lines_of([asks("u1", "why does it fail"), says("a1", "the tide turned")])
    path.write_bytes(done + lines_of([asks("u2", "and now"), says("a2", "it waits")]))
    finished, begun = steps(path)
    assert finished.position == begun.position == len(done)
    path.write_bytes(path.read_bytes() + lines_of([says("a3", "for the moon"), asks("u3", "thanks")]))
    completed, last = steps(path, position=begun.position, carried=begun.carried)
    assert completed.exchange is not None
    assert completed.exchange.number == 2
    assert completed.exchange.answer_text == "it waits\n\nfor the moon"
    assert last.exchange is not None
    assert last.exchange.number == 3


def test_a_position_in_a_long_exchange_moves_with_its_parts(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    told = [says(f"a{number}", f"step {number} " + "word " * 1000) for number in range(20)]
    path.write_bytes(lines_of([asks("u1", "do it all"), *told]))
    found = steps(path)
    parts = [step.exchange.part for step in found if step.exchange]
    assert parts == list(range(1, len(parts) + 1))
    assert len(parts) > 3
    assert found[-1].position > path.stat().st_size / 2
    (last,) = steps(path, position=found[-1].position, carried=found[-1].carried)
    assert last == found[-1]


def test_what_is_carried_stays_small(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    records = [
        record
        for number in range(1200)
        for record in (asks(f"u{number}", f"question {number}"), says(f"a{number}", "answer"))
    ]
    path.write_bytes(lines_of(records))
    last = steps(path)[-1]
    assert last.exchange is not None
    assert last.exchange.number == 1200
    assert len(last.carried) < 10_000


def test_a_file_that_is_gone_is_an_error_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot read"):
        steps(tmp_path / "gone.jsonl")
