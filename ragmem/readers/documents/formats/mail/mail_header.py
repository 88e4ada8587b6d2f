"""The headers of a mail: encoded words, names of attachments, charsets."""

from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.utils import collapse_rfc2231_value

from ragmem.readers.documents.formats import marks
from ragmem.readers.documents.formats.html.html_charset import decode_text


def header(mail: Message, name: str) -> str:
    """Return the first header of this name as one line; empty without one."""
    # Other ways to ask for it replace undeclared bytes.
    found = (str(value) for key, value in mail.raw_items() if key.lower() == name.lower())
    return decode_words(next(found, ""))


def decode_words(text: str) -> str:
    """Return a header with its encoded words (RFC 2047) decoded, as one line."""
    try:
        pieces = decode_header(text)
    except (HeaderParseError, ValueError):
        pieces = [(text, None)]
    told = ""
    for piece, charset in pieces:
        # The parser keeps undeclared bytes as surrogates.
        data = piece.encode("utf-8", "surrogateescape") if isinstance(piece, str) else piece
        told += decode_text(data, charset or "")
    return marks.flatten(told) or marks.flatten(text)


def file_name(part: Message) -> str:
    """Return the name of an attachment; empty without one."""
    found = part.get_param("filename", None, "content-disposition") or part.get_param("name")
    return decode_words(collapse_rfc2231_value(found)) if found else ""
