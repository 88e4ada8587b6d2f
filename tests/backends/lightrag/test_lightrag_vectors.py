"""The vector index: exact while small, a disposable sidecar beyond, never a deleted row among the hits."""

import os
import shutil
import sqlite3
import stat
from contextlib import closing

import numpy as np
import pytest

from ragmem.backends.lightrag.rows import schema
from ragmem.backends.lightrag.rows import vectors as rows
from ragmem.backends.lightrag.vectors import mmap_index, segments
from ragmem.backends.lightrag.vectors.vector_index import VectorIndex
from ragmem.storage.sql.sqlite import SQLiteDatabase

DIMENSIONS = 64
MODEL = "made-up"
COUNT = 7000


def clustered(count, *, dimensions=DIMENSIONS, seed=0, clusters=60):
    chance = np.random.default_rng(seed)
    centres = chance.normal(size=(clusters, dimensions))
    rows = centres[chance.integers(clusters, size=count)] + 0.8 * chance.normal(size=(count, dimensions))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def add(database, vectors, *, start=0, workspace="user", namespace="chunks", model=MODEL):
    with database.write() as connection:
        rows.insert(
            connection,
            [
                (
                    workspace,
                    namespace,
                    f"{workspace}-{start + n}",
                    f"m{start + n}",
                    "",
                    model,
                    *segments.quantise(row),
                    0,
                )
                for n, row in enumerate(vectors)
            ],
        )


@pytest.fixture
def database(tmp_path):
    database = SQLiteDatabase(tmp_path / "home")
    schema.create(database)
    yield database
    database.close()


@pytest.fixture
def index(database):
    return VectorIndex(database)


@pytest.fixture(scope="module")
def many_rows(tmp_path_factory):
    """Return many vectors, and the folder of a database of them; both are read-only by agreement."""
    home, vectors = tmp_path_factory.mktemp("many"), clustered(COUNT)
    with closing(SQLiteDatabase(home)) as database:
        schema.create(database)
        add(database, vectors)
    return vectors, home


@pytest.fixture
def large(database, many_rows):
    vectors, home = many_rows
    database.close()
    shutil.copytree(home, database.home, dirs_exist_ok=True)
    return vectors.copy()


def folder(database, namespace="chunks", model=MODEL):
    return database.home / mmap_index.FOLDER / mmap_index.folder_name(namespace, model, DIMENSIONS)


def ids(hits):
    return [hit.id for hit in hits]


def test_few_vectors_need_no_files(database, index):
    vectors = clustered(50)
    add(database, vectors)
    [hit] = index.search("chunks", MODEL, vectors[7], limit=1)
    assert (hit.id, hit.workspace) == ("user-7", "user")
    assert hit.score == pytest.approx(1, abs=0.01)
    assert not (database.home / mmap_index.FOLDER).exists()


def test_many_vectors_are_mapped_from_private_files(database, index, large):
    assert ids(index.search("chunks", MODEL, large[123], limit=1)) == ["user-123"]
    records = folder(database) / "records"
    assert records.stat().st_size == COUNT * mmap_index.RECORD.itemsize
    assert stat.S_IMODE(records.stat().st_mode) == 0o600
    assert stat.S_IMODE(records.parent.stat().st_mode) == 0o700


def test_the_preselection_finds_what_an_exact_search_finds(database, index):
    vectors = clustered(9000, dimensions=384, clusters=200, seed=3)
    add(database, vectors)
    exact = np.stack([segments.restore(*segments.quantise(row)) for row in vectors])
    queries = clustered(60, dimensions=384, clusters=200, seed=3)
    found = 0
    for query in queries:
        truth = {f"user-{n}" for n in np.argsort(-(exact @ query))[:10]}
        found += len(truth & set(ids(index.search("chunks", MODEL, query, limit=10))))
    assert found / 600 >= 0.99


def test_rows_added_later_are_found(database, index, large):
    index.search("chunks", MODEL, large[0], limit=1)
    later = clustered(20, seed=9)
    add(database, later, start=COUNT)
    assert ids(index.search("chunks", MODEL, later[3], limit=1)) == [f"user-{COUNT + 3}"]
    # And by another process, from the same files.
    assert ids(VectorIndex(database).search("chunks", MODEL, later[3], limit=1)) == [f"user-{COUNT + 3}"]


def test_a_few_new_rows_are_not_worth_a_write(database, index, large):
    index.search("chunks", MODEL, large[0], limit=1)
    for turn in range(4):
        add(database, clustered(100, seed=20 + turn), start=COUNT + 100 * turn)
        index.search("chunks", MODEL, large[0], limit=1)
        on_disk = len(mmap_index.Sidecar(folder(database), DIMENSIONS).load())
        assert on_disk == (COUNT if turn < 2 else COUNT + 300)


def test_deleted_rows_are_no_hits_and_leave_room_for_others(database, index, large):
    before = ids(index.search("chunks", MODEL, large[5], limit=200))
    doomed = before[:150]
    with database.write() as connection:
        connection.executemany("DELETE FROM store_chunks WHERE id = ?", [(key,) for key in doomed])
    after = ids(index.search("chunks", MODEL, large[5], limit=50))
    assert len(after) == 50
    assert not set(after) & set(doomed)
    # Not all of them: the sign bits of so few dimensions select roughly.
    assert len(set(after) & set(before[150:200])) >= 40


def test_a_replaced_vector_is_found_where_it_is_now(database, index, large):
    index.search("chunks", MODEL, large[0], limit=1)
    add(database, -large[:1])
    assert ids(index.search("chunks", MODEL, -large[0], limit=1)) == ["user-0"]
    assert "user-0" not in ids(index.search("chunks", MODEL, large[0], limit=5))


def test_a_filter_by_workspace_searches_only_there(database, index, large):
    few = clustered(30, seed=4)
    add(database, few, workspace="other")
    hits = index.search("chunks", MODEL, large[0], limit=50, workspaces=["other"])
    assert len(hits) == 30
    assert {hit.workspace for hit in hits} == {"other"}
    assert index.search("chunks", MODEL, large[0], limit=5, workspaces=["none"]) == []
    assert index.search("chunks", MODEL, large[0], limit=5, workspaces=[]) == []


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("apart", [True, False])
def test_a_filter_finds_the_nearest_of_its_projects_however_large_they_are(database, index, share, apart):
    vectors = clustered(4000, seed=14, clusters=2 if apart else 60)
    query = clustered(1, seed=15)[0]
    near = vectors @ query
    # Apart: all that is near the question belongs to other projects, so that a first choice finds none of it.
    order = np.argsort(near) if apart else np.random.default_rng(16).permutation(len(vectors))
    inside = np.zeros(len(vectors), np.bool_)
    inside[order[: int(share * len(vectors))]] = True
    add(database, vectors[inside][::2], workspace="one")
    add(database, vectors[inside][1::2], workspace="two")
    add(database, vectors[~inside], workspace="others")
    hits = index.search("chunks", MODEL, query, limit=20, workspaces=["one", "two"])
    assert {hit.workspace for hit in hits} <= {"one", "two"}
    best = np.sort(near[inside])[::-1][:20]
    assert len(hits) == 20
    found = sum(hit.score >= best[-1] - 0.002 for hit in hits)
    assert found >= 16  # the sign bits of so few dimensions select roughly


def test_many_equal_vectors_are_found_in_order_of_age(database, index):
    same = np.repeat(clustered(1, seed=17), 3000, axis=0)
    add(database, same)
    hits = index.search("chunks", MODEL, same[0], limit=30)
    assert ids(hits) == [f"user-{number}" for number in range(30)]


def test_namespaces_and_models_do_not_mix(database, index, large):
    entity = clustered(1, seed=5)
    add(database, entity, workspace="e", namespace="entities")
    add(database, entity, workspace="x", model="another")
    assert ids(index.search("entities", MODEL, large[0], limit=9)) == ["e-0"]
    assert ids(index.search("chunks", "another", large[0], limit=9)) == ["x-0"]


def test_a_minimum_score_cuts_off(database, index, large):
    hits = index.search("chunks", MODEL, large[0], limit=500, minimum=0.9)
    assert hits
    assert all(hit.score >= 0.9 for hit in hits)
    assert len(hits) < 500


def damage_nothing(path):
    pass


def remove_everything(path):
    shutil.rmtree(path.parent)


def remove_the_folder(path):
    shutil.rmtree(path)


def remove_one_file(path):
    (path / "bits").unlink()


def tear_the_records(path):
    os.truncate(path / "records", (path / "records").stat().st_size - 7)


def cut_the_signs(path):
    os.truncate(path / "bits", 100 * DIMENSIONS // 8 + 1)


def spoil_the_last_row(path):
    with (path / "bits").open("r+b") as file:
        file.seek(-DIMENSIONS // 8, os.SEEK_END)
        file.write(bytes(DIMENSIONS // 8))


def lose_a_page_of_records(path):
    with (path / "records").open("r+b") as file:
        file.seek(50 * mmap_index.RECORD.itemsize)
        file.write(bytes(10 * mmap_index.RECORD.itemsize))


def append_rubbish(path):
    for name in ("records", "bits"):
        with (path / name).open("ab") as file:
            file.write(b"\xff" * 5000)


def empty_all_files(path):
    for name in ("records", "bits"):
        os.truncate(path / name, 0)


@pytest.mark.parametrize(
    "damage",
    [
        damage_nothing,
        remove_everything,
        remove_the_folder,
        remove_one_file,
        tear_the_records,
        cut_the_signs,
        spoil_the_last_row,
        lose_a_page_of_records,
        append_rubbish,
        empty_all_files,
    ],
)
def test_a_damaged_sidecar_is_repaired_from_the_database(database, large, damage):
    before = VectorIndex(database).search("chunks", MODEL, large[42], limit=1)
    damage(folder(database))
    later = clustered(300, seed=6)
    add(database, later, start=COUNT)
    fresh = VectorIndex(database)
    assert ids(fresh.search("chunks", MODEL, large[42], limit=1)) == ids(before)
    assert ids(fresh.search("chunks", MODEL, later[2], limit=1)) == [f"user-{COUNT + 2}"]
    assert len(mmap_index.Sidecar(folder(database), DIMENSIONS).load()) == COUNT + 300


def test_a_database_that_was_put_back_does_not_answer_from_newer_files(database, index, large):
    with database.write() as connection:
        connection.execute("DELETE FROM store_chunk_vectors WHERE seq > 5000")
        connection.execute("UPDATE sqlite_sequence SET seq = 5000 WHERE name = 'store_chunk_vectors'")
    # The files get the history that is then undone: other vectors under the same numbers.
    add(database, clustered(1000, seed=12), start=5000)
    index.search("chunks", MODEL, large[0], limit=1)
    with database.write() as connection:
        connection.execute("DELETE FROM store_chunk_vectors WHERE seq > 5000")
        connection.execute("UPDATE sqlite_sequence SET seq = 5000 WHERE name = 'store_chunk_vectors'")
    add(database, large[5000:], start=5000)
    fresh = VectorIndex(database)
    for number in range(5000, 5400, 20):
        assert ids(fresh.search("chunks", MODEL, large[number], limit=1)) == [f"user-{number}"]


def test_an_index_that_stays_open_knows_nothing_of_the_database_before_the_backup(database, index, tmp_path):
    # Those that are lost lie far from all others, so that no score of theirs can give them away.
    kept, lost, fresh = np.split(clustered(300, clusters=1), 3)
    add(database, kept)
    with database.read() as connection:
        backup = sqlite3.connect(tmp_path / "backup.db")
        connection.backup(backup)
        backup.close()
    add(database, -lost, start=100)
    assert index.search("chunks", MODEL, -lost[50], limit=1)[0].id == "user-150"
    for suffix in ("-wal", "-shm"):
        database.path.with_name(database.path.name + suffix).unlink()
    (tmp_path / "backup.db").replace(database.path)
    # They get the numbers that the lost ones had.
    add(database, fresh, start=200)
    for number in (5, 50, 99):
        assert index.search("chunks", MODEL, fresh[number], limit=1)[0].id == f"user-{200 + number}"


def test_a_sidecar_that_cannot_be_written_is_done_without(database, large):
    (database.home / mmap_index.FOLDER).write_text("in the way")
    assert ids(VectorIndex(database).search("chunks", MODEL, large[42], limit=1)) == ["user-42"]


def test_a_read_only_home_is_searched_with_what_it_has(database, large):
    VectorIndex(database).search("chunks", MODEL, large[0], limit=1)
    later = clustered(3, seed=6)
    add(database, later, start=COUNT)
    files = {path: path.stat().st_size for path in folder(database).iterdir()}
    database.read_only = True
    index = VectorIndex(database)
    assert ids(index.search("chunks", MODEL, later[1], limit=1)) == [f"user-{COUNT + 1}"]
    assert ids(index.search("chunks", MODEL, large[42], limit=1)) == ["user-42"]
    assert {path: path.stat().st_size for path in folder(database).iterdir()} == files
    assert index.compact(dry_run=False) == 0


def test_rows_of_an_open_transaction_reach_neither_files_nor_memory(database, index, large):
    index.search("chunks", MODEL, large[0], limit=1)
    extra = clustered(5, seed=8)

    def add_and_fail():
        with database.write():
            add(database, extra, start=COUNT)
            assert ids(index.search("chunks", MODEL, extra[0], limit=1)) == [f"user-{COUNT}"]
            raise KeyError

    with pytest.raises(KeyError):
        add_and_fail()
    assert f"user-{COUNT}" not in ids(index.search("chunks", MODEL, extra[0], limit=5))
    assert len(mmap_index.Sidecar(folder(database), DIMENSIONS).load()) == COUNT
    # The numbers of rows that were rolled back are given to the next ones.
    other = clustered(5, seed=10)
    add(database, other, start=COUNT)
    assert ids(index.search("chunks", MODEL, other[4], limit=1)) == [f"user-{COUNT + 4}"]


def test_compaction_waits_for_a_fifth_and_then_drops_the_dead(database, index, large):
    index.search("chunks", MODEL, large[0], limit=1)
    with database.write() as connection:
        connection.execute("DELETE FROM store_chunk_vectors WHERE seq <= 700")
    assert index.compact(dry_run=False) == 0
    with database.write() as connection:
        connection.execute("DELETE FROM store_chunk_vectors WHERE seq <= 1500")
    assert index.compact(dry_run=True) == 1500
    assert len(mmap_index.Sidecar(folder(database), DIMENSIONS).load()) == COUNT
    assert index.compact(dry_run=False) == 1500
    assert len(mmap_index.Sidecar(folder(database), DIMENSIONS).load()) == COUNT - 1500
    # A process that has the former files mapped goes on with the new ones.
    assert ids(index.search("chunks", MODEL, large[1600], limit=1)) == ["user-1600"]
    add(database, clustered(1, seed=11), start=COUNT)
    assert ids(index.search("chunks", MODEL, large[1600], limit=1)) == ["user-1600"]
    assert index.compact(dry_run=False) == 0


def test_compaction_drops_the_files_of_a_former_model(database, index, large):
    index.search("chunks", MODEL, large[0], limit=1)
    with database.write() as connection:
        connection.execute("UPDATE store_vector_models SET name = 'next'")
    assert index.compact(dry_run=True) == COUNT
    assert index.compact(dry_run=False) == COUNT
    assert not folder(database).exists()


@pytest.mark.parametrize("dimensions", [1, 7, 64, 65, 384, 1000])
def test_any_number_of_dimensions_works(tmp_path, dimensions):
    database = SQLiteDatabase(tmp_path / "home")
    schema.create(database)
    chance = np.random.default_rng(1)
    vectors = chance.normal(size=(30, dimensions)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    add(database, vectors)
    hits = VectorIndex(database).search("chunks", MODEL, vectors[3], limit=30)
    assert len(hits) == 30
    assert max(hit.score for hit in hits) == pytest.approx(1, abs=0.01)
    copy = mmap_index.Sidecar(tmp_path / "copy" / "x", dimensions)
    copy.folder.parent.mkdir()
    rows = [(n, "user", *segments.quantise(row)) for n, row in enumerate(vectors, start=1)]
    loaded = copy.catch_up(lambda last, limit: rows[last : last + limit])
    assert np.array_equal(loaded.bits, segments.from_rows(rows, dimensions).bits)
    database.close()


def test_an_empty_vector_survives_quantisation():
    scale, codes = segments.quantise(np.zeros(8, np.float32))
    assert np.array_equal(segments.restore(scale, codes), np.zeros(8, np.float32))
