"""What every command promises: streams, JSON, errors, exit codes and colours."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from foreign_stores import chatgpt_conversation, unpack, zip_of
from openpyxl import Workbook
from reportlab.pdfgen.canvas import Canvas

ROOT = Path(__file__).resolve().parents[1]
FAKE = {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake"}

NOTES = {
    "driver.md": "# Driver\n\nWe decided to pin the PostgreSQL driver because version 3 leaks connections.\n",
    "timeout.md": "# Timeout\n\nThe root cause of the timeout was the connection pool of PostgreSQL.\n",
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    home = tmp_path_factory.mktemp("filled")
    folder = home / "notes"
    folder.mkdir()
    for name, text in NOTES.items():
        (folder / name).write_text(text)
    subprocess.run(
        [sys.executable, "-m", "ragmem", "ingest", str(folder), "--project", "user", "--tag", "design"],
        check=True,
        capture_output=True,
        env={"PATH": os.environ["PATH"], **FAKE, "HOME": str(home), "RAGMEM_HOME": str(home / "ragmem")},
    )
    return home


@pytest.fixture
def at_home(filled, monkeypatch):
    monkeypatch.setenv("HOME", str(filled))
    monkeypatch.setenv("RAGMEM_HOME", str(filled / "ragmem"))
    monkeypatch.chdir(filled)


@pytest.fixture
def ragmem(inside):
    """Return a function that runs a command line in this process."""
    return inside


READING = {
    "query": (["query", "PostgreSQL"], {"query", "matches", "missing", "rung", "projects"}),
    "query --explain": (["query", "PostgreSQL", "--explain"], {"matches"}),
    "context": (["context", "PostgreSQL"], {"task", "projects", "text", "tokens", "left_out", "memories"}),
    "seed --dry-run": (
        ["seed", "--dry-run"],
        {"dry_run", "would_change", "sources", "problems", "decisions"},
    ),
    "setup --dry-run": (["setup", "--dry-run"], {"done", "assistants", "sources", "repositories", "plan"}),
    "ingest --dry-run": (["ingest", "--dry-run", "notes"], {"dry_run", "memories", "problems"}),
    "gc --dry-run": (["gc", "--dry-run"], {"clusters", "dry_run", "items", "sweep", "memories"}),
    "inspect": (["inspect"], {"catalog", "store", "home", "bytes"}),
    "inspect stats": (["inspect", "stats"], {"catalog", "store"}),
    "inspect sources": (["inspect", "sources"], {"sources"}),
    "inspect entity": (["inspect", "entity", "PostgreSQL"], {"entity", "neighbours"}),
    "inspect graph": (["inspect", "graph"], {"entities"}),
    "inspect communities": (["inspect", "communities"], {"communities", "entities", "total", "alone"}),
    "inspect timeline": (["inspect", "timeline", "PostgreSQL"], {"entity", "events", "total", "first"}),
    "inspect merges": (["inspect", "merges"], {"merges", "left_out"}),
    "inspect records": (["inspect", "records"], {"records"}),
    "record --dry-run": (["record", "gotcha", "x", "--dry-run"], {"dry_run", "records"}),
    "inspect config": (["inspect", "config"], {"config", "places"}),
    "inspect log": (["inspect", "log"], {"log"}),
    "inspect usage": (["inspect", "usage"], {"by", "rows", "total", "today"}),
    "scrub --dry-run": (["scrub", "--dry-run"], {"dry_run"}),
    "check --history": (["check", "--history"], {"violations"}),
    "connect": (["connect"], {"assistants"}),
    "export --dry-run": (["export", "--dry-run"], {"dry_run", "file", "counts"}),
    "backup --dry-run": (["backup", "--dry-run"], {"dry_run", "file", "counts"}),
    "store": (["store"], {"profile", "backend", "place", "exists", "counts"}),
    "store show": (["store", "show"], {"profile", "place", "counts"}),
    "backup --list": (["backup", "--list"], {"backups"}),
    "models": (["models"], {"embedder", "language_model", "vectors", "models"}),
    "completions": (["completions"], {"shells"}),
    "completions install": (["completions", "install", "fish", "--dry-run"], {"dry_run", "shell", "change"}),
    "models list": (["models", "list"], {"embedder", "models"}),
    "models list --known": (["models", "list", "--known"], {"known"}),
    "models resume": (["models", "resume"], {"vectors", "made", "finished"}),
    "serve members": (["serve", "members"], {"members"}),
}


@pytest.mark.usefixtures("at_home")
@pytest.mark.parametrize(("arguments", "fields"), READING.values(), ids=READING)
def test_json_is_one_document_and_nothing_else(arguments, fields, ragmem):
    result = ragmem(*arguments, "--json")

    document = json.loads(result.stdout)
    assert result.returncode == 0
    assert document["schema"] == (2 if "clusters" in fields else 1)
    assert fields <= set(document)
    assert result.stderr == ""


NOTHING = {
    "inspect injections": {"injections": []},
    "inspect transcripts": {"transcripts": [], "read": 0, "unread": 0},
    "warm": {"running": False},
}


@pytest.mark.usefixtures("at_home")
@pytest.mark.parametrize(("line", "said"), NOTHING.items(), ids=NOTHING)
def test_json_of_nothing_is_one_document_as_well(line, said, ragmem):
    result = ragmem(*line.split(), "--json")

    document = json.loads(result.stdout)
    assert result.returncode == 1
    assert said.items() <= document.items()
    assert document["schema"] == 1


def test_json_of_what_writes(ragmem, tmp_path):
    note = tmp_path / "note.md"
    note.write_text(NOTES["driver.md"])
    stored = json.loads(ragmem("ingest", str(note), "--json").stdout)
    [memory] = stored["memories"]

    shown = json.loads(ragmem("inspect", "memory", memory["id"], "--json").stdout)
    assert shown["memory"]["text"] == NOTES["driver.md"].strip()
    assert json.loads(ragmem("seed", "--json").stdout)["changed"] == 0
    assert json.loads(ragmem("gc", "--json").stdout)["items"] == []


@pytest.mark.usefixtures("at_home")
def test_json_lines_are_one_object_each(ragmem):
    result = ragmem("query", "PostgreSQL", "--jsonl")

    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(lines) == len(NOTES)
    assert {line["type"] for line in lines} == {"match"}


@pytest.mark.usefixtures("at_home")
def test_ids_can_be_handed_to_inspect(ragmem):
    for line in ragmem("query", "PostgreSQL", "--ids").stdout.splitlines():
        assert re.fullmatch("[a-z2-7]{12}", line)
        assert ragmem("inspect", "memory", line).returncode == 0


@pytest.mark.usefixtures("at_home")
def test_nothing_found_is_an_answer(ragmem):
    result = ragmem("query", "zebra crossing", "--json", "--kind", "preference")

    assert result.returncode == 1
    assert json.loads(result.stdout)["matches"] == []


ERRORS = {
    "unknown option": (["query", "--nope", "x"], 2, "--nope"),
    "missing argument": (["query"], 2, "TEXT"),
    "one argument too many": (["query", "two", "words"], 2, "words"),
    "empty question": (["query", " "], 2, "empty"),
    "number out of range": (["query", "x", "--limit", "0"], 2, "--limit"),
    "unknown kind": (["query", "x", "--kind", "joke"], 2, "joke"),
    "unknown source": (["query", "x", "--source", "nope"], 2, '"nope"'),
    "unknown source to seed": (["seed", "--source", "nope"], 2, '"nope"'),
    "unknown project": (["query", "x", "--project", "nope"], 2, '"nope"'),
    "no date": (["query", "x", "--since", "someday"], 2, '"someday"'),
    "no date to end with": (["query", "x", "--until", "someday"], 2, '"someday"'),
    "an empty span": (["query", "x", "--since", "2026-01-02", "--until", "2026-01-02"], 2, "2026-01-02"),
    "two formats": (["query", "x", "--json", "--ids"], 2, "--ids"),
    "unknown file": (["ingest", "no-such-file"], 2, '"no-such-file"'),
    "unknown settings": (["seed", "--sources", "no-such-file"], 2, '"no-such-file"'),
    "broken settings": (["seed", "--sources", "notes/driver.md"], 2, "driver.md:3"),
    "unknown memory": (["inspect", "memory", "zzzzzz"], 2, '"zzzzzz"'),
    "no id": (["inspect", "memory", ""], 2, '""'),
    "unknown entity": (["inspect", "entity", "no such thing"], 2, '"no such thing"'),
    "unknown end of a path": (["inspect", "path", "PostgreSQL", "no such thing"], 2, '"no such thing"'),
    "unknown entity to tell of": (["inspect", "timeline", "no such thing"], 2, '"no such thing"'),
    "an export over a graph": (["inspect", "graph", "-e", "json", "-o", "notes/driver.md"], 2, "driver.md"),
    "unknown command": (["inspect", "nope"], 2, "nope"),
    "option before the command": (["inspect", "--json", "stats"], 2, "stats"),
    "a run without undo": (["gc", "--run", "x"], 2, "--undo"),
    "nothing to undo": (["gc", "--undo"], 2, "undo"),
    "an export over a file": (["export", "notes/driver.md"], 2, "driver.md"),
    "an export into nowhere": (["export", "nowhere/x.jsonl"], 2, "nowhere"),
    "an export of an unknown source": (["export", "--source", "nope"], 2, '"nope"'),
    "a list of backups elsewhere": (["backup", "--list", "x.tar.gz"], 2, "--list"),
    "a backup to be kept elsewhere": (["backup", "x.tar.gz", "--keep", "2"], 2, "--keep"),
    "a restore of what is none": (["restore", "notes/driver.md"], 6, "driver.md"),
    "a restore of nothing": (["restore", "nope.tar.gz"], 2, "nope.tar.gz"),
    "a copy to where it is": (["store", "migrate", "--to", "sqlite"], 2, '"sqlite"'),
    "a copy to a place without address": (["store", "migrate", "--to", "postgres"], 2, '"postgres"'),
    "an address for another profile": (["store", "migrate", "--to", "json", "--url", "x"], 2, "--url"),
    "an import of what is none": (["import", "notes/driver.md"], 3, "driver.md"),
    "an import from what is no store": (["import", "--from", "cursor", "notes/driver.md"], 3, "driver.md"),
}


@pytest.mark.usefixtures("at_home")
@pytest.mark.parametrize(("arguments", "code", "named"), ERRORS.values(), ids=ERRORS)
def test_an_error_is_one_line_and_a_hint(arguments, code, named, ragmem):
    result = ragmem(*arguments)

    message, empty, hint = result.stderr.splitlines()
    assert (result.returncode, result.stdout, empty) == (code, "", "")
    assert re.match(r"ragmem: [^A-Z]", message)
    assert named in message
    assert not message.endswith(".")
    assert re.match("hint: .", hint)


def test_an_empty_home_says_how_to_fill_it(ragmem):
    result = ragmem("query", "anything")

    assert (result.returncode, result.stdout) == (2, "")
    assert "ragmem seed" in result.stderr


def test_a_memory_without_memories_says_how_to_fill_it(ragmem):
    ragmem("seed")

    result = ragmem("query", "anything")

    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("nothing is stored yet: run `ragmem seed`")


@pytest.mark.parametrize(
    "line", ["inspect queue", "inspect sources", "inspect transcripts", "ingest --drain"]
)
def test_a_database_without_tables_is_an_empty_memory(line, ragmem):
    # A full disk leaves one behind.
    data = Path(os.environ["RAGMEM_HOME"]) / "data"
    data.mkdir(parents=True)
    (data / "memory.db").touch()

    assert "no such table" not in ragmem(*line.split()).stderr


def test_a_missing_backend_has_its_own_code(ragmem):
    ragmem("ingest", "-", stdin=NOTES["driver.md"])
    result = ragmem("inspect", RAGMEM_STORE_BACKEND="nope")

    assert (result.returncode, result.stdout) == (4, "")
    assert 'ragmem: there is no backend "nope"' in result.stderr


def test_a_missing_backend_does_not_lose_what_is_handed_in(ragmem):
    result = ragmem("ingest", "-", stdin=NOTES["driver.md"], RAGMEM_STORE_BACKEND="nope")

    assert result.returncode == 0
    assert (
        'stored, only in full text until a later seed indexes it: there is no backend "nope"' in result.stderr
    )
    assert ragmem("inspect", "memory", result.stdout.strip()).returncode == 0


def test_a_damaged_database_has_its_own_code(ragmem):
    database = Path(os.environ["RAGMEM_HOME"]) / "data" / "memory.db"
    database.parent.mkdir(parents=True)
    database.write_bytes(os.urandom(8_192))
    result = ragmem("query", "anything")

    assert (result.returncode, result.stdout) == (6, "")
    assert "is damaged" in result.stderr


def test_a_bug_is_reported_with_its_traceback(ragmem, tmp_path):
    code = "import ragmem.complete, sys; del ragmem.complete.complete; from ragmem.__main__ import run;"
    result = subprocess.run(
        [sys.executable, "-c", f"{code} sys.exit(run(['__complete']))"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )

    [report] = tmp_path.glob("ragmem-bug-*.txt")
    assert (result.returncode, result.stdout) == (70, "")
    assert str(report) in result.stderr
    assert "Traceback" in report.read_text()


@pytest.mark.usefixtures("at_home")
@pytest.mark.parametrize(
    ("environ", "coloured"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, False),
        ({"NO_COLOR": ""}, False),
    ],
)
def test_colours_are_the_readers_choice(environ, coloured, ragmem):
    environ = {"TERM": "xterm", **environ}
    shown = ragmem("query", "PostgreSQL", **environ).stdout

    assert ("\x1b[" in shown) is coloured
    assert re.sub(r"\x1b\[\d*m", "", shown) == ragmem("query", "PostgreSQL").stdout


@pytest.mark.usefixtures("at_home")
def test_quiet_leaves_standard_error_empty(ragmem):
    assert ragmem("query", "zebra", "--kind", "preference", "--quiet").stderr == ""


PIPED = ["query PostgreSQL", "query PostgreSQL --json", "--help", "__complete kind"]


@pytest.mark.usefixtures("at_home")
@pytest.mark.parametrize("line", PIPED)
@pytest.mark.parametrize("redirection", ["| true", "2>&1 >&- | cat", "<&- 2>&1 >/dev/null | cat"])
def test_a_reader_that_leaves_is_no_error(line, redirection):
    # pipefail would call the closed pipe's code the answer; PIPESTATUS says what ragmem itself returned.
    script = f"{sys.executable} -m ragmem {line} {redirection}; exit ${{PIPESTATUS[0]}}"
    result = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, check=False, env={**os.environ, **FAKE}
    )

    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
@pytest.mark.usefixtures("at_home")
@pytest.mark.parametrize(
    "line", ["query PostgreSQL", "query PostgreSQL --json", "--version", "inspect config"]
)
def test_a_full_disk_is_told(line):
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(
            [sys.executable, "-m", "ragmem", *line.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={**os.environ, **FAKE},
        )

    assert result.returncode == 3
    assert result.stderr.startswith("ragmem: the system refused: no space left on device\n")


EXAMPLE_ID = "3q7hn2zk5x4m"
"""The memory of the examples; the tests put one that is there in its place."""


def examples():
    section = re.compile(r"^## (ragmem \w+)$.*?```sh\n(.*?)```", re.DOTALL | re.MULTILINE)
    for command, lines in section.findall((ROOT / "docs" / "cli.md").read_text()):
        for line in lines.splitlines():
            yield pytest.param(command, line, id=line)


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    folder = tmp_path_factory.mktemp("repository")
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    subprocess.run(["git", "init", "--quiet", "--template="], cwd=folder, check=True)
    commit = ("commit", "--quiet", "--allow-empty", "-m", "Pin the driver")
    subprocess.run(["git", *who, *commit], cwd=folder, check=True)
    return folder


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def as_typed(line, ragmem, environ):
    """Run a line as a shell does; one that is no more than words needs neither a shell nor a new Python."""
    if not set("|<>$;&*") & set(line):
        _, *words = shlex.split(line)
        return ragmem(*(os.path.expanduser(word) for word in words), **environ)  # noqa: PTH111 - as a shell
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environ = {**os.environ, **FAKE, "PATH": path, **environ}
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False, env=environ)


def lay_out(line, folder):
    """Write the files that an example names."""
    (folder / "docs").mkdir()
    for name in ("notes.md", "docs/driver.md", "answer.md"):
        (folder / name).write_text(NOTES["driver.md"])
    rules = [folder / "team-rules.md"]
    if line.startswith("ragmem check"):
        config = Path(os.environ["RAGMEM_HOME"]) / "config"
        config.mkdir(parents=True)
        rules.append(config / "rules.md")
    for path in rules:
        path.write_text("- **no-apologies**: never say `sorry`\n")
    (folder / "ragmem-expect.toml").write_text("[sources.memory]\nfiles = 0\n")
    if "--from" in line:
        unpack("claude-mem.db.gz", Path.home() / ".claude-mem")
        zip_of(folder / "export.zip", {"conversations.json": [chatgpt_conversation()]})
    if ".pdf" in line:
        canvas = Canvas(str(folder / "report.pdf"))
        canvas.drawString(72, 720, "The pump was replaced because its seal leaked.")
        canvas.save()
        workbook = Workbook()
        workbook.active.append(["Part", "Cost"])
        workbook.active.append(["Seal", 12])
        workbook.save(folder / "costs.xlsx")


# What an example finds there already.
BEFORE = {
    "ragmem import": ("export", "memory.jsonl.gz"),
    "ragmem agents": ("agents", "heartbeat", "builder"),
    "ragmem restore": ("backup", "backup.tar.gz"),
    "ragmem serve members": ("serve", "members", "add", "bob", "--role", "reader"),
}


@pytest.mark.parametrize(("command", "line"), list(examples()))
def test_the_examples_of_the_reference_run(command, line, ragmem, repository, folder):
    assert line.startswith(command) or f"| {command}" in line
    if command == "ragmem serve":
        pytest.skip("it answers until it is stopped; tests/server runs it")
    lay_out(line, folder)
    ragmem("ingest", "notes.md")
    if command in BEFORE:
        ragmem(*BEFORE[command])
    if EXAMPLE_ID in line and "--restore" not in line:
        line = line.replace(EXAMPLE_ID, ragmem("query", "--ids", "--nearest", "the driver").stdout.split()[0])
    # As in a terminal; a CI job has no SHELL that tells whose completions are meant.
    environ = {"SHELL": "/bin/bash"}
    if "--answer" in line:
        environ |= {"RAGMEM_LANGUAGE_MODEL_BACKEND": "fake", "RAGMEM_LANGUAGE_MODEL_MODEL": "valid"}
    if "--updates" in line:
        # An index that refuses the connection is told, and no failure.
        environ |= {"PIP_INDEX_URL": "http://127.0.0.1:9/simple"}
    shutil.copytree(repository / ".git", folder / ".git")
    result = as_typed(line, ragmem, environ)

    # Nothing to undo and nothing found are answers; an option that does not exist is none.
    nothing_there = line.startswith(("ragmem gc --undo", "ragmem gc --restore"))
    nothing_there |= line.startswith(tuple(f"ragmem approve {one}" for one in ("show", "accept", "reject")))
    # There is no remote to share over, and nothing was shared.
    nothing_there |= line.startswith("ragmem share")
    # Nothing belongs to a project here, nor has Claude Code one.
    nothing_there |= line in {"ragmem refresh", "ragmem refresh --dry-run", "ragmem refresh --for codex"}
    assert result.returncode in {0, 1} or nothing_there, result.stderr


def test_an_export_is_no_backup_and_leads_to_import(ragmem, tmp_path):
    ragmem("ingest", "-", stdin=NOTES["driver.md"])
    export = str(tmp_path / "memory.jsonl.gz")
    ragmem("export", export)

    result = ragmem("restore", export, "--yes")

    assert (result.returncode, "`ragmem import` takes an export" in result.stderr) == (6, True)


def test_an_option_without_its_value_leads_to_the_help_of_its_command(ragmem):
    assert ragmem("query", "wal", "--limit").stderr.endswith("\nhint: ragmem query --help\n")


def test_a_question_without_quotes_is_told_to_use_them(ragmem):
    result = ragmem("query", "two", "words")
    assert result.returncode == 2
    assert 'ragmem query "two words"' in result.stderr


def test_a_folder_for_seed_leads_to_ingest(ragmem):
    result = ragmem("seed", "notes")
    assert result.returncode == 2
    assert "ragmem ingest PATH" in result.stderr


@pytest.mark.parametrize(("group", "command"), [("inspect", "graph"), ("models", "list"), ("store", "show")])
def test_json_before_the_name_of_a_command_is_refused_with_the_right_place(ragmem, group, command):
    done = ragmem(group, "--json", command)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"ragmem {group} {command} ... --json" in done.stderr
