"""What `ragmem projects` does to the memories of projects."""

import json
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
