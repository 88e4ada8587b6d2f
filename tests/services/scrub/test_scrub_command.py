"""`ragmem scrub` as a person uses it: what it shows, asks and answers."""

import json
import os
from pathlib import Path

import pytest

TOKEN = "Zanzibar7731Quay"


@pytest.fixture
def home() -> Path:
    return Path(os.environ["RAGMEM_HOME"])


@pytest.fixture
def filled(inside, tmp_path):
    note = tmp_path / "quay.md"
    note.write_text(
        f"# Quay\n\nWe decided that {TOKEN} gets PostgreSQL behind HarborGate, because it asked.\n"
    )
    for name in ("tide", "crane", "rope"):
        (tmp_path / f"{name}.md").write_text(
            f"# {name}\n\nThe {name} of the harbour uses SQLite since March.\n"
        )
    assert inside("ingest", str(tmp_path), "--quiet").returncode == 0
    return note


def test_it_shows_asks_cleans_and_proves(inside, filled, home):
    assert inside("scrub", "--help").returncode == 0
    shown = inside("scrub", TOKEN, "--dry-run")
    assert shown.returncode == 0
    assert "[redacted: scrubbed]" in shown.stdout
    assert "would clean 1 memory, 0 archived" in shown.stdout
    assert f"{filled} still has it" in shown.stderr

    refused = inside("scrub", TOKEN)
    assert refused.returncode == 2
    assert "there is no terminal to confirm it" in refused.stderr

    cleaned = inside("scrub", "-", "--yes", stdin=f"{TOKEN}\n")
    assert cleaned.returncode == 0
    assert cleaned.stdout.splitlines()[-1].startswith("0 left in ")
    assert not any(TOKEN.encode() in path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert inside("scrub", TOKEN, "--yes").stdout.startswith("nothing to remove\n0 left in ")
    for answer in (shown, refused, cleaned):
        assert TOKEN not in answer.stdout + answer.stderr


def test_the_document_tells_all_and_never_the_text(inside, filled, home):
    log = home / "state" / "hooks.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(f"asked {TOKEN}\n")
    settings = home / "config" / "config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(f"# {TOKEN}\n")
    answer = inside("scrub", TOKEN, "--yes", "--json")
    assert answer.returncode == 0
    told = json.loads(answer.stdout)
    assert (told["dry_run"], told["left"], len(told["memories"])) == (False, [], 1)
    assert (told["files"], told["config"], told["sources"]) == ([str(log)], [str(settings)], [str(filled)])
    assert told["changed"] == [told["memories"][0]["id"]]
    assert told["searched"]["files"] > 1
    assert TOKEN not in answer.stdout
    assert TOKEN in settings.read_text()


def test_what_cannot_be_cleaned_is_named_with_exit_3(inside, filled, home):
    other = home / "data" / "other.sqlite"
    other.write_bytes(b"SQLite format 3\0" + TOKEN.encode())
    answer = inside("scrub", TOKEN, "--yes")
    assert answer.returncode == 3
    assert f"left in {other}" in answer.stdout


@pytest.mark.parametrize(
    "case",
    [
        (["abc", "--yes"], "", "the pattern has fewer than 4 characters"),
        (["-", "--yes"], "\n", "the pattern is empty"),
        (["--regex", "--yes"], "", "--regex needs a PATTERN"),
        (["--regex", "(", "--yes"], "", "is not a regular expression"),
        (["harbour", "--yes"], "", "memories match"),
    ],
)
def test_what_cannot_be_meant_is_refused_and_changes_nothing(inside, filled, home, case):
    arguments, stdin, told = case
    before = (home / "data" / "memory.db").read_bytes()
    answer = inside("scrub", *arguments, stdin=stdin)
    assert answer.returncode == 2
    assert told in answer.stderr
    assert "hint: " in answer.stderr
    assert (home / "data" / "memory.db").read_bytes() == before
