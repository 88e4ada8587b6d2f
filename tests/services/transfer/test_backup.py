"""A backup is whole and verified; a restore is the old home or the new one, and can be undone."""

import gzip
import io
import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tarfile
import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragmem.backends.lightrag.vectors import mmap_index
from ragmem.config.places import Places
from ragmem.domain.model import Memory, State, content_hash, memory_id
from ragmem.domain.model import Scope as Owner
from ragmem.errors import NotFoundError, StoreBusyError, StoreDamagedError, UsageError
from ragmem.services.processes.progress import Silent
from ragmem.services.transfer import backup_file, restore
from ragmem.services.transfer.backup import back_up, backups, folder_of, prune
from ragmem.storage.activity.model_record import ACTIVE, ModelRecord
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.home.schema import CATALOG
from ragmem.storage.maintenance.catalog_export import Contents

NOW = datetime(2026, 6, 1, 12, 30, tzinfo=UTC)
SCHEMA_1 = Path(__file__).parents[2] / "data" / "homes" / "schema-1" / "memory.db.gz"


def make(uri: str) -> Memory:
    return Memory(
        id=memory_id("notes", Owner(), uri),
        source="notes",
        uri=uri,
        text=f"words of {uri}",
        title=uri,
        event_time=NOW,
        created_at=NOW,
        updated_at=NOW,
        content_hash=content_hash(f"words of {uri}"),
        state=State.INDEXED,
    )


class Home:
    """A home on disk: its places, its catalog, what restores it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.places = Places(*(root / name for name in ("config", "data", "state", "cache")))
        self.catalog = Catalog.at(self.places.data, busy_timeout=5)
        self.database = self.places.data / "memory.db"

    def add(self, *uris: str) -> None:
        self.catalog.prepare()
        with self.catalog.database.write():
            self.catalog.memories.accept([(make(uri), ()) for uri in uris])
            self.catalog.log.write("ingest", {"memories": len(uris)}, now=NOW)

    def uris(self) -> set[str]:
        return {memory.uri for memory in self.catalog.memories.each()}

    def configure(self, **files: str) -> None:
        self.places.config.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (self.places.config / name.replace("_", ".")).write_text(text)

    def config(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in self.places.config.iterdir()}

    def back_up(self, target: Path | None = None, **more) -> Path:
        more = {"now": NOW, "profile": "sqlite", "progress": Silent(), **more}
        return back_up(self.catalog, self.places, target=target, **more).path

    def restore(self, path: Path, **more) -> restore.RestoreResult:
        more = {"usable": lambda _: None, "agree": lambda _: None, "busy_timeout": 1, "now": NOW, **more}
        return restore.restore(path, self.catalog, self.places, open_store=None, progress=Silent(), **more)

    def left_over(self) -> list[str]:
        return [path.name for path in self.root.rglob(".*")]


@pytest.fixture
def home(tmp_path):
    made = Home(tmp_path / "home")
    made.add("a.md", "b.md")
    made.configure(config_toml="[query]\nlimit = 5\n", decay_json="{}")
    yield made
    made.catalog.close()


@pytest.fixture
def other(tmp_path):
    made = Home(tmp_path / "other")
    yield made
    made.catalog.close()


def pack(path: Path, *members: tuple[str | tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, content in members:
            entry = tarfile.TarInfo(name) if isinstance(name, str) else name
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return path


def contents_of(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as tar:
        return {entry.name: tar.extractfile(entry).read() for entry in tar}


# --- backing up


def test_a_backup_has_the_database_and_the_configuration_and_no_more(home):
    for name in ("vectors/chunks/bits", "write.lock", "serve.token"):
        path = home.places.data / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    made = home.back_up()

    assert made == folder_of(home.places) / "ragmem-20260601T123000Z.tar.gz"
    assert stat.S_IMODE(made.stat().st_mode) == 0o600
    assert list(contents_of(made)) == [
        "manifest.json",
        "data/memory.db",
        "config/config.toml",
        "config/decay.json",
    ]
    manifest = backup_file.read_manifest(made)
    assert manifest.counts == {"projects": 0, "memories": 2, "archive": 0, "files": 0}
    assert manifest.schemas["catalog"] == CATALOG.version
    assert home.left_over() == []


def test_a_backup_is_of_one_moment_while_others_write(home):
    stop = threading.Event()

    def write():
        number = 0
        with closing(Catalog.at(home.places.data)) as catalog:
            while not stop.is_set():
                number += 1
                with catalog.database.write():
                    catalog.memories.accept([(make(f"{number}-{half}.md"), ()) for half in "ab"])
                    catalog.log.write("ingest", {"memories": 2}, now=NOW)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        made = [home.back_up() for _ in range(3)]
    finally:
        stop.set()
        writer.join()
    for path in made:
        with sqlite3.connect(":memory:") as connection:
            connection.deserialize(contents_of(path)["data/memory.db"])
            [(memories, entries)] = connection.execute(
                "SELECT (SELECT count(*) FROM memories), (SELECT count(*) FROM log)"
            )
        assert memories == 2 * entries
        assert memories == backup_file.read_manifest(path).counts["memories"]


def test_two_backups_of_one_second_are_two(home):
    assert len({home.back_up(), home.back_up(), home.back_up()}) == 3


def test_pruning_keeps_the_latest_and_leaves_other_files_alone(home):
    made = [home.back_up(now=NOW + timedelta(seconds=number // 2)) for number in range(12)]
    others = [folder_of(home.places) / name for name in ("mine.tar.gz", "before-catalog-schema-2-x.db")]
    for path in others:
        path.write_text("mine")
    assert set(prune(home.places, 3)) == set(made[:9])
    assert {path.name for path in folder_of(home.places).iterdir()} == {
        path.name for path in (*made[9:], *others)
    }


def test_a_file_is_replaced_only_when_forced(home, tmp_path):
    target = tmp_path / "mine.tar.gz"
    target.write_text("mine")
    with pytest.raises(UsageError, match="already exists"):
        home.back_up(target)
    assert target.read_text() == "mine"
    assert home.back_up(target, force=True) == target
    assert backup_file.read_archive(target).counts["memories"] == 2


def test_a_damaged_database_is_not_backed_up(home):
    home.add(*(f"{number}.md" for number in range(200)))
    home.catalog.close()
    with home.database.open("r+b") as file:
        file.seek(3 * 4096)
        file.write(b"\xff" * 4096)
    with pytest.raises(Exception, match=r"memory\.db"):
        home.back_up()
    assert list(folder_of(home.places).iterdir()) == []


def test_all_backups_are_listed_with_what_they_hold(home):
    home.back_up()
    home.add("c.md")
    replaced = home.restore(home.back_up(now=NOW + timedelta(days=1))).replaced
    folder = folder_of(home.places)
    shutil.copy(home.database, folder / "before-catalog-schema-2-20200101T000000Z.db")
    os.utime(folder / "before-catalog-schema-2-20200101T000000Z.db", (0, 0))
    (folder / "ragmem-broken.tar.gz").write_text("broken")
    (folder / "notes.txt").write_text("mine")
    found = {one.path.name: one for one in backups(home.places)}

    assert len(found) == 5
    assert [one.at for one in backups(home.places)] == sorted(
        (one.at for one in found.values()), reverse=True
    )
    assert found["ragmem-20260601T123000Z.tar.gz"].counts["memories"] == 2
    assert found["ragmem-20260602T123000Z.tar.gz"].counts["memories"] == 3
    assert found[replaced.name].counts["memories"] == 3
    assert found["before-catalog-schema-2-20200101T000000Z.db"].schemas["catalog"] == CATALOG.version
    assert "is a damaged backup" in found["ragmem-broken.tar.gz"].problem


# --- restoring


def test_a_restore_brings_the_whole_home_back_and_keeps_what_was_there(home):
    made = home.back_up()
    before = home.config()
    home.add("later.md")
    home.configure(config_toml="[query]\nlimit = 9\n", sources_toml='exclude = ["x"]\n')
    present = home.config()
    done = home.restore(made)

    assert (home.uris(), home.config()) == ({"a.md", "b.md"}, before)
    assert home.catalog.log.entries()[0]["operation"] == "restore"
    assert home.left_over() == []
    home.add("new.md")

    home.restore(done.replaced)
    assert (home.uris(), home.config()) == ({"a.md", "b.md", "later.md"}, present)


def test_a_restore_into_an_empty_place_needs_no_home(home, other):
    done = other.restore(home.back_up())
    assert done.replaced is None
    assert other.uris() == {"a.md", "b.md"}
    assert stat.S_IMODE(other.database.stat().st_mode) == 0o600


def test_what_stands_in_the_log_alone_is_kept_aside(home, tmp_path):
    made = home.back_up()
    home.add("in the log.md")
    assert home.database.with_name("memory.db-wal").stat().st_size
    done = home.restore(made)

    other = Home(tmp_path / "undone")
    with closing(other.catalog):
        other.restore(done.replaced)
        assert other.uris() == {"a.md", "b.md", "in the log.md"}


def test_a_bare_database_brings_no_address_and_no_variable_to_send_there(home, other):
    home.add("a")
    recipe = {"backend": "openai", "model": "m", "url": "http://stranger", "key_variable": "AWS_SECRET"}
    told = ModelRecord("openai/m", 8, {**recipe, "options": {"url": "http://stranger"}})
    home.catalog.models.write(ACTIVE, told)
    home.catalog.close()
    other.restore(home.database)
    assert other.catalog.models.read(ACTIVE) == ModelRecord(
        "openai/m", 8, {"backend": "openai", "model": "m"}
    )
    # An archive brings its configuration as well, and is as trusted as that.
    other.restore(home.back_up())
    assert other.catalog.models.read(ACTIVE) == told


def test_a_bare_database_is_restored_and_leaves_the_configuration(home, other, tmp_path):
    copy = tmp_path / "memory.db"
    with closing(sqlite3.connect(home.database)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    other.configure(config_toml="[query]\nlimit = 7\n")
    other.add("gone.md")
    other.restore(copy)
    assert other.uris() == {"a.md", "b.md"}
    assert other.config() == {"config.toml": "[query]\nlimit = 7\n"}


def test_a_backup_of_the_first_release_is_brought_up_to_date(home, tmp_path):
    path = tmp_path / "before.db"
    path.write_bytes(gzip.decompress(SCHEMA_1.read_bytes()))
    home.restore(path)
    home.catalog.prepare()
    assert len(home.uris()) == Contents(home.catalog.database).counts()["memories"] > 0
    assert "a.md" not in home.uris()


def test_vectors_of_the_former_database_are_dropped(home):
    assert mmap_index.FOLDER in restore.DERIVED
    made = home.back_up()
    (home.places.data / mmap_index.FOLDER / "chunks").mkdir(parents=True)
    home.restore(made)
    assert not (home.places.data / mmap_index.FOLDER).exists()


def test_a_few_replaced_homes_are_kept(home):
    made = home.back_up()
    kept = [home.restore(made, now=NOW + timedelta(days=day)).replaced for day in range(5)]
    assert len(set(kept)) == 5
    assert {path for path in kept if path.exists()} == set(kept[-restore.MAX_REPLACED :])


def test_a_damaged_home_can_be_restored(home):
    made = home.back_up()
    home.catalog.close()
    home.database.write_bytes(os.urandom(20_000))
    home.restore(made)
    assert home.uris() == {"a.md", "b.md"}


def test_an_open_memory_goes_on_in_the_restored_one(home):
    made = home.back_up()
    home.add("later.md")
    with closing(Catalog.at(home.places.data)) as open_elsewhere:
        assert len(open_elsewhere.memories.ids()) == 3
        home.restore(made)
        assert len(open_elsewhere.memories.ids()) == 2
        open_elsewhere.memories.accept([(make("after.md"), ())])
    assert home.uris() == {"a.md", "b.md", "after.md"}


def test_a_reader_that_stays_makes_the_restore_give_up_and_change_nothing(home):
    made = home.back_up()
    home.add("later.md")
    home.catalog.close()
    with closing(sqlite3.connect(home.database, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM memories").fetchone()
        home.add("after the reader began.md")
        with pytest.raises(StoreBusyError):
            home.restore(made, busy_timeout=0.2)
    assert home.uris() == {"a.md", "b.md", "later.md", "after the reader began.md"}
    assert home.left_over() == []


def test_a_dry_run_verifies_and_changes_nothing(home, other):
    made = home.back_up()
    assert other.restore(made, dry_run=True).counts["memories"] == 2
    assert not other.root.exists()

    home.add("later.md")
    before = sorted(home.root.rglob("*"))
    home.restore(made, dry_run=True)
    assert sorted(home.root.rglob("*")) == before
    assert "later.md" in home.uris()


def test_who_does_not_agree_keeps_the_home(home):
    made = home.back_up()
    home.add("later.md")

    def refuse(source):
        assert source.counts["memories"] == 2
        raise UsageError("no")

    with pytest.raises(UsageError, match="no"):
        home.restore(made, agree=refuse)
    assert "later.md" in home.uris()


def test_an_archive_with_an_export_goes_into_an_empty_home_only(home, other, tmp_path):
    from ragmem.backends.fake import FakeModels, FakeStore
    from ragmem.services.transfer.exporter import export_file

    export = tmp_path / "memory.jsonl"
    export_file(home.catalog, export, now=NOW, progress=Silent())
    counts = Contents(home.catalog.database).counts()
    part = backup_file.part_of(backup_file.EXPORT, export)
    made = tmp_path / "shared.tar.gz"
    with made.open("wb") as file:
        manifest = backup_file.Manifest("0.1.0", NOW, "postgres", {}, counts, (part,))
        backup_file.write_archive(file, manifest, {backup_file.EXPORT: export})
    store = FakeStore(FakeModels(), other.catalog.database)

    def restored(target):
        return restore.restore(
            made,
            target.catalog,
            target.places,
            open_store=lambda: store,
            usable=lambda _: None,
            agree=lambda _: None,
            busy_timeout=1,
            now=NOW,
            progress=Silent(),
        )

    assert restored(other).counts["memories"] == 2
    assert other.uris() == {"a.md", "b.md"}
    with pytest.raises(UsageError, match="is not empty"):
        restored(home)


# --- what is refused


def _manifest(**changes) -> bytes:
    return orjson.dumps(
        {
            "format": "ragmem backup",
            "schema": 1,
            "ragmem": "0.1.0",
            "created_at": "2026-06-01T00:00:00Z",
            "profile": "sqlite",
            "schemas": {"catalog": 2},
            "counts": {"memories": 1},
            "files": [],
            **changes,
        }
    )


def _link(name: str, target: str) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = tarfile.SYMTYPE, target
    return entry


def _listed(name: str, content: bytes) -> dict[str, object]:
    import hashlib

    return {"name": name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


FOREIGN = {
    "no manifest": [("data/memory.db", b"x")],
    "a manifest that is no JSON": [("manifest.json", b"{")],
    "a manifest of something else": [("manifest.json", _manifest(format="mail"))],
    "a manifest without files": [("manifest.json", _manifest(files=None))],
    "a newer form": [("manifest.json", _manifest(schema=99))],
    "a file that the manifest has not": [("manifest.json", _manifest()), ("config/config.toml", b"x")],
    "a missing file": [("manifest.json", _manifest(files=[_listed("data/memory.db", b"x")]))],
    "other content": [
        ("manifest.json", _manifest(files=[_listed("data/memory.db", b"x")])),
        ("data/memory.db", b"y"),
    ],
    "the same file twice": [
        ("manifest.json", _manifest(files=[_listed("data/memory.db", b"x")])),
        ("data/memory.db", b"x"),
        ("data/memory.db", b"x"),
    ],
    "a path that climbs": [
        ("manifest.json", _manifest(files=[_listed("../../escaped", b"x")])),
        ("../../escaped", b"x"),
    ],
    "an absolute path": [
        ("manifest.json", _manifest(files=[_listed("/tmp/escaped", b"x")])),
        ("/tmp/escaped", b"x"),
    ],
    "a link": [
        ("manifest.json", _manifest(files=[_listed("data/memory.db", b"")])),
        (_link("data/memory.db", "/etc/passwd"), b""),
    ],
    "a link before a file": [
        ("manifest.json", _manifest(files=[_listed("data/memory.db", b"x")])),
        (_link("data", "/tmp"), b""),
        ("data/memory.db", b"x"),
    ],
    "a configuration without end": [
        ("manifest.json", _manifest(files=[{"name": "config/config.toml", "bytes": 2**40, "sha256": ""}])),
    ],
    "no database in it": [
        ("manifest.json", _manifest(files=[_listed("data/memory.db", b"x" * 9000)])),
        ("data/memory.db", b"x" * 9000),
    ],
}


@pytest.mark.parametrize("members", FOREIGN.values(), ids=FOREIGN)
def test_a_foreign_archive_is_refused_and_nothing_leaves_it(home, tmp_path, members):
    path = pack(tmp_path / "foreign.tar.gz", *members)
    before = {found: found.stat().st_mtime_ns for found in sorted(tmp_path.rglob("*")) if found.is_file()}
    with pytest.raises(StoreDamagedError):
        home.restore(path)
    after = {found: found.stat().st_mtime_ns for found in sorted(tmp_path.rglob("*")) if found.is_file()}
    assert after == before
    assert not Path("/tmp/escaped").exists()


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_changed_or_cut_archive_is_refused_or_holds_the_same(home, data):
    path = home.root / "sound.tar.gz"
    if not path.exists():
        home.back_up(path)
    raw = path.read_bytes()
    place = data.draw(st.integers(0, len(raw) - 1))
    if data.draw(st.booleans()):
        changed = raw[:place]
    else:
        changed = raw[:place] + bytes([raw[place] ^ data.draw(st.integers(1, 255))]) + raw[place + 1 :]
    broken = home.root / "broken.tar.gz"
    broken.write_bytes(changed)
    folder = home.root / "taken out"
    folder.mkdir()
    try:
        backup_file.read_archive(broken, folder)
    except StoreDamagedError:
        return
    else:
        # Some bits of gzip's header mean nothing.
        taken = {str(found.relative_to(folder)): found.read_bytes() for found in folder.rglob("*.*")}
        expected = contents_of(path)
        del expected["manifest.json"]
        assert taken == expected
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize("bare", [True, False], ids=["database", "archive"])
def test_a_newer_schema_is_refused(home, other, tmp_path, bare):
    other.add("a.md")
    other.catalog.close()
    with closing(sqlite3.connect(other.database)) as connection:
        connection.execute("PRAGMA user_version = 99")
        connection.execute("PRAGMA journal_mode = DELETE")
    path = other.database
    if not bare:
        path = tmp_path / "newer.tar.gz"
        part = backup_file.part_of(backup_file.DATABASE, other.database)
        manifest = backup_file.Manifest(
            "9.0", NOW, "sqlite", {}, {"projects": 0, "memories": 1, "archive": 0, "files": 0}, (part,)
        )
        with path.open("wb") as file:
            backup_file.write_archive(file, manifest, {backup_file.DATABASE: other.database})
    with pytest.raises(StoreDamagedError, match="newer ragmem"):
        home.restore(path)
    assert home.uris() == {"a.md", "b.md"}
    assert home.left_over() == []


def test_a_damaged_page_is_refused(home, other):
    home.add(*(f"{number}.md" for number in range(300)))
    home.catalog.close()
    with closing(sqlite3.connect(home.database)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    raw = home.database.read_bytes()
    home.database.write_bytes(raw[: 5 * 4096] + b"\xff" * 4096 + raw[6 * 4096 :])
    with pytest.raises(Exception, match=r"damaged|malformed|back up"):
        other.restore(home.database)
    assert not other.database.exists()


def test_what_is_no_backup_is_named(home, tmp_path):
    with pytest.raises(NotFoundError, match="there is no file"):
        home.restore(tmp_path / "nope.tar.gz")
    (tmp_path / "note.md").write_text("# A note")
    with pytest.raises(StoreDamagedError, match="is not a backup"):
        home.restore(tmp_path / "note.md")
    with pytest.raises(UsageError, match=r"holds no memory\.db"):
        home.restore(tmp_path)


# --- kills

# Forks once for each step of an undisturbed run and kills the child just before it takes that step.
DRIVER = """
import json, os, shutil, signal, sys
from pathlib import Path

template, work, *arguments = sys.argv[1:]
os.environ["RAGMEM_HOME"] = work
STEPS = {"open", "os.rename", "os.remove", "os.link", "os.mkdir", "os.rmdir", "sqlite3.connect"}
step = limit = kills = 0

def hook(event, values):
    global step
    if event in STEPS and any(work in str(value) for value in values):
        step += 1
        if step == limit:
            os.kill(os.getpid(), signal.SIGKILL)

from ragmem.__main__ import run
from ragmem.storage.home.catalog import Catalog
import ragmem.services.transfer.restore, ragmem.backends.fake
import ragmem.cli.restore, ragmem.cli.backup, ragmem.cli.app

def uris():
    catalog = Catalog.at(Path(work, "data"), busy_timeout=5)
    found = sorted(memory.uri for memory in catalog.memories.each())
    with catalog.database.read() as connection:
        (verdict,) = connection.execute("PRAGMA integrity_check").fetchone()
    with catalog.database.write() as connection:
        connection.execute("UPDATE memories SET recalls = recalls + 1")
    catalog.close()
    return found, verdict, sorted(path.name for path in Path(work, "data", "backups").glob("ragmem-*"))

outcomes = []
sys.addaudithook(hook)
while True:
    kills += 1
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(template, work)
    child = os.fork()
    if child == 0:
        step, limit = 0, kills
        os._exit(run(arguments))
    _, status = os.waitpid(child, 0)
    outcomes.append([status, *uris()])
    if kills % 3 == 1:
        outcomes[-1] += [run(arguments), uris(), sorted(path.name for path in Path(work).rglob(".*"))]
    if not os.WIFSIGNALED(status):
        break
json.dump(outcomes, open(1, "w", closefd=False))
"""


def killed_at_each_step(template: Path, work: Path, *arguments: str) -> list[list]:
    environ = {**os.environ, "RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake"}
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, str(template), str(work), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environ,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    outcomes = json.loads(done.stdout.splitlines()[-1])
    assert len(outcomes) > 20
    assert {status for status, *_ in outcomes[:-1]} == {9}
    assert outcomes[-1][0] == 0
    return outcomes


@pytest.fixture
def template(home, tmp_path):
    """A home as a killed process leaves it: the latest memory stands in the log alone."""
    home.add("later.md")
    copied = tmp_path / "template"
    shutil.copytree(home.root, copied)
    assert (copied / "data" / "memory.db-wal").stat().st_size
    return copied


def test_a_restore_killed_at_any_step_leaves_the_old_home_or_the_new_one(home, tmp_path):
    made = home.back_up(tmp_path / "made.tar.gz")
    home.add("later.md")
    copied = tmp_path / "template"
    shutil.copytree(home.root, copied)
    assert (copied / "data" / "memory.db-wal").stat().st_size
    old, new = ["a.md", "b.md", "later.md"], ["a.md", "b.md"]
    outcomes = killed_at_each_step(copied, tmp_path / "work", "restore", "--yes", "--quiet", str(made))

    for _, found, verdict, _, *again in outcomes:
        assert found in (old, new)
        assert verdict == "ok"
        if again:
            code, (after, sound, _), left = again
            assert (sound, code, after, left) == ("ok", 0, new, [])
    states = [found for _, found, *_ in outcomes]
    # Once it was the new one it stays so: the switch is one step.
    assert states == sorted(states, reverse=True)
    assert (states[0], states[-1]) == (old, new)


def test_a_backup_killed_at_any_step_leaves_a_sound_one_or_none(template, tmp_path):
    outcomes = killed_at_each_step(template, tmp_path / "work", "backup", "--quiet")

    for _, found, verdict, archives, *again in outcomes:
        assert (found, verdict) == (["a.md", "b.md", "later.md"], "ok")
        if again:
            code, (_, _, after), left = again
            assert (code, len(after), left) == (0, len(archives) + 1, [])
    for path in (tmp_path / "work" / "data" / "backups").glob("ragmem-*"):
        assert backup_file.read_archive(path).counts["memories"] == 3


# --- the command line


def test_the_commands_back_up_list_restore_and_undo(inside, tmp_path):
    inside("ingest", "-", "--project", "user", stdin="PostgreSQL keeps our sessions.")
    made = json.loads(inside("backup", "--json").stdout)
    inside("ingest", "-", "--project", "user", stdin="Redis keeps our queues.")

    refused = inside("restore", made["file"])
    assert refused.returncode == 2
    assert (
        "this would replace 2 memories by 1 memory, and there is no terminal to confirm it" in refused.stderr
    )
    checked = inside("restore", "--dry-run", made["file"])
    assert (checked.returncode, checked.stdout) == (0, f"{made['file']}: verified, 1 memory\n")

    restored = inside("restore", "--yes", made["file"])
    assert (restored.returncode, restored.stdout) == (0, "restored 1 memory\n")
    assert inside("query", "Redis queues", "--all", "--ids").returncode == 1
    assert inside("query", "PostgreSQL", "--all").returncode == 0

    [*_, undo] = restored.stderr.splitlines()
    assert inside(*undo.removeprefix("undo with: ragmem ").split(), "--yes").returncode == 0
    assert inside("query", "Redis queues", "--all").returncode == 0
    listed = json.loads(inside("backup", "--list", "--json").stdout)["backups"]
    assert sorted(one["counts"]["memories"] for one in listed) == [1, 1, 2]


def test_a_backup_of_the_default_store_answers_after_a_restore(inside, tmp_path):
    real = {"RAGMEM_STORE_BACKEND": "lightrag"}
    note = "We decided to keep the sessions in PostgreSQL because of an error; the fix is in v2."
    inside("ingest", "-", "--project", "user", stdin=note, **real)
    made = inside("backup", str(tmp_path / "made.tar.gz"), **real)
    assert made.returncode == 0, made.stderr
    there = {"RAGMEM_HOME": str(tmp_path / "there"), **real}
    assert inside("restore", str(tmp_path / "made.tar.gz"), **there).returncode == 0
    shown = json.loads(inside("query", "PostgreSQL sessions", "--all", "--json", **there).stdout)
    assert shown["rung"] == "text and vectors"
    assert len(shown["matches"]) == 1
    assert json.loads(inside("inspect", "--json", **there).stdout)["store"]["documents"] == 1


def test_standard_output_is_refused_because_it_cannot_be_read_back(inside, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert inside("ingest", "-", stdin="We decided to use Redis.").returncode == 0
    done = inside("backup", "-")
    assert done.returncode == 2
    assert "standard output" in done.stderr
    assert not (tmp_path / "-").exists()


def test_a_folder_of_somebody_else_is_not_swept(home, tmp_path):
    home.add("a")
    strange = tmp_path / ".unfinished-novel"
    strange.mkdir()
    home.back_up(tmp_path / "backup.tar.gz")
    assert strange.is_dir()
