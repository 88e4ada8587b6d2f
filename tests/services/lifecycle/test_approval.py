"""What no person has written counts for nothing until one accepts it, and is never lost meanwhile."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ragmem.domain.model import Draft, Kind, Scope
from ragmem.domain.model.lifecycle import Approval, LifecycleState
from ragmem.errors import NotFoundError
from ragmem.mcp.dispatch import call as call_tool
from ragmem.services.transcripts.transcripts import capture
from ragmem.storage.lifecycle.lifecycle_state import Recall

NOW = datetime(2026, 6, 1, tzinfo=UTC)
PROJECT = "p-quay"
ON = {"RAGMEM_APPROVAL_ENABLED": "true"}

WISH = "The user prefers that commit messages name the berth of the quay and never the ticket."
TALK = "The crane of the quay was painted yellow last week, and the berth has a new lamp at its end."


def stored(memory, text, *, by_agent=True, source="records", name="", **more):
    draft = Draft(
        source,
        name or f"/n/{text}",
        text,
        title=text[:20],
        scope=Scope(PROJECT),
        event_time=NOW - timedelta(days=3),
        **more,
    )
    [one] = memory.ingest([draft], rule="off", by_agent=by_agent)
    return one.id


def told(memory, session, prompt="", **more):
    found = memory.injections.anticipate(session, prompt, projects=[PROJECT, "user"], at=NOW, **more)
    return [one.id for one in found.context.memories]


def approval_of(memory, identifier):
    [row] = memory.catalog.lives.of([identifier]).values()
    return row.approval


@pytest.fixture
def memory(open_memory):
    """A memory with approval turned on."""
    return open_memory(**ON)


def test_a_proposed_memory_is_told_unasked_to_nobody_until_it_is_accepted(memory, tmp_path):
    wish = stored(memory, WISH, kind=Kind.PREFERENCE)
    file = tmp_path / "MEMORY.md"
    assert told(memory, "one") == []
    assert told(memory, "one", "how does the user want commit messages of the quay named") == []
    assert WISH not in memory.memory_file.update(project=PROJECT, file=file).diff
    assert memory.session_context("commit messages", everywhere=True).memories
    [match] = [
        match for match in memory.query("commit messages of the quay").matches if match.memory.id == wish
    ]
    assert match.approval == "proposed"
    [done] = memory.approvals.accept([wish[:12]])
    assert (done.approval, done.sort) == (Approval.ACCEPTED, "memory")
    assert told(memory, "two") == [wish]
    assert "commit messages name the berth" in memory.memory_file.update(project=PROJECT, file=file).diff
    [match] = [
        match for match in memory.query("commit messages of the quay").matches if match.memory.id == wish
    ]
    assert match.approval == ""


def test_each_decision_takes_the_other_back(memory):
    wish = stored(memory, WISH, kind=Kind.PREFERENCE)
    memory.approvals.reject([wish])
    assert (memory.approvals.proposals(), memory.approvals.count()) == ([], (0, 0))
    assert [one.id for one in memory.approvals.proposals(Approval.REJECTED)] == [wish]
    assert told(memory, "one") == []
    memory.approvals.accept([wish])
    assert told(memory, "two") == [wish]
    memory.approvals.reject([wish])
    assert told(memory, "three") == []


def test_with_approval_off_what_an_agent_stores_counts_at_once(open_memory):
    memory = open_memory()
    wish = stored(memory, WISH, kind=Kind.PREFERENCE)
    assert told(memory, "one") == [wish]
    with pytest.raises(NotFoundError, match="needs no approval"):
        memory.approvals.accept([wish])


def test_what_a_person_stores_counts_and_confirms_what_an_agent_stored(memory):
    wish = stored(memory, WISH, kind=Kind.PREFERENCE)
    talk = stored(memory, TALK, by_agent=False)
    assert memory.catalog.approvals.withheld_ids() == [wish]
    assert memory.catalog.lives.of([talk]) == {}
    assert stored(memory, WISH, by_agent=False, kind=Kind.PREFERENCE) == wish
    assert approval_of(memory, wish) is Approval.ACCEPTED


def test_a_text_that_an_agent_changes_waits_again_and_an_unchanged_one_does_not(memory):
    wish = stored(memory, WISH, name="/n/wish")
    memory.approvals.accept([wish])
    assert stored(memory, WISH, name="/n/wish") == wish
    assert approval_of(memory, wish) is Approval.ACCEPTED
    assert stored(memory, f"{WISH} Now also the lamp.", name="/n/wish") == wish
    assert approval_of(memory, wish) is Approval.PROPOSED
    person = stored(memory, TALK, by_agent=False, name="/n/talk")
    stored(memory, TALK, name="/n/talk")
    assert memory.catalog.lives.of([person]) == {}


def test_an_agent_proposes_over_mcp_and_has_no_tool_that_accepts(memory):
    said = call_tool(memory, "remember", {"text": WISH}, session="s-1")
    assert "a person must accept it" in said.text
    [one] = memory.approvals.proposals()
    assert one.item.text == WISH
    call_tool(
        memory,
        "store_knowledge",
        {"category": "gotcha", "title": "Tides", "content": "The tide table of the quay is in UTC."},
        session="s-1",
    )
    assert memory.approvals.count() == (2, 0)


def exchange(path: Path, asked: str, answered: str, number: int) -> None:
    moment = (NOW - timedelta(hours=9 - number)).isoformat().replace("+00:00", "Z")
    common = {"sessionId": path.stem, "timestamp": moment, "cwd": str(path.parent)}
    answer = {"role": "assistant", "content": [{"type": "text", "text": answered}], "id": f"m{number}"}
    lines = [
        {"type": "user", "uuid": f"u{number}", "message": {"role": "user", "content": asked}, **common},
        {"type": "assistant", "uuid": f"a{number}", "message": answer | {"type": "message"}, **common},
    ]
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


def test_of_a_transcript_only_what_states_a_decision_or_a_rule_waits(memory, tmp_path):
    path = tmp_path / "session.jsonl"
    exchange(path, "which crane is yellow?", f"{TALK} It stands at the third berth of the quay.", 1)
    exchange(path, "name the commits, please", f"From now on: {WISH} That was settled in the meeting.", 2)
    memory.prepare()
    done = capture(memory.catalog, memory.settings, path, home=tmp_path, now=NOW, ended=True)
    assert done.new == 2
    [one] = memory.approvals.proposals()
    assert "never the ticket" in one.text
    memory.approvals.accept([one.id])
    again = capture(memory.catalog, memory.settings, path, home=tmp_path, now=NOW, ended=True)
    assert again.changed == 0
    assert approval_of(memory, one.id) is Approval.ACCEPTED


def test_the_mark_and_the_text_are_written_together_or_not_at_all(memory, monkeypatch):
    memory.prepare()

    def fail(*_, **__):
        raise RuntimeError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(type(memory.catalog.memories), "accept", fail)
        refused = []
        draft = Draft("records", "/n/wish", WISH, scope=Scope(PROJECT))
        memory.ingest([draft], by_agent=True, refusals=refused)
    assert refused
    assert memory.catalog.approvals.withheld_ids() == []
    assert memory.catalog.memories.ids() == set()


def test_a_proposed_memory_ages_and_is_not_promoted(memory):
    wish = stored(memory, WISH, kind=Kind.PREFERENCE)
    policy = memory.settings.lifecycle.policy
    memory.catalog.lives.add_recalls([Recall(wish, f"s{number}", NOW) for number in range(9)])
    entry = memory.catalog.lives.entry(wish, policy=policy)
    assert (entry.is_protected, entry.curated, entry.is_promoted(policy)) == (False, False, False)
    assert entry.life is LifecycleState.BUFFER
    memory.gc.apply(memory.gc.plan())
    assert memory.catalog.lives.entry(wish, policy=policy).life is LifecycleState.BUFFER
    memory.approvals.accept([wish])
    entry = memory.catalog.lives.entry(wish, policy=policy)
    assert (entry.is_protected, entry.curated, entry.is_promoted(policy)) == (True, True, True)


def test_a_proposed_memory_hides_nothing_that_counts(memory):
    old = stored(memory, "The timetable of the ferry is read from tides.csv in the harbour.", by_agent=False)
    new = stored(
        memory,
        "The timetable of the ferry is read from tides.db in the harbour.",
        metadata={"supersedes": old},
    )
    memory.gc.apply(memory.gc.plan())
    assert memory.catalog.supersessions.in_force([old]) == {}
    memory.approvals.accept([new])
    memory.gc.apply(memory.gc.plan())
    assert memory.catalog.supersessions.in_force([old])[old].newer == new


def test_approvals_outlast_the_archive(memory):
    wish = stored(memory, WISH, kind=Kind.PREFERENCE)
    run = memory.forget([wish])
    assert memory.approvals.count() == (0, 0)
    memory.gc.undo(run)
    assert memory.approvals.count() == (1, 0)


def test_what_counts_is_told_although_an_agent_proposes_the_same_text(memory):
    first = stored(memory, WISH, by_agent=False, name="/n/first", kind=Kind.PREFERENCE)
    again = stored(memory, WISH, name="/n/again", kind=Kind.PREFERENCE)
    approvals = {
        match.memory.id: match.approval for match in memory.query("commit messages of the quay").matches
    }
    assert approvals[first] == ""
    assert approvals.get(again, "proposed") == "proposed"
    assert told(memory, "one") == [first]
    assert first in told(memory, "two", "how does the user want commit messages of the quay named")
    memory.gc.apply(memory.gc.plan())
    assert memory.catalog.memories.get([first])
