"""Approvals are part of a memory's life, in each database; a draft of a skill is kept once."""

from dataclasses import replace
from datetime import UTC, datetime

from ragmem.domain.model.lifecycle import Approval, LifecyclePolicy
from ragmem.storage.lifecycle.approvals import SkillDraft
from ragmem.storage.lifecycle.lifecycle_state import LifeRow, promoted_ids

NOW = datetime(2026, 6, 1, tzinfo=UTC)
POLICY = LifecyclePolicy()
DRAFT = SkillDraft("skill-1", "quay", "lint-test", "# steps", ("one", "two", "three"), NOW)


def accept(catalog, *items, proposed=()):
    with catalog.database.write():
        catalog.approvals.propose(memory for memory, _ in items if memory.uri in proposed)
        catalog.memories.accept(items)


def test_only_new_and_changed_texts_are_proposed_and_the_rest_of_a_life_stays(catalog, make):
    one, other = make("one", "a rule of the quay", project="quay"), make("other", "a lamp", project="quay")
    accept(catalog, one, other, proposed=("one",))
    key = one[0].id
    catalog.lives.pin(key, pinned=True, now=NOW)
    assert catalog.approvals.withheld_ids() == [key]
    assert catalog.lives.of([key])[key] == LifeRow(
        key, pinned=True, reason="pinned", approval=Approval.PROPOSED
    )
    catalog.lives.set_approval([key], Approval.ACCEPTED, now=NOW)
    accept(catalog, one, other, proposed=("one", "other"))
    assert catalog.approvals.withheld_ids() == []
    accept(catalog, make("one", "another rule of the quay", project="quay"), proposed=("one",))
    assert catalog.approvals.withheld_ids() == [key]
    assert catalog.lives.entry(key, policy=POLICY).approval is Approval.PROPOSED


def test_what_waits_is_listed_and_counted_by_project_latest_first(catalog, make):
    items = [
        make(f"n{day}", f"rule {day}", project="quay", event_time=NOW.replace(day=day)) for day in (1, 3, 2)
    ]
    accept(catalog, *items, make("far", "a rule", project="isle"), proposed=("n1", "n2", "n3", "far"))
    assert catalog.approvals.count_waiting() == (4, 0)
    assert catalog.approvals.count_waiting(["quay"]) == (3, 0)
    found = catalog.approvals.memories(Approval.PROPOSED, ["quay"], limit=2)
    assert [memory.uri for memory in found] == ["n3", "n2"]


def test_nothing_that_waits_or_was_rejected_is_promoted(catalog, make):
    memory, chunks = make("one", "a rule of the quay", project="quay", protected=True)
    accept(catalog, (memory, chunks), proposed=("one",))

    def promoted():
        return promoted_ids(catalog.database, projects=["quay"], sources=["notes"], sessions=3)

    assert promoted() == []
    catalog.lives.set_approval([memory.id], Approval.REJECTED, now=NOW)
    assert promoted() == []
    catalog.approvals.accept_by_hand([memory.id], now=NOW)
    assert promoted() == [memory.id]


def test_a_draft_is_new_once_and_its_text_changes_only_while_it_waits(catalog):
    assert catalog.approvals.add_skills([DRAFT]) == 1
    assert catalog.approvals.add_skills([replace(DRAFT, content="# more")]) == 0
    [found] = catalog.approvals.skills(Approval.PROPOSED, ["quay"])
    assert found == replace(DRAFT, content="# more")
    catalog.approvals.set_skill(DRAFT.id, Approval.REJECTED)
    assert catalog.approvals.add_skills([DRAFT]) == 0
    [found] = catalog.approvals.skills()
    assert (found.content, found.approval) == ("# more", Approval.REJECTED)
    assert catalog.approvals.count_waiting() == (0, 0)
    assert catalog.approvals.skills(Approval.PROPOSED) == []
