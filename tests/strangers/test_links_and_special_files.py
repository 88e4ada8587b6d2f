"""A folder may hold what others put there: links to elsewhere, pipes, sockets, names that are no text."""

import json
import os
import socket
from pathlib import Path

import pytest
from hostile_repositories import repository

SECRET = "# Diary\n\nThe secret word of the diary is wombatqueue, and nobody else may know it.\n"
NOTE = "# Harbour\n\nWe decided to bound the harbour queue at 700 entries, because it exhausted the memory.\n"


@pytest.fixture
def private():
    """A file of the person's own outside of every folder that is read, in a hidden folder."""
    path = Path.home() / ".ssh" / "diary.md"
    path.parent.mkdir()
    path.write_text(SECRET)
    return path


@pytest.fixture
def folder():
    made = Path.home() / "unpacked"
    made.mkdir()
    (made / "real.md").write_text(NOTE)
    return made


def stored(ragmem):
    done = ragmem("inspect", "memories", "--json")
    return done.stdout + ragmem("query", "wombatqueue", "--json").stdout


def special(folder):
    os.mkfifo(folder / "pipe.md")
    os.mkfifo(folder / "pipe")
    place = Path.cwd()
    os.chdir(folder)  # the path of a socket has room for about 100 bytes
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind("socket.md")
    finally:
        os.chdir(place)


def test_a_link_out_of_a_folder_is_named_and_not_read(folder, private, ragmem):
    (folder / "file.md").symlink_to(private)
    (folder / "below").symlink_to(private.parent, target_is_directory=True)
    (folder / "passwd.txt").symlink_to("/etc/passwd")
    done = ragmem("ingest", str(folder))

    assert done.returncode == 0
    assert len(done.stdout.split()) == 1
    assert all(f"{name}: a link that leads out" in done.stderr for name in ("file.md", "below", "passwd.txt"))
    assert "nobody else" not in stored(ragmem)


def test_a_link_within_a_folder_is_read_once_and_not_named(folder, ragmem):
    (folder / "again.md").symlink_to(folder / "real.md")
    (folder / "deep").mkdir()
    (folder / "deep" / "other.md").write_text(NOTE.replace("700", "800"))
    (folder / "same").symlink_to(folder / "deep", target_is_directory=True)
    done = ragmem("ingest", str(folder))

    assert len(done.stdout.split()) == 2
    assert "link" not in done.stderr


def test_a_folder_that_is_a_link_itself_is_read(folder, ragmem):
    alias = folder.parent / "alias"
    alias.symlink_to(folder, target_is_directory=True)

    assert len(ragmem("ingest", str(alias)).stdout.split()) == 1


def test_pipes_sockets_and_foreign_names_are_named_and_never_opened(folder, ragmem):
    special(folder)
    foreign = True
    try:
        Path(os.fsdecode(bytes(folder) + b"/\xff.md")).write_text(NOTE)
    except OSError:
        foreign = False  # this file system takes UTF-8 names only
    done = ragmem("ingest", str(folder), "--json")

    document = json.loads(done.stdout)
    assert len(document["memories"]) == 1
    told = "\n".join(document["warnings"])
    assert "pipe.md: a pipe" in told
    assert "pipe: a pipe" in told
    assert "socket.md: a socket" in told
    assert not foreign or "\\udcff.md: its name is not UTF-8" in told or "\\xff.md" in told


def test_a_folder_of_nothing_but_a_link_out_says_so(private, ragmem):
    folder = Path.home() / "trap"
    folder.mkdir()
    (folder / "notes.md").symlink_to(private)
    done = ragmem("ingest", str(folder))

    assert done.returncode == 2
    assert "notes.md: a link that leads out" in done.stderr


@pytest.mark.parametrize("marker", [".git", "CLAUDE.md"])
def test_a_seed_names_a_link_out_of_a_project_and_goes_on(private, ragmem, marker):
    trap = Path.home() / "repos" / "trap"
    trap.mkdir(parents=True)
    if marker == ".git":
        (trap / ".git").mkdir()
    (trap / "CLAUDE.md").symlink_to(private)
    plain = Path.home() / "repos" / "plain"
    plain.mkdir()
    (plain / "CLAUDE.md").write_text(NOTE)
    done = ragmem("seed", "--json")

    assert done.returncode == 0, done.stderr
    problems = json.loads(done.stdout)["problems"]
    assert [(one["level"], Path(one["place"]).parent.name) for one in problems] == [("warning", "trap")]
    assert "a link that leads out of" in problems[0]["reason"]
    assert "plain" in stored(ragmem)
    assert "nobody else" not in stored(ragmem)


def test_a_seed_does_not_read_another_project_through_a_link(ragmem):
    for name in ("own", "trap"):
        (Path.home() / "repos" / name / ".git").mkdir(parents=True)
    (Path.home() / "repos" / "own" / "diary.md").write_text(SECRET)
    (Path.home() / "repos" / "trap" / "CLAUDE.md").symlink_to("../own/diary.md")
    ragmem("seed")

    assert "nobody else" not in stored(ragmem)


def test_a_seed_follows_the_links_of_a_person_who_keeps_dotfiles(ragmem):
    kept = Path.home() / ".dotfiles" / "claude"
    (kept / "deploy").mkdir(parents=True)
    (kept / "deploy" / "SKILL.md").write_text(NOTE)
    (kept / "release.md").write_text(NOTE.replace("700", "900"))
    skills, commands = (Path.home() / ".claude" / name for name in ("skills", "commands"))
    skills.mkdir(parents=True)
    commands.mkdir()
    (skills / "deploy").symlink_to(kept / "deploy", target_is_directory=True)
    (commands / "release.md").symlink_to(kept / "release.md")
    done = ragmem("seed", "--json")

    assert sum(tally["new"] for tally in json.loads(done.stdout)["sources"]) == 2
    assert json.loads(done.stdout)["problems"] == []


@pytest.mark.parametrize("target", [".ssh/id_rsa", "/etc/passwd"])
def test_a_seed_follows_no_link_to_a_file_of_another_ending_or_outside_of_the_home(target, ragmem):
    key = Path.home() / ".ssh" / "id_rsa"
    key.parent.mkdir()
    key.write_text(SECRET)
    commands = Path.home() / ".claude" / "commands"
    commands.mkdir(parents=True)
    (commands / "notes.md").symlink_to(Path.home() / target)
    done = ragmem("seed", "--json")

    assert "a link that leads out" in done.stdout
    assert "nobody else" not in stored(ragmem)


def test_a_seed_never_waits_for_a_pipe_in_the_place_of_a_file(ragmem):
    skill = Path.home() / ".claude" / "skills" / "deploy"
    skill.mkdir(parents=True)
    os.mkfifo(skill / "SKILL.md")
    done = ragmem("seed", "--json")

    assert done.returncode == 3
    assert "a pipe" in done.stdout


def test_the_memory_of_what_a_link_once_gave_is_not_missing(private, ragmem):
    notes = Path.home() / ".claude" / "commands"
    notes.mkdir(parents=True)
    (notes / "kept.md").write_text(NOTE)
    ragmem("seed")
    (notes / "kept.md").unlink()
    (notes / "kept.md").symlink_to("/etc/hosts")
    done = ragmem("gc", "--missing", "--dry-run", "--json")

    assert "kept.md" not in done.stdout


def test_code_behind_a_link_out_of_a_repository_is_not_read(folder, ragmem):
    hidden = Path.home() / "own"
    hidden.mkdir()
    (hidden / "vault.py").write_text("def wombatqueue():\n    return 1\n")
    (folder / "pay.py").write_text("def charge():\n    return 1\n")
    (folder / "key.py").symlink_to(hidden / "vault.py")
    (folder / "vendored").symlink_to(hidden, target_is_directory=True)
    os.mkfifo(folder / "pipe.py")
    os.mkfifo(folder / ".gitignore")
    done = ragmem("ingest", "--code", str(folder), "--json")

    (code,) = json.loads(done.stdout)["code"]
    assert code["languages"] == {"python": 1}


def test_code_that_git_lists_below_a_folder_that_is_a_link_now_is_not_read(folder, ragmem):
    made = repository(folder / "repository", {"lib/vault.py": "x = 2\n", "pay.py": "x = 1\n"})
    (made / "lib").rename(folder / "own")
    (made / "lib").symlink_to(folder / "own", target_is_directory=True)
    done = ragmem("ingest", "--code", str(made), "--json")

    (code,) = json.loads(done.stdout)["code"]
    assert code["languages"] == {"python": 1}
