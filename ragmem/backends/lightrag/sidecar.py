"""The memory-mapped copy of the vectors of one namespace: derived from the database, append-only, disposable.

Three files in one folder: `records` (fixed size: seq, workspace, scale, checksum), `codes` (int8) and `bits`
(signs). A row counts once its record is written; the record comes last, after the others were synced. Who
opens the files for appending holds the lock beside the folder and cuts off what a crash left half written.
"""

import contextlib
import fcntl
import os
import shutil
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragmem.backends.lightrag.segments import Row, Segment, empty, from_rows

RECORD = np.dtype([("seq", "<i8"), ("workspace", "<u8"), ("scale", "<f4"), ("crc", "<u4")])

FETCH = 20_000
"""Rows that are appended at a time, so that building a large sidecar needs little memory."""

FetchRows = Callable[[int, int], Sequence[Row]]
"""(last known seq, limit) -> committed rows with a higher seq, in order."""


def _checksums(segment: Segment) -> NDArray[np.uint32]:
    return np.array(
        [
            zlib.crc32(segment.codes[n].tobytes(), int(segment.seqs[n]) & 0xFFFFFFFF)
            for n in range(len(segment))
        ],
        np.uint32,
    )


class Sidecar:
    """The files of one namespace and model; every failure to use them means reading the database instead."""

    def __init__(self, folder: Path, dimensions: int) -> None:
        self.folder = folder
        self.dimensions = dimensions
        self._widths = {"records": RECORD.itemsize, "codes": dimensions, "bits": -(-dimensions // 64) * 8}

    def _file(self, name: str) -> Path:
        return self.folder / name

    def _rows_on_disk(self) -> int:
        try:
            return min(self._file(name).stat().st_size // width for name, width in self._widths.items())
        except OSError:
            return 0

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        self.folder.parent.mkdir(mode=0o700, exist_ok=True)
        path = self.folder.parent / f"{self.folder.name}.lock"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def load(self) -> Segment:
        """Return the sound rows, mapped from the files; empty where there are none."""
        count = self._rows_on_disk()
        if count == 0:
            return empty(self.dimensions)
        try:
            # A plain copy of the records: 24 bytes a row, and each search reads them whole.
            records = np.fromfile(self._file("records"), RECORD, count)
            codes: NDArray[np.int8] = np.memmap(
                self._file("codes"), np.int8, "r", shape=(count, self.dimensions)
            )
            bits: NDArray[np.uint64] = np.memmap(
                self._file("bits"), np.uint64, "r", shape=(count, self._widths["bits"] // 8)
            )
        except (OSError, ValueError):  # replaced or cut by another process between two calls
            return empty(self.dimensions)
        seqs = records["seq"].astype(np.int64)
        # A hole in the records (pages that a power cut lost) shows as a number that does not grow.
        steps = np.flatnonzero(np.diff(seqs, prepend=0) <= 0)
        sound = int(steps[0]) if len(steps) else count
        while sound and zlib.crc32(codes[sound - 1].tobytes(), int(seqs[sound - 1]) & 0xFFFFFFFF) != int(
            records["crc"][sound - 1]
        ):
            sound -= 1
        return Segment(
            seqs=seqs[:sound],
            workspaces=records["workspace"][:sound].astype(np.uint64),
            scales=records["scale"][:sound].astype(np.float32),
            codes=codes[:sound],
            bits=bits[:sound],
        )

    def identity(self) -> tuple[int, int]:
        """Return what changes when the files are replaced or removed."""
        try:
            status = self._file("records").stat()
        except OSError:
            return (0, 0)
        return (status.st_dev, status.st_ino)

    def catch_up(self, fetch: FetchRows) -> Segment:
        """Append the committed rows that are missing and return all; raises OSError where it cannot."""
        with self._lock():
            self.folder.mkdir(mode=0o700, exist_ok=True)
            segment = self.load()
            if self._append(len(segment), segment.last, fetch) or self._rows_on_disk() != len(segment):
                segment = self.load()
        return segment

    def rebuild(self, fetch: FetchRows) -> None:
        """Write the files anew; processes that have the old ones mapped keep them until they look again."""
        with self._lock():
            fresh = Sidecar(self.folder.with_name(f"{self.folder.name}.new"), self.dimensions)
            shutil.rmtree(fresh.folder, ignore_errors=True)
            fresh.folder.mkdir(mode=0o700)
            fresh._append(0, 0, fetch)
            old = self.folder.with_name(f"{self.folder.name}.old")
            shutil.rmtree(old, ignore_errors=True)
            if self.folder.exists():
                self.folder.rename(old)
            fresh.folder.rename(self.folder)
            shutil.rmtree(old, ignore_errors=True)

    def remove(self) -> None:
        """Delete the files; whoever has them mapped keeps them until they look again."""
        with contextlib.suppress(OSError), self._lock():
            shutil.rmtree(self.folder, ignore_errors=True)

    def _append(self, count: int, last: int, fetch: FetchRows) -> int:
        """Append the rows after `last` behind the first `count` rows; return how many."""
        added = 0
        with contextlib.ExitStack() as stack:
            files: dict[str, Any] = {}
            for name, width in self._widths.items():
                descriptor = os.open(self._file(name), os.O_RDWR | os.O_CREAT, 0o600)
                files[name] = stack.enter_context(os.fdopen(descriptor, "r+b"))
                files[name].truncate(count * width)
                files[name].seek(count * width)
            while True:
                rows = fetch(last, FETCH)
                if not rows:
                    return added
                segment = from_rows(rows, self.dimensions)
                records = np.empty(len(segment), RECORD)
                records["seq"], records["workspace"] = segment.seqs, segment.workspaces
                records["scale"], records["crc"] = segment.scales, _checksums(segment)
                for name, content in (("codes", segment.codes), ("bits", segment.bits)):
                    files[name].write(content.tobytes())
                    files[name].flush()
                    os.fsync(files[name].fileno())
                files["records"].write(records.tobytes())
                files["records"].flush()
                added += len(segment)
                last = segment.last
