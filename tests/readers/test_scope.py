"""Projects of paths: one identity per project, whatever its folder is called."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.config.settings import SourceSpec
from ragmem.domain.model import USER
from ragmem.readers.git import normalize_remote, repository_at
from ragmem.readers.scope import ProjectFinder, ProjectIdentity
from ragmem.readers.slugs import resolve_slug, slug_of


@pytest.fixture(autouse=True)
def quiet_git(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "nobody"))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "wrong"))


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(
        ["git", "-C", str(folder), *arguments],
        check=True,
        capture_output=True,
        env={
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(folder),
            "GIT_AUTHOR_NAME": "sam",
            "GIT_AUTHOR_EMAIL": "sam@tideline.example",
            "GIT_COMMITTER_NAME": "sam",
            "GIT_COMMITTER_EMAIL": "sam@tideline.example",
            "GIT_AUTHOR_DATE": f"2026-01-01T00:00:{len(folder.name) % 60:02d}Z",
            "GIT_COMMITTER_DATE": f"2026-01-01T00:00:{len(folder.name) % 60:02d}Z",
        },
    )


def repository(folder: Path, *, remote: str = "", commit: bool = True) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    if commit:
        (folder / "README.md").write_text(folder.name)
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", "first")
    if remote:
        git(folder, "remote", "add", "origin", remote)
    return folder


def project(home: Path, path: Path) -> ProjectIdentity:
    found = ProjectFinder(home).project_of(path)
    assert found is not None
    return found


# --- git


def test_a_project_keeps_its_id_when_its_folder_moves(tmp_path: Path) -> None:
    folder = repository(tmp_path / "repos/tideline", remote="https://git.example/sam/tideline.git")
    before = project(tmp_path, folder / "README.md")
    folder.rename(tmp_path / "elsewhere")
    after = project(tmp_path, tmp_path / "elsewhere")
    assert before.id == after.id
    assert before.name == "tideline"
    assert before.id.startswith("tideline-")
    assert len(before.fingerprint) == 8
    assert after.root == tmp_path / "elsewhere"


def test_without_remote_a_rename_changes_the_name_and_not_the_fingerprint(tmp_path: Path) -> None:
    folder = repository(tmp_path / "tideline")
    before = project(tmp_path, folder)
    folder.rename(tmp_path / "harbour")
    after = project(tmp_path, tmp_path / "harbour")
    assert (before.name, after.name) == ("tideline", "harbour")
    assert before.fingerprint == after.fingerprint


def test_all_worktrees_and_subfolders_are_one_project(tmp_path: Path) -> None:
    folder = repository(tmp_path / "repos/tideline")
    git(folder, "worktree", "add", "-q", str(tmp_path / "trees/fix-queue"))
    (folder / "src/deep").mkdir(parents=True)
    main = project(tmp_path, folder)
    assert project(tmp_path, tmp_path / "trees/fix-queue/README.md") == main
    assert project(tmp_path, folder / "src/deep") == main
    assert main.root == folder


def test_two_projects_have_two_ids(tmp_path: Path) -> None:
    one = repository(tmp_path / "tideline", remote="git@git.example:sam/tideline.git")
    other = repository(tmp_path / "gullwing", remote="git@git.example:sam/gullwing.git")
    assert project(tmp_path, one).id != project(tmp_path, other).id


def test_a_variable_of_git_does_not_change_the_answer(tmp_path: Path) -> None:
    assert project(tmp_path, repository(tmp_path / "tideline")).git_root_commit


def test_an_empty_repository_is_known_by_its_path(tmp_path: Path) -> None:
    found = project(tmp_path, repository(tmp_path / "new", commit=False))
    assert (found.name, found.git_root_commit, found.remote) == ("new", "", "")


def test_a_broken_repository_never_raises(tmp_path: Path) -> None:
    (tmp_path / "broken/.git").mkdir(parents=True)
    assert repository_at(tmp_path / "broken") is None
    assert repository_at(tmp_path / "gone") is None
    assert project(tmp_path, tmp_path / "broken").name == "broken"


def test_without_git_on_the_path_the_folder_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = repository(tmp_path / "tideline")
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert project(tmp_path, folder).git_root_commit == ""


@pytest.mark.parametrize(
    "url",
    [
        "https://git.example/sam/tideline.git",
        "https://sam:secret@git.example/sam/tideline",
        "https://token@GIT.example/sam/tideline.git/",
        "ssh://git@git.example:22/sam/tideline.git",
        "git@git.example:sam/tideline.git",
        "git.example:sam/tideline",
    ],
)
def test_all_forms_of_a_remote_are_one_and_carry_no_secret(url: str) -> None:
    assert normalize_remote(url) == "git.example/sam/tideline"


# --- without git


def test_a_folder_without_git_is_known_by_its_path_in_the_home(tmp_path: Path) -> None:
    for home in ("one", "other"):
        (tmp_path / home / "repos/gullwing/src").mkdir(parents=True)
        (tmp_path / home / "repos/gullwing/CLAUDE.md").write_text("x")
    found = [project(tmp_path / home, tmp_path / home / "repos/gullwing/src") for home in ("one", "other")]
    assert found[0].id == found[1].id
    assert found[0].name == "gullwing"
    assert found[0].root == tmp_path / "one/repos/gullwing"


def test_a_home_under_version_control_is_not_one_big_project(tmp_path: Path) -> None:
    home = repository(tmp_path / "home")
    (home / "repos/gullwing").mkdir(parents=True)
    assert project(home, home / "repos/gullwing").name == "gullwing"
    assert ProjectFinder(home).project_of(home) is None
    assert ProjectFinder(home).project_of(home / "note.md") is None


# --- slugs


def test_a_slug_is_claude_codes_folder_name() -> None:
    assert slug_of("/home/sam/repos/tide.api_v2") == "-home-sam-repos-tide-api-v2"
    assert slug_of("/Users/zoë/x 🌊") == "-Users-zo--x---"


def test_a_slug_finds_its_folder_even_where_names_have_dashes_and_dots(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for folder in ("repos/tide-api", "repos/tide", "repos/.config/nvim", "repos/my.site"):
        (home / folder).mkdir(parents=True)
    for folder in ("repos/tide-api", "repos/tide", "repos/.config/nvim", "repos/my.site", ""):
        assert resolve_slug(slug_of(home / folder), home) == home / folder
    assert resolve_slug(slug_of(home / "repos/gone"), home) is None


def test_of_two_folders_with_one_slug_the_repository_wins(tmp_path: Path) -> None:
    (tmp_path / "tide-api").mkdir()
    (tmp_path / "tide/api").mkdir(parents=True)
    assert resolve_slug(slug_of(tmp_path / "tide-api"), tmp_path) == tmp_path / "tide-api"
    (tmp_path / "tide/api/.git").mkdir()
    assert resolve_slug(slug_of(tmp_path / "tide-api"), tmp_path) == tmp_path / "tide/api"


def test_a_slug_from_another_machine_is_looked_up_in_this_home(tmp_path: Path) -> None:
    (tmp_path / "repos/tideline").mkdir(parents=True)
    for slug in ("-Users-sam-repos-tideline", "-home-sam-lee-repos-tideline"):
        assert resolve_slug(slug, tmp_path) == tmp_path / "repos/tideline"


def test_the_slug_of_a_worktree_that_is_gone_gives_its_project(tmp_path: Path) -> None:
    (tmp_path / "repos/tideline").mkdir(parents=True)
    slug = slug_of(tmp_path / "repos/tideline/.claude/worktrees/fix-queue")
    assert resolve_slug(slug, tmp_path) == tmp_path / "repos/tideline"


def test_memories_by_slug_and_instructions_by_place_meet_in_one_project(tmp_path: Path) -> None:
    folder = repository(tmp_path / "repos/tideline")
    note = tmp_path / ".claude/projects" / slug_of(folder) / "memory/a.md"
    finder = ProjectFinder(tmp_path)
    by_slug = finder.scope_of(note, SourceSpec("memory", ("x",), base=tmp_path, scope="slug"))
    by_place = finder.scope_of(
        folder / "CLAUDE.md", SourceSpec("claudemds", ("x",), base=tmp_path, scope="project")
    )
    assert by_slug == by_place
    assert by_slug.project.startswith("tideline-")


def test_a_slug_without_folder_has_an_identity_of_its_own_each_time_the_same(tmp_path: Path) -> None:
    one, other = (ProjectFinder(tmp_path).project_of_slug("-home-sam-repos-gone") for _ in range(2))
    assert one == other
    assert one is not None
    assert one.root is None
    assert one.id.startswith("home-sam-repos-gone-")


def test_what_belongs_to_no_project_belongs_to_the_user(tmp_path: Path) -> None:
    finder = ProjectFinder(tmp_path)
    slug = SourceSpec("memory", ("x",), base=tmp_path, scope="slug")
    assert finder.scope_of(tmp_path / "notes/a.md", slug).project == USER
    assert (
        finder.scope_of(tmp_path / ".claude/projects" / slug_of(tmp_path) / "memory/a.md", slug).project
        == USER
    )
    assert finder.scope_of(tmp_path / "a.md", SourceSpec("x", ("x",), base=tmp_path)).project == USER


@given(st.text(max_size=30))
def test_a_slug_has_letters_digits_and_dashes_only(text: str) -> None:
    slug = slug_of(text)
    assert all(character == "-" or (character.isascii() and character.isalnum()) for character in slug)
    assert slug_of(slug) == slug


@given(st.text("ab-/.", max_size=12))
def test_looking_up_any_slug_ends(text: str) -> None:
    assert resolve_slug(text, Path("/nonexistent/home")) is None or text
