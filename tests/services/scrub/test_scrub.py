"""What was scrubbed is nowhere below the home: tables, free pages, words, vectors, files, backups."""

import base64
import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import zlib
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragmem.api.memory import Ragmem, now
from ragmem.domain.model import Draft, Scope, State
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.errors import UsageError
from ragmem.services.doctor.invariants import violations
from ragmem.services.processes.progress import Silent
from ragmem.services.scrub.forms import Needles, byte_forms
from ragmem.services.scrub.target import scrub_target
from ragmem.services.transfer.backup import back_up
from ragmem.storage.sql.backups import back_up as copy_before

# The real store; models that cost nothing.
BACKENDS = {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "lightrag"}
TOKEN = "Zanzibar7731Quay"
KEY = "ghp_" + "wJ3kQ9xTz0LmN7vB2cR5yH8dF1sG6pA4uE0i"[:36]

LIVING = {
    "quay.md": f"# Quay\n\nWe decided that {TOKEN} gets PostgreSQL behind HarborGate, because {TOKEN} asked.",
    "after.md": f"# After\n\nThe error of HarborGate came from {TOKEN}-proxy; the fix was a restart.",
    "only.md": TOKEN,
    "tide.md": "# Tide\n\nWe decided that the tide table stays in SQLite because one file is easy to copy.",
    "crane.md": "# Crane\n\nThe crane of HarborGate uses PostgreSQL since March, the fix was in `crane.py`.",
}

# Where a token may stand: the table, and what a row of it says there.
ROWS = {
    "log": ("log", {"detail": "json_object('path', ?1)"}),
    "lives": ("lives", {"reason": "?1"}),
    "sessions": ("sessions", {"topic": "json_object('words', json_array(?1))"}),
    "session": ("sessions", {"id": "?1"}),
    "injections": ("injections", {"question": "'why ' || ?1"}),
    "violations": ("violations", {"excerpt": "'said ' || ?1", "told_at": "NULL"}),
    "transcripts": ("transcripts", {"carried": "json_object('asked', ?1)"}),
    "supersessions": ("supersessions", {"reason": "'because ' || ?1"}),
    "gc_changes": ("gc_changes", {"after": "json_object('reason', ?1)"}),
    "meta": ("meta", {"value": "?1"}),
    "projects": ("projects", {"remote": "'https://' || ?1 || '@host/q.git'"}),
    "files": ("files", {"path": "'/notes/' || ?1 || '.md'", "tally": "'{}'"}),
    "extractions": ("extractions", {"data": "json_object('said', ?1)"}),
    "entity_apart": ("entity_apart", {"name": "?1"}),
    "usage": ("usage", {"purpose": "?1"}),
    "kv": (
        "store_kv",
        {"data": "json_object('return', json_object('name', ?1))", "namespace": "'llm_response_cache'"},
    ),
}

FILES = {
    "data/inbox/aside/torn.write": lambda token: f"ragmem inbox 1 torn\n{token}".encode(),
    "data/inbox/events/1.json": lambda token: json.dumps({"prompt": f'use "{token}"'}).encode(),
    "state/hooks.log": lambda token: f"2026-01-01 prompt {token}\n2026-01-02 stop\n".encode(),
    "state/warm.log": lambda token: f"asked {quote(token, safe='')} and {token}\n".encode("utf-16-le"),
    "state/recalls/1.open": lambda token: b'\n{"id": "a", "said": ' + json.dumps(token).encode() + b"}\n",
    "state/connections/0a1b2c3d4e5f-settings.json": lambda token: json.dumps(
        {"env": {"KEY": token}}
    ).encode(),
    "cache/answers.bin": lambda token: b"\0\xff" + token.encode(),
    "state/basic.log": lambda token: b"Basic " + base64.b64encode(f"me:{token}".encode()) + b"\n",
}


def open_at(place: Path, **environ: str) -> Ragmem:
    return Ragmem.open(
        environ={"RAGMEM_HOME": str(place / "ragmem"), **BACKENDS, **environ}, home=place, cwd=place
    )


def drafts(folder: Path, texts: dict[str, str]) -> list[Draft]:
    return [
        Draft(
            "notes", str(folder / name), text, name, scope=Scope("harbour"), tags=("t",), metadata={"n": name}
        )
        for name, text in texts.items()
    ]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with memories that have the token: living, archived, superseded, alone; and backups of them."""
    place = tmp_path_factory.mktemp("scrubbed")
    notes = place / "notes"
    notes.mkdir()
    for name, text in LIVING.items():
        (notes / name).write_text(text)
    with open_at(place) as memory:
        memory.ingest(drafts(notes, LIVING), rule="off")
        gone = {
            f"gone{n}.md": f"The lock of {TOKEN} number {n} was stale, the fix was a restart."
            for n in range(3)
        }
        stored = memory.ingest(drafts(notes, {**gone, "bare.md": f"{TOKEN}!"}), rule="off")
        memory.forget([one.memory.id for one in stored])
        older, newer = (key_of(memory, name) for name in ("quay.md", "after.md"))
        with memory.catalog.database.write() as connection:
            connection.execute(
                "INSERT INTO supersessions VALUES (?, ?, 1, 2, 'stated', 'says so', 3)", (older, newer)
            )
            connection.execute("INSERT INTO lives (id, pinned, changed_at) VALUES (?, 1, 1)", (older,))
        code = place / "code"
        code.mkdir()
        (code / "quay.py").write_text(
            f'def crane():\n    """Lift what {TOKEN} sent."""\n    return "{TOKEN}"\n'
        )
        memory.code.ingest(code)
    return place


@pytest.fixture
def home(base: Path, tmp_path: Path) -> Path:
    shutil.copytree(base, tmp_path / "home")
    return tmp_path / "home"


def plant(memory: Ragmem, place: str, token: str) -> None:
    """Write a row with the token; what else its table asks for is made up."""
    table, said = ROWS[place]
    with memory.catalog.database.write() as connection:
        columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
        values = {
            name: said.get(name, f"'x-{place}'" if kind == "TEXT" else "1")
            for _, name, kind, *_ in columns
            if not (name == "n" and kind == "INTEGER")
        }
        names = ", ".join(f'"{name}"' for name in values)
        connection.execute(f"INSERT INTO {table} ({names}) VALUES ({', '.join(values.values())})", (token,))


def key_of(memory: Ragmem, name: str) -> str:
    with memory.catalog.database.read() as connection:
        row = connection.execute("SELECT id FROM memories WHERE uri LIKE ?", (f"%/{name}",)).fetchone()
    return str(row[0])


def scrub(memory: Ragmem, token: str | None, *, backups: str = "rewrite"):
    what = scrub_target(token, redactor=DEFAULT)
    return memory.scrub.apply(what, memory.scrub.plan(what), backups=backups)


def holders(place: Path, token: str) -> list[str]:
    """Return everything below a home that has the token, in any form; a search of its own."""
    needles = Needles(byte_forms(token))
    found = []
    for path in sorted((place / "ragmem").rglob("*")):
        if not path.is_file() or "config" in path.parts:
            continue
        found += [str(path)] if needles.find_in(path.read_bytes()) else []
        if path.name.endswith(".tar.gz"):
            with tarfile.open(path) as tar:
                for entry in tar:
                    raw = tar.extractfile(entry).read()
                    found += [f"{path}/{entry.name}"] if needles.find_in(raw) else []
                    if entry.name.endswith(".db"):
                        copy = path.with_name("copy.db")
                        copy.write_bytes(raw)
                        found += values_with(copy, token)
                        copy.unlink()
        elif path.suffix == ".db":
            found += values_with(path, token)
    return found


def values_with(database: Path, token: str) -> list[str]:
    found = []
    with contextlib.closing(sqlite3.connect(database)) as connection:
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            for row in connection.execute(f'SELECT * FROM "{table}"'):
                texts = [inflated(value) if isinstance(value, bytes) else str(value) for value in row]
                found += [table for text in texts if token in text]
    return found


def inflated(value: bytes) -> str:
    try:
        return zlib.decompress(value).decode()
    except zlib.error:  # a vector, or numbers of the full-text index
        return ""


def rows_of(memory: Ragmem, statement: str) -> list[tuple[object, ...]]:
    with memory.catalog.database.read() as connection:
        return [tuple(row) for row in connection.execute(statement)]


def test_no_byte_of_the_home_has_what_was_scrubbed(home):
    with open_at(home) as memory:
        for row in ROWS:
            plant(memory, row, TOKEN)
        # In a freed page, which no table tells of.
        with memory.catalog.database.write() as connection:
            connection.execute("CREATE TABLE passing AS SELECT ?1 || hex(zeroblob(9000)) AS text", (TOKEN,))
        with memory.catalog.database.write() as connection:
            connection.execute("DROP TABLE passing")
        for name, content in FILES.items():
            path = home / "ragmem" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content(TOKEN))
        places = memory.settings.places
        back_up(memory.catalog, places, profile="sqlite", now=now(), progress=Silent())
        copy_before(places.data / "memory.db", "before-catalog-schema-8")
        held = holders(home, TOKEN)
        assert len(held) > 30
        assert {"code_facts", "store_documents"} <= set(held)

        done = scrub(memory, TOKEN)
        assert done.left == []
        assert (done.backups, done.files) == (2, len(FILES))
        assert violations(memory.catalog, memory.store, deep=True) == []
        assert memory.catalog.memories.ids(states=[State.PENDING]) == set()
    assert holders(home, TOKEN) == []
    assert "2026-01-02 stop" in (home / "ragmem/state/hooks.log").read_text()


def test_what_agents_told_one_another_goes_too(home):
    with open_at(home) as memory:
        agents = memory.agents
        agents.heartbeat("builder", current_task=f"build {TOKEN}", project_path=f"/work/{TOKEN}")
        agents.heartbeat(TOKEN)
        agents.send("builder", f"use {TOKEN}", sender=TOKEN, data={"why": [f"{TOKEN} asked"]})
        agents.send("builder", "the tests are green")
        agents.send(TOKEN, "for you")
        agents.acknowledge(TOKEN, [3])
        agents.publish("build_done", agent=TOKEN, data={"by": TOKEN})
        planned = memory.scrub.plan(scrub_target(TOKEN, redactor=DEFAULT))
        assert any(path.name == "operational.db" for path in planned.files)
        assert scrub(memory, TOKEN).left == []
        assert [agent.id for agent in agents.agents()] == ["builder"]
        first, second = agents.messages("builder")
        assert first.text == "use [redacted: scrubbed]"
        assert first.data == {"why": ["[redacted: scrubbed] asked"]}
        assert second.text == "the tests are green"
    assert holders(home, TOKEN) == []


def test_a_memory_keeps_its_id_its_life_and_what_it_supersedes(home):
    with open_at(home) as memory:
        quay, after, only = (key_of(memory, name) for name in ("quay.md", "after.md", "only.md"))
        others = "SELECT * FROM memories WHERE uri LIKE '%/tide.md' OR uri LIKE '%/crane.md' ORDER BY n"
        same = {
            statement: rows_of(memory, statement) for statement in (others, "SELECT * FROM supersessions")
        }
        before = memory.catalog.memories.get([quay])[quay]

        scrub(memory, TOKEN)

        memories = memory.catalog.memories.get([quay, after, only])
        assert set(memories) == {quay, after}
        assert memories[quay].text == before.text.replace(TOKEN, "[redacted: scrubbed]")
        assert (memories[quay].uri, memories[quay].created_at) == (before.uri, before.created_at)
        assert {statement: rows_of(memory, statement) for statement in same} == same
        assert rows_of(memory, f"SELECT pinned FROM lives WHERE id = '{quay}'") == [(1,)]
        assert TOKEN not in str(memory.store.entities(limit=500, project="harbour"))
        assert next(match.memory.id for match in memory.query("tide table SQLite").matches) == key_of(
            memory, "tide.md"
        )
        archived = [one.memory.text for one in memory.catalog.archive.each()]
        assert len(archived) == 3  # of four, one said nothing else
        assert all("[redacted: scrubbed]" in text for text in archived)
        assert scrub(memory, TOKEN).cleaned.changed == []


def test_a_file_of_vectors_keeps_none_of_the_old_ones(home):
    with open_at(home) as memory:
        folder = memory.settings.places.data / "vectors" / "chunks-0123"
        folder.mkdir(parents=True)
        (folder / "bits").write_bytes(b"the former vector")
        scrub(memory, TOKEN)
        assert not folder.exists()


def test_a_plan_changes_nothing_and_never_shows_the_text(home):
    with open_at(home) as memory:
        database = memory.settings.places.data / "memory.db"
        before = rows_of(memory, "SELECT * FROM memories ORDER BY n")
        planned = memory.scrub.plan(scrub_target(TOKEN, redactor=DEFAULT))
        assert rows_of(memory, "SELECT * FROM memories ORDER BY n") == before
        assert sum(not one.archived for one in planned.memories) == 3
        assert sum(one.archived for one in planned.memories) == 4
        assert TOKEN not in repr([(one.id, one.title, one.kinds) for one in planned.memories])
        assert TOKEN not in repr((planned.places, planned.kinds, planned.files))
        assert database.exists()


def test_the_files_on_disk_that_still_have_it_are_named(home, base):
    # The memories tell of the folder in which they were made.
    with open_at(home) as memory:
        planned = memory.scrub.plan(scrub_target(TOKEN, redactor=DEFAULT))
    assert {path.name for path in planned.sources} == {"quay.md", "after.md", "only.md"}


def test_secrets_that_were_stored_as_the_settings_say_go_when_asked(home):
    with open_at(home, RAGMEM_SECRETS_REDACT="false") as memory:
        memory.ingest(
            drafts(home, {"stored.md": f"The deploy needs {KEY} since the fix of March."}), rule="off"
        )
        assert holders(home, KEY)
        assert scrub(memory, None).left == []
    assert holders(home, KEY) == []


def test_all_secrets_of_a_home_from_before_redaction_go(home, monkeypatch):
    said = (
        f"The deploy of HarborGate failed. token = {KEY}\nThe fix was a new runner, we decided so in March.\n"
    )
    with open_at(home) as memory:
        # As a release wrote it that knew no redaction.
        monkeypatch.setattr(
            "ragmem.services.ingestion.classify.sanitize_draft", lambda draft, redactor: draft
        )
        memory.ingest(drafts(home / "notes", {"deploy.md": said}), rule="off")
        monkeypatch.undo()
        log = home / "ragmem" / "state" / "hooks.log"
        log.parent.mkdir(exist_ok=True)
        log.write_text(f"asked with {KEY}\n")
        assert holders(home, KEY)

        done = scrub(memory, None)
        assert done.left == []
        text = memory.catalog.memories.get([key_of(memory, "deploy.md")]).popitem()[1].text
        assert "The fix was a new runner" in text
        assert TOKEN in memory.catalog.memories.get([key_of(memory, "quay.md")]).popitem()[1].text
    assert holders(home, KEY) == []


def test_a_pattern_takes_what_it_matches_and_nothing_else(home):
    with open_at(home) as memory:
        what = scrub_target(r"Zanzibar\d+Quay(-proxy)?", regex=True, redactor=DEFAULT)
        done = memory.scrub.apply(what, memory.scrub.plan(what))
        assert done.left == []
        assert (
            "came from [redacted: scrubbed]; the fix"
            in memory.catalog.memories.get([key_of(memory, "after.md")]).popitem()[1].text
        )
    assert holders(home, TOKEN) == []


@pytest.mark.parametrize(
    ("pattern", "regex", "told"),
    [
        ("abc", False, "fewer than 4 characters"),
        ("  ", False, "empty"),
        ("(", True, "not a regular expression"),
    ],
)
def test_a_pattern_that_cannot_be_meant_is_refused(pattern, regex, told):
    with pytest.raises(UsageError, match=told):
        scrub_target(pattern, regex=regex, redactor=DEFAULT)


def test_a_pattern_that_would_take_years_is_given_up(monkeypatch):
    monkeypatch.setattr("ragmem.services.scrub.target.SECONDS", 0.1)
    with pytest.raises(UsageError, match="takes longer than"):
        scrub_target(r"(a+)+b", regex=True, redactor=DEFAULT).count_kinds("a" * 40)


def test_what_would_be_found_in_its_own_marker_leaves_none():
    assert scrub_target("redacted", redactor=DEFAULT).cover("a redacted word") == "a  word"
    assert scrub_target("abcd", redactor=DEFAULT).cover("ababcdcd") == "ab[redacted: scrubbed]cd"


def test_a_backup_that_cannot_be_opened_is_named_or_deleted(home):
    folder = home / "ragmem" / "data" / "backups"
    folder.mkdir()
    torn = folder / "ragmem-20260101T000000Z.tar.gz"
    with open_at(home) as memory:
        torn.write_bytes(b"\x1f\x8b torn")
        done = scrub(memory, TOKEN)
        assert [line for line in done.left if str(torn) in line]
        assert torn.exists()
        assert scrub(memory, TOKEN, backups="delete").left == []
        assert not torn.exists()


def test_the_name_of_the_model_stays_and_is_told(home):
    with open_at(home) as memory:
        model = memory.models.embedder.model_id
        done = scrub(memory, model)
        assert [line for line in done.left if "memory.db" in line]
        assert memory.query("tide table SQLite").matches
        assert violations(memory.catalog, memory.store, deep=True) == []


def test_a_log_that_somebody_still_reads_is_named(home, monkeypatch):
    monkeypatch.setattr("ragmem.storage.sql.sqlite.VACUUM_PATIENCE", 0.1)
    with open_at(home) as memory:
        database = memory.settings.places.data / "memory.db"
        with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            assert reader.execute("SELECT count(*) FROM memories").fetchone()[0] > 3
            left = scrub(memory, TOKEN).left
            assert [
                line for line in left if line.startswith(f"{database}-wal: another process is still reading")
            ]
        assert scrub(memory, TOKEN).left == []
    assert holders(home, TOKEN) == []


def test_what_a_restore_has_put_aside_is_cleaned_as_a_backup(home):
    with open_at(home) as memory:
        kept = memory.settings.places.data / "backups" / "replaced-20260101T000000Z"
        kept.mkdir(parents=True)
        (kept / "config.toml").write_text(f"# {TOKEN}\n")
        with contextlib.closing(sqlite3.connect(kept / "memory.db")) as target:
            memory.catalog.database.connection().backup(target)
        damaged = memory.settings.places.data / "damaged" / "memory-1.db"
        damaged.parent.mkdir()
        damaged.write_bytes(b"SQLite format 3\0" + TOKEN.encode())

        left = scrub(memory, TOKEN).left
        assert [line.partition(":")[0] for line in left] == [str(damaged)]
        assert scrub(memory, TOKEN, backups="delete").left == []
        assert (kept / "memory.db").exists()
        assert not damaged.exists()
    assert holders(home, TOKEN) == []


# In the order in which a run comes to them.
POINTS = (
    "ragmem.services.scrub.backups._replace",
    "ragmem.storage.lifecycle.supersessions.Supersessions.put",
    "ragmem.storage.sql.sqlite.SQLiteDatabase.vacuum",
)

KILLED = """
import os, signal, sys
from unittest.mock import patch
from ragmem.__main__ import run
with patch(sys.argv[1], lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL)):
    run(["scrub", sys.argv[2], "--yes", "--allow-large"])
"""


def test_killed_at_any_step_the_next_run_ends_it(home):
    with open_at(home) as memory:
        copy_before(memory.settings.places.data / "memory.db", "before-catalog-schema-8")
    environ = {**os.environ, **BACKENDS, "RAGMEM_HOME": str(home / "ragmem"), "HOME": str(home)}
    for point in POINTS:
        ended = subprocess.run(
            [sys.executable, "-c", KILLED, point, TOKEN], env=environ, capture_output=True, check=False
        )
        assert ended.returncode == -9, (point, ended.stderr)
        with open_at(home) as memory:
            assert violations(memory.catalog, memory.store) == []
    with open_at(home) as memory:
        assert scrub(memory, TOKEN).left == []
        assert memory.catalog.memories.ids(states=[State.PENDING]) == set()
    assert holders(home, TOKEN) == []


def test_a_memory_in_postgresql_is_cleaned_too_and_what_its_server_keeps_is_told(tmp_path, postgres):
    shared = {
        "RAGMEM_STORE_PROFILE": "postgres",
        "RAGMEM_STORE_URL": postgres,
        "RAGMEM_STORE_BACKEND": "fake",
    }
    with open_at(tmp_path, **shared) as memory:
        stored = memory.ingest(drafts(tmp_path, LIVING), rule="off")
        memory.forget([stored[1].memory.id])
        with memory.catalog.database.write() as connection:
            connection.execute("INSERT INTO lives (id, reason, changed_at) VALUES ('x', ?, 1)", (TOKEN,))
        done = scrub(memory, TOKEN)
        assert done.left == []
        assert "VACUUM FULL" in done.note
        assert len(done.cleaned.changed) == 1
        assert len(done.cleaned.removed) == 1
        assert not any(
            TOKEN in str(rows_of(memory, f"SELECT * FROM {table}"))
            for table in ("memories", "archive", "lives")
        )
        assert violations(memory.catalog, memory.store) == []


def planted(folder: Path, field: str, token: str) -> Draft:
    """Return a draft that has a token in one of its fields."""
    plain = Draft(
        "notes", str(folder / "planted.md"), "The error was in the crane, the fix a restart.", "Crane"
    )
    changed = {
        "text": {"text": f"# Crane {token}\n\nThe error was in {token}, the fix a restart."},
        "uri": {"uri": str(folder / token / "planted.md")},
        "title": {"title": f"Of {token}"},
        "tags": {"tags": ("t", token)},
        "metadata": {"metadata": {"said": json.dumps({"by": f"{token}!"}), "files": f"{token}.py"}},
        "key": {"metadata": {token: "said"}},
        "spec": {"scope": Scope("harbour", token)},
    }
    return replace(plain, **changed[field])


def test_a_title_that_was_cut_within_the_text_goes(home):
    with open_at(home) as memory:
        draft = Draft(
            "notes", "/n/cut.md", f"Given to {TOKEN} in March, the fix was a restart.", "Given to Zanzib…"
        )
        memory.ingest([draft], rule="off")
        with memory.catalog.database.write() as connection:
            connection.execute("INSERT INTO meta VALUES ('question', ?)", (f"why {TOKEN[:-3]}…",))
        assert scrub(memory, TOKEN).left == []
        assert memory.catalog.memories.get([key_of(memory, "cut.md")]).popitem()[1].title == ""
        assert rows_of(memory, "SELECT value FROM meta WHERE key = 'question'") == [
            ("why [redacted: scrubbed]…",)
        ]


LETTERS = "abcXYZ019 /+\"'\\é%=-_.:"


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True)
@given(
    middle=st.text(LETTERS, min_size=4, max_size=20).map(str.strip),
    tables=st.sets(st.sampled_from(sorted(ROWS)), min_size=1, max_size=6),
    files=st.sets(st.sampled_from(sorted(FILES)), max_size=3),
    field=st.sampled_from(["", "text", "uri", "title", "tags", "metadata", "key", "spec"]),
)
def test_wherever_a_token_is_planted_no_byte_of_it_is_left(base, middle, tables, files, field):
    token = f"k7{middle}w9"
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "home"
        shutil.copytree(base, place)
        with open_at(place) as memory:
            if field:
                memory.ingest([planted(place, field, token)], rule="off")
            for name in sorted(tables):
                plant(memory, name, token)
            for name in files:
                path = place / "ragmem" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(FILES[name](token))
            others = "SELECT * FROM memories WHERE uri NOT LIKE '%/planted.md' ORDER BY n"
            before = rows_of(memory, others)
            assert scrub(memory, token).left == []
            assert rows_of(memory, others) == before
            assert violations(memory.catalog, memory.store, deep=True) == []
        assert holders(place, token) == []
