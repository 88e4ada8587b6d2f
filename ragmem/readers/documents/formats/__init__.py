"""Find the module that reads a document, by its first bytes and its suffix."""

import zipfile
from pathlib import Path, PurePath

from ragmem.readers.documents.model import RefusedError
from ragmem.readers.documents.suffixes import FORMATS, SAVE_AS, is_mail

__all__ = ["FORMATS", "module_of"]

HEAD_BYTES = 4_096
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image"),
    (b"\xff\xd8\xff", "image"),
    (b"GIF87a", "image"),
    (b"GIF89a", "image"),
    (b"II*\x00", "image"),
    (b"MM\x00*", "image"),
    (b"{\\rtf", "rtf"),
)
_HTML = (b"<!doctype html", b"<html")
_WIDE = (b"\xff\xfe", b"\xfe\xff")  # UTF-16, which spreadsheets write as "Unicode text"
_PDF_WITHIN = 1_024  # PDF readers accept some bytes before the mark (PDF 1.7, appendix H)
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # the container of old and of encrypted office files
_OLE_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")  # the stream that holds an encrypted one
_OLE_SEARCHED = 4_000_000
_ZIP = b"PK\x03\x04"
_ZIP_FORMATS = (
    ("word/", "word"),
    ("ppt/", "powerpoint"),
    ("xl/", "excel"),
    ("META-INF/container.xml", "epub"),
    ("content.xml", "opendocument"),
)
_MARKED = frozenset(("pdf", *(name for _, name in (*_MAGIC, *_ZIP_FORMATS))))


def module_of(path: str) -> str:
    """Return the name of the module that reads the file at `path`, by its content first.

    A wrong suffix does not matter if the first bytes are those of another format. Raises RefusedError for an
    empty file, an old or encrypted office file, and an unknown format; OSError.
    """
    with open(path, "rb") as stream:  # noqa: PTH123  # a path as the parent gave it
        head = stream.read(HEAD_BYTES)
    if not head:
        raise RefusedError("it is empty")
    suffix = PurePath(path).suffix.lower()
    found = _detect_by_bytes(path, head)
    # A format without a signature is text.
    if found is None and FORMATS.get(suffix) not in _MARKED and _is_text(head):
        found = FORMATS.get(suffix) or ("mail" if is_mail(Path(path)) else None)
    if found is not None:
        return found
    if suffix not in FORMATS and suffix not in SAVE_AS and _is_text(head):
        raise RefusedError('the reader "documents" reads no such files, the reader "markdown" reads text')
    raise _unread(suffix) or RefusedError(f"its content is not that of a {suffix or 'document'} file")


def _detect_by_bytes(path: str, head: bytes) -> str | None:
    """Return the format whose signature the first bytes are; None for text and unknown formats."""
    for mark, name in _MAGIC:
        if head.startswith(mark):
            return name
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "image"
    if head.startswith(b"BM") and PurePath(path).suffix.lower() == ".bmp":  # two letters are no proof
        return "image"
    if b"%PDF-" in head[:_PDF_WITHIN]:
        return "pdf"
    if head.startswith(_OLE):
        raise _ole_error(path)
    if head.startswith(_ZIP):
        return _detect_by_members(path)
    return "html" if head.removeprefix(b"\xef\xbb\xbf").lstrip().lower().startswith(_HTML) else None


def _is_text(head: bytes) -> bool:
    return head.startswith(_WIDE) or b"\x00" not in head


def _detect_by_members(path: str) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise RefusedError("the file is damaged or cut short") from error
    for start, name in _ZIP_FORMATS:
        if any(member.startswith(start) for member in names):
            return name
    raise _unread(PurePath(path).suffix.lower()) or RefusedError("it is a zip archive, not a document")


def _ole_error(path: str) -> RefusedError:
    with open(path, "rb") as stream:  # noqa: PTH123  # the same
        content = stream.read(_OLE_SEARCHED)
    if _OLE_ENCRYPTED in content:
        return RefusedError("it is encrypted", hint="save a copy without the password")
    return _unread(PurePath(path).suffix.lower()) or RefusedError(
        "it is an office file of before 2007", hint="save a copy as .docx, .xlsx or .pptx"
    )


def _unread(suffix: str) -> RefusedError | None:
    """Return the refusal of a format that other programs can convert; None for any other suffix."""
    if suffix not in SAVE_AS:
        return None
    return RefusedError(f"{suffix} files are not read", hint=f"save a copy as {SAVE_AS[suffix]}")
