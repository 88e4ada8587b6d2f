"""A seed of a whole home says what it saw and did not read, and nothing of sources that nobody has."""

import json
from pathlib import Path

import pytest


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "sam"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("RAGMEM_HOME", str(home / ".ragmem"))
    monkeypatch.delenv("RAGMEM_CONFIG_DIR", raising=False)
    monkeypatch.chdir(home)
    return home


def write(home: Path, **files: str) -> None:
    for name, text in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def session(home: Path, cwd: Path) -> None:
    payload = {"id": "x", "cwd": str(cwd), "originator": "codex_cli"}
    record = {"timestamp": "2026-01-02T00:00:00Z", "type": "session_meta", "payload": payload}
    write(home, **{".codex/sessions/2026/01/02/rollout-x.jsonl": json.dumps(record) + "\n"})


def test_an_empty_home_says_one_line(inside, home):
    done = inside("seed")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "note: no source has any files; `ragmem inspect sources` shows the globs\n"


def test_only_a_named_source_says_that_it_has_no_file(inside, home):
    write(home, **{".claude/CLAUDE.md": "Run the tests before a commit."})
    done = inside("seed")
    assert [line.split()[0] for line in done.stdout.splitlines()[:2]] == ["source", "instructions"]
    assert done.stderr == ""
    named = inside("seed", "--source", "skills")
    assert named.stderr == "note: source skills: no file matches ~/.claude/skills/*/SKILL.md\n"
    assert named.stdout.splitlines()[1].split()[:2] == ["skills", "0"]


def test_what_was_seen_and_not_read_is_told_with_its_command(inside, home):
    session(home, home / "work/tide")
    write(
        home,
        **{
            "work/tide/CLAUDE.md": "Use pnpm.",
            "work/tide/README.md": "Tide",
            "work/tide/docs/a.md": "a",
            "work/tide/docs/b.md": "b",
            "notes/x.md": "note",
            "My Vault/.obsidian/app.json": "{}",
            "My Vault/y.md": "note",
            "Documents/z.pdf": "%PDF",
        },
    )
    size = (home / ".codex/sessions/2026/01/02/rollout-x.jsonl").stat().st_size
    pages = "ragmem ingest ~/work/tide/docs ~/work/tide/README.md"
    lines = [
        f"not read: transcripts, 1 file, {size} B: ragmem seed --source transcripts",
        "not read: documents, 1 file, 4 B: ragmem seed --source documents",
        f"not read: notes in '{home}/My Vault', 1 file, 4 B: ragmem ingest '{home}/My Vault'",
        "not read: notes in ~/notes, 1 file, 4 B: ragmem ingest ~/notes",
        f"not read: README, docs and notes of repositories, 3 files, 6 B: {pages}",
    ]
    for arguments in (["--dry-run"], []):
        assert inside("seed", *arguments).stderr.splitlines() == lines
    (told, *_) = json.loads(inside("seed", "--json").stdout)["unread"]
    assert told == {
        "what": "transcripts",
        "files": 1,
        "bytes": size,
        "more": False,
        "command": "ragmem seed --source transcripts",
        "reason": "its source is off by default, because it may have gigabytes",
        "places": ["~/.codex/sessions/2026/01/02/rollout-x.jsonl"],
    }
    assert inside("seed", "--quiet").stderr == ""
    assert inside("seed", "--source", "claudemds").stderr == ""


def test_what_was_read_meanwhile_is_not_told_again(inside, home):
    session(home, home)
    write(home, **{"notes/x.md": "We decided on SQLite, because of the error.", "notes/y.md": "Use pnpm."})
    assert len(inside("seed").stderr.splitlines()) == 3
    assert inside("ingest", "notes").returncode == 0
    assert inside("seed", "--source", "transcripts").returncode in {0, 3}
    told = [line for line in inside("seed").stderr.splitlines() if line.startswith("not read: ")]
    assert told == []


def test_more_than_five_lines_are_never_told(inside, home):
    write(home, **{f"vault {number}/.obsidian/app.json": "{}" for number in range(9)})
    write(home, **{f"vault {number}/x.md": "note" for number in range(9)})
    lines = inside("seed", "--dry-run").stderr.splitlines()
    assert len([line for line in lines if "ragmem ingest" in line]) == 4
    assert lines[-1] == "... and 5 more; --json lists all"


def test_sources_of_ones_own_alone_look_nowhere_else(inside, home):
    write(home, **{"notes/x.md": "note", "own.toml": '[sources.a]\nglob = "a/*.md"\n', "a/b.md": "Use pnpm."})
    assert inside("seed", "--sources", "own.toml").stderr == ""
