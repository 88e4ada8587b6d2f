"""Repositories are found where assistants have worked, and by `.git` in the home."""

import json
import subprocess
from pathlib import Path

import pytest

from ragmem.readers.repositories import MAX_DEPTH, find_repositories
from ragmem.readers.slugs import slug_of


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    return home


def repository(folder: Path) -> Path:
    folder.mkdir(parents=True)
    who = ("-c", "user.name=Sam", "-c", "user.email=sam@example.org")
    subprocess.run(["git", "init", "--quiet", "--template=", str(folder)], check=True)
    subprocess.run(["git", *who, "commit", "--quiet", "--allow-empty", "-m", "x"], cwd=folder, check=True)
    return folder


def codex(home: Path, cwd: Path | str, name: str = "a") -> None:
    file = home / ".codex/sessions/2026/01/02" / f"rollout-{name}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    payload = {"id": name, "cwd": str(cwd), "originator": "codex_cli", "instructions": "x" * 50_000}
    record = {"timestamp": "2026-01-02T00:00:00Z", "type": "session_meta", "payload": payload}
    file.write_text(json.dumps(record) + "\n")


def claude(home: Path, cwd: Path, *, named: bool = True) -> None:
    folder = home / ".claude/projects" / slug_of(cwd)
    folder.mkdir(parents=True)
    if named:
        first = {"type": "summary", "summary": 'they wrote "cwd":"/elsewhere"', "leafUuid": "u"}
        asked = {"role": "user", "content": "why?"}
        record = {"type": "user", "sessionId": "s", "uuid": "u", "cwd": str(cwd), "message": asked}
        (folder / "s.jsonl").write_text("".join(json.dumps(one) + "\n" for one in (first, record)))


def test_repositories_anywhere_in_the_home_are_found_in_order(home: Path) -> None:
    made = [repository(home / place) for place in ("work/b", "code/github.com/sam/a", "c")]
    (home / "work/no git/src").mkdir(parents=True)
    assert find_repositories(home).repositories == tuple(sorted(made))


def test_the_home_itself_is_no_repository_but_those_in_it_are(home: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(home)], check=True)
    made = repository(home / "a")
    codex(home, home)
    assert find_repositories(home).repositories == (made,)


@pytest.mark.parametrize("place", ["p/node_modules/x", ".cache/x", "Library/x", "p/venv/x", "p/Caches/x"])
def test_packages_and_caches_are_not_searched(home: Path, place: str) -> None:
    repository(home / place)
    assert find_repositories(home).repositories == ()


def test_a_cache_is_known_by_its_mark(home: Path) -> None:
    repository(home / "big/x")
    (home / "big/CACHEDIR.TAG").touch()
    assert find_repositories(home).repositories == ()


def test_a_session_names_a_repository_outside_of_the_home_or_deep_in_it(home: Path, tmp_path: Path) -> None:
    outside = repository(tmp_path / "srv/tideline")
    deep = repository(home.joinpath(*"abcdefgh"[: MAX_DEPTH + 1]))
    (outside / "src").mkdir()
    codex(home, outside / "src")
    claude(home, deep)
    assert find_repositories(home).repositories == (deep, outside)


def test_a_working_folder_without_git_counts_in_the_home_only(home: Path, tmp_path: Path) -> None:
    plain, elsewhere = home / "plain", tmp_path / "elsewhere"
    plain.mkdir()
    elsewhere.mkdir()
    for number, folder in enumerate((plain, elsewhere, home / "gone", home)):
        codex(home, folder, str(number))
    for name in ("/", "relative", "\0"):
        codex(home, name, slug_of(name))
    assert find_repositories(home).repositories == (plain,)


def test_a_project_folder_of_claude_code_names_its_repository_without_a_session(home: Path) -> None:
    deep = repository(home.joinpath(*"abcdefg"))
    claude(home, deep, named=False)
    assert find_repositories(home).repositories == (deep,)


def test_the_folders_of_assistants_are_no_repositories(home: Path) -> None:
    plugin = repository(home / ".claude/plugins/x")
    codex(home, plugin)
    assert find_repositories(home).repositories == ()


def test_worktrees_are_their_main_folder_and_a_submodule_is_its_own(home: Path) -> None:
    main, other = repository(home / "a/main"), repository(home / "b")
    add = ["git", "worktree", "add", "--quiet", str(home / "a/feature")]
    subprocess.run(add, cwd=main, check=True)
    allow = ("-c", "protocol.file.allow=always")
    subprocess.run(["git", *allow, "submodule", "--quiet", "add", str(other), "sub"], cwd=main, check=True)
    assert find_repositories(home).repositories == (main, other)
    codex(home, home / "a/feature")
    codex(home, main / "sub", "b")
    assert find_repositories(home).repositories == (main, main / "sub", other)


def test_a_git_file_does_not_lead_out_of_the_home(home: Path, tmp_path: Path) -> None:
    outside = repository(tmp_path / "private")
    trap = home / "trap"
    trap.mkdir()
    (trap / ".git").write_text(f"gitdir: {outside}/.git\n")
    assert find_repositories(home).repositories == (trap,)


def test_links_are_followed_at_the_top_of_the_home_only_and_never_in_circles(
    home: Path, tmp_path: Path
) -> None:
    repository(tmp_path / "disk/a")
    (home / "repos").symlink_to(tmp_path / "disk")
    (tmp_path / "disk/loop").symlink_to(tmp_path / "disk")
    (home / "again").symlink_to(home)
    (home / "up").symlink_to("/")
    (home / "deeper").mkdir()
    (home / "deeper/disk").symlink_to(tmp_path / "disk")
    assert find_repositories(home).repositories == (home / "repos/a",)


def test_a_huge_home_is_searched_near_first_and_says_that_it_was_cut(home: Path) -> None:
    near = repository(home / "z")
    for number in range(30):
        (home / f"d{number}/e").mkdir(parents=True)
    repository(home / "d0/e/far")
    found = find_repositories(home, max_folders=40)
    assert found.repositories == (near,)
    assert "more folders" in found.cut
    assert find_repositories(home).cut == ""


def test_a_broken_session_and_an_unreadable_folder_stop_nothing(home: Path) -> None:
    made = repository(home / "a")
    codex(home, made)
    (home / ".codex/sessions/2026/01/02/rollout-b.jsonl").write_bytes(b'\xff{"cwd":"\\ud800"')
    (home / ".codex/sessions/2026/01/02/rollout-c.jsonl").symlink_to("nowhere")
    closed = home / "closed"
    closed.mkdir(mode=0)
    assert find_repositories(home).repositories == (made,)
    closed.chmod(0o700)


def test_folders_of_notes_are_known_by_name_or_program(home: Path) -> None:
    for place in ("Notes", "Documents/Second Brain/.obsidian", "x/notes"):
        (home / place).mkdir(parents=True)
    assert find_repositories(home).notes == (home / "Documents/Second Brain", home / "Notes")


def test_no_home_gives_no_repository(tmp_path: Path) -> None:
    assert find_repositories(tmp_path / "nobody").repositories == ()
