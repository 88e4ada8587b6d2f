"""The graph on the command line: what each view prints, its JSON, its exit codes and its exports."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from xml.etree import ElementTree as ET

import pytest

from ragmem.domain.model import Draft, Entity, Extraction, Record, Relation, Scope
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.services.ingestion.classify import classify_draft

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
DAYS = {
    "The ledger fills the queue.": ("ledger", "queue", 1),
    "* **Cause:** a full queue broke it, and the outage was there.": ("queue", "outage", 2),
    f"The outage began with {TOKEN} in the log.": ("outage", "log", 3),
}


@pytest.fixture
def graph(open_memory, inside, tmp_path, monkeypatch):
    """Return a function that runs `ragmem inspect ...` on a memory of two projects."""
    with open_memory() as memory:
        memory.prepare()
        for text, (source, target, day) in DAYS.items():
            store(memory, text, (source, target), datetime(2026, 3, day, tzinfo=UTC), "user")
        store(
            memory, "The queue keeps gulls.", ("queue", "gulls"), datetime(2026, 4, 1, tzinfo=UTC), "gullwing"
        )
    monkeypatch.chdir(tmp_path)

    def answer(*arguments, **environ):
        environ = {"RAGMEM_HOME": str(tmp_path / "ragmem"), "HOME": str(tmp_path / "home"), **environ}
        return inside("inspect", *arguments, **environ)

    return answer


def store(memory, text, ends, at, project):
    judged = classify_draft(
        Draft("notes", f"{project}/{text}", text, event_time=at, scope=Scope(project)),
        now=at,
        sizes=memory.settings.chunking,
        rule="off",
        redactor=DEFAULT,
    )
    memory.catalog.memories.accept([(judged.memory, judged.chunks)])
    entities = tuple(Entity(name, "concept", text) for name in ends)
    extraction = Extraction(judged.chunks[0].id, entities, (Relation(*ends, "moves", text),))
    memory.store.put([Record(judged.memory, judged.chunks, (extraction,))])


def test_an_entity_is_shown_with_dates_ids_and_neighbours(graph):
    shown = graph("entity", "queue", "-p", "user")
    assert shown.returncode == 0
    lines = shown.stdout.splitlines()
    assert lines[0] == "queue  concept, 2 relations, in 2 memories"
    assert [line.split()[0] for line in lines[3:5]] == ["2026-03-02", "2026-03-01"]
    assert lines[3].endswith("  **Cause:** a full queue broke it, and the outage was there.")
    assert {line.split()[0] for line in lines[7:]} == {"ledger", "outage"}
    assert "also in gullwing: use --all" in shown.stderr


def test_a_relation_is_shown_with_the_time_for_which_it_holds(graph, open_memory):
    with open_memory() as memory:
        text = "The ledger used the scale until March 2024."
        store(memory, text, ("ledger", "scale"), datetime(2026, 3, 4, tzinfo=UTC), "user")
    shown = graph("entity", "scale", "-p", "user").stdout
    assert "moves (until March 2024)" in shown
    document = json.loads(graph("entity", "ledger", "-p", "user", "--json").stdout)
    assert {one["name"]: one["valid"] for one in document["neighbours"]} == {
        "scale": "until March 2024",
        "queue": "",
    }
    assert "moves (until March 2024)" in graph("path", "scale", "queue", "-p", "user").stdout


def test_an_entity_of_several_projects_is_shown_for_each(graph):
    shown = graph("entity", "queue", "--all")
    assert "project user" in shown.stdout
    assert "project gullwing" in shown.stdout
    document = json.loads(graph("entity", "queue", "--all", "--json").stdout)
    assert {one["project"]: one["degree"] for one in document["entity"]["projects"]} == {
        "user": 2,
        "gullwing": 1,
    }
    assert {one["project"] for one in document["neighbours"] if one["name"] == "gulls"} == {"gullwing"}


def test_a_path_is_shown_step_by_step(graph):
    shown = graph("path", "ledger", "outage")
    assert shown.returncode == 0
    head, columns, first, second = shown.stdout.splitlines()
    assert head.startswith("ledger - queue - outage  2 steps, cost ")
    assert columns.split() == ["step", "relation", "date", "memory", "sentence"]
    assert first.startswith("ledger - queue  moves     2026-03-01")
    assert second.startswith("queue - outage  moves     2026-03-02")
    document = json.loads(graph("path", "ledger", "outage", "--json").stdout)
    assert document["paths"][0]["names"] == ["ledger", "queue", "outage"]
    assert document["paths"][0]["steps"][0]["memory"]["text"] == "The ledger fills the queue."


def test_no_path_is_an_answer_of_one_line(graph):
    shown = graph("path", "ledger", "gulls", "--all")
    assert (shown.returncode, shown.stdout) == (1, "")
    assert shown.stderr == 'no path connects "ledger" and "gulls" within one project\n'
    shown = graph("path", "ledger", "gulls", "--all", "--json")
    assert (shown.returncode, json.loads(shown.stdout)["paths"]) == (1, [])


def test_a_timeline_goes_from_the_first_to_the_last(graph):
    shown = graph("timeline", "queue", "--all")
    assert shown.stdout.startswith("queue  concept, 3 memories, first 2026-03-01, last 2026-04-01\n")
    dates = [line.split()[0] for line in shown.stdout.splitlines()[3:]]
    assert dates == ["2026-03-01", "2026-03-02", "2026-04-01"]
    late = graph("timeline", "queue", "--all", "--since", "2026-03-02", "-n", "1")
    assert late.stdout.splitlines()[-1].startswith("2026-04-01")
    assert "1 more earlier memory" in late.stderr
    none = graph("timeline", "queue", "--since", "2030-01-01")
    assert (none.returncode, none.stdout) == (1, "")


def test_communities_are_shown_with_their_entities(graph):
    shown = graph("communities", "-p", "user")
    assert shown.returncode == 0
    assert [line for line in shown.stdout.splitlines() if "cohesion" in line] == [
        "ledger, queue  2 entities, cohesion 0.67",
        "log, outage  2 entities, cohesion 0.67",
    ]
    one = json.loads(graph("communities", "--around", "gulls", "--all", "--json").stdout)
    assert [set(each["members"]) for each in one["communities"]] == [{"queue", "gulls"}]


def test_no_name_of_a_community_is_broken_at_its_hyphens(graph, open_memory):
    names = [f"gulls-of-the-harbour-{number}" for number in range(9)]
    with open_memory() as memory:
        for name in names:
            text = f"The queue has {name}."
            store(memory, text, ("queue", name), datetime(2026, 5, 1, tzinfo=UTC), "user")
    shown = graph("communities", "--around", "queue", "-p", "user").stdout
    assert [name for name in names if name not in shown] == []
    assert max(map(len, shown.splitlines())) > 80


def test_secrets_are_not_shown(graph):
    for arguments in (
        ["entity", "log"],
        ["timeline", "log"],
        ["path", "queue", "log"],
        ["communities"],
        ["graph"],
    ):
        for form in ([], ["--json"]):
            shown = graph(*arguments, "-p", "user", *form)
            assert shown.returncode == 0
            assert TOKEN not in shown.stdout + shown.stderr
            assert not form or json.loads(shown.stdout)["schema"] == 1
    assert "[redacted" in graph("entity", "log", "--json").stdout


def test_a_name_that_is_a_secret_is_not_proposed(graph, open_memory):
    with open_memory() as memory:
        store(memory, "A slip.", (TOKEN, "slip"), datetime(2026, 5, 1, tzinfo=UTC), "user")
    shown = graph("entity", TOKEN[:-1] + "Z")
    assert shown.returncode == 2
    assert "[redacted" in shown.stderr.splitlines()[2]
    assert TOKEN not in shown.stderr


def test_the_top_names_the_project_where_there_are_several(graph):
    assert "gullwing" in graph("graph", "--all").stdout
    assert "gullwing" not in graph("graph", "-p", "gullwing").stdout


def test_an_export_goes_into_a_new_file_and_is_told_of(graph, tmp_path):
    shown = graph("graph", "--export", "graphml", "--out", "out.graphml", "-p", "user")
    assert (shown.returncode, shown.stdout) == (0, "")
    assert "4 entities, 3 relations" in shown.stderr
    assert ET.parse(tmp_path / "out.graphml").getroot().tag.endswith("graphml")
    again = graph("graph", "--export", "json", "--out", "out.graphml")
    assert (again.returncode, again.stdout) == (2, "")
    assert "name another file" in again.stderr
    assert graph("graph", "--export", "json", "--out", "out.graphml", "--force").returncode == 0
    assert json.loads((tmp_path / "out.graphml").read_text())["schema"] == 1
    # An unknown entity must not cost the file that is there.
    assert graph("graph", "-e", "json", "--around", "nobody", "-o", "out.graphml", "--force").returncode == 2
    assert json.loads((tmp_path / "out.graphml").read_text())["schema"] == 1


def test_an_export_to_standard_output_is_the_graph_and_nothing_else(graph):
    shown = graph("graph", "--export", "mermaid", "--around", "ledger", "--depth", "1", "-p", "user")
    assert shown.stdout == 'flowchart LR\n  n0["ledger"]\n  n1["queue"]\n  n0 ---|"moves"| n1\n'
    assert shown.stderr == ""


def test_an_export_is_utf8_in_a_terminal_that_is_not(open_memory, tmp_path):
    with open_memory() as memory:
        memory.prepare()
        store(memory, "Żółw zna 漢字.", ("Żółw", "漢字"), datetime(2026, 3, 1, tzinfo=UTC), "user")
    environ = {**os.environ, "RAGMEM_HOME": str(tmp_path / "ragmem"), "PYTHONIOENCODING": "ascii"}
    environ |= {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake"}
    done = subprocess.run(
        [sys.executable, "-m", "ragmem", "inspect", "graph", "--export", "json", "--all"],
        check=True,
        capture_output=True,
        env=environ,
    )
    assert {node["id"] for node in json.loads(done.stdout)["nodes"]} == {"Żółw", "漢字"}


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["graph", "--around", "queue"], "--export"),
        (["graph", "--out", "x"], "--export"),
        (["graph", "--export", "json", "--json"], "--json"),
        (["graph", "--export", "json", "--depth", "2"], "--around"),
        (["graph", "--export", "json", "--force"], "--out"),
        (["graph", "--export", "json", "--out", "nowhere/x"], "nowhere"),
        (["graph", "--export", "gif"], "gif"),
        (["graph", "--all", "--project", "user"], "--project"),
        (["entity", "queueu"], "similar names: queue"),
        (["entity", ""], '""'),
        (["path", "queue", "nobody"], '"nobody"'),
        (["path", "nobody", "queue"], '"nobody"'),
        (["timeline", "nobody"], '"nobody"'),
        (["timeline", "queue", "--since", "someday"], '"someday"'),
        (["communities", "--around", "nobody"], '"nobody"'),
        (["entity", "queue", "--project", "nope"], '"nope"'),
    ],
)
def test_a_mistake_is_told_in_one_line(graph, arguments, named):
    shown = graph(*arguments)
    assert (shown.returncode, shown.stdout) == (2, "")
    message, _, hint = shown.stderr.splitlines()
    assert message.startswith("ragmem: ")
    assert hint.startswith("hint: ")
    assert named in shown.stderr


@pytest.mark.parametrize(
    "line", ["entity x", "path x y", "communities", "timeline x", "graph", "graph --export json"]
)
def test_an_empty_home_says_how_to_fill_it(inside, tmp_path, line):
    shown = inside("inspect", *line.split(), RAGMEM_HOME=str(tmp_path / "none"))
    assert (shown.returncode, shown.stdout) == (2, "")
    assert "ragmem seed" in shown.stderr
