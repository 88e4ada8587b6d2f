"""Ageing: isolation and the judge decide, newer memories of the same project count, protection holds."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragmem.domain.lifecycle.ageing import age, ages_of
from ragmem.domain.model import Memory, Scope, State, content_hash
from ragmem.domain.model.document_place import place_metadata
from ragmem.domain.model.lifecycle import Entry, LifecyclePolicy, LifecycleState

START = datetime(2026, 1, 1, tzinfo=UTC)
POLICY = LifecyclePolicy(age_after=5)
FACT = "The importer skips rows whose key is empty instead of failing, so the counts differ."
CHATTER = "Perfect! Now let me check the output:"
"""Worthless to the judge."""


def entry(number, text=FACT, *, project="p", at=None, protected=False, metadata=None, **more):
    """Return an entry; a higher number is newer unless `at` says otherwise."""
    moment = START + timedelta(hours=number if at is None else at)
    memory = Memory(
        id=f"{project}{number:04d}",
        source="notes",
        uri=str(number),
        text=text,
        title="",
        event_time=moment,
        created_at=START,
        updated_at=START,
        content_hash=content_hash(text),
        scope=Scope(project),
        protected=protected,
        metadata=metadata or {},
    )
    return Entry(memory, number, **more)


def newer(count, *, project="p"):
    """Return so many entries that came after those of tests."""
    return [entry(100 + number, project=project) for number in range(count)]


def decided(first, count=5, *, degree=None, policy=POLICY, last_copies=()):
    """Return what is decided of an entry with so many newer ones."""
    return age([first, *newer(count)], degree or {}, policy, last_copies=last_copies)[0]


def test_age_counts_the_newer_memories_of_the_same_project_by_event_time_and_not_by_entry():
    late = entry(9, at=0)
    same = [entry(1, at=3), entry(2, at=3)]
    ages = ages_of([late, *same, entry(5, project="other")])
    assert [ages[one.id] for one in (late, *same)] == [2, 1, 0]
    assert ages["other0005"] == 0


def told(number, session, *, project="p", **more):
    """Return an entry that is an exchange of a session."""
    made = entry(number, project=project, metadata={"session": session}, **more)
    return replace(made, memory=replace(made.memory, source="transcripts"))


def test_the_exchanges_of_a_session_count_as_one_and_for_each_other_as_none():
    note, between, after = entry(0), entry(20), entry(50)
    first = [told(number, "first") for number in (1, 2, 3, 40)]
    second = [told(number, "second") for number in (30, 31)]
    ages = ages_of([note, between, after, *first, *second])
    assert ages[note.id] == 4
    assert [ages[one.id] for one in first] == [3, 3, 3, 1]
    assert [ages[one.id] for one in second] == [2, 2]
    assert (ages[between.id], ages[after.id]) == (3, 0)


def test_an_isolated_note_is_as_young_as_before_when_a_long_session_is_read():
    long = [told(number, "long") for number in range(1, 5001)]
    assert age([entry(0, CHATTER), *long], {}, POLICY)[0].rule == "young"


def test_a_session_that_is_only_named_beside_a_text_counts_each_text():
    said = [entry(number, metadata={"session": "one"}) for number in (1, 2)]
    assert ages_of([entry(0), *said])["p0000"] == 2


def test_a_young_memory_is_not_looked_at():
    made = decided(entry(0, CHATTER), 4)
    assert (made.action, made.rule) == ("keep", "young")
    assert made.reason == "4 newer in its project, examined at 5"


def test_an_isolated_and_worthless_memory_is_archived_and_a_connected_one_is_not():
    chatter = entry(0, CHATTER)
    assert decided(chatter).action == "archive"
    kept = decided(chatter, degree={chatter.id: 1})
    assert (kept.action, kept.rule, kept.reason) == ("keep", "connected", "connected with 1 memory")


@pytest.mark.parametrize(
    ("more", "rule"),
    [
        ({"pinned": True}, "pinned"),
        ({"curated": True, "life": LifecycleState.PROVEN}, "curated"),
        ({"life": LifecycleState.PROVEN}, "proven"),
        ({"life": LifecycleState.PERMANENT}, "permanent"),
        ({"protected": True}, "protected"),
        ({"metadata": {"type": "decision"}}, "protected"),
        ({"metadata": {"type": "user"}}, "protected"),
        ({"sessions": 1}, "recalled"),
    ],
)
def test_what_stands_by_a_rule_is_kept_though_isolated_and_worthless(more, rule):
    made = decided(entry(0, CHATTER, **more), 500)
    assert (made.action, made.rule) == ("keep", rule)


def test_what_is_not_worthless_earns_three_reprieves_and_is_then_kept_for_good():
    one = entry(0)
    seen = []
    for count in range(60):
        made = decided(one, count)
        if made.action == "reprieve":
            assert made.age == count
            one = replace(one, reprieves=one.reprieves + 1, checked_age=made.age)
        if made.action != "keep":
            seen.append((count, made.action))
        if made.action == "promote":
            assert (made.rule, made.life) == ("diamond", LifecycleState.PERMANENT)
            break
    assert seen == [(5, "reprieve"), (10, "reprieve"), (15, "reprieve"), (20, "promote")]


def test_the_check_is_made_anew_each_time():
    reprieved = entry(0, CHATTER, reprieves=1, checked_age=5)
    assert decided(reprieved, 9).action == "keep"
    assert (decided(reprieved, 10).action, decided(reprieved, 10).rule) == ("archive", "cold")


def test_each_bad_rating_takes_a_reprieve_and_what_is_rated_badly_never_becomes_permanent():
    assert decided(entry(0, feedback=-1)).reason.endswith("reprieve 1 of 2")
    last = decided(entry(0, feedback=-1, reprieves=2, checked_age=5), 10)
    assert (last.action, last.rule) == ("archive", "bad-feedback")
    assert decided(entry(0, feedback=-3)).action == "archive"


def test_a_memory_recalled_in_enough_sessions_is_proven_at_any_age():
    made = decided(entry(0, CHATTER, sessions=3), 0)
    assert (made.action, made.rule, made.life) == ("promote", "recalled", LifecycleState.PROVEN)
    assert decided(entry(0, sessions=3, feedback=-1), 0).action == "keep"


def test_a_memory_rated_good_is_proven_at_any_age():
    made = decided(entry(0, CHATTER, feedback=1), 0)
    assert (made.action, made.rule, made.life) == ("promote", "rated", LifecycleState.PROVEN)


@pytest.mark.parametrize(
    ("more", "promoted"),
    [
        ({}, False),
        ({"sessions": 2}, False),
        ({"sessions": 3}, True),
        ({"sessions": 3, "feedback": -1}, False),
        ({"feedback": 1}, True),
        ({"pinned": True}, True),
        ({"curated": True}, True),
        # No state that gc gives, and no text that was made of others, promotes.
        ({"life": LifecycleState.PERMANENT}, False),
        ({"metadata": {"merged_from": "p0001 p0002 p0003", "merged": "3"}}, False),
    ],
)
def test_promoted_is_what_people_or_three_sessions_confirm(more, promoted):
    assert entry(0, **more).is_promoted(POLICY) == promoted


def test_what_is_kept_out_of_answers_neither_ages_nor_makes_others_old():
    faint = [replace(one, memory=replace(one.memory, state=State.BUFFERED)) for one in newer(9)]
    chatter = entry(0, CHATTER)
    assert age([chatter, *faint], {}, POLICY)[0].rule == "young"
    cold = replace(chatter, memory=replace(chatter.memory, state=State.BUFFERED))
    assert (decided(cold).action, decided(cold).rule) == ("keep", "faint")


def test_the_last_copy_of_a_template_stays_however_old_and_lone_it_is():
    line = entry(0, CHATTER)
    assert decided(line).action == "archive"
    made = decided(line, 99, last_copies={line.id})
    assert (made.action, made.rule) == ("keep", "last copy")


def test_a_page_of_a_document_stays_though_it_is_alone_and_says_nothing():
    page = entry(0, CHATTER)
    place = place_metadata("report.pdf", "page=3", "page 3")
    made = decided(replace(page, memory=replace(page.memory, metadata=place)))
    assert (made.action, made.rule) == ("keep", "document")


def test_what_was_superseded_is_kept_as_the_history_of_what_took_its_place():
    made = decided(entry(0, superseded_by="p0100"))
    assert (made.action, made.rule, made.reason) == ("keep", "superseded", "the history of p0100")


ENTRIES = st.builds(
    lambda number, text, project, flags, counts: entry(
        number,
        text,
        project=project,
        protected=flags[0],
        pinned=flags[1],
        reprieves=counts[0],
        checked_age=counts[1],
        sessions=counts[2],
        feedback=counts[3],
    ),
    st.integers(0, 99),
    st.sampled_from([FACT, CHATTER]),
    st.sampled_from(["p", "q"]),
    st.tuples(st.booleans(), st.booleans()),
    st.tuples(st.integers(0, 4), st.integers(0, 40), st.integers(0, 4), st.integers(-3, 3)),
)
MANY = st.lists(ENTRIES, max_size=25, unique_by=lambda one: one.id)


@settings(max_examples=50, deadline=None)
@given(MANY, st.integers(1, 10))
def test_nothing_protected_is_ever_archived(entries, after):
    policy = LifecyclePolicy(age_after=after)
    made = age(entries, {}, policy)
    assert [decision.id for decision in made] == [one.id for one in entries]
    for one, decision in zip(entries, made, strict=True):
        assert not (one.is_protected and decision.action in {"archive", "reprieve"})


@settings(max_examples=50, deadline=None)
@given(MANY, st.integers(0, 60))
def test_what_is_written_in_another_project_changes_nothing(entries, written):
    before = age(entries, {}, POLICY)
    after = age([*entries, *newer(written, project="elsewhere")], {}, POLICY)
    assert after[: len(entries)] == before


@settings(max_examples=50, deadline=None)
@given(MANY, st.integers(0, 60))
def test_more_newer_memories_never_make_one_younger_nor_bring_it_back(entries, written):
    before = age(entries, {}, POLICY)
    after = age([*entries, *newer(written)], {}, POLICY)
    for earlier, later in zip(before, after, strict=False):
        assert later.age >= earlier.age
        if earlier.action != "keep":
            assert later.action == earlier.action


@settings(max_examples=50, deadline=None)
@given(MANY)
def test_a_second_check_without_new_memories_reprieves_nothing(entries):
    def checked(one, decision):
        if decision.action != "reprieve":
            return one
        return replace(one, reprieves=one.reprieves + 1, checked_age=decision.age)

    first = age(entries, {}, POLICY)
    again = age([checked(*pair) for pair in zip(entries, first, strict=True)], {}, POLICY)
    for earlier, later in zip(first, again, strict=True):
        assert later.action == ("keep" if earlier.action == "reprieve" else earlier.action)
