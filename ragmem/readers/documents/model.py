"""The result of a format's reader: parts of Markdown with their locators, or a refusal; what OCR reads."""

from collections.abc import Mapping
from dataclasses import field

from ragmem.frozen import dataclass


class RefusedError(Exception):
    """A file is not read: it is encrypted, damaged, larger than a limit, or not what its name says.

    `problem` continues the sentence 'cannot read "FILE": ', in lower case and without a full stop; `hint` is
    the next step, if there is one. A `costly` file took the whole time or memory of a document, or ended the
    process that read it: another attempt costs as much.
    """

    def __init__(self, problem: str, *, hint: str = "", costly: bool = False) -> None:
        super().__init__(problem)
        self.problem = problem
        self.hint = hint
        self.costly = costly


LONGEST = 10
"""A document that is read page by page takes at most this many times the `seconds`."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one document; formats check a size before they unpack anything.

    A format that reads page by page gets the `seconds` anew for each 20 pages, at most `LONGEST` times,
    and leaves the rest out with a warning; any other document that takes longer is refused. `characters`
    limits the Markdown of all parts together, `pages` the pages, slides, sheets, chapters or cells; the
    rest is left out with a warning. `unpacked_bytes` limits all members of an archive together, `pixels`
    one image. `ocr_languages` are tesseract's names of the expected languages ("eng+deu"), empty for its
    default. `ocr_seconds` are for the text in all pictures and scanned pages together, besides the
    `seconds`. `described` tells that a model describes the pictures afterwards.
    """

    seconds: float = 60.0
    pages: int = 2_000
    characters: int = 5_000_000
    unpacked_bytes: int = 300_000_000
    pixels: int = 60_000_000
    ocr: bool = True
    ocr_languages: str = ""
    ocr_seconds: float = 300.0
    described: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """An image within a part, for a vision model: its bytes (PNG or JPEG), and the place of its description.

    `mark` is a line of the part's text, which the description of the image replaces.
    """

    mark: str
    data: bytes
    media_type: str


@dataclass(frozen=True, slots=True)
class Part:
    """A page, a slide, a sheet, a chapter, or a whole file without these.

    `locator` follows `#` in the uri of its memory ("page=3", "slide=4", "sheet=Costs&row=202"), and is empty
    for the whole; `label` is the same in words ("page 3"). `text` is Markdown: headings, tables as tables and
    row by row (`tables.write_table`), equations as $LaTeX$, footnotes as [^1]. `event_time` is that of a part
    with its own, such as a mail.
    """

    text: str
    locator: str = ""
    label: str = ""
    title: str = ""
    pictures: tuple[Picture, ...] = ()
    event_time: str = ""


@dataclass(frozen=True, slots=True)
class ConvertedDocument:
    """A document: its parts in order; `event_time` is RFC 3339, or empty if it is unknown.

    `unread` are the locators of parts that exist but were not read, so that they do not count as removed.
    `unseen` is the number of pictures and scanned pages in which no text was found.
    """

    parts: tuple[Part, ...]
    title: str = ""
    event_time: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    unseen: int = 0


@dataclass(frozen=True, slots=True)
class TextLine:
    """A recognised line and its box in pixels of the upright picture, deskewed."""

    text: str
    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True)
class Recognition:
    """The lines of a picture in any order, in pixels of its upright `size`, or its `text` in reading order.

    It `is_cut` if it ended for lack of time.
    """

    lines: tuple[TextLine, ...] = ()
    size: tuple[float, float] = (1.0, 1.0)
    text: str = ""
    is_cut: bool = False
