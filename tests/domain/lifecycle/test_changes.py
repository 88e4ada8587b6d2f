"""What makes an older memory untrue, and the many things that only look like it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragmem.domain.lifecycle.changes import MAX_WORDS, changes
from ragmem.domain.model import Memory, Scope, content_hash
from ragmem.domain.model.lifecycle import Connection, Entry
from ragmem.domain.secrets.redaction import DEFAULT

START = datetime(2026, 1, 1, tzinfo=UTC)
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
    return [(one.older, one.newer, one.rule) for one in changes([*around, *pair], redactor=DEFAULT)]


@pytest.mark.parametrize(
    ("older", "newer", "rule"),
    [
        (
            "Ferry tickets are sold at the kiosk on the quay.",
            "Ferry tickets moved from the kiosk on the quay to the app.",
            "moved",
        ),
        (
            "The beehive scale reports over LoRa.",
            "The beehive scale reports over NB-IoT instead of LoRa, the gateway was too far.",
            "instead",
        ),
        ("The F9 key prints the sail plan.", "F9 is gone: the sail plan prints from the menu.", "gone"),
        (
            "kiln.toml holds the firing curves.",
            "kiln.toml was renamed curves.toml when glazes got their own file.",
            "replaced",
        ),
        (
            "Moorings are assigned by hand each morning.",
            "Moorings are no longer assigned by hand; the planner does it at night.",
            "no longer",
        ),
        (
            "The depth alarm fires because the echo sounder is too slow.",
            "The depth alarm is NOT about the echo sounder, the chart datum was wrong.",
            "no longer",
        ),
        ("Crew lists are sorted by name.", "Crew lists are now sorted by boat, since names repeat.", "now"),
        (
            "hull 2.3 leaks memory in the tide loop.",
            "hull 2.4 fixed the memory leak of the tide loop.",
            "version",
        ),
        ("The retry budget is 3 attempts.", "The retry budget is 5 attempts.", "value"),
        ("Night mode is off by default.", "Night mode is on by default.", "opposite"),
        (
            "Empty logbook pages are needed in the export.",
            "Empty logbook pages are not needed in the export.",
            "negated",
        ),
        (
            "The tide import reads up to 40 stations.",
            "The tide import reads 12 stations at most, 40 slowed the map down.",
            "former value",
        ),
    ],
)
def test_a_change_of_one_fact_is_found_with_the_rule_that_found_it(older, newer, rule):
    assert found(older, newer) == [("old", "new", rule)]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        # another attribute of the same subject
        ("The ferry has 12 life rafts.", "The ferry has a new captain since May."),
        # a measurement at another size
        ("Planning a route takes 9 ms with 200 buoys.", "Planning a route takes 31 ms with 900 buoys."),
        # the same of another thing
        (
            "Learning rate 3e-4 works best for the small hull.",
            "Learning rate 1e-4 works best for the large hull.",
        ),
        # a consequence
        ("Charts are cached for a week.", "A wrong chart stayed visible for days, since charts are cached."),
        # a plan, and its fulfilment
        ("Plan: cache the charts on the tablet.", "The tablet caches the charts now."),
        ("User: I want a list of late boats.", "The list of late boats is on the first page now."),
        # a repeated incident
        ("The outage of 3 May came from a full disk.", "The outage of 9 June came from a dead switch."),
        # an error that was fixed stays true as history
        (
            "The export crashed on an empty logbook.",
            "Fixed the export: an empty logbook gives an empty file.",
        ),
        # an addition
        ("Alerts are sent by mail.", "Alerts are now also sent by radio."),
        # an intention is no change yet
        ("The sail plan is drawn by hand.", "Decided to replace the sail plan that is drawn by hand."),
        # one case and another
        (
            "If the tide table is stale, fall back to page 3.",
            "If the tide table is stale, fall back to page 2.",
        ),
        (
            "When strict is true, buoys never drift silently.",
            "When strict is false, buoys always log a drift.",
        ),
        # the same of another thing that comes first
        ("`lock_7.toml` sets the gate of the harbour.", "`lock_9.toml` sets the gate of the harbour."),
        ("Server frames are never masked.", "Client frames are always masked."),
        # two entries of a log of changes
        ("The harbour master now checks moorings.", "The harbour master now checks moorings at dusk."),
        ("The crew index lists `crew.toml` by boat.", "`boat.toml` now keeps an index of the crew by name."),
        # what accompanies work
        ("Let me check the depth alarm of the ferry.", "The user is asking about the depth alarm now."),
        # a command, and another one
        (
            "```bash\ncd /srv/ferry && uv run moor | tail -20\n```",
            "```bash\ncd /srv/ferry && uv run moor | tail -10\n```",
        ),
        # two measurements in money
        ("The ferry fares brought $6.7M on 89 trips.", "The ferry fares brought $4.2M on 156 trips."),
        # what is over is told twice
        (
            "The paper logbook placeholders are gone.",
            "The two paper logbook placeholders are removed from the bridge.",
        ),
        # two standing wishes
        ("User: use metres instead of feet.", "User: use knots instead of km/h."),
    ],
)
def test_what_only_looks_like_a_change_is_none(older, newer):
    assert found(older, newer) == []


def test_the_older_one_never_replaces_the_newer_one():
    texts = ("Crew lists are now named crew-2.", "Crew lists are named crew-1.")
    assert [
        one.newer
        for one in changes([entry("a", texts[0], day=1), entry("b", texts[1], day=2)], redactor=DEFAULT)
    ] != ["a"]
    assert changes([entry("a", texts[0], day=2), entry("b", texts[1], day=2)], redactor=DEFAULT) == []


def test_other_projects_have_their_own_facts():
    pair = [
        entry("a", "The retry budget is 3 attempts.", day=1, project="p"),
        entry("b", "The retry budget is 5 attempts.", day=2, project="q"),
    ]
    assert changes(pair, [Connection("a", "b", 0.99, 1.0, 1.0)], redactor=DEFAULT) == []


def test_a_long_text_is_not_made_untrue_by_one_sentence():
    older = "The retry budget is 3 attempts. " + "It was raised twice in the past year. " * MAX_WORDS
    assert found(older, "The retry budget is 5 attempts.") == []


def test_facts_that_change_twice_make_a_chain():
    texts = [f"The retry budget is {number} attempts." for number in (3, 5, 7)]
    entries = [entry(f"m{day}", text, day=day) for day, text in enumerate(texts)]
    assert {(one.older, one.newer) for one in changes(entries, redactor=DEFAULT)} == {
        ("m0", "m1"),
        ("m1", "m2"),
    }


@pytest.mark.parametrize("kept", [{"curated": True}, {"pinned": True}])
def test_what_came_in_by_itself_hides_nothing_that_a_person_keeps(kept):
    older = entry("old", "The retry budget is 3 attempts.", day=1)
    newer = entry("new", "The retry budget is 5 attempts.", day=2)
    assert changes([replace(older, **kept), newer], redactor=DEFAULT) == []
    assert len(changes([replace(older, **kept), replace(newer, **kept)], redactor=DEFAULT)) == 1
    assert len(changes([older, replace(newer, **kept)], redactor=DEFAULT)) == 1


def test_a_note_says_of_a_decision_only_in_so_many_words_that_it_takes_its_place():
    older = entry("aaaa", "The retry budget is 3 attempts.", day=1, type="decision")
    text = "The retry budget is 5 attempts."
    assert changes([older, entry("bbbb", text, day=2)], redactor=DEFAULT) == []
    assert len(changes([older, entry("bbbb", text, day=2, supersedes="aaaa")], redactor=DEFAULT)) == 1
    assert len(changes([older, entry("bbbb", text, day=2, type="decision")], redactor=DEFAULT)) == 1


def test_a_declaration_goes_before_any_rule_and_against_any_date():
    entries = [
        entry("aaaa", "The retry budget is 3 attempts.", day=5),
        entry("bbbb", "Anything else.", day=1, supersedes="aaaa"),
        entry("cccc", "The retry budget is 5 attempts.", day=9),
    ]
    (change,) = changes(entries, redactor=DEFAULT)
    assert (change.older, change.newer, change.rule) == ("aaaa", "bbbb", "declared")


def test_a_circle_of_declarations_leaves_one_that_holds():
    entries = [entry("aaaa", "One.", supersedes="bbbb"), entry("bbbb", "Two.", supersedes="aaaa")]
    assert len(changes(entries, redactor=DEFAULT)) == 1


def test_a_reason_quotes_both_and_no_secret():
    key = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4xY7zA0cD3fG6"
    (change,) = changes(
        [
            entry("a", f"The harbour token is {key} for uploads.", day=1),
            entry("b", "The harbour token is gone, uploads are signed.", day=2),
        ],
        redactor=DEFAULT,
    )
    assert "gave way to" in change.reason
    assert key[:20] not in change.reason


def test_a_connection_leads_to_a_pair_that_many_other_memories_hide():
    crowd = [entry(f"c{n:03}", f"The retry budget matters in part {n}.", day=1) for n in range(200)]
    pair = [
        entry("old", "The retry budget is 3 attempts.", day=2),
        entry("new", "The retry budget is 5 attempts.", day=3),
    ]
    link = [Connection("new", "old", 0.9, 0.5, 0.8)]
    assert [(one.older, one.newer) for one in changes([*crowd, *pair], link, redactor=DEFAULT)] == [
        ("old", "new")
    ]


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
    made = changes(entries, redactor=DEFAULT)
    assert made == changes(list(reversed(entries)), redactor=DEFAULT)
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
