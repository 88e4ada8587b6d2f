"""Every view of the explorer as a command: what people read, its JSON, and how bad input is refused."""

import json

import pytest

from ragmem.hooks import spool
from ragmem.inbox import set_aside
from ragmem.services.reporting.queue_list import SHOWN


@pytest.fixture
def inspect(home, ragmem, monkeypatch):
    """Return a function that runs `ragmem inspect ...` in the home that all tests here share."""
    monkeypatch.chdir(home.root)

    def run(*arguments):
        return ragmem("inspect", *arguments, RAGMEM_HOME=str(home.root / "ragmem"), HOME=str(home.root))

    return run


def document(result):
    assert result.stderr == ""
    found = json.loads(result.stdout)
    assert found["schema"] == 1
    return found


def test_memories_are_listed_latest_first_and_counted(inspect):
    found = document(inspect("memories", "-n", "3", "--source", "notes", "--json"))
    dates = [one["event_time"] for one in found["memories"]]
    assert dates == sorted(dates, reverse=True)
    assert (len(dates), found["total"], found["left_out"]) == (3, 134, 131)
    assert "text" not in found["memories"][0]

    shown = inspect("memories", "ferry 12", "--order", "oldest")
    assert shown.returncode == 0
    titles = [line.split("  ")[-1].strip() for line in shown.stdout.splitlines()[1:]]
    assert titles == ["Ferry 12", *(f"Ferry {number}" for number in range(120, 130))]


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        (["--tier", "ingest"], 135),
        (["--tier", "discard"], 0),
        (["--state", "buffered"], 0),
        (["--source", "records"], 1),
        (["--since", "2026-05-28", "--until", "2026-06-01", "--source", "notes"], 4),
        (["no such title"], 0),
    ],
)
def test_memories_are_listed_by_what_they_are(inspect, arguments, count):
    result = inspect("memories", *arguments, "--json", "-n", "200")
    assert document(result)["total"] == count
    assert result.returncode == (0 if count else 1)


def test_entities_are_listed_by_how_their_names_begin(inspect):
    found = document(inspect("entities", "postgre", "--json"))
    assert [one["name"] for one in found["entities"]] == ["PostgreSQL"]
    assert "PostgreSQL" in inspect("entities").stdout
    none = inspect("entities", "no such thing")
    assert (none.returncode, none.stdout) == (1, "")
    assert none.stderr == 'no entity name starts with "no such thing"\n'


def test_connections_are_those_of_one_memory_or_of_the_most_connected(inspect):
    most = document(inspect("connections", "--json", "-n", "5"))["memories"]
    assert len(most) == 5
    assert most[0]["connections"] >= most[-1]["connections"] > 0
    of = document(inspect("connections", most[0]["id"], "--json", "-n", "1000"))
    assert of["total"] == most[0]["connections"] == len(of["connections"])
    strengths = [one["strength"] for one in of["connections"]]
    assert strengths == sorted(strengths, reverse=True)
    back = document(inspect("connections", of["connections"][0]["id"], "--json", "-n", "1000"))
    assert most[0]["id"] in {one["id"] for one in back["connections"]}
    shown = inspect("connections", most[0]["id"], "-n", "1")
    assert shown.stderr.startswith(f"{most[0]['connections'] - 1} more connection")


def test_a_history_tells_what_happened_in_order(inspect):
    [given, *_] = document(inspect("injections", "--json"))["injections"]
    found = document(inspect("history", given["memory"], "--json"))
    told = [one["what"] for one in found["history"]]
    assert told[:2] == ["event", "stored"]
    assert "injected" in told
    shown = inspect("history", found["id"])
    assert "session-1" in shown.stdout


def test_the_queue_names_what_waits_and_what_was_set_aside(inspect):
    found = document(inspect("queue", "--json"))
    assert (found["texts"], found["events"], found["vectors"]) == (0, 0, 0)
    [aside] = found["aside"]
    assert aside["path"].endswith("broken")
    assert aside["problem"] == "it is not a write of ragmem"
    shown = inspect("queue")
    assert shown.returncode == 0
    assert "rejected: " in shown.stderr


def test_the_queue_is_shown_where_nothing_was_ever_stored_and_takes_nothing_in(empty_home, ragmem):
    there = {"RAGMEM_HOME": str(empty_home.root / "queue"), "HOME": str(empty_home.root)}
    assert ragmem("inspect", "queue", **there).stdout == "nothing waits\n"
    accepted = ragmem("ingest", "--buffer", "--text", "The quay is closed on Fridays.", **there)
    assert accepted.returncode == 0
    for _ in range(2):
        found = document(ragmem("inspect", "queue", "--json", **there))
        assert found["texts"] == 1
        assert found["waiting"][0]["told"] == "The quay is closed on Fridays."


def test_what_the_queue_does_not_name_is_counted(empty_home, ragmem):
    home = empty_home.root / "long"
    there = {"RAGMEM_HOME": str(home), "HOME": str(empty_home.root)}
    for number in range(SHOWN + 2):
        spool.put(
            home / "data",
            {"event": spool.SESSION_END, "assistant": "codex", "transcript": f"/t/{number}.jsonl", "at": 1},
        )
    path, other, *_ = spool.list_events(home / "data")
    set_aside(path)
    set_aside(other)
    result = ragmem("inspect", "queue", "-n", "1", **there)
    assert f"{SHOWN - 1} more waiting things; -n shows them" in result.stderr
    assert "1 more rejected file; -n shows them" in result.stderr
    found = document(ragmem("inspect", "queue", "-n", "1", "--json", **there))
    assert (len(found["waiting"]), len(found["aside"]), found["left_out"]) == (1, 1, SHOWN)
    spool.put(home / "data", {"event": spool.SESSION_END, "assistant": "codex", "transcript": "/t", "at": 1})
    found = document(ragmem("inspect", "queue", "-n", str(SHOWN + 1), "--json", **there))
    assert (len(found["waiting"]), found["left_out"]) == (SHOWN + 1, 0)


def test_the_queue_names_events_of_hooks_and_those_that_are_none(empty_home, ragmem):
    home = empty_home.root / "events"
    there = {"RAGMEM_HOME": str(home), "HOME": str(empty_home.root)}
    spool.put(
        home / "data",
        {"event": spool.SESSION_END, "assistant": "claude-code", "transcript": "/t/x.jsonl", "at": 1},
    )
    [path] = spool.list_events(home / "data")
    set_aside(path)
    spool.put(
        home / "data", {"event": spool.SESSION_END, "assistant": "codex", "transcript": "/t/y.jsonl", "at": 1}
    )
    found = document(ragmem("inspect", "queue", "--json", **there))
    assert (found["events"], found["waiting"][0]["what"]) == (1, "event")
    assert found["waiting"][0]["told"] == f"codex {spool.SESSION_END} /t/y.jsonl"
    assert [one["problem"] for one in found["aside"]] == ["it is readable: move it back to the parent folder"]


def test_sources_tell_their_tiers_and_files(inspect):
    notes = next(one for one in document(inspect("sources", "--json"))["sources"] if one["source"] == "notes")
    assert (notes["tiers"], notes["files"], notes["files_without_memory"]) == ({"ingest": 134}, 134, 0)
    assert notes["files_gave"] == {"ingest": 134}
    head, *lines = inspect("sources").stdout.splitlines()
    shown = dict(
        zip(head.split(), next(one for one in lines if one.startswith("notes")).split(), strict=False)
    )
    assert (shown["memories"], shown["ingest"], shown["discard"], shown["files"]) == (
        "134",
        "134",
        "0",
        "134",
    )


def test_sources_show_what_their_description_says(ragmem, tmp_path):
    told = tmp_path / "sources.toml"
    told.write_text('[sources.notes]\nglob = "~/notes/*.md"\ndescription = "what I jot down"\n')
    shown = ragmem("inspect", "sources", "--sources", str(told)).stdout.splitlines()
    assert "description" in shown[0]
    assert "  what I jot down  " in next(line for line in shown if line.startswith("notes"))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("memories --source nope", 'there is no source "nope"'),
        ("memories --kind nope", "invalid value"),
        ("memories --since soon", '"soon" is not a date'),
        ("memories --project nope", '"nope"'),
        ("memories --all --project user", "are mutually exclusive"),
        ("connections zzzz", 'no memory has the id "zzzz"'),
        ("connections ab", '"ab" is not a memory id'),
        ("connections abcd --all", "cannot be combined with an id"),
        ("history zzzz", 'no memory has the id "zzzz"'),
        ("queue --limit 0", "0"),
        ("explore", "the explorer needs a terminal"),
        ("explore --theme pink", "pink"),
    ],
)
def test_bad_input_is_refused_in_a_line(inspect, line, said):
    result = inspect(*line.split())
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("ragmem: ")
    assert said in result.stderr.splitlines()[0]


def test_in_a_pipe_inspect_prints_the_numbers_as_ever(inspect):
    assert inspect().stdout == inspect("stats").stdout
    assert inspect().stderr == ""
    assert json.loads(inspect("--json").stdout)["catalog"]["total"]["memories"] == 135
