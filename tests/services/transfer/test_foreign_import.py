"""What other tools have stored becomes memories once, and their stores stay as they are."""

import hashlib
import json
import os
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from foreign_stores import (
    ANSWER,
    BEGAN,
    QUESTION,
    STORED,
    chatgpt_conversation,
    claude_conversation,
    make_cursor,
    make_opencode_files,
    make_palace,
    unpack,
    zip_of,
)

from ragmem.api.memory import Ragmem
from ragmem.domain.model import Memory

TOKEN = "ghp_" + "q8Zr2LmX0vTn4KcY6sWb1PdE3fGh5JuA7iOz"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, as the command line finds it; the folder for stores in it."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("RAGMEM_HOME", str(tmp_path / "ragmem"))
    monkeypatch.chdir(home)
    return home


@pytest.fixture
def bring(here: Path, inside: Callable[..., SimpleNamespace]) -> Callable[..., dict[str, Any]]:
    """Return a function that imports a store and returns the JSON of the command."""

    def answer(*arguments: object) -> dict[str, Any]:
        done = inside("import", "--json", *map(str, arguments))
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return answer


@pytest.fixture
def stored(here: Path, tmp_path: Path) -> Callable[[], list[Memory]]:
    """Return a function that returns all memories, oldest first."""

    def memories() -> list[Memory]:
        environ = {"RAGMEM_HOME": str(tmp_path / "ragmem"), "RAGMEM_MODELS_BACKEND": "fake"}
        with Ragmem.open(environ=environ, home=here, cwd=here) as memory:
            if not memory.catalog.exists():
                return []
            found = memory.catalog.memories.get(memory.catalog.memories.ids())
            return sorted(found.values(), key=lambda one: (one.event_time, one.uri))

    return memories


def summary(done: dict[str, Any]) -> set[tuple[str, str, int, str]]:
    """Return the groups of an import: name, kind, count, day of the first."""
    return {(one["name"], one["kind"], one["count"], one["since"][:10]) for one in done["groups"]}


def state_of(folder: Path) -> dict[str, str]:
    """Return path -> hash and time of all files below a folder."""
    return {
        str(path): f"{hashlib.sha256(path.read_bytes()).hexdigest()} {path.stat().st_mtime_ns}"
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


# Each tool


def make_claude_mem(folder: Path) -> Path:
    return unpack("claude-mem.db.gz", folder)


def make_mem0(folder: Path) -> Path:
    return unpack("mem0-history.db.gz", folder)


def make_mcp(folder: Path) -> Path:
    return unpack("mcp-memory-service.db.gz", folder)


def make_opencode(folder: Path) -> Path:
    return unpack("opencode.db.gz", folder)


def make_old_opencode(folder: Path) -> Path:
    return make_opencode_files(folder / "storage")


def make_chatgpt(folder: Path) -> Path:
    folder.mkdir()
    return zip_of(folder / "export.zip", {"conversations.json": [chatgpt_conversation()], "chat.html": b"x"})


def make_claude_ai(folder: Path) -> Path:
    folder.mkdir()
    return zip_of(folder / "data.zip", {"conversations.json": [claude_conversation()], "users.json": []})


def make_cursor_folder(folder: Path) -> Path:
    return make_cursor(folder, "/work/harbour")


HARBOUR = {
    ("harbour", "architecture", 1, "2026-02-25"),
    ("harbour", "error", 1, "2026-02-26"),
    ("lighthouse", "research", 1, "2026-02-27"),
}
EXCHANGE = {("work-harbour", "exchange", 1, "2026-02-25")}
PERSONAL = {("user", "exchange", 1, "2026-02-25")}

STORES = {
    "claude-mem": (make_claude_mem, HARBOUR - {("harbour", "architecture", 1, "2026-02-25")}),
    "mem0": (make_mem0, {("user", "error", 1, "2026-02-26")}),
    "mcp-memory-service": (make_mcp, HARBOUR),
    "mempalace": (make_palace, {("harbour", "error", 1, "2026-02-26")}),
    "chatgpt": (make_chatgpt, PERSONAL),
    "claude-ai": (make_claude_ai, PERSONAL),
    "cursor": (make_cursor_folder, EXCHANGE),
    "opencode": (make_opencode, EXCHANGE),
    "opencode, before it had a database": (make_old_opencode, EXCHANGE),
}


@pytest.mark.parametrize("case", STORES)
def test_a_store_is_recognised_and_imported_once_and_left_as_it_was(case, here, bring, stored):
    make, expected = STORES[case]
    path = make(here / "store")
    before = state_of(here / "store")

    planned = bring("--dry-run", path)
    assert not stored()
    done = bring(path)
    first = stored()
    again = bring("--from", case.partition(",")[0], path)

    assert done["tool"] == case.partition(",")[0]
    assert expected <= summary(done)
    assert planned["groups"] == done["groups"]
    assert planned["new"] == done["new"] == len(first)
    assert (again["new"], again["changed"], again["unchanged"]) == (0, 0, len(first))
    assert stored() == first
    assert state_of(here / "store") == before


def test_notes_of_basic_memory_keep_their_text_kind_tags_and_relations(here, bring, stored):
    notes = here / "harbour-notes"
    (notes / "tides").mkdir(parents=True)
    text = (STORED / "basic-memory-note.md").read_text()
    dated = text.replace("title:", "created: 2026-02-25\ntitle:", 1)
    (notes / "tides" / "tables.md").write_text(f"{dated}\n- [x] a task that is no observation\n")
    done = bring(notes)
    (memory,) = stored()

    assert summary(done) == {("harbour-notes", "architecture", 1, "2026-02-25")}
    assert memory.title == "Tide tables"
    assert set(memory.tags) == {"tides", "time"}
    assert memory.metadata["relations"] == "implements Port calendar"
    assert "[decision] Tables are stored in UTC #time (seen in March)" in memory.text
    assert bring("--from", "basic-memory", notes)["unchanged"] == 1


def test_notes_of_another_program_are_not_taken_for_those_of_basic_memory(here, inside):
    (here / "notes").mkdir()
    (here / "notes" / "one.md").write_text("# A note\n\nWithout a permalink.\n")
    done = inside("import", "notes")
    assert done.returncode == 2
    assert "--from" in done.stderr


def test_observations_and_summaries_of_claude_mem_keep_what_they_say(here, bring, stored):
    done = bring(make_claude_mem(here / "store"))
    texts = [memory.text for memory in stored()]

    assert done["left_out"] == {"prompt without its answer": 1}
    assert any("Seen while the tables were imported." in text and "how-it" not in text for text in texts)
    assert any(text.startswith("Request: Why do the tide tables jump") for text in texts)


def test_only_the_last_version_of_a_memory_of_mem0_is_imported(here, bring, stored):
    done = bring(make_mem0(here / "store"))
    texts = {memory.text for memory in stored()}

    assert "Lamps last 9,500 hours." in texts
    assert not any("9,000" in text or "Ana" in text for text in texts)
    assert done["left_out"] == {"deleted memory": 1}


def test_the_json_of_mem0_gives_projects_and_tags(here, bring, stored):
    memory = {"id": "m1", "memory": "Prefers tabs.", "hash": "x", "user_id": "ana", "categories": ["style"]}
    memory |= {"created_at": "2026-02-25T06:13:20Z", "metadata": {"project": "harbour"}}
    (here / "memories.json").write_text(json.dumps({"count": 1, "results": [memory]}))
    done = bring(here / "memories.json")
    (found,) = stored()

    assert {(name, day) for name, _, _, day in summary(done)} == {("harbour", "2026-02-25")}
    assert (found.tags, found.metadata["user_id"], found.title) == (("style",), "ana", "Prefers tabs.")


def test_facts_of_a_palace_that_no_longer_hold_are_left_out(here, bring, stored):
    done = bring(make_palace(here / "palace"))
    texts = {memory.text for memory in stored()}

    assert "Ana works on harbour" in texts
    assert not any("Porto" in text for text in texts)
    assert done["left_out"]["fact that no longer holds"] == 1


def test_a_conversation_becomes_exchanges_along_the_branch_that_was_shown(here, bring, stored):
    bring(make_chatgpt(here / "store"))
    (memory,) = stored()

    assert memory.source == "transcripts"
    assert all(part in memory.text for part in (QUESTION, ANSWER))
    assert not any(part in memory.text for part in ("abandoned", "helpful"))
    assert (memory.metadata["model"], memory.metadata["conversation"]) == ("gpt-5", "Tide tables")
    assert int(memory.event_time.timestamp()) == int(BEGAN) + 3


def test_a_conversation_that_went_on_changes_only_what_is_new(here, bring):
    first = claude_conversation()
    bring(zip_of(here / "a.zip", {"conversations.json": [first]}))
    more = claude_conversation("later", asked="And what about the lamps?")["chat_messages"]
    first["chat_messages"] += more
    done = bring(zip_of(here / "b.zip", {"conversations.json": [first]}))
    assert (done["new"], done["changed"], done["unchanged"]) == (1, 0, 1)


def test_a_bare_file_and_the_folder_of_an_export_are_read_as_well(here, bring):
    (here / "export").mkdir()
    bare = here / "export" / "conversations.json"
    bare.write_text(json.dumps([chatgpt_conversation()]))
    assert bring(bare)["new"] == 1
    assert bring("--from", "chatgpt", here / "export")["unchanged"] == 1


def test_a_session_that_seed_has_read_is_not_stored_twice(here, bring, stored, inside):
    path = unpack("opencode.db.gz", here / ".local" / "share" / "opencode")
    assert inside("seed", "--source", "transcripts").returncode == 0
    (seeded,) = stored()
    assert (bring(path)["new"], bring(path)["doubled"]) == (0, 1)
    assert [one.id for one in stored()] == [seeded.id]


def test_an_edit_of_cursor_is_an_edit_of_the_exchange(here, bring, stored):
    bring(make_cursor(here / "User", "/work/harbour"))
    (memory,) = stored()
    assert memory.metadata["files"] == "tides.py"


# Projects


def test_a_project_that_is_known_here_by_name_or_folder_gets_the_memories(here, bring, stored, inside):
    repository = here / "harbour"
    (repository / ".git").mkdir(parents=True)
    (repository / "note.md").write_text("We decided to keep the tide tables in UTC for good.\n")
    assert inside("ingest", str(repository / "note.md")).returncode == 0
    bring(make_mcp(here / "store"))
    bring(make_cursor(here / "User", str(repository)))
    projects = {one.scope.project for one in stored() if "ighthouse" not in one.text}
    assert len(projects) == 1


def test_a_name_that_two_projects_here_have_becomes_a_project_of_its_own(here, bring, stored, inside):
    for parent in ("a", "b"):
        folder = here / parent / "harbour"
        (folder / ".git").mkdir(parents=True)
        (folder / "note.md").write_text(f"We decided to use reader {parent} for the tide tables.\n")
        assert inside("ingest", str(folder / "note.md")).returncode == 0
    path = make_mcp(here / "store")
    bring(path)
    assert len({one.scope.project for one in stored() if "ighthouse" not in one.text}) == 3
    assert bring(path)["unchanged"] == 3


def test_two_folders_of_one_name_stay_two_projects(here, bring, stored):
    for parent in ("a", "b"):
        (here / parent / "notes").mkdir(parents=True)
        note = f"---\ntitle: T\ntype: note\npermalink: t\n---\nThe reader {parent} is ours.\n"
        (here / parent / "notes" / "t.md").write_text(note)
        bring(here / parent / "notes")
    assert len({(one.id, one.scope.project) for one in stored()}) == 2
    assert len({one.scope.project for one in stored()}) == 2


def test_a_memory_that_was_moved_stays_where_it_was_moved(here, bring, stored, inside):
    path = make_mcp(here / "store")
    bring(path)
    lamp = next(one for one in stored() if "ighthouse" in one.text)
    moved = inside("projects", "assign", lamp.id, "--to", "harbour")
    assert moved.returncode == 0, moved.stderr
    assert bring(path)["unchanged"] == 3
    assert len({one.scope.project for one in stored()}) == 1


# Secrets and bad values


def test_secrets_are_redacted_in_facts_and_exchanges(here, bring, stored):
    memory = {"id": "m1", "memory": f"The token is {TOKEN}.", "hash": "x", "metadata": {"note": TOKEN}}
    (here / "m.json").write_text(json.dumps([memory]))
    bring(here / "m.json")
    bring(zip_of(here / "c.zip", {"conversations.json": [claude_conversation(asked=f"Why {TOKEN}?")]}))
    assert len(stored()) == 2
    assert not any(TOKEN in repr(one) for one in stored())


@pytest.mark.parametrize(
    "at", ["2026-02-25T06:13:20Z", "2026-02-25 06:13:20", 1772000000, 1772000000000, "1772000000.5", 1.772e15]
)
def test_a_date_is_read_in_each_form(at, here, bring):
    (here / "m.json").write_text(
        json.dumps([{"id": "m", "memory": "Likes tea.", "hash": "", "created_at": at}])
    )
    (group,) = bring(here / "m.json")["groups"]
    assert group["since"].startswith("2026-02-25T06:13:20")


def test_nul_characters_and_broken_utf8_do_not_stop_an_import(here, bring, stored):
    path = make_mcp(here / "store")
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("DROP TRIGGER memories_fts_au")
        database.execute("UPDATE memories SET content = CAST(x'466f6f00ff62617220' AS TEXT) WHERE id = 1")
    assert bring(path)["new"] == 3
    assert any(one.text == "Foo\ufffdbar" for one in stored())


def test_records_of_any_shape_are_counted_and_stop_no_other(here, bring):
    good = chatgpt_conversation()
    odd = [
        {**chatgpt_conversation("2"), "mapping": {"a": None, "b": 3, "c": {"message": [], "parent": "c"}}},
        {**chatgpt_conversation("3"), "current_node": "gone", "title": {"x": []}},
        {"title": 3},
        chatgpt_conversation("4", asked="  "),
    ]
    loop = chatgpt_conversation("5")
    loop["mapping"]["root"]["parent"] = "a"
    done = bring(zip_of(here / "e.zip", {"conversations.json": [good, *odd, loop]}))
    assert done["left_out"]["record of another form"] == 1
    assert done["new"] == 1
    assert done["doubled"] == 2


def test_an_empty_store_imports_nothing(here, bring):
    path = make_mcp(here / "store")
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("DROP TRIGGER memories_fts_ad")
        database.execute("DELETE FROM memories")
    (here / "conversations.json").write_text("[]")
    (here / "empty").mkdir()
    assert bring(path)["groups"] == []
    assert bring("--from", "chatgpt", here / "conversations.json")["groups"] == []
    assert bring("--from", "basic-memory", here / "empty")["groups"] == []


# Stores in use, and what is none


def test_a_database_with_a_log_is_read_with_it_and_left_as_it_was(here, bring):
    path = make_mcp(here / "store")
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("DROP TRIGGER memories_fts_au")
        database.execute("UPDATE memories SET content = 'Written a moment ago.' WHERE id = 1")
        database.commit()
        before = state_of(here / "store")
        assert str(path) + "-wal" in before
        done = bring(path)
        assert state_of(here / "store") == before
    assert done["new"] == 3


def test_the_log_of_opencode_is_read_too(here, bring, stored):
    path = make_opencode(here / "store")
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("UPDATE session SET directory = '/work/lighthouse'")
        database.commit()
        before = state_of(here / "store")
        assert {name for name, *_ in summary(bring(path))} == {"work-lighthouse"}
        assert state_of(here / "store") == before


def test_a_folder_that_cannot_be_written_is_read(here, bring):
    path = make_mcp(here / "store")
    path.chmod(0o400)
    path.parent.chmod(0o500)
    try:
        assert bring(path)["new"] == 3
    finally:
        path.parent.chmod(0o700)


def test_a_database_in_an_unfinished_transaction_is_refused(here, inside):
    path = make_mcp(here / "store")
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA cache_size = 1")
        database.execute("BEGIN EXCLUSIVE")
        database.execute(
            "CREATE TABLE filler AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
            " WHERE i < 3000) SELECT randomblob(900) FROM n"
        )
        done = inside("import", "--from", "mcp-memory-service", str(path))
    assert done.returncode == 3
    assert "mcp-memory-service.db" in done.stderr
    assert "close the program" in done.stderr


def test_what_was_read_of_a_damaged_database_is_kept_and_a_whole_one_goes_on(
    here, bring, inside, stored, monkeypatch
):
    from ragmem.services.transfer import foreign_importer

    monkeypatch.setattr(foreign_importer, "BATCH", 1)
    path = make_mcp(here / "store")
    whole = path.read_bytes()
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("DROP TRIGGER memories_fts_ai")
        database.executemany(
            "INSERT INTO memories (content_hash, content, tags) VALUES (?, ?, '')",
            [(f"h{number}", f"Berth {number} " + "has a bollard. " * 200) for number in range(60)],
        )
    grown = path.read_bytes()
    path.write_bytes(grown[: len(whole) + 40_000] + b"\x5a" * (len(grown) - len(whole) - 40_000))
    done = inside("import", "--from", "mcp-memory-service", str(path))
    assert done.returncode == 3
    assert "mcp-memory-service.db" in done.stderr
    kept = len(stored())
    assert kept >= 3
    path.write_bytes(grown)
    again = bring(path)
    assert (again["unchanged"], again["new"]) == (kept, 63 - kept)


def _other_schema(here: Path) -> tuple[str, Path]:
    path = make_claude_mem(here / "store")
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("ALTER TABLE observations RENAME COLUMN narrative TO story")
    return "claude-mem", path


def _bomb(here: Path) -> tuple[str, Path]:
    return "chatgpt", zip_of(here / "bomb.zip", {"conversations.json": b'["' + b"a" * (40 << 20) + b'"]'})


def _cut_zip(here: Path) -> tuple[str, Path]:
    path = zip_of(here / "cut.zip", {"conversations.json": [chatgpt_conversation()]})
    path.write_bytes(path.read_bytes()[:-40])
    return "chatgpt", path


def _bad_crc(here: Path) -> tuple[str, Path]:
    path = zip_of(here / "crc.zip", {"conversations.json": [chatgpt_conversation()]})
    raw = bytearray(path.read_bytes())
    raw[80:84] = b"\xff\xff\xff\xff"
    path.write_bytes(raw)
    return "chatgpt", path


def _text_file(here: Path, name: str, text: str, tool: str) -> tuple[str, Path]:
    (here / name).write_text(text)
    return tool, here / name


def _pipe(here: Path) -> tuple[str, Path]:
    os.mkfifo(here / "pipe")
    return "mem0", here / "pipe"


NONE = {
    "nothing": (lambda here: ("claude-mem", here / "nope.db"), 2, "there is no file"),
    "an empty file": (lambda here: _text_file(here, "e.db", "", "cursor"), 3, "it is empty"),
    "an empty export": (lambda here: _text_file(here, "e.json", "", "chatgpt"), 3, "it is empty"),
    "a note": (lambda here: _text_file(here, "n.md", "# note", "claude-ai"), 3, "it is not JSON"),
    "a note as a database": (
        lambda here: _text_file(here, "n.db", "# note", "mempalace"),
        3,
        "not a SQLite database",
    ),
    "the database of another tool": (
        lambda here: ("mempalace", make_mcp(here / "s")),
        3,
        "it is not a store of mempalace",
    ),
    "the export of another tool": (
        lambda here: ("chatgpt", make_claude_ai(here / "s")),
        3,
        "another program",
    ),
    "a file for a folder": (
        lambda here: _text_file(here, "n.md", "x", "basic-memory"),
        3,
        "a folder of notes",
    ),
    "an archive without an export": (
        lambda here: ("chatgpt", zip_of(here / "z.zip", {"a.json": []})),
        3,
        "holds no document",
    ),
    "an export that breaks off": (
        lambda here: _text_file(here, "c.json", '[{"a": [', "chatgpt"),
        3,
        "it is truncated",
    ),
    "another schema": (_other_schema, 3, 'no column "narrative" in "observations"'),
    "an archive that grows without end": (_bomb, 3, "as no export does"),
    "an archive that breaks off": (_cut_zip, 3, "the archive is damaged"),
    "an archive with a wrong sum": (_bad_crc, 3, "the archive is damaged"),
    "a pipe": (_pipe, 3, "neither a file nor a folder"),
}


@pytest.mark.parametrize("case", NONE)
def test_what_is_no_store_is_named_in_one_line_with_the_next_step(case, here, inside):
    make, code, problem = NONE[case]
    tool, path = make(here)
    done = inside("import", "--from", tool, str(path))
    assert done.returncode == code, done.stderr
    first, hint = done.stderr.rstrip("\n").split("\n\n")
    assert path.name in first
    assert problem in first
    assert hint.startswith("hint: ")
    assert "\n" not in first + hint


def test_the_paths_in_an_archive_lead_nowhere(here, bring):
    (here / "in").mkdir()
    path = zip_of(here / "in" / "e.zip", {"../../../conversations.json": [chatgpt_conversation()]})
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("/etc/conversations.json/x", "{}")
    before = sorted(here.rglob("*"))
    assert bring(path)["new"] == 1
    assert sorted(one for one in here.rglob("*") if "ragmem" not in one.parts) == before


def test_standard_input_is_no_store(here, inside):
    done = inside("import", "--from", "mem0", "-", stdin="[]")
    assert done.returncode == 2
    assert "cannot be read from standard input" in done.stderr


def test_people_see_projects_kinds_and_dates(here, inside):
    done = inside("import", "--dry-run", str(make_mcp(here / "store")))
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["project", "kind", "memories", "from", "to"]
    assert lines[1].split() == ["harbour", "architecture", "1", "2026-02-25", "2026-02-25"]
    assert lines[-1].startswith("would import 3 new memories and 0 changed from mcp-memory-service")
    assert "left out: deleted memory: 1" in done.stderr
