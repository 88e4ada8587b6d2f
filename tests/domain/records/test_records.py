"""A record's fields are checked once, shown verbatim, and come back as they were handed in."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from record_fields import records

from ragmem.domain.model import Category, Kind, Memory, Scope, content_hash, memory_id
from ragmem.domain.records.record_types import RECORD_SCHEMAS
from ragmem.domain.records.records import draft_of, record, record_of
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.errors import UsageError

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def memory_of(item) -> Memory:
    draft = draft_of(item, scope=Scope(), event_time=NOW, redactor=DEFAULT)
    return Memory(
        id=memory_id(draft.source, draft.scope, draft.uri),
        source=draft.source,
        uri=draft.uri,
        text=draft.text,
        title=draft.title,
        event_time=NOW,
        created_at=NOW,
        updated_at=NOW,
        content_hash=content_hash(draft.text),
        tags=draft.tags,
        metadata=draft.metadata,
    )


def texts_in(value):
    if isinstance(value, str):
        yield value
    elif not isinstance(value, bool):
        yield from value
        if hasattr(value, "values"):
            yield from value.values()


@given(records())
def test_what_is_stored_of_a_record_gives_the_same_record(item):
    assert record_of(memory_of(item)) == item


@given(records())
def test_every_line_of_every_field_stands_in_the_text(item):
    aside = RECORD_SCHEMAS[item.type].data_only
    for value in (value for name, value in item.fields.items() if name not in aside):
        for text in texts_in(value):
            for line in text.split("\n"):
                assert line in item.text


@given(records())
def test_checking_a_checked_record_changes_nothing(item):
    again = record(item.type, item.fields)
    assert (again, again.uri, again.text) == (item, item.uri, item.text)


@given(records())
def test_a_title_is_one_short_line(item):
    assert 0 < len(item.title(DEFAULT)) <= 80
    assert "\n" not in item.title(DEFAULT)


@pytest.mark.parametrize(
    "lead", ["", "Key: ", "A rather long sentence tells where the key of the harbour lies: "]
)
def test_a_title_shows_no_part_of_a_secret(lead):
    secret = "aB3dE6gH9jK2mN5pQ8sT" * 5
    for said in (f'password="{secret}"', f"https://ann:{secret}@example.org/", f"{lead}AIza{secret[:35]}"):
        item = record("gotcha", {"gotcha": f"{lead}{said} is in the log."})
        shown, _ = DEFAULT.redact(item.title(DEFAULT))
        assert secret[:6] not in shown
        assert shown.startswith(lead.strip())


def test_a_record_reads_as_markdown():
    item = record(
        "root_cause",
        {
            "error": "Departures time out after lunch.",
            "cause": "The pool holds five connections.\nThe importer takes four.",
            "fix": "Raise pool_size to 20.",
            "files": ["./src/pool.py", "src\\importer.py"],
        },
    )
    assert item.text == (
        "# Root cause\n\nDepartures time out after lunch.\n\n"
        "## Cause\n\nThe pool holds five connections.\nThe importer takes four.\n\n"
        "## Fix\n\nRaise pool_size to 20.\n\n"
        "## Files\n\n- `src/pool.py`\n- `src/importer.py`"
    )
    assert (
        draft_of(item, scope=Scope(), event_time=NOW, redactor=DEFAULT).metadata["files"]
        == "src/pool.py\nsrc/importer.py"
    )


def test_a_number_is_a_text():
    assert record("session_insight", {"session": 12, "summary": "x"}).fields["session"] == "12"
    assert record("session_insight", {"what_failed": [3, "x", 0.5]}).fields["what_failed"] == (
        "3",
        "x",
        "0.5",
    )
    assert record("session_insight", {"what_failed": 3}).fields["what_failed"] == ("3",)
    for number in (1, 0):
        assert record("task_outcome", {"task": "x", "success": number}).fields["success"] is bool(number)


def test_what_belongs_to_the_first_line_stands_in_it():
    purpose = record("codebase_discovery", {"path": "src/tide.py", "purpose": "Reads tide tables."})
    assert purpose.text == "# Codebase discovery\n\n`src/tide.py`: Reads tide tables."
    outcome = record("task_outcome", {"task": "Cache the tides", "success": "no", "metadata": {"tries": 3}})
    assert outcome.text == ("# Task outcome\n\nCache the tides\n\n**Failed.**\n\n## Details\n\n- `tries`: 3")


def test_every_type_has_a_kind_that_fits_and_corrections_are_protected():
    made = {
        kind: draft_of(
            record(
                kind,
                {
                    field.name: field.choices[0] if field.choices else "yes"
                    for field in shape.fields
                    if field.required
                }
                | {shape.main: "x"},
            ),
            scope=Scope(),
            event_time=NOW,
            redactor=DEFAULT,
        )
        for kind, shape in RECORD_SCHEMAS.items()
    }
    assert {kind: (draft.kind, draft.category) for kind, draft in made.items()} == {
        "session_insight": (Kind.GENERAL, Category.NONE),
        "codebase_discovery": (Kind.ARCHITECTURE, Category.NONE),
        "pattern": (Kind.ARCHITECTURE, Category.PATTERN),
        "gotcha": (Kind.ERROR, Category.GOTCHA),
        "task_outcome": (Kind.GENERAL, Category.NONE),
        "root_cause": (Kind.ERROR, Category.ERROR_SOLUTION),
        "user_correction": (Kind.PREFERENCE, Category.BEST_PRACTICE),
        "knowledge": (Kind.ERROR, Category.ERROR_SOLUTION),
        "episode": (Kind.GENERAL, Category.NONE),
    }
    assert [kind for kind, draft in made.items() if "protected" in draft.metadata] == ["user_correction"]


def test_the_same_fields_are_the_same_record_in_any_order():
    one = record("task_outcome", {"task": "t", "success": True, "metadata": {"a": "1", "b": "2"}})
    other = record("task_outcome", {"metadata": {"b": 2, "a": 1}, "success": "yes", "task": " t\r\n"})
    assert one.uri == other.uri
    assert one.uri != record("task_outcome", {"task": "t", "success": False}).uri


def test_what_is_said_of_a_file_later_takes_the_place_of_what_was_said():
    one = record("codebase_discovery", {"path": "src/a.py", "purpose": "old"})
    other = record("codebase_discovery", {"path": "./src/a.py", "purpose": "new"})
    assert one.uri == other.uri


def test_a_file_has_one_path_wherever_it_is_named():
    insight = record("session_insight", {"files_understood": {"./src/a.py": "Reads .\\x.", "src\\b.py": "y"}})
    assert insight.fields["files_understood"] == {"src/a.py": "Reads .\\x.", "src/b.py": "y"}
    assert record("task_outcome", {"task": "x", "success": True, "metadata": {"a\\b": "./c"}}).fields[
        "metadata"
    ] == {"a\\b": "./c"}


@pytest.mark.parametrize(
    ("kind", "fields", "message", "hint"),
    [
        ("gotcha", {"gotcha": "x", "solutoin": "y"}, 'a gotcha has no field "solutoin"', "solution"),
        ("gotcha", {"trigger": "x"}, 'the gotcha lacks the required field "gotcha"', "a trap"),
        ("gotcha", {"gotcha": [7]}, 'the field "gotcha" of the gotcha must be a text, not "[7]"', "a trap"),
        ("gotcha", {"gotcha": True}, 'the field "gotcha" of the gotcha must be a text, not "true"', "a trap"),
        ("gotcha", {"gotcha": "x", "files": {"a": "b"}}, "must be a list of texts", "files"),
        ("gotcha", {"gotcha": "x", "files": ["a\nb"]}, 'must be a path in one line, not "a b"', "files"),
        ("gotcha", {"gotcha": "x\0"}, "a NUL character", "UTF-8"),
        ("gotcha", {"gotcha": "\ud800"}, "an unpaired surrogate", "UTF-8"),
        ("task_outcome", {"task": "x", "success": "maybe"}, "must be true or false", "success"),
        (
            "task_outcome",
            {"task": "x", "success": True, "metadata": "y"},
            "an object with text values",
            "by name",
        ),
        ("task_outcome", {"task": "x", "success": 2}, 'true or false, not "2"', "success"),
        ("session_insight", {"what_failed": [True]}, 'must be a text, not "true"', "not to do"),
        ("session_insight", {"what_failed": True}, 'must be a list of texts, not "true"', "not to do"),
        (
            "task_outcome",
            {"task": "x", "success": True, "metadata": {"tries": 1, " tries": 2}},
            'the field "metadata" of the task_outcome has "tries" twice',
            "give it once",
        ),
        ("knowledge", {"title": "x", "category": "trick"}, "one of error_solution, pattern", "gotcha"),
        ("knowledge", {"category": "gotcha"}, 'lacks the required field "title"', "in a line"),
        ("episode", {"title": "x", "event_type": "party"}, 'outcome, not "party"', "decision"),
        ("episode", {"title": "x", "event_type": "error", "importance": 1.5}, "from 0 to 1", "matters"),
        ("episode", {"title": "x", "event_type": "error", "importance": "nan"}, "from 0 to 1", "matters"),
        ("episode", {"title": "x", "event_type": "error", "importance": True}, "from 0 to 1", "matters"),
        ("session_insight", {"session": "3"}, "the session_insight is empty", "summary"),
        ("insight", {}, 'there is no type of record "insight"', "session_insight"),
    ],
)
def test_what_is_no_record_is_refused_with_its_field_and_the_next_step(kind, fields, message, hint):
    with pytest.raises(UsageError) as refused:
        record(kind, fields)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)
    assert hint in refused.value.hint


@pytest.mark.parametrize(
    ("event_type", "importance", "protected"),
    [
        ("decision", None, "true"),
        ("decision", 0.4, None),
        ("action", None, None),
        ("action", 0.8, "true"),
        ("decision", 0.1, "false"),
        ("outcome", 0.29, "false"),
    ],
)
def test_what_matters_much_is_protected_and_what_matters_little_never(event_type, importance, protected):
    fields = {"title": "x", "event_type": event_type, "importance": importance}
    made = draft_of(record("episode", fields), scope=Scope(), event_time=NOW, redactor=DEFAULT)
    assert made.metadata.get("protected") == protected


def test_an_episode_keeps_session_agent_and_importance_as_data_and_not_in_its_text():
    fields = {"title": "Moved", "event_type": "decision", "session": "s-7", "agent": "ann", "importance": 0.9}
    item = record("episode", fields)
    assert item.text == "# Decision\n\nMoved"
    metadata = draft_of(item, scope=Scope(), event_time=NOW, redactor=DEFAULT).metadata
    assert (metadata["session"], metadata["agent"], metadata["importance"]) == ("s-7", "ann", "0.9")


@pytest.mark.parametrize("fields", ["", "[]", "7", "[" * 100_000, '{"gotcha": []}', '{"other": "x"}', "{}"])
def test_a_memory_with_other_fields_is_no_record(fields):
    memory = memory_of(record("gotcha", {"gotcha": "x"}))
    memory.metadata["fields"] = fields
    assert record_of(memory) is None
