"""Conflicts are found among the records that can be in one, and are those of all records."""

from datetime import UTC, datetime
from random import Random

import pytest

from ragmem.api.memory import Ragmem
from ragmem.domain.model.lifecycle import Approval
from ragmem.domain.sharing import state
from ragmem.domain.sharing.record import SharedMemory, Supersession, Withdrawal, encode, record_id
from ragmem.domain.sharing.state import Statement, Verdict
from ragmem.services.sharing import review
from ragmem.services.sharing.review import list_conflicts
from ragmem.storage.sharing.shared_records import (
    MEMORY,
    SUPERSESSION,
    WITHDRAWAL,
    SharedRecord,
    ShareMember,
    record_of,
)

AT = datetime(2026, 3, 1, tzinfo=UTC)
PROJECT = "p"
FAKE = {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake"}


@pytest.fixture
def catalog(tmp_path):
    with Ragmem.open(environ={"RAGMEM_HOME": str(tmp_path / "ragmem"), **FAKE}, home=tmp_path) as memory:
        memory.prepare()
        yield memory.catalog


def row_of(record, kind=MEMORY, **fields):
    encoded = encode(record)
    key = record_id(encoded)
    return SharedRecord(PROJECT, key, record.author, kind, encoded.decode(), "unsigned", AT, **fields)


def said(author, title, text="", *, supersedes=()):
    text = text or f"{author} says so."
    return SharedMemory(author, AT, AT, title, text, record_type="decision", supersedes=tuple(supersedes))


def random_rows(seed):
    """Return records of four members with few titles, which replace and withdraw each other's."""
    random = Random(seed)
    rows = []
    for number in range(40):
        author, approval = random.choice("abcd"), random.choice(list(Approval))
        verdict = random.choice(list(Verdict)).value
        known = [one for one in rows if one.kind == MEMORY]
        if len(known) < 5 or random.random() < 0.7:
            older = sorted(
                random.sample([one.id for one in known], min(len(known), random.choice((0, 0, 2))))
            )
            title = random.choice(("", "One", "The queue broker", "Which log level", f"Title of {number}"))
            row = row_of(said(author, title, f"Text {number}.", supersedes=older))
        elif random.random() < 0.5:
            row = row_of(Withdrawal(author, AT, random.choice(known).id), WITHDRAWAL)
        else:
            older, newer = (one.id for one in random.sample(known, 2))
            row = row_of(Supersession(author, AT, older, newer), SUPERSESSION)
        rows.append(
            SharedRecord(*(PROJECT, row.id, row.member, row.kind, row.body, verdict, AT), approval=approval)
        )
    return rows


def test_they_are_those_that_all_records_have(catalog):
    found = 0
    for seed in range(30):
        rows = random_rows(seed)
        with catalog.database.write() as connection:
            connection.execute("DELETE FROM shared_records")
        catalog.shared.add(rows)
        kept = {row.id: row for row in rows if row.approval is not Approval.REJECTED}
        accepted = {key for key, row in kept.items() if row.approval is Approval.ACCEPTED}
        every = (
            Statement(key, record_of(row), row.member, Verdict(row.verdict)) for key, row in kept.items()
        )
        expected = [(str(one.reason), one.memories) for one in state.fold(every, accepted=accepted).conflicts]
        assert [
            (one.reason, tuple(item.id for item in one.memories)) for one in list_conflicts(catalog, PROJECT)
        ] == expected
        found += len(expected)
    assert found > 30


def test_memories_that_nothing_joins_are_not_parsed(catalog, monkeypatch):
    pair = [row_of(said(author, "The queue broker")) for author in "ab"]
    alone = [row_of(said("a", f"Decision on matter {number}")) for number in range(10)]
    alone += [row_of(said("a", "The same title", f"Text {number}.")) for number in range(3)]
    catalog.shared.add([*pair, *alone])
    parsed = []
    monkeypatch.setattr(review, "record_of", lambda row: parsed.append(row.id) or record_of(row))
    (conflict,) = list_conflicts(catalog, PROJECT)
    assert {one.id for one in conflict.memories} == {row.id for row in pair} == set(parsed)


def test_a_muted_member_and_a_broken_body_are_in_no_conflict(catalog):
    rows = [row_of(said(author, "The queue broker")) for author in "abc"]
    broken = row_of(said("d", "The queue broker"))
    catalog.shared.add(rows)
    catalog.shared.add([SharedRecord(*(PROJECT, broken.id, "d", MEMORY, '{"title":', "unsigned", AT))])
    catalog.shared.put_member(PROJECT, ShareMember("c", (), True))
    (conflict,) = list_conflicts(catalog, PROJECT)
    assert {one.row.member for one in conflict.memories} == {"a", "b"}
