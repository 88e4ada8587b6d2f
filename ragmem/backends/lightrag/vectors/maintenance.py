"""Maintenance of all sidecars of a home: compaction, comparison with the database, rebuild."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ragmem.backends.lightrag.rows import names, vectors
from ragmem.backends.lightrag.vectors.mmap_index import (
    FETCH,
    FOLDER,
    FORMER,
    RECORD,
    UNFINISHED,
    Sidecar,
    checksums,
    folder_name,
)
from ragmem.backends.lightrag.vectors.segments import EXACT_LIMIT, Row, from_rows
from ragmem.errors import StorageError
from ragmem.frozen import dataclass
from ragmem.storage.sql.batches import batches, marks, padded
from ragmem.storage.sql.sqlite import SQLiteDatabase

DEAD_SHARE = 0.2
"""Share of deleted rows from which `compact` rewrites a sidecar."""


@dataclass(frozen=True, slots=True)
class Group:
    """The vectors of one namespace, model and number of dimensions; each group has one sidecar at most."""

    namespace: str
    model: str
    dimensions: int

    def sidecar(self, database: SQLiteDatabase) -> Sidecar:
        """Return the sidecar, whose files need not exist."""
        folder = database.home / FOLDER / folder_name(self.namespace, self.model, self.dimensions)
        return Sidecar(folder, self.dimensions, partial(fetch_codes, database, self))

    def former(self, database: SQLiteDatabase) -> list[Sidecar]:
        """Return the sidecars that earlier releases may have written, which can only be removed."""
        names = (folder_name(self.namespace, self.model, self.dimensions, version) for version in FORMER)
        return [Sidecar(database.home / FOLDER / name, self.dimensions) for name in names]


def fetch_codes(database: SQLiteDatabase, group: Group, seqs: Sequence[int]) -> Mapping[int, bytes]:
    """Return sequence number -> codes of those of a group's rows that the database still has."""
    found: dict[int, bytes] = {}
    with database.read() as connection:
        for part in map(padded, batches(seqs)):
            found.update(
                connection.execute(
                    # A number is never used again, so it says which model the row is of.
                    f"SELECT seq, vector FROM {vectors.table_of(group.namespace)}"
                    f" WHERE seq IN ({marks(part)})"
                    " AND length(vector) = ?",
                    (*part, group.dimensions),
                ).fetchall()
            )
    return found


def fetch(database: SQLiteDatabase, group: Group, last: int, limit: int) -> list[Row]:
    """Return the rows of a group after a sequence number, in order; all of them for the limit -1."""
    with database.read() as connection:
        return connection.execute(
            f"{rows_of(group.namespace)} AND v.seq > ? ORDER BY v.seq LIMIT ?",
            (group.namespace, group.model, group.dimensions, last, limit),
        ).fetchall()


def rows_of(namespace: str) -> str:
    """Return a query of (seq, workspace, scale, codes); parameters: namespace, model, dimensions."""
    if namespace == names.CHUNKS:
        return (
            f"SELECT v.seq, s.name, {vectors.SCALE}, v.vector FROM {vectors.OF_CHUNKS} AS v {vectors.OWNERS}"
            f" WHERE ? = '{names.CHUNKS}' AND v.model = {vectors.MODEL} AND length(v.vector) = ?"
        )
    return (
        f"SELECT v.seq, v.workspace, v.scale, v.vector FROM {vectors.OF_NAMES} AS v"
        " WHERE v.namespace = ? AND v.model = ? AND length(v.vector) = ?"
    )


def groups(database: SQLiteDatabase) -> dict[Group, int]:
    """Return the groups in the database with their numbers of vectors."""
    with database.read() as connection:
        return {
            Group(namespace, model, dimensions): count
            for namespace, model, dimensions, count in vectors.count(connection)
        }


def _folders(database: SQLiteDatabase) -> list[Path]:
    folder: Path = database.home / FOLDER
    return sorted(entry for entry in folder.iterdir() if entry.is_dir()) if folder.is_dir() else []


def _records_in(path: Path) -> int:
    try:
        return (path / "records").stat().st_size // RECORD.itemsize
    except OSError:
        return 0


def compact(database: SQLiteDatabase, *, dry_run: bool) -> int:
    """Rewrite files with many deleted rows, delete those of former models; return the number of rows.

    With a full disk or a read-only home the files stay: they are large then, but correct.
    """
    folders = _folders(database)
    if not folders or (database.read_only and not dry_run):
        return 0
    removed = _remove_unfinished([path for path in folders if path.suffix in UNFINISHED], dry_run=dry_run)
    current = {group.sidecar(database).folder: group for group in groups(database)}
    for path in folders:
        if path.suffix in UNFINISHED:
            continue
        group = current.get(path)
        if group is None:
            removed += _records_in(path)
            if not dry_run:
                Sidecar(path, 1).remove()
            continue
        sidecar = group.sidecar(database)
        stored = sidecar.load().seqs
        dead = len(stored) - int(np.isin(stored, _seqs(database, group)).sum())
        if dead <= DEAD_SHARE * len(stored):
            continue
        if not dry_run:
            try:
                sidecar.rebuild(partial(fetch, database, group))
            except OSError:
                continue
        removed += dead
    return removed


def _remove_unfinished(folders: Sequence[Path], *, dry_run: bool) -> int:
    """Remove files that killed processes left; return the number of rows."""
    rows = {path: _records_in(path) for path in folders}
    if not dry_run:
        for path in folders:
            Sidecar(path.with_suffix(""), 1).remove_unfinished()
    return sum(count for path, count in rows.items() if dry_run or not path.exists())


def _seqs(database: SQLiteDatabase, group: Group) -> NDArray[np.int64]:
    with database.read() as connection:
        found = connection.execute(
            f"SELECT v.seq FROM {vectors.of_model(group.namespace)}", (group.namespace, group.model)
        )
        return np.fromiter((seq for (seq,) in found), np.int64)


def check(database: SQLiteDatabase) -> list[tuple[str, str]]:
    """Compare every sidecar with the database, row by row; return (namespace, problem) for each fault.

    Reads all of both. Files that are only behind are not a fault: rows that the next search appends, deleted
    rows that a sweep drops, half-written rows of a killed process, those of an earlier release, no files.
    """
    current = {group.sidecar(database).folder: group for group in groups(database)}
    former = {sidecar.folder for group in current.values() for sidecar in group.former(database)}
    return [
        problem
        for path in _folders(database)
        if path.suffix not in UNFINISHED and path not in former
        for problem in (
            _check_one(database, current[path])
            if path in current
            else [(path.name.rpartition("-")[0], f'no vector belongs to the files in "{path.name}"')]
        )
    ]


def _check_one(database: SQLiteDatabase, group: Group) -> Iterator[tuple[str, str]]:
    sidecar = group.sidecar(database)
    sizes = sidecar.sizes()
    complete = int(sizes["records"] or 0)
    # Records are written last: the other files may be longer, never shorter.
    # Without a record no row counts: a process was killed while it made or removed the files.
    if complete and any(rows is None or rows < complete for rows in sizes.values()):
        told = ", ".join(
            f"{name} {'missing' if rows is None else f'{rows:g} rows'}" for name, rows in sizes.items()
        )
        yield group.namespace, f"the files do not fit each other: {told}"
    *mapped, codes = sidecar.map_files()
    records, bits = map(np.asarray, mapped)
    broken = np.zeros(len(records), np.bool_)
    broken[1:] = records["seq"][1:] <= records["seq"][:-1]
    for start in range(0, len(records), FETCH):
        part = slice(start, start + FETCH)
        body = None if codes is None else codes[part]
        broken[part] |= checksums(records[part], bits[part], body) != records["crc"][part]
    if broken.any():
        yield group.namespace, f"{int(broken.sum())} records do not match their checksum or order"
    sound = codes if codes is None else codes[~broken]
    missing, different = _compare_rows(database, group, records[~broken], bits[~broken], sound)
    if missing:
        yield group.namespace, f"{missing} vectors of the database are missing"
    if different:
        yield group.namespace, f"{different} rows have another vector than the database"


def _compare_rows(
    database: SQLiteDatabase,
    group: Group,
    records: "NDArray[np.void]",
    bits: NDArray[np.uint64],
    codes: NDArray[np.int8] | None,
) -> tuple[int, int]:
    """Return how many rows of the database are missing in the files, and how many differ."""
    missing = different = 0
    seqs = np.ascontiguousarray(records["seq"])
    last, newest = 0, int(seqs[-1]) if len(seqs) else 0
    while last < newest:
        rows: Sequence[Row] = fetch(database, group, last, FETCH)
        if not rows:
            break
        last = rows[-1][0]
        expected = from_rows([row for row in rows if row[0] <= newest], group.dimensions)
        if not len(expected):
            break
        places = np.searchsorted(seqs, expected.seqs)
        found = seqs[places] == expected.seqs
        missing += int((~found).sum())
        here = places[found]
        same = (
            (bits[here] == expected.bits[found]).all(axis=1)
            & (True if codes is None else (codes[here] == expected.codes_of(found.nonzero()[0])).all(axis=1))
            & (records["workspace"][here] == expected.workspaces[found])
            & (records["scale"][here] == expected.scales[found])
        )
        different += int((~same).sum())
    return missing, different


def rebuild(database: SQLiteDatabase) -> int:
    """Rebuild all sidecars from the database, delete unneeded ones; return the number of rows written.

    Repeating it gives the same files. Raises StorageError if the home is not writable; the remaining files
    are then unchanged.
    """
    if database.read_only:
        raise StorageError(
            f'cannot write the vector files in "{database.home}": the home is read-only',
            hint="run it as a user who can write there",
        )
    wanted = {
        group.sidecar(database).folder: group
        for group, count in groups(database).items()
        if count > EXACT_LIMIT
    }
    try:
        folder: Path = database.home / FOLDER
        if folder.exists() and not folder.is_dir():
            folder.unlink()
        for path in _folders(database):
            if path.suffix in UNFINISHED:
                Sidecar(path.with_suffix(""), 1).remove_unfinished()
            elif path not in wanted:
                import shutil

                shutil.rmtree(path)
        return sum(
            group.sidecar(database).rebuild(partial(fetch, database, group)) for group in wanted.values()
        )
    except OSError as error:
        raise StorageError(
            f'cannot write the vector files in "{database.home}": {error.strerror}',
            hint="check free space and permissions",
        ) from error
