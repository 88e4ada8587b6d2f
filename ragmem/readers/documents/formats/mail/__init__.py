"""Mails: a file of one (.eml, .emlx) as one part, a mailbox (.mbox) with one part and date per mail."""

import codecs
import io
import re
from collections.abc import Collection, Iterator
from email import message_from_bytes
from email.message import Message
from email.utils import parsedate_to_datetime
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

from ragmem.readers.dates import rfc3339
from ragmem.readers.documents.confinement import report_page
from ragmem.readers.documents.formats import marks
from ragmem.readers.documents.formats.image import upright
from ragmem.readers.documents.formats.mail.mail_body import Body, body_of, header
from ragmem.readers.documents.formats.mail.mail_quotes import split_sections
from ragmem.readers.documents.formats.pdf.pdf_scans import plain_text
from ragmem.readers.documents.formats.pictures import Pictures
from ragmem.readers.documents.model import ConvertedDocument, Limits, Part, RefusedError
from ragmem.readers.documents.ocr import Ocr
from ragmem.readers.documents.suffixes import POSTMARK

_QUOTED_POSTMARK = re.compile(rb"^>(>*From )", re.MULTILINE)
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_HEADER = re.compile(rb"[!-9;-~]{1,80}:")
_SHOWN = ("From", "To", "Cc")
_LONGEST_ADDRESSES = 300
_LONGEST_ID = 200
_MAILS_A_TURN = 20
_DEEPEST = 3


class Images:
    """The images of all mails of a file: a logo in each mail is read once."""

    def __init__(self, limits: Limits) -> None:
        self.pictures = Pictures(limits)
        self.ocr = Ocr(limits)

    def text_of(self, name: str, data: bytes) -> str:
        """Return the mark of an image for its description, and the text in it; "" for a known one.

        Nothing of it is read without Pillow, which no other part of a mail needs.
        """
        if find_spec("PIL") is None:
            return ""
        from PIL import Image

        count = len(self.pictures.found)
        marked = self.pictures.describe(data, alt=name)
        if len(self.pictures.found) == count:
            return ""
        with Image.open(io.BytesIO(self.pictures.found[-1].data)) as image:
            text = plain_text(self.ocr.read(upright(image)))
        return "\n\n".join(filter(None, [marked, text and f"Text in the picture:\n\n{text}"]))


def read(path: str, limits: Limits) -> ConvertedDocument:
    """Return a mail or a mailbox; raises RefusedError for any other file."""
    data = Path(path).read_bytes()
    if POSTMARK.match(data):
        return _read_mailbox(data, limits)
    if path.lower().endswith(".emlx"):
        # The first line is the length of the mail; a property list follows it.
        length, _, rest = data.partition(b"\n")
        data = rest[: int(length)] if length.strip().isdigit() else data
    data = data.removeprefix(codecs.BOM_UTF8).lstrip()
    if not _HEADER.match(data):
        raise RefusedError("it does not begin like a mail")
    mail = message_from_bytes(data)
    images = Images(limits)
    text, _ = _mail(mail, limits, (), images)
    metadata = {"author": header(mail, "From"), "to": header(mail, "To")[:_LONGEST_ADDRESSES]}
    part = Part(text, pictures=images.pictures.take())
    warnings = tuple(images.ocr.warnings())
    return ConvertedDocument((part,), header(mail, "Subject"), _time(mail), metadata, warnings)


def _read_mailbox(data: bytes, limits: Limits) -> ConvertedDocument:
    """Return the mails of a mailbox in their order; the newest ones if there are too many."""
    starts = [found.start() for found in POSTMARK.finditer(data)]
    mails = [
        data[data.find(b"\n", start) + 1 : end]
        for start, end in zip(starts, [*starts[1:], len(data)], strict=True)
    ]
    heads = [message_from_bytes(_HEAD_END.split(mail, 1)[0]) for mail in mails]
    newest = sorted(range(len(mails)), key=lambda number: (_time(heads[number]), number))[-limits.pages :]
    kept, warnings = set(newest), []
    if left := len(mails) - len(kept):
        warnings.append(f"the oldest of its mails ({left:,}) are left out: raise max_pages in [documents]")
    known: set[str] = set()
    images = Images(limits)
    parts, unread = [], []
    for number, (head, content) in enumerate(zip(heads, mails, strict=True)):
        identity = header(head, "Message-ID").strip("<>")[:_LONGEST_ID]
        locator = f"mail={quote(identity, safe='@+=!$') or number + 1}"
        if number not in kept:
            unread.append(locator)
            continue
        text, lines = _mail(message_from_bytes(_QUOTED_POSTMARK.sub(rb"\1", content)), limits, known, images)
        known |= lines
        pictures = images.pictures.take()
        parts.append(
            Part(text, locator, f"mail {number + 1}", header(head, "Subject"), pictures, _time(head))
        )
        if len(parts) % _MAILS_A_TURN == 0:
            report_page(limits.seconds)
    warnings += images.ocr.warnings()
    return ConvertedDocument(tuple(parts), warnings=tuple(warnings), unread=tuple(unread))


def _mail(
    mail: Message, limits: Limits, known: Collection[str], images: Images
) -> tuple[str, frozenset[str]]:
    """Return a mail in Markdown, and its own lines; a quotation of `known` lines is left out."""
    body = body_of(mail, limits)
    sections = split_sections(body.text)
    texts = [marks.heading(1, header(mail, "Subject")), _facts(mail, body), sections.text, sections.signature]
    if sections.quoted and not sections.is_known(known):
        texts += ["## Quoted", sections.quoted]
    texts += [images.text_of(name, data) for name, data in body.images]
    for attached, inner in _attached(body, limits, 1):
        subject = header(attached, "Subject")
        texts += [marks.heading(2, f"Attached: {subject}"), _facts(attached, inner), inner.text]
        texts += [images.text_of(name, data) for name, data in inner.images]
    return marks.blocks([(text, False) for text in texts]), sections.lines


def _facts(mail: Message, body: Body) -> str:
    """Return the lines about who wrote to whom and when, and the names of the attachments."""
    lines = [f"{name}: {text[:_LONGEST_ADDRESSES]}" for name in _SHOWN if (text := header(mail, name))]
    lines += [f"Date: {moment}"] if (moment := _time(mail)) else []
    lines += [f"Attachments: {', '.join(body.attachments)}"] if body.attachments else []
    return "\n".join(lines)


def _attached(body: Body, limits: Limits, depth: int) -> Iterator[tuple[Message, Body]]:
    """Yield the mails that are attached to a mail, and those attached to them."""
    for mail in body.mails if depth <= _DEEPEST else ():
        inner = body_of(mail, limits)
        yield mail, inner
        yield from _attached(inner, limits, depth + 1)


def _time(mail: Message) -> str:
    """Return when a mail was sent, else received, as RFC 3339; empty if neither is known."""
    received = header(mail, "Received").rpartition(";")[2]
    for text in (header(mail, "Date"), received):
        try:
            return rfc3339(parsedate_to_datetime(text))
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
    return ""
