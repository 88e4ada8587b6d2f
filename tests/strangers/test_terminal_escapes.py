"""No stored text drives the terminal on which a command prints it."""

import io
import json
import os
from pathlib import Path

import pytest
from quick_commands import COMMANDS as QUICK

from ragmem.server.http.log import Log

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
    sentence = f"`BetaQueue` calls `AlphaService` {ALL} because PostgreSQL is slow."
    (folder / "graph.md").write_text(f"# Graph\n\n{sentence}\n")
    done = ragmem("ingest", str(folder), "--tag", f"paint{PAYLOADS[4]}")
    assert done.returncode == 0, done.stderr
    given = f"We decided that the ferry {ALL} leaves at noon.\n"
    done = ragmem("ingest", "-", "--title", f"Ferry{ALL}", stdin=given)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout.split()[0]


def printed(*arguments: str) -> tuple[int, bytes]:
    """Return exit code and all that a command writes to a pseudo-terminal."""
    environ = {**os.environ, "RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake", "TERM": "xterm"}
    return QUICK.on_terminal(arguments, environ=environ, cwd=Path.cwd())


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
    ["export", "FOLDER/there/is/none"],
    ["inspect", "graph", "--all"],
    ["inspect", "graph", "--all", "--export", "graphml"],
    ["inspect", "graph", "--all", "--export", "json"],
    ["inspect", "graph", "--all", "--export", "mermaid"],
    ["inspect", "report", "--all"],
    ["inspect", "code"],
    ["projects", "list"],
    ["projects", "rename", "FOLDER", ALL],
    ["forget", "ID", "--dry-run"],
    ["forget", ALL],
    ["ingest", "FOLDER/none" + ALL],
    ["doctor"],
    ["__complete", "project", ""],
    ["__complete", "tag", ""],
    ["__complete", "memory", ""],
]


def test_no_command_writes_a_stored_sequence_to_the_terminal(stored):
    folder, identifier = stored
    told = {"ID": identifier}
    for command in COMMANDS:
        words = (word.replace("FOLDER", str(folder)) for word in command)
        code, output = printed(*(told.get(word, word) for word in words))
        assert code in {0, 1, 2, 3}, (command, output)
        # Colours of its own are all that a command may send.
        assert not [raw for raw in RAW if raw in output], (command, output)


def test_a_command_keeps_its_own_style_on_a_terminal(stored):
    _, output = printed("inspect", "memories")
    assert b"\x1b[1m" in output


@pytest.mark.parametrize("form", ["graphml", "json", "mermaid"])
def test_an_exported_graph_is_the_same_in_a_pipe_and_a_file_and_harmless_on_a_terminal(
    stored, tmp_path, ragmem, form
):
    graph = ("inspect", "graph", "--all", "--export", form)
    file = tmp_path / "graph"
    assert ragmem(*graph, "--out", str(file)).returncode == 0
    written = file.read_bytes().decode()
    assert "PostgreSQL" in written
    assert ragmem(*graph).stdout == written
    _, shown = printed(*graph)
    assert not [raw for raw in RAW if raw in shown]
    if form == "json":
        assert json.loads(shown.decode()) == json.loads(written)


@pytest.mark.parametrize("as_json", [False, True])
def test_no_line_of_the_server_drives_the_terminal(as_json):
    stream = io.StringIO()
    log = Log(json=as_json, stream=stream)
    log.write("error", "server", f"cannot read harbour{ALL}", path=ALL)
    log.warning(ALL)
    log.announce(ALL)
    log.close()
    said = stream.getvalue()
    assert "harbour" in said
    assert not [raw for raw in RAW if raw.decode() in said]
    if as_json:
        assert json.loads(said.splitlines()[0])["path"] == ALL
