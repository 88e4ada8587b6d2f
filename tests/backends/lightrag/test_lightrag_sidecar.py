"""Damaged, foreign and vanishing vector files: searches answer from the database, a check names the fault."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from ragmem.backends.lightrag.rows import schema
from ragmem.backends.lightrag.rows import vectors as rows
from ragmem.backends.lightrag.vectors import maintenance, mmap_index, segments
from ragmem.backends.lightrag.vectors.vector_index import VectorIndex
from ragmem.errors import StorageError
from ragmem.storage.sql.sqlite import SQLiteDatabase

DIMENSIONS = 64
MODEL = "made-up"
COUNT = 2000
WIDTHS = {"records": mmap_index.RECORD.itemsize, "bits": 8}
PLACES = {name: place for name, (_, place) in mmap_index.RECORD.fields.items()}


def unit_vectors(count, *, seed=0, dimensions=DIMENSIONS):
    rows = np.random.default_rng(seed).normal(size=(count, dimensions))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def add(database, vectors, *, start=0, workspace="user", namespace="chunks"):
    with database.write() as connection:
        rows.insert(
            connection,
            [
                (workspace, namespace, f"{start + n}", "", "", MODEL, *segments.quantise(row), 0)
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
    return home / mmap_index.FOLDER / mmap_index.folder_name("chunks", MODEL, DIMENSIONS)


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
        connection.execute("DELETE FROM store_chunk_vectors WHERE seq < 300")
    assert VectorIndex(database).check() == []


def test_files_whose_removal_was_killed_are_no_problem(database, folder, monkeypatch):
    def killed(path, **_):
        if path.exists():
            (path / "records").unlink()
            raise KeyboardInterrupt

    monkeypatch.setattr(shutil, "rmtree", killed)
    with pytest.raises(KeyboardInterrupt):
        mmap_index.Sidecar(folder, DIMENSIONS).remove()
    monkeypatch.undo()
    assert VectorIndex(database).check() == []
    assert nearest(VectorIndex(database), VECTORS[9]) == "9"


@pytest.mark.parametrize("missing", ["records", "bits"])
def test_files_that_a_killed_process_had_only_begun_are_no_problem(database, folder, missing):
    for name in WIDTHS:
        (folder / name).write_bytes(b"")
    (folder / missing).unlink()
    assert VectorIndex(database).check() == []
    assert nearest(VectorIndex(database), VECTORS[9]) == "9"


def test_what_a_killed_process_left_half_written_is_no_problem(database, folder):
    with (folder / "bits").open("ab") as file:
        file.write(bytes(3 * WIDTHS["bits"] + 1))
    with (folder / "records").open("ab") as file:
        file.write(bytes(7))
    shutil.copytree(folder, folder.with_suffix(".new"))
    index = VectorIndex(database)
    assert index.check() == []
    add(database, unit_vectors(300, seed=1), start=COUNT)
    assert nearest(index, VECTORS[9]) == "9"
    assert (folder / "records").stat().st_size == (COUNT + 300) * WIDTHS["records"]
    assert index.check() == []
    assert index.compact(dry_run=False) == COUNT
    assert [path.name for path in folder.parent.iterdir() if path.is_dir()] == [folder.name]


@pytest.mark.parametrize("version", mmap_index.FORMER)
def test_files_of_an_earlier_release_are_no_problem_and_go_when_new_ones_are_written(
    database, folder, version
):
    former = folder.with_name(mmap_index.folder_name("chunks", MODEL, DIMENSIONS, version))
    folder.rename(former)
    assert VectorIndex(database).check() == []
    assert nearest(VectorIndex(database), VECTORS[9]) == "9"
    assert [path.name for path in folder.parent.iterdir() if path.is_dir()] == [folder.name]


def test_a_home_without_vectors_has_no_problem(tmp_path):
    database = SQLiteDatabase(tmp_path / "empty")
    schema.create(database)
    assert VectorIndex(database).check() == []
    assert VectorIndex(database).rebuild() == 0
    database.close()


def lose_a_file(folder):
    (folder / "bits").unlink()


def cut_a_file(folder):
    os.truncate(folder / "bits", 1500 * WIDTHS["bits"] + 2)


def flip_a_scale(folder):
    flip(folder / "records", 700 * WIDTHS["records"] + PLACES["scale"] + 2)


def flip_a_workspace(folder):
    flip(folder / "records", 700 * WIDTHS["records"] + PLACES["workspace"])


def flip_a_number(folder):
    flip(folder / "records", 700 * WIDTHS["records"] + PLACES["seq"] + 1)


def flip_signs(folder):
    flip(folder / "bits", 700 * 8)


def forge_a_row(folder):
    """Put a vector into the files, checksum and all, that the database does not have."""
    records = np.fromfile(folder / "records", mmap_index.RECORD)
    scale, codes = segments.quantise(unit_vectors(1, seed=77)[0])
    row = np.frombuffer(codes, np.int8).reshape(1, -1)
    bits = segments.sign_bits(row)
    records["scale"][700] = scale
    records["crc"][700] = mmap_index.checksums(records[700:701], bits, None)[0]
    records.tofile(folder / "records")
    change(folder / "bits", 700 * 8, bits.tobytes())


def drop_a_row(folder):
    for name, width in WIDTHS.items():
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[: 700 * width] + content[701 * width :])


def hold_another_dimension(folder):
    rows = np.fromfile(folder / "bits", np.int8).reshape(-1, WIDTHS["bits"])[:, : WIDTHS["bits"] // 2]
    (folder / "bits").write_bytes(rows.tobytes())


def belong_to_nothing(folder):
    folder.rename(folder.with_name("chunks-0123456789abcdef"))


DAMAGES = {
    lose_a_file: "bits missing",
    cut_a_file: "bits 1500.25 rows",
    flip_a_scale: "1 records do not match their checksum",
    flip_a_workspace: "1 records do not match their checksum",
    flip_a_number: "records do not match their checksum",
    flip_signs: "1 records do not match their checksum",
    forge_a_row: "1 rows have another vector than the database",
    drop_a_row: "1 vectors of the database are missing",
    hold_another_dimension: "bits 1000 rows",
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
    # The process that rewrote goes on with the new files, and so does one that had none open.
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


def raise_a_scale(folder):
    records = np.fromfile(folder / "records", mmap_index.RECORD)
    records["scale"][700] *= 2
    records.tofile(folder / "records")


def test_a_wrong_row_among_the_hits_is_noticed_and_the_files_are_written_anew(database, folder):
    raise_a_scale(folder)
    index = VectorIndex(database)
    assert nearest(index, VECTORS[3]) == "3"
    assert index.check()
    [hit] = index.search("chunks", MODEL, VECTORS[700], limit=1)
    assert hit.id == "700"
    assert hit.score == pytest.approx(1, abs=0.01)
    assert index.check() == []
    assert folder.is_dir()


def test_a_forged_row_that_a_search_meets_is_noticed(database, folder):
    forge_a_row(folder)
    index = VectorIndex(database)
    assert nearest(index, unit_vectors(1, seed=77)[0]) != "700"
    assert index.check() == []
    assert nearest(index, VECTORS[700]) == "700"


def test_a_row_that_was_found_before_is_gone_with_its_deletion(database):
    index = VectorIndex(database)
    assert nearest(index, VECTORS[5]) == nearest(index, VECTORS[5]) == "5"
    with database.write() as connection:
        connection.execute("DELETE FROM store_chunks WHERE id = '5'")
        assert nearest(index, VECTORS[5]) != "5"
    assert nearest(index, VECTORS[5]) != "5"


def test_what_a_search_saw_of_a_write_that_was_undone_is_forgotten(database):
    index = VectorIndex(database)
    new, other = unit_vectors(2, seed=9)

    def add_and_fail():
        with database.write():
            add(database, [new], start=COUNT)
            assert nearest(index, new) == f"{COUNT}"
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        add_and_fail()
    # Its number is given to this one.
    add(database, [other], start=COUNT + 1)
    assert nearest(index, new) != f"{COUNT}"
    assert nearest(index, other) == f"{COUNT + 1}"


def test_rows_are_found_within_a_read_and_kept(database):
    index = VectorIndex(database)
    (new,) = unit_vectors(1, seed=9)
    add(database, [new], start=COUNT)
    with database.read():
        assert nearest(index, new) == f"{COUNT}"
    assert nearest(index, new) == f"{COUNT}"


def test_a_wrong_row_in_a_read_only_home_is_noticed_and_answered_from_the_database(database, folder):
    raise_a_scale(folder)
    assert database.connection()
    database.read_only = True
    index = VectorIndex(database)
    for number in (3, 700):
        assert nearest(index, VECTORS[number]) == str(number)
    assert index.check()
    with pytest.raises(StorageError, match="read-only"):
        index.rebuild()


def test_vectors_of_another_length_are_left_aside(database):
    odd = unit_vectors(300, seed=5, dimensions=32)
    add(database, odd, start=COUNT)
    index = VectorIndex(database)
    assert nearest(index, VECTORS[3]) == "3"
    assert index.search("chunks", MODEL, odd[0], limit=1)[0].id == str(COUNT)
    assert index.check() == []


def test_an_older_database_that_is_put_back_under_a_running_process_is_answered_from(database, home, folder):
    index = VectorIndex(database)
    copy = home.parent / "copy"
    shutil.copytree(home, copy)
    later = unit_vectors(500, seed=6)
    add(database, later, start=COUNT)
    assert nearest(index, later[400]) == str(COUNT + 400)
    assert nearest(index, VECTORS[3]) == "3"
    # The rows of the copy, which goes another way from here on, under the numbers of the later ones.
    with database.write() as connection:
        connection.execute("DELETE FROM store_chunk_vectors WHERE seq > ?", (COUNT,))
        connection.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'store_chunk_vectors'", (COUNT,))
    other = unit_vectors(500, seed=7)
    add(database, other, start=COUNT)
    for number in (0, 100, 499):
        assert nearest(index, VECTORS[number]) == str(number)
        hits = index.search("chunks", MODEL, later[number], limit=3)
        assert all(hit.score < 0.9 for hit in hits)
    assert nearest(VectorIndex(database), other[400]) == str(COUNT + 400)
    assert VectorIndex(database).check() == []


REBUILDER = """
import sys
from pathlib import Path
from ragmem.backends.lightrag.vectors.vector_index import VectorIndex
from ragmem.storage.sql.sqlite import SQLiteDatabase

database = SQLiteDatabase(Path(sys.argv[1]))
index = VectorIndex(database)
print("ready", flush=True)
for turn in range(25):
    index.rebuild()
"""

ADDER = """
import sys
from pathlib import Path
import numpy as np
from ragmem.backends.lightrag.rows import vectors
from ragmem.backends.lightrag.vectors.segments import quantise
from ragmem.backends.lightrag.vectors.vector_index import VectorIndex
from ragmem.storage.sql.sqlite import SQLiteDatabase

home, who = Path(sys.argv[1]), sys.argv[2]
database = SQLiteDatabase(home)
index = VectorIndex(database)
chance = np.random.default_rng(int(who))
for turn in range(6):
    rows = chance.normal(size=(150, 64))
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    with database.write() as connection:
        vectors.insert(
            connection,
            [
                ("user", "chunks", f"{who}-{turn}-{n}", "", "", "made-up", *quantise(row), 0)
                for n, row in enumerate(rows)
            ],
        )
    [hit] = index.search("chunks", "made-up", rows[77], limit=1)
    assert hit.id == f"{who}-{turn}-77", hit
"""

LIMITED = """
import resource, sys
from pathlib import Path
import numpy as np
from ragmem.backends.lightrag.vectors.vector_index import VectorIndex
from ragmem.storage.sql.sqlite import SQLiteDatabase
from ragmem.errors import StorageError

database = SQLiteDatabase(Path(sys.argv[1]))
query = np.load(sys.argv[2])
index = VectorIndex(database)
database.connection()
resource.setrlimit(resource.RLIMIT_FSIZE, (36_000, 36_000))
for turn in range(2):
    [hit] = index.search("chunks", "made-up", query, limit=1)
    assert hit.id == "2200", hit
try:
    index.rebuild()
except StorageError as error:
    print(error)
"""


def start(code, *words):
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process):
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return out


def test_files_that_another_process_replaces_while_they_are_searched_do_no_harm(database, home, folder):
    index = VectorIndex(database)
    assert nearest(index, VECTORS[0]) == "0"
    with start(REBUILDER, home) as other:
        assert other.stdout.readline() == "ready\n"
        number = 0
        while other.poll() is None:
            number = (number + 37) % COUNT
            assert nearest(index, VECTORS[number]) == str(number)
            assert nearest(VectorIndex(database), VECTORS[number]) == str(number)
        assert other.returncode == 0, other.stderr.read()
    assert index.check() == []
    # Not even where all of them are gone.
    shutil.rmtree(folder.parent)
    assert nearest(index, VECTORS[5]) == "5"


def test_files_that_are_just_being_written_anew_are_not_swept_away(database, folder):
    def fetch(last, limit):
        assert VectorIndex(database).compact(dry_run=False) == 0
        assert VectorIndex(database).check() == []
        return maintenance.fetch(database, maintenance.Group("chunks", MODEL, DIMENSIONS), last, limit)

    assert mmap_index.Sidecar(folder, DIMENSIONS).rebuild(fetch) == COUNT
    assert VectorIndex(database).check() == []
    assert nearest(VectorIndex(database), VECTORS[9]) == "9"


def test_rows_that_are_mapped_are_never_cut_off(database, folder):
    index = VectorIndex(database)
    assert nearest(index, VECTORS[1900]) == "1900"
    mapped = mmap_index.Sidecar(folder, DIMENSIONS).load()
    flip_a_number(folder)
    add(database, unit_vectors(300, seed=1), start=COUNT)
    other = VectorIndex(database)
    assert nearest(other, VECTORS[1900]) == "1900"
    # The former files, of which the rows after the damage are read here, are gone but whole.
    assert mapped.bits[1990:].any()
    assert nearest(index, VECTORS[1900]) == "1900"
    assert index.check() == other.check() == []


def reads_of_vectors(database, index, query):
    """Return the hits of a search, and whether it read vectors from the database to compare them."""
    statements = []
    database.connection().set_trace_callback(statements.append)
    hits = index.search("chunks", MODEL, query, limit=20)
    database.connection().set_trace_callback(None)
    return hits, any("SELECT seq, vector" in statement for statement in statements)


def test_vectors_that_were_compared_are_kept(database):
    index = VectorIndex(database)
    first, read = reads_of_vectors(database, index, VECTORS[8])
    assert read
    assert reads_of_vectors(database, index, VECTORS[8]) == (first, False)


def test_a_search_for_very_many_hits_reads_all_vectors_before_others_ask(database):
    index = VectorIndex(database)
    index.search("chunks", MODEL, VECTORS[8], limit=COUNT)
    for number in (0, 700, COUNT - 1):
        assert not reads_of_vectors(database, index, VECTORS[number])[1]


def lose_the_codes(folder):
    (folder / "codes").unlink()


def cut_the_codes(folder):
    os.truncate(folder / "codes", 1500 * DIMENSIONS + 16)


def flip_a_code(folder):
    flip(folder / "codes", 700 * DIMENSIONS + 9)


@pytest.fixture
def many(database, monkeypatch):
    """Return an index whose files became large enough for a copy of the vectors."""
    index = VectorIndex(database)
    assert nearest(index, VECTORS[9]) == "9"
    monkeypatch.setattr(mmap_index, "CODES_FROM", (COUNT + 200) * DIMENSIONS)
    add(database, unit_vectors(300, seed=1), start=COUNT)
    return index


def test_many_vectors_are_copied_to_a_file_and_searched_there(database, folder, many, monkeypatch):
    before = many.search("chunks", MODEL, VECTORS[8], limit=20)
    assert (folder / "codes").stat().st_size == (COUNT + 300) * DIMENSIONS
    assert many.check() == []
    monkeypatch.setattr(mmap_index, "RELEASED_FROM", 1)
    assert mmap_index.Sidecar(folder, DIMENSIONS).load().release is not None
    for _ in range(2):
        assert reads_of_vectors(database, VectorIndex(database), VECTORS[8]) == (before, False)
    add(database, unit_vectors(300, seed=2), start=COUNT + 300)
    assert nearest(many, VECTORS[8]) == "8"
    assert (folder / "codes").stat().st_size == (COUNT + 600) * DIMENSIONS
    assert many.rebuild() == COUNT + 600
    assert many.check() == []


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lose_the_codes, f"{COUNT + 300} records do not match their checksum"),
        (cut_the_codes, "codes 1500.25 rows"),
        (flip_a_code, "1 records do not match their checksum"),
    ],
)
def test_a_damaged_copy_of_the_vectors_is_named_and_mended(database, folder, many, damage, problem):
    assert nearest(many, VECTORS[700]) == "700"
    damage(folder)
    assert any(problem in told for _, told in many.check())
    for number in (3, 699, 700, 1999):
        assert nearest(VectorIndex(database), VECTORS[number]) == str(number)
    assert many.rebuild() == COUNT + 300
    assert many.check() == []
    assert (folder / "codes").exists()


def test_a_vector_that_is_gone_is_read_again_when_it_is_back(database):
    index = VectorIndex(database)

    def delete_and_fail():
        with database.write() as connection:
            connection.execute("DELETE FROM store_chunks WHERE id = '5'")
            assert nearest(index, VECTORS[5]) != "5"
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        delete_and_fail()
    assert nearest(index, VECTORS[5]) == "5"


def test_two_processes_that_append_at_once_write_each_row_once(database, home):
    adders = [start(ADDER, home, who) for who in (1, 2)]
    for process in adders:
        finish(process)
    index = VectorIndex(database)
    index.search("chunks", MODEL, VECTORS[0], limit=1)
    assert index.check() == []
    stored = mmap_index.Sidecar(
        home / mmap_index.FOLDER / mmap_index.folder_name("chunks", MODEL, DIMENSIONS), DIMENSIONS
    ).load()
    assert len(stored) > COUNT + 1500
    assert len(set(stored.seqs.tolist())) == len(stored)


def test_a_full_disk_leaves_the_files_as_they_were_and_the_answer_right(database, home, folder, tmp_path):
    later = unit_vectors(500, seed=6)
    add(database, later, start=COUNT)
    np.save(tmp_path / "query.npy", later[200])
    out = finish(start(LIMITED, home, tmp_path / "query.npy"))
    assert "cannot write the vector files" in out
    # What was half written is cut off by the next process that has room.
    index = VectorIndex(database)
    assert nearest(index, later[300]) == str(COUNT + 300)
    assert index.check() == []
    assert [path.name for path in folder.parent.iterdir() if path.is_dir()] == [folder.name]


def test_the_newest_rows_of_a_namespace_are_found_without_reading_those_of_others(database):
    statements = []
    database.connection().set_trace_callback(statements.append)
    VectorIndex(database).search("chunks", MODEL, VECTORS[0], limit=1)
    database.connection().set_trace_callback(None)
    reads = [one for one in statements if "seq >" in one or "seq <=" in one]
    assert len(reads) == 2
    for statement in reads:
        (_, _, _, plan), *_ = database.connection().execute(f"EXPLAIN QUERY PLAN {statement}")
        assert "(model=? AND rowid" in plan
