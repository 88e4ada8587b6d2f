"""Completion: the generated files are those of the command tree, and real shells insert the real values."""

import importlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from interactive_shells import NEEDS, SHELLS, Shell, environment

from ragmem.cli.app import COMMANDS, load_command
from ragmem.complete import FINDERS, GC_RULES, complete
from ragmem.domain.model import SHORT_ID_LENGTH
from ragmem.services.lifecycle.items import RULES
from ragmem.storage import completion
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.memories import project_joins

ROOT = Path(__file__).resolve().parents[1]
COMPLETIONS = ROOT / "completions"

TAGS = [
    "chat logs",
    "o'brien",
    "ns:one:two",
    'back\\slash "quoted" $HOME `x`',
    "naïve café",
    "50%_off",
    "501",
]
ENTITIES = ["PostgreSQL", "localhost:5432", "o'brien & sons"]
GONE = "PostgreSQL 9"
"""An entity that LightRAG has deleted, while texts still mention it."""

# What is typed before Tab, and the words that the shell then hands to ragmem.
TYPED = {
    "a command": ("que", ["query"]),
    "an option": ("query --expl", ["query", "--explain"]),
    "a command of a group": ("inspect st", ["inspect", "stats"]),
    "a choice": ("query --mode na", ["query", "--mode", "naive"]),
    "a source that was never seeded": ("query --source refl", ["query", "--source", "reflections"]),
    "a space": ("query --tag chat", ["query", "--tag", "chat logs"]),
    "a space in double quotes": ('query --tag "chat l', ["query", "--tag", "chat logs"]),
    "a space in single quotes": ("query --tag 'chat l", ["query", "--tag", "chat logs"]),
    "a space behind a backslash": ("query --tag chat\\ l", ["query", "--tag", "chat logs"]),
    "a value after =": ("query --tag=chat", ["query", "--tag=chat logs"]),
    "an apostrophe": ("query -t o", ["query", "-t", "o'brien"]),
    "an apostrophe in double quotes": ("query -t \"o'b", ["query", "-t", "o'brien"]),
    "an apostrophe in single quotes": ("query -t 'o", ["query", "-t", "o'brien"]),
    "an apostrophe behind a backslash": ("query -t o\\'b", ["query", "-t", "o'brien"]),
    "colons": ("query -t ns:o", ["query", "-t", "ns:one:two"]),
    "what a shell would expand": ("query -t back", ["query", "-t", TAGS[3]]),
    "what a shell would expand, in double quotes": ('query -t "back', ["query", "-t", TAGS[3]]),
    "what a shell would expand, in single quotes": ("query -t 'back", ["query", "-t", TAGS[3]]),
    "letters beyond ASCII": ("query -t na", ["query", "-t", "naïve café"]),
    "no wildcard in %": ("query -t 50%", ["query", "-t", "50%_off"]),
    "an option after an apostrophe": ('query "it\'s" --expl', ["query", "it's", "--explain"]),
    "a choice after an apostrophe": ("query it\\'s --kind err", ["query", "it's", "--kind", "error"]),
    "an entity in another case": ("inspect entity post", ["inspect", "entity", "PostgreSQL"]),
    "an entity with a port": ("inspect entity localhost:5", ["inspect", "entity", "localhost:5432"]),
    "a file as argument": ("ingest some-n", ["ingest", "some-notes.md"]),
    "a file as value": ("seed --sources some-n", ["seed", "--sources", "some-notes.md"]),
    "a file as argument that may be standard input": ("check some-n", ["check", "some-notes.md"]),
    "folders alone where a folder is meant": ("mcp --project some-", ["mcp", "--project", "some-folder"]),
    "a word that is not declared": ("agents signal st", ["agents", "signal", "stop"]),
    "a rule of two words": ("gc --only perhaps\\ o", ["gc", "--only", "perhaps outdated"]),
    "no file where the question stands": ("query some-n", ["query", "some-n"]),
    "no option after --": ("query -- --expl", ["query", "--", "--expl"]),
}

START = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}
SETUP = {
    "bash": f". {COMPLETIONS}/ragmem.bash\n",
    "zsh": f"autoload -Uz compinit\ncompinit -u -D\n. {COMPLETIONS}/_ragmem\n",
    "fish": f"source {COMPLETIONS}/ragmem.fish\n",
}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("completions")
    tags = [word for tag in TAGS for word in ("--tag", tag)]
    subprocess.run(
        [sys.executable, "-m", "ragmem", "ingest", "-", "--project", "user", *tags],
        input="We decided to use PostgreSQL for the sessions.",
        text=True,
        check=True,
        capture_output=True,
        env=environment(home) | {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake"},
    )
    (home / "some-notes.md").touch()
    (home / "some-folder").mkdir()
    with closing(Catalog.at(home / "data", busy_timeout=2)) as catalog:
        catalog.projects.remember(
            "harbour-1", name="harbour", root="/repos/harbour", remote="git.example/sam/harbour"
        )
        catalog.projects.remember("quay-2", name="quay", root="/repos/quay")
        project_joins.adopt(catalog.database, "quay-2", "harbour-1")
    # The table of the LightRAG store, which takes seconds to load; the columns are its own.
    with closing(sqlite3.connect(home / "data" / "memory.db")) as database, database:
        database.execute(
            "CREATE TABLE store_nodes (space INT, id TEXT, folded TEXT, degree INT, present INT)"
        )
        rows = [(1, name, name.lower(), 3, name != GONE) for name in (*ENTITIES, GONE)]
        database.executemany("INSERT INTO store_nodes VALUES (?, ?, ?, ?, ?)", rows)
    return home


@pytest.mark.filterwarnings("ignore:.*use of forkpty:DeprecationWarning")
@pytest.mark.parametrize("name", SHELLS)
def test_a_tab_inserts_the_value_itself(name, home):
    shell = Shell(name, home, START[name], SETUP[name])
    try:
        found = {case: shell.words_after_tab(typed) for case, (typed, _) in TYPED.items()}
    finally:
        shell.close()

    assert found == {case: words for case, (_, words) in TYPED.items()}


def offered(shell, script, home):
    result = subprocess.run(
        [shell, "-c", script], capture_output=True, text=True, check=True, env=environment(home), cwd=home
    )
    assert not result.stderr
    return result.stdout.splitlines()


@NEEDS["bash"]
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "ragmem inspect ",
            list(load_command("inspect").commands),
        ),
        ("ragmem query it's --so", []),
        ("ragmem query free ", []),
        ("ragmem query --kind ", ["preference", "architecture", "error", "research", "general"]),
        ("ragmem unknown ", []),
    ],
)
def test_bash_offers(line, expected, home):
    script = f'. {COMPLETIONS}/ragmem.bash; COMP_LINE="{line}" COMP_POINT={len(line)}; _ragmem;'

    assert offered("bash", script + ' printf "%s\\n" "${COMPREPLY[@]}"', home) == (expected or [""])


@pytest.mark.filterwarnings("ignore:.*use of forkpty:DeprecationWarning")
@pytest.mark.parametrize("name", SHELLS)
def test_an_id_is_found_by_words_of_its_title(name, home):
    shell = Shell(name, home, START[name], SETUP[name])
    try:
        found = [shell.words_after_tab(typed) for typed in ("pin sessions", "pin postgresql\\ sessions")]
    finally:
        shell.close()

    # fish looks into the hints itself, for what was typed as a whole.
    several_words = ["pin", "postgresql sessions" if name == "fish" else identifier(home)]
    assert found == [["pin", identifier(home)], several_words]


def identifier(home):
    with closing(sqlite3.connect(home / "data" / "memory.db")) as database:
        return database.execute("SELECT substr(id, 1, 12) FROM memories").fetchone()[0]


@NEEDS["bash"]
@pytest.mark.parametrize(
    ("setting", "hinted"), [("COMP_TYPE=9", True), ("COMP_TYPE=63", True), ("COMP_TYPE=37", False)]
)
def test_bash_lists_ids_with_their_titles(setting, hinted, several):
    line = "ragmem pin "
    script = f'. {COMPLETIONS}/ragmem.bash; COMP_LINE="{line}" COMP_POINT={len(line)} {setting}; _ragmem;'

    lines = offered("bash", script + ' printf "%s\n" "${COMPREPLY[@]}"', several)

    assert len(lines) == len(TITLES)
    for shown, title in zip(lines, reversed(TITLES), strict=True):
        expected = rf"[a-z]{{12}}  \(\w+ \d{{4}}-\d\d-\d\d: {title}\)" if hinted else "[a-z]{12}"
        assert re.fullmatch(expected, shown)


@NEEDS["bash"]
@pytest.mark.parametrize(
    ("typed", "begin"),
    [
        ("deploy", {"na", " "}),
        ("n", {"na"}),
        ("DEPLOY", {"na", " "}),
        ("'deploy x", {"na", " "}),
        ("a:deploy", {""}),
    ],
)
def test_bash_keeps_the_words_of_a_title_where_several_ids_have_it(typed, begin, home):
    # Readline puts what all matches begin with in the place of what was typed; nothing leaves it as it is.
    line = f"ragmem pin {typed}"
    script = (
        f". {COMPLETIONS}/ragmem.bash; ragmem() {{ printf 'nab\\tone\\nnac\\ttwo\\n'; }};"
        f' COMP_LINE="{line}" COMP_POINT={len(line)}; _ragmem; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )

    assert {line[:2] for line in offered("bash", script, home)} == begin


TITLES = ["Note one 1", "Note two 2", "Note three 3"]


@pytest.fixture(scope="module")
def several(home, tmp_path_factory):
    """A home with three memories, one of them in the archive as well, and with what else has an id."""
    copy = tmp_path_factory.mktemp("several")
    shutil.copytree(home / "data", copy / "data")
    with closing(sqlite3.connect(copy / "data" / "memory.db")) as database, database:
        columns = [row[1] for row in database.execute("PRAGMA table_info(memories)") if row[1] != "n"]
        [row] = database.execute(f"SELECT {', '.join(columns)} FROM memories").fetchall()
        database.execute("DELETE FROM memories")
        for number, title in enumerate(TITLES):
            new = dict(zip(columns, row, strict=True)) | {"title": title, "id": "abc"[number] * 26}
            new |= {"uri": title, "spec": f"spec-{number}", "updated_at": number}
            database.execute(
                f"INSERT INTO memories ({', '.join(new)}) VALUES ({', '.join('?' * len(new))})",
                list(new.values()),
            )
        gone = json.dumps(new | {"title": "What went", "id": "d" * 26})
        database.execute(
            "INSERT INTO archive (run, id, rule, memory, archived_at) VALUES (?, ?, 'diamond', ?, 1)",
            ("20260401-1", "d" * 26, gone),
        )
        database.execute("INSERT INTO recalled_in VALUES ('x', 'session-of-old', 1767225600000000)")
    return copy


@pytest.fixture
def at_several(several, monkeypatch):
    monkeypatch.setenv("RAGMEM_HOME", str(several))


@NEEDS["fish"]
@pytest.mark.parametrize(
    ("typed", "among", "not_among"),
    [
        ("feedback ", "abc"[0] * 12, "good"),
        ("feedback --session x aaaa ", "good", "aaaaaaaaaaaa"),
        ("record --spec x ", "gotcha", "some-notes.md"),
        ("record gotcha ", None, "gotcha"),
        ("agents signal ", "stop", "some-notes.md"),
        ("agents signal stop ", None, "stop"),
    ],
)
def test_fish_knows_which_argument_it_is(typed, among, not_among, several):
    script = f"source {COMPLETIONS}/ragmem.fish; complete -C 'ragmem {typed}'"
    found = {line.split("\t")[0] for line in offered("fish", script, several)}

    assert among is None or among in found
    assert not_among not in found


@NEEDS["fish"]
def test_fish_shows_hints_beside_the_values(home):
    script = f"source {COMPLETIONS}/ragmem.fish; complete -C 'ragmem query --tag '"

    assert "chat logs\t1 memory" in offered("fish", script, home)


@NEEDS["fish"]
def test_fish_keeps_the_commands_of_other_groups_out(home):
    script = f"source {COMPLETIONS}/ragmem.fish; complete -C 'ragmem query seed --'"
    options = {line.split("\t")[0] for line in offered("fish", script, home)}

    assert "--explain" in options
    assert "--rebuild" not in options


@pytest.mark.parametrize(
    ("shell", "file"),
    [
        pytest.param("bash", "ragmem.bash", marks=NEEDS["bash"]),
        pytest.param("zsh", "_ragmem", marks=NEEDS["zsh"]),
        pytest.param("fish", "ragmem.fish", marks=NEEDS["fish"]),
    ],
)
def test_the_scripts_have_no_syntax_error(shell, file):
    subprocess.run([shell, "-n", COMPLETIONS / file], check=True)


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="shellcheck is not installed")
def test_shellcheck_finds_nothing_in_the_bash_script():
    subprocess.run(["shellcheck", COMPLETIONS / "ragmem.bash"], check=True)


# What a person makes up, so that Tab has nothing to offer; everything else has words, values or paths.
MADE_UP = set(
    "--after --agent --at --budget --depth --dimensions --extras --field --from --host --keep --key-variable"
    " --limit --max-chars --max-lines --name --platform --port --progress --prompt --python-version"
    " --reason --revision --since --status --task --text --title --until --url --wait".split()
)
MADE_UP_ARGUMENTS = {"TEXT", "TASK", "PATTERN", "N", "NAME"}


@pytest.fixture
def tree(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module("generating.tree")


def test_each_value_is_completed_or_is_made_up(tree):
    free = set()
    for command in tree.read_tree().walk():
        free |= {
            (*command.path, option.names[-1])
            for option in command.options
            if option.value and option.value.form == "text" and option.names[-1] not in MADE_UP
        }
        free |= {
            (*command.path, argument.value.shown)
            for argument in command.arguments
            if argument.value.form == "text" and argument.value.shown.strip("[]") not in MADE_UP_ARGUMENTS
        }

    assert not free, "say in scripts/generating/tree.py what completes them, or above that nothing does"


def test_what_is_said_of_parameters_is_of_some_that_there_are(tree):
    values = [
        value
        for command in tree.read_tree().walk()
        for value in (
            *(argument.value for argument in command.arguments),
            *(option.value for option in command.options if option.value),
        )
    ]
    parameters = set()

    def walk(path, command):
        parameters.update(" ".join((*path, item.name)) for item in command.params)
        for name, below in getattr(command, "commands", {}).items():
            walk((*path, name), below)

    for name in COMMANDS:
        walk((name,), load_command(name))
    said = {*tree.KNOWN_THERE, *tree.WORDS, *(name for name in tree.PATHS if " " in name)}
    assert said <= parameters
    assert {value.known for value in values if value.known} == set(FINDERS)


def test_a_generated_file_is_whole_while_two_write_it(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "scripts")
    import generate

    page, texts, seen = tmp_path / "page.md", ("a" * 200_000, "b" * 200_000), set()
    page.write_text(texts[0])
    with ThreadPoolExecutor(2) as pool:
        writing = [
            pool.submit(lambda text=text: [generate.write_whole(page, text) for _ in range(20)])
            for text in texts
        ]
        while not all(one.done() for one in writing):
            seen.add(page.read_text())
        for one in writing:
            one.result()
    assert seen <= set(texts)
    assert [one.name for one in tmp_path.iterdir()] == ["page.md"]


# --- `ragmem __complete` ---


def values(kind, prefix, capfd):
    assert complete([kind, prefix]) == 0

    out, err = capfd.readouterr()
    assert not err
    return [line.split("\t")[0] for line in out.splitlines()]


@pytest.fixture
def at_home(home, monkeypatch):
    monkeypatch.setenv("RAGMEM_HOME", str(home))


@pytest.mark.usefixtures("at_home")
@pytest.mark.parametrize(
    ("kind", "prefix", "expected"),
    [
        ("tag", "chat", ["chat logs"]),
        ("tag", "50%", ["50%_off"]),
        ("tag", "50_", []),
        ("tag", "%", []),
        ("tag", "o'", ["o'brien"]),
        ("entity", "POST", ["PostgreSQL"]),
        ("source", "refl", ["reflections"]),
        ("source", "inge", ["ingest"]),
        ("project", "us", ["user"]),
        ("project", "una", ["unassigned"]),
        ("real-project", "", ["harbour"]),
        ("project", "har", ["harbour"]),
        ("project", "qu", []),
        ("part", "", ["/repos/harbour", "/repos/quay", "git.example/sam/harbour", "quay-2"]),
        ("folder", "/repos/q", ["/repos/quay"]),
        ("run", "", []),
        ("unknown", "", []),
    ],
)
def test_values_begin_with_what_was_typed(kind, prefix, expected, capfd):
    assert values(kind, prefix, capfd) == expected


@pytest.mark.parametrize(
    ("kind", "prefix", "expected"),
    [
        ("memory", "", ["c" * 12, "b" * 12, "a" * 12]),
        ("memory", "b", ["b" * 12]),
        ("memory", "TWO note", ["b" * 12]),
        ("memory", "two nowhere", []),
        ("memory", "no", []),
        ("archived", "", ["d" * 12]),
        ("archived", "went", ["d" * 12]),
        ("archived", "a", []),
        ("run", "2026", ["20260401-1"]),
        ("session", "sess", ["session-of-old"]),
        ("spec", "spec-", ["spec-0", "spec-1", "spec-2"]),
        ("rule", "col", ["cold"]),
        ("agent", "", []),
    ],
)
@pytest.mark.usefixtures("at_several")
def test_what_has_an_id_is_found_by_it_and_by_its_title(kind, prefix, expected, capfd):
    assert values(kind, prefix, capfd) == expected


def test_agents_and_their_events_are_offered(ragmem, capfd):
    ragmem("agents", "heartbeat", "builder", "--status", "working", "--task", "the tests")
    ragmem("agents", "publish", "build_done", "all green", "--from", "builder")
    complete(["agent", "b"])

    assert capfd.readouterr().out == "builder\tworking the tests\n"
    assert "build_done" in values("event", "", capfd)


MERGING = {
    "gateway": "We decided that the gateway speaks HCP because HCP frames are small.",
    "protocol": "The root cause was Harbor Control Protocol (HCP): the Harbor Control Protocol is old.",
}


def test_merges_are_offered_by_their_keys_and_names(ragmem, capfd):
    for name, text in MERGING.items():
        ragmem("ingest", "-", "--title", name, stdin=text)
    shown = json.loads(ragmem("inspect", "merges", "--json").stdout)["merges"]
    assert shown

    assert values("merge", "", capfd) == [merge["key"] for merge in shown]
    assert values("merge", shown[0]["key"][:3], capfd) == [shown[0]["key"]]
    assert values("merge", "hcp", capfd) == [shown[0]["key"]]
    assert values("undone", "", capfd) == []
    assert ragmem("inspect", "merges", "--undo", shown[0]["key"]).returncode == 0
    assert values("undone", "", capfd) == [shown[0]["key"]]


def test_what_is_written_here_once_more_is_the_same_there():
    assert GC_RULES == RULES
    assert completion.SHORT_ID_LENGTH == SHORT_ID_LENGTH


@pytest.mark.usefixtures("at_home")
def test_ids_are_offered_with_their_title(home, capfd):
    [short] = values("memory", "", capfd)

    assert values("memory", short[:4].upper(), capfd) == [short]
    assert values("memory", short + "q", capfd) in ([], [short + "q"])


def test_a_source_of_the_persons_own_file_is_offered(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("RAGMEM_HOME", str(tmp_path))
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "sources.toml").write_text('[sources.journal]\nglob = "~/journal/*.md"\n')

    assert values("source", "jour", capfd) == ["journal"]


def test_a_value_with_a_line_break_is_left_out(home, tmp_path, monkeypatch, capfd):
    copy = tmp_path / "data"
    shutil.copytree(home / "data", copy)
    with closing(sqlite3.connect(copy / "memory.db")) as database, database:
        database.execute("""UPDATE memories SET tags = '["fine", "two\\nlines", "\\u001b[31mred"]'""")
    monkeypatch.setenv("RAGMEM_HOME", str(tmp_path))

    assert values("tag", "", capfd) == ["fine"]


@pytest.mark.parametrize(
    "state", ["missing", "damaged", "empty", "a folder", "truncated", "unreadable tables"]
)
def test_nothing_is_said_about_a_home_that_cannot_be_read(state, home, capfd):
    database = Path(os.environ["RAGMEM_HOME"]) / "data" / "memory.db"
    if state != "missing":
        database.parent.mkdir(parents=True)
    if state == "damaged":
        database.write_bytes(os.urandom(8_192))
    elif state == "empty":
        database.touch()
    elif state == "a folder":
        database.mkdir()
    elif state == "truncated":
        database.write_bytes((home / "data" / "memory.db").read_bytes()[:6_000])
    elif state == "unreadable tables":
        with closing(sqlite3.connect(database)) as other, other:
            other.execute("CREATE TABLE memories (other)")

    for kind in (*FINDERS, ""):
        assert values(kind, "x", capfd) == [], kind


def test_a_locked_home_costs_a_moment_and_says_nothing(home, tmp_path, monkeypatch, capfd):
    shutil.copytree(home / "data", tmp_path / "data")
    monkeypatch.setenv("RAGMEM_HOME", str(tmp_path))
    path = tmp_path / "data" / "memory.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA locking_mode = EXCLUSIVE")
        writer.execute("BEGIN EXCLUSIVE")
        writer.execute("UPDATE memories SET title = 'changed'")
        begun = time.monotonic()
        found = values("tag", "chat", capfd)

    assert found in ([], ["chat logs"])
    assert time.monotonic() - begun < 5


def test_a_writer_at_work_does_not_stop_a_tab(home, tmp_path, monkeypatch, capfd):
    shutil.copytree(home / "data", tmp_path / "data")
    monkeypatch.setenv("RAGMEM_HOME", str(tmp_path))
    with closing(sqlite3.connect(tmp_path / "data" / "memory.db", isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("UPDATE memories SET title = 'changed'")

        assert values("tag", "chat", capfd) == ["chat logs"]


@pytest.mark.usefixtures("at_home")
def test_a_tab_leaves_no_file_behind(home, capfd):
    before = sorted(home.rglob("*"))
    values("tag", "", capfd)

    assert sorted(home.rglob("*")) == before


@pytest.mark.usefixtures("at_home")
def test_values_are_utf8_whatever_the_locale(home):
    result = subprocess.run(
        [sys.executable, "-m", "ragmem", "__complete", "tag", "na"],
        capture_output=True,
        check=True,
        env=environment(home) | {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    )

    assert result.stdout.decode() == "naïve café\t1 memory\n"
    assert not result.stderr
