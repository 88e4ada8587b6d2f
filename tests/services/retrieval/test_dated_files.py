"""Files are dated by what they say of themselves, else by their last commit, else by their modification."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hostile_repositories import git, repository

WRITTEN = datetime(2024, 3, 5, 9, tzinfo=UTC)
LATER = datetime(2025, 8, 9, 10, tzinfo=UTC)
TEXTS = {
    name: f"# The {name} queue\n\nWe bounded the {name} queue at {number} entries, because it was full.\n"
    for number, name in enumerate(["harbour", "quay", "2023-04-05 mole", "pier"], start=700)
}


@pytest.fixture
def origin(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_AUTHOR_DATE", WRITTEN.isoformat())
    monkeypatch.setenv("GIT_COMMITTER_DATE", WRITTEN.isoformat())
    made = repository(tmp_path / "origin", {f"{name}.md": text for name, text in TEXTS.items()})
    (made / "quay.md").write_text(TEXTS["quay"] + "\nSince then it holds.\n")
    monkeypatch.setenv("GIT_AUTHOR_DATE", LATER.isoformat())
    git(made, "commit", "-qam", "later")
    return made


@pytest.fixture
def clone(origin):
    """Return a fresh clone: all its files were modified just now."""
    folder = Path.home() / "repos" / "notes"
    folder.parent.mkdir(parents=True, exist_ok=True)
    git(origin, "clone", "-q", str(origin), str(folder))
    return folder


def dates_of(ragmem):
    told = json.loads(ragmem("inspect", "memories", "--json").stdout)["memories"]
    return {Path(one["uri"]).stem: datetime.fromisoformat(one["event_time"]) for one in told}


def sources(folder):
    path = folder.parent / "sources.toml"
    path.write_text(f'[sources.notes]\nglob = "{folder}/*.md"\nsignal = "off"\n')
    return path


EXPECTED = {
    "harbour": WRITTEN,
    "quay": LATER,
    "2023-04-05 mole": datetime(2023, 4, 5, tzinfo=UTC),
    "pier": WRITTEN,
}


def test_a_seed_of_a_fresh_clone_dates_files_by_their_commits(clone, ragmem):
    done = ragmem("seed", "--sources", str(sources(clone)))
    assert done.returncode == 0, done.stderr
    assert dates_of(ragmem) == EXPECTED


def test_a_folder_that_is_handed_in_is_dated_in_the_same_way(clone, ragmem):
    done = ragmem("ingest", str(clone))
    assert done.returncode == 0, done.stderr
    assert dates_of(ragmem) == EXPECTED


def test_a_file_that_is_put_into_the_inbox_is_dated_when_it_is_taken_in(clone, ragmem):
    done = ragmem("ingest", "--buffer", str(clone / "quay.md"))
    assert done.returncode == 0, done.stderr
    ragmem("ingest", "--drain")
    assert dates_of(ragmem) == {"quay": LATER}


def test_a_file_that_is_at_work_has_its_time_of_modification(clone, ragmem):
    text = TEXTS["pier"] + "\nNobody has committed that yet.\n"
    (clone / "pier.md").write_text(text)
    modified = datetime(2026, 1, 2, 3, tzinfo=UTC)
    os.utime(clone / "pier.md", (modified.timestamp(),) * 2)
    ragmem("ingest", str(clone))
    assert dates_of(ragmem) == {**EXPECTED, "pier": modified}


def test_a_file_that_is_touched_keeps_the_date_of_its_commit_and_its_vectors(clone, ragmem):
    told = sources(clone)
    ragmem("seed", "--sources", str(told))
    moment = datetime.now(UTC) - timedelta(days=1)
    os.utime(clone / "quay.md", (moment.timestamp(),) * 2)
    done = ragmem("seed", "--sources", str(told), "--json")
    assert json.loads(done.stdout)["sources"][0]["changed"] == 0
    assert dates_of(ragmem) == EXPECTED


def test_what_was_dated_by_older_rules_is_dated_anew_and_not_indexed_anew(clone, ragmem, monkeypatch):
    told = sources(clone)
    ragmem("seed", "--sources", str(told))
    from ragmem.api.memory import Ragmem

    with Ragmem.open() as memory:
        ids = memory.catalog.memories.ids()
        memory.catalog.memories.redate(dict.fromkeys(ids, datetime(2026, 1, 1, tzinfo=UTC)))
        with memory.catalog.database.write() as connection:
            connection.execute("UPDATE files SET rules = 'older'")
        before = {one.id: one.updated_at for one in memory.catalog.memories.get(ids).values()}
    done = ragmem("seed", "--sources", str(told), "--json")
    assert json.loads(done.stdout)["sources"][0]["changed"] == 0
    assert dates_of(ragmem) == EXPECTED
    with Ragmem.open() as memory:
        assert {one.id: one.updated_at for one in memory.catalog.memories.get(before).values()} == before


def test_to_put_a_file_into_the_inbox_runs_no_git(clone, ragmem, tmp_path, monkeypatch):
    programs, asked = tmp_path / "programs", tmp_path / "asked"
    programs.mkdir()
    (programs / "git").write_text(f"#!/bin/sh\necho asked >> '{asked}'\nexit 1\n")
    (programs / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    done = ragmem("ingest", "--buffer", str(clone / "quay.md"))
    assert done.returncode == 0, done.stderr
    assert not asked.exists()
    ragmem("ingest", "--drain")
    assert asked.exists()
