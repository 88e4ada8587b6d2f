import itertools
from datetime import UTC, datetime, timedelta

import pytest
from canonical_state import canonical_bytes
from hypothesis import given
from hypothesis import strategies as st

from ragmem.domain.sharing.record import (
    OpaqueRecord,
    SharedMemory,
    Supersession,
    Withdrawal,
    encode,
    record_id,
)
from ragmem.domain.sharing.state import (
    ConflictReason,
    Statement,
    Verdict,
    fold,
    title_key,
)

AT = datetime(2026, 3, 1, tzinfo=UTC)
AUTHORS = ("ann", "bob", "cy")


def said(record, verdict=Verdict.UNSIGNED, member=""):
    return Statement(record_id(encode(record)), record, member or record.author, verdict)


def memory(author, text, *, title="", supersedes=(), kind="decision", verdict=Verdict.UNSIGNED):
    ids = tuple(one.id for one in supersedes)
    record = SharedMemory(author, AT, AT, title, text, supersedes=ids, record_type=kind)
    return said(record, verdict)


def withdrawal(author, target, verdict=Verdict.UNSIGNED):
    return said(Withdrawal(author, AT, target.id), verdict)


def supersession(author, older, newer, verdict=Verdict.VERIFIED):
    return said(Supersession(author, AT, older.id, newer.id), verdict)


@st.composite
def histories(draw):
    """Draw what three members may say: memories, withdrawals, supersessions and forgeries."""
    found = []
    for number in range(draw(st.integers(1, 7))):
        author = draw(st.sampled_from(AUTHORS))
        older = draw(st.lists(st.sampled_from(found), max_size=2)) if found else []
        title = draw(st.sampled_from(["", "Queue size", "queue  SIZE!", "Retry rule"]))
        one = memory(author, f"text {draw(st.integers(0, 2))} {number}", title=title, supersedes=older)
        found.append(one)
    for _ in range(draw(st.integers(0, 8))):
        author = draw(st.sampled_from(AUTHORS))
        first, second = draw(st.sampled_from(found)), draw(st.sampled_from(found))
        if first.id == second.id or draw(st.booleans()):
            record = Withdrawal(author, AT, first.id)
        else:
            record = Supersession(author, AT + timedelta(days=draw(st.integers(-9, 9))), first.id, second.id)
        found.append(said(record))
    return [
        Statement(
            one.id,
            one.record,
            draw(st.sampled_from([one.member] * 9 + list(AUTHORS))),
            draw(st.sampled_from(Verdict)),
        )
        for one in found
    ]


@given(histories(), st.randoms(), st.data())
def test_any_order_repetition_and_grouping_gives_the_same_bytes(statements, random, data):
    whole = fold(statements)
    shuffled = statements * data.draw(st.integers(1, 3))
    random.shuffle(shuffled)
    # What two machines have is put together, whichever way it was divided.
    place = data.draw(st.integers(0, len(shuffled)))
    joined = [*shuffled[place:], *shuffled[:place], *shuffled[: place // 2]]

    assert canonical_bytes(fold(shuffled)) == canonical_bytes(whole)
    assert canonical_bytes(fold(joined)) == canonical_bytes(whole)
    assert fold(joined) == whole


@given(histories())
def test_nothing_is_lost_but_what_its_author_withdrew(statements):
    state = fold(statements)

    genuine = [
        one for one in statements if one.verdict is not Verdict.FORGED and one.member == one.record.author
    ]
    by_id = {one.id: one.record for one in genuine}
    for key, record in by_id.items():
        if isinstance(record, SharedMemory):
            assert (key in state.visible) != (key in state.withdrawn)
    for key, withdrawals in state.withdrawn.items():
        assert {by_id[one].author for one in withdrawals} == {by_id[key].author}
    for conflict in state.conflicts:
        assert len(conflict.authors) > 1
        assert set(conflict.memories) <= state.visible.keys()
    # What supersedes is there to be read, and nothing supersedes itself in the end.
    assert {one for newer in state.superseded.values() for one in newer} <= state.visible.keys()
    for key in state.superseded:
        reached, waiting = set(), [key]
        while waiting:
            for newer in state.superseded.get(waiting.pop(), ()):
                if newer not in reached:
                    reached.add(newer)
                    waiting.append(newer)
        assert key not in reached


def test_a_withdrawal_counts_from_its_author_only():
    kept = memory("ann", "We bound the queue.")

    assert fold([kept, withdrawal("bob", kept)]).visible.keys() == {kept.id}
    assert fold([withdrawal("ann", kept)]).withdrawn == {}
    state = fold([withdrawal("ann", kept), kept])
    assert not state.visible
    assert list(state.withdrawn) == [kept.id]


def test_an_unsigned_withdrawal_of_a_signed_memory_waits_to_be_accepted():
    kept = memory("ann", "We bound the queue.", verdict=Verdict.VERIFIED)
    for verdict in (Verdict.UNSIGNED, Verdict.UNKNOWN):
        taken = withdrawal("ann", kept, verdict)

        state = fold([kept, taken])
        assert (list(state.visible), state.pending) == ([kept.id], (taken.id,))
        assert not fold([kept, taken], accepted={taken.id}).visible
    assert not fold([kept, withdrawal("ann", kept, Verdict.VERIFIED)]).visible


def test_a_withdrawn_supersession_is_undone():
    old, new = memory("ann", "We use SQLite."), memory("bob", "We use PostgreSQL.")
    replaces = supersession("bob", old, new)

    assert fold([old, new, replaces]).superseded == {old.id: (new.id,)}
    taken = withdrawal("bob", replaces, Verdict.VERIFIED)
    assert fold([old, new, replaces, taken]).superseded == {}


def test_a_withdrawal_cannot_be_withdrawn():
    kept = memory("ann", "We bound the queue.")
    taken = withdrawal("ann", kept)

    assert not fold([kept, taken, withdrawal("ann", taken)]).visible


def test_an_unsigned_supersession_of_another_waits_to_be_accepted():
    old = memory("ann", "We use SQLite.")
    new = memory("bob", "We use PostgreSQL.", supersedes=[old])

    state = fold([old, new])
    assert (state.superseded, state.pending) == ({}, (new.id,))
    assert fold([old, new], accepted={new.id}).superseded == {old.id: (new.id,)}
    own = memory("ann", "We use PostgreSQL now.", supersedes=[old])
    assert fold([old, own]).superseded == {old.id: (own.id,)}


def test_the_older_memory_stays_readable_and_comes_back_if_the_newer_is_withdrawn():
    old = memory("ann", "We use SQLite.")
    new = memory("ann", "We use PostgreSQL.", supersedes=[old])

    assert fold([old, new]).visible.keys() == {old.id, new.id}
    assert fold([old, new, withdrawal("ann", new)]).superseded == {}


def test_forged_records_are_kept_out():
    real = memory("ann", "We bound the queue.")
    as_ann = Statement(real.id, real.record, "bob")
    bad = memory("cy", "Pay cy.", verdict=Verdict.FORGED)

    assert not fold([as_ann, bad]).visible
    # A copy in another history does not spoil the real one.
    assert fold([as_ann, real]).visible.keys() == {real.id}


def test_the_best_verdict_of_a_record_counts():
    real = memory("ann", "We bound the queue.")
    seen = [Statement(real.id, real.record, "ann", verdict) for verdict in Verdict]

    for order in itertools.permutations(seen):
        assert fold(order).verdicts == {real.id: Verdict.VERIFIED}


def test_a_record_of_a_later_version_has_a_verdict_and_no_effect():
    data = {"at": "2026-03-01T00:00:00.000000Z", "author": "ann", "type": "vote", "v": 1}
    vote = said(OpaqueRecord("ann", AT, "vote", data))

    state = fold([vote])
    assert (state.visible, list(state.verdicts)) == ({}, [vote.id])


def test_two_members_who_replace_the_same_memory_are_in_conflict_until_one_replaces_the_other():
    old = memory("ann", "We use SQLite.")
    here = memory("ann", "We use PostgreSQL.", supersedes=[old])
    there = memory("bob", "We use DuckDB.", supersedes=[old], verdict=Verdict.VERIFIED)

    (conflict,) = fold([old, here, there]).conflicts
    assert conflict.reason is ConflictReason.SAME_OLDER
    assert conflict.memories == tuple(sorted([here.id, there.id]))
    assert conflict.authors == ("ann", "bob")
    # One goes on without the other: it is still a conflict, now with the newest of each.
    later = memory("ann", "We use PostgreSQL 18.", supersedes=[here])
    assert fold([old, here, there, later]).conflicts[0].memories == tuple(sorted([later.id, there.id]))
    assert not fold([old, here, there, supersession("cy", here, there)]).conflicts
    assert not fold([old, here, there, withdrawal("bob", there, Verdict.VERIFIED)]).conflicts
    # What they both replaced does not matter any more, but they still differ.
    assert fold([old, here, there, withdrawal("ann", old)]).conflicts


def test_two_decisions_with_one_title_are_in_conflict_if_their_texts_differ():
    here = memory("ann", "At most 700 entries.", title="Size of the queue")
    there = memory("bob", "At most 900 entries.", title="size of the   QUEUE.")

    (conflict,) = fold([here, there]).conflicts
    assert conflict.reason is ConflictReason.SAME_TITLE
    assert not fold([here, there, supersession("bob", here, there)]).conflicts
    for other in (
        memory("bob", "At most  700\nentries.", title="Size of the queue"),
        memory("ann", "At most 900 entries.", title="Size of the queue"),
        memory("bob", "At most 900 entries.", title="Size of the stack"),
        memory("bob", "At most 900 entries.", title="Size of the queue", kind="note"),
    ):
        assert not fold([here, other]).conflicts


def test_members_who_replace_each_other_in_a_circle_are_in_conflict_and_both_stay():
    here, there = memory("ann", "Tabs."), memory("bob", "Spaces.")
    circle = [supersession("ann", there, here), supersession("bob", here, there)]

    state = fold([here, there, *circle])
    assert state.superseded == {}
    assert [one.reason for one in state.conflicts] == [ConflictReason.CIRCLE]
    assert state.visible.keys() == {here.id, there.id}


@pytest.mark.parametrize(
    ("title", "key"),
    [
        ("Size of the Queue!", "size of the queue"),
        ("  size_of  the-queue", "size of the queue"),
        ("Decisions", ""),
        ("", ""),
        ("\u2026 \u2014", ""),
        ("\u7aef\u53e3", "\u7aef \u53e3"),
        ("\uff33ize o\u0301f", "size \u00f3f"),
    ],
)
def test_titles_are_compared_by_their_words(title, key):
    assert title_key(title) == key


def test_a_long_chain_of_a_hostile_member_is_folded_quickly():
    chain = [memory("eve", "0")]
    for number in range(1, 6000):
        chain.append(memory("eve", str(number), supersedes=chain[-1:]))
    loops = [supersession("eve", chain[number], chain[number - 1]) for number in range(1, 6000)]

    assert len(fold(chain).superseded) == 5999
    assert fold([*chain, *loops]).superseded == {}
