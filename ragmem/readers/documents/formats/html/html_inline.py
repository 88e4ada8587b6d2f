"""The text of a paragraph in a web page or e-book as one line of Markdown: links, code, formulas, notes."""

import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, unquote_to_bytes

from ragmem.readers.documents.formats import marks, mathml
from ragmem.readers.documents.formats.html.html_tree import contains, local, roles, tokens
from ragmem.readers.documents.formats.pictures import Pictures

_BACK = re.compile(r"back-?ref|back-?link|footnote-?back|reversefootnote|footnote-return")
_ARROWS = frozenset("↩↑^⤴⏎\ufe0e«")
_DISPLAY_STYLE = re.compile(r"^\{\\displaystyle\s*(.*)\}$", re.DOTALL)
_SPACE = re.compile(r"[ \t\r\n\f]+")
_ANCHORS = frozenset({"#", "§", "¶", "🔗", "∞", "⚓", "⚓︎"})
_SHORT_ALT = 3
_DEEPEST = 100
_NOTES_WITHIN = 3
_LONGEST_IMAGE = 20_000_000


@dataclass(slots=True)
class Page:
    """The targets of a page's references, and the state of its conversion.

    `notes` are the elements of notes by their addresses (`file#id`, `#id` within one file). `image` returns
    the bytes of an image in the same e-book. `below` collects the texts below the current paragraph, `inside`
    counts the nested notes that are open.
    """

    pictures: Pictures
    notes: Mapping[str, Any] = field(default_factory=dict)
    here: str = ""
    image: Callable[[str], bytes | None] | None = None
    numbers: dict[str, int] = field(default_factory=dict)
    below: list[str] = field(default_factory=list)
    inside: int = 0
    _elements: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._elements = {id(each) for each in self.notes.values()}

    def is_note(self, node: Any) -> bool:
        """Return whether an element is a note, which is written at its reference."""
        return id(node) in self._elements

    def take_below(self) -> list[str]:
        """Return the texts below the paragraph, and clear them."""
        found, self.below = self.below, []
        return found


def place(address: str, here: str) -> str:
    """Return the target (`file#id`) of a link within a book or a page; empty for another page."""
    path, _, part = address.partition("#")
    if path and not here:
        return ""
    whole = posixpath.normpath(posixpath.join(posixpath.dirname(here), unquote(path))) if path else here
    return f"{whole}#{unquote(part)}"


def line(node: Any, page: Page) -> str:
    """Return the content of an element as one line, apart from explicit line breaks."""
    return _tidy(_within(node, page, 0))


def piece(node: Any, page: Page) -> str:
    """Return an element within a paragraph as text, including blanks at its ends."""
    return _one(node, page, 0)


def blank(text: str | None) -> str:
    """Return text with white space collapsed as in a browser."""
    return _SPACE.sub(" ", text or "")


def _tidy(text: str) -> str:
    return "\n".join(each.strip() for each in re.sub(r" {2,}", " ", text).split("\n")).strip()


def _within(node: Any, page: Page, depth: int) -> str:
    if depth > _DEEPEST:
        return blank("".join(each for each in node.itertext() if isinstance(each, str)))
    text = blank(node.text)
    for each in node:
        text += _one(each, page, depth + 1) + blank(each.tail)
    return text


def _one(node: Any, page: Page, depth: int) -> str:
    name = local(node)
    reading = _READERS.get(name)
    if reading is not None:
        return reading(node, page, depth)
    if not name:
        return ""
    text = _within(node, page, depth)
    # Block elements within a cell or a link.
    return f" {text} " if name in _BLOCKS else text


def _link(node: Any, page: Page, depth: int) -> str:
    address = node.get("href") or ""
    if "#" in address and (leads_to := place(address, page.here)) in page.notes:
        return _note(leads_to, page)
    text = _within(node, page, depth)
    if address.startswith("#") and text.strip() in _ANCHORS:
        # The permalink of a heading.
        return ""
    return marks.link(text, address)


def _note(leads_to: str, page: Page) -> str:
    if leads_to not in page.numbers:
        page.numbers[leads_to] = number = len(page.numbers) + 1
        before, page.below, page.inside = page.below, [], page.inside + 1
        node = page.notes[leads_to]
        # Deeper notes are not expanded, so that a long chain of notes does no harm.
        is_deep = page.inside > _NOTES_WITHIN
        text = marks.flatten("".join(node.itertext())) if is_deep else _note_text(node, page)
        page.below, page.inside = [*before, f"[^{number}]: {text}", *page.below], page.inside - 1
    return f"[^{page.numbers[leads_to]}]"


def _note_text(node: Any, page: Page) -> str:
    """Return the text of a note, without its number and back link."""
    for each in [each for each in node.iter() if local(each) and each is not node]:
        text = "".join(each.itertext()).strip()
        leads_back = "#" in (each.get("href") or "") and (len(text) < 2 or text.strip("[].() ").isdigit())
        is_back = "doc-backlink" in roles(each) or _BACK.search((each.get("class") or "").lower())
        if leads_back or is_back or (local(each) == "a" and set(text) <= _ARROWS):
            for inner in list(each):
                each.remove(inner)
            each.text = None
    return re.sub(r"^[\s.:)\]]+", "", marks.flatten(_within(node, page, 0)))


def _superscript(node: Any, page: Page, depth: int) -> str:
    text = _within(node, page, depth)
    return text if "[^" in text else marks.superscript(text)


def _strikethrough(node: Any, page: Page, depth: int) -> str:
    return marks.strike_through(_within(node, page, depth))


def _code(node: Any, page: Page, depth: int) -> str:
    text = _within(node, page, depth)
    return f"`{text.strip()}`" if text.strip() and "`" not in text else text


def _quote(node: Any, page: Page, depth: int) -> str:
    return f"“{_within(node, page, depth)}”"


def _formula(node: Any, page: Page, depth: int) -> str:
    del page, depth
    return format_formula(mathml.to_latex(node), is_block=(node.get("display") or "") == "block")


def format_formula(latex: str, *, is_block: bool) -> str:
    """Return LaTeX between dollar signs, on its own lines if `is_block`."""
    if found := _DISPLAY_STYLE.match(latex):
        latex = found[1].strip()
    if not latex:
        return ""
    return f"\n\n$$\n{latex}\n$$\n\n" if is_block else f"${latex}$"


def _script(node: Any, page: Page, depth: int) -> str:
    del page, depth
    kind = (node.get("type") or "").lower()
    if not kind.startswith("math/tex"):
        return ""
    return format_formula(" ".join((node.text or "").split()), is_block="display" in kind)


def _image(node: Any, page: Page, depth: int) -> str:
    del depth
    alt = marks.flatten(node.get("alt") or "")
    classes = tokens(node)
    if alt and any("math" in each or each in {"tex", "latex"} for each in classes):
        near = node.getparent()
        # The same formula is next to it as MathML.
        return (
            ""
            if contains(near, "math")
            else format_formula(alt, is_block="mwe-math-fallback-image-display" in classes)
        )
    if 0 < len(alt) <= _SHORT_ALT or classes & {"emoji", "wp-smiley"}:
        return alt
    if text := page.pictures.describe(_image_bytes(node.get("src") or "", page), alt=alt):
        page.below.append(text)
    return ""


def _image_bytes(address: str, page: Page) -> bytes | None:
    """Return an image within the page or the e-book; no other image is fetched."""
    if address.startswith("data:"):
        kind, _, data = address[5:_LONGEST_IMAGE].partition(",")
        if not kind.startswith("image/"):
            return None
        if not kind.endswith("base64"):
            return unquote_to_bytes(data)
        from base64 import b64decode

        try:
            return b64decode(unquote(data), validate=False)
        except ValueError:
            return None
    return page.image(address) if page.image is not None else None


def _checkbox(node: Any, page: Page, depth: int) -> str:
    del page, depth
    if (node.get("type") or "") != "checkbox":
        return ""
    return "[x] " if "checked" in node.attrib else "[ ] "


_BLOCKS = frozenset("p div li dt dd tr td th h1 h2 h3 h4 h5 h6 section article blockquote figcaption".split())
_READERS: dict[str, Callable[[Any, Page, int], str]] = {
    "a": _link,
    "sup": _superscript,
    "del": _strikethrough,
    "s": _strikethrough,
    "strike": _strikethrough,
    "code": _code,
    "kbd": _code,
    "samp": _code,
    "q": _quote,
    "br": lambda *_: "\n",
    "math": _formula,
    "script": _script,
    "img": _image,
    "input": _checkbox,
    "rp": lambda *_: "",
    "rt": lambda node, page, depth: f" ({_within(node, page, depth).strip()})",
    "svg": lambda *_: "",
    "style": lambda *_: "",
}
