"""Projects keep their memories when they move, are renamed or get a remote."""

import subprocess
from pathlib import Path

import pytest

from ragmem.api.memory import Ragmem
from ragmem.domain.model import Draft, Scope
from ragmem.services.ingestion.options import DraftOptions

NOTE = "We resolved the error of the lock: the config of the pool was the root cause.\n"


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=Sam", "-c", "user.email=sam@example.org"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "home" / "work" / "kiln"
    folder.mkdir(parents=True)
    (folder / "note.md").write_text(NOTE)
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "Begin")
    return folder


def hand_in(memory: Ragmem, path: Path) -> str:
    handed = memory.ingestion.draft([path], DraftOptions())
    (stored,) = memory.ingest(handed.drafts, projects=handed.projects)
    return stored.memory.scope.project


def at(memory: Ragmem, folder: Path) -> tuple[str, ...] | None:
    return Ragmem(memory.settings, home=memory.home, cwd=folder).projects.default()


def test_a_folder_of_a_project_asks_the_project_and_the_person(memory, repository):
    project = hand_in(memory, repository / "note.md")
    (repository / "src").mkdir()
    assert at(memory, repository / "src") == (project, "user")
    assert at(memory, repository.parent) is None


def test_a_moved_and_renamed_repository_is_the_same_project(memory, repository):
    project = hand_in(memory, repository / "note.md")
    moved = repository.parent.parent / "furnace"
    repository.rename(moved)
    assert at(memory, moved) == (project, "user")
    assert hand_in(memory, moved / "note.md") == project


def test_a_remote_that_is_added_later_does_not_make_a_new_project(memory, repository):
    project = hand_in(memory, repository / "note.md")
    git(repository, "remote", "add", "origin", "https://example.org/sam/kiln.git")
    assert hand_in(memory, repository / "note.md") == project


def test_a_clone_with_another_remote_is_the_same_project(memory, repository):
    git(repository, "remote", "add", "origin", "https://example.org/sam/kiln.git")
    project = hand_in(memory, repository / "note.md")
    fork = repository.parent / "fork"
    git(repository.parent, "clone", "--quiet", str(repository), str(fork))
    git(fork, "remote", "set-url", "origin", "https://example.org/ana/kiln.git")
    assert at(memory, fork) == (project, "user")
    assert hand_in(memory, fork / "note.md") == project
    assert memory.catalog.projects.remotes()[project] == [
        "example.org/ana/kiln",
        "example.org/sam/kiln",
    ]
    assert memory.catalog.projects.names()[project] == "kiln"


def test_a_changed_remote_does_not_make_a_new_project(memory, repository):
    git(repository, "remote", "add", "origin", "https://example.org/sam/kiln.git")
    project = hand_in(memory, repository / "note.md")
    for change in (("set-url", "origin", "https://example.org/works/oven.git"), ("remove", "origin")):
        git(repository, "remote", *change)
        assert at(memory, repository) == (project, "user")
        assert hand_in(memory, repository / "note.md") == project


def test_an_id_is_taken_though_another_project_has_it_as_its_name(memory, repository):
    memory.ingest([Draft("notes", "n", NOTE, scope=Scope("kiln"))], rule="off")
    other = hand_in(memory, repository / "note.md")
    assert memory.catalog.projects.find("kiln") == sorted(["kiln", other])
    assert memory.projects.resolve(["kiln"]) == ("kiln",)
    assert memory.projects.resolve([other]) == (other,)
