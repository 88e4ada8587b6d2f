"""Open the zip archive of an office file or an e-book, unless it unpacks to too much."""

import zipfile
import zlib
from pathlib import PurePosixPath

from ragmem.readers.documents.model import Limits, RefusedError

MEMBERS_MAX = 20_000  # a deck of 1,000 slides has some 6,000
_BLOCK = 1 << 20
_ENCRYPTED = 0x1  # general purpose flag, bit 0 (APPNOTE 4.4.4)
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError, OSError, RuntimeError)


def open_archive(path: str, limits: Limits) -> zipfile.ZipFile:
    """Return the archive at `path`, after checking the claimed and the actual size of each member.

    The sizes in the directory of an archive may be wrong, so every member is unpacked once here, a megabyte
    at a time and without keeping it: a library that reads the archive later cannot exceed the limits. Raises
    RefusedError for an archive that is damaged or cut short, has encrypted members, too many members or names
    that lead out of it, or unpacks to more than the limits allow. Nested archives are not unpacked.
    """
    try:
        archive = zipfile.ZipFile(path)
    except _BROKEN as error:
        raise RefusedError("the file is damaged or cut short") from error
    try:
        _refuse_claims(archive, limits)
        _refuse_contents(archive, limits)
    except BaseException:
        archive.close()
        raise
    return archive


def _refuse_claims(archive: zipfile.ZipFile, limits: Limits) -> None:
    """Check the claims of the archive's own directory."""
    members = archive.infolist()
    if len(members) > MEMBERS_MAX:
        raise RefusedError(f"it contains {len(members):,} files, more than {MEMBERS_MAX:,}")
    claimed = 0
    for member in members:
        if member.flag_bits & _ENCRYPTED:
            raise RefusedError("it is encrypted", hint="save a copy without the password")
        if ".." in PurePosixPath(member.filename.replace("\\", "/")).parts:
            raise RefusedError("a path in it leads out of the archive")
        claimed += member.file_size
        if claimed > limits.unpacked_bytes:
            raise _bomb(limits)


def _refuse_contents(archive: zipfile.ZipFile, limits: Limits) -> None:
    """Check the unpacked contents, which may be larger than claimed, or damaged."""
    seen = 0
    for member in archive.infolist():
        try:
            with archive.open(member) as stream:
                while block := stream.read(_BLOCK):
                    seen += len(block)
                    if seen > limits.unpacked_bytes:
                        raise _bomb(limits)
        except _BROKEN as error:
            raise RefusedError("the file is damaged or cut short") from error


def _bomb(limits: Limits) -> RefusedError:
    return RefusedError(f"it unpacks to more than {limits.unpacked_bytes // 1_000_000:,} MB")
