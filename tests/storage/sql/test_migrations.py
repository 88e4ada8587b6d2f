"""Older homes are brought up to date or refused in one piece, and nothing is changed without a copy of it."""

import gzip
import json
import os
import runpy
import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from ragmem.api.memory import Ragmem
from ragmem.backends.lightrag.rows import schema as store_schema
from ragmem.errors import StorageError, StoreDamagedError
from ragmem.services.doctor.invariants import violations
from ragmem.storage.home import postgres_schema
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.home.schema import APPLICATION_ID, CATALOG
from ragmem.storage.operational.schema import OPERATIONAL
from ragmem.storage.sql import backups, migrations
from ragmem.storage.sql.migrations import Migration, Schema, migrate, normalize, schema_state
from ragmem.storage.sql.sqlite import SQLiteDatabase
from ragmem.storage.sql.sqlite_files import integrity_check

ROOT = Path(__file__).resolve().parents[3]
HOMES = ROOT / "tests" / "data" / "homes"

RELEASED = {
    ("catalog", 1): "6ca34148ac4c5ed0dd14b7393235841c",
    ("catalog", 2): "9a908b9f5aefd7d27de40450d100e472",
    ("catalog", 3): "f3ba757e0998c0cde564ea031adf992f",
    ("catalog", 4): "4662c7cf9d156d56c2d511b2319f2e9d",
    ("catalog", 5): "77dad71a0b5b70545b2397c0fa3dbc3d",
    ("catalog", 6): "7bd0c5bba74a79d8f85b17b41b67f554",
    ("catalog", 7): "de9fbd15b8afe09818a6c65260e8da05",
    ("catalog", 8): "73decc1aa5dc877013b5d5c28abf216e",
    ("catalog", 9): "803e92587777491355c1e249463cc09d",
    ("catalog", 10): "078086f7c3b4cbc5eb102c1934c86f3d",
    ("catalog", 11): "b61b73305648c12a4a47cb2dd256403d",
    ("catalog", 12): "90fd0233ab71297f183d11ce82a69c25",
    ("catalog", 13): "3bd28d104c31dfc35d73a530f4cc2473",
    ("catalog", 14): "bee73e912d06f1ea707a20b9164bec6c",
    ("catalog", 15): "c2f4f036c48c581e84adfe17e239e542",
    ("catalog", 16): "e30087c1bc438c881e1eae7742bdb60f",
    ("catalog", 17): "b73b60b1149b25ca421f150b35464c68",
    ("catalog", 18): "fb820476cba54c8080d50dcf09381967",
    ("catalog", 19): "fa7b419a11aff7dbf2e068a806928e5d",
    ("catalog", 20): "079da4b0e7b6dbf68b40dd14b9640162",
    ("store", 1): "ade557b679f4adaaa558839752113711",
    ("store", 3): "bb0831eaae3e2fa40ee65f147eef24a2",
    ("store", 2): "2d5e2f1028b96ac889e45fdcb5a3aa7b",
    ("store", 4): "ca5f71fd15cdcc23e43c565a2e594937",
    ("store", 5): "7a2755ef1bd66bba292256516622b621",
    ("store", 6): "db17bb3b9b38f44c664fb7a201838b75",
    ("store", 7): "70aaf783c9f0592c2b20f763450cb7d1",
    ("store", 8): "78ed93c1d59fa8e1704f53e88b8ffcf8",
    ("store", 9): "34e5f3cb048fa05cce27ea635f6708fa",
    ("store", 10): "863fa66a10cb594855b0bc6241a4692e",
    ("store", 11): "fd566ab658b6ebf7518298c2ff2ca3c9",
    ("store", 12): "e7049f75494536b584bf4d6fd9bb43e2",
    ("store", 13): "e66944b27bf00424eb3e61efd1dfc9a9",
    ("store", 14): "36a9775137a9a282ff4622cac93d00a6",
    ("operational", 1): "b5260d2050781cada90c69c740759a58",
    ("operational", 2): "6fd74cf9ea6a668c99d7a7839a98f77f",
}
"""A step that was released is never edited: homes have its checksum, and would be refused."""

RELEASED_FOR_POSTGRESQL = {
    1: "b237f91e58ae179e25f5331dc3522040",
    2: "c6dc53a77c604aa662eb3b0d22b730da",
    3: "3c8357151f97348fed8e1b16c70970a9",
    4: "19ef4c98f387185ab15adb3a4cd521eb",
    5: "4977b853f1698f6b5d985b0528ac0401",
    6: "04999abc9a83cf50c6d1a284d62d7648",
    7: "80c6c4b6fcea547720c0a18957bdfcc1",
    8: "6cfd2bf8efafe0cc64ed6a47bb828430",
    9: "e187f803c168a445f478b2c73503956e",
    10: "f26b9f24032318b8b7642932e2c5629e",
    11: "2726ff5ea19ca6e071108a62eeb04872",
    12: "8df31825bd35491386d4425bd334057d",
    13: "5fa580f6a2292d321544f0dbe70a9637",
    14: "8cbfd49689ceddbc05d73b2854b7831d",
    15: "f92276a6fddacf81d1682b5a00f078aa",
    16: "e30087c1bc438c881e1eae7742bdb60f",
    17: "b73b60b1149b25ca421f150b35464c68",
    18: "20878124e58fa257628867e595f2e6b9",
    19: "5972425d787e2078243b1c2c6903575a",
    20: "753a7c96251eed74d6c91ff4e5a9f8e5",
}
"""The same for the catalog of PostgreSQL, whose statements are derived from those of SQLite."""


def unpack(name: str, data: Path) -> Path:
    data.mkdir(parents=True, mode=0o700)
    path = data / "memory.db"
    path.write_bytes(gzip.decompress((HOMES / name / "memory.db.gz").read_bytes()))
    path.chmod(0o600)
    return path


@pytest.fixture
def old(tmp_path):
    """The file of a home of the first release."""
    return unpack("schema-1", tmp_path / "ragmem" / "data")


@pytest.fixture
def database(old):
    made = SQLiteDatabase(old.parent, busy_timeout=10)
    yield made
    made.close()


@pytest.fixture
def new(tmp_path):
    made = SQLiteDatabase(tmp_path / "new")
    migrate(made, CATALOG)
    yield made
    made.close()


def look(path: Path, sql: str) -> list[tuple]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


def version(path: Path) -> int:
    return look(path, "PRAGMA user_version")[0][0]


def objects(path: Path) -> dict[str, str]:
    found = look(path, "SELECT type || ' ' || name, coalesce(sql, '') FROM sqlite_master")
    return {name: normalize(sql) for name, sql in found}


def extended(*steps: Migration) -> Schema:
    return replace(CATALOG, migrations=(*CATALOG.migrations, *steps), _checksums={})


NEXT = CATALOG.version + 1
ONE_MORE = Migration(NEXT, "one more", ("CREATE TABLE more (n INTEGER)", "INSERT INTO more VALUES (1)"))


@pytest.mark.parametrize("name", sorted(path.name for path in HOMES.iterdir()))
def test_a_home_of_each_release_answers_as_it_did(name, tmp_path):
    path = unpack(name, tmp_path / "ragmem" / "data")
    before = path.read_bytes()
    picture = runpy.run_path(str(ROOT / "scripts" / "make_home_fixture.py"))["picture"]
    environ = {"RAGMEM_HOME": str(tmp_path / "ragmem"), "RAGMEM_MODELS_BACKEND": "fake"}
    with Ragmem.open(environ=environ, home=tmp_path, cwd=tmp_path) as memory:
        found = json.loads(json.dumps(picture(memory)))
        assert violations(memory.catalog, memory.store, deep=True) == []
    assert found == json.loads((HOMES / name / "expected.json").read_text("utf-8"))
    assert version(path) == CATALOG.version
    copies = backups.backups(path)
    assert copies
    assert version(copies[-1]) <= CATALOG.version
    assert stat.S_IMODE(copies[-1].stat().st_mode) == 0o600
    (tmp_path / "was.db").write_bytes(before)
    assert objects(copies[-1]) == objects(tmp_path / "was.db")


def test_a_migrated_home_has_the_schema_of_a_new_one(old, database, new):
    migrate(database, CATALOG)
    store_schema.create(database)
    store_schema.create(new)
    assert objects(old) == objects(new.path)
    for pragma in ("user_version", "application_id"):
        assert look(old, f"PRAGMA {pragma}") == look(new.path, f"PRAGMA {pragma}")
    recorded = "SELECT component, version, name, checksum FROM migrations WHERE component = 'catalog'"
    assert look(old, recorded) == look(new.path, recorded)
    assert look(new.path, "PRAGMA application_id") == [(APPLICATION_ID,)]


def test_released_steps_are_as_they_were_released():
    steps = {
        (schema.component, step.version): step.checksum
        for schema in (CATALOG, store_schema.STORE, OPERATIONAL)
        for step in schema.migrations
    }
    assert steps == RELEASED
    assert postgres_schema.CATALOG.checksums == RELEASED_FOR_POSTGRESQL
    for schema in (CATALOG, store_schema.STORE, OPERATIONAL):
        assert [step.version for step in schema.migrations] == list(range(1, schema.version + 1))


def test_a_new_home_needs_no_backup(new):
    assert backups.backups(new.path) == []


def test_who_waits_for_a_large_home_is_told_once_and_for_a_small_one_not_at_all(old, monkeypatch):
    told = []
    for size in (old.stat().st_size, old.stat().st_size - 1):
        monkeypatch.setattr(migrations, "LARGE", size)
        home = unpack("schema-1", old.parents[1] / f"data-{size}").parent
        for _ in range(2):
            catalog = Catalog.at(home)
            catalog.announce = told.append
            catalog.prepare()
            catalog.close()
    [line] = told
    assert f'"{home / "memory.db"}" from schema 1 to {CATALOG.version}' in line


def test_opening_a_current_home_writes_nothing(new):
    new.close()
    before = new.path.read_bytes()
    statements = []
    new.connection().set_trace_callback(statements.append)
    assert migrate(new, CATALOG)
    assert len(statements) <= 6
    assert not [text for text in statements if not text.startswith(("BEGIN", "PRAGMA", "SELECT", "ROLLBACK"))]
    new.close()
    assert new.path.read_bytes() == before


def test_looking_at_a_home_without_the_store_creates_nothing(new):
    assert not store_schema.is_ready(new)
    assert "table store_kv" not in objects(new.path)


@pytest.mark.parametrize(
    ("schema", "sql"),
    [
        (CATALOG, "PRAGMA user_version = 99"),
        (store_schema.STORE, "UPDATE storage_meta SET value = '99'"),
    ],
)
def test_a_newer_schema_is_refused_with_both_versions(new, schema, sql):
    store_schema.create(new)
    new.connection().execute(sql)
    before = objects(new.path)
    with pytest.raises(
        StoreDamagedError, match=f"newer ragmem.* schema 99.* knows {schema.version}"
    ) as caught:
        migrate(new, schema)
    assert "pip install --upgrade" in caught.value.hint
    assert objects(new.path) == before


def test_a_step_of_another_build_is_refused(new):
    new.connection().execute("UPDATE migrations SET checksum = 'deadbeef' WHERE version = 2")
    with pytest.raises(StoreDamagedError, match="another build: step 2 of its catalog"):
        migrate(new, CATALOG)


@pytest.mark.parametrize(
    "sql",
    [
        f"DELETE FROM migrations WHERE version = {CATALOG.version}",
        "DROP TABLE migrations",
        "PRAGMA user_version = 1",
    ],
)
def test_a_half_migration_is_sent_to_the_doctor(new, sql):
    new.connection().execute(sql)
    with pytest.raises(StoreDamagedError, match="partly migrated") as caught:
        migrate(new, CATALOG)
    assert "doctor --repair" in caught.value.hint


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE bookmarks (url TEXT)",
        "PRAGMA user_version = 1",
        "PRAGMA application_id = 7",
    ],
)
def test_the_file_of_another_program_is_not_filled(tmp_path, sql):
    path = tmp_path / "data" / "memory.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(sql)
    before = path.read_bytes()
    with (
        closing(Catalog.at(path.parent)) as catalog,
        pytest.raises(StoreDamagedError, match="not a ragmem"),
    ):
        catalog.prepare()
    # SQLite may have switched the file to WAL, no more.
    assert objects(path) == (
        {"table bookmarks": "CREATE TABLE bookmarks (url TEXT)"} if "book" in sql else {}
    )
    assert len(path.read_bytes()) == len(before)


def test_steps_that_were_not_taken_yet_are_taken_in_order(old, database):
    schema = extended(ONE_MORE, Migration(NEXT + 1, "two more", ("UPDATE more SET n = n + 1",)))
    migrate(database, schema)
    assert look(old, "SELECT n FROM more") == [(2,)]
    with database.read() as connection:
        found = schema_state(database, connection, schema)
    assert found.version == NEXT + 1
    assert found.recorded == schema.checksums


def test_a_step_that_fails_leaves_the_old_version_whole(old, database):
    before = objects(old)
    with pytest.raises(StorageError):
        migrate(database, extended(ONE_MORE, Migration(NEXT + 1, "bad", ("INSERT INTO nowhere VALUES (1)",))))
    assert objects(old) == before
    assert version(old) == 1


def test_a_process_killed_between_steps_leaves_the_old_version_whole(old):
    code = (
        "import os, sys\nfrom dataclasses import replace\nfrom pathlib import Path\n"
        "from ragmem.storage.sql.migrations import Migration, migrate\n"
        "from ragmem.storage.home.schema import CATALOG\n"
        "from ragmem.storage.sql.sqlite import SQLiteDatabase\n"
        "def die(connection):\n    os.kill(os.getpid(), 9)\n"
        "steps = (Migration(CATALOG.version + 1, 'one', ('CREATE TABLE more (n)', 'DROP TABLE log')),"
        " Migration(CATALOG.version + 2, 'two', (), die))\n"
        "schema = replace(CATALOG, migrations=(*CATALOG.migrations, *steps), _checksums={})\n"
        "migrate(SQLiteDatabase(Path(sys.argv[1])), schema)\n"
    )
    before = objects(old)
    killed = subprocess.run([sys.executable, "-c", code, str(old.parent)], check=False, timeout=60)
    assert killed.returncode == -9
    assert objects(old) == before
    assert version(old) == 1
    with closing(SQLiteDatabase(old.parent)) as database:
        assert migrate(database, CATALOG)
    assert version(old) == CATALOG.version


@pytest.mark.parametrize("killed_at", [5, store_schema.STORE.version])
def test_a_process_killed_while_rows_are_moved_leaves_the_old_version_whole(old, database, killed_at):
    migrate(database, CATALOG)
    before = objects(old)
    code = (
        "import os, sys\nfrom dataclasses import replace\nfrom pathlib import Path\n"
        "from ragmem.storage.sql.migrations import migrate\n"
        "from ragmem.backends.lightrag.rows.schema import STORE\n"
        "from ragmem.storage.sql.sqlite import SQLiteDatabase\n"
        "last = STORE.migrations[int(sys.argv[2]) - 1]\n"
        "def die(connection):\n"
        "    if last.function is not None:\n        last.function(connection)\n"
        "    os.kill(os.getpid(), 9)\n"
        "steps = (*STORE.migrations[: last.version - 1], replace(last, function=die))\n"
        "migrate(SQLiteDatabase(Path(sys.argv[1])), replace(STORE, migrations=steps, _checksums={}))\n"
    )
    killed = subprocess.run(
        [sys.executable, "-c", code, str(old.parent), str(killed_at)], check=False, timeout=60
    )
    assert killed.returncode == -9
    assert objects(old) == before
    store_schema.create(database)
    assert "table store_mentions" in objects(old)
    ((documents,),) = look(old, "SELECT count(*) FROM store_documents")
    ((indexed,),) = look(old, "SELECT count(*) FROM memories WHERE state = 'indexed'")
    assert documents == indexed > 0
    assert len(backups.backups(old)) == 3


def test_of_many_openers_one_migrates(old):
    failures = []

    def opener() -> None:
        with closing(SQLiteDatabase(old.parent, busy_timeout=20)) as database:
            try:
                migrate(database, CATALOG)
            except Exception as error:  # noqa: BLE001 - told by the assertion below
                failures.append(error)

    threads = [threading.Thread(target=opener) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert failures == []
    assert len(backups.backups(old)) == 1


def test_without_a_backup_nothing_is_changed(old, database):
    (old.parent / backups.FOLDER).write_text("in the way")
    with pytest.raises(StorageError, match="cannot make the folder"):
        migrate(database, CATALOG)
    assert version(old) == 1


def test_a_damaged_database_is_not_migrated(old, database):
    (page,) = look(old, "SELECT rootpage FROM sqlite_master WHERE name = 'store_edges'")[0]
    with old.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xff" * 4096)
    with pytest.raises(StoreDamagedError):
        migrate(database, CATALOG)
    assert version(old) == 1
    assert list((old.parent / backups.FOLDER).iterdir()) == []


def test_a_home_that_cannot_be_written_is_read_as_it_is_where_the_missing_steps_allow(old, database):
    database.connection()
    database.read_only = True
    assert migrate(database, replace(CATALOG, migrations=CATALOG.migrations[:3], _checksums={}))
    assert version(old) == 1
    with pytest.raises(StorageError, match="older schema 1") as caught:
        migrate(database, CATALOG)
    assert "a user who can write" in caught.value.hint
    assert version(old) == 1


def test_what_a_step_brings_is_empty_in_a_home_that_cannot_take_it(tmp_path):
    with closing(Catalog.at(tmp_path / "data", busy_timeout=2.0)) as made:
        migrate(made.database, replace(CATALOG, migrations=CATALOG.migrations[:8], _checksums={}))
        made.database.read_only = True
        assert migrate(made.database, replace(CATALOG, migrations=CATALOG.migrations[:9], _checksums={}))
        assert made.transcripts.get("/t/a.jsonl") is None
        assert made.transcripts.all() == []
        assert made.transcripts.last_read_at() is None
        assert made.injections.list() == []
        assert made.violations.latest() == []
        assert made.violations.unreported("s1", limit=1) == []


def test_names_that_are_stored_once_say_what_they_said_before(tmp_path):
    columns = "n, project, name, types, form, head, canonical, rule, made_at, late"
    rows = [
        (1, "user", "Harbor Daemon", "tool", "harbordaemon", "Harbor Daemon", "Harbor Daemon", "", 7, None),
        (2, "user", "harbor-daemon", "tool", "harbordaemon", "Harbor Daemon", "Harbor Daemon", "case", 8, 0),
        (3, "user", "HD", "tool", "hd", "HD", "Harbor Daemon", "acronym", 9, 5),
        (4, "work", "Größe", "concept", "größe", "GRÖSSE", "Größe", "", 9, None),
        (5, "work", "", "file", "", "", "", "", 9, None),
    ]
    read = f"SELECT {columns} FROM entity_names ORDER BY n"
    with closing(SQLiteDatabase(tmp_path / "data")) as database:
        migrate(database, replace(CATALOG, migrations=CATALOG.migrations[:13], _checksums={}))
        with database.write() as connection:
            connection.executemany(f"INSERT INTO entity_names ({columns}) VALUES (?,?,?,?,?,?,?,?,?,?)", rows)
        migrate(database, CATALOG)
        # Since step 17 a name that was never merged has no moment, and since 19 types are letters.
        letters = {"tool": "T", "concept": "N", "file": "F"}
        rows = [
            (*row[:3], letters[row[3]], *row[4:8], 0 if row[0] in {1, 5} else row[8], row[9]) for row in rows
        ]
        assert database.select(read) == rows
        stored = "SELECT n, spelling, node FROM entity_names WHERE coalesce(spelling, node) IS NOT NULL"
        assert database.select(stored) == [
            (2, "Harbor Daemon", "Harbor Daemon"),
            (3, None, "Harbor Daemon"),
            (4, "GRÖSSE", None),
        ]
        assert integrity_check(database.connection()) == []


def test_the_last_three_backups_are_kept_and_none_is_overwritten(old):
    made = []
    for count in range(5):
        with closing(sqlite3.connect(old)) as connection:
            connection.execute(f"PRAGMA user_version = {count}")
        made.append(backups.back_up(old, "before-test"))
        os.utime(made[-1], (count, count))
    assert backups.backups(old) == made[:1:-1]
    assert [version(path) for path in backups.backups(old)] == [4, 3, 2]
    assert {path.suffix for path in (old.parent / backups.FOLDER).iterdir()} == {".db"}
