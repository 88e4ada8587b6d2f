"""What `ragmem projects` does to the memories of projects."""

import json
import os
import sqlite3
from pathlib import Path

import pytest


@pytest.fixture
def home(ragmem, monkeypatch):
    """Return the folder of two projects, each with a memory of its own."""
    root = Path.home()
    for name in ("harbour", "quay"):
        (root / name).mkdir()
        (root / name / "CLAUDE.md").write_text("# Rules\n")
        monkeypatch.chdir(root / name)
        stored = ragmem("ingest", "-", stdin=f"The {name} closes at nine because the tide is low.")
        assert stored.returncode == 0, stored.stderr
    monkeypatch.chdir(root)
    return root


def projects(ragmem):
    done = ragmem("projects", "list", "--json")
    return {one["name"]: one for one in json.loads(done.stdout)["projects"] if one["name"] != "user"}


def found_in(ragmem, project):
    done = ragmem("query", "closes at nine", "--project", project, "--nearest", "--json")
    return {one["text"].split()[1] for one in json.loads(done.stdout)["matches"]}


def test_what_was_joined_is_found_under_both_names_and_can_be_split_again(ragmem, home):
    former = projects(ragmem)["quay"]["id"]
    tried = ragmem("projects", "join", "quay", "harbour", "--dry-run")
    assert tried.returncode == 0, tried.stderr
    assert set(projects(ragmem)) == {"harbour", "quay"}

    joined = ragmem("projects", "join", "quay", "harbour")
    assert joined.returncode == 0, joined.stderr
    assert set(projects(ragmem)) == {"harbour"}
    assert found_in(ragmem, "harbour") == found_in(ragmem, former) == {"harbour", "quay"}

    parted = ragmem("projects", "split", "harbour", former)
    assert parted.returncode == 0, parted.stderr
    assert found_in(ragmem, "harbour") == {"harbour"}
    assert found_in(ragmem, former) == {"quay"}


def test_a_folder_that_was_moved_keeps_its_memories(ragmem, home, monkeypatch):
    (home / "quay").rename(home / "pier")
    moved = ragmem("projects", "move", "quay", "pier")
    assert moved.returncode == 0, moved.stderr
    monkeypatch.chdir(home / "pier")
    told = ragmem("query", "closes at nine", "--nearest", "--ids")
    assert told.returncode == 0, told.stderr


def test_a_new_name_is_shown_and_finds_the_project(ragmem, home):
    assert ragmem("projects", "rename", "quay", "Pier").returncode == 0
    assert "Pier" in projects(ragmem)
    assert found_in(ragmem, "Pier") == {"quay"}


def test_a_memory_is_assigned_to_another_project(ragmem, home):
    shown = json.loads(ragmem("query", "closes at nine", "--project", "quay", "--nearest", "--json").stdout)
    assigned = ragmem("projects", "assign", shown["matches"][0]["id"], "--to", "harbour")
    assert assigned.returncode == 0, assigned.stderr
    assert found_in(ragmem, "harbour") == {"harbour", "quay"}


def test_an_unknown_project_is_named(ragmem, home):
    done = ragmem("projects", "join", "nowhere", "harbour")
    assert done.returncode == 2
    assert "nowhere" in done.stderr


def test_what_a_person_assigned_stays_there_when_its_file_changes(ragmem, home):
    note = home / "quay" / "note.md"
    note.write_text("The quay is painted in March because the paint needs dry days.\n")
    identifier = ragmem("ingest", str(note)).stdout.split()[0]
    assert ragmem("projects", "assign", identifier, "--to", "harbour").returncode == 0
    note.write_text("The quay is painted in April because the paint needs dry days.\n")
    again = ragmem("ingest", str(note))
    assert again.stdout.split()[0] == identifier
    shown = json.loads(ragmem("inspect", "memory", identifier, "--json").stdout)
    assert "April" in json.dumps(shown)
    assert projects(ragmem)["harbour"]["memories"] == 2
    assert projects(ragmem)["quay"]["memories"] == 1


def test_assign_says_what_is_missing(ragmem, home):
    for arguments in ((), ("abcdef",), ("--to", "harbour"), ("--named", "--to", "harbour")):
        done = ragmem("projects", "assign", *arguments)
        assert done.returncode == 2, arguments
        assert "--named" in done.stderr


def ties(folder):
    with sqlite3.connect(folder / "data" / "memory.db") as connection:
        return {
            name: sorted(connection.execute(f"SELECT * FROM {name}").fetchall())
            for name in ("project_aliases", "project_remotes", "project_commits", "project_moves")
        } | {"meta": sorted(connection.execute("SELECT * FROM meta WHERE key LIKE 'forgotten/%'").fetchall())}


@pytest.fixture
def changed(ragmem, home):
    """Join, assign, rename and forget; return an id that was assigned."""
    former = projects(ragmem)["quay"]["id"]
    (home / "harbour" / "crane.md").write_text("The crane is checked in May because of the wind.")
    (home / "harbour" / "buoy.md").write_text("The buoy is green because the channel is narrow.")
    crane = ragmem("ingest", "harbour/crane.md").stdout.split()[0]
    buoy = ragmem("ingest", "harbour/buoy.md").stdout.split()[0]
    for arguments in (
        ("projects", "join", "quay", "harbour"),
        ("projects", "assign", crane, "--to", "user"),
        ("projects", "rename", "harbour", "The Harbour"),
        ("forget", buoy, "--yes"),
    ):
        assert ragmem(*arguments).returncode == 0, arguments
    return crane, former


def test_an_export_carries_what_leads_to_projects_and_what_was_moved_and_forgotten(
    ragmem, home, changed, tmp_path
):
    crane, former = changed
    assert ragmem("export", str(tmp_path / "all.jsonl")).returncode == 0
    before = ties(Path(os.environ["RAGMEM_HOME"]))
    assert before["project_aliases"]
    assert before["project_moves"]
    assert before["meta"]

    other = {"RAGMEM_HOME": str(tmp_path / "other")}
    done = ragmem("import", str(tmp_path / "all.jsonl"), **other)
    assert done.returncode == 0, done.stderr
    assert ties(tmp_path / "other") == before
    assert ragmem("export", str(tmp_path / "again.jsonl"), **other).returncode == 0
    first, again = ((tmp_path / name).read_text().splitlines() for name in ("all.jsonl", "again.jsonl"))
    assert first[1:] == again[1:]
    # What is stored again lands where it was, and what was forgotten stays so.
    assert ragmem("ingest", "harbour/crane.md", **other).stdout.split()[0] == crane
    assert ragmem("projects", "split", "The Harbour", former, **other).returncode == 0


def test_a_purged_memory_leaves_no_trace_of_its_move(ragmem, home, changed):
    crane, _ = changed
    assert ragmem("forget", crane, "--purge", "--yes").returncode == 0
    assert crane not in str(ties(Path(os.environ["RAGMEM_HOME"]))["project_moves"])
