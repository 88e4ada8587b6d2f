"""Reflections: one draft per line."""

import json
from datetime import UTC, datetime
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from ragmem.config.settings import SourceSpec
from ragmem.domain.model import Draft, Kind, Scope
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.readers import reflections

MODIFIED = datetime(2026, 5, 1, tzinfo=UTC)
SPEC = SourceSpec("reflections", ("*.jsonl",), base=Path("/"), reader="reflections")
PATH = Path("/m/algorithm-reflections.jsonl")

ENTRY = {
    "timestamp": "2026-03-15T10:00:00+01:00",
    "effort_level": "extended",
    "task_description": "Find why the harbour feed stalls",
    "criteria_count": 8,
    "criteria_passed": 7,
    "criteria_failed": 1,
    "prd_id": "20260315-harbour",
    "implied_sentiment": 8,
    "reflection_q1": "Read the broker's log first.",
    "reflection_q2": "Bisect the config.",
    "reflection_q3": "The tracing skill.",
    "within_budget": True,
    "doctrine": {"nested": [1]},
}


def read(*entries: object) -> tuple[list[Draft], list[str]]:
    lines = [entry if isinstance(entry, str) else json.dumps(entry) for entry in entries]
    return reflections.read(
        PATH, "\n".join(lines), SPEC, changed=lambda: MODIFIED, scope=Scope(), redactor=DEFAULT
    )


def test_a_line_becomes_text_that_can_be_read() -> None:
    (found,), warnings = read(ENTRY)
    assert warnings == []
    assert found.title == "Find why the harbour feed stalls"
    assert found.event_time == datetime(2026, 3, 15, 9, tzinfo=UTC)
    assert found.text == (
        "# Reflection: Find why the harbour feed stalls\n\n"
        "What I would do differently: Read the broker's log first.\n\n"
        "What a smarter approach would have done: Bisect the config.\n\n"
        "What I should have used: The tracing skill.\n\n"
        "7 of 8 criteria passed, 1 failed.\n\n"
        "- effort level: extended\n- prd id: 20260315-harbour\n- implied sentiment: 8\n- within budget: true"
    )
    assert found.metadata["effort_level"] == "extended"
    assert found.metadata["criteria_passed"] == "7"
    assert found.kind is None


def test_a_line_keeps_its_uri_when_other_fields_or_its_place_change() -> None:
    before = read(ENTRY)[0][0].uri
    after = read({"timestamp": "x", "task_description": "another"}, {**ENTRY, "implied_sentiment": 2})[0][
        1
    ].uri
    assert before == after
    assert before.startswith(f"{PATH}#")


def test_two_entries_of_one_time_and_task_are_two_drafts_and_the_same_line_twice_is_one() -> None:
    drafts, _ = read(ENTRY, {**ENTRY, "reflection_q1": "Other."}, ENTRY)
    assert len(drafts) == 2
    assert drafts[1].uri == drafts[0].uri + "-2"


def test_broken_lines_are_reported_with_their_number_and_the_rest_is_read() -> None:
    drafts, warnings = read(ENTRY, "", "{broken", "[1]", "{}", {"task": "t", "kind": "error"})
    assert [draft.title for draft in drafts] == ["Find why the harbour feed stalls", "t"]
    assert drafts[1].kind is Kind.ERROR
    assert [warning.partition(";")[0] for warning in warnings] == [
        "line 3: not valid JSON",
        "line 4: not a JSON object",
        "line 5: not a JSON object",
    ]


def test_many_broken_lines_make_few_warnings() -> None:
    warnings = read(*["{"] * 1, *(f"{{{n}" for n in range(99)))[1]
    assert len(warnings) == reflections.MAX_WARNINGS + 1
    assert warnings[-1] == "and 80 more lines"


def test_an_entry_without_known_fields_is_kept_with_its_own() -> None:
    (found,), _ = read({"lesson": "Pin the base image", "level": 3})
    assert found.title == "Reflection"
    assert "- lesson: Pin the base image" in found.text
    assert found.event_time == MODIFIED


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=150, deadline=None)
@given(
    entries=st.lists(
        st.dictionaries(st.sampled_from([*ENTRY, "tags", "kind", "x"]), values, max_size=5)
        | st.text(max_size=20),
        max_size=4,
    )
)
def test_no_line_makes_the_reader_raise(entries: list[object]) -> None:
    drafts, _ = read(*entries)
    assert len({draft.uri for draft in drafts}) == len(drafts)
    for draft in drafts:
        assert draft.text.encode("utf-8")
        assert "\0" not in draft.text
        assert draft.event_time is not None
