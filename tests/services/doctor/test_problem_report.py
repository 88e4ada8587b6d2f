"""`ragmem feedback --report`: what helps in an issue, and nothing that is the person's own."""

import json
import os
from pathlib import Path

import pytest
from terminal import in_terminal

from ragmem import __version__
from ragmem.readers import failures

KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6"[:16]
TEXT = "Quokkas sleep behind the harbour office"


@pytest.fixture
def state():
    return Path(os.environ["RAGMEM_HOME"]) / "state"


@pytest.fixture
def troubled(ragmem, state, monkeypatch):
    """Store a memory, and let two inputs fail with messages that quote it and a secret."""
    assert ragmem("ingest", "-", "--project", "user", "--title", TEXT, stdin=f"{TEXT}.").returncode == 0
    monkeypatch.setattr(failures.LOG, "folder", state)
    monkeypatch.setattr(failures.LOG, "written", None)
    for _ in range(2):
        try:
            json.loads(f'{TEXT} "{KEY}"')
        except ValueError as error:
            failures.failure(
                RuntimeError(f"{TEXT}\n{KEY}\nin {Path.home()}/secret/notes.md").with_traceback(
                    error.__traceback__
                )
            )


@pytest.mark.usefixtures("troubled")
def test_a_report_has_versions_checks_and_errors_and_no_text_of_a_memory(ragmem):
    done = ragmem("feedback", "--report", "--dry-run")

    assert done.returncode == 0
    assert f"- ragmem {__version__}\n- Python 3." in done.stdout
    assert "- warning: backups: there are no backups" in done.stdout
    assert f"Z ragmem {__version__}: RuntimeError\n  - " in done.stdout
    assert "json/decoder.py:" in done.stdout
    # The same error twice is told once.
    assert done.stdout.count("RuntimeError") == 1
    for own in (TEXT, "Quokkas", KEY, "notes.md", str(Path.home())):
        assert own not in done.stdout


@pytest.mark.usefixtures("troubled")
def test_a_report_is_written_where_it_says_for_its_owner_alone(ragmem, state):
    before = set(state.iterdir())

    done = ragmem("feedback", "--report", "--yes")

    (path,) = set(state.iterdir()) - before
    assert (
        done.stderr
        == f"written to {path}; nothing was sent: read it, add what you did, and attach it to an issue\n"
    )
    assert path.read_text() == done.stdout.removesuffix("\n")
    assert path.stat().st_mode & 0o077 == 0


def test_a_dry_run_writes_nothing_and_json_has_the_report(ragmem, state, tmp_path):
    told = json.loads(ragmem("feedback", "--report", "--dry-run", "--json").stdout)
    assert told["path"] == ""
    assert not list(state.glob("ragmem-report*")) if state.exists() else True

    told = json.loads(
        ragmem("feedback", "--report", "--yes", "--json", "--out", str(tmp_path / "r.md")).stdout
    )
    assert told == {"schema": 1, "path": str(tmp_path / "r.md"), "report": (tmp_path / "r.md").read_text()}
    again = ragmem("feedback", "--report", "--yes", "--out", str(tmp_path / "r.md"))
    assert again.returncode == 2
    assert "already exists" in again.stderr


def test_a_person_sees_the_report_before_it_is_written(state):
    refused = in_terminal("feedback", "--report", keys="n\n", after="[y/N]")
    assert refused.code == 2
    assert not list(state.glob("ragmem-report*")) if state.exists() else True
    accepted = in_terminal("feedback", "--report", keys="y\n", after="[y/N]")
    assert accepted.code == 0
    assert accepted.written.index("## Versions") < accepted.written.index("[y/N]")
    assert len(list(state.glob("ragmem-report*"))) == 1


def test_without_a_person_nothing_is_written(ragmem, state):
    done = ragmem("feedback", "--report")

    assert done.returncode == 2
    assert "## Doctor" in done.stdout
    assert "ragmem feedback --report --dry-run" in done.stderr
    assert not list(state.glob("ragmem-report*")) if state.exists() else True


def test_a_broken_configuration_can_be_reported(ragmem):
    folder = Path(os.environ["RAGMEM_HOME"]) / "config"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("[query\n")

    done = ragmem("feedback", "--report", "--dry-run")

    assert done.returncode == 0
    assert "- failed: configuration: " in done.stdout


def test_a_bug_is_told_by_its_places_in_the_code(ragmem, tmp_path):
    trace = (
        f"ragmem {__version__}, Python 3.11\nTraceback (most recent call last):\n"
        f'  File "/home/sam/ragmem/lib/python3.11/site-packages/ragmem/readers/text.py", line 7, in read\n'
        f"    raise ValueError(text)\nValueError: {TEXT}\nKeyOfMine: x\n"
    )
    (tmp_path / "ragmem-bug-1.txt").write_text(trace)

    done = ragmem("feedback", "--report", "--dry-run", TMPDIR=str(tmp_path))

    assert f"Z ragmem {__version__}, a bug: ValueError\n  - ragmem/readers/text.py:7 in read\n" in done.stdout
    assert "sam" not in done.stdout
    assert "KeyOfMine" not in done.stdout


@pytest.mark.parametrize(
    "arguments", [[], ["3q7hn2zk5x4m"], ["--yes"], ["x", "good", "--report"], ["x", "good", "--out", "f"]]
)
def test_half_a_rating_is_refused(ragmem, arguments):
    done = ragmem("feedback", *arguments)

    assert (done.returncode, done.stdout) == (2, "")
    assert "hint: ragmem feedback" in done.stderr
