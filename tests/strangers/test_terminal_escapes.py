"""No stored text drives the terminal on which a command prints it."""

import os
import pty
import subprocess
import sys

import pytest

PAYLOADS = ["\x1b]52;c;aGFyYm91cg==\x07", "\x1b]0;owned\x07", "\x1b[2J", "\x9b31m", "\u202e", "\u2066"]
RAW = [b"\x1b]", b"\x1b[2J", "\x9b".encode(), "\u202e".encode(), "\u2066".encode(), b"\x07"]
ALL = "".join(PAYLOADS)


@pytest.fixture
def stored(tmp_path, ragmem):
    """Return a folder of notes whose texts, titles, names and tags are full of sequences."""
    folder = tmp_path / f"har{ALL.replace('/', '')}bour"
    (folder / ".git").mkdir(parents=True)
    for number in range(2):
        note = folder / f"note{number}{PAYLOADS[2]}.md"
        note.write_text(
            f"# Crane{ALL}\n\nWe decided that crane {number} of Harbour{ALL}Office is painted red"
            f" because {ALL} the old paint came off.\n\n## Part{ALL}\n\n"
            f"The rule of {ALL} crane {number} holds.\n"
        )
    done = ragmem("ingest", str(folder), "--tag", f"paint{PAYLOADS[4]}")
    assert done.returncode == 0, done.stderr
    given = f"We decided that the ferry {ALL} leaves at noon.\n"
    done = ragmem("ingest", "-", "--title", f"Ferry{ALL}", stdin=given)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout.split()[0]


def printed(*arguments: str) -> tuple[int, bytes]:
    """Return exit code and all that a command writes to a pseudo-terminal."""
    reading, writing = pty.openpty()
    environ = {**os.environ, "RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake", "TERM": "xterm"}
    process = subprocess.Popen(
        [sys.executable, "-m", "ragmem", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=writing,
        stderr=writing,
        env=environ,
    )
    os.close(writing)
    parts = []
    while True:
        try:
            part = os.read(reading, 65536)
        except OSError:  # what Linux says when the other end is closed
            break
        if not part:
            break
        parts.append(part)
    os.close(reading)
    return process.wait(), b"".join(parts)


COMMANDS = [
    ["query", "crane paint", "--all", "--explain"],
    ["query", "crane paint", "--all", "--nearest", "--context"],
    ["query", "crane paint", "--all", "--json"],
    ["query", ALL + "crane"],
    ["query", "crane", "--project", ALL],
    ["context", "crane paint", "--all"],
    ["inspect", "memory", "ID"],
    ["inspect", "memories"],
    ["inspect", "sources"],
    ["inspect", "log"],
    ["inspect", "entities"],
    ["gc", "--dry-run"],
    ["refresh", "--dry-run"],
    ["record", "list"],
    ["seed", "--dry-run"],
    ["ingest", "FOLDER", "--dry-run"],
    ["ingest", "--code", "FOLDER", "--dry-run"],
    ["feedback", "ID", "--useful"],
    ["pin", "ID"],
    ["export", "-"],
]


def test_no_command_writes_a_stored_sequence_to_the_terminal(stored):
    folder, identifier = stored
    told = {"ID": identifier, "FOLDER": str(folder)}
    for command in COMMANDS:
        code, output = printed(*(told.get(word, word) for word in command))
        assert code in {0, 1, 2, 3}, (command, output)
        # Colours of its own are all that a command may send.
        assert not [raw for raw in RAW if raw in output], (command, output)


def test_a_command_keeps_its_own_style_on_a_terminal(stored):
    _, output = printed("inspect", "memories")
    assert b"\x1b[1m" in output
