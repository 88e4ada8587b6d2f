"""The text of a mail, from its plain or its HTML part, its headers, and the names of its attachments."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.utils import collapse_rfc2231_value

from ragmem.readers.documents.formats import marks
from ragmem.readers.documents.formats.html import convert_page
from ragmem.readers.documents.formats.html.html_charset import decode_page, decode_text
from ragmem.readers.documents.model import Limits

_SIGNATURES = frozenset(
    {"application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature"}
)
_WORD = re.compile(r"\w+")
_PICTURE = re.compile(r"\[\[picture \d+\]\]")
_SHARE = 0.3
"""A plain part with a smaller share of the HTML part's words only says that there is one."""


@dataclass(slots=True)
class Body:
    """The text of a mail in Markdown, its attachments by name, its images, and the mails attached to it."""

    text: str = ""
    attachments: list[str] = field(default_factory=list)
    images: list[tuple[str, bytes]] = field(default_factory=list)
    mails: list[Message] = field(default_factory=list)


def body_of(mail: Message, limits: Limits) -> Body:
    """Return the text and the attachments of a mail. Never raises for any mail."""
    body = Body()
    body.text = "\n\n".join(filter(None, _texts(mail, body, limits)))
    return body


def _texts(part: Message, body: Body, limits: Limits) -> Iterator[str]:
    kind = part.get_content_type()
    name = file_name(part)
    if kind == "message/rfc822":
        held = part.get_payload()
        body.mails += [each for each in held if isinstance(each, Message)] if isinstance(held, list) else []
    elif part.is_multipart():
        inner = [each for each in part.get_payload() if isinstance(each, Message)]
        if kind == "multipart/alternative":
            yield _choose(
                [text for each in inner for text in [list(_texts(each, body, limits))] if any(text)]
            )
        else:
            for each in inner:
                yield from _texts(each, body, limits)
    elif name or part.get_content_disposition() == "attachment" or not kind.startswith("text/"):
        if kind not in _SIGNATURES and name and name not in body.attachments:
            body.attachments.append(name)
        if kind.startswith("image/"):
            body.images.append((name, _content(part)))
    elif kind in {"text/plain", "text/html"}:
        yield _html(part, limits) if kind == "text/html" else _plain(part)


def _choose(texts: list[list[str]]) -> str:
    """Return the first alternative, which is plain text, unless a later one has far more words."""
    told = ["\n\n".join(filter(None, each)) for each in texts]
    if not told:
        return ""
    counts = [len(_WORD.findall(each)) for each in told]
    return told[0] if counts[0] >= _SHARE * max(counts) else told[counts.index(max(counts))]


def _content(part: Message) -> bytes:
    found = part.get_payload(decode=True)
    return found if isinstance(found, bytes) else b""


def _html(part: Message, limits: Limits) -> str:
    charset = part.get_content_charset() or ""
    data = _content(part)
    page = convert_page(decode_text(data, charset) if charset else decode_page(data), limits)
    return "\n\n".join(_PICTURE.sub("", each.text).strip() for each in page.parts)


def _plain(part: Message) -> str:
    text = decode_text(_content(part), part.get_content_charset() or "").replace("\r\n", "\n")
    if part.get_param("format", "") == "flowed":
        text = _join_flowed(text, is_joined=part.get_param("delsp", "") == "yes")
    return marks.escape_starts(
        "\n".join(line.rstrip() if line != "-- " else line for line in text.split("\n"))
    )


def _join_flowed(text: str, *, is_joined: bool) -> str:
    """Return text with its soft line ends joined (RFC 3676)."""
    lines: list[str] = []
    before = None
    for line in text.split("\n"):
        words = line.lstrip(">")
        quotes = line[: len(line) - len(words)]
        words = words.removeprefix(" ")
        if quotes == before and words != "-- ":
            lines[-1] = (lines[-1][:-1] if is_joined else lines[-1]) + words
        else:
            lines.append(f"{quotes} {words}" if quotes else words)
        # The quotation marks of a line that continues in the next one.
        before = quotes if line.endswith(" ") and words != "-- " else None
    return "\n".join(lines)


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
