"""Bad input gives one clear line and its exit code, and loses nothing that was stored before.

CASES is also the source of docs/errors.md: `python tests/test_bad_input.py > docs/errors.md` writes it anew.
"""

import ctypes
import fcntl
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from ragmem import client
from ragmem.api.memory import Ragmem
from ragmem.storage.home.schema import CATALOG

FAKE = {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake"}
REAL = {"RAGMEM_MODELS_BACKEND": "minilm", "RAGMEM_STORE_BACKEND": "lightrag"}
QUICKLY = {"RAGMEM_WRITE_BUSY_TIMEOUT_S": "0.2"}
DOCUMENT = Path(__file__).parents[1] / "docs" / "errors.md"

SOURCES = """\
[sources.notes]
glob = "~/notes/**/*.md"
[sources.log]
glob = "~/log/*.jsonl"
reader = "reflections"
"""
NOTES = {
    "wal.md": "# WAL mode\n\nWe decided to use WAL mode in v2 because readers must not wait for a writer.\n",
    "lock.md": "# Stale lock\n\nThe error came from a stale lock. Root cause: a crash. We restarted it.\n",
    "pool.md": "# Pool\n\nThe connection pool was exhausted because of a leak; the fix closes the cursor.\n",
}
EXPORT_HEADER = (
    '{"type":"header","format":"ragmem export","schema":1,"ragmem":"0.1.0",'
    '"exported_at":"2026-06-01T00:00:00.000000Z","counts":{}}\n'
)
NEW_NOTE = "# Driver\n\nWe decided to pin the driver because version 3 has an error; the fix is upstream.\n"


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def line(self) -> str:
        return self.err.partition("\n")[0]


class Home:
    """A person's home whose memory holds the three notes, and the commands run in it."""

    def __init__(self, root: Path, before: dict[str, str]) -> None:
        self.root = root
        self.data = root / "ragmem" / "data"
        self.database = self.data / "memory.db"
        self.before = before

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def memories(self) -> dict[str, str]:
        with closing(sqlite3.connect(f"{self.database.as_uri()}?mode=ro", uri=True)) as connection:
            return dict(connection.execute("SELECT id, text FROM memories"))

    def command(self, *arguments: str | bytes, first: str = "") -> list[str | bytes]:
        if not first:
            return [sys.executable, "-m", "ragmem", *arguments]
        # `first` changes the process that then becomes ragmem; a preexec_fn may hang a threaded test run.
        become = "os.execv(sys.executable, [sys.executable, '-m', 'ragmem', *sys.argv[1:]])"
        return [sys.executable, "-c", f"{first}\nimport os, sys\n{become}", *arguments]

    def environ(self, **more: str) -> dict[str, str]:
        base = {"PATH": os.environ["PATH"], "HOME": str(self.root), "RAGMEM_HOME": str(self.root / "ragmem")}
        return base | FAKE | more

    def run(self, *arguments, stdin: bytes = b"", first: str = "", cwd=None, **environ: str) -> Result:
        if first:
            done = subprocess.run(
                self.command(*arguments, first=first),
                input=stdin,
                capture_output=True,
                env=self.environ(**environ),
                cwd=cwd or self.root,
                timeout=60,
                check=False,
            )
        else:
            # Here, because this file runs as a script too, where pytest does not tell what helps tests.
            from quick_commands import COMMANDS

            done = COMMANDS.run(arguments, given=stdin, environ=self.environ(**environ), cwd=cwd or self.root)
        return Result(done.returncode, *(self.shown(stream) for stream in (done.stdout, done.stderr)))

    def shown(self, stream: bytes) -> str:
        return stream.decode("utf-8", "replace").replace(str(self.root), "~")

    def assert_nothing_lost(self) -> None:
        now = self.memories()
        assert {identifier: now.get(identifier) for identifier in self.before} == self.before


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, dict[str, str]]:
    """Return a folder, where a copy of it is a home, and its memories, which name files by whole paths."""
    home = Home(tmp_path_factory.mktemp("person") / "home", {})
    for name, text in NOTES.items():
        home.write(f"notes/{name}", text)
    home.write("ragmem/config/sources.toml", SOURCES)
    environ = {"RAGMEM_HOME": str(home.root / "ragmem"), **FAKE}
    with Ragmem.open(environ=environ, home=home.root, cwd=home.root) as memory:
        memory.seed(sources=["notes"])
    memories = home.memories()
    return home.root.rename(home.root.with_name("template")), home.root, memories


@pytest.fixture
def home(template: tuple[Path, Path, dict[str, str]], tmp_path: Path) -> Iterator[Home]:
    folder, root, memories = template
    shutil.copytree(folder, root)
    home = Home(root, memories)
    yield home
    assert client.stop(str(home.data), deadline=time.monotonic() + 10)
    # A test may have made something that cannot be removed.
    root.rename(root.with_name(tmp_path.name))


def assert_refused(result: Result, code: int, line: str) -> None:
    """Check the shape of every refusal: one line, perhaps a blank one and a hint, nothing else anywhere."""
    assert (result.code, result.line, result.out) == (code, f"ragmem: {line}", "")
    rest = result.err.splitlines()[1:]
    assert rest == [] or (len(rest) == 2 and rest[0] == "" and rest[1].startswith("hint: "))


def _file(name: str, content: str | bytes) -> Callable[[Home], None]:
    return lambda home: home.write(name, content) and None


def _sparse(home: Home) -> None:
    with home.write("notes/bad.md", "").open("wb") as file:
        file.truncate(200_000_000)


def _large_folder(home: Home) -> None:
    for number in range(201):
        home.write(f"archive/{number}.md", "a few words\n")


def _newer(home: Home) -> None:
    with closing(sqlite3.connect(home.database)) as connection:
        connection.execute("PRAGMA user_version = 99")


def _broken_backup(home: Home) -> None:
    path = home.write("bad.tar.gz", "")
    assert home.run("backup", "--force", "bad.tar.gz").code == 0
    path.write_bytes(path.read_bytes()[:-100])


def _other_database(home: Home) -> None:
    with closing(sqlite3.connect(home.root / "bad.db")) as connection:
        connection.execute("CREATE TABLE mail (text)")


def _garbage(home: Home) -> None:
    # A file shorter than a page has no other sign of being a database than its header.
    with home.database.open("r+b") as file:
        file.write(b"garbage!" * 20)


def _link_in_a_circle(home: Home) -> None:
    (home.root / "notes" / "bad.md").symlink_to("bad.md")


def _marks(home: "Home") -> None:
    home.write("broken.md", "<!-- BEGIN ragmem -->\nmine\n")


def _rules(rules: str, name: str = "rules.md") -> Callable[[Home], None]:
    return _file(f"ragmem/config/{name}", rules)


def _code(home: Home) -> None:
    for name in ("kiln", "oven"):
        home.write(f"app/{name}.py", "def fire():\n    pass\n\n\ndef open_door():\n    fire()\n")
    assert home.run("ingest", "--code", "app").code == 0


def _short_token(home: Home) -> None:
    home.write("ragmem/state/serve.token", "short").chmod(0o600)


@dataclass(frozen=True)
class Case:
    """What is wrong, the command, its exit code, the line without `ragmem: `, and how the home gets there."""

    what: str
    command: str
    code: int
    line: str
    arrange: Callable[[Home], None] | None = None
    stdin: bytes = b""
    environ: tuple[tuple[str, str], ...] = ()


CASES = (
    Case(
        "a file that does not exist",
        "ingest nope.md",
        2,
        'there is no file "nope.md"',
    ),
    Case(
        "a path through a file",
        "ingest notes/wal.md/x.md",
        2,
        'there is no file "notes/wal.md/x.md"',
    ),
    Case("an empty path", "ingest ''", 2, "a path is empty"),
    Case("sharing outside of any project", "share push", 2, '"~" belongs to no project'),
    Case(
        "a review of nothing that is named",
        "share review accept",
        2,
        "give exactly one of ids, --from and --all",
    ),
    Case(
        "a kind that is none to share",
        "share",
        2,
        "the variable RAGMEM_SHARE_KINDS must be some of decision, convention, gotcha, error_solution,"
        ' record, not "secrets"',
        environ=(("RAGMEM_SHARE_KINDS", "secrets"),),
    ),
    Case(
        "an empty file",
        "ingest bad.md",
        3,
        'cannot read "~/bad.md": it is empty',
        _file("bad.md", ""),
    ),
    Case(
        "a file that is too large",
        "ingest notes/bad.md",
        3,
        'cannot read "~/notes/bad.md": its 200,000,000 bytes exceed the limit of 8,388,608',
        _sparse,
    ),
    Case(
        "NUL bytes",
        "ingest bad.md",
        3,
        'cannot read "~/bad.md": it is not text',
        _file("bad.md", b"because\0fix"),
    ),
    Case(
        "bytes that are no UTF-8",
        "ingest bad.md",
        3,
        'cannot read "~/bad.md": byte 3 is not valid UTF-8',
        _file("bad.md", b"caf\xe9 because"),
    ),
    Case(
        "a JSONL file without one good line",
        "ingest bad.jsonl",
        3,
        'cannot read "~/bad.jsonl": line 1: not valid JSON; the line was skipped',
        _file("bad.jsonl", "{broken\n"),
    ),
    Case(
        "a document that is none",
        "ingest bad.pdf",
        3,
        'cannot read "~/bad.pdf": its content is not that of a .pdf file',
        _file("bad.pdf", "no document"),
    ),
    Case(
        "an empty document",
        "ingest bad.docx",
        3,
        'cannot read "~/bad.docx": it is empty',
        _file("bad.docx", b""),
    ),
    Case("expectations that do not exist", "seed --expect nope.toml", 2, 'there is no file "nope.toml"'),
    Case(
        "an expectation that is none",
        "seed --expect bad.toml",
        2,
        'bad.toml:1: unknown key "bogus"',
        _file("bad.toml", "bogus = 1\n"),
    ),
    Case(
        "an expectation of an unknown source",
        "seed --expect bad.toml",
        2,
        'bad.toml:1: there is no source "nots"',
        _file("bad.toml", "[sources.nots]\nfiles = 1\n"),
    ),
    Case("a report for CI of nothing", "seed --junit out.xml", 2, "--junit requires --expect"),
    Case("annotations of nothing", "seed --github", 2, "--github requires --expect"),
    Case(
        "a report in two forms",
        "inspect report --html x --json",
        2,
        "--html and --json are mutually exclusive",
    ),
    Case("a report to open that is not written", "inspect report --open", 2, "--open requires --html"),
    Case(
        "a report over a file",
        "inspect report --html notes/wal.md",
        2,
        'the file "notes/wal.md" already exists',
    ),
    Case("pictures into a file", "inspect report --svg notes/wal.md", 2, '"notes/wal.md" is not a folder'),
    Case("an explorer without a terminal", "inspect explore", 2, "the explorer needs a terminal"),
    Case("connections of nothing", "inspect connections zzzz", 2, 'no memory has the id "zzzz"'),
    Case(
        "a link to itself",
        "ingest notes/bad.md",
        3,
        'cannot read "~/notes/bad.md": too many levels of symbolic links',
        _link_in_a_circle,
    ),
    Case(
        "a device",
        "ingest /dev/zero",
        3,
        'cannot read "/dev/zero": it is not a regular file',
    ),
    Case(
        "a folder without text files",
        "ingest empty",
        2,
        'the folder "~/empty" contains no text files and no documents',
        lambda home: (home.root / "empty").mkdir(),
    ),
    Case(
        "a large folder that nobody agrees to",
        "ingest archive",
        2,
        'there is no terminal to confirm reading "~/archive": 201 files, 2.4 kB',
        _large_folder,
    ),
    Case("a folder of code that does not exist", "ingest --code nope", 2, 'there is no folder "nope"'),
    Case("code with a tag", "ingest --code notes --tag x", 2, "--code takes only folders"),
    Case("the home as code", "ingest --code ~", 2, '"~" is not a project'),
    Case(
        "a title for a file",
        "ingest notes/wal.md --title x",
        2,
        "--title is for standard input, not for files",
    ),
    Case(
        "lines of JSON without standard input",
        "ingest --buffer --jsonl",
        2,
        "--jsonl reads standard input",
    ),
    Case("standard input that is empty", "ingest -", 2, "standard input is empty"),
    Case(
        "standard input with NUL bytes",
        "ingest -",
        2,
        "standard input is not text: it has NUL bytes",
        stdin=b"because\0fix",
    ),
    Case(
        "standard input that is not UTF-8",
        "ingest -",
        2,
        "standard input is not UTF-8: byte 3 is invalid",
        stdin=b"caf\xe9 because",
    ),
    Case(
        "standard input that is too large",
        "ingest -",
        2,
        "standard input is longer than 8,388,608 bytes",
        stdin=b"x" * 9_000_000,
    ),
    Case(
        "a project's name with a slash",
        "ingest notes/wal.md --project a/b",
        2,
        '"a/b" cannot be a project name',
    ),
    Case("a date that is none", "ingest notes/wal.md --at soon", 2, '"soon" is not a date'),
    Case("a date that is none", "query wal --since soon", 2, '"soon" is not a date'),
    Case("an unset variable as a run", "forget --source notes --ingest '' --yes", 2, "--ingest is empty"),
    Case("an unset variable as an id", "gc --restore= --yes", 2, "--restore is empty"),
    Case("an address", "ingest https://a.example/b.md", 2, '"https://a.example/b.md" is a URL, not a file'),
    Case("an unset variable as a project", "ingest notes/wal.md --project ''", 2, "--project is empty"),
    Case("an unset variable as a tag", "ingest notes/wal.md --tag db --tag ''", 2, "--tag is empty"),
    Case("an unset variable as a date", "query wal --since ''", 2, "--since is empty"),
    Case("an unset variable as a file", "seed --sources ''", 2, "--sources is empty"),
    Case(
        "dates in the wrong order",
        "query wal --since 2026-02-01 --until 2026-01-01",
        2,
        'the period from "2026-02-01" until "2026-01-01" is empty',
    ),
    Case(
        "dates in the wrong order",
        "inspect memories --since 7d --until 2w",
        2,
        'the period from "7d" until "2w" is empty',
    ),
    Case(
        "a span before the first year",
        "query wal --since 99999y",
        2,
        '"99999y" is before year 1',
    ),
    Case(
        "a record of no type",
        "record trap x",
        2,
        "invalid value for 'TYPE': 'trap' is not one of 'session_insight', 'codebase_discovery', 'pattern',"
        " 'gotcha', 'task_outcome', 'root_cause', 'user_correction', 'knowledge', 'episode', 'decision'",
    ),
    Case(
        "knowledge of no category",
        "record knowledge x --field category=trick",
        2,
        'the field "category" of the knowledge must be one of error_solution, pattern, best_practice, gotcha,'
        ' not "trick"',
    ),
    Case(
        "an importance beyond the greatest",
        "record episode x --field event_type=error --field importance=2",
        2,
        'the field "importance" of the episode must be a number from 0 to 1, not "2"',
    ),
    Case(
        "a category that does not exist",
        "query tides --category trick",
        2,
        "invalid value for '--category': 'trick' is not one of 'error_solution', 'pattern', 'best_practice',"
        " 'gotcha', 'none'",
    ),
    Case(
        "a field that the record does not have",
        "record gotcha x --field solutoin=y",
        2,
        'a gotcha has no field "solutoin"',
    ),
    Case(
        "a record without its main field",
        "record root_cause timeout",
        2,
        'the root_cause lacks the required field "cause"',
    ),
    Case(
        "a field of another form",
        "record task_outcome x --field success=maybe",
        2,
        'the field "success" of the task_outcome must be true or false, not "maybe"',
    ),
    Case(
        "fields that are no JSON",
        "record gotcha -",
        2,
        "standard input is not JSON: expecting value: line 1 column 1 (char 0)",
        stdin=b"gotcha",
    ),
    Case("an empty question", "query ''", 2, "the question is empty"),
    Case(
        "a question of a megabyte",
        "query -",
        2,
        "the question has 1,000,000 characters, the limit is 20,000",
        stdin=b"x" * 1_000_000,
    ),
    Case(
        "a question without end",
        "query -",
        2,
        "standard input is longer than 4,194,304 bytes",
        stdin=b"x" * 5_000_000,
    ),
    Case(
        "a question that is not UTF-8",
        "query - --json",
        2,
        "standard input is not UTF-8: byte 3 is invalid",
        stdin=b"caf\xe9",
    ),
    Case(
        "two characters for LightRAG",
        "query wa --mode mix",
        2,
        'the query "wa" is too short for the mode mix',
        environ=(("RAGMEM_STORE_BACKEND", "lightrag"),),
    ),
    Case("an unknown source", "query wal --source nots", 2, 'there is no source "nots"'),
    Case("an unknown source", "seed --source nots", 2, 'there is no source "nots"'),
    Case("a folder for seed", "seed notes", 2, "got unexpected extra argument(s) (notes)"),
    Case("an unknown project", "query wal --project nope", 2, 'there is no project "nope"'),
    Case(
        "options that are mutually exclusive",
        "query wal --json --ids",
        2,
        "--json, --jsonl, --ids and --context are mutually exclusive",
    ),
    Case(
        "a limit of nothing",
        "query wal --limit 0",
        2,
        "invalid value for '--limit' / '-n': 0 is not in the range 1<=x<=10000",
    ),
    Case("a missing argument", "query", 2, "missing argument 'TEXT'"),
    Case(
        "an unknown option",
        "query wal --limt 3",
        2,
        "no such option: --limt (Possible options: --limit, --quiet)",
    ),
    Case("an unknown command", "sed", 2, "no such command 'sed'. Did you mean 'seed'?"),
    Case("another tool's word for a command", "search wal", 2, "no such command 'search'"),
    Case("an unknown id", "inspect memory zzzzzzzz", 2, 'no memory has the id "zzzzzzzz"'),
    Case("no code was read", "inspect impact fire", 2, "there is no code graph yet"),
    Case("an unknown symbol", "inspect impact fyre", 2, 'there is no symbol or file "fyre"', _code),
    Case("a name that several have", "inspect impact fire", 2, '"fire" may be one of 2 symbols', _code),
    Case(
        "a file that is no code", "inspect code notes.md", 2, 'there is no symbol or file "notes.md"', _code
    ),
    Case(
        "an impact in two forms",
        "inspect impact fire --json --mermaid",
        2,
        "--json, --svg and --mermaid are mutually exclusive",
    ),
    Case(
        "a picture where there is no folder",
        "inspect impact kiln.fire --svg nope/x.svg",
        2,
        'there is no folder "nope"',
        _code,
    ),
    Case("an id that is too short", "inspect memory ab", 2, '"ab" is not a memory id'),
    Case(
        "a memory that was never injected",
        "inspect injections --memory zzzz",
        2,
        'no memory has the id "zzzz"',
    ),
    Case("a time that is none", "inspect injections --since soon", 2, '"soon" is not a date'),
    Case("an id that is too short", "inspect injections --memory ab", 2, '"ab" is not a memory id'),
    Case(
        "a limit of nothing",
        "inspect transcripts --limit 0",
        2,
        "invalid value for '--limit' / '-n': 0 is not in the range 1<=x<=10000",
    ),
    Case(
        "an unknown assistant",
        "connect emacs",
        2,
        "invalid value for '[ASSISTANT]': 'emacs' is not one of 'claude-code', 'codex', 'cursor', 'gemini',"
        " 'opencode', 'copilot'",
    ),
    Case(
        "an unknown scope",
        "connect claude-code --scope team",
        2,
        "invalid value for '--scope': 'team' is not one of 'user', 'project'",
    ),
    Case("a demo in a folder that is in use", "demo --keep notes", 2, '"notes" is not empty'),
    Case("a setup in JSON that would ask", "setup --json", 2, "--json cannot ask for confirmation"),
    Case(
        "a setup that connects a name and nothing",
        "setup codex --no-connect",
        2,
        "--no-connect and a name are mutually exclusive",
    ),
    Case("a name beside --all", "connect --all claude-code", 2, "--all and a name are mutually exclusive"),
    Case(
        "settings that are no JSON",
        "connect claude-code",
        2,
        "~/.claude/settings.json:1:2: not valid JSON: a name in quotes is missing, or the object is not"
        " closed",
        _file(".claude/settings.json", "{broken"),
    ),
    Case(
        "settings of another shape",
        "connect claude-code",
        2,
        '"~/.claude/settings.json" does not have the structure that Claude Code expects:'
        ' "hooks" is not an object',
        _file(".claude/settings.json", '{"hooks": []}'),
    ),
    Case(
        "settings that are no TOML",
        "connect codex",
        2,
        "~/.codex/config.toml:1: not valid TOML: expected ']' at the end of a table declaration",
        _file(".codex/config.toml", "[broken"),
    ),
    Case("nobody to disconnect", "disconnect", 2, "name an assistant, or use --all"),
    Case("a name beside --all", "disconnect codex --all", 2, "--all and a name are mutually exclusive"),
    Case(
        "settings that are no JSON",
        "disconnect claude-code",
        2,
        "~/.claude/settings.json:1:2: not valid JSON: a name in quotes is missing, or the object is not"
        " closed",
        _file(".claude/settings.json", "{broken"),
    ),
    Case(
        "a profile that does not exist",
        "mcp --profile all",
        2,
        "invalid value for '--profile': 'all' is not one of 'default', 'full'",
    ),
    Case(
        "a project that is not there",
        "mcp --project nope",
        2,
        "invalid value for '--project': Directory 'nope' does not exist",
    ),
    Case("an id that is none", "agents heartbeat a/b", 2, '"a/b" cannot be the id of an agent'),
    Case("the name of everybody", "agents heartbeat all", 2, '"all" cannot be the id of an agent'),
    Case(
        "more than all is done",
        "agents heartbeat builder --progress 101",
        2,
        "invalid value for '--progress': 101 is not in the range 0<=x<=100",
    ),
    Case(
        "an agent that never checked in",
        "agents messages builder",
        2,
        'no agent "builder" has checked in',
    ),
    Case(
        "an agent that never checked in",
        "agents signal message builder hello",
        2,
        'no agent "builder" has checked in',
    ),
    Case(
        "an agent that never checked in",
        "agents acknowledge builder 1",
        2,
        'no agent "builder" has checked in',
    ),
    Case(
        "an agent that never checked in",
        "agents forget builder",
        2,
        'no agent "builder" has checked in',
    ),
    Case("a signal that is none", "agents signal halt all", 2, '"halt" is not a signal'),
    Case("a message without a text", "agents signal message all", 2, "the message is empty"),
    Case(
        "a number that is none",
        "agents acknowledge builder first",
        2,
        "invalid value for 'NUMBER...': 'first' is not a valid int",
    ),
    Case("a type of event that is none", "agents publish Done!", 2, '"Done!" cannot be the type of an event'),
    Case(
        "a sender that is none",
        "agents publish done --from a/b",
        2,
        '"a/b" cannot be the id of an agent',
    ),
    Case(
        "a wait that is too long",
        "agents events --wait 301",
        2,
        "invalid value for '--wait': 301.0 is not in the range 0<=x<=300",
    ),
    Case(
        "a database of agents that is none",
        "agents",
        6,
        'the database "~/ragmem/data/operational.db" is damaged: file is not a database',
        _file("ragmem/data/operational.db", "garbage!" * 20),
    ),
    Case(
        "an unknown key in [agents]",
        "agents",
        2,
        '~/ragmem/config/config.toml:2: unknown key "stale" in [agents]',
        _file("ragmem/config/config.toml", "[agents]\nstale = 1\n"),
    ),
    Case(
        "a variable of [agents] that is too small",
        "agents",
        2,
        "the variable RAGMEM_AGENTS_STALE_S must be a number of at least 0.1, not 0.0",
        environ=(("RAGMEM_AGENTS_STALE_S", "0"),),
    ),
    Case(
        "to install and to uninstall",
        "serve --install --uninstall",
        2,
        "--install and --uninstall are mutually exclusive",
    ),
    Case(
        "the token and another one",
        "serve --print-token --new-token",
        2,
        "--print-token and --new-token are mutually exclusive",
    ),
    Case(
        "a page of what only starts later",
        "serve --install --open",
        2,
        "--open and --install are mutually exclusive",
    ),
    Case("nothing to try", "serve --dry-run", 2, "--dry-run works only with --install and --uninstall"),
    Case(
        "a port that is none",
        "serve --port 99999",
        2,
        "invalid value for '--port': 99999 is not in the range 0<=x<=65535",
    ),
    Case(
        "an address that others reach",
        "serve --host 0.0.0.0",
        2,
        '"0.0.0.0" can be reached from other machines',
    ),
    Case(
        "an address that others reach, allowed once",
        "serve --host 0.0.0.0 --allow-remote",
        2,
        '"0.0.0.0" can be reached from other machines, which config.toml does not allow',
    ),
    Case(
        "an address that others reach, without TLS",
        "serve --host 0.0.0.0 --team",
        2,
        '"0.0.0.0" can be reached from other machines, and connections would not be encrypted',
        environ=(("RAGMEM_SERVE_ALLOW_REMOTE", "true"),),
    ),
    Case("a certificate without its key", "serve --cert cert.pem", 2, "--cert needs --key"),
    Case(
        "a certificate that is not there",
        "serve --cert cert.pem --key key.pem",
        2,
        'cannot read the certificate "cert.pem": no such file or directory',
    ),
    Case(
        "a team in a store that cannot keep it apart",
        "serve --team --port 0",
        2,
        '--team needs the store in PostgreSQL, and it is "sqlite"',
    ),
    Case(
        "an option before the command that does not know it",
        "serve --port 0 members list",
        2,
        "--port must follow members",
    ),
    Case(
        "a member without a role",
        "serve members add ann",
        2,
        "missing option '--role'. Choose from: reader, writer, admin",
    ),
    Case(
        "a name that no member can have",
        "serve members add Ann --role writer",
        2,
        '"Ann" cannot be the name of a member',
    ),
    Case(
        "a member of a project that is none",
        "serve members add ann --role writer --project nowhere",
        2,
        'there is no project "nowhere"',
    ),
    Case("a member who is none", "serve members remove zoe", 2, 'there is no member "zoe"'),
    Case("a new token for nobody", "serve members rotate zoe", 2, 'there is no member "zoe"'),
    Case(
        "a log in no form",
        "serve --log-format xml",
        2,
        "invalid value for '--log-format': 'xml' is not one of 'text', 'json'",
    ),
    Case(
        "a token that is none",
        "serve --print-token",
        2,
        'the file "~/ragmem/state/serve.token" contains no token',
        _short_token,
    ),
    Case(
        "an unknown key in [serve]",
        "serve --print-token",
        2,
        '~/ragmem/config/config.toml:2: unknown key "prot" in [serve]',
        _file("ragmem/config/config.toml", "[serve]\nprot = 1\n"),
    ),
    Case(
        "fewer connections than a page needs",
        "serve",
        2,
        "the variable RAGMEM_SERVE_MAX_CONNECTIONS must be a whole number of at least 256 and at most 50000,"
        " not 1",
        environ=(("RAGMEM_SERVE_MAX_CONNECTIONS", "1"),),
    ),
    Case(
        "an answer without a language model",
        "query wal --answer",
        4,
        "--answer needs a language model, and none is configured",
    ),
    Case(
        "an answer from a language model that is down",
        "query wal --answer",
        4,
        "the fake language model is down",
        environ=(("RAGMEM_LANGUAGE_MODEL_BACKEND", "fake"), ("RAGMEM_LANGUAGE_MODEL_MODEL", "down")),
    ),
    Case(
        "a careful question without a reranker",
        "query wal --careful",
        4,
        "careful search needs a reranker, and none is configured",
    ),
    Case(
        "an answer where only ids are wanted",
        "query wal --answer --ids",
        2,
        "--answer prints text or --json",
    ),
    Case(
        "knowledge without its category",
        "record knowledge x",
        2,
        'the knowledge lacks the required field "category"',
    ),
    Case("an episode of nothing", "record episode x", 2, 'the episode lacks the required field "event_type"'),
    Case(
        "an event type that does not exist",
        "record episode x --field event_type=crash",
        2,
        'the field "event_type" of the episode must be one of action, error, decision, outcome, not "crash"',
    ),
    Case(
        "an option of another command",
        "disconnect claude-code --no-mcp",
        2,
        "no such option: --no-mcp",
    ),
    Case("an unknown command", "warm up", 2, "no such command 'up'"),
    Case("nothing to remove", "scrub ''", 2, "the pattern is empty"),
    Case("nothing to remove", "scrub -", 2, "the pattern is empty"),
    Case("a text that is not UTF-8", "scrub - --yes", 2, "the pattern is not UTF-8", stdin=b"caf\xe9"),
    Case(
        "a text that stands everywhere",
        "scrub WAL --yes",
        2,
        "the pattern has fewer than 4 characters, too few to be specific",
    ),
    Case("a pattern that is missing", "scrub --regex", 2, "--regex needs a PATTERN"),
    Case(
        "a pattern that is none",
        "scrub --regex ( --yes",
        2,
        "the pattern is not a regular expression: missing ), unterminated subpattern at position 0",
    ),
    Case("a pattern that all memories have", "scrub --regex .* --yes", 2, "3 of 3 memories match"),
    Case(
        "a removal that nobody agrees to",
        "scrub exhausted",
        2,
        "this would change 1 memory permanently, and there is no terminal to confirm it",
    ),
    Case("nothing to check", "check", 2, "nothing to check"),
    Case(
        "two things at once",
        "check notes/wal.md --history",
        2,
        "give one of FILE, --list-rules and --history",
    ),
    Case(
        "no rules",
        "check notes/wal.md",
        2,
        'there are no rules: "~/ragmem/config/rules.md" does not exist',
    ),
    Case(
        "rules that are not there",
        "check notes/wal.md --rules nope.md",
        2,
        'cannot read "nope.md": there is no such file',
    ),
    Case(
        "an answer that is not there",
        "check nope.md",
        2,
        'there is no file "nope.md"',
        _rules("- never `x`\n"),
    ),
    Case(
        "a file without rules",
        "check notes/wal.md",
        2,
        "~/ragmem/config/rules.md has no rules",
        _rules("# Rules\n"),
    ),
    Case(
        "a pattern that is none",
        "check notes/wal.md",
        2,
        "~/ragmem/config/rules.md: never-say: /(/ is not a regular expression: missing ), unterminated"
        " subpattern at position 0",
        _rules("- never say /(/\n"),
    ),
    Case(
        "rules that are no TOML",
        "check --list-rules",
        2,
        "~/ragmem/config/rules.toml:1: not valid TOML: expected ']' at the end of a table declaration",
        _rules("[rules\n", "rules.toml"),
    ),
    Case("no project to write for", "refresh", 2, 'no memory belongs to a project at "~"'),
    Case(
        "a file that is no text",
        "refresh --file bad.md",
        2,
        '"bad.md" is not a text file',
        _file("bad.md", b"a\0b"),
    ),
    Case("a memory file in no folder", "refresh --file nope/A.md", 2, 'there is no folder "nope"'),
    Case(
        "options that are mutually exclusive",
        "refresh --file A.md --check --dry-run",
        2,
        "--dry-run and --check are mutually exclusive",
    ),
    Case("an unknown project", "refresh --project nowhere", 2, 'there is no project "nowhere"'),
    Case(
        "a folder as memory file",
        "refresh --file notes",
        2,
        "invalid value for '--file': File 'notes' is a directory",
    ),
    Case(
        "too many lines",
        "refresh --file A.md --max-lines 900",
        2,
        "invalid value for '--max-lines': 900 is not in the range 10<=x<=200",
    ),
    Case(
        "broken marks",
        "refresh --file broken.md",
        2,
        '"broken.md" line 1: a BEGIN ragmem without its END',
        _marks,
    ),
    Case(
        "an export over a file",
        "export notes/wal.md",
        2,
        'the file "notes/wal.md" already exists',
    ),
    Case("an export into a folder", "export notes --force", 2, '"notes" is a folder'),
    Case("an export to a device", "export /dev/null --force", 2, '"/dev/null" is not a regular file'),
    Case("an export to nowhere", "export nope/x.jsonl", 2, 'there is no folder "nope"'),
    Case("an import of nothing", "import nope.jsonl", 2, 'there is no file "nope.jsonl"'),
    Case(
        "an import of a note",
        "import notes/wal.md",
        3,
        'cannot import "notes/wal.md": line 1: not valid JSON',
    ),
    Case(
        "an import that breaks off",
        "import bad.jsonl",
        3,
        'cannot import "bad.jsonl": it is truncated after line 1',
        _file("bad.jsonl", EXPORT_HEADER),
    ),
    Case(
        "an import from a newer ragmem",
        "import -",
        3,
        'cannot import "standard input": line 1: a newer ragmem wrote it: its schema is 99, this one knows 3',
        stdin=EXPORT_HEADER.replace('"schema":1', '"schema":99').encode(),
    ),
    Case(
        "an import with a memory that is none",
        "import -",
        3,
        'cannot import "standard input": line 2: "id" is missing',
        stdin=(EXPORT_HEADER + '{"type":"memory"}\n').encode(),
    ),
    Case(
        "an import from what is no store",
        "import --from claude-mem notes/wal.md",
        3,
        'cannot import "notes/wal.md": it is not a SQLite database',
    ),
    Case(
        "an import from no export",
        "import --from chatgpt notes/wal.md",
        3,
        'cannot import "notes/wal.md": it is not JSON',
    ),
    Case("an import from nothing", "import --from mem0 nope.db", 2, 'there is no file "nope.db"'),
    Case(
        "an import from an unknown tool",
        "import --from nope x.db",
        2,
        "invalid value for '--from': 'nope' is not one of 'claude-mem', 'mem0', 'basic-memory',"
        " 'mcp-memory-service', 'mempalace', 'chatgpt', 'claude-ai', 'cursor', 'opencode'",
    ),
    Case(
        "an import from a stream",
        "import --from mem0 -",
        2,
        "the store of mem0 cannot be read from standard input",
    ),
    Case("an import of a folder", "import notes", 2, '"notes" is a folder'),
    Case(
        "an import from a tool that keeps a version",
        "import --from mem0 notes/wal.md --keep incoming",
        2,
        "--keep is for exports of ragmem",
    ),
    Case("a backup over a file", "backup notes/wal.md", 2, 'the file "notes/wal.md" already exists'),
    Case("a backup to nowhere", "backup nope/x.tar.gz", 2, 'there is no folder "nope"'),
    Case(
        "a backup that is not there",
        "restore nope.tar.gz",
        2,
        'there is no file "nope.tar.gz"',
    ),
    Case(
        "a backup that breaks off",
        "restore bad.tar.gz",
        6,
        '"bad.tar.gz" is a damaged backup: compressed file ended before the end-of-stream marker was reached',
        _broken_backup,
    ),
    Case(
        "a note as a backup",
        "restore notes/wal.md",
        6,
        '"notes/wal.md" is not a backup: neither an archive nor a database',
    ),
    Case(
        "a database of something else",
        "restore bad.db",
        6,
        '"bad.db" is not an intact ragmem database: no such table: projects',
        _other_database,
    ),
    Case(
        "a restore that nobody agrees to",
        "restore ragmem/data/memory.db",
        2,
        "this would replace 3 memories by 3 memories, and there is no terminal to confirm it",
    ),
    Case("an unknown rule", "gc --only dulpicate", 2, 'gc has no rule "dulpicate"'),
    Case("an unknown run", "gc --undo --run x", 2, 'there is no gc run "x"'),
    Case(
        "a memory that is not in the archive", "gc --restore zzzzzz", 2, 'the archive has no memory "zzzzzz"'
    ),
    Case(
        "an unknown key in sources.toml",
        "seed",
        2,
        '~/ragmem/config/sources.toml:3: unknown key "kindd" in [sources.notes]',
        _file("ragmem/config/sources.toml", '[sources.notes]\nglob = "~/n"\nkindd = "auto"\n'),
    ),
    Case(
        "a folder as sources.toml",
        "seed --sources notes",
        2,
        "invalid value for '--sources': File 'notes' is a directory",
    ),
    Case(
        "broken TOML",
        "query wal",
        2,
        "~/ragmem/config/config.toml:1: not valid TOML: expected ']' at the end of a table declaration",
        _file("ragmem/config/config.toml", "[query\n"),
    ),
    Case(
        "an unknown key in decay.json",
        "query wal",
        2,
        '~/ragmem/config/decay.json:2: unknown key "weigths"',
        _file("ragmem/config/decay.json", '{\n"weigths": {}}'),
    ),
    Case(
        "a negative half-life",
        "query wal",
        2,
        "~/ragmem/config/decay.json:1: half_lives_days.error must be a number of at least 0, not -3",
        _file("ragmem/config/decay.json", '{"half_lives_days": {"error": -3}}'),
    ),
    Case(
        "a variable that is no number",
        "query wal",
        2,
        'the variable RAGMEM_QUERY_LIMIT must be a whole number of at least 1 and at most 10000, not "abc"',
        environ=(("RAGMEM_QUERY_LIMIT", "abc"),),
    ),
    Case(
        "RAGMEM_HOME is a file",
        "ingest notes/wal.md",
        3,
        'cannot open "~/notes/wal.md/data/memory.db": Not a directory',
        environ=(("RAGMEM_HOME", "notes/wal.md"),),
    ),
    Case(
        "nothing was stored yet",
        "query wal",
        2,
        'there is no memory in "~/elsewhere/data" yet',
        environ=(("RAGMEM_HOME", "elsewhere"),),
    ),
    Case(
        "a model that is none",
        "models use nope",
        2,
        '"nope" is neither a backend nor a model on this machine',
    ),
    Case(
        "a variable over the choice of a model",
        "models use minilm",
        2,
        "the variable RAGMEM_MODELS_BACKEND is set and overrides config.toml",
    ),
    Case("no embedding model at all", "models use none", 2, "there is always an embedding model"),
    Case(
        "a language model with dimensions",
        "models use --language fake:valid --dimensions 3",
        2,
        "--dimensions is for embedding models",
    ),
    Case(
        "a server without its http://",
        "models use ollama:x --url localhost:11434",
        2,
        '"localhost:11434" is not a URL: it must start with http:// or https://',
    ),
    Case(
        "a key in place of its variable",
        "models use openai:x --key-variable sk-1/2",
        2,
        "--key-variable takes the name of an environment variable",
    ),
    Case(
        "a language model that does not answer",
        "models use --language fake:down",
        4,
        "the fake language model is down",
    ),
    Case(
        "a table that is no table of lines",
        "models use --language fake:valid",
        2,
        '"~/ragmem/config/config.toml" cannot be edited line by line',
        _file("ragmem/config/config.toml", "language_model = {}\n"),
    ),
    Case(
        "a model to try that is none",
        "models test nope",
        2,
        '"nope" is neither a backend nor a model on this machine',
    ),
    Case(
        "a model of a hub without its owner",
        "models pull nope",
        2,
        '"nope" is not the name of a model on a hub',
    ),
    Case(
        "a file of a model without its backend",
        "models pull team/model@int8",
        2,
        '"team/model@int8" names a file of a model',
    ),
    Case(
        "an ONNX model that was not fetched",
        "models use onnx:bge-m3",
        2,
        'there is no ONNX file of "Xenova/bge-m3" on this machine',
    ),
    Case(
        "a report on a language model that is none",
        "models test --language",
        2,
        "there is no language model",
    ),
    Case(
        "all passages for an embedding model",
        "models test --whole",
        2,
        "--whole works only for language models",
    ),
    Case(
        "a hub that is no address",
        "models pull team/model --from hub.example",
        2,
        '"hub.example" is not a URL: it must start with http:// or https://',
    ),
    Case(
        "a hub that is not there",
        "models pull team/model --from http://127.0.0.1:9",
        3,
        'cannot reach "http://127.0.0.1:9": connection refused',
    ),
    Case(
        "a model that was never fetched",
        "models remove team/model --yes",
        2,
        '"team/model" was not downloaded by ragmem',
    ),
    Case(
        "a backend that is not installed",
        "seed --rebuild",
        4,
        'there is no backend "nope"',
        environ=(("RAGMEM_STORE_BACKEND", "nope"),),
    ),
    Case(
        "a database that is none",
        "query wal",
        6,
        'the database "~/ragmem/data/memory.db" is damaged: file is not a database',
        _garbage,
    ),
    Case(
        "a database of a newer ragmem",
        "seed",
        6,
        'the database "~/ragmem/data/memory.db" was written by a newer ragmem: its catalog has schema 99,'
        f" this one knows {CATALOG.version}",
        _newer,
    ),
)


def _words(command: str) -> list[str]:
    return [word.replace("''", "") for word in command.split()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.command}: {case.what}")
def test_bad_input_is_one_line_and_loses_nothing(home: Home, case: Case):
    if case.arrange:
        case.arrange(home)
    database = home.database.read_bytes()
    result = home.run(*_words(case.command), stdin=case.stdin, **dict(case.environ))
    assert_refused(result, case.code, case.line)
    if case.code == 6:
        assert home.database.read_bytes() == database
    else:
        home.assert_nothing_lost()


HOOKS = (
    ("no event", "hook", b""),
    ("an unknown event", "hook Nope", b"{}"),
    ("an unknown assistant", "hook SessionStart --for emacs", b"{}"),
    ("an unknown option", "hook SessionStart --nope", b"{}"),
    ("input that is not JSON", "hook SessionStart", b"{broken"),
    ("input that is not UTF-8", "hook UserPromptSubmit", b'{"prompt": "caf\xe9"}'),
)


@pytest.mark.parametrize(("command", "stdin"), [case[1:] for case in HOOKS], ids=[case[1] for case in HOOKS])
def test_a_hook_never_stands_in_an_assistants_way(home: Home, command: str, stdin: bytes):
    assert home.run(*command.split(), stdin=stdin) == Result(0, "", "")
    home.assert_nothing_lost()


# What seed says of single files: it goes on with the rest.
FILES = (
    ("an empty file", "notes/bad.md", b"", 3, 'failed: cannot read "~/notes/bad.md": it is empty'),
    ("NUL bytes", "notes/bad.md", b"a\0b", 3, 'failed: cannot read "~/notes/bad.md": it is not text'),
    (
        "bytes that are no UTF-8",
        "notes/bad.md",
        b"caf\xe9",
        3,
        'failed: cannot read "~/notes/bad.md": byte 3 is not valid UTF-8; save the file as UTF-8',
    ),
    (
        "broken frontmatter",
        "notes/bad.md",
        f"---\ntitle: *missing\n---\n{NEW_NOTE}".encode(),
        0,
        (
            "warning: ~/notes/bad.md: the frontmatter was read line by line,"
            " because it is not valid YAML: it has aliases"
        ),
    ),
    (
        "a broken line of JSONL",
        "log/bad.jsonl",
        b'{"task": "pin the driver because of an error", "timestamp": "2026-03-01"}\n{broken\n',
        0,
        "warning: ~/log/bad.jsonl: line 2: not valid JSON; the line was skipped",
    ),
)


@pytest.mark.parametrize(("name", "content", "code", "line"), [case[1:] for case in FILES])
def test_seed_names_a_bad_file_and_goes_on(home: Home, name: str, content: bytes, code: int, line: str):
    home.write(name, content)
    good = home.write("notes/new.md", NEW_NOTE)
    result = home.run("seed", "--source", "notes", "--source", "log")
    said = [text for text in result.err.splitlines() if not text.startswith("note: ")]
    assert (result.code, said) == (code, [line])
    home.assert_nothing_lost()
    assert good.read_text().strip() in home.memories().values()


@pytest.mark.parametrize(("name", "content", "line"), [(case[1], case[2], case[4]) for case in FILES[3:]])
def test_ingest_warns_as_seed_does_of_what_it_left_out(home: Home, name: str, content: bytes, line: str):
    home.write(name, content)
    result = home.run("ingest", name)
    assert (result.code, result.err.splitlines()) == (0, [line])
    assert len(home.memories()) == 4
    home.assert_nothing_lost()


def test_a_huge_file_is_refused_by_its_size(home: Home):
    _sparse(home)
    began = time.monotonic()
    # Less memory than the file has bytes: it cannot have been read.
    limit = "import resource; resource.setrlimit(resource.RLIMIT_DATA, (180_000_000, 180_000_000))"
    result = home.run("seed", "--source", "notes", first=limit, OPENBLAS_NUM_THREADS="1")
    assert result.code == 3
    assert result.err.startswith('failed: cannot read "~/notes/bad.md": its 200,000,000 bytes')
    assert time.monotonic() - began < 30
    home.assert_nothing_lost()


def test_a_glob_that_matches_nothing_is_a_note(home: Home):
    result = home.run("seed", "--source", "log")
    assert (result.code, result.err) == (0, "note: source log: no file matches ~/log/*.jsonl\n")
    home.assert_nothing_lost()


def test_seed_goes_on_with_the_model_of_the_vectors_if_the_configured_one_is_missing(home: Home):
    result = home.run("seed", **FAKE | {"RAGMEM_MODELS_BACKEND": "nope"})
    assert (result.code, 'makes them with ""' in result.err) == (0, False)
    assert "`ragmem doctor` says what the configured model lacks" in result.err
    home.assert_nothing_lost()


def test_a_glob_of_ones_own_that_matches_nothing_is_a_note_in_every_seed(home: Home):
    home.write("own.toml", '[sources.own]\nglob = "note/*.md"\n[sources.folder]\nglob = "notes"\n')
    result = home.run("seed", "--sources", "own.toml")
    assert (result.code, result.err.splitlines()) == (
        3,
        [
            "note: source own: no file matches ~/note/*.md",
            "failed: ~/notes: a folder; a glob that ends in /**/*.md finds the files in it",
        ],
    )
    home.assert_nothing_lost()
    assert "no file matches" not in home.run("seed", "--sources", "own.toml", "--quiet").err


def test_an_ambiguous_prefix_asks_for_more(home: Home):
    with closing(sqlite3.connect(home.database)) as connection, connection:
        connection.execute("UPDATE memories SET id = 'aaaa' || substr(id, 5) WHERE title != 'Pool'")
    result = home.run("inspect", "memory", "aaaa")
    assert_refused(result, 2, 'several memories have ids that start with "aaaa"')


def test_two_characters_are_a_question(home: Home):
    result = home.run("query", "v2")
    assert (result.code, "WAL mode" in result.out) == (0, True)
    assert home.run("query", "zz").code == 1


def test_odd_file_names_are_stored_or_named(home: Home):
    home.write("notes/a\nb.md", NEW_NOTE)
    home.write("notes/\N{PARROT}.md", NEW_NOTE.replace("driver", "parrot"))
    Path(os.fsdecode(os.fsencode(home.root) + b"/notes/caf\xe9.md")).write_text(NEW_NOTE)
    (home.root / "notes" / "loop").symlink_to(home.root / "notes")
    (home.root / "notes" / "self.md").symlink_to("self.md")
    result = home.run("seed", "--source", "notes")
    assert result.code == 3
    lines = result.err.splitlines()
    assert len(lines) == 3
    assert all(line.startswith("failed: ~/notes/") for line in lines)
    assert sum(line.endswith("a link that leads in a circle") for line in lines) == 2
    assert sum(line.endswith("its name is not UTF-8") for line in lines) == 1
    assert len(home.memories()) == 5
    home.assert_nothing_lost()


@pytest.mark.parametrize(
    "command",
    [
        "ingest caf\xe9.md",
        "ingest notes --tag caf\xe9",
        "query caf\xe9 --json",
        "query wal --project caf\xe9",
    ],
)
def test_an_argument_that_is_no_utf_8_is_refused(home: Home, command: str):
    Path(os.fsdecode(os.fsencode(home.root) + b"/caf\xe9.md")).write_text(NEW_NOTE)
    result = home.run(*[word.encode("latin-1") for word in command.split()])
    argument = next(word for word in command.split() if not word.isascii())
    assert_refused(result, 2, f'"{argument}" is not UTF-8'.replace("\xe9", "\\udce9"))
    home.assert_nothing_lost()


def test_a_folder_whose_name_is_no_utf_8_is_a_place_to_work_in(home: Home):
    folder = os.fsencode(home.root) + b"/caf\xe9"
    Path(os.fsdecode(folder), ".git").mkdir(parents=True)
    Path(os.fsdecode(folder), "new.md").write_text(NEW_NOTE)
    assert home.run("query", "wal", cwd=folder).code == 0
    result = home.run("ingest", "new.md", cwd=folder)
    assert_refused(result, 3, 'cannot read "~/caf\\udce9/new.md": its name is not UTF-8')
    assert home.run("ingest", "-", cwd=folder, stdin=NEW_NOTE.encode()).code == 0
    home.assert_nothing_lost()


def test_what_a_project_may_not_set_is_a_warning(home: Home):
    home.write(".ragmem.toml", '[models]\nbackend = "theirs"\n')
    result = home.run("query", "wal")
    assert result.code == 0
    assert result.err.splitlines() == [
        (
            'warning: ~/.ragmem.toml:1: "models" is ignored:'
            " a project may set only exclude, tags and [chunking]"
        )
    ]


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("ingest - <&-", 2, "standard input is empty"),
        ("query - <&-", 2, "the question is empty"),
        ("query wal >&-", 0, ""),
        ("query wal --json >&-", 0, ""),
        ("ingest notes/new.md >&-", 0, ""),
        ("query '' 2>&-", 2, ""),
        ("seed 2>&-", 0, ""),
    ],
)
def test_closed_streams_are_no_bug(home: Home, command: str, code: int, said: str):
    home.write("notes/new.md", NEW_NOTE)
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" -m ragmem {command}', sys.executable],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        env=home.environ(),
        cwd=home.root,
        check=False,
        timeout=60,
    )
    result = Result(done.returncode, home.shown(done.stdout), home.shown(done.stderr))
    if said:
        assert_refused(result, code, said)
    else:
        assert (result.code, result.err) == (code, "")
    home.assert_nothing_lost()


def test_a_working_folder_that_is_gone_is_told(home: Home):
    done = subprocess.run(
        [
            "sh",
            "-c",
            'mkdir gone && cd gone && rmdir ../gone && exec "$0" -m ragmem query wal',
            sys.executable,
        ],
        capture_output=True,
        env=home.environ(),
        cwd=home.root,
        check=False,
        timeout=60,
    )
    result = Result(done.returncode, home.shown(done.stdout), home.shown(done.stderr))
    assert_refused(result, 3, "the working folder no longer exists")


# --- homes that cannot be written

# Root may write everywhere by two capabilities (1: CAP_DAC_OVERRIDE, 2: CAP_DAC_READ_SEARCH).
BOUND = """
import ctypes
for capability in (1, 2):
    ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # 24: PR_CAPBSET_DROP
"""


def unprivileged() -> str:
    """Return the code after which a process is bound by permissions; skip the test where there is no way."""
    if os.geteuid():
        return ""
    if not sys.platform.startswith("linux") or not hasattr(ctypes.CDLL(None), "prctl"):
        pytest.skip("root may do everything here")
    return BOUND


@pytest.fixture(params=["log", "no log"])
def read_only(home: Home, request):
    if request.param == "no log":
        with closing(sqlite3.connect(home.data / "memory.db")) as last:
            last.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for path in (*home.data.iterdir(), home.data):
        path.chmod(0o500 if path.is_dir() else 0o400)
    yield home
    home.data.chmod(0o700)


@pytest.mark.parametrize("backends", [FAKE, REAL], ids=["fake", "real"])
def test_a_read_only_home_still_answers(read_only: Home, backends: dict[str, str]):
    result = read_only.run("query", "WAL mode", first=unprivileged(), **backends)
    assert result.code == 0
    assert "WAL mode" in result.out
    assert read_only.run("inspect", first=unprivileged()).code == 0
    assert read_only.run("gc", "--dry-run", first=unprivileged(), **backends).code == 0
    read_only.assert_nothing_lost()


def test_a_read_only_home_is_backed_up_elsewhere(read_only: Home):
    result = read_only.run("backup", "copy.tar.gz", first=unprivileged())
    assert (result.code, result.err) == (0, "")
    read_only.assert_nothing_lost()


@pytest.mark.parametrize("read_only", ["log"], indirect=True)
def test_a_read_only_home_whose_log_cannot_be_read_is_not_backed_up(read_only: Home):
    read_only.data.chmod(0o700)
    (read_only.data / "memory.db-shm").unlink()
    read_only.data.chmod(0o500)
    result = read_only.run("backup", "copy.tar.gz", first=unprivileged())
    assert (result.code, "its log cannot be read" in result.line) == (3, True)
    assert not (read_only.root / "copy.tar.gz").exists()


def test_ingest_of_a_folder_names_a_folder_in_it_that_cannot_be_read(home: Home):
    closed = home.write("notes/closed/new.md", NEW_NOTE).parent
    closed.chmod(0)
    try:
        result = home.run("ingest", "notes", first=unprivileged())
    finally:
        closed.chmod(0o700)
    assert "warning: skipped ~/notes/closed: permission denied" in result.err.splitlines()
    home.assert_nothing_lost()


def test_a_read_only_home_is_told_by_doctor(read_only: Home):
    result = read_only.run("doctor", first=unprivileged())
    assert (result.code, "is not writable, so nothing new is stored" in result.out) == (0, True)


@pytest.mark.parametrize("command", ["seed --source notes", "ingest notes/new.md"])
def test_a_read_only_home_is_told_by_what_writes(read_only: Home, command: str):
    read_only.write("notes/new.md", NEW_NOTE)
    result = read_only.run(*command.split(), first=unprivileged())
    assert_refused(result, 3, 'cannot write "~/ragmem/data/memory.db": the home is read-only')
    assert read_only.memories() == read_only.before


def test_a_folder_that_may_not_be_entered_is_named(home: Home):
    home.data.chmod(0)
    result = home.run("query", "wal", first=unprivileged())
    home.data.chmod(0o700)
    assert_refused(result, 3, 'the system refused "~/ragmem/data/memory.db": permission denied')
    home.assert_nothing_lost()


def test_a_file_that_may_not_be_read_is_named(home: Home):
    home.write("notes/new.md", NEW_NOTE).chmod(0)
    result = home.run("ingest", "notes/new.md", first=unprivileged())
    assert_refused(result, 3, 'cannot read "~/notes/new.md": permission denied')
    home.assert_nothing_lost()


def _more_notes(home: Home, count: int = 40) -> None:
    for number in range(count):
        home.write(f"notes/more-{number}.md", f"{NEW_NOTE}\nNumber {number}. " + f"lorem{number} " * 200)


@pytest.mark.parametrize("room", [0, 40_000], ids=["none", "some"])
@pytest.mark.parametrize("backends", [FAKE, REAL | {"RAGMEM_MODELS_BACKEND": "fake"}], ids=["fake", "real"])
def test_a_full_disk_loses_nothing_and_the_same_command_succeeds_later(
    home: Home, room: int, backends: dict[str, str]
):
    _more_notes(home)
    size = room and home.database.stat().st_size + room
    full = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))"
    result = home.run("seed", "--source", "notes", first=full, **backends)
    assert_refused(result, 3, 'cannot write "~/ragmem/data/memory.db": disk I/O error')
    home.assert_nothing_lost()
    assert home.run("query", "WAL mode", first=full, **backends).code == 0
    assert home.run("seed", "--source", "notes", **backends).code == 0
    assert len(home.memories()) == 43
    home.assert_nothing_lost()


@pytest.fixture
def small_disk(tmp_path_factory):
    folder = tmp_path_factory.mktemp("disk")
    mount = shutil.which("mount")
    mounted = (
        mount
        and not subprocess.run(
            [mount, "-t", "tmpfs", "-o", "size=600k", "tmpfs", str(folder)], capture_output=True, check=False
        ).returncode
    )
    if not mounted:
        pytest.skip("mounting is not permitted here")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_disk_that_is_really_full_is_told(home: Home, small_disk: Path):
    shutil.copytree(home.root / "ragmem", small_disk, dirs_exist_ok=True)
    elsewhere = {"RAGMEM_HOME": str(small_disk)}
    _more_notes(home)
    result = home.run("seed", "--source", "notes", **elsewhere)
    assert result.code == 3
    assert "database or disk is full" in result.line
    assert re.search(r"failed +0 MB free where", home.run("doctor", **elsewhere).out)
    home.database = small_disk / "data" / "memory.db"
    home.assert_nothing_lost()
    subprocess.run(["mount", "-o", "remount,size=50m", str(small_disk)], check=True)
    assert home.run("seed", "--source", "notes", **elsewhere).code == 0
    assert len(home.memories()) == 43


# --- a database that is locked or damaged


@pytest.mark.parametrize("command", ["seed --source notes", "ingest notes/new.md"])
def test_a_writer_that_waits_too_long_says_so_and_questions_are_answered(home: Home, command: str):
    home.write("notes/new.md", NEW_NOTE)
    with (home.data / "write.lock").open("r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        result = home.run(*command.split(), **QUICKLY)
        assert home.run("query", "WAL mode").code == 0
    assert_refused(result, 5, "another process has been writing for 0.2 s")
    assert home.memories() == home.before


def test_a_gc_that_waits_too_long_has_shown_its_plan_and_changed_nothing(home: Home):
    (home.root / "notes" / "pool.md").unlink()
    with (home.data / "write.lock").open("r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        result = home.run("gc", "--missing", "--yes", **QUICKLY)
    assert (result.code, result.line) == (5, "ragmem: another process has been writing for 0.2 s")
    assert "Pool" in result.out
    assert home.memories() == home.before


def test_a_foreign_writer_is_waited_for_and_named(home: Home):
    home.write("notes/new.md", NEW_NOTE)
    with closing(sqlite3.connect(home.database, isolation_level=None)) as foreign:
        foreign.execute("BEGIN EXCLUSIVE")
        result = home.run("seed", "--source", "notes", **QUICKLY)
        assert home.run("query", "WAL mode", **REAL).code == 0
        foreign.execute("ROLLBACK")
    assert_refused(result, 5, 'the database "~/ragmem/data/memory.db" is locked by another process')
    assert home.memories() == home.before
    assert home.run("seed", "--source", "notes").code == 0


def _page_of(home: Home, table: str) -> tuple[int, int]:
    """Return where the first page of a table begins, and its size."""
    with closing(sqlite3.connect(home.database)) as connection:
        (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    return (int(page) - 1) * size, size


def _cut(home: Home) -> None:
    os.truncate(home.database, home.database.stat().st_size // 2)


def _overwrite_page(home: Home) -> None:
    begin, size = _page_of(home, "memories")
    with home.database.open("r+b") as file:
        file.seek(begin)
        file.write(b"\xa5" * size)


@pytest.mark.parametrize("damage", [_garbage, _cut, _overwrite_page])
@pytest.mark.parametrize("command", ["query WAL", "seed --source notes", "ingest notes/new.md"])
def test_a_damaged_database_is_named_and_left_as_it_is(
    home: Home, damage: Callable[[Home], None], command: str
):
    home.write("notes/new.md", NEW_NOTE)
    damage(home)
    damaged = home.database.read_bytes()
    result = home.run(*command.split())
    assert result.code == 6
    assert_refused(result, 6, result.line.removeprefix("ragmem: "))
    assert result.line.startswith('ragmem: the database "~/ragmem/data/memory.db" is damaged')
    assert "hint: restore a backup" in result.err
    if damage is not _overwrite_page or command.startswith("query"):
        # A write may reach its commit before it meets a damaged page elsewhere; that commit is sound.
        assert home.database.read_bytes() == damaged


@pytest.mark.parametrize(
    "change", ["kind = 'nonsense'", "tags = '{['", "event_at = 'soon'", "text = CAST(x'ff' AS TEXT)"]
)
def test_a_row_that_ragmem_never_wrote_counts_as_damage(home: Home, change: str):
    with closing(sqlite3.connect(home.database)) as connection, connection:
        connection.execute(f"UPDATE memories SET {change}")
    result = home.run("query", "WAL mode")
    assert_refused(result, 6, result.line.removeprefix("ragmem: "))
    assert "hint: restore a backup" in result.err
    assert len(result.line) < 300


# --- signals


def _wait_for_memories(home: Home, process: "subprocess.Popen[bytes]", more_than: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if len(home.memories()) > more_than:
            return
        time.sleep(0.005)
    pytest.fail("the seeding ended before it could be interrupted")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)])
@pytest.mark.parametrize("store", ["fake", "lightrag"])
def test_a_signal_ends_a_seeding_that_can_be_resumed(
    home: Home, number: signal.Signals, code: int, store: str
):
    _more_notes(home, 200)
    with subprocess.Popen(
        home.command("seed", "--source", "notes"),
        env=home.environ(RAGMEM_STORE_BACKEND=store),
        cwd=home.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A shell starts background jobs with SIGINT ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    ) as process:
        _wait_for_memories(home, process, 3)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    result = Result(process.returncode, home.shown(out), home.shown(err))
    if number == signal.SIGINT:
        assert_refused(result, code, "interrupted; finished work is stored")
    else:
        assert (result.code, result.out, result.err) == (code, "", "")
    assert 3 < len(home.memories()) < 203
    home.assert_nothing_lost()
    assert home.run("seed", "--source", "notes", RAGMEM_STORE_BACKEND=store).code == 0
    assert len(home.memories()) == 203
    home.assert_nothing_lost()


def test_an_interrupt_inside_a_compiled_text_still_exits_with_130(home: Home):
    code = (
        "import ragmem.__main__ as entry\n"
        "entry._dispatch = lambda arguments: exec('raise KeyboardInterrupt')\n"
        "entry.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, timeout=60)
    assert_refused(
        Result(done.returncode, "", done.stderr.decode()), 130, "interrupted; finished work is stored"
    )


# --- the document


def document() -> str:
    """Return docs/errors.md as CASES and FILES have it."""
    rows = [(case.command, case.line, case.code) for case in CASES]
    rows += [("seed", line.removeprefix("ragmem: "), code) for _, _, _, code, line in FILES]
    rows += [
        ("seed", 'cannot write "...": the home is read-only', 3),
        ("seed", 'cannot write "...": database or disk is full', 3),
        ("serve --port 9622", "cannot listen on 127.0.0.1:9622: address already in use", 3),
        ("seed", "another process has been writing for 30 s", 5),
        ("seed", "interrupted; finished work is stored", 130),
    ]
    lines = [
        "# Error messages",
        "",
        "```console",
        "$ ragmem ingest nope.md; echo $?",
        'ragmem: there is no file "nope.md"',
        "2",
        "```",
        "",
        "An error is one line on standard error. It starts with `ragmem: `, or with `failed: ` for a single",
        "file. A blank line and a hint may follow. Stored memories stay as they are. `seed`, `ingest FOLDER`",
        "and `ingest --code` report what cannot be read or stored, and continue with the other files.",
        "This page is generated from `tests/test_bad_input.py`, which runs each command.",
    ]
    for wanted in sorted({code for *_, code in rows}):
        found = dict.fromkeys((command, line) for command, line, code in rows if code == wanted)
        lines += ["", f"## Exit code {wanted}", "", *(f"- `ragmem {one}`: `{line}`" for one, line in found)]
    lines += [
        "",
        "## Hooks",
        "",
        "`ragmem hook` prints nothing and exits with 0, so that the assistant continues. `hooks.log` has the",
        "reason. Tested with:",
        "",
        *(f"- {what}: `ragmem {command}`" for what, command, _ in HOOKS),
    ]
    return "\n".join(lines) + "\n"


def test_the_document_is_up_to_date():
    assert DOCUMENT.read_text() == document(), f"run: python tests/test_bad_input.py > {DOCUMENT.name}"


if __name__ == "__main__":
    sys.stdout.write(document())
