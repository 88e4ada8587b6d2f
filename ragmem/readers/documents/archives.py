"""Opening the zip archive that an office file or an e-book is, unless unpacking it would take too much."""

import zipfile
import zlib
from pathlib import PurePosixPath

from ragmem.readers.documents.model import Limits, RefusedError

MEMBERS_MAX = 20_000  # a deck of 1,000 slides has some 6,000
_BLOCK = 1 << 20
_ENCRYPTED = 0x1  # general purpose flag, bit 0 (APPNOTE 4.4.4)
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError, OSError, RuntimeError)


def open_archive(path: str, limits: Limits) -> zipfile.ZipFile:
    """Return the archive at `path`, after looking at what each of its members claims and truly unpacks to.

    Sizes in a directory of an archive may lie, so that every member is unpacked once here, a megabyte at a
    time and kept nowhere: a library that reads the archive later cannot meet more than was allowed. Raises
    RefusedError: it is broken or cut short, has encrypted members, too many of them, names that lead out of
    it, or unpacks to more than the limits allow. Archives within it are members like others: nothing here
    unpacks them.
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
    """Refuse what the archive's own directory admits to."""
    members = archive.infolist()
    if len(members) > MEMBERS_MAX:
        raise RefusedError(f"it packs {len(members):,} files, more than {MEMBERS_MAX:,}")
    claimed = 0
    for member in members:
        if member.flag_bits & _ENCRYPTED:
            raise RefusedError("it is encrypted", hint="save a copy without the password")
        if ".." in PurePosixPath(member.filename.replace("\\", "/")).parts:
            raise RefusedError("a name within it leads out of it")
        claimed += member.file_size
        if claimed > limits.unpacked_bytes:
            raise _bomb(limits)


def _refuse_contents(archive: zipfile.ZipFile, limits: Limits) -> None:
    """Refuse what comes out of the archive, which may be more than it admits to, or nothing."""
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
