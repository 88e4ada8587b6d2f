"""What makes an older memory untrue, and the many things that only look like it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragmem.domain.lifecycle.changes import MAX_WORDS, changes, reason_of
from ragmem.domain.model import Memory, Scope, State, content_hash
from ragmem.domain.model.document_place import place_metadata
from ragmem.domain.model.lifecycle import Connection, Entry
from ragmem.domain.model.supersession import PERHAPS_OUTDATED, RESTATED
from ragmem.domain.secrets.redaction import DEFAULT

START = datetime(2026, 1, 1, tzinfo=UTC)
OLD = "The tide import gives up on a station after 3 attempts."
NEW = "The tide import gives up on a station after 5 attempts."
OTHERS = (
    "The harbour crane needs an inspection each spring.",
    "Invoices are rounded to cents at the very end.",
    "The kiln burns gas, since wood was too slow to heat.",
    "Bees are counted by a camera above the hive entrance.",
)


def entry(key: str, text: str, *, day: float = 0, project: str = "p", **metadata: str) -> Entry:
    moment = START + timedelta(days=day)
    memory = Memory(
        id=key,
        source="notes",
        uri=f"/n/{key}.md",
        text=text,
        title="",
        event_time=moment,
        created_at=moment,
        updated_at=moment,
        content_hash=content_hash(text),
        scope=Scope(project),
        metadata=metadata,
    )
    return Entry(memory, 0)


def found(older: str, newer: str) -> list[tuple[str, str, str]]:
    """Return what is found among two memories and some of other matters."""
    around = [entry(f"x{n}", text, day=n) for n, text in enumerate(OTHERS)]
    pair = [entry("old", older, day=10), entry("new", newer, day=20)]
    return [(one.older, one.newer, one.rule) for one in changes([*around, *pair])]


@pytest.mark.parametrize(
    ("older", "newer", "rule"),
    [
        (OLD, NEW, RESTATED),
        (OLD, f"# Tides\n\n{NEW} The station of the lighthouse was slow in winter.", RESTATED),
        ("The retry budget is 3 attempts.", "The retry budget is 5 attempts.", PERHAPS_OUTDATED),
        (
            "Crew lists are sorted by name.",
            "Crew lists are now sorted by boat, since names repeat.",
            PERHAPS_OUTDATED,
        ),
    ],
)
def test_a_change_hides_only_where_it_is_certain_and_marks_where_it_is_likely(older, newer, rule):
    assert found(older, newer) == [("old", "new", rule)]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        # another attribute of the same subject
        ("The ferry has 12 life rafts.", "The ferry has a new captain since May."),
        # a consequence
        ("Charts are cached for a week.", "A wrong chart stayed visible for days, since charts are cached."),
        # a plan, and its fulfilment
        ("Plan: cache the charts on the tablet.", "The tablet caches the charts now."),
        # the fields of notes without a text
        (
            "---\nid: 8xsnv34\ntitle: Spell checker\nupdated: 1648248259186\nurl: https://ferry.example/a\n---",
            "---\nid: x3c1ni2\ntitle: Excalidraw\nupdated: 1648248425145\nurl: https://ferry.example/b\n---",
        ),
        (
            ":PROPERTIES:\n:ID: d22cbf\n:ROAM_ALIASES: RPD\n:END:\n#+title: Decision making model",
            ":PROPERTIES:\n:ID: d50e1c\n:ROAM_ALIASES: CTI\n:END:\n#+title: Cyber threat intelligence",
        ),
        # an error that was fixed stays true as history
        (
            "The export crashed on an empty logbook.",
            "Fixed the export: an empty logbook gives an empty file.",
        ),
        # an intention is no change yet
        ("The sail plan is drawn by hand.", "Decided to replace the sail plan that is drawn by hand."),
        # the same of another thing
        ("Server frames are never masked.", "Client frames are always masked."),
        ("auth-service listens on port 8080", "billing-service listens on port 8081"),
        # an addition
        ("The harbour master now checks moorings.", "The harbour master now checks moorings at dusk."),
        # what accompanies work
        ("Let me check the depth alarm of the ferry.", "The user is asking about the depth alarm now."),
        # a command, and another one
        (
            "```bash\ncd /srv/ferry && uv run moor | tail -20\n```",
            "```bash\ncd /srv/ferry && uv run moor | tail -10\n```",
        ),
    ],
)
def test_what_only_looks_like_a_change_is_none(older, newer):
    assert found(older, newer) == []


def test_texts_below_headings_that_each_name_something_else_hold_both():
    below = f"# Tide import\n\n{OLD}"
    assert found(below, f"# The new tide import\n\n{NEW}") == [("old", "new", PERHAPS_OUTDATED)]
    assert found(below, f"# Tide import 2\n\n{NEW}") == [("old", "new", RESTATED)]
    assert found(below, f"# Tide export\n\n{NEW}") == []
    assert found(f"# Tide.js import\n\n{OLD}", f"# Import of the moon\n\n{NEW}") == []


def test_items_of_a_list_that_read_alike_never_hide_each_other_and_many_are_not_even_marked():
    texts = [OLD.replace("3", str(number)) for number in (3, 5, 7, 9)]
    entries = [entry(f"m{day}", text, day=day) for day, text in enumerate(texts)]
    assert {one.rule for one in changes(entries[:3])} == {PERHAPS_OUTDATED}
    assert changes(entries) == []


def test_what_stands_in_one_file_or_document_holds_together():
    pages = [entry(key, text, day=day) for day, (key, text) in enumerate((("old", OLD), ("new", NEW)))]
    for uris, metadata in (
        (("/n/tides.md#first", "/n/tides.md#second"), {}),
        (("/n/a.pdf#page=1", "/n/b.pdf#page=1"), place_metadata("a.pdf", "page=1", "page 1")),
    ):
        placed = [
            replace(one, memory=replace(one.memory, uri=uri, metadata=metadata))
            for one, uri in zip(pages, uris, strict=True)
        ]
        assert changes(placed) == []


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("minutes/2026-01-11.md", "minutes/2026-01-21.md"),
        ("journals/2026_01_11.md", "pages/Tide import.md"),
        ("Daily/03-01-2026.md", "Daily/Mai/21-01-2026.md"),
        ("11-01-2026 Tech weekly.md", "21-01-2026 Tech weekly.md"),
        ("sam.journal.2026.01.11.md", "sam.journal.2026.01.21.md"),
        ("standup-20260111.md", "standup-20260121.md"),
    ],
)
def test_what_was_so_on_a_day_stays_so(older, newer):
    assert named(older, newer) == []


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("2026-01-11-tide-import.md", "2026-01-21-station-attempts.md"),
        ("tides-2026-01.md", "tides-2026-02.md"),
        ("tides.md", "2026-01-21.md"),
        ("tides-1.2026.01.md", "tides-1.2026.02.md"),
    ],
)
def test_a_file_with_a_name_of_its_own_gives_way_whatever_day_it_has(older, newer):
    assert named(older, newer) == ["old"]


def named(older: str, newer: str) -> list[str]:
    """Return the memories that give way if what changed stands in files of these names."""
    pair = [(entry("old", OLD, day=10), older), (entry("new", NEW, day=20), newer)]
    return [
        one.older
        for one in changes([replace(one, memory=replace(one.memory, uri=f"/n/{uri}")) for one, uri in pair])
    ]


def test_what_is_not_in_sight_itself_hides_nothing():
    older, newer = entry("old", OLD, day=1), entry("new", NEW, day=2)
    cold = replace(newer, memory=replace(newer.memory, state=State.BUFFERED))
    assert len(changes([older, newer])) == 1
    assert changes([older, cold]) == []


def test_a_further_change_is_found_once_the_former_one_is_recorded():
    texts = [OLD.replace("3", str(number)) for number in (3, 5, 7)]
    first, second, third = (entry(f"m{day}", text, day=day) for day, text in enumerate(texts))
    later = changes([replace(first, superseded_by="m1"), second, third])
    assert [(one.older, one.newer, one.rule) for one in later] == [("m1", "m2", RESTATED)]


def test_an_exchange_of_a_transcript_stays_as_it_was():
    older, newer = entry("old", OLD, day=10), entry("new", NEW, day=20)
    exchange = replace(older, memory=replace(older.memory, source="transcripts"))
    assert [one.older for one in changes([older, newer])] == ["old"]
    assert changes([exchange, newer]) == []


def test_the_older_one_never_replaces_the_newer_one():
    (change,) = changes([entry("a", OLD, day=2), entry("b", NEW, day=1)])
    assert (change.older, change.newer) == ("b", "a")
    assert changes([entry("a", OLD, day=2), entry("b", NEW, day=2)]) == []


def test_other_projects_have_their_own_facts():
    pair = [
        entry("a", "The retry budget is 3 attempts.", day=1, project="p"),
        entry("b", "The retry budget is 5 attempts.", day=2, project="q"),
    ]
    assert changes(pair, [Connection("a", "b", 0.99, 1.0, 1.0)]) == []


def test_a_long_text_is_not_made_untrue_by_one_sentence():
    older = f"{OLD} " + "It was raised twice in the past year. " * MAX_WORDS
    assert found(older, NEW) == []


def test_facts_that_change_twice_make_a_chain():
    texts = [f"The retry budget is {number} attempts." for number in (3, 5, 7)]
    entries = [entry(f"m{day}", text, day=day) for day, text in enumerate(texts)]
    assert {(one.older, one.newer) for one in changes(entries)} == {
        ("m0", "m1"),
        ("m1", "m2"),
    }


@pytest.mark.parametrize("kept", [{"curated": True}, {"pinned": True}])
def test_what_came_in_by_itself_hides_nothing_that_a_person_keeps(kept):
    older = entry("old", "The retry budget is 3 attempts.", day=1)
    newer = entry("new", "The retry budget is 5 attempts.", day=2)
    assert changes([replace(older, **kept), newer]) == []
    assert len(changes([replace(older, **kept), replace(newer, **kept)])) == 1
    assert len(changes([older, replace(newer, **kept)])) == 1


def test_a_note_says_of_a_decision_only_in_so_many_words_that_it_takes_its_place():
    older = entry("aaaa", "The retry budget is 3 attempts.", day=1, type="decision")
    text = "The retry budget is 5 attempts."
    assert changes([older, entry("bbbb", text, day=2)]) == []
    assert len(changes([older, entry("bbbb", text, day=2, supersedes="aaaa")])) == 1
    assert len(changes([older, entry("bbbb", text, day=2, type="decision")])) == 1


def test_a_declaration_goes_before_any_rule_and_against_any_date():
    entries = [
        entry("aaaa", "The retry budget is 3 attempts.", day=5),
        entry("bbbb", "Anything else.", day=1, supersedes="aaaa"),
        entry("cccc", "The retry budget is 5 attempts.", day=9),
    ]
    (change,) = changes(entries)
    assert (change.older, change.newer, change.rule) == ("aaaa", "bbbb", "declared")


def test_a_circle_of_declarations_leaves_one_that_holds():
    entries = [entry("aaaa", "One.", supersedes="bbbb"), entry("bbbb", "Two.", supersedes="aaaa")]
    assert len(changes(entries)) == 1


def test_a_reason_quotes_both_and_no_secret():
    key = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4xY7zA0cD3fG6"
    older = entry("a", f"The harbour token is {key} for uploads.", day=1)
    newer = entry("b", f"The harbour token is {key[::-1]} for uploads.", day=2)
    (change,) = changes([older, newer])
    reason = reason_of(change, older, newer, DEFAULT)
    assert "gave way to" in reason
    assert key[:20] not in reason


def test_a_connection_leads_to_a_pair_that_many_other_memories_hide():
    crowd = [entry(f"c{n:03}", f"The retry budget matters in part {n}.", day=1) for n in range(200)]
    pair = [
        entry("old", "The retry budget is 3 attempts.", day=2),
        entry("new", "The retry budget is 5 attempts.", day=3),
    ]
    link = [Connection("new", "old", 0.9, 0.5, 0.8)]
    assert [(one.older, one.newer) for one in changes([*crowd, *pair], link)] == [("old", "new")]


WORDS = st.sampled_from(
    "retry budget is are now no longer 3 5 7 moved from to instead of gone the not v1.2 v2.0 on off".split()
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(WORDS, min_size=2, max_size=9).map(" ".join),
            st.integers(0, 5),
            st.sampled_from(["p", "q"]),
            st.sampled_from(["", "", "", "m0x0", "m1x1", "m2x2"]),
        ),
        max_size=9,
    )
)
def test_whatever_memories_say_changes_stay_in_a_project_go_forward_and_never_in_circles(rows):
    entries = [
        entry(
            f"m{n}x{n}",
            text,
            day=day,
            project=project,
            **({"supersedes": f"{said}x{said[1:]}"} if said else {}),
        )
        for n, (text, day, project, said) in enumerate(rows)
    ]
    by_id = {one.id: one for one in entries}
    made = changes(entries)
    assert made == changes(list(reversed(entries)))
    newer = {one.older: one.newer for one in made}
    assert len(newer) == len(made)
    for one in made:
        older_, newer_ = by_id[one.older].memory, by_id[one.newer].memory
        assert older_.scope.project == newer_.scope.project
        assert one.rule == "declared" or older_.event_time < newer_.event_time
        seen = {one.older}
        at = one.newer
        while at in newer:
            assert at not in seen
            seen.add(at)
            at = newer[at]
