"""Damaged, foreign and vanishing vector files: searches answer from the database, a check names the fault."""

import os
import shutil

import numpy as np
import pytest

from ragmem.backends.lightrag import schema, segments, sidecar
from ragmem.backends.lightrag.vector_index import VectorIndex
from ragmem.catalog.sqlite import SQLiteDatabase

DIMENSIONS = 64
MODEL = "made-up"
COUNT = 2000
FILES = ("records", "codes", "bits")
WIDTHS = {"records": sidecar.RECORD.itemsize, "codes": DIMENSIONS, "bits": 8}


def unit_vectors(count, *, seed=0, dimensions=DIMENSIONS):
    rows = np.random.default_rng(seed).normal(size=(count, dimensions))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def add(database, vectors, *, start=0, workspace="user", namespace="chunks"):
    with database.write() as connection:
        connection.executemany(
            "INSERT OR REPLACE INTO store_vectors"
            " (workspace, namespace, id, subject, object, model, scale, vector, created)"
            " VALUES (?, ?, ?, '', '', ?, ?, ?, 0)",
            [
                (workspace, namespace, f"{start + n}", MODEL, *segments.quantise(row))
                for n, row in enumerate(vectors)
            ],
        )


VECTORS = unit_vectors(COUNT)


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """Return a home with files that hold all vectors."""
    home = tmp_path_factory.mktemp("template") / "home"
    database = SQLiteDatabase(home)
    schema.create(database)
    add(database, VECTORS)
    assert nearest(VectorIndex(database), VECTORS[0]) == "0"
    database.close()
    return home


@pytest.fixture
def home(template, tmp_path):
    return shutil.copytree(template, tmp_path / "home")


@pytest.fixture
def database(home):
    database = SQLiteDatabase(home)
    yield database
    database.close()


@pytest.fixture
def folder(home):
    return home / sidecar.FOLDER / sidecar.folder_name("chunks", MODEL, DIMENSIONS)


def nearest(index, query, **options):
    [hit] = index.search("chunks", MODEL, query, limit=1, **options)
    return hit.id


def change(path, offset, content):
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(content)


def flip(path, offset):
    value = path.read_bytes()[offset]
    change(path, offset, bytes([value ^ 0xFF]))


def test_a_sound_home_has_no_problem(database):
    assert VectorIndex(database).check() == []
    # Neither is one that is behind, nor one with deleted rows.
    add(database, unit_vectors(5, seed=1), start=COUNT)
    with database.write() as connection:
        connection.execute("DELETE FROM store_vectors WHERE seq < 300")
    assert VectorIndex(database).check() == []


def test_a_home_without_vectors_has_no_problem(tmp_path):
    database = SQLiteDatabase(tmp_path / "empty")
    schema.create(database)
    assert VectorIndex(database).check() == []
    assert VectorIndex(database).rebuild() == 0
    database.close()


def lose_a_file(folder):
    (folder / "bits").unlink()


def cut_a_file(folder):
    os.truncate(folder / "codes", 1500 * DIMENSIONS + 3)


def flip_a_code(folder):
    flip(folder / "codes", 700 * DIMENSIONS + 9)


def flip_a_scale(folder):
    flip(folder / "records", 700 * WIDTHS["records"] + 18)


def flip_a_workspace(folder):
    flip(folder / "records", 700 * WIDTHS["records"] + 12)


def flip_a_number(folder):
    flip(folder / "records", 700 * WIDTHS["records"] + 1)


def flip_signs(folder):
    flip(folder / "bits", 700 * 8)


def forge_a_row(folder):
    """Put a vector into the files, checksum and all, that the database does not have."""
    records = np.fromfile(folder / "records", sidecar.RECORD)
    scale, codes = segments.quantise(unit_vectors(1, seed=77)[0])
    row = np.frombuffer(codes, np.int8).reshape(1, -1)
    records["scale"][700] = scale
    records["crc"][700] = sidecar.checksums(records[700:701], row)[0]
    records.tofile(folder / "records")
    change(folder / "codes", 700 * DIMENSIONS, codes)
    change(folder / "bits", 700 * 8, segments.sign_bits(row).tobytes())


def drop_a_row(folder):
    for name, width in WIDTHS.items():
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[: 700 * width] + content[701 * width :])


def belong_to_nothing(folder):
    folder.rename(folder.with_name("chunks-0123456789abcdef"))


DAMAGES = {
    lose_a_file: "bits missing",
    cut_a_file: "codes 1500.05 rows",
    flip_a_code: "1 records do not match their checksum",
    flip_a_scale: "1 records do not match their checksum",
    flip_a_workspace: "1 records do not match their checksum",
    flip_a_number: "records do not match their checksum",
    flip_signs: "1 rows have other sign bits",
    forge_a_row: "1 rows have another vector than the database",
    drop_a_row: "1 vectors of the database are missing",
    belong_to_nothing: "no vector belongs to the files",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_check_names_the_damage_and_writing_anew_mends_it(database, folder, damage):
    damage(folder)
    index = VectorIndex(database)
    problems = index.check()
    assert any(DAMAGES[damage] in problem for _, problem in problems), problems
    assert {namespace for namespace, _ in problems} == {"chunks"}
    assert index.rebuild() == COUNT
    assert VectorIndex(database).check() == []
    assert [path.name for path in folder.parent.iterdir() if path.is_dir()] == [folder.name]
    # The process that wrote anew goes on with the new files, and so does one that had none open.
    assert nearest(index, VECTORS[700]) == nearest(VectorIndex(database), VECTORS[700]) == "700"


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("read_only", [False, True])
def test_a_search_in_damaged_files_gives_only_rows_of_the_database(database, folder, damage, read_only):
    damage(folder)
    assert database.connection()
    database.read_only = read_only
    index = VectorIndex(database)
    for number in (3, 699, 701, 1999):
        hits = index.search("chunks", MODEL, VECTORS[number], limit=10, workspaces=["user"])
        assert hits[0].id == str(number)
        for hit in hits:
            stored = segments.restore(*segments.quantise(VECTORS[int(hit.id)]))
            assert hit.score == pytest.approx(float(stored @ VECTORS[number]), abs=1e-5)


def test_the_newest_rows_of_a_namespace_are_found_without_reading_those_of_others(database):
    statements = []
    database.connection().set_trace_callback(statements.append)
    VectorIndex(database).search("chunks", MODEL, VECTORS[0], limit=1)
    database.connection().set_trace_callback(None)
    reads = [one for one in statements if "seq >" in one or "seq <=" in one]
    assert len(reads) == 2
    for statement in reads:
        [(*_, plan)] = database.connection().execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()
        assert "(namespace=? AND model=? AND rowid" in plan
