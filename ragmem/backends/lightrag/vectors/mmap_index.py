"""The memory-mapped copy of the vectors of one namespace: derived from the database, append-only, disposable.

Files in one folder: `records` (fixed size: seq, workspace, scale, checksum), `bits` (signs) and, of many
vectors, `codes` (int8), which otherwise stay in the database. A row counts once its record is written; the
record comes last, after the others were synced. A writer holds the lock beside the folder and cuts off
half-written rows. If complete rows are damaged, all are written into new files.
"""

import contextlib
import fcntl
import hashlib
import mmap
import os
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragmem.backends.lightrag.vectors.segments import FetchCodes, Row, Segment, StoredCodes, from_rows

FOLDER = "vectors"
"""The folder of all sidecars in a home."""

RECORD = np.dtype([("seq", "<u4"), ("workspace", "<u4"), ("scale", "<f4"), ("crc", "<u4")])

_MOST_ROWS = 2**32
"""Sequence numbers from here on have no record; four billion vectors were written then."""

FETCH = 20_000
"""Rows that are appended at a time, so that building a large sidecar needs little memory."""

UNFINISHED = (".new", ".old")
"""Suffixes of the folders of a new sidecar that is being written, and of the former one."""

CODES_FROM = 10 * 2**20
"""Bytes of codes from which they are written to a file. Fewer are read from the database when they are
compared, which costs the first question of a process some milliseconds and saves five sixths of the files."""

RELEASED_FROM = 64 * 2**20
"""Bytes of codes from which their memory is released after each search, which takes 1.5 ms at a million
rows."""

FORMAT = 4
FORMER = (3, 2)
"""Formats of the files, each in folders of other names. Who writes the present one removes the others."""

_SUMMED = 12
"""Bytes of a record that its checksum covers, besides the row's part of the other files."""

FetchRows = Callable[[int, int], Sequence[Row]]
"""(last known seq, limit) -> committed rows with a higher seq, in order."""


def folder_name(namespace: str, model: str, dimensions: int, version: int = FORMAT) -> str:
    """Return the name of the sidecar's folder; models with different ids never share one."""
    token = hashlib.blake2b(f"{model}\x1f{dimensions}\x1f{version}".encode(), digest_size=8).hexdigest()
    return f"{namespace}-{token}"


def checksums(
    records: NDArray[Any], bits: NDArray[np.uint64], codes: NDArray[np.int8] | None
) -> NDArray[np.uint32]:
    """Return the correct checksum of each record; `codes` if they are in a file."""
    signs = bits.view(np.int8)
    bodies = signs if codes is None else np.concatenate([codes, signs], axis=1)
    heads, rest = records.tobytes(), bodies.tobytes()
    width, length = bodies.shape[1], RECORD.itemsize
    return np.fromiter(
        (
            zlib.crc32(
                rest[n * width : (n + 1) * width], zlib.crc32(heads[n * length : n * length + _SUMMED])
            )
            for n in range(len(records))
        ),
        np.uint32,
        len(records),
    )


def _release(codes: NDArray[np.int8]) -> Callable[[], None] | None:
    """Return a function that releases the memory of a large mapped file; None for a small one."""
    pages: Any = codes.base
    if codes.nbytes < RELEASED_FROM or not isinstance(pages, mmap.mmap) or not hasattr(mmap, "MADV_DONTNEED"):
        return None
    return partial(pages.madvise, mmap.MADV_DONTNEED)


def _remove(folder: Path) -> None:
    # Imported late, because a question removes nothing.
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


class Sidecar:
    """The files of one namespace and model; if they cannot be used, the database is read instead."""

    def __init__(self, folder: Path, dimensions: int, fetch_codes: FetchCodes = lambda _: {}) -> None:
        self.folder = folder
        self.dimensions = dimensions
        self._fetch_codes = fetch_codes
        self._widths = {"records": RECORD.itemsize, "bits": -(-dimensions // 64) * 8}
        self._with_codes = self._widths | {"codes": dimensions}

    def _file(self, name: str) -> Path:
        return self.folder / name

    def _files(self) -> dict[str, int]:
        """Return the names of the files, with the bytes of a row."""
        return self._with_codes if self._file("codes").exists() else self._widths

    def _are_many(self, rows: int) -> bool:
        return rows * self.dimensions >= CODES_FROM

    def sizes(self) -> dict[str, float | None]:
        """Return the number of rows in each file, None for an unreadable one."""
        found: dict[str, float | None] = {}
        for name, width in self._files().items():
            try:
                found[name] = self._file(name).stat().st_size / width
            except OSError:
                found[name] = None
        return found

    def _rows_on_disk(self) -> int:
        return int(min(rows or 0 for rows in self.sizes().values()))

    @contextlib.contextmanager
    def _lock(self, *, wait: bool = True) -> Iterator[None]:
        self.folder.parent.mkdir(mode=0o700, exist_ok=True)
        path = self.folder.parent / f"{self.folder.name}.lock"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        finally:
            os.close(descriptor)

    def map_files(self) -> tuple[NDArray[Any], NDArray[np.uint64], NDArray[np.int8] | None]:
        """Return records, bits and perhaps codes as mapped arrays, with the rows that all files have."""
        count, words = self._rows_on_disk(), self._widths["bits"] // 8
        codes = None
        if count:
            with contextlib.suppress(OSError, ValueError):  # replaced or cut between two calls
                if self._file("codes").exists():
                    codes = np.memmap(self._file("codes"), np.int8, "r", shape=(count, self.dimensions))
                return (
                    np.memmap(self._file("records"), RECORD, "r", shape=(count,)),
                    np.memmap(self._file("bits"), np.uint64, "r", shape=(count, words)),
                    codes,
                )
        return np.empty(0, RECORD), np.empty((0, words), np.uint64), None

    def load(self) -> Segment:
        """Return the valid rows, mapped from the files, perhaps none."""
        # asarray: an array of the plain class on the same pages; slices of a memmap cost ten times as much.
        *mapped, in_file = self.map_files()
        records, bits = map(np.asarray, mapped)
        codes = None if in_file is None else np.asarray(in_file)
        seqs = records["seq"]
        # A hole in the records (pages that a power cut lost) shows as a number that does not grow.
        steps = np.flatnonzero(seqs[1:] <= seqs[:-1])
        sound = int(steps[0]) + 1 if len(steps) else len(seqs)
        if sound and seqs[0] <= 0:
            sound = 0
        while sound:
            newest = slice(sound - 1, sound)
            body = None if codes is None else codes[newest]
            if checksums(records[newest], bits[newest], body)[0] == records["crc"][sound - 1]:
                break
            sound -= 1
        return Segment(
            seqs=seqs[:sound],
            workspaces=records["workspace"][:sound],
            scales=records["scale"][:sound],
            codes=(
                StoredCodes(seqs[:sound], bits[:sound], self.dimensions, self._fetch_codes)
                if codes is None
                else codes[:sound]
            ),
            bits=bits[:sound],
            release=None if in_file is None else _release(in_file),
        )

    def identity(self) -> tuple[int, int]:
        """Return a value that changes when the files are replaced or removed."""
        try:
            status = self._file("records").stat()
        except OSError:
            return (0, 0)
        return (status.st_dev, status.st_ino)

    def catch_up(self, fetch: FetchRows, *, wait: bool = True) -> Segment:
        """Append the missing committed rows and return all.

        Raises OSError if it cannot; without `wait`, BlockingIOError while another process appends.
        """
        with self._lock(wait=wait):
            self.folder.mkdir(mode=0o700, exist_ok=True)
            segment = self.load()
            if len(segment) < self._rows_on_disk():
                # Not truncated: a process that has these rows mapped would be killed when it reads them.
                self._replace(fetch)
                return self.load()
            before = self._file("codes").exists()
            if self._append(len(segment), segment.last, fetch, self._files()):
                if not before and self._are_many(self._rows_on_disk()):
                    self._replace(fetch)
                segment = self.load()
        return segment

    def rebuild(self, fetch: FetchRows) -> int:
        """Rewrite the files and return the number of rows; other processes keep the old mappings for a while.

        Raises OSError if it cannot; the old files are then untouched.
        """
        with self._lock():
            return self._replace(fetch)

    def _unfinished_folders(self) -> list[Path]:
        return [self.folder.with_name(self.folder.name + suffix) for suffix in UNFINISHED]

    def _replace(self, fetch: FetchRows) -> int:
        new, old = self._unfinished_folders()
        for folder in (new, old):
            _remove(folder)
        fresh = Sidecar(new, self.dimensions)
        new.mkdir(mode=0o700)
        try:
            many = self._are_many(self._rows_on_disk())
            count = fresh._append(0, 0, fetch, self._with_codes if many else self._widths)
            if not many and self._are_many(count):
                count = fresh._append(0, 0, fetch, self._with_codes)
        except BaseException:
            _remove(new)
            raise
        if self.folder.exists():
            self.folder.rename(old)
        new.rename(self.folder)
        _remove(old)
        return count

    def remove(self) -> None:
        """Delete the files; processes that have them mapped keep them until the next search."""
        with contextlib.suppress(OSError), self._lock():
            # Renamed first: a kill in between would leave files that do not fit each other.
            _, old = self._unfinished_folders()
            _remove(old)
            self.folder.rename(old)
            _remove(old)

    def remove_unfinished(self) -> None:
        """Delete files that a killed process left, but not those of a running one."""
        with contextlib.suppress(OSError), self._lock(wait=False):
            for folder in self._unfinished_folders():
                _remove(folder)

    def _append(self, count: int, last: int, fetch: FetchRows, widths: Mapping[str, int]) -> int:
        """Append the rows after `last` behind the first `count` rows of files; return their number.

        Without codes in a file, it ends when there are so many rows that they have to be.
        """
        added = 0
        with contextlib.ExitStack() as stack:
            files: dict[str, Any] = {}
            for name, width in widths.items():
                descriptor = os.open(self._file(name), os.O_RDWR | os.O_CREAT, 0o600)
                files[name] = stack.enter_context(os.fdopen(descriptor, "r+b"))
                files[name].truncate(count * width)
                files[name].seek(count * width)
            while True:
                rows = fetch(last, FETCH)
                if not rows:
                    return added
                segment = from_rows(rows, self.dimensions)
                if segment.last >= _MOST_ROWS:
                    raise OSError(f"the vector {segment.last} has no record")
                records = np.empty(len(segment), RECORD)
                records["seq"], records["workspace"] = segment.seqs, segment.workspaces
                records["scale"] = segment.scales
                codes = segment.codes_of(np.arange(len(segment))) if "codes" in widths else None
                records["crc"] = checksums(records, segment.bits, codes)
                for name, content in (("codes", codes), ("bits", segment.bits)):
                    if content is not None:
                        files[name].write(content.tobytes())
                        files[name].flush()
                        os.fsync(files[name].fileno())
                files["records"].write(records.tobytes())
                files["records"].flush()
                added += len(segment)
                last = segment.last
                if codes is None and self._are_many(count + added):
                    return added
