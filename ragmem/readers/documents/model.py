"""What a format's reader makes of a file: parts of Markdown with their places, or the reason why not."""

from collections.abc import Mapping
from dataclasses import dataclass, field


class RefusedError(Exception):
    """A file is not read: it is encrypted, broken, larger than a limit, or not what its name says.

    `problem` continues the sentence 'cannot read "FILE": ', in lower case and without a full stop; `hint` is
    the next step, if there is one. `costly` is what took the whole time or memory of a document, or ended the
    process that read it: to try again is as dear.
    """

    def __init__(self, problem: str, *, hint: str = "", costly: bool = False) -> None:
        super().__init__(problem)
        self.problem = problem
        self.hint = hint
        self.costly = costly


@dataclass(frozen=True, slots=True)
class Limits:
    """What one document may take; formats look at what they are about to unpack before they unpack it.

    A format that reads page by page stops well within the `seconds` and leaves the rest out with a warning,
    since a document that takes longer is refused.
    `characters` is of the Markdown of all parts together; what is beyond is left out with a warning, as are
    `pages` (pages, slides, sheets, chapters, cells) beyond. `unpacked_bytes` is of all members of an archive
    together, by what they unpack to; `pixels` of one image. `ocr_languages` are tesseract's names of the
    languages to expect ("eng+deu"), empty for its own choice. `described` tells that a model looks at the
    pictures afterwards.
    """

    seconds: float = 60.0
    pages: int = 2_000
    characters: int = 5_000_000
    unpacked_bytes: int = 300_000_000
    pixels: int = 60_000_000
    ocr: bool = True
    ocr_languages: str = ""
    described: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """An image within a part, for a model that can see: its bytes (PNG or JPEG), and where its text belongs.

    `mark` stands alone on a line of the part's text; what is told of the image takes its place, or nothing.
    """

    mark: str
    data: bytes
    media_type: str


@dataclass(frozen=True, slots=True)
class Part:
    """A page, a slide, a sheet, a chapter, or the whole of a file that has none of them.

    `locator` is what follows `#` in the uri of its memory ("page=3", "slide=4", "sheet=Costs&row=202"), and
    empty for the whole; `label` is the same in words ("page 3"). `text` is Markdown: headings, tables as
    tables and row by row (`tables.written`), equations as $LaTeX$, footnotes as [^1].
    """

    text: str
    locator: str = ""
    label: str = ""
    title: str = ""
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True, slots=True)
class Converted:
    """A document: its parts in order; `event_time` is RFC 3339, or empty where the file does not say.

    `unread` are the locators of parts that it has and that were not read: it has not lost them.
    """

    parts: tuple[Part, ...]
    title: str = ""
    event_time: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
