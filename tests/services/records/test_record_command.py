"""`ragmem record`, `ragmem inspect records` and `ragmem query --type`: what is given is what is stored."""

import json
from typing import get_args

import pytest

from ragmem.cli.record import Type
from ragmem.domain.records.record_types import RECORD_SCHEMAS, RecordType

DOCUMENTS = {
    "session_insight": {
        "summary": "Cached the tides.",
        "files_understood": {"src/tide.py": "Reads tables."},
        "what_failed": ["lru_cache", "a file"],
    },
    "codebase_discovery": {"path": "src/tide.py", "purpose": "Reads tables."},
    "pattern": {"pattern": "Use hooks.", "files": ["a.tsx", "b.tsx"]},
    "gotcha": {"gotcha": "No summer time.", "solution": "a = b\nc = d"},
    "task_outcome": {"task": "Cache.", "success": False, "metadata": {"hours": "3", "who.did": "it=me"}},
    "root_cause": {"error": "Timeout.", "cause": "A leak.", "files": ["src/pool.py"]},
    "user_correction": {"right": "Knots.", "said": "km/h"},
    "knowledge": {"title": "PATCH, not PUT", "category": "gotcha", "content": "PUT empties other fields."},
    "episode": {"title": "Moved to SQLite", "event_type": "decision", "session": "s1", "importance": "0.7"},
}


@pytest.fixture
def ragmem(inside, tmp_path):
    """Run a command line on a home of the test's own."""
    (tmp_path / "home").mkdir(exist_ok=True)
    home = {"HOME": str(tmp_path / "home"), "RAGMEM_HOME": str(tmp_path / "ragmem")}
    return lambda *arguments, **more: inside(*arguments, **home, **more)


def options(kind, fields):
    """Return a record's fields as a command line gives them."""
    yield str(fields[RECORD_SCHEMAS[kind].main])
    for name, value in fields.items():
        if name == RECORD_SCHEMAS[kind].main:
            continue
        if isinstance(value, dict):
            pairs = [(f"{name}.{key}", text) for key, text in value.items()]
        else:
            pairs = [(name, text) for text in (value if isinstance(value, list) else [value])]
        for key, text in pairs:
            yield from ("--field", f"{key}={text}")


@pytest.mark.parametrize("kind", RecordType)
def test_options_and_a_document_make_the_same_record(kind, ragmem):
    fields = DOCUMENTS[kind]
    by_options = ragmem("record", kind, *options(kind, fields))
    by_document = ragmem("record", kind, "-", stdin=json.dumps(fields))
    assert by_options.returncode == by_document.returncode == 0
    assert by_options.stdout == by_document.stdout

    [shown] = json.loads(ragmem("inspect", "records", "--type", kind, "--json").stdout)["records"]
    assert (shown["type"], shown["fields"]) == (kind, fields)
    assert ragmem("inspect", "memory", by_options.stdout.strip()).returncode == 0


def test_a_decision_is_an_episode(ragmem):
    said = "The crane reads its limit from the berth plan, since two berths differ."
    by_option = ragmem("record", "decision", said, "--project", "user")
    by_document = ragmem("record", "decision", "-", "--project", "user", stdin=json.dumps({"title": said}))
    whole = ragmem("record", "episode", said, "--field", "event_type=decision", "--project", "user")
    assert by_option.stdout == by_document.stdout == whole.stdout
    [shown] = json.loads(ragmem("inspect", "records", "--json").stdout)["records"]
    assert (shown["type"], shown["protected"]) == ("episode", True)
    assert shown["fields"] == {"title": said, "event_type": "decision"}


def test_the_types_are_those_of_records_and_decision():
    assert get_args(Type) == (*RecordType, "decision")


def test_several_records_come_in_one_document(ragmem):
    documents = [{"path": f"src/{name}.py", "purpose": "Tides."} for name in "abc"]
    stored = ragmem("record", "codebase_discovery", "-", stdin=json.dumps(documents))
    assert len(stored.stdout.split()) == 3
    assert len(json.loads(ragmem("inspect", "records", "--json").stdout)["records"]) == 3


def test_a_list_without_records_names_the_command_that_stores_one(ragmem):
    given = ragmem("ingest", "-", stdin="Tides are read at noon.")
    assert given.returncode == 0
    empty = ragmem("inspect", "records")
    assert (empty.returncode, empty.stdout) == (0, "")
    assert "store one: ragmem record gotcha TEXT" in empty.stderr
    assert "no such record" in ragmem("inspect", "records", "--since", "7d").stderr


def test_what_a_dry_run_shows_is_not_stored(ragmem):
    shown = ragmem("record", "gotcha", "No summer time.", "--dry-run")
    assert shown.stdout == "# Gotcha\n\nNo summer time.\n"
    document = json.loads(ragmem("record", "gotcha", "No summer time.", "--dry-run", "--json").stdout)
    assert (document["dry_run"], document["records"][0]["change"]) == (True, "dry run")
    assert ragmem("inspect", "records").returncode == 2


def test_a_question_of_a_category_finds_knowledge_of_it_of_every_type(ragmem):
    ragmem("record", "gotcha", "The tides ignore summer time.", "--project", "user")
    ragmem("record", "knowledge", "Tides of summer", "-f", "category=gotcha", "--project", "user")
    ragmem("record", "knowledge", "Cache the tides", "-f", "category=pattern", "--project", "user")
    found = json.loads(ragmem("query", "tides", "--category", "gotcha", "--json").stdout)
    assert {match["title"] for match in found["matches"]} == {
        "The tides ignore summer time.",
        "Tides of summer",
    }
    assert ragmem("query", "tides", "--category", "error_solution").returncode == 1


def test_a_question_of_a_type_finds_nothing_else(ragmem):
    ragmem("record", "gotcha", "The tides ignore summer time.", "--spec", "001", "--project", "user")
    ragmem("record", "pattern", "The tides are cached in summer.", "--tag", "sea")
    found = json.loads(ragmem("query", "tides in summer", "--type", "gotcha", "--json").stdout)
    assert [match["title"] for match in found["matches"]] == ["The tides ignore summer time."]
    assert ragmem("query", "tides in summer", "--type", "root_cause").returncode == 1
    assert ragmem("query", "tides in summer", "--type", "pattern", "--tag", "sea").returncode == 0
    assert ragmem("query", "tides in summer", "--type", "pattern", "--spec", "001").returncode == 1


def test_who_asks_for_sessions_gets_insights(ragmem):
    ragmem("record", "session_insight", "Cached the tides in summer.")
    ragmem("record", "gotcha", "The tides ignore summer time.")
    found = json.loads(ragmem("query", "tides in summer", "--route", "episode", "--json").stdout)
    assert [match["tags"][0] for match in found["matches"]] == ["session_insight"]


def test_records_are_listed_by_type_spec_and_time(ragmem):
    ragmem("record", "gotcha", "New trap.", "--spec", "001", "--project", "tide")
    ragmem("record", "gotcha", "Old trap.", "--at", "90d", "--project", "tide")
    ragmem("record", "pattern", "Some way.", "--project", "kiln")

    def listed(*options):
        lines = ragmem("inspect", "records", *options).stdout.splitlines()[1:]
        return {word for line in lines for word in ("New", "Old", "Some") if word in line}

    assert listed("--all") == {"New", "Old", "Some"}
    assert listed("--project", "tide") == {"New", "Old"}
    assert listed("--all", "--since", "30d") == {"New", "Some"}
    assert listed("--all", "--spec", "001") == {"New"}
    assert listed("--all", "--type", "pattern") == {"Some"}
    assert listed("--project", "tide", "--limit", "1") == {"New"}


def test_a_secret_in_a_field_is_never_shown(ragmem):
    key = "ghp_" + "aB3dE5gH7jK9" * 3
    told = ragmem("record", "gotcha", f"The token is {key} now.", "--json").stdout
    for line in (["inspect", "records"], ["inspect", "records", "--json"], ["query", "token", "--json"]):
        told += ragmem(*line).stdout
    assert "token" in told
    assert key not in told


def test_without_a_model_it_is_stored_with_a_note(ragmem):
    stored = ragmem("record", "gotcha", "No summer time.", RAGMEM_MODELS_BACKEND="nope")
    assert stored.returncode == 0
    assert "until a later seed indexes it" in stored.stderr
    assert ragmem("inspect", "memory", stored.stdout.strip()).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "stdin", "named"),
    [
        (["trap", "x"], "", "'trap' is not one of"),
        (["gotcha"], "", 'lacks the required field "gotcha"'),
        (["gotcha", "x", "-f", "y"], "", '--field "y" has no ='),
        (["gotcha", "x", "-f", "y=1"], "", 'a gotcha has no field "y"'),
        (["gotcha", "x", "-f", "gotcha=y"], "", '"gotcha" is given twice'),
        (["task_outcome", "x", "-f", "success=1", "-f", "metadata=2"], "", 'needs a name for "2"'),
        (["gotcha", "-", "-f", "trigger=y"], "{}", "are mutually exclusive"),
        (["gotcha", "-"], "{", "is not JSON"),
        (["gotcha", "-"], "", "is not JSON"),
        (["gotcha", "-"], "[]", "not a JSON object of fields"),
        (["gotcha", "-"], '["x"]', "not a JSON object of fields"),
        (["gotcha", "-"], "[" * 100_000, "is not JSON"),
        (["gotcha", "-"], '{"gotcha": "\\ud800"}', "an unpaired surrogate"),
        (["gotcha", "x", "--at", "soon"], "", '"soon" is not a date'),
    ],
)
def test_what_is_wrong_is_told_in_one_line_and_stores_nothing(ragmem, arguments, stdin, named):
    result = ragmem("record", *arguments, stdin=stdin)
    message, empty, hint = result.stderr.splitlines()
    assert (result.returncode, result.stdout, empty) == (2, "", "")
    assert named in message
    assert hint.startswith("hint: ")
    assert ragmem("inspect", "records").returncode == 2


def test_no_secret_of_a_field_is_told(ragmem):
    fields = {"gotcha": "The deploy key.", "trigger": 'password = "hU9xQ2vLz7Rk"', "solution": "Rotate it."}
    assert ragmem("record", "gotcha", "-", stdin=json.dumps(fields)).returncode == 0
    for command in (
        ("query", "deploy key", "--json"),
        ("query", "deploy key", "--type", "gotcha", "--json"),
        ("context", "deploy key", "--json"),
        ("inspect", "records", "--json"),
    ):
        told = ragmem(*command)
        assert "The deploy key." in told.stdout
        assert "hU9xQ2vLz7Rk" not in told.stdout, command
