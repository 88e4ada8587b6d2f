"""Open the documents of an export: a ZIP file as it was downloaded, a folder, or one bare file."""

import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any, BinaryIO, cast

from ragmem.errors import RagmemError, SourceError, os_errors_as
from ragmem.readers.files import show
from ragmem.readers.foreign.entries import LeftOut
from ragmem.readers.foreign.json_items import records_of

MAX_MEMBER = 8 << 30
"""Bytes of one document in an archive."""

MAX_RATIO = 100
SMALL = 16 << 20
"""How many times larger than in the archive a document may be, and the bytes from which that counts: texts
shrink to a tenth, a file made to fill the disk to a thousandth."""

_CONVERSATIONS = re.compile(r"conversations(?:[-_]\d{1,5})?\.json", re.IGNORECASE)

MAX_MEMBERS = 200_000
MAX_DOCUMENTS = 1_000


def is_zip(path: Path) -> bool:
    """Return whether a file is a ZIP archive."""
    try:
        with path.open("rb") as file:
            return file.read(4) == b"PK\x03\x04"
    except OSError:
        return False


@contextmanager
def _documents(path: Path, *, tool: str) -> Iterator[Iterator[tuple[str, BinaryIO]]]:
    """Give the conversation documents of an export, in order, each with the name that errors use.

    A file that is no archive is the one document, whatever its name. Nothing is extracted, so paths in an
    archive lead nowhere. Raises SourceError.
    """
    if is_zip(path):
        try:
            archive = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            raise _archive_error(path, str(error)) from error
        with archive:
            yield _members(path, archive, tool)
        return
    yield _files(path, tool)


def _files(path: Path, tool: str) -> Iterator[tuple[str, BinaryIO]]:
    files = [path]
    if path.is_dir():
        files = sorted(one for one in path.iterdir() if _CONVERSATIONS.fullmatch(one.name) and one.is_file())
        if not files:
            raise _missing_error(path, tool)
    for one in files[:MAX_DOCUMENTS]:
        with os_errors_as(SourceError, f'read "{show(one)}"', hint="check its permissions"):
            file = one.open("rb")
        with file:
            yield show(one), file


def _members(path: Path, archive: zipfile.ZipFile, tool: str) -> Iterator[tuple[str, BinaryIO]]:
    found = [
        one
        for one in archive.infolist()[:MAX_MEMBERS]
        if _CONVERSATIONS.fullmatch(PurePosixPath(one.filename).name)
    ]
    if not found:
        raise _missing_error(path, tool)
    # The export itself is the outermost; a copy deeper in it may be an attachment.
    outermost = min(one.filename.count("/") for one in found)
    chosen = [one for one in found if one.filename.count("/") == outermost]
    for one in sorted(chosen, key=lambda info: info.filename)[:MAX_DOCUMENTS]:
        if one.flag_bits & 1:
            raise SourceError(
                f'cannot import "{show(path)}": it is encrypted', hint="unpack it, then give its folder"
            )
        if one.file_size > MAX_MEMBER or (
            one.file_size > SMALL and one.file_size > MAX_RATIO * max(1, one.compress_size)
        ):
            raise SourceError(
                f'cannot import "{show(path)}": "{PurePosixPath(one.filename).name}" in it grows to'
                f" {one.file_size:,} bytes from {one.compress_size:,}, as no export does",
                hint="if you trust it, unpack it and give its folder",
            )
        try:
            file = archive.open(one)
        except (zipfile.BadZipFile, NotImplementedError, OSError) as error:
            raise _archive_error(path, str(error)) from error
        with file:
            name = f"{show(path)}/{PurePosixPath(one.filename).name}"
            yield name, cast("BinaryIO", _MemberReader(file, path))


class _MemberReader:
    """Reads a document of an archive; raises SourceError for a damaged one."""

    def __init__(self, file: IO[bytes], path: Path) -> None:
        self._file = file
        self._path = path

    def read(self, size: int) -> bytes:
        """Return the next bytes, none at the end."""
        try:
            return self._file.read(size)
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise _archive_error(self._path, str(error)) from error


def _archive_error(path: Path, problem: str) -> SourceError:
    return SourceError(
        f'cannot import "{show(path)}": the archive is damaged: {problem.lower() or "it is truncated"}',
        hint="download the export again",
    )


def _missing_error(path: Path, tool: str) -> SourceError:
    return SourceError(
        f'cannot import "{show(path)}": it holds no document of {tool}',
        hint="is it the right export? name the tool: ragmem import --from NAME PATH",
    )


def conversations_of(
    path: Path, is_conversation: Callable[[Mapping[str, Any]], bool], *, tool: str, left_out: LeftOut
) -> Iterator[Mapping[str, Any]]:
    """Yield the conversations of an export. Raises SourceError."""
    with _documents(path, tool=tool) as documents:
        for name, file in documents:
            yield from records_of(file, name, is_conversation, left_out=left_out)


def begins_with(path: Path, is_conversation: Callable[[Mapping[str, Any]], bool]) -> bool:
    """Return whether the first record of an export is a conversation of this form."""
    try:
        with _documents(path, tool="") as documents:
            for name, file in documents:
                return is_conversation(next(records_of(file, name, left_out=LeftOut()), {}))
    except (OSError, RagmemError):
        return False
    return False
