"""Shared records, members and heads in each database."""

from dataclasses import replace
from datetime import UTC, datetime

from ragmem.domain.model import digest
from ragmem.domain.model.lifecycle import Approval
from ragmem.domain.sharing.record import SharedMemory, encode, record_id
from ragmem.storage.memories.project_joins import adopt
from ragmem.storage.sharing.shared_records import SharedRecord, ShareMember, record_of

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def row(text="We decided.", member="ada", **fields):
    encoded = encode(SharedMemory(member, NOW, NOW, "Queue", text))
    made = SharedRecord("p", record_id(encoded), member, "memory", encoded.decode(), "unsigned", NOW)
    return replace(made, **fields)


def test_a_record_is_stored_once_and_found_by_all_that_names_it(catalog):
    shared, one = catalog.shared, row(memory="abcdef234567")
    shared.add([one, one])
    shared.add([replace(one, verdict="verified")])
    assert shared.get("p", [one.id]) == {one.id: one}
    assert list(shared.each("p")) == [one]
    assert shared.of_memories(["abcdef234567"]) == {"abcdef234567": [one]}
    assert shared.with_prefix("p", one.id[:6]) == shared.with_prefix("p", "abcd") == [one]
    assert shared.known("p", [one.id, "x"]) == {one.id: "unsigned"}
    assert shared.get("other", [one.id]) == {}


def test_a_withdrawn_text_is_gone_and_a_changed_one_is_noticed(catalog):
    shared, one, other = catalog.shared, row(), row("We agreed.")
    shared.add([one, other])
    assert shared.changed_bodies("p", "ada") == []
    shared.withdraw([one])
    kept = shared.get("p", [one.id])[one.id]
    assert kept.withdrawn
    assert "We decided" not in kept.body
    assert record_of(kept).author == "ada"
    with catalog.database.write() as connection:
        connection.execute("UPDATE shared_records SET body = replace(body, 'agreed', '[redacted]')")
    assert [one.id for one in shared.changed_bodies("p", "ada")] == [other.id]


def test_counts_members_heads_and_links(catalog):
    shared = catalog.shared
    one, two = row(approval=Approval.PROPOSED), row("We agreed.", member="bob", verdict="verified")
    shared.add([one, two])
    shared.put_member("p", ShareMember("bob", ("key",), muted=True))
    shared.set_head("p", "bob", "c0ffee", now=NOW)
    shared.set_head("p", "bob", "c1ffee", now=NOW)
    shared.add_supersessions("p", [(one.id, two.id, two.id)] * 2)
    assert shared.members("p") == {"bob": ShareMember("bob", ("key",), muted=True)}
    assert shared.heads("p") == {"bob": "c1ffee"}
    assert [(a.member, a.waiting, a.unsigned, a.muted) for a in shared.counts("p")] == [
        ("ada", 1, 1, False),
        ("bob", 0, 0, True),
    ]
    assert shared.supersessions_of("p", [one.id]) == [(one.id, two.id, two.id)]
    assert shared.named_ids("p", [one.id]) == {one.id}
    assert shared.statements("p", [one.id, two.id]) == {two.id}
    assert shared.waiting("p", approval=Approval.PROPOSED, limit=5) == [one]


def test_a_project_that_is_joined_with_another_takes_what_was_shared_along(catalog):
    shared, one = catalog.shared, row()
    shared.add([one, replace(one, project="q"), row("We agreed.", project="q")])
    adopt(catalog.database, "q", "p")
    assert len(list(shared.each("p"))) == 2
    assert list(shared.each("q")) == []


def test_the_hash_of_a_body_is_of_what_is_stored(catalog):
    one = row()
    catalog.shared.add([one])
    (hashed,) = catalog.database.select_row("SELECT body_hash FROM shared_records")
    assert hashed == digest("body", one.body)
