"""Each planted damage is found by the right check, mended, and the memory answers as before."""

import gzip
import json
import os
import runpy
import shlex
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from ragmem.__main__ import run
from ragmem.api.memory import Ragmem
from ragmem.backends.lightrag.vectors import maintenance, vector_index
from ragmem.backends.lightrag.vectors.segments import quantise
from ragmem.backends.minilm.embedder import FOLDER as MODEL_FOLDER
from ragmem.domain.model import Draft, State
from ragmem.domain.text.chunking import ID_LENGTH
from ragmem.services.doctor import repair as doctor_repair
from ragmem.services.doctor.models import CANARY_PROJECT
from ragmem.services.doctor.repair import DAMAGED
from ragmem.services.ingestion.index import index_pending
from ragmem.storage.maintenance import salvage
from ragmem.storage.sql import backups

ROOT = Path(__file__).resolve().parents[3]
FIXTURE = ROOT / "tests" / "data" / "homes" / "schema-1" / "memory.db.gz"
PICTURE = runpy.run_path(str(ROOT / "scripts" / "make_home_fixture.py"))["picture"]
PAGE = 4096


def picture_of(memory: Ragmem) -> dict:
    """Return the picture of a home with short ids: a repair gives chunks of the first release new ones."""
    found = PICTURE(memory)
    text = json.dumps(found)
    for chunk in found["chunks"]:
        text = text.replace(chunk, chunk[:ID_LENGTH])
    return json.loads(text)


NOTE = "We decided to use Redis because Kafka was too slow. The root cause of the error was a stale lock."


@pytest.fixture(autouse=True)
def _small_homes_have_vector_files(monkeypatch):
    monkeypatch.setattr(vector_index, "EXACT_LIMIT", 5)
    monkeypatch.setattr(vector_index, "APPEND_FROM", 4)
    monkeypatch.setattr(maintenance, "EXACT_LIMIT", 5)
    # A table whose highest number cannot be read is searched to this one.
    monkeypatch.setattr(salvage, "HIGHEST_ROW", 1_000)


class Home:
    """A home with the fake models on the real store, and what it answers."""

    def __init__(self, root: Path, capfdbinary) -> None:
        self.root = root
        self.data = root / "data"
        self.database = self.data / "memory.db"
        self.vectors = self.data / "vectors"
        self._capture = capfdbinary

    def open(self) -> Ragmem:
        return Ragmem.open(home=self.root, cwd=self.root)

    def picture(self) -> dict:
        with self.open() as memory:
            return picture_of(memory)

    def doctor(self, *options: str) -> tuple[int, dict]:
        self._capture.readouterr()
        code = run(["doctor", "--json", *options])
        captured = self._capture.readouterr()
        assert captured.out, captured.err.decode()
        return code, json.loads(captured.out)

    def failed(self, *options: str) -> list[str]:
        code, document = self.doctor(*options)
        names = [check["name"] for check in document["checks"] if check["status"] == "failed"]
        assert code == (1 if names else 0), document
        assert document["well"] is not bool(names)
        return names

    def sql(self, *statements: str) -> None:
        with closing(sqlite3.connect(self.database)) as connection, connection:
            for statement in statements:
                connection.execute(statement)

    def ask(self, query: str) -> list[tuple]:
        with closing(sqlite3.connect(self.database)) as connection:
            return connection.execute(query).fetchall()

    def chunk_files(self) -> Path:
        [folder] = [
            path for path in self.vectors.iterdir() if path.is_dir() and path.name.startswith("chunks")
        ]
        return folder

    def spoil_page(self, number: int) -> None:
        self.ask("PRAGMA wal_checkpoint(TRUNCATE)")
        with self.database.open("r+b") as file:
            file.seek((number - 1) * PAGE)
            file.write(os.urandom(PAGE))

    def page_with(self, text: bytes) -> int:
        self.ask("PRAGMA wal_checkpoint(TRUNCATE)")
        return self.database.read_bytes().index(text) // PAGE + 1


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A home of the first release, brought up to date, with its vector files."""
    folder = tmp_path_factory.mktemp("template") / "ragmem"
    (folder / "data").mkdir(parents=True, mode=0o700)
    (folder / "data" / "memory.db").write_bytes(gzip.decompress(FIXTURE.read_bytes()))
    (folder / "data" / "memory.db").chmod(0o600)
    with pytest.MonkeyPatch.context() as patch:
        for module in (vector_index, maintenance):
            patch.setattr(module, "EXACT_LIMIT", 5)
        patch.setattr(vector_index, "APPEND_FROM", 4)
        environ = {"RAGMEM_HOME": str(folder), "RAGMEM_MODELS_BACKEND": "fake"}
        with Ragmem.open(environ=environ, home=folder, cwd=folder) as memory:
            # What a repair puts back is found by the rules of today.
            memory.prepare()
            memory.catalog.memories.mark(memory.catalog.memories.ids(states=[State.INDEXED]), State.PENDING)
            index_pending(memory.catalog, memory.store)
            # The first question to one of LightRAG's modes makes the vectors of names.
            assert memory.store.native
            for project in {one.scope.project for one in memory.catalog.memories.each()}:
                memory.store.native.native_query(
                    "what is it for", "hybrid", keywords=["SQLite"], limit=5, project=project
                )
            before = picture_of(memory)
            memory.catalog.log.write("test", {}, now=memory.catalog.log.entries(limit=1)[0]["at"])
    shutil.rmtree(folder / "data" / backups.FOLDER)
    return folder, before


@pytest.fixture
def home(template, monkeypatch, capfdbinary):
    folder, before = template
    root = Path(os.environ["RAGMEM_HOME"])
    shutil.copytree(folder, root)
    monkeypatch.setenv("RAGMEM_MODELS_BACKEND", "fake")
    made = Home(root, capfdbinary)
    made.before = before
    return made


def missing_vector_file(home: Home) -> None:
    (home.chunk_files() / "bits").unlink()


def truncated_vector_file(home: Home) -> None:
    path = home.chunk_files() / "bits"
    os.truncate(path, path.stat().st_size - 50)


def changed_vector_file(home: Home) -> None:
    path = home.chunk_files() / "bits"
    content = bytearray(path.read_bytes())
    content[10] ^= 0xFF
    path.write_bytes(content)


def deleted_full_text_row(home: Home) -> None:
    home.sql("DELETE FROM lexicon_memories WHERE memory = 3")


def damaged_full_text_index(home: Home) -> None:
    home.sql("UPDATE lexicon_blocks SET data = zeroblob(length(data))")


def orphan_edge(home: Home) -> None:
    home.sql("INSERT INTO store_edges (source, target) SELECT min(n), 999 FROM store_nodes")


def wrong_dimension(home: Home) -> None:
    home.sql(
        "UPDATE store_name_vectors SET vector = substr(vector, 1, 100) WHERE seq ="
        " (SELECT min(seq) FROM store_name_vectors WHERE namespace = 'entities')"
    )


def wrong_dimension_of_a_memory(home: Home) -> None:
    home.sql(
        "UPDATE store_chunk_vectors SET vector = substr(vector, 1, 100) WHERE seq ="
        " (SELECT min(seq) FROM store_chunk_vectors)"
    )


def another_model(home: Home) -> None:
    home.sql("UPDATE store_vector_models SET name = 'former'")


def lost_entity(home: Home) -> None:
    home.sql("DELETE FROM store_nodes WHERE id = (SELECT id FROM store_nodes ORDER BY degree DESC LIMIT 1)")


def lost_document(home: Home) -> None:
    home.sql("DELETE FROM store_documents WHERE rowid = (SELECT min(rowid) FROM store_documents)")


def stale_lock(home: Home) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom ragmem.storage.sql.sqlite import SQLiteDatabase\n"
        "with SQLiteDatabase(Path(sys.argv[1])).write():\n    pass\n"
    )
    queue = home.data / "write.queue"
    with home.open() as memory, memory.catalog.database.write():
        waiting = subprocess.Popen([sys.executable, "-c", code, str(home.data)])
        deadline = time.monotonic() + 20
        while not queue.is_dir() or not [path for path in queue.iterdir() if path.name.isdecimal()]:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        waiting.send_signal(signal.SIGKILL)
        waiting.wait(20)


def half_migration(home: Home) -> None:
    home.sql(
        "DELETE FROM migrations WHERE component = 'catalog' AND version = 2",
        "DROP INDEX memories_by_state",
        "PRAGMA application_id = 0",
    )


def lost_table(home: Home) -> None:
    home.sql("DROP TABLE lexicon_blocks")


def lost_column(home: Home) -> None:
    home.sql("ALTER TABLE memories DROP COLUMN recalls")


def half_migration_of_the_store(home: Home) -> None:
    home.sql("DELETE FROM migrations WHERE component = 'store'", "DROP TRIGGER store_edges_added")


def lost_table_of_the_store(home: Home) -> None:
    home.sql("DROP TABLE store_mentions")


def open_to_others(home: Home) -> None:
    home.database.chmod(0o644)
    home.vectors.chmod(0o755)


DAMAGES: tuple[tuple[Callable[[Home], None], str], ...] = (
    (missing_vector_file, "vector files"),
    (truncated_vector_file, "vector files"),
    (changed_vector_file, "vector files"),
    (deleted_full_text_row, "full text"),
    (orphan_edge, "graph"),
    (wrong_dimension, "vectors"),
    (wrong_dimension_of_a_memory, "vectors"),
    (another_model, "vectors"),
    (lost_entity, "graph"),
    (lost_document, "store"),
    (stale_lock, "locks"),
    (half_migration, "schema"),
    (lost_table, "schema"),
    (lost_column, "schema"),
    (half_migration_of_the_store, "store"),
    (lost_table_of_the_store, "store"),
    (open_to_others, "permissions"),
)


HANGING_ON = {
    "vectors": {"vector files", "graph"},
    "graph": {"vectors"},
    "store": {"vectors", "graph"},
}


@pytest.mark.parametrize(
    ("plant", "name"), [pytest.param(plant, name, id=plant.__name__) for plant, name in DAMAGES]
)
def test_a_damage_is_found_and_mended(home, plant, name):
    plant(home)
    failed = home.failed()
    assert name in failed
    # What hangs on it may be told as well, what has nothing to do with it may not.
    assert set(failed) <= {name, *HANGING_ON.get(name, ())}
    code, document = home.doctor("--repair", "--yes")
    assert code == 0, document
    assert document["repairs"]
    assert home.failed("--deep") == []
    assert home.picture() == home.before


def test_a_full_text_index_that_does_not_fit_is_found_by_a_deep_look(home):
    damaged_full_text_index(home)
    assert home.failed("--deep") == ["full text"]
    assert home.doctor("--repair", "--deep", "--yes")[0] == 0
    assert home.failed("--deep") == []
    assert home.picture() == home.before


def test_a_vector_of_another_text_is_found_by_a_deep_look(home):
    wrong = np.zeros(384, np.float32)
    wrong[0] = 1
    scale, codes = quantise(wrong)
    with closing(sqlite3.connect(home.database)) as connection, connection:
        connection.execute(
            "UPDATE store_chunk_vectors SET scale = ?, vector = ? WHERE seq ="
            " (SELECT min(seq) FROM store_chunk_vectors)",
            (scale, codes),
        )
    shutil.rmtree(home.vectors)
    assert home.failed() == []
    assert home.failed("--deep") == ["search"]
    assert home.doctor("--repair", "--deep", "--yes")[0] == 0
    assert home.failed("--deep") == []
    assert home.picture() == home.before


def test_a_text_that_was_changed_behind_our_back_is_named(home):
    [(identifier,)] = home.ask("SELECT id FROM memories ORDER BY id LIMIT 1")
    home.sql(f"UPDATE memories SET text = 'X' || substr(text, 2) WHERE id = '{identifier}'")
    assert "catalog" in home.failed("--deep")
    _, document = home.doctor("--repair", "--deep", "--yes")
    assert any(identifier[:12] in repair["outcome"] for repair in document["repairs"])
    assert home.failed("--deep") == []


def test_chunks_that_do_not_rebuild_their_text_are_cut_anew(home):
    with home.open() as memory:
        [(identifier, _)] = [
            (one.id, memory.catalog.memories.chunks(one))
            for one in memory.catalog.memories.each()
            if len(memory.catalog.memories.chunks(one)) > 1
        ][:1]
    home.sql(
        "UPDATE chunks SET position = 7 WHERE position = 1 AND memory ="
        f" (SELECT n FROM memories WHERE id = '{identifier}')"
    )
    assert home.failed() == ["catalog"]
    assert home.doctor("--repair", "--yes")[0] == 0
    assert home.failed("--deep") == []
    with home.open() as memory:
        memory.require()
        one = memory.memory(identifier)
        assert [chunk.order for chunk in memory.catalog.memories.chunks(one)] == [0, 1]


def test_pending_memories_are_told_and_finished(home):
    home.sql("UPDATE memories SET state = 'pending' WHERE n < 4")
    code, document = home.doctor()
    assert code == 0
    assert [check["status"] for check in document["checks"] if check["name"] == "pending"] == ["warning"]
    assert home.doctor("--repair", "--yes")[0] == 0
    assert home.ask("SELECT DISTINCT state FROM memories") == [("indexed",)]


def test_a_missing_model_file_is_named_with_the_command_that_brings_it(tmp_path, monkeypatch, capfdbinary):
    files = tmp_path / "model"
    shutil.copytree(MODEL_FOLDER, files, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    root = Path(os.environ["RAGMEM_HOME"])
    (root / "config").mkdir(parents=True)
    (root / "config" / "config.toml").write_text(
        f'[models]\nengine = "numpy"\n[models.options]\nfolder = "{files}"\n'
    )
    home = Home(root, capfdbinary)
    with home.open() as memory:
        assert memory.ingest([Draft("notes", "/one", NOTE, title="Cache")])[0].note == ""
    assert home.failed() == []
    (files / "minilm.safetensors").rename(files / "away")
    code, document = home.doctor("--repair", "--yes")
    assert code == 1
    failed = {check["name"]: check["fix"] for check in document["checks"] if check["status"] == "failed"}
    assert set(failed) == {"model files", "embedder"}
    assert all("pip install --force-reinstall ragmem" in fix for fix in failed.values())
    assert "repairs" not in document
    (files / "away").rename(files / "minilm.safetensors")
    assert home.failed() == []


@pytest.mark.parametrize(
    ("model", "fix"),
    [("/gone/my-model", "ragmem models use minilm"), ("team/gone", "ragmem models pull onnx:team/gone")],
)
def test_a_folder_of_a_model_that_is_gone_is_not_sought_on_a_hub(model, fix, monkeypatch, capfdbinary):
    monkeypatch.setenv("RAGMEM_MODELS_BACKEND", "onnx")
    monkeypatch.setenv("RAGMEM_MODELS_MODEL", model)
    checks = Home(Path(os.environ["RAGMEM_HOME"]), capfdbinary).doctor()[1]["checks"]
    [files] = [check for check in checks if check["name"] == "model files"]
    assert files["fix"].endswith(fix)


@pytest.mark.parametrize(("german", "told"), [(4, []), (6, ["6 of 10 memories are not in English"])])
def test_many_memories_in_other_languages_deserve_another_model(german, told, capfdbinary):
    foreign = (
        "Wir haben beschlossen, den Zwischenspeicher {n} nicht mehr zu benutzen, weil er zu langsam war."
    )
    english = "We decided that cache number {n} is not to be used any more, because it was too slow for us."
    home = Home(Path(os.environ["RAGMEM_HOME"]), capfdbinary)
    with home.open() as memory:
        memory.ingest(
            [
                Draft("notes", f"/{n}", (foreign if n < german else english).format(n=n), title="Cache")
                for n in range(10)
            ]
        )
    checks = home.doctor()[1]["checks"]
    found = [check for check in checks if check["name"] == "languages"]
    assert [check["detail"].partition(" (")[0] for check in found] == told
    assert all("multilingual-e5-small" in check["fix"] for check in found)


def test_a_spoilt_page_names_the_backup_and_nothing_is_lost_where_the_catalog_can_be_read(home):
    copy = backups.back_up(home.database, "before-test")
    [(page,)] = home.ask("SELECT rootpage FROM sqlite_master WHERE name = 'store_chunk_vectors'")
    home.spoil_page(page)
    code, document = home.doctor()
    assert code == 6
    [check] = [check for check in document["checks"] if check["status"] == "failed"]
    assert check["name"] == "database"
    assert check["fix"] == f'ragmem restore "{copy}"'
    code, document = home.doctor("--repair", "--yes")
    assert code == 0
    assert "11 memories saved, none lost" in document["repairs"][0]["outcome"]
    assert home.failed("--deep") == []
    assert home.picture() == home.before
    kept = list((home.data / DAMAGED).glob("*.db"))
    assert len(kept) == 1
    assert stat.S_IMODE(kept[0].stat().st_mode) == 0o600


def test_the_restore_command_that_is_named_brings_the_memory_back(home):
    assert run(["backup", "--quiet"]) == 0
    home.spoil_page(1)
    _, document = home.doctor()
    [fix] = [check["fix"] for check in document["checks"] if check["name"] == "database"]
    program, *words = shlex.split(fix)
    assert program == "ragmem"
    assert run([*words, "--yes", "--quiet"]) == 0
    assert home.failed("--deep") == []
    assert home.picture() == home.before


def test_memories_on_a_spoilt_page_are_named(home):
    home.sql("UPDATE memories SET summary = 'a text that occurs here only' WHERE n = 5")
    page = home.page_with(b"a text that occurs here only")
    ids = {identifier for (identifier,) in home.ask("SELECT id FROM memories")}
    home.spoil_page(page)
    assert home.doctor()[0] == 6
    code, document = home.doctor("--repair", "--yes")
    assert code == 0
    outcome = document["repairs"][0]["outcome"]
    left = {identifier for (identifier,) in home.ask("SELECT id FROM memories")}
    assert ids - left
    assert all(identifier[:12] in outcome for identifier in ids - left)
    assert not any(identifier[:12] in outcome for identifier in left)
    assert home.failed("--deep") == []


def test_a_seed_brings_back_what_a_spoilt_page_took(home, monkeypatch, tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "queue.md").write_text(f"# Queue\n\n{NOTE}\n")
    home.root.joinpath("config").mkdir(mode=0o700, exist_ok=True)
    (home.root / "config" / "sources.toml").write_text(
        f'[sources.notes]\nglob = "{notes}/*.md"\nkind = "auto"\n'
    )
    assert run(["seed", "-q", "-s", "notes"]) == 0
    [(identifier,)] = home.ask("SELECT id FROM memories WHERE source = 'notes'")
    home.spoil_page(home.page_with(b"the error was a stale lock"))
    assert home.doctor()[0] == 6
    assert home.doctor("--repair", "--yes")[0] == 0
    assert home.ask(f"SELECT count(*) FROM memories WHERE id = '{identifier}'") == [(0,)]
    assert run(["seed", "-q", "-s", "notes"]) == 0
    assert home.ask(f"SELECT count(*) FROM memories WHERE id = '{identifier}'") == [(1,)]


def test_where_no_memory_can_be_saved_the_file_is_left_to_a_backup(home):
    home.sql(
        "UPDATE memories SET content_hash = 'x'", "UPDATE memories SET summary = 'here only' WHERE n = 5"
    )
    home.spoil_page(home.page_with(b"here only"))
    before = home.database.read_bytes()
    assert home.doctor()[0] == 6
    assert run(["doctor", "--repair", "--yes"]) == 6
    assert home.database.read_bytes() == before


def test_what_can_be_read_is_saved_where_a_table_is_gone_too(home):
    home.sql("UPDATE memories SET summary = 'a text that occurs here only' WHERE n = 5", "DROP TABLE log")
    home.spoil_page(home.page_with(b"a text that occurs here only"))
    assert home.doctor()[0] == 6
    code, document = home.doctor("--repair", "--yes")
    assert code == 0
    assert "an unknown part of these is lost: log" in document["repairs"][0]["outcome"]
    assert home.failed("--deep") == []


def test_a_memory_that_makes_no_sense_is_named_and_the_others_are_saved(home):
    [(identifier,)] = home.ask("SELECT id FROM memories WHERE n = 3")
    home.sql("UPDATE memories SET kind = 'nonsense' WHERE n = 3")
    code, document = home.doctor()
    assert code == 6
    assert [check["name"] for check in document["checks"] if check["status"] == "failed"] == ["catalog"]
    code, document = home.doctor("--repair", "--yes")
    assert code == 0
    assert f"10 memories saved, 1 lost: {identifier[:12]}" in document["repairs"][0]["outcome"]
    assert home.failed("--deep") == []


def test_a_memory_in_an_impossible_state_is_indexed_again(home):
    home.sql("UPDATE memories SET state = 'lost' WHERE n = 3")
    assert "catalog" in home.failed()
    assert home.doctor("--repair", "--yes")[0] == 0
    assert home.failed("--deep") == []
    assert home.picture() == home.before


def test_a_file_of_which_nothing_can_be_read_is_left_to_a_backup(home):
    copy = backups.back_up(home.database, "before-test")
    home.spoil_page(1)
    before = home.database.read_bytes()
    code, document = home.doctor()
    assert code == 6
    assert [check["fix"] for check in document["checks"] if check["name"] == "database"] == [
        f'ragmem restore "{copy}"'
    ]
    assert run(["doctor", "--repair", "--yes"]) == 6
    assert home.database.read_bytes() == before


@pytest.mark.parametrize(
    "statement", ["DROP TABLE memories", "ALTER TABLE memories DROP COLUMN title", "DROP TABLE archive"]
)
def test_what_nothing_else_knows_is_left_to_a_backup(home, statement):
    copy = backups.back_up(home.database, "before-test")
    home.sql("PRAGMA foreign_keys = OFF", statement)
    code, document = home.doctor("--repair", "--yes")
    assert code == 6
    assert "repairs" not in document
    [check] = [check for check in document["checks"] if check["status"] == "failed"]
    assert check["name"] == "schema"
    assert check["fix"] == f'ragmem restore "{copy}"'


def test_a_newer_schema_is_not_repaired(home):
    home.sql("PRAGMA user_version = 99")
    code, document = home.doctor("--repair", "--yes")
    assert code == 6
    [check] = [check for check in document["checks"] if check["status"] == "failed"]
    assert check["name"] == "schema"
    assert "update" in check["fix"]
    assert home.ask("PRAGMA user_version") == [(99,)]


@pytest.mark.parametrize("plant", [another_model, lost_table_of_the_store])
def test_a_repair_that_was_interrupted_is_finished_by_the_next(home, plant, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    plant(home)
    with monkeypatch.context() as patch:
        patch.setattr(doctor_repair, "index_pending", interrupt)
        assert run(["doctor", "--repair", "--yes"]) == 130
    with home.open() as memory:
        assert memory.catalog.memories.ids() == set(home.before["memories"])
        assert memory.store.memory_ids() < set(home.before["memories"])
    assert home.doctor("--repair", "--yes")[0] == 0
    assert home.failed("--deep") == []
    assert home.picture() == home.before


def test_a_dry_run_says_what_it_would_do_and_changes_nothing(home):
    orphan_edge(home)
    home.database.chmod(0o644)
    before = {
        path: path.read_bytes() for path in home.data.rglob("*") if path.is_file() and "-shm" not in path.name
    }
    code, document = home.doctor("--repair", "--dry-run")
    assert code == 1
    assert [(repair["name"], repair["outcome"]) for repair in document["repairs"]] == [
        ("permissions", ""),
        ("store", ""),
    ]
    assert {path: path.read_bytes() for path in before} == before
    assert stat.S_IMODE(home.database.stat().st_mode) == 0o644


def test_a_repair_needs_a_yes_where_nobody_can_be_asked(home, monkeypatch):
    home.database.chmod(0o644)
    with Path(os.devnull).open(encoding="utf-8") as nobody:
        monkeypatch.setattr("sys.stdin", nobody)
        assert run(["doctor", "--repair"]) == 2
    assert stat.S_IMODE(home.database.stat().st_mode) == 0o644


def test_a_repair_copies_the_database_first(home):
    orphan_edge(home)
    _, document = home.doctor("--repair", "--yes")
    assert [repair["name"] for repair in document["repairs"]] == ["backup", "store"]
    [copy] = backups.backups(home.database)
    assert str(copy) in document["repairs"][0]["outcome"]
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("SELECT count(*) FROM store_edges WHERE target = 999").fetchone() == (1,)


def test_a_sound_memory_needs_no_repair(home):
    before = home.picture()
    code, document = home.doctor("--repair", "--yes")
    assert code == 0
    assert "repairs" not in document
    assert backups.backups(home.database) == []
    assert home.picture() == before


def test_reading_only_writes_nothing(home):
    home.doctor()
    before = home.ask("SELECT (SELECT sum(seq) FROM sqlite_sequence), count(*) FROM log")
    _, document = home.doctor("--read-only")
    assert "canary" not in [check["name"] for check in document["checks"]]
    assert home.ask("SELECT (SELECT sum(seq) FROM sqlite_sequence), count(*) FROM log") == before
    _, document = home.doctor()
    assert "canary" in [check["name"] for check in document["checks"]]
    assert home.ask("SELECT (SELECT sum(seq) FROM sqlite_sequence), count(*) FROM log") != before


@pytest.mark.parametrize("options", [("--read-only",), ("--repair", "--dry-run")])
def test_reading_only_leaves_an_older_home_as_it_is(monkeypatch, capfdbinary, options):
    home = Home(Path(os.environ["RAGMEM_HOME"]), capfdbinary)
    home.data.mkdir(parents=True, mode=0o700)
    home.root.chmod(0o700)
    home.database.write_bytes(gzip.decompress(FIXTURE.read_bytes()))
    home.database.chmod(0o600)
    monkeypatch.setenv("RAGMEM_MODELS_BACKEND", "fake")
    before = home.database.read_bytes()
    assert home.failed(*options) == []
    assert home.database.read_bytes() == before
    assert [path.name for path in home.data.iterdir()] == ["memory.db"]
    assert home.failed() == []
    assert backups.backups(home.database)


def test_the_canary_is_seen_by_nobody_and_leaves_nothing(home):
    before = home.picture()
    seen: list[str] = []
    done = threading.Event()

    def look() -> None:
        with home.open() as memory:
            memory.require()
            while not done.is_set():
                answer = memory.query("why is a canary kept in the mine")
                seen.extend(match.memory.scope.project for match in answer.matches)
                seen.extend(memory.store.memory_ids() & {CANARY_PROJECT})

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        for _ in range(3):
            assert home.failed() == []
    finally:
        done.set()
        watcher.join(30)
    assert seen
    assert CANARY_PROJECT not in seen
    assert home.picture() == before
    assert home.ask(f"SELECT count(*) FROM store_vectors WHERE workspace = '{CANARY_PROJECT}'") == [(0,)]


def test_a_broken_configuration_is_a_finding(home):
    (home.root / "config").mkdir(exist_ok=True)
    (home.root / "config" / "config.toml").write_text("[query]\nlimit = 'many'\n")
    code, document = home.doctor()
    assert code == 1
    [check] = document["checks"]
    assert check["name"] == "configuration"
    assert "config.toml:2" in check["detail"]


def test_a_home_without_a_memory_is_well(capfdbinary, monkeypatch):
    monkeypatch.setenv("RAGMEM_MODELS_BACKEND", "fake")
    home = Home(Path(os.environ["RAGMEM_HOME"]), capfdbinary)
    code, document = home.doctor()
    assert code == 0
    assert [check["fix"] for check in document["checks"] if check["name"] == "home"] == ["ragmem seed"]
    assert not home.data.exists()


def test_people_get_a_table_and_the_number_of_faults(home, capfdbinary):
    home.database.chmod(0o644)
    capfdbinary.readouterr()
    assert run(["doctor"]) == 1
    captured = capfdbinary.readouterr()
    lines = captured.out.decode().splitlines()
    assert lines[0].split() == ["check", "status", "detail", "next", "step"]
    assert any(line.startswith("permissions") and "ragmem doctor --repair" in line for line in lines)
    assert captured.err.decode() == "1 thing wrong\n"


def test_a_home_on_the_files_of_lightrag_is_well(monkeypatch, capfdbinary):
    monkeypatch.setenv("RAGMEM_MODELS_BACKEND", "fake")
    monkeypatch.setenv("RAGMEM_STORE_PROFILE", "json")
    home = Home(Path(os.environ["RAGMEM_HOME"]), capfdbinary)
    with home.open() as memory:
        assert memory.ingest([Draft("notes", "/one", NOTE, title="Cache")])[0].note == ""
    assert home.failed("--deep") == []
    assert home.failed("--deep") == []


def test_a_home_on_postgresql_is_examined_there(postgres, monkeypatch, capfdbinary):
    for name, value in {"MODELS_BACKEND": "fake", "STORE_PROFILE": "postgres", "STORE_URL": postgres}.items():
        monkeypatch.setenv(f"RAGMEM_{name}", value)
    home = Home(Path(os.environ["RAGMEM_HOME"]), capfdbinary)
    with home.open() as memory:
        assert memory.ingest([Draft("notes", "/one", NOTE, title="Cache")])[0].note == ""
        with memory.catalog.database.write() as connection:
            connection.execute("DELETE FROM lexicon_memories")
    code, document = home.doctor()
    details = {check["name"]: check["detail"] for check in document["checks"]}
    assert details["database"].startswith("PostgreSQL ")
    assert details["pgvector"].startswith("version ")
    assert code == 1
    assert {check["name"] for check in document["checks"] if check["status"] == "failed"} == {"full text"}
    assert home.doctor("--repair", "--yes")[0] == 0
    assert home.failed("--deep") == []


def test_a_server_that_does_not_answer_is_a_finding_and_hides_no_other(monkeypatch, capfdbinary):
    monkeypatch.setenv("RAGMEM_MODELS_BACKEND", "fake")
    monkeypatch.setenv("RAGMEM_STORE_PROFILE", "postgres")
    monkeypatch.setenv("RAGMEM_STORE_URL", "postgresql://ann:secret@127.0.0.1:1/name")
    assert run(["doctor", "--json"]) == 1
    out = capfdbinary.readouterr().out
    checks = {check["name"]: check for check in json.loads(out)["checks"]}
    assert checks["home"]["status"] == "failed"
    assert "cannot reach" in checks["home"]["detail"]
    assert checks["embedder"]["status"] == "ok"
    assert b"secret" not in out
