"""On a terminal a large folder is asked about, a bar shows how far it is, and nothing of it stays."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from terminal import in_terminal, screen

from ragmem.services.ingestion import folder_survey

QUESTION = "[y/N]: "
BAR = "━"


@pytest.fixture
def small(notes_in):
    return notes_in("notes", 30)


def stored() -> bool:
    return (Path(os.environ["RAGMEM_HOME"]) / "data" / "memory.db").exists()


def test_yes_reads_a_large_folder(large):
    shown = in_terminal("ingest", str(large), keys="y\r", after=QUESTION)
    assert shown.code == 0
    assert shown.lines[0].startswith(f'"{large}": 201 files, ')
    assert shown.lines[1] == f"read it? {QUESTION}y"
    assert sum(line.startswith("  new, ") for line in shown.lines) == folder_survey.MANY_FILES + 1


@pytest.mark.parametrize("keys", ["n\r", "\r", "\x04", "no\r", "what\rn\r"])
def test_no_and_an_end_of_input_read_nothing(large, keys):
    shown = in_terminal("ingest", str(large), keys=keys, after=QUESTION)
    assert shown.code == 2
    # Keys that are pressed before they are asked for are shown before the question.
    assert any(line.endswith("ragmem: nothing was read") for line in shown.lines)
    assert not stored()


def test_an_interrupted_question_reads_nothing_and_says_so_on_a_line_of_its_own(large):
    shown = in_terminal("ingest", str(large), keys="\x03", after=QUESTION)
    assert shown.code == 130
    assert "ragmem: interrupted; finished work is stored" in shown.lines
    assert not stored()


def test_the_other_questions_take_an_end_of_input_for_no(small, ragmem):
    assert ragmem("ingest", str(small)).returncode == 0
    shown = in_terminal("forget", "--source", "ingest", "--allow-large", keys="\x04", after=QUESTION)
    assert shown.code == 2, shown.lines
    assert any(line.startswith("ragmem: nothing was") for line in shown.lines)


SHOWING = [
    ["ingest", "--dry-run", "FOLDER"],
    ["ingest", "FOLDER"],
    ["ingest", "--code", "FOLDER"],
    ["seed"],
    ["seed", "--rebuild"],
    ["gc", "--dry-run"],
    ["export", "--force", "HOME/all.jsonl"],
    ["import", "HOME/all.jsonl"],
    ["backup", "--force", "HOME/all.tar.gz"],
]


def test_a_bar_is_shown_for_long_work_and_nothing_of_it_stays(small):
    (small / ".git").mkdir()
    (small / "queue.py").write_text("def bound():\n    return 700\n")
    with_bar = []
    for command in SHOWING:
        words = [word.replace("FOLDER", str(small)).replace("HOME", str(Path.home())) for word in command]
        shown = in_terminal(*words)
        assert shown.code == 0, (command, shown.lines)
        assert not [line for line in shown.lines if BAR in line], (command, shown.lines)
        assert shown.written.count("\x1b[?25l") == shown.written.count("\x1b[?25h")
        with_bar += [command[0]] * (BAR in shown.written)
    for words in (["ingest", str(small), "-q"], ["seed", "--rebuild", "-q"], ["seed", "--rebuild", "--json"]):
        assert BAR not in in_terminal(*words).written
    assert {"ingest", "seed", "export"} <= set(with_bar)


def test_one_stretch_of_work_is_shown_at_a_time(small, ragmem):
    assert ragmem("ingest", str(small)).returncode == 0
    shown = in_terminal("seed", "--rebuild")
    assert "take out" in shown.written
    assert "vectors" in shown.written
    # Drawn again, a bar of one line goes back to the begin of its line; one of several climbs first.
    drawn = shown.written.rpartition("\x1b[?25h")[0]
    assert "\x1b[1A" not in drawn


@pytest.mark.parametrize("terminal", ["dumb", "unknown"])
def test_a_terminal_that_cannot_take_a_line_away_gets_no_bar(small, terminal):
    shown = in_terminal("ingest", "--dry-run", str(small), TERM=terminal)
    assert BAR not in shown.written
    assert screen(shown.written)[0].startswith("id ")
    assert shown.written.lstrip("\x1b[1m").startswith("id ")


def test_an_interrupted_bar_goes_and_the_cursor_comes_back(large):
    shown = in_terminal("ingest", "--yes", str(large), keys="\x03", after=BAR)
    assert shown.code == 130
    assert not [line for line in shown.lines if BAR in line]
    assert shown.written.count("\x1b[?25l") == shown.written.count("\x1b[?25h")
    assert "ragmem: interrupted; finished work is stored" in shown.lines


def test_what_is_piped_on_is_whole_while_the_bar_is_on_the_terminal(small):
    reading, writing = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "ragmem", "ingest", str(small)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=writing,
        check=False,
        timeout=60,
        env={**os.environ, "RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake", "TERM": "xterm"},
    )
    os.close(writing)
    os.close(reading)
    assert done.returncode == 0
    assert len(done.stdout.split()) == 30
    assert BAR.encode() not in done.stdout


def test_without_a_terminal_nothing_is_drawn(small, started):
    done = started("ingest", str(small))
    assert done.returncode == 0
    assert BAR not in done.stderr
    assert "\x1b" not in done.stderr + done.stdout
