"""`ragmem setup` on homes as people have them: it shows, asks once, and answers about their past."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from terminal import in_terminal
from transcript_sessions import Session

from ragmem.api.memory import Ragmem
from ragmem.assistants.places import Places
from ragmem.services.setup.plan import plan_setup
from ragmem.services.setup.survey import survey
from ragmem.services.wiring.command import Program
from ragmem.services.wiring.connect import ConnectContext

HOMES = Path(__file__).parents[2] / "data" / "homes"
SAID = "We decided to keep the tide tables in SQLite, because one file is easy to back up."
ASKED = "Where do we keep the tide tables?"
MANY = 40


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("RAGMEM_HOME", str(tmp_path / "memory"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("SHELL", "/bin/bash")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(path, content=""):
    path.parent.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, str) else "".join(f"{json.dumps(one)}\n" for one in content)
    path.write_text(text)
    return path


def claude(home, folder, *sessions):
    slug = "".join(one if one.isalnum() else "-" for one in str(folder))
    for session in sessions:
        session.cwd = str(folder)
        put(home / ".claude" / "projects" / slug / f"{session.name}.jsonl", session.text.decode())


def session(name="5e55-0001", cwd="", asked=ASKED, said=SAID):
    # Texts that are equal would be one memory.
    return Session(name, cwd or "/nowhere").ask(f"{asked} I ask for {name}.", said)


def snapshot(home):
    """Return path -> content of the files outside of ragmem's own folders, but for the largest."""
    return {
        name: path.read_bytes() if path.stat().st_size < 1_000_000 else b""
        for path in sorted(home.rglob("*"))
        if path.is_file() and not (name := path.relative_to(home).as_posix()).startswith("memory/")
    }


def only_codex(home):
    (home / "repos" / "tide" / ".git").mkdir(parents=True)
    put(
        home / ".codex" / "sessions" / "2026" / "05" / "30" / "rollout-2026-05-30T10-00-00-c1.jsonl",
        [
            {"type": "session_meta", "payload": {"id": "c1", "cwd": str(home / "repos" / "tide")}},
            {"type": "event_msg", "payload": {"type": "user_message", "message": ASKED}},
            {"type": "event_msg", "payload": {"type": "agent_message", "message": SAID}},
        ],
    )


def only_cursor(home):
    (home / "repos" / "tide" / ".git").mkdir(parents=True)
    slug = str(home / "repos" / "tide").strip("/").replace("/", "-").replace("_", "-")
    put(
        home / ".cursor" / "projects" / slug / "agent-transcripts" / "c1" / "c1.jsonl",
        [
            {"role": role, "message": {"content": [{"type": "text", "text": text}]}}
            for role, text in (("user", ASKED), ("assistant", SAID))
        ],
    )


def monorepo(home):
    (home / "work" / "mono" / ".git").mkdir(parents=True)
    for name in ("board", "tides", "billing"):
        put(home / "work" / "mono" / "packages" / name / "CLAUDE.md", f"# {name}\n\nRun `make {name}`.\n")
        claude(home, home / "work" / "mono" / "packages" / name, session(f"5e55-{name}"))


def notes_elsewhere(home):
    put(home / "vault" / "harbour" / "tables.md", f"# Tide tables\n\n{SAID}\n")
    put(home / "memory" / "config" / "sources.toml", '[sources.vault]\nglob = "~/vault/**/*.md"\n')


def no_git(home):
    (home / "scripts").mkdir()
    claude(home, home / "scripts", session())


def many_transcripts(home):
    (home / "repos" / "tide" / ".git").mkdir(parents=True)
    claude(home, home / "repos" / "tide", *(session(f"5e55-{number:04}") for number in range(MANY)))
    # As large as what years leave, and sparse: it costs nothing to make.
    with put(home / ".claude" / "projects" / "-old" / "huge.jsonl").open("wb") as file:
        file.write(session("5e55-huge", str(home / "repos" / "tide")).text)
        file.truncate(100_000_000)


def another_language(home):
    said = "Wir haben uns entschieden, die Gezeitentafeln in SQLite zu halten, der Einfachheit wegen."
    (home / "Arbeit" / "häfen" / ".git").mkdir(parents=True)
    claude(home, home / "Arbeit" / "häfen", session(asked="Wo halten wir die Gezeitentafeln?", said=said))


def no_assistant(home):
    put(home / "letter.txt", "Dear harbour")


def an_old_home(home):
    data = home / "memory" / "data"
    data.mkdir(parents=True)
    (data / "memory.db").write_bytes(gzip.decompress((HOMES / "schema-1" / "memory.db.gz").read_bytes()))


SHAPES = {
    "only Codex": (only_codex, "keep the tide tables in SQLite", {".codex/hooks.json"}),
    "only Cursor": (
        only_cursor,
        "keep the tide tables in SQLite",
        {".cursor/hooks.json", ".cursor/mcp.json"},
    ),
    "a monorepo": (monorepo, "keep the tide tables in SQLite", {".claude/settings.json"}),
    "notes elsewhere": (notes_elsewhere, "keep the tide tables in SQLite", set()),
    "no git": (no_git, "keep the tide tables in SQLite", {".claude/settings.json"}),
    "many transcripts": (many_transcripts, "keep the tide tables in SQLite", {".claude/settings.json"}),
    "another language": (another_language, "Gezeitentafeln in SQLite", {".claude/settings.json"}),
    "no assistant": (no_assistant, "There is nothing to query yet", set()),
    "an old home": (an_old_home, "Your last three decisions are:", set()),
}


@pytest.mark.parametrize(("make", "answered", "connected"), SHAPES.values(), ids=SHAPES)
def test_setup_ends_well_on_a_home_as_people_have_it(make, answered, connected, home, ragmem):
    make(home)
    before = snapshot(home)
    asked = ragmem("setup")
    assert (asked.returncode, snapshot(home)) == (1, before)

    done = ragmem("setup", "--yes")

    assert (done.returncode, done.stdout.count("On this machine")) == (0, 1), done.stderr
    assert answered in done.stdout
    assert "What comes next" in done.stdout
    written = {name for name, content in snapshot(home).items() if before.get(name) != content}
    assert connected <= written
    # Whatever was written was shown before, by its path.
    assert all(f"~/{name}" in asked.stdout for name in written)
    again = ragmem("setup", "--yes")
    assert (again.returncode, "Everything is set up" in again.stdout) == (0, True)
    assert answered in again.stdout


def test_a_place_that_cannot_be_written_is_one_line_before_anything_is_done(home, ragmem):
    only_codex(home)
    (home / "memory").write_text("a file where the memory should lie")
    before = snapshot(home)

    refused = ragmem("setup", "--yes")

    assert (refused.returncode, refused.stdout, snapshot(home)) == (3, "", before)
    assert (
        refused.stderr.splitlines()[0]
        == f'ragmem: the ragmem home cannot be in "{home}/memory": it is not a folder'
    )


def test_a_dry_run_and_json_show_the_plan_and_change_nothing(home, ragmem):
    only_codex(home)
    before = snapshot(home)
    shown = ragmem("setup", "--dry-run")
    document = json.loads(ragmem("setup", "--dry-run", "--json").stdout)

    assert (shown.returncode, snapshot(home)) == (0, before)
    assert "read 1 session" in shown.stdout
    assert "all estimates" in shown.stdout
    [codex] = document["assistants"]
    assert (codex["assistant"], codex["sessions"]["files"], codex["connected"]) == ("codex", 1, "no")
    assert (document["done"], document["repositories"]) == (False, [str(home / "repos" / "tide")])
    assert {one["assistant"] for one in document["plan"]["connections"]} == {"codex"}
    done = json.loads(ragmem("setup", "--yes", "--json").stdout)
    assert (done["read"], done["answer"]["about"]) == (1, "decisions")
    assert ragmem("setup", "--json").returncode == 2


def test_sessions_that_came_with_a_clone_are_told_with_what_reads_them(home, ragmem):
    clone = home / "repos" / "tide"
    (clone / ".git").mkdir(parents=True)
    put(
        clone / ".specstory" / "history" / "2026-05-30_10-00-00Z-tides.md",
        f"<!-- Generated by SpecStory -->\n\n_**User**_\n\n{ASKED}\n\n---\n\n_**Assistant**_\n\n{SAID}\n",
    )
    done = ragmem("setup", "--yes")
    assert "note: ~/repos/tide: 1 session was skipped: you have no commits in this clone" in done.stderr
    assert "[seed] trusted_repositories" in done.stderr
    [left_out] = json.loads(ragmem("setup", "--dry-run", "--json").stdout)["left_out"]
    assert (left_out["source"], left_out["place"]) == ("specstory", str(clone))


def test_the_repository_where_one_is_outside_of_the_home_is_named(
    home, ragmem, tmp_path_factory, monkeypatch
):
    here = tmp_path_factory.mktemp("workspaces") / "the tide"
    (here / ".git").mkdir(parents=True)
    put(here / "docs" / "tables.md", f"# Tide tables\n\n{SAID}\n")
    monkeypatch.chdir(here / "docs")
    told = f"notes in '{here}', where you are"
    assert f"{told}: 1 file, " in ragmem("setup", "--dry-run").stdout
    done = ragmem("seed", "--dry-run").stderr
    assert f"not read: {told}, 1 file, " in done
    assert done.endswith(f": ragmem ingest '{here}'\n")
    (home / ".git").mkdir()
    (home / "repos" / "tide" / ".git").mkdir(parents=True)
    for found in (home / "repos" / "tide", home):
        monkeypatch.chdir(found)
        assert "where you are" not in ragmem("setup", "--dry-run").stdout


@pytest.mark.parametrize(("keys", "code"), [("n\n", 1), ("\x03", 130), ("y\n", 0)])
def test_it_asks_once_and_takes_no_for_an_answer(keys, code, home):
    only_codex(home)
    shown = in_terminal("setup", keys=keys, after="Do this?")
    assert (shown.code, (home / ".codex" / "hooks.json").exists()) == (code, code == 0)
    assert shown.written.count("Do this?") == 1


def test_what_is_left_out_is_left_out(home, ragmem):
    monorepo(home)
    before = snapshot(home)
    done = ragmem("setup", "--yes", "--no-connect", "--no-completions", "--no-transcripts")
    assert (done.returncode, snapshot(home)) == (0, before)
    assert "Where do we" not in done.stdout
    named = ragmem("setup", "codex", "--dry-run")
    assert ("connect Codex" in named.stdout, "connect Claude Code" in named.stdout) == (True, False)
    assert ragmem("setup", "codex", "--no-connect").returncode == 2


def test_an_interrupted_setup_goes_on_where_it_was(home, ragmem):
    (home / "repos" / "tide" / ".git").mkdir(parents=True)
    claude(home, home / "repos" / "tide", *(session(f"5e55-{number:04}") for number in range(MANY)))
    environ = {**os.environ, "RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake"}
    running = subprocess.Popen(
        [sys.executable, "-m", "ragmem", "setup", "--yes"],
        env=environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    ends = time.monotonic() + 30
    while not (home / "memory" / "data" / "memory.db").exists() and time.monotonic() < ends:
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    said = running.communicate()[1].decode()
    assert running.returncode == 130
    assert "run the same command again to go on" in said
    # Connecting comes first: reading may take an hour.
    assert (home / ".claude" / "settings.json").exists()

    done = ragmem("setup", "--yes")

    assert (done.returncode, "connected Claude Code" in done.stdout) == (0, False), done.stderr
    stored = json.loads(ragmem("inspect", "--json").stdout)["catalog"]
    assert stored["source"] == {"transcripts": MANY}


def test_the_latest_sessions_answer_before_the_older_ones_are_read(home, ragmem):
    many_transcripts(home)

    shown = ragmem("setup", "--yes").stdout

    order = (
        "connected Claude Code",
        "Your last decision is:",
        "Reading older sessions now",
        "read sessions:",
    )
    assert [shown.index(one) for one in order] == sorted(shown.index(one) for one in order)
    assert shown.count("What did I decide last?") == 1


def test_a_file_that_cannot_be_read_is_named_and_no_setup_waits_for_it(home, ragmem):
    no_git(home)
    put(home / ".gemini" / "GEMINI.md", "Answer in short sentences.").chmod(0o644)
    broken = home / ".claude" / "CLAUDE.md"
    broken.write_bytes(b"\x00\x01\x02 no text")
    put(home / ".claude" / "projects" / "-x" / "none.jsonl", "no session of anything\n")
    put(home / ".claude" / "projects" / "-x" / "empty.jsonl")

    first = ragmem("setup", "--yes", "--no-connect")
    assert (first.returncode, f"failed: {broken}" in first.stderr) == (3, True)
    again = ragmem("setup", "--yes", "--no-connect")

    assert (again.returncode, "Everything is set up" in again.stdout) == (0, True)
    assert "note: 1 file could not be read before; `ragmem seed` tries again" in again.stderr
    assert str(broken) in ragmem("seed").stderr
    assert (
        "note: 1 session could not be read before; `ragmem seed --source transcripts` tries" in again.stderr
    )
    assert "none.jsonl" in ragmem("seed", "--source", "transcripts").stderr
    broken.write_text("Answer in German.")
    assert "read 1 file" in ragmem("setup", "--dry-run").stdout


def test_a_tiny_home_is_told_what_the_memory_itself_takes(home, ragmem):
    no_git(home)
    expected = json.loads(ragmem("setup", "--dry-run", "--json").stdout)["plan"]["estimate"]["bytes"]
    ragmem("setup", "--yes")
    taken = (home / "memory" / "data" / "memory.db").stat().st_size
    assert taken < expected < taken * 2
    (home / "scripts" / "CLAUDE.md").write_text("Run the tests.")
    later = json.loads(ragmem("setup", "--dry-run", "--json").stdout)["plan"]["estimate"]["bytes"]
    assert later < expected / 10


def test_a_project_is_told_by_the_name_that_it_has_now(home, ragmem):
    (home / "repos" / "tide" / ".git").mkdir(parents=True)
    claude(home, home / "repos" / "tide", session(cwd=str(home / "repos" / "tide")))
    ragmem("setup", "--yes")
    assert ragmem("projects", "rename", "tide", "Harbour clock").returncode == 0
    again = ragmem("setup", "--yes")
    assert "  Harbour clock  " in again.stdout
    assert "  tide  " not in again.stdout


@pytest.mark.parametrize(
    ("said", "open_still"),
    [
        (
            "Nach langer Diskussion haben wir beschlossen, die Tafeln in SQLite zu halten.",
            "Wir haben noch nicht entschieden, wo die Karten liegen.",
        ),
        (
            "Nous avons décidé de garder les tables de marées dans SQLite.",
            "Nous n'avons pas encore décidé où mettre les cartes.",
        ),
        (
            "Hemos decidido guardar las tablas de mareas en SQLite.",
            "Todavía no hemos decidido dónde guardar los mapas.",
        ),
        ("Decidimos manter as tábuas de marés em SQLite.", "Ainda não decidimos onde guardar os mapas."),
        ("Мы решили хранить таблицы приливов в SQLite.", "Мы решили проблему карт сегодня утром."),
        ("我们决定把潮汐表保存在 SQLite 中。", "我们还没有决定把地图放在哪里。"),
        ("潮汐表はSQLiteに保存することに決めました。", "地図をどこに保存するかはまだ決めていません。"),
        ("潮汐表はSQLiteに保存することを決定。", "地図の保存先を選ぶことを決定する必要がある。"),
    ],
    ids=["de", "fr", "es", "pt", "ru", "zh", "ja", "ja in a list"],
)
def test_what_was_decided_is_found_in_other_languages(said, open_still, home, ragmem):
    (home / "repos").mkdir()
    claude(home, home / "repos", session("5e55-1", said=said), session("5e55-2", said=open_still))
    answer = json.loads(ragmem("setup", "--yes", "--json", "--no-connect").stdout)["answer"]
    assert (answer["about"], [line["text"] for line in answer["lines"]]) == ("decisions", [said])


@pytest.mark.parametrize(
    ("heading", "said", "statuses"),
    [
        ("Entscheidung", "Die Tafeln liegen in einer SQLite-Datei.", ("Angenommen", "Abgelehnt")),
        ("Décision", "Les tables de marées sont dans SQLite.", ("Acceptée", "Remplacée par 7")),
        ("Decisión", "Las tablas de mareas van en SQLite.", ("Aceptado", "Propuesto")),
        ("3. **Decisão**", "Escolhemos a opção A: tábuas em SQLite", ("Aceito", "\u274c Rejeitado")),
        ("決定", "SQLiteのみで潮汐表を保存し、他は使わない方針とする。", ("承認済み", "却下")),
        ("决策", "潮汐表只保存在 SQLite 里面的一个文件里\uff0c备份起来特别容易。", ("已采纳", "草案")),
    ],
    ids=["de", "fr", "es", "pt", "ja", "zh"],
)
def test_the_decision_of_a_record_is_told_in_other_languages(heading, said, statuses, home, ragmem):
    (home / "repos" / "tide" / ".git").mkdir(parents=True)
    for number, (status, text) in enumerate(zip(statuses, (said, f"{said} Nein."), strict=True)):
        put(
            home / "repos" / "tide" / "docs" / "adr" / f"00{number}.md",
            f"# ADR {number}\n\n**Status**: {status}\n\n- \u201cO que decidimos sobre as marés?\u201d\n"
            f'- Permitir perguntas ("decidimos guardar tudo")\n\n## {heading}\n\n'
            f"以下の内容とすることを示す\uff1a\n\n**{text[:6]}**{text[6:]}\n",
        )
    lines = json.loads(ragmem("setup", "--yes", "--json", "--no-connect").stdout)["answer"]["lines"]
    assert [line["text"].removeprefix("ADR 0: ") for line in lines] == [said]


def test_an_approach_that_was_left_is_no_decision(home, ragmem):
    (home / "repos" / "tide" / ".git").mkdir(parents=True)
    put(
        home / "repos" / "tide" / "memory-bank" / "progress.md",
        "# Progress\n\n## Architectural Decisions\n\n"
        "**Initial Approach**: Tide tables are kept in many files.\n\n"
        "**Current Direction**: Tide tables are kept in one SQLite file.\n",
    )
    [line] = json.loads(ragmem("setup", "--yes", "--json", "--no-connect").stdout)["answer"]["lines"]
    assert line["text"] == "Current Direction: Tide tables are kept in one SQLite file."


def test_the_last_records_of_decisions_are_told_that_hold(home, ragmem):
    records = home / "repos" / "tide" / "architecture-decision-record"
    (home / "repos" / "tide" / ".git").mkdir(parents=True)
    for number, (title, status, said) in enumerate(
        (
            ("Where they are stored", "Accepted", "We will keep the tide tables in SQLite."),
            ("Health checks", "\u2705 Accepted", "When there are two boards, we are going to ask both:"),
            ("Domain policy", "Approved", ""),
            ("Use Postgres", "\U0001f914 Proposed", "We will use Postgres."),
            ("Use Redis", "Superseded by 7", "We will use Redis."),
        ),
        start=1,
    ):
        decision = f"\n\n## Decision\n\n{said}" if said else "\n\n## Rules\n\nNames MUST be short."
        text = f"# {number}. {title}\n\nDate: 2026-05-0{number}\n\n## Status\n\n{status}{decision}\n"
        put(records / f"00{number}-{title.lower().replace(' ', '-')}.md", text)
    lines = json.loads(ragmem("setup", "--yes", "--json", "--no-connect").stdout)["answer"]["lines"]
    assert [(line["text"], line["at"][:10]) for line in lines] == [
        ("Domain policy", "2026-05-03"),
        ("Health checks", "2026-05-02"),
        ("Where they are stored: We will keep the tide tables in SQLite.", "2026-05-01"),
    ]


def test_versions_come_from_where_a_program_is_installed_or_what_it_says(home, ragmem, monkeypatch):
    monkeypatch.setenv("PATH", f"{home}/bin:/usr/bin:/bin")
    versions = home / "share" / "claude" / "versions" / "2.1.63"
    package = home / "lib" / "node_modules" / "gemini-cli"
    for path, text in (
        (versions, "#!/bin/sh\nexit 1\n"),
        (package / "dist" / "index.js", "#!/bin/sh\nexit 1\n"),
        (home / "bin" / "codex", "#!/bin/sh\necho codex-cli 0.46.0\n"),
        (home / "bin" / "copilot", "#!/bin/sh\nexit 1\n"),
    ):
        put(path, text).chmod(0o755)
    put(package / "package.json", '{"name": "gemini-cli", "version": "0.9.1", "bin": "dist/index.js"}')
    (home / "bin" / "claude").symlink_to(versions)
    (home / "bin" / "gemini").symlink_to(package / "dist" / "index.js")

    document = json.loads(ragmem("setup", "--dry-run", "--json").stdout)

    assert {one["assistant"]: one["version"] for one in document["assistants"]} == {
        "claude-code": "2.1.63",
        "codex": "0.46.0",
        "gemini": "0.9.1",
        "copilot": "",
    }


def test_settings_that_cannot_be_read_are_named_and_the_rest_is_done(home, ragmem):
    no_git(home)
    only_codex(home)
    put(home / ".codex" / "hooks.json", "{broken")
    done = ragmem("setup", "--yes")
    assert "note: Codex:" in done.stderr
    assert (done.returncode, "connected Claude Code" in done.stdout) == (0, True)


def test_without_a_memory_the_bare_command_offers_setup(home, ragmem):
    assert "`ragmem setup`" in ragmem().stderr
    no_git(home)
    ragmem("setup", "--yes")
    assert ragmem().stderr == ""


def test_without_a_decision_the_latest_sessions_are_told(home, ragmem):
    (home / "repos").mkdir()
    claude(
        home, home / "repos", session(said="The harbour bell rings at noon; `bell.py` reads the tide clock.")
    )
    done = ragmem("setup", "--yes")
    assert "Your last memory is:" in done.stdout
    assert ASKED.rstrip("?") in done.stdout or "bell.py" in done.stdout


def test_what_was_read_is_not_denied_where_it_tells_nothing_of_the_past(home, ragmem):
    put(home / ".gemini" / "GEMINI.md", "Answer in short sentences.")

    done = ragmem("setup", "--yes", "--no-connect")

    assert "1 memory in" in done.stdout
    assert "no file or session of yours was found" not in done.stdout
    assert "None of the files that were read states a decision or a result." in done.stdout


def test_where_nothing_was_found_nothing_is_said_to_be_read_or_connected(home, ragmem):
    ragmem("seed")

    done = ragmem("setup", "--yes", "--no-completions")

    assert done.returncode == 0
    assert "there are no files to read, and there is no assistant to connect" in done.stdout
    assert "ragmem ingest FOLDER" in done.stdout
    assert "ragmem query" not in done.stdout


def test_an_assistant_without_sessions_is_connected_with_json_as_well(home, ragmem):
    (home / ".claude").mkdir()

    done = ragmem("setup", "--yes", "--json")

    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["answer"] == {"about": "latest", "lines": []}
    assert not (home / "memory" / "data" / "memory.db").exists()


def test_a_ragmem_that_may_vanish_is_connected_to_nothing(home):
    no_git(home)
    cached = Program((f"{home}/.cache/uv/archive-v0/x/bin/ragmem",))
    desk = ConnectContext(Places({}, home, home), cached, home / "memory" / "state", "2026-06-01T00:00:00Z")
    with Ragmem.open(environ={"RAGMEM_HOME": str(home / "memory")}, home=home, cwd=home) as memory:
        found = survey(memory.settings, memory.catalog, desk, home=home)
        plan = plan_setup(
            found,
            memory.catalog,
            desk,
            sessions=True,
            chosen=[one.assistant for one in found.assistants],
            shell=None,
            environ={},
            home=home,
        )
    assert (plan.connections, plan.reads) == ((), True)
    assert "may vanish" in plan.problems[0].reason
